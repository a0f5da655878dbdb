"""Rows of lists matched with pairs of queries and items: by sorted hashes, then exactly.

A hash join probes a table that no cache holds. Sorting the hashes of a block of rows together with
those of the pairs costs less, and finds rows that repeat as well. Equal hashes only make
candidates: list and item of each are compared before they count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Ints", "Matches", "PairIndex", "expand", "match_rows", "positions"]

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


def _mix(lists: Ints, lengths: Ints | None, items: pl.Series, into: UInts) -> None:
    """Writes a hash of each (list, item).

    Args:
        lists: numbers of lists.
        lengths: how many rows each has; None: one.
        items: item_id of each row.
        into: one number a row.
    """
    keys = lists.astype(np.uint64) * _SPREAD
    if lengths is not None:
        keys = np.repeat(keys, lengths)
    np.add(keys, items.hash().to_numpy(), out=into)


@lru_cache(maxsize=2)
def _places(bits: int) -> UInts:
    """Returns 0, 1, 2 ...: making it anew costs as much as adding two columns."""
    return np.arange(1 << bits, dtype=np.uint64)


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
    starts: Ints, items: pl.Series, pairs: Sequence[tuple[Ints, pl.Series]] = ()
) -> Matches:
    """Returns which rows are like others, or like pairs.

    Args:
        starts: where each list starts, one more than there are lists.
        items: item_id of each row.
        pairs: tables of pairs: the number of a list, item_id; in any order.

    Example:
        >>> wanted = np.array([1]), pl.Series([7])
        >>> [found] = match_rows(np.array([0, 1, 3]), pl.Series([7, 8, 7]), [wanted]).found
        >>> [each.tolist() for each in found]
        [[0], [2]]
    """
    ends = np.cumsum([len(items), *(len(lists) for lists, _ in pairs)])
    keys = np.empty(ends[-1], np.uint64)
    _mix(np.arange(len(starts) - 1), np.diff(starts), items, keys[: len(items)])
    for (lists, ids), first, last in zip(pairs, ends[:-1], ends[1:], strict=True):
        _mix(lists, None, ids, keys[first:last])
    runs, places = _alike(keys)
    is_row = places < len(items)
    rows = _Rows(runs[is_row], places[is_row])
    found = []
    for (lists, ids), first, last in zip(pairs, ends[:-1], ends[1:], strict=True):
        own = (places >= first) & (places < last)
        index = places[own] - first
        which, at = rows.of_runs(runs[own])
        index, at = index[which], rows.places[at]
        same = (starts[lists[index]] <= at) & (at < starts[lists[index] + 1])
        same &= (items[at] == ids[index]).to_numpy()
        found.append((index[same], at[same]))
    return Matches(rows.shared(starts, items), tuple(found))


def _alike(keys: UInts) -> tuple[Ints, Ints]:
    """Returns which keys are alike: the number of their run, ascending, and their places.

    Args:
        keys: hashes; the low bits, which a place needs, are overwritten.
    """
    bits = len(keys).bit_length()
    mask = np.uint64((1 << bits) - 1)
    keys &= ~mask
    keys |= _places(bits)[: len(keys)]
    keys.sort()
    alike = np.flatnonzero((keys[1:] ^ keys[:-1]) <= mask)
    heads = np.flatnonzero(np.diff(alike, prepend=-2) != 1)
    lengths = np.diff(heads, append=len(alike)) + 1
    runs, members = expand(alike[heads], lengths)
    return runs, (keys[members] & mask).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows whose hashes are alike, run by run.

    Args:
        runs: number of the run, ascending.
        places: position of the row in its block; ascending within a run.
    """

    runs: Ints
    places: Ints

    def of_runs(self, runs: Ints) -> tuple[Ints, Ints]:
        """Returns the rows of runs: index of the run asked for, and of the row."""
        first = np.searchsorted(self.runs, runs)
        return expand(first, np.searchsorted(self.runs, runs, side="right") - first)

    def shared(self, starts: Ints, items: pl.Series) -> Ints:
        """Returns the places of the rows whose list has their item elsewhere as well, ascending."""
        alike = self.runs[1:] == self.runs[:-1]
        if not alike.any():
            return np.zeros(0, np.int64)
        at = self.places[np.append(alike, False) | np.append(False, alike)]
        lists = np.searchsorted(starts, at, side="right") - 1
        rows = pl.DataFrame({"list": lists, "item": items.gather(at), "at": at})
        found = rows.filter(pl.len().over("list", "item") > 1)["at"].sort()
        return found.to_numpy().astype(np.int64)


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
