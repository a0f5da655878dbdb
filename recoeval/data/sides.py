"""What stands on which side of a split: its users, its items, and how many rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from recoeval.columns import (
    FIRST,
    ITEM_ID,
    TESTED,
    TIMESTAMP,
    TRAIN_INTERACTIONS,
    TRAINED,
    USER_ID,
)
from recoeval.data.splits import Windows, as_text
from recoeval.errors import DataError, Problem

__all__ = ["Side", "Sides", "SplitReport", "look_at_sides"]

_ROWS: Final = "rows"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a split: its window in UTC and what is in it."""

    start: str | None
    end: str | None
    rows: int
    users: int
    items: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """What a split did; neither side uses `gap_rows`, `later_rows` and `earlier_rows`.

    `users_too_short` have relevant rows, but too few for a test row: they stay in train.
    """

    train: Side
    test: Side
    gap_rows: int
    later_rows: int
    earlier_rows: int = 0
    users_too_short: int = 0

    def as_dict(self) -> Mapping[str, Any]:
        """Returns the report as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Sides:
    """What the rows of a split are of.

    Args:
        report: rows, users and items of each side.
        users: user_id, train_interactions (Int64: rows of the train window), tested (whether
            there is a row of the test window); one row a user of either side, sorted.
        items: item_id, trained, tested (whether it has a row in that window), and first (the
            time of the first row anywhere in the log; none without times); one row an item of
            the log, sorted.
    """

    report: SplitReport
    users: pl.DataFrame
    items: pl.DataFrame


def look_at_sides(
    train: pl.LazyFrame,
    test: pl.LazyFrame,
    log: pl.LazyFrame | None,
    windows: Windows | None,
) -> Sides:
    """Returns what is on each side, and the rows that neither side uses.

    Args:
        train: rows of the train window.
        test: rows of the test window.
        log: the whole log, None for a split by files.
        windows: the windows, None for a split by files or by user.

    Raises:
        DataError: a side has no rows.
    """
    unused: Sequence[pl.LazyFrame] = ()
    if log is not None and windows is not None:
        unused = (windows.gap(log), windows.later(log), windows.earlier(log))
    # One after the other: together they read the log as often, and hold twice as much.
    users = [_users(rows).collect(engine="streaming") for rows in (train, test)]
    items = [_items(rows).collect(engine="streaming") for rows in (train, test, *unused)]
    rows = [int(table[_ROWS].sum()) for table in items]
    limits = _limits(windows)
    for name, size in zip(("train", "test"), rows, strict=False):
        if size == 0:
            raise DataError(Problem(_empty(name, limits[name]), f"split.{name}"))
    train_side, test_side = (
        Side(*limits[name], rows[at], users[at].height, items[at].height)
        for at, name in enumerate(("train", "test"))
    )
    report = SplitReport(train_side, test_side, *(rows[2:] or (0, 0)))
    return Sides(report, _joined_users(*users), _joined_items(items))


def _users(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.group_by(USER_ID).agg(pl.len().alias(_ROWS))


def _items(rows: pl.LazyFrame) -> pl.LazyFrame:
    timed = TIMESTAMP in rows.collect_schema()
    first = [pl.col(TIMESTAMP).min().alias(FIRST)] if timed else []
    return rows.group_by(ITEM_ID).agg(pl.len().alias(_ROWS), *first)


def _joined_users(train: pl.DataFrame, test: pl.DataFrame) -> pl.DataFrame:
    trained = train.select(USER_ID, pl.col(_ROWS).cast(pl.Int64).alias(TRAIN_INTERACTIONS))
    tested = test.select(USER_ID, pl.lit(True).alias(TESTED))
    joined = trained.join(tested, on=USER_ID, how="full", coalesce=True)
    filled = (pl.col(TRAIN_INTERACTIONS).fill_null(0), pl.col(TESTED).fill_null(False))
    return joined.with_columns(filled).sort(USER_ID)


def _joined_items(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    timed = all(FIRST in part.columns for part in parts)
    wanted = [ITEM_ID, FIRST] if timed else [ITEM_ID]
    marked = [
        part.select(*wanted, pl.lit(at == 0).alias(TRAINED), pl.lit(at == 1).alias(TESTED))
        for at, part in enumerate(parts)
    ]
    first = [pl.col(FIRST).min()] if timed else []
    marks = pl.col(TRAINED, TESTED).any()
    return pl.concat(marked).group_by(ITEM_ID).agg(marks, *first).sort(ITEM_ID)


def _limits(windows: Windows | None) -> dict[str, tuple[str | None, str | None]]:
    """Returns start and end of each side as text."""
    if windows is None:
        return {"train": (None, None), "test": (None, None)}
    start = as_text(windows.train_start) if windows.train_start else None
    return {
        "train": (start, as_text(windows.train_end)),
        "test": (as_text(windows.cutoff), as_text(windows.test_end)),
    }


def _empty(side: str, limits: tuple[str | None, str | None]) -> str:
    start, end = limits
    where = f" from {start} to before {end}" if start else ""
    return f"no {side} rows{where}"
