"""What a generator gives for a block of queries, held against what generators promise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from recoeval.columns import QUERY_ID, RANK, SCORE
from recoeval.data.ordering import starts_of
from recoeval.data.rowkeys import Ints
from recoeval.errors import EngineError, some
from recoeval.generators.base import Counting, Fitted

__all__ = ["list_block"]


def list_block(
    fitted: Fitted, queries: pl.DataFrame, k: int
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """Returns the lists of a block of queries, and what the generator counted.

    Args:
        fitted: the generator.
        queries: query_id, user_id; one row a query.
        k: length of the lists, items, >= 1.

    Returns:
        query_id, item_id, rank (Int64), score (Float64), in the order in which they came.

    Raises:
        EngineError: ranks other than 1, 2, 3 ... k: depths and merges would read other lists than
            the generator means.
    """
    counts: Mapping[str, int] = {}
    if isinstance(fitted, Counting):
        plan, counts = fitted.counted(queries, k)
    else:
        plan = fitted.recommend(queries, k)
    lists = plan.collect()
    numbers = {name: lists.schema[name] for name in (RANK, SCORE) if name in lists.schema}
    if RANK in numbers and QUERY_ID in lists.schema and numbers[RANK].is_integer():
        lists = lists.cast({RANK: pl.Int64})
        _require_ranks(lists, k)
    if SCORE in numbers and (numbers[SCORE].is_numeric() or numbers[SCORE] == pl.Null):
        lists = lists.cast({SCORE: pl.Float64})
    return lists, counts


def _require_ranks(lists: pl.DataFrame, k: int) -> None:
    """Refuses lists whose ranks are not 1, 2, 3 ... k."""
    rows = lists.select(QUERY_ID, RANK)
    starts = starts_of(rows[QUERY_ID])
    if not _are_ranked(rows, starts):
        # Rows may come in any order.
        rows = rows.sort(QUERY_ID, RANK)
        starts = starts_of(rows[QUERY_ID])
    lengths = np.diff(starts, append=rows.height)
    expected = np.arange(rows.height) - np.repeat(starts, lengths) + 1
    ranks = rows[RANK].fill_null(0).to_numpy()
    wrong = (ranks != expected) | (ranks > k)
    if wrong.any():
        bad = rows.filter(wrong).unique(QUERY_ID, keep="first", maintain_order=True)
        queries = "query" if bad.height == 1 else "queries"
        raise EngineError(
            f"lists of {bad.height} {queries} with ranks other than 1, 2, 3 ... {k}, e.g. query, "
            f"rank {some(bad.head(6).rows())}: number what is listed without gaps or repetitions"
        )


def _are_ranked(rows: pl.DataFrame, starts: Ints) -> bool:
    """Returns whether the rows of each query stand together, its ranks rising."""
    if rows[QUERY_ID].gather(starts).n_unique() < len(starts):
        return False
    rises = np.diff(rows[RANK].fill_null(0).to_numpy()) > 0
    rises[starts[1:] - 1] = True
    return bool(rises.all())
