"""Whether the ids of two tables can be the same things."""

from __future__ import annotations

from typing import Final

import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID
from recoeval.errors import DataError, Problem, some

__all__ = ["LIST_REMEDIES", "examples_of", "overlap", "require_overlap", "unlike_types"]

_LOST: Final = "(zeros in front that a file has lost do not come back)"
_SOME: Final = (1_000, 100_000)
LIST_REMEDIES: Final = {
    QUERY_ID: f": user_id_type: text {_LOST}",
    ITEM_ID: f": item_id_type: text {_LOST}",
}
"""How the ids of lists are cast."""


def unlike_types(
    rows: pl.LazyFrame,
    other: pl.LazyFrame,
    column: str,
    what: str,
    than: str,
    *,
    remedy: str = ", so that both are integers or both are text",
) -> Problem | None:
    """Returns a problem if two tables hold ids of different types, with examples of both.

    Args:
        rows: a table with the column.
        other: another one.
        column: the id.
        what: name of the first in the error.
        than: name of the other in the error.
        remedy: how to cast.
    """
    ours, theirs = (frame.collect_schema()[column] for frame in (rows, other))
    if ours == theirs:
        return None
    mine, others = examples_of(rows, column), examples_of(other, column)
    return Problem(
        f"{ours}, but {than} has {theirs}; e.g. {some(mine)} against {some(others)}. "
        f"Cast one side{remedy}",
        f"{what}.{column}",
    )


def require_overlap(
    rows: pl.LazyFrame,
    other: pl.LazyFrame,
    column: str,
    what: str,
    than: str,
    *,
    hint: str = "",
) -> None:
    """Checks that two tables have an id in common.

    Args:
        rows: a table with the column.
        other: another one.
        column: the id.
        what: name of the first in the error.
        than: name of the other in the error.
        hint: what else the error says.

    Raises:
        DataError: no id in common; with three ids of each side.
    """
    if overlap(rows, other, column):
        return
    mine, others = examples_of(rows, column), examples_of(other, column)
    raise DataError(
        Problem(
            f"no id in common with {than}; e.g. {some(mine)} against {some(others)}{hint}",
            f"{what}.{column}",
        )
    )


def overlap(rows: pl.LazyFrame, other: pl.LazyFrame, column: str = ITEM_ID) -> bool:
    """Returns whether two tables have an id in common."""
    ours, theirs = rows.select(column), other.select(column)
    # The first rows nearly always tell, and cost nothing.
    for one, two in (*((ours.head(size), theirs.head(size)) for size in _SOME), (ours, theirs)):
        common = one.join(two, on=column, how="semi").head(1)
        if common.collect(engine="streaming").height:
            return True
    return False


def examples_of(rows: pl.LazyFrame, column: str) -> list[object]:
    """Returns the three smallest ids."""
    smallest = rows.select(pl.col(column).unique().bottom_k(3)).collect(engine="streaming")
    return smallest[column].sort().to_list()
