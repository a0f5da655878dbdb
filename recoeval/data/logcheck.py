"""The rows of a log, looked at once before they are used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from recoeval.columns import ITEM_ID, TIMESTAMP, TIMESTAMP_DTYPE, USER_ID
from recoeval.data.failures import reading
from recoeval.errors import DataError, Problem, some

__all__ = ["LogFacts", "check_interactions"]

# Clocks differ a little; more than this and the unit or the data are wrong.
_AHEAD: Final = timedelta(days=1)
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2263, 1, 1, tzinfo=UTC)
_SHOWN: Final = 6


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


@dataclass(frozen=True, slots=True)
class _Test:
    """What makes a row bad.

    Args:
        column: the column that is wrong.
        bad: true for bad rows.
        says: what is wrong with the rows, after their count.
        shown: the columns of the examples.
        advice: what to do.
    """

    column: str
    bad: pl.Expr
    says: str
    shown: tuple[str, ...]
    advice: str


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
    names = log.collect_schema().names()
    tests = _tests(names, now)
    # As integers: years of five digits are no Python times.
    micros = pl.col(TIMESTAMP).dt.epoch("us")
    span = [micros.min().alias("start"), micros.max().alias("end")]
    counts = [test.bad.sum().alias(f"bad/{index}") for index, test in enumerate(tests)]
    with reading(path):
        facts, repeats = (
            frame.row(0, named=True)
            for frame in pl.collect_all(
                [
                    log.select(
                        pl.len().alias("rows"), *counts, *(span if TIMESTAMP in names else [])
                    ),
                    _hashes(log).sort("hash").select(_repeated().sum().alias("count")),
                ],
                engine="streaming",
            )
        )
        if not facts["rows"]:
            raise DataError(Problem("no rows", path))
        problems = [
            _problem(log, test, count, path)
            for index, test in enumerate(tests)
            if (count := facts[f"bad/{index}"])
        ]
        if problems:
            raise DataError(*problems)
        duplicates = _duplicates(log) if repeats["count"] else 0
    return LogFacts(
        facts["rows"], _moment(facts.get("start")), _moment(facts.get("end")), duplicates
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else _FIRST + timedelta(microseconds=micros)


def _tests(names: list[str], now: datetime) -> list[_Test]:
    """Returns what is looked for in each row."""
    drop = 'or leave them out: where: "{} IS NOT NULL"'
    tests = [
        _Test(
            column,
            pl.col(column).is_null(),
            f"without {column}",
            (other,),
            f"fix the log, {drop.format(column)}",
        )
        for column, other in ((USER_ID, ITEM_ID), (ITEM_ID, USER_ID))
    ]
    if TIMESTAMP not in names:
        return tests
    time = pl.col(TIMESTAMP)
    latest = now.astimezone(UTC) + _AHEAD
    first, last, ahead = (pl.lit(moment, TIMESTAMP_DTYPE) for moment in (_FIRST, _LAST, latest))
    return [
        *tests,
        _Test(
            TIMESTAMP,
            time.is_null(),
            "without timestamp",
            (USER_ID, ITEM_ID),
            f"fix the log, {drop.format(TIMESTAMP)}",
        ),
        _Test(
            TIMESTAMP,
            (time < first) | (time >= last),
            "before 1970 or after 2262",
            (TIMESTAMP,),
            "is timestamp_unit right?",
        ),
        _Test(
            TIMESTAMP,
            (time > ahead) & (time < last),
            f"in the future, later than {latest:%Y-%m-%dT%H:%MZ}",
            (TIMESTAMP,),
            'is timestamp_unit right? Or leave them out: where: "timestamp < ..."',
        ),
    ]


def _problem(log: pl.LazyFrame, test: _Test, count: int, path: str) -> Problem:
    """Returns the count of bad rows with up to five examples, the smallest ones."""
    shown = log.filter(test.bad).select(test.shown).unique().sort(test.shown).head(_SHOWN)
    if test.shown == (TIMESTAMP,):
        shown = shown.select(pl.col(TIMESTAMP).dt.to_string("%Y-%m-%dT%H:%M:%SZ"))
    frame = shown.collect(engine="streaming")
    values = frame.rows() if frame.width > 1 else frame.to_series().to_list()
    text = some(values).replace("'", "") if test.shown == (TIMESTAMP,) else some(values)
    label = "" if test.shown == (TIMESTAMP,) else f"{', '.join(test.shown)} "
    rows = "1 row" if count == 1 else f"{count} rows"
    return Problem(
        f"{rows} {test.says}, e.g. {label}{text}; {test.advice}", f"{path}.{test.column}"
    )


def _hashes(log: pl.LazyFrame) -> pl.LazyFrame:
    return log.select(pl.struct(pl.all()).hash().alias("hash"))


def _repeated() -> pl.Expr:
    return pl.col("hash") == pl.col("hash").shift()


def _duplicates(log: pl.LazyFrame) -> int:
    """Returns the number of rows that repeat another in every column.

    Rows with equal hashes are the only candidates, so the rest of the log is never held.
    """
    twice = _hashes(log).sort("hash").filter(_repeated()).unique()
    rows = log.with_columns(pl.struct(pl.all()).hash().alias("hash"))
    candidates = rows.join(twice, on="hash", how="semi").drop("hash")
    counts = pl.collect_all(
        [candidates.select(pl.len()), candidates.unique().select(pl.len())], engine="streaming"
    )
    return int(counts[0].item() - counts[1].item())
