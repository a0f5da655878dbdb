"""Lists that end where the evidence ends: entries of any number a query."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.generators.blocks import Ints, Seen

__all__ = ["short_lists", "unseen"]


def unseen(seen: Seen, user_ids: pl.Series, rows: Ints, positions: Ints) -> NDArray[np.bool_]:
    """Returns which entries their users have not seen.

    Args:
        seen: the seen items, of as many items as the positions point to.
        user_ids: one a row of the block.
        rows: of the block, one an entry.
        positions: of the items.
    """
    owners, left_out, _ = seen.of(user_ids)
    known = owners << 32 | left_out
    return ~np.isin(rows << 32 | positions, known)


def short_lists(
    query_ids: pl.Series,
    items: pl.Series,
    rows: Ints,
    positions: Ints,
    scores: NDArray[np.float64],
    *,
    k: int,
) -> pl.LazyFrame:
    """Returns lists in the shape of RECOMMENDATIONS: query_id, item_id, rank, score.

    Args:
        query_ids: one a list.
        items: the items that the positions point to.
        rows: number of the list of each entry, ascending; lists may have none.
        positions: of its item, best first within a list.
        scores: of each entry.
        k: entries of a list, at most.

    Example:
        >>> queries, items = pl.Series(["u", "v"]), pl.Series(["a", "b"])
        >>> rows, places = np.array([1, 1]), np.array([1, 0])
        >>> short_lists(queries, items, rows, places, np.array([3.0, 2.0]), k=1).collect().rows()
        [('v', 'b', 1, 3.0)]
    """
    counts = np.bincount(rows, minlength=len(query_ids))
    ranks = np.arange(1, len(rows) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = ranks <= k
    return pl.LazyFrame(
        {
            # Polars gathers by its own UInt32; other numbers are cast and checked first.
            c.QUERY_ID: query_ids.gather(pl.Series(rows[kept].astype(np.uint32))),
            c.ITEM_ID: items.gather(pl.Series(positions[kept].astype(np.uint32))),
            c.RANK: ranks[kept],
            c.SCORE: scores[kept],
        },
        schema_overrides={c.RANK: pl.Int64, c.SCORE: pl.Float64},
    )
