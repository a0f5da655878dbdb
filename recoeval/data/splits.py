"""Splitting a log into a train window and a test window, by time or by files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

import polars as pl
from pydantic import Field, model_validator

from recoeval.columns import TIMESTAMP, TIMESTAMP_DTYPE
from recoeval.component import Component, Duration, Instant, Share, Span, format_duration
from recoeval.data.sources import Source
from recoeval.errors import ConfigError, DataError, Problem

__all__ = ["FileSplit", "TimeSplit", "Windows", "as_text", "ends_of", "find_windows", "since"]

_TICK = timedelta(microseconds=1)


class TimeSplit(Component):
    """Train before a moment, test from it on."""

    type: Literal["time"] = "time"
    test_start: Instant | None = None
    """The cutoff: a row at this moment is a test row."""
    test: Duration | None = None
    """Length of the test window; without test_start it ends with the log."""
    fraction: Share | None = None
    """Share of the rows, latest first, that are test rows."""
    gap: Span = Field(default=timedelta(0))
    """Rows in [cutoff - gap, cutoff) are used by neither side."""

    @model_validator(mode="after")
    def _one_rule(self) -> TimeSplit:
        if self.test_start is None and self.test is None and self.fraction is None:
            raise ValueError(
                "say where the test window starts: test_start: 2022-05-05T16:00:00Z, "
                "test: 3d (counted from the end) or fraction: 0.2"
            )
        if self.fraction is not None and (self.test_start or self.test):
            raise ValueError("fraction stands alone: remove test_start and test")
        return self


class FileSplit(Component):
    """Train and test rows come from files of their own; timestamps are optional."""

    type: Literal["files"] = "files"
    train: Source
    test: Source


@dataclass(frozen=True, slots=True)
class Windows:
    """Half-open windows in UTC: train is [train_start, train_end), test is [cutoff, test_end).

    Without train_start the train window holds everything before its end.
    """

    train_end: datetime
    cutoff: datetime
    test_end: datetime
    train_start: datetime | None = None

    def train(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows of the train window."""
        if self.train_start is not None:
            return log.filter(_between(self.train_start, self.train_end))
        return log.filter(pl.col(TIMESTAMP) < _at(self.train_end))

    def earlier(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows before the train window, which neither side uses."""
        if self.train_start is None:
            return log.clear()
        return log.filter(pl.col(TIMESTAMP) < _at(self.train_start))

    def test(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows of the test window."""
        return log.filter(_between(self.cutoff, self.test_end))

    def gap(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows between the windows, which neither side uses."""
        return log.filter(_between(self.train_end, self.cutoff))

    def later(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows after the test window, which neither side uses."""
        return log.filter(pl.col(TIMESTAMP) >= _at(self.test_end))


def _at(moment: datetime) -> pl.Expr:
    return pl.lit(moment, TIMESTAMP_DTYPE)


def _between(start: datetime, end: datetime) -> pl.Expr:
    return pl.col(TIMESTAMP).is_between(_at(start), _at(end), closed="left")


def since(end: datetime | None, window: timedelta | None) -> pl.Expr:
    """Returns the rule "in [end - window, end)"; without a window every row passes.

    Raises:
        ConfigError: there is a window but the rows have no times.
    """
    if window is None:
        return pl.lit(True)
    if end is None:
        raise ConfigError(Problem("a window needs timestamps, and the log has none", "window"))
    return _between(end - window, end)


def ends_of(log: pl.LazyFrame) -> tuple[datetime, datetime]:
    """Returns the first time of a log, and the moment after its latest one.

    Raises:
        OverflowError: the latest time is the last of the calendar.
    """
    times = pl.col(TIMESTAMP)
    ends = log.select(times.min().alias("a"), times.max().alias("b")).collect(engine="streaming")
    start, latest = ends.row(0)
    return start, latest + _TICK


def find_windows(
    split: TimeSplit, log: pl.LazyFrame, ends: tuple[datetime, datetime] | None = None
) -> Windows:
    """Returns the windows of a log, exactly as the definitions say.

    Args:
        split: the rule.
        log: INTERACTIONS with timestamps, at least one row.
        ends: what `ends_of` gives, if it is known already.

    Raises:
        DataError: no row before or no row in the test window.

    Example:
        >>> log = pl.LazyFrame({"timestamp": [datetime(2026, 1, d) for d in (1, 2, 9)]})
        >>> log = log.cast(pl.Datetime("us")).with_columns(pl.all().dt.replace_time_zone("UTC"))
        >>> find_windows(TimeSplit(test="3d"), log).cutoff.isoformat()
        '2026-01-06T00:00:00.000001+00:00'
    """
    try:
        start, after_latest = ends or ends_of(log)
        windows = _windows(split, log, after_latest)
    except OverflowError:
        text = "a window of this split lies outside the years 1 to 9999"
        raise ConfigError(Problem(text, "split")) from None
    cutoff = windows.cutoff
    if after_latest <= cutoff:
        raise DataError(
            Problem(
                f"{as_text(cutoff)} leaves no test rows; "
                f"the log ends {as_text(after_latest - _TICK)}",
                "split.test_start",
            )
        )
    if start >= windows.train_end:
        name = "test_start" if split.test_start else "fraction" if split.fraction else "test"
        gap = f" less a gap of {format_duration(split.gap)}" if split.gap else ""
        raise DataError(
            Problem(
                f"the cutoff {as_text(cutoff)}{gap} leaves no train rows; "
                f"the log starts {as_text(start)}",
                f"split.{name}",
            )
        )
    return windows


def _windows(split: TimeSplit, log: pl.LazyFrame, after_latest: datetime) -> Windows:
    if split.fraction is not None:
        cutoff, test_end = _cutoff_of_fraction(split.fraction, log), after_latest
    elif split.test_start is not None:
        cutoff = split.test_start
        test_end = cutoff + split.test if split.test else after_latest
    else:
        cutoff, test_end = after_latest - (split.test or timedelta(0)), after_latest
    return Windows(cutoff - split.gap, cutoff, test_end)


def _cutoff_of_fraction(fraction: float, log: pl.LazyFrame) -> datetime:
    """Returns the timestamp of row n - ceil(f n), counted from 0 in time order."""
    rows = int(log.select(pl.len()).collect(engine="streaming").item())
    # The shortest decimal that prints as f: 0.1 of 10 rows is 1 row, not ceil(1.0000000000000001).
    first_test = rows - math.ceil(Decimal(repr(fraction)) * rows)
    sorted_times = log.select(pl.col(TIMESTAMP).sort())
    moment: datetime = sorted_times.slice(first_test, 1).collect().item()
    return moment


def as_text(moment: datetime) -> str:
    """Returns a moment in UTC as text: 2022-05-05T16:00:00Z."""
    return moment.isoformat(timespec="auto").replace("+00:00", "Z")
