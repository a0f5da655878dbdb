"""Rows that must not be there: counted together, described with examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import polars as pl

from recoeval.columns import TIMESTAMP_DTYPE
from recoeval.errors import Problem, some

__all__ = ["RowCheck", "count_bad", "describe_bad", "outside_calendar"]

_SHOWN: Final = 5
# Of 64 bits of nanoseconds, as files have them.
_AFTER_LAST: Final = 2263


@dataclass(frozen=True, slots=True)
class RowCheck:
    """What makes a row bad.

    Args:
        column: the column that is wrong.
        bad: true for bad rows.
        says: what is wrong with them, said after their count: "without item_id".
        shown: the columns of the examples.
        advice: what to do.
    """

    column: str
    bad: pl.Expr
    says: str
    shown: tuple[str, ...]
    advice: str = ""


def outside_calendar(column: str) -> RowCheck:
    """Returns the check of a column of times that no calendar has, as a wrong unit makes them."""
    first, last = (
        pl.lit(datetime(year, 1, 1, tzinfo=UTC), TIMESTAMP_DTYPE) for year in (1, _AFTER_LAST)
    )
    time = pl.col(column)
    return RowCheck(
        column,
        ((time < first) | (time >= last)).fill_null(False),
        f"before the year 1 or after {_AFTER_LAST - 1}",
        (column,),
        "is timestamp_unit right?",
    )


def count_bad(checks: Sequence[RowCheck]) -> list[pl.Expr]:
    """Returns the counts of bad rows of each check, named bad/0, bad/1, ..."""
    return [check.bad.sum().alias(f"bad/{index}") for index, check in enumerate(checks)]


def describe_bad(
    rows: pl.LazyFrame, checks: Sequence[RowCheck], facts: dict[str, int], *, path: str
) -> list[Problem]:
    """Returns a problem for each check that found rows, with the smallest ones as examples.

    Args:
        rows: what was checked.
        checks: as for `count_bad`.
        facts: the values of `count_bad`.
        path: of the table, for errors.
    """
    return [
        _problem(rows, check, count, path)
        for index, check in enumerate(checks)
        if (count := facts[f"bad/{index}"])
    ]


def _problem(rows: pl.LazyFrame, check: RowCheck, count: int, path: str) -> Problem:
    number = "1 row" if count == 1 else f"{count} rows"
    advice = f"; {check.advice}" if check.advice else ""
    label = "" if check.shown == (check.column,) else f"{', '.join(check.shown)} "
    found = show(rows.filter(check.bad), check.shown)
    return Problem(f"{number} {check.says}, e.g. {label}{found}{advice}", f"{path}.{check.column}")


def show(rows: pl.LazyFrame, columns: Sequence[str]) -> str:
    """Returns the five smallest distinct values or tuples of columns, as text."""
    few = rows.select(columns).unique().sort(columns).head(_SHOWN + 1)
    times = [name for name, dtype in few.collect_schema().items() if dtype == pl.Datetime]
    # As text: years of five digits are no Python times.
    few = few.with_columns(pl.col(name).dt.to_string("%Y-%m-%dT%H:%M:%SZ") for name in times)
    frame = few.collect(engine="streaming")
    if frame.width > 1:
        return some(frame.rows())
    values = frame.to_series().to_list()
    return some([_Plain(value) for value in values] if times else values)


class _Plain(str):
    """Text of our own, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
