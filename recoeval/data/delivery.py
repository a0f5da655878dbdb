"""The delivered order of lists."""

from __future__ import annotations

from typing import Final, Literal

import polars as pl

from recoeval.columns import FOLD, GENERATOR, ITEM_ID, QUERY_ID, RANK, SCORE

__all__ = ["Order", "Tie", "deliver", "find_order"]

Tie = Literal["ascending", "descending"]
Order = Literal["unknown", "ranked", "scored"]

_SORTED_BY: Final = "_score"
_ROW: Final = "_row"


def list_keys(lists: pl.LazyFrame) -> list[str]:
    """Returns the columns that tell lists apart."""
    schema = lists.collect_schema()
    return [name for name in (FOLD, GENERATOR, QUERY_ID) if name in schema]


def deliver(
    lists: pl.LazyFrame, *, tie: Tie = "ascending", order: Order = "unknown"
) -> pl.LazyFrame:
    """Returns the lists in the order in which they were delivered, with ranks 1..n.

    The rank decides; without one the score, highest first, and equal scores by item id. Nothing
    depends on the order of the rows that come in. Repeated rows are still in the result.

    Args:
        lists: of `read_lists`.
        tie: order of equal scores by item id; "descending" is that of TREC runs, where ids
            are text.
        order: what `find_order` found, to save the sort.

    Returns:
        fold and generator if present, query_id, item_id, rank (Int64), score (Float64, if
        present). Sorted by query and rank; with `order` the rows stay where they are.
    """
    schema = lists.collect_schema()
    keys = list_keys(lists)
    columns = [*keys, ITEM_ID, RANK, *([SCORE] if SCORE in schema else [])]
    if order == "ranked":
        return lists.select(columns)
    if order == "scored":
        return _numbered(lists, keys).select(columns)
    falling = RANK not in schema and tie == "descending"
    parts = _sort_parts(schema, falling=falling)
    places = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    score = pl.col(_SORTED_BY) if falling else 0.0 - pl.col(_SORTED_BY)
    return (
        lists.group_by(keys)
        .agg(pl.struct(parts).sort(descending=falling).alias(_ROW), places.alias(RANK))
        .sort(keys)
        .explode(_ROW, RANK)
        .unnest(_ROW)
        .with_columns([score.alias(SCORE)] if SCORE in schema else [])
        .select(columns)
    )


def _sort_parts(schema: pl.Schema, *, falling: bool) -> list[pl.Expr]:
    """Returns what a list is sorted by, in one direction: a group sorts whole tuples.

    Args:
        schema: of the lists.
        falling: whether the direction is downwards.
    """
    item, score = pl.col(ITEM_ID), pl.col(SCORE)
    if falling:
        return [score.alias(_SORTED_BY), _text().alias("_text"), item]
    scores = [(0.0 - score).alias(_SORTED_BY)] if SCORE in schema else []
    return [pl.col(RANK).alias("_rank"), item, *scores] if RANK in schema else [*scores, item]


def _text() -> pl.Expr:
    """Returns item ids as TREC compares them, also where they were read as integers."""
    return pl.col(ITEM_ID).cast(pl.String)


def _numbered(lists: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Returns lists whose rows are in order, with their ranks."""
    position = pl.int_range(pl.len(), dtype=pl.Int64)
    start = pl.when(_starts(keys)).then(position).forward_fill()
    return lists.with_columns((position - start + 1).alias(RANK))


def _starts(keys: list[str]) -> pl.Expr:
    """Returns whether a row is the first of its list, where lists are in one piece."""
    changed = [pl.col(key).ne_missing(pl.col(key).shift()) for key in keys]
    return pl.any_horizontal(changed) | (pl.int_range(pl.len()) == 0)


def find_order(lists: pl.LazyFrame, *, tie: Tie = "ascending") -> Order:
    """Returns in what order the rows of lists already are, for `deliver`.

    Args:
        lists: of `read_lists`, checked.
        tie: as for `deliver`.

    Returns:
        "ranked": each list is in one piece and its ranks are 1, 2, 3 ...; "scored": in one
        piece, without ranks, in the order that `deliver` makes; else "unknown".
    """
    schema = lists.collect_schema()
    keys = list_keys(lists)
    start = _starts(keys)
    if RANK in schema:
        rank = pl.col(RANK)
        follows = pl.when(start).then(rank == 1).otherwise(rank == rank.shift() + 1)
    else:
        score, item = pl.col(SCORE), pl.col(ITEM_ID)
        tied = _text() <= _text().shift() if tie == "descending" else item >= item.shift()
        follows = start | (score < score.shift()) | ((score == score.shift()) & tied)
    facts = lists.select(
        follows.fill_null(False).all().alias("ordered"),
        start.sum().alias("pieces"),
        pl.struct(keys).n_unique().alias("lists"),
    )
    row = facts.collect(engine="streaming").row(0, named=True)
    if not row["ordered"] or row["pieces"] != row["lists"]:
        return "unknown"
    return "ranked" if RANK in schema else "scored"
