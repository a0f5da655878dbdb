"""Splits of several windows or of a cutoff for each user: rolling back-tests and leave-last-n."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

import polars as pl
from pydantic import Field, Strict

from recoeval.columns import QUERY_TIME, TIMESTAMP, USER_ID
from recoeval.component import Component, Count, Duration, Span, format_duration
from recoeval.data.splits import Windows, as_text, ends_of
from recoeval.errors import ConfigError, DataError, Problem

__all__ = ["Cutoffs", "LeaveLast", "Rolling", "find_cutoffs", "roll_windows"]

# The user's own cutoff beside the log's columns, which may have any name.
_OWN = "<cutoff>"


class Rolling(Component):
    """Several test windows one after the other; the last one ends with the log."""

    type: Literal["rolling"] = "rolling"
    folds: Annotated[int, Strict(), Field(ge=1, le=1000)]
    """How many test windows; they are numbered from 0 in order of time."""
    test: Duration
    """Length of each test window."""
    step: Duration | None = None
    """From one cutoff to the next; default: `test`, so that no row is tested twice."""
    train: Duration | None = None
    """Length of the train window, which then slides; default: all that is earlier."""
    gap: Span = Field(default=timedelta(0))
    """Rows in [cutoff - gap, cutoff) are used by neither side."""


class LeaveLast(Component):
    """The last relevant rows of each user, and what comes after them, are test rows."""

    type: Literal["leave_last"] = "leave_last"
    n: Count = 1
    """A user's cutoff is the time of the n-th last relevant row; rows of one time stay together."""


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """When each user's test rows start.

    Args:
        by_user: user_id, query_time (Datetime us UTC): the cutoff; sorted by user_id.
        counts: users that have one, and users with relevant rows that have none.
    """

    by_user: pl.DataFrame
    counts: Mapping[str, int]

    def train(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows before their user's cutoff, and all rows of users without one."""
        return self._parts(log, pl.col(_OWN).is_null() | (pl.col(TIMESTAMP) < pl.col(_OWN)))

    def test(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows at or after their user's cutoff."""
        return self._parts(log, pl.col(TIMESTAMP) >= pl.col(_OWN))

    def recent(self, rows: pl.LazyFrame, window: timedelta) -> pl.LazyFrame:
        """Returns the rows in [cutoff - window, cutoff) of their own user."""
        time, end = pl.col(TIMESTAMP), pl.col(_OWN)
        return self._parts(rows, (time >= end - window) & (time < end))

    def _parts(self, log: pl.LazyFrame, rule: pl.Expr) -> pl.LazyFrame:
        known = self.by_user.lazy().rename({QUERY_TIME: _OWN})
        joined = log.join(known, on=USER_ID, how="left", maintain_order="left")
        return joined.filter(rule).drop(_OWN)


def roll_windows(
    split: Rolling, log: pl.LazyFrame, ends: tuple[datetime, datetime] | None = None
) -> tuple[Windows, ...]:
    """Returns the windows of each fold, in order of time.

    Args:
        split: the rule.
        log: INTERACTIONS with timestamps, at least one row.
        ends: what `ends_of` gives, if it is known already.

    Raises:
        ConfigError: a window outside the calendar.
        DataError: the first fold has no row before its test window; says how many folds fit.

    Example:
        >>> log = pl.LazyFrame({"timestamp": [datetime(2026, 1, d) for d in (1, 9)]})
        >>> log = log.cast(pl.Datetime("us")).with_columns(pl.all().dt.replace_time_zone("UTC"))
        >>> [w.cutoff.day for w in roll_windows(Rolling(folds=3, test="2d"), log)]
        [3, 5, 7]
    """
    start, after_latest = ends or ends_of(log)
    step = split.step or split.test
    try:
        room = after_latest - split.test - split.gap - start
        fit = max(0, -(-room // step))
        if split.folds > fit:
            raise DataError(
                Problem(_too_many(split, step, fit, start, after_latest), "split.folds")
            )
        tails = [after_latest - step * back for back in reversed(range(split.folds))]
        return tuple(_window(split, end) for end in tails)
    except OverflowError:
        text = "a window of this split lies outside the years 1 to 9999"
        raise ConfigError(Problem(text, "split")) from None


def _window(split: Rolling, end: datetime) -> Windows:
    cutoff = end - split.test
    train_end = cutoff - split.gap
    return Windows(train_end, cutoff, end, train_end - split.train if split.train else None)


def _too_many(
    split: Rolling, step: timedelta, fit: int, start: datetime, after_latest: datetime
) -> str:
    gap = f" after a gap of {format_duration(split.gap)}" if split.gap else ""
    apart = f", {format_duration(step)} apart" if split.folds > 1 else ""
    folds = "1 fold" if split.folds == 1 else f"{split.folds} folds"
    return (
        f"{folds} with a test window of {format_duration(split.test)}{gap}{apart} "
        f"leave no train rows before the first; the log goes from {as_text(start)} to before "
        f"{as_text(after_latest)}, where {fit} fit"
    )


def find_cutoffs(split: LeaveLast, log: pl.LazyFrame, relevant: pl.Expr) -> Cutoffs:
    """Returns each user's cutoff: the time of the n-th last relevant row.

    A user without a relevant row before it has none: all rows are train rows. Times decide
    alone, so the order of the rows does not matter.

    Args:
        split: the rule.
        log: INTERACTIONS with timestamps.
        relevant: the ground-truth rule; null is not relevant.

    Raises:
        DataError: no row is relevant, or no user has enough of them.

    Example:
        >>> log = pl.LazyFrame({"user_id": [1, 1, 2], "timestamp": [5, 6, 7]})
        >>> find_cutoffs(LeaveLast(), log, pl.lit(True)).by_user.rows()
        [(1, 6)]
    """
    times = pl.col(TIMESTAMP)
    users = (
        log.filter(relevant)
        .group_by(USER_ID)
        .agg(
            times.top_k(split.n).min().alias(QUERY_TIME),
            times.min().alias("first"),
            pl.len().alias("rows"),
        )
        .collect(engine="streaming")
    )
    if users.is_empty():
        raise DataError(Problem("no row of the log is relevant", "ground_truth"))
    # Fewer than n rows: their first one is no n-th last, and nothing is earlier.
    chosen = users.filter(pl.col("first") < pl.col(QUERY_TIME)).select(USER_ID, QUERY_TIME)
    if chosen.is_empty():
        most = max(users["rows"])
        raise DataError(
            Problem(
                f"no user has a relevant row before the last {split.n}: {users.height} users "
                f"have relevant rows, the most active one {most}",
                "split.n",
            )
        )
    counts = {"users_with_test": chosen.height, "users_too_short": users.height - chosen.height}
    return Cutoffs(chosen.sort(USER_ID), counts)
