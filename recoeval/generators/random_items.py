"""Random: items in random order, the floor that every generator must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.data.sampling import hash_ids
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import (
    Ints,
    Positions,
    Seen,
    distinct,
    first_of_equals,
    ranked_lists,
    seen_items,
)

__all__ = ["Random"]

_Hashes = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 1 << 18  # numbers held at once


class Random(Generator):
    """Items with a train row in uniformly random order, seen ones left out.

    The order depends on the seed and the query id alone: not on the block, the order of the
    queries, or the number of threads. Every user gets a list. The score is 1 / rank: it says no
    more than the rank does, but lists stored without ranks keep their order and have no ties.
    """

    serves_cold_users: ClassVar[bool] = True
    serves_cold_items: ClassVar[bool] = False

    type: Literal["random"] = "random"

    def fit(self, train: Train) -> Fitted:
        """Returns the items to draw from.

        Raises:
            DataError: no train rows.
        """
        items = distinct(train.rows, c.ITEM_ID)
        return _Urn(items, seen_items(train.seen, items), train.seed)


@dataclass(frozen=True, slots=True)
class _Urn:
    items: pl.Series
    seen: Seen
    seed: int

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns k random items a query."""
        size = len(self.items)
        width = min(k, size)
        counts = self.seen.counts(queries[c.USER_ID])
        seeds = query_seeds(self.seed, queries[c.QUERY_ID])
        positions = np.zeros((len(seeds), width), dtype=np.int64)
        # Where most of the catalogue is left out or listed, drawing would repeat itself too often.
        shuffled = 4 * (width + counts) >= size
        for which, order, cost in (
            (np.flatnonzero(shuffled), _shuffle, size),
            (np.flatnonzero(~shuffled), _draw, 2 * width + 32),
        ):
            step = max(1, _CHUNK // cost)
            for start in range(0, len(which), step):
                chunk = which[start : start + step]
                rows, seen, _ = self.seen.of(queries[c.USER_ID].gather(chunk))
                positions[chunk] = order(seeds[chunk], rows, seen, size, width)
        scores = np.broadcast_to(1.0 / np.arange(1, width + 1), positions.shape)
        lengths = np.minimum(width, size - counts)
        return ranked_lists(queries[c.QUERY_ID], self.items, positions, scores, lengths)


def query_seeds(seed: int, query_ids: pl.Series) -> _Hashes:
    """Returns a seed for each query: the first 8 bytes of the SHA-256 of "{seed}:{query_id}".

    Example:
        >>> query_seeds(7, pl.Series(["u1"])).tolist() == query_seeds(7, pl.Series(["u1"])).tolist()
        True
    """
    return hash_ids(query_ids, seed).to_numpy()


def _stream(seeds: _Hashes, length: int) -> _Hashes:
    """Returns the first numbers of the stream of each seed, one row a seed.

    Source: SplitMix64; Steele, Lea, Flood (2014), Fast splittable pseudorandom number generators.
    """
    z: _Hashes = seeds[:, None] + np.arange(1, length + 1, dtype=np.uint64) * _GOLDEN
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _shuffle(seeds: _Hashes, rows: Ints, seen: Positions, size: int, width: int) -> Ints:
    """Returns the items with the smallest random keys; the low bits of a key hold the item."""
    bits = np.uint64(max(1, (size - 1).bit_length()))
    keys = _stream(seeds, size) >> bits << bits | np.arange(size, dtype=np.uint64)
    keys[rows, seen] = np.iinfo(np.uint64).max
    keys.sort(axis=1)
    # Beyond the unseen items of a row there are only marks; the caller cuts them off.
    return (keys[:, :width] & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64) % size


def _draw(seeds: _Hashes, rows: Ints, seen: Positions, size: int, width: int) -> Ints:
    """Returns the items in the order in which they first come in the endless draws of a row."""
    # A draw is in vain as often as it meets a seen or listed item.
    in_vain = (width + int(np.bincount(rows, minlength=1).max())) / size
    length = width + int(2 * width * in_vain) + 32
    while True:
        draws = ((_stream(seeds, length) >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)
        items = draws.astype(np.int64)
        fresh = _first_draws(items, rows, seen, size)
        slots = np.cumsum(fresh, axis=1)
        if bool((slots[:, -1] >= width).all()):
            return items[fresh & (slots <= width)].reshape(len(seeds), width)
        length *= 2


def _first_draws(items: Ints, rows: Ints, seen: Positions, size: int) -> NDArray[np.bool_]:
    """Returns which draws are neither seen nor repeat an earlier one, in the shape of `items`."""
    count, length = items.shape
    # Row, item and turn in one number, by bits: divisions take longer than all the rest.
    turn_bits, item_bits = length.bit_length(), size.bit_length()
    pairs = np.arange(count)[:, None] << item_bits | items
    drawn = pairs << turn_bits | np.arange(1, length + 1)
    known = (rows << item_bits | seen) << turn_bits  # turn 0 is "seen"
    keys = np.concatenate((drawn.ravel(), known))
    keys.sort()
    head = first_of_equals(keys >> turn_bits)
    turns = keys & ((1 << turn_bits) - 1)
    head &= turns > 0
    fresh = np.zeros((count, length), dtype=np.bool_)
    fresh[keys[head] >> (item_bits + turn_bits), turns[head] - 1] = True
    return fresh
