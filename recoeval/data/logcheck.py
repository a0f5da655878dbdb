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

__all__ = ["LogFacts", "check_interactions"]

# Clocks differ a little; more than this and the unit or the data are wrong.
_AHEAD: Final = timedelta(days=1)
# No column of a log has this name.
_HASH: Final = "__hash of the row"
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
    timed = TIMESTAMP in log.collect_schema()
    checks = _checks(timed, now)
    # As integers: years of five digits are no Python times.
    micros = pl.col(TIMESTAMP).dt.epoch("us")
    span = [micros.min().alias("start"), micros.max().alias("end")]
    queries = [
        log.select(pl.len().alias("rows"), *count_bad(checks), *(span if timed else [])),
        _hashes(log).sort(_HASH).select(_repeated().sum().alias("count")),
    ]
    with reading(path):
        found = pl.collect_all(queries, engine="streaming")
        facts, repeats = (frame.row(0, named=True) for frame in found)
        if not facts["rows"]:
            raise DataError(Problem("no rows", path))
        if problems := describe_bad(log, checks, facts, path=path):
            raise DataError(*problems)
        duplicates = _duplicates(log) if repeats["count"] else 0
    return LogFacts(
        facts["rows"], _moment(facts.get("start")), _moment(facts.get("end")), duplicates
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else _FIRST + timedelta(microseconds=micros)


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


def _hashes(log: pl.LazyFrame) -> pl.LazyFrame:
    return log.select(pl.struct(pl.all()).hash().alias(_HASH))


def _repeated() -> pl.Expr:
    return pl.col(_HASH) == pl.col(_HASH).shift()


def _duplicates(log: pl.LazyFrame) -> int:
    """Returns the number of rows that repeat another in every column.

    Rows with equal hashes are the only candidates, so the rest of the log is never held.
    """
    twice = _hashes(log).sort(_HASH).filter(_repeated()).unique()
    rows = log.with_columns(pl.struct(pl.all()).hash().alias(_HASH))
    candidates = rows.join(twice, on=_HASH, how="semi").drop(_HASH)
    counts = pl.collect_all(
        [candidates.select(pl.len()), candidates.unique().select(pl.len())], engine="streaming"
    )
    return int(counts[0].item() - counts[1].item())
