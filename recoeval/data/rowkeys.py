"""Rows of lists matched with pairs of queries and items: by short hashes, then exactly.

A hash join probes a table that no cache holds. Here lists stand side by side in a table of their
own, each sorted by the hashes of its items, so that what is looked up is near: two thirds of the
CPU of one sort of all rows and pairs (1 M rows).
Equal hashes only make candidates: the items of each are compared before they count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Ints", "Matches", "PairIndex", "expand", "match_rows", "positions"]

Ints = NDArray[np.int64]
UInts = NDArray[np.uint64]

_AT_ONCE: Final = 1 << 15
_SHORT: Final = 11
"""Bits of a place up to which 32 bits are enough for it and for a hash."""


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
    if values[0] is not None:
        first = int(ids.search_sorted(values[0]))
        if values.equals(ids.slice(first, len(values))):
            return np.arange(first, first + len(values))
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


def _hashes(items: pl.Series) -> UInts:
    """Returns a hash of each item."""
    hashes: UInts = items.hash().to_numpy()
    return hashes


@dataclass(frozen=True, slots=True)
class Matches:
    """Which rows of a block are like others, or like pairs.

    Args:
        shared: positions of the rows whose item stands elsewhere in their list as well,
            ascending; the first of each is among them.
        found: for each table of pairs the index of a pair and the position of a row that has its
            list and item, in any order.
    """

    shared: Ints
    found: tuple[tuple[Ints, Ints], ...] = ()


def match_rows(
    starts: Ints,
    items: pl.Series,
    pairs: Sequence[tuple[Ints, pl.Series]] = (),
    hashes: UInts | None = None,
) -> Matches:
    """Returns which rows are like others, or like pairs.

    Args:
        starts: where each list starts, one more than there are lists.
        items: item_id of each row.
        pairs: tables of pairs: the number of a list, item_id; in any order.
        hashes: of the items; None: not known yet.

    Example:
        >>> wanted = np.array([1]), pl.Series([7])
        >>> [found] = match_rows(np.array([0, 1, 3]), pl.Series([7, 8, 7]), [wanted]).found
        >>> [each.tolist() for each in found]
        [[0], [2]]
    """
    hashes = _hashes(items) if hashes is None else hashes
    wanted = [_hashes(ids) for _, ids in pairs]
    nothing = np.zeros(0, np.int64)
    again, found = [nothing], [[(nothing, nothing)] for _ in pairs]
    for lists in _of_like_lengths(np.diff(starts)):
        table = _Table.of(starts, lists, hashes)
        again.append(table.alike())
        place = np.full(len(starts), -1)
        place[lists] = np.arange(len(lists))
        for each, (numbers, _), targets in zip(found, pairs, wanted, strict=True):
            each.append(table.find(place[numbers], targets))
    matches = []
    for each, (_, ids) in zip(found, pairs, strict=True):
        index, rows = (np.concatenate(part) for part in zip(*each, strict=True))
        same = (items[rows] == ids[index]).to_numpy()
        matches.append((index[same], rows[same]))
    return Matches(_shared(starts, items, np.concatenate(again)), tuple(matches))


def _shared(starts: Ints, items: pl.Series, rows: Ints) -> Ints:
    """Returns those of some rows that have list and item of another one of them, ascending."""
    if not len(rows):
        return rows
    lists = np.searchsorted(starts, rows, side="right") - 1
    table = pl.DataFrame({"list": lists, "item": items[rows], "at": rows})
    shared = table.filter(pl.len().over("list", "item") > 1)["at"].sort()
    return shared.to_numpy().astype(np.int64)


def _of_like_lengths(lengths: Ints) -> Iterator[Ints]:
    """Yields the numbers of lists of which none is more than twice as long as another."""
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return
    if lengths[filled].max() <= 2 * lengths[filled].min():
        yield filled
        return
    # One, two, up to four, up to eight ...
    sizes = np.frexp(lengths[filled] - 0.5)[1]
    for size in np.flatnonzero(np.bincount(sizes)):
        yield filled[sizes == size]


@dataclass(frozen=True, slots=True)
class _Table:
    """Lists of about one length, side by side.

    Args:
        keys: a row a list: high bits of the hash of each item, then its place in the list;
            sorted. What fills a row up is the largest number.
        low: the bits that are the place.
        starts: where each list starts.
        lengths: how many items it has.
    """

    keys: NDArray[Any]
    low: int
    starts: Ints
    lengths: Ints

    @classmethod
    def of(cls, starts: Ints, lists: Ints, hashes: UInts) -> _Table:
        """Returns the table of some lists.

        Args:
            starts: where each list starts, one more than there are lists.
            lists: their numbers.
            hashes: of the item of each row.
        """
        own, lengths = starts[lists], starts[lists + 1] - starts[lists]
        width = int(lengths.max())
        low = (1 << (width - 1).bit_length()) - 1
        if int(lengths.sum()) < len(hashes):
            hashes = hashes[expand(own, lengths)[1]]
        keys = _short(hashes, low)
        if lengths.min() < width:
            table = np.full((len(own), width), np.iinfo(keys.dtype).max, dtype=keys.dtype)
            table[np.arange(width) < lengths[:, None]] = keys
            keys = table
        keys = keys.reshape(len(own), width)
        keys |= np.arange(width, dtype=keys.dtype)
        keys.sort(axis=1)
        return cls(keys, low, own, lengths)

    def alike(self) -> Ints:
        """Returns the positions of the rows whose hash another one of their list has."""
        width = self.keys.shape[1]
        same = (self.keys[:, 1:] ^ self.keys[:, :-1]) <= self.low
        if self.lengths.min() < width:
            same &= np.arange(1, width) < self.lengths[:, None]
        own, at = np.divmod(np.flatnonzero(same), max(width - 1, 1))
        first = own * width + at
        # Where three are alike, the one in the middle is found twice.
        alike = np.union1d(first, first + 1)
        keys = self.keys.reshape(-1)[alike]
        rows: Ints = self.starts[alike // width] + self._places(keys)
        return rows

    def find(self, rows: Ints, targets: UInts) -> tuple[Ints, Ints]:
        """Returns which targets may be where: their index, and the position of a row.

        Args:
            rows: the row of the table in which each one may be; -1: in none.
            targets: hashes of items.
        """
        index = np.flatnonzero(rows >= 0)
        own, wanted = rows[index], _short(targets[index], self.low)
        first = self._search(own, wanted, np.less)
        keys = self.keys.reshape(-1)
        inside = first < (own + 1) * self.keys.shape[1]
        near = keys[np.minimum(first, len(keys) - 1)]
        alike = np.flatnonzero(inside & ((near ^ wanted) <= self.low))
        index, own, first = index[alike], own[alike], first[alike]
        last = self._search(own, wanted[alike] | self.low, np.less_equal)
        which, at = expand(first, last - first)
        index, own, place = index[which], own[which], self._places(keys[at])
        # Not what fills the row up.
        real = place < self.lengths[own]
        return index[real], (self.starts[own] + place)[real]

    def _places(self, keys: NDArray[Any]) -> Ints:
        return (keys & self.low).astype(np.int64)

    def _search(self, own: Ints, wanted: NDArray[Any], before: Callable[..., Any]) -> Ints:
        """Returns where values would stand: a binary search of all of them at once.

        Args:
            own: the row of the table in which to look for each.
            wanted: the values.
            before: which keys stand before them: np.less or np.less_equal.
        """
        keys, width = self.keys.reshape(-1), self.keys.shape[1]
        found: Ints = own * width
        # Some at a time, which a cache holds together with the lists they are looked up in.
        for first in range(0, len(own), _AT_ONCE):
            at, value = found[first : first + _AT_ONCE], wanted[first : first + _AT_ONCE]
            left = width
            while left > 1:
                half = left // 2
                at += half * before(keys[at + (half - 1)], value)
                left -= half
            at += before(keys[at], value)
        return found


def _short(hashes: UInts, low: int) -> NDArray[Any]:
    """Returns the bits of hashes that stand before a place."""
    if low < 1 << _SHORT:
        half: NDArray[np.uint32] = hashes.view(np.uint32)[1::2]
        return half & ~np.uint32(low)
    return hashes & ~np.uint64(low)


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
