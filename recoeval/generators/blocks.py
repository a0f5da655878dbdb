"""What the generators share: id encoding, seen items, and ranked lists as a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.errors import DataError

__all__ = ["Ints", "Seen", "distinct", "encode", "find", "ranked_lists", "seen_items"]

Ints = NDArray[np.int64]


def distinct(rows: pl.LazyFrame, column: str) -> pl.Series:
    """Returns the distinct values of a column, ascending.

    Raises:
        DataError: there are no train rows.
    """
    values = rows.select(column).unique().collect(engine="streaming").to_series().sort()
    if values.is_empty():
        raise DataError(
            "no train rows to learn from: widen the train window of split, or check the rule in "
            "training.where (default: ground_truth.relevant) against the log"
        )
    return values


def encode(rows: pl.LazyFrame, column: str, ids: pl.Series, code: str) -> pl.LazyFrame:
    """Returns the rows whose id is known, with one more column: its position in `ids` (Int64).

    Args:
        rows: any rows with the id column.
        column: name of the id column.
        ids: distinct ids, in any order.
        code: name of the new column.
    """
    positions = ids.to_frame(column).with_row_index(code).with_columns(pl.col(code).cast(pl.Int64))
    return rows.join(positions.lazy(), on=column, how="inner")


def find(values: pl.Series, ids: pl.Series) -> Ints:
    """Returns the position of each value in `ids`, -1 where it is not among them.

    Args:
        values: ids to look up; a block, since each costs a binary search.
        ids: distinct ids, ascending.

    Example:
        >>> find(pl.Series([7, 8]), pl.Series([5, 7])).tolist()
        [1, -1]
    """
    if ids.is_empty():
        return np.full(len(values), -1, dtype=np.int64)
    at = ids.search_sorted(values).cast(pl.Int64).clip(upper_bound=len(ids) - 1)
    known = (ids.gather(at) == values).fill_null(False)
    return np.where(known.to_numpy(), at.to_numpy(), -1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Seen:
    """The seen items of every user, as positions in a list of items.

    Args:
        users: users with a seen item, ascending.
        starts: where the items of a user start, one more than there are users.
        items: positions, ascending and distinct within a user.
    """

    users: pl.Series
    starts: Ints
    items: Ints

    def counts(self, user_ids: pl.Series) -> Ints:
        """Returns how many items each user has seen, 0 for users that are not known."""
        at = find(user_ids, self.users)
        return np.where(at < 0, 0, self.starts[at + 1] - self.starts[at])

    def of(self, user_ids: pl.Series) -> tuple[Ints, Ints, Ints]:
        """Returns the seen items of a block of users.

        Args:
            user_ids: one a row of the block; a user may come several times.

        Returns:
            row of the block and position of the item, one a pair, ascending by both; and the
            number of pairs of each row.
        """
        at = find(user_ids, self.users)
        counts = np.where(at < 0, 0, self.starts[at + 1] - self.starts[at])
        rows = np.repeat(np.arange(len(counts)), counts)
        before = np.cumsum(counts) - counts
        within = np.arange(len(rows)) - before[rows]
        return rows, self.items[self.starts[at][rows] + within], counts


def seen_items(seen: pl.LazyFrame | None, items: pl.Series) -> Seen:
    """Returns the seen items by user; pairs with an item that is not in `items` are left out.

    Args:
        seen: (user_id, item_id) pairs; None when nothing is left out of the lists.
        items: the items that can be listed, distinct, in any order.
    """
    if seen is None:
        return Seen(pl.Series(dtype=pl.Null), np.zeros(1, np.int64), np.zeros(0, np.int64))
    users = seen.select(c.USER_ID).unique().collect(engine="streaming").to_series().sort()
    pairs = encode(seen.select(c.USER_ID, c.ITEM_ID), c.ITEM_ID, items, "_item")
    packed = encode(pairs, c.USER_ID, users, "_user").select(
        pl.col("_user") * len(items) + pl.col("_item")
    )
    keys = np.unique(packed.collect(engine="streaming").to_series().to_numpy())
    per_user = np.bincount(keys // len(items), minlength=len(users))
    return Seen(users, np.concatenate(([0], np.cumsum(per_user))), keys % len(items))


def ranked_lists(
    query_ids: pl.Series,
    items: pl.Series,
    positions: Ints,
    scores: NDArray[np.float64],
    lengths: Ints,
) -> pl.LazyFrame:
    """Returns lists in the shape of RECOMMENDATIONS: query_id, item_id, rank, score.

    Args:
        query_ids: one a list.
        items: the items that the positions point to.
        positions: best first, one row a list.
        scores: of the same shape.
        lengths: how many entries of each row are real.
    """
    filled = np.arange(positions.shape[1]) < lengths[:, None]
    rows, slots = np.nonzero(filled)
    return pl.LazyFrame(
        {
            c.QUERY_ID: query_ids.gather(rows),
            c.ITEM_ID: items.gather(positions[filled]),
            c.RANK: (slots + 1).astype(np.int64),
            c.SCORE: scores[filled],
        },
        schema_overrides={c.RANK: pl.Int64, c.SCORE: pl.Float64},
    )
