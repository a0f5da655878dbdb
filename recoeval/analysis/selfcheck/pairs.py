"""Whether hits and lost pairs are exactly the truth: as many as each query has, none twice."""

from __future__ import annotations

import numpy as np
import polars as pl

from recoeval.columns import FOLD, ITEM_ID, QUERY_ID, RELEVANT

__all__ = ["find_unlike_truth"]

_QUERY = (FOLD, QUERY_ID)


def find_unlike_truth(queries: pl.DataFrame, pairs: pl.DataFrame) -> pl.Series:
    """Returns the query_id of queries whose pairs are not as many as relevant, or not distinct.

    Args:
        queries: fold, query_id, relevant.
        pairs: fold, query_id, item_id: hits and lost pairs together, in any order.

    Returns:
        query_id, in no order; of queries that have pairs and no row too.

    Example:
        >>> queries = pl.DataFrame({"fold": [0, 0], "query_id": [1, 2], "relevant": [2, 1]})
        >>> pairs = pl.DataFrame({"fold": [0] * 3, "query_id": [1, 2, 1], "item_id": [5, 5, 5]})
        >>> find_unlike_truth(queries, pairs).to_list()
        [1]
    """
    if _is_truth(queries, pairs):
        return queries[QUERY_ID].clear()
    sizes = pairs.group_by(_QUERY).agg(
        pl.len().alias("pairs"), pl.struct(ITEM_ID).n_unique().alias("distinct")
    )
    held = queries.join(sizes, on=_QUERY, how="full", coalesce=True)
    filled = held.with_columns(pl.col(RELEVANT, "pairs", "distinct").fill_null(0))
    return filled.filter(
        (pl.col(RELEVANT) != pl.col("pairs")) | (pl.col("pairs") != pl.col("distinct"))
    )[QUERY_ID]


def _is_truth(queries: pl.DataFrame, pairs: pl.DataFrame) -> bool:
    """Returns whether the pairs are certainly right; false where a closer look is needed.

    Rows are put in the order of their hashes, and then their ids are compared: equal hashes of
    different ids cost a closer look, and hide nothing.
    """
    names, sizes = queries[QUERY_ID], queries[RELEVANT]
    ids = pairs[QUERY_ID]
    folds = pl.concat([queries[FOLD], pairs[FOLD]])
    plain = names.dtype == ids.dtype and folds.n_unique() <= 1
    if not plain or any(each.has_nulls() for each in (names, sizes, *pairs)):
        return False
    if (sizes < 0).any() or sizes.sum() != len(ids):
        return False
    own = names.hash().to_numpy()
    order = np.argsort(own)
    if _repeats(own[order]) or _repeats(np.sort(pairs.hash_rows().to_numpy())):
        return False
    due = np.repeat(order, sizes.to_numpy()[order])
    return bool((names.gather(due) == ids.gather(np.argsort(ids.hash().to_numpy()))).all())


def _repeats(ordered: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> bool:
    """Returns whether any of sorted numbers stands twice."""
    return bool((ordered[1:] == ordered[:-1]).any())
