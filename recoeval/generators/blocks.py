"""What the generators share: id encoding, seen items, and ranked lists as a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.data.idkeys import key_of
from recoeval.data.rowkeys import positions
from recoeval.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "PAIR",
    "Ints",
    "Pairs",
    "Positions",
    "Seen",
    "best",
    "distinct",
    "distinct_pairs",
    "encode_pairs",
    "first_of_equals",
    "pair_weights",
    "ranked_lists",
    "seen_items",
    "unpack",
]

Ints = NDArray[np.int64]
Pairs = NDArray[np.uint64]
Positions = NDArray[np.int32]

PAIR = "_pair"
"""Column of pairs as numbers: 2^32 x the position of the user + the position of the item."""


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


def encode_pairs(rows: pl.LazyFrame, users: pl.Series, items: pl.Series) -> pl.LazyFrame:
    """Returns the rows of known items, with a number a pair instead of its ids.

    Args:
        rows: user_id, item_id and any other columns.
        users: distinct ids, in any order, all that the rows have; fewer than 2^32.
        items: distinct ids, in any order; fewer than 2^31.

    Returns:
        The pair (PAIR, UInt64), and the other columns.
    """
    key = key_of(c.USER_ID, users)
    by_user = users.alias(c.USER_ID).to_frame().with_row_index("_user").select(key, "_user")
    by_item = items.alias(c.ITEM_ID).to_frame().with_row_index("_item")
    known = (
        rows.with_columns(key)
        .join(by_item.lazy(), on=c.ITEM_ID)
        .join(by_user.lazy(), on=c.USER_ID)
        .drop(c.USER_ID, c.ITEM_ID)
    )
    pair = pl.col("_user").cast(pl.UInt64) * 2**32 + pl.col("_item")
    return known.with_columns(pair.alias(PAIR)).drop("_user", "_item")


def unpack(pairs: Pairs) -> tuple[NDArray[np.uint32], Positions]:
    """Returns the positions of the users and of the items of pairs as numbers.

    Example:
        >>> [positions.tolist() for positions in unpack(np.array([7, 2**32 + 5], np.uint64))]
        [[0, 1], [7, 5]]
    """
    return (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.int32)


def first_of_equals(numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Returns where a sorted array has each of its numbers for the first time.

    Example:
        >>> first_of_equals(np.array([3, 3, 7])).tolist()
        [True, False, True]
    """
    first = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return first


def distinct_pairs(
    rows: pl.LazyFrame, users: pl.Series, items: pl.Series
) -> tuple[NDArray[np.uint32], Positions]:
    """Returns the distinct pairs of known items: their positions, ascending by both.

    Args:
        rows: user_id, item_id; repeats allowed.
        users: distinct ids, in any order, all that the rows have.
        items: distinct ids, in any order.
    """
    coded = encode_pairs(rows.select(c.USER_ID, c.ITEM_ID), users, items)
    parts = coded.collect(engine="streaming").to_series().get_chunks()
    pairs = np.concatenate([part.to_numpy() for part in parts])
    del parts
    # np.unique hashes numbers: it took 57 s of CPU for 36 M pairs, and this 1 s.
    pairs.sort()
    return unpack(pairs[first_of_equals(pairs)])


def pair_weights(rows: pl.LazyFrame, users: pl.Series, items: pl.Series) -> csr_matrix:
    """Returns the sum of weights of each pair: users x items, float32, indices ascending.

    Args:
        rows: user_id, item_id, weight; repeats are added up.
        users: distinct ids, in any order, all that the rows have.
        items: distinct ids, in any order.
    """
    from scipy.sparse import csr_matrix

    coded = encode_pairs(rows.select(c.USER_ID, c.ITEM_ID, c.WEIGHT), users, items)
    # Sorted by weight as well: a float sum depends on its order, the result may not. In memory,
    # where the sort costs a third of a streamed one.
    pairs = coded.collect(engine="streaming").sort(PAIR, c.WEIGHT)
    keys = pairs[PAIR].to_numpy()
    first = np.flatnonzero(first_of_equals(keys))
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(pairs[c.WEIGHT].to_numpy(), first).astype(np.float32)
    owners, positions = unpack(keys[first])
    starts = np.searchsorted(owners, np.arange(len(users) + 1, dtype=np.uint32))
    return csr_matrix((sums, positions, starts), shape=(len(users), len(items)))


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
    items: Positions

    def counts(self, user_ids: pl.Series) -> Ints:
        """Returns how many items each user has seen, 0 for users that are not known."""
        at = positions(user_ids, self.users)
        return np.where(at < 0, 0, self.starts[at + 1] - self.starts[at])

    def of(self, user_ids: pl.Series) -> tuple[Ints, Positions, Ints]:
        """Returns the seen items of a block of users.

        Args:
            user_ids: one a row of the block; a user may come several times.

        Returns:
            row of the block and position of the item, one a pair, ascending by both; and the
            number of pairs of each row.
        """
        at = positions(user_ids, self.users)
        counts = np.where(at < 0, 0, self.starts[at + 1] - self.starts[at])
        places = np.repeat(self.starts[at] - np.cumsum(counts) + counts, counts)
        places += np.arange(len(places))
        return np.repeat(np.arange(len(counts)), counts), self.items[places], counts


def seen_items(seen: pl.LazyFrame | None, items: pl.Series) -> Seen:
    """Returns the seen items by user; pairs with an item that is not in `items` are left out.

    Args:
        seen: (user_id, item_id) pairs; None when nothing is left out of the lists.
        items: the items that can be listed, distinct, in any order.
    """
    if seen is None:
        return Seen(pl.Series(dtype=pl.Null), np.zeros(1, np.int64), np.zeros(0, np.int32))
    users = seen.select(c.USER_ID).unique().collect(engine="streaming").to_series().sort()
    owners, positions = distinct_pairs(seen, users, items)
    starts = np.searchsorted(owners, np.arange(len(users) + 1, dtype=np.uint32))
    return Seen(users, starts, positions)


def best(
    rows: Ints, positions: Ints, scores: NDArray[np.float64], shape: tuple[int, int]
) -> tuple[Ints, NDArray[np.float64], Ints]:
    """Returns the best entries of each row: score descending, then position ascending.

    Args:
        rows: the row of each entry, in any order.
        positions: of items, distinct within a row.
        scores: without NaN.
        shape: how many rows there are, and how many entries of each to keep at most.

    Returns:
        positions and scores of that shape, filled up with zeros; how many of each row are real.

    Example:
        >>> entries = np.array([1, 1, 1]), np.array([5, 2, 9]), np.array([0.5, 0.5, 0.25])
        >>> [each.tolist() for each in best(*entries, (2, 2))]
        [[[0, 0], [2, 5]], [[0.0, 0.0], [0.5, 0.5]], [0, 2]]
    """
    height, width = shape
    order = np.lexsort((positions, -scores, rows))
    counts = np.bincount(rows, minlength=height)
    places = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    order, places = order[places < width], places[places < width]
    listed, known = np.zeros(shape, np.int64), np.zeros(shape)
    listed[rows[order], places] = positions[order]
    known[rows[order], places] = scores[order]
    return listed, known, np.minimum(counts, width)


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
    height, width = positions.shape
    ranks = np.tile(np.arange(1, width + 1), height)
    listed, known = positions.ravel(), scores.ravel()
    if (lengths < width).any():
        real = (np.arange(width) < lengths[:, None]).ravel()
        ranks, listed, known = ranks[real], listed[real], known[real]
    # Polars gathers by its own UInt32; other numbers are cast and checked first.
    rows = np.repeat(np.arange(height, dtype=np.uint32), lengths)
    return pl.LazyFrame(
        {
            c.QUERY_ID: query_ids.gather(pl.Series(rows)),
            c.ITEM_ID: items.gather(pl.Series(listed.astype(np.uint32))),
            c.RANK: ranks,
            c.SCORE: known,
        },
        schema_overrides={c.RANK: pl.Int64, c.SCORE: pl.Float64},
    )
