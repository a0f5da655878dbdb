"""Rows of lists matched with pairs of queries and items: by sorted hashes, then exactly.

A hash join probes a table that no cache holds. Sorting the hashes of a block of rows, and looking
sorted pairs up in them, costs about half of its CPU (100 M rows, 10 M pairs). Equal hashes only
make candidates: list and item of each are compared before they count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Ints", "PairIndex", "RowKeys", "expand", "positions"]

Ints = NDArray[np.int64]
UInts = NDArray[np.uint64]

# The golden ratio in 64 bits: spreads neighbouring numbers over all of them.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def positions(values: pl.Series, ids: pl.Series) -> Ints:
    """Returns the position of each value in `ids`, -1 where it is not among them.

    Args:
        values: ids to look up.
        ids: distinct ids, ascending.

    Example:
        >>> positions(pl.Series([7, 8]), pl.Series([5, 7])).tolist()
        [1, -1]
    """
    if ids.is_empty() or values.is_empty():
        return np.full(len(values), -1, dtype=np.int64)
    if values.equals(ids):
        return np.arange(len(ids))
    at = ids.search_sorted(values).cast(pl.Int64).clip(upper_bound=len(ids) - 1)
    known = (ids.gather(at) == values).fill_null(False)
    return np.where(known.to_numpy(), at.to_numpy(), -1).astype(np.int64)


def expand(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Returns the numbers of several ranges one after the other.

    Args:
        starts: first number of each range.
        counts: its length.

    Returns:
        index of the range, and the number.

    Example:
        >>> [each.tolist() for each in expand(np.array([5, 9]), np.array([2, 1]))]
        [[0, 0, 1], [5, 6, 9]]
    """
    which = np.repeat(np.arange(len(counts)), counts)
    shift = starts - (np.cumsum(counts) - counts)
    return which, np.arange(len(which)) + np.repeat(shift, counts)


def _mixed(lists: Ints, lengths: Ints | None, items: pl.Series) -> UInts:
    """Returns a hash of each (list, item).

    Args:
        lists: numbers of lists.
        lengths: how many rows each has; None: one.
        items: item_id of each row.
    """
    keys: UInts = lists.astype(np.uint64) * _SPREAD
    if lengths is not None:
        keys = np.repeat(keys, lengths)
    keys += items.hash().to_numpy()
    return keys


@lru_cache(maxsize=2)
def _places(bits: int) -> UInts:
    """Returns 0, 1, 2 ...: making it anew costs as much as adding two columns."""
    return np.arange(1 << bits, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class RowKeys:
    """The rows of a block by list and item.

    Args:
        starts: where each list starts, one more than there are lists.
        items: item_id of each row.
        keys: high bits of the hash of a row, then its position; sorted.
        mask: the bits of a key that are the position.
    """

    starts: Ints
    items: pl.Series
    keys: UInts
    mask: np.uint64

    @classmethod
    def of(cls, starts: Ints, items: pl.Series) -> RowKeys:
        """Returns the keys of rows.

        Args:
            starts: where each list starts, one more than there are lists.
            items: item_id of each row.
        """
        bits = len(items).bit_length()
        mask = np.uint64((1 << bits) - 1)
        keys = _mixed(np.arange(len(starts) - 1), np.diff(starts), items)
        keys &= ~mask
        keys |= _places(bits)[: len(items)]
        keys.sort()
        return cls(starts, items, keys, mask)

    def lists(self, rows: Ints) -> Ints:
        """Returns the number of the list of rows."""
        numbers: Ints = np.searchsorted(self.starts, rows, side="right") - 1
        return numbers

    def shared(self) -> Ints:
        """Returns the positions of the rows whose item stands elsewhere in their list as well.

        Ascending; the first of each is among them.
        """
        alike = (self.keys[1:] ^ self.keys[:-1]) <= self.mask
        if not alike.any():
            return np.zeros(0, np.int64)
        candidate = np.concatenate((alike, [False])) | np.concatenate(([False], alike))
        at = self._position(self.keys[candidate])
        rows = pl.DataFrame({"list": self.lists(at), "item": self.items.gather(at), "at": at})
        found = rows.filter(pl.len().over("list", "item") > 1)["at"].sort()
        return found.to_numpy().astype(np.int64)

    def find(self, lists: Ints, items: pl.Series) -> tuple[Ints, Ints]:
        """Returns the rows of pairs: the index of a pair and the position of a row, in any order.

        Args:
            lists: number of the list of each pair.
            items: item_id of each pair.
        """
        nothing = np.zeros(0, np.int64)
        if not len(self.keys):
            return nothing, nothing
        targets = _mixed(lists, None, items)
        targets &= ~self.mask
        order = np.argsort(targets)
        targets = targets[order]
        at = np.searchsorted(self.keys, targets)
        pairs, rows = [], []
        while len(at):
            inside = at < len(self.keys)
            keys = self.keys[np.where(inside, at, 0)]
            alike = inside & ((keys ^ targets) <= self.mask)
            at, targets, order = at[alike] + 1, targets[alike], order[alike]
            row = self._position(keys[alike])
            same = self.lists(row) == lists[order]
            same &= (self.items.gather(row) == items.gather(order)).to_numpy()
            pairs.append(order[same])
            rows.append(row[same])
        return np.concatenate((nothing, *pairs)), np.concatenate((nothing, *rows))

    def _position(self, keys: UInts) -> Ints:
        return (keys & self.mask).astype(np.int64)


@dataclass(frozen=True, slots=True)
class PairIndex:
    """Pairs of queries and items, those of each query together.

    Args:
        items: item_id of each pair.
        starts: where the pairs of each query number start, one more than there are queries.
    """

    items: pl.Series
    starts: Ints

    @classmethod
    def of(cls, numbers: Ints, items: pl.Series, queries: int) -> PairIndex:
        """Returns the index of pairs.

        Args:
            numbers: query number of each pair, ascending.
            items: item_id of each pair.
            queries: how many query numbers there are.
        """
        counts = np.bincount(numbers, minlength=queries)
        return cls(items, np.concatenate(([0], np.cumsum(counts))))

    def of_lists(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Returns the pairs of lists: index of the list, and number of the pair.

        Args:
            numbers: query number of each list; -1 has no pairs.
        """
        known = np.maximum(numbers, 0)
        starts = self.starts[known]
        counts = np.where(numbers < 0, 0, self.starts[known + 1] - starts)
        return expand(starts, counts)

    def match(self, keys: RowKeys, numbers: Ints) -> tuple[Ints, Ints]:
        """Returns which rows are pairs of their query: number of the pair, position of the row.

        Args:
            keys: the rows.
            numbers: query number of each of their lists; -1 has no pairs.
        """
        lists, pairs = self.of_lists(numbers)
        found, rows = keys.find(lists, self.items.gather(pairs))
        return pairs[found], rows
