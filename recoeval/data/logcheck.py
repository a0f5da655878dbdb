"""The rows of a log, looked at once before they are used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from recoeval.columns import ITEM_ID, TIMESTAMP, TIMESTAMP_DTYPE, USER_ID
from recoeval.data.failures import reading
from recoeval.data.rowchecks import RowCheck, count_bad, describe_bad
from recoeval.errors import DataError, Problem

__all__ = ["Conflicts", "LogFacts", "check_interactions", "count_conflicts", "look_at"]

# Clocks differ a little; more than this and the unit or the data are wrong.
_AHEAD: Final = timedelta(days=1)
_TICK: Final = timedelta(microseconds=1)
# No column of a log has these names.
_HASH: Final = "__hash of the event"
_NULL: Final = "__id is null"
_READ: Final = "__any column is null"
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2263, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a log is.

    Args:
        rows: number of rows.
        start: the earliest timestamp, UTC; None without timestamps.
        end: the latest timestamp, UTC; None without timestamps.
        exact_duplicates: rows that repeat an earlier row in every column.
    """

    rows: int
    start: datetime | None
    end: datetime | None
    exact_duplicates: int

    @property
    def ends(self) -> tuple[datetime, datetime] | None:
        """The first time, and the moment after the latest one; None without timestamps."""
        if self.start is None or self.end is None:
            return None
        return self.start, self.end + _TICK


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Events of one user, item and time that a log tells in several ways.

    Args:
        events: how many.
        rows: their distinct rows.
    """

    events: int
    rows: int


def check_interactions(log: pl.LazyFrame, *, path: str, now: datetime) -> LogFacts:
    """Returns the facts of a log after a check of its rows.

    Args:
        log: INTERACTIONS, of `scan_interactions`.
        path: of the source in the configuration, for errors: "interactions".
        now: the time of the run, with a zone; rows later by more than a day are an error,
            because one of them would move a window that is counted from the end.

    Raises:
        DataError: no rows, null ids or timestamps, times before 1970, after 2262 or in the
            future, values that cannot be read.
    """
    return look_at(log, path=path, now=now)[0]


def look_at(log: pl.LazyFrame, *, path: str, now: datetime) -> tuple[LogFacts, Conflicts]:
    """Returns the facts of a log and its conflicts, after a check of its rows.

    All columns are read once, and again if an event comes twice.

    Args:
        log: as for `check_interactions`.
        path: as for `check_interactions`.
        now: as for `check_interactions`.

    Raises:
        DataError: as `check_interactions`.
    """
    timed = TIMESTAMP in log.collect_schema()
    checks = _checks(timed, now)
    with reading(path):
        # Aggregates beside the hashes would read the log twice.
        rows = log.select(
            _event(log).alias(_HASH),
            pl.any_horizontal(pl.col(USER_ID, ITEM_ID).is_null()).alias(_NULL),
            pl.any_horizontal(pl.all().is_null()).alias(_READ),
            *([TIMESTAMP] if timed else []),
        ).collect(engine="streaming")
        if rows.is_empty():
            raise DataError(Problem("no rows", path))
        of_times = [check.bad.any() for check in checks if check.column == TIMESTAMP]
        if rows.select(pl.any_horizontal(pl.col(_NULL).any(), *of_times)).item():
            counts = log.select(count_bad(checks)).collect(engine="streaming")
            raise DataError(*describe_bad(log, checks, counts.row(0, named=True), path=path))
        start, end = _span(rows[TIMESTAMP]) if timed else (None, None)
        repeated, conflicts = _repeats(log, rows[_HASH])
    return LogFacts(rows.height, start, end, repeated), conflicts


def count_conflicts(log: pl.LazyFrame) -> Conflicts:
    """Returns the events of one user, item and time that a log tells in several ways.

    Args:
        log: INTERACTIONS.
    """
    hashes = log.select(_event(log).alias(_HASH)).collect(engine="streaming")
    return _repeats(log, hashes[_HASH])[1]


def _span(times: pl.Series) -> tuple[datetime, datetime]:
    micros = times.dt.epoch("us").to_numpy()
    first, last = (
        _FIRST + timedelta(microseconds=int(end)) for end in (micros.min(), micros.max())
    )
    return first, last


def _checks(timed: bool, now: datetime) -> list[RowCheck]:
    """Returns what is looked for in each row."""
    drop = 'or leave them out: where: "{} IS NOT NULL"'
    checks = [
        RowCheck(
            column,
            pl.col(column).is_null(),
            f"without {column}",
            (other,),
            f"fix the log, {drop.format(column)}",
        )
        for column, other in ((USER_ID, ITEM_ID), (ITEM_ID, USER_ID))
    ]
    if not timed:
        return checks
    time = pl.col(TIMESTAMP)
    latest = now.astimezone(UTC) + _AHEAD
    first, last, ahead = (pl.lit(moment, TIMESTAMP_DTYPE) for moment in (_FIRST, _LAST, latest))
    return [
        *checks,
        RowCheck(
            TIMESTAMP,
            time.is_null(),
            "without timestamp",
            (USER_ID, ITEM_ID),
            f"fix the log, {drop.format(TIMESTAMP)}",
        ),
        RowCheck(
            TIMESTAMP,
            (time < first) | (time >= last),
            "before 1970 or after 2262",
            (TIMESTAMP,),
            "is timestamp_unit right?",
        ),
        RowCheck(
            TIMESTAMP,
            (time > ahead) & (time < last),
            f"in the future, later than {latest:%Y-%m-%dT%H:%MZ}",
            (TIMESTAMP,),
            'is timestamp_unit right? Or leave them out: where: "timestamp < ..."',
        ),
    ]


def _event(log: pl.LazyFrame) -> pl.Expr:
    """Returns the hash of what makes a row an event: who, what and when."""
    return pl.struct(_keys(log)).hash()


def _keys(log: pl.LazyFrame) -> list[str]:
    """Returns the columns that make an event; without times only all of them do."""
    names = log.collect_schema().names()
    return [USER_ID, ITEM_ID, TIMESTAMP] if TIMESTAMP in names else names


def _repeats(log: pl.LazyFrame, hashes: pl.Series) -> tuple[int, Conflicts]:
    """Returns the rows that repeat another in every column, and the conflicts.

    Rows whose event has the hash of another one are the only candidates, so the rest of the log
    is never held.
    """
    ordered = hashes.to_numpy(writable=True)
    ordered.sort()
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return 0, Conflicts(0, 0)
    twice = pl.Series(_HASH, again).unique()
    marked = log.with_columns(_event(log).alias(_HASH))
    candidates = marked.join(twice.to_frame().lazy(), on=_HASH, how="semi").drop(_HASH)
    versions = candidates.unique().collect(engine="streaming")
    several = versions.group_by(_keys(log)).len().filter(pl.col("len") > 1)
    # An event that comes n times is n - 1 times in `again`.
    repeated = len(again) + len(twice) - versions.height
    return repeated, Conflicts(several.height, int(several["len"].sum()))
