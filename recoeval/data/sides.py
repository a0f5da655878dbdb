"""What stands on which side of a split: its users, its items, and how many rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.columns import (
    FIRST,
    ITEM_ID,
    TESTED,
    TIMESTAMP,
    TRAIN_INTERACTIONS,
    TRAINED,
    USER_ID,
)
from recoeval.data.numbering import Firsts, InOrder, Numbering
from recoeval.data.splits import Windows, as_text
from recoeval.data.trainpairs import Codes, Coding, code_in_order, number_rows, unpack
from recoeval.errors import DataError, Problem

__all__ = ["Side", "Sides", "SplitReport", "look_at_sides"]


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
        coding: the numbers of users and items of the train window.
        rows: the code of each row of the train window, and a bit for each mark; ascending.
    """

    report: SplitReport
    users: pl.DataFrame
    items: pl.DataFrame
    coding: Coding
    rows: Codes


def look_at_sides(
    train: pl.LazyFrame,
    test: pl.LazyFrame,
    log: pl.LazyFrame | None,
    windows: Windows | None,
    marks: Sequence[pl.Expr] = (),
) -> Sides:
    """Returns what is on each side, and the rows that neither side uses; reads each row once.

    Args:
        train: rows of the train window.
        test: rows of the test window.
        log: the whole log, None for a split by files.
        windows: the windows, None for a split by files or by user.
        marks: of the rows of the train window, at most two: true, false or null.

    Raises:
        DataError: a side has no rows.
    """
    unused: Sequence[pl.LazyFrame] = ()
    if log is not None and windows is not None:
        unused = (windows.gap(log), windows.later(log), windows.earlier(log))
    schema, other = train.collect_schema(), test.collect_schema()
    users, items = Numbering(), Numbering()
    first = Firsts(schema[TIMESTAMP]) if TIMESTAMP in schema and TIMESTAMP in other else None
    rows = number_rows(train, users, items, marks=marks, first=first)
    # So far the numbers are those of the train window.
    trained = len(users), len(items)
    tested = _of_test(test, users, items, first)
    others = [_count(each, items, first) for each in unused] or [0, 0]
    limits = _limits(windows)
    sides = (
        Side(*limits["train"], sum(map(len, rows)), *trained),
        Side(*limits["test"], tested.rows, int(tested.users.sum()), int(tested.items.sum())),
    )
    for name, side in zip(limits, sides, strict=True):
        if side.rows == 0:
            raise DataError(Problem(_empty(name, limits[name]), f"split.{name}"))
    report = SplitReport(*sides, *others)
    return _joined(report, rows, (users.sorted(), items.sorted()), tested, first, marks=len(marks))


@dataclass(frozen=True, slots=True)
class _Tested:
    """Rows of the test window, and for each number whether its id has one."""

    rows: int
    users: NDArray[np.bool_]
    items: NDArray[np.bool_]


def _of_test(
    rows: pl.LazyFrame, users: Numbering, items: Numbering, first: Firsts | None
) -> _Tested:
    codes = number_rows(rows, users, items, first=first)
    tested = np.zeros(len(users), bool), np.zeros(len(items), bool)
    for part in codes:
        for mark, numbers in zip(tested, unpack(part), strict=True):
            mark[numbers] = True
    return _Tested(sum(map(len, codes)), *tested)


def _count(rows: pl.LazyFrame, items: Numbering, first: Firsts | None) -> int:
    """Returns how many rows there are, whose items and times are noted."""
    count = 0
    names = [ITEM_ID] if first is None else [ITEM_ID, TIMESTAMP]
    for batch in rows.select(names).collect_batches(maintain_order=False, engine="streaming"):
        numbers = items.number(batch[ITEM_ID])
        if first is not None:
            first.see(numbers, batch[TIMESTAMP])
        count += batch.height
    return count


def _joined(
    report: SplitReport,
    rows: list[Codes],
    ids: tuple[InOrder, InOrder],
    tested: _Tested,
    first: Firsts | None,
    *,
    marks: int,
) -> Sides:
    """Returns the sides, of rows with the numbers that ids had as they came."""
    users, items = ids
    of_train = users.first(report.train.users), items.first(report.train.items)
    coding, codes = code_in_order(rows, *of_train, marks=marks)
    counts = np.zeros(len(users.ids), np.int64)
    counts[of_train[0].numbers] = coding.users_of(codes, marks)
    of_users = pl.DataFrame(
        {
            USER_ID: users.ids,
            TRAIN_INTERACTIONS: counts[users.numbers],
            TESTED: tested.users[users.numbers],
        }
    )
    # Items that neither side has came after all others.
    of_test = np.append(tested.items, np.zeros(len(items.ids) - len(tested.items), bool))
    of_items = pl.DataFrame(
        {
            ITEM_ID: items.ids,
            TRAINED: items.numbers < report.train.items,
            TESTED: of_test[items.numbers],
        }
    )
    if first is not None:
        times = first.of(items.numbers).alias(FIRST)
        of_items = of_items.with_columns(times)
    return Sides(report, of_users, of_items, coding, codes)


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
