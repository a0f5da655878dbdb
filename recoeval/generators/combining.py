"""How lists of several channels become one: the arithmetic of a merge, over numbers.

Queries and items are numbered once for all channels. A pair is a query with an item; it has the
same number in every channel that lists it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.data.rowkeys import positions

__all__ = [
    "Block",
    "Listed",
    "Picked",
    "add_up",
    "fill",
    "filled_depths",
    "number_rows",
    "take_turns",
    "turned_depths",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows of a channel's lists, by query and rank.

    Args:
        starts: where the rows of each query start; one more than there are queries.
        queries: number of the query of each row, ascending.
        pairs: number of the pair of each row; distinct.
        ranks: 1..n within a query.
        scores: NaN where the channel has none.
    """

    starts: Ints
    queries: Ints
    pairs: Ints
    ranks: Ints
    scores: Floats

    @property
    def lengths(self) -> Ints:
        """Rows of each query."""
        return np.diff(self.starts)

    def head(self, k: int) -> Listed:
        """Returns the rows down to a rank."""
        lengths = self.lengths
        if (lengths <= k).all():
            return self
        near = self.ranks <= k
        starts = np.append(0, np.cumsum(np.minimum(lengths, k)))
        numbers = (self.queries[near], self.pairs[near], self.ranks[near])
        return Listed(starts, *numbers, self.scores[near])


@dataclass(frozen=True, slots=True)
class Block:
    """The lists of all channels for the same queries, as numbers.

    Args:
        query_ids: distinct, ascending.
        item_ids: distinct, ascending.
        queries: number of the query of each pair; ascending.
        items: number of the item of each pair; ascending within a query.
        channels: rows of each channel.
    """

    query_ids: pl.Series
    item_ids: pl.Series
    queries: Ints
    items: Ints
    channels: tuple[Listed, ...]

    def part(self, places: Sequence[int], depths: Iterable[int]) -> Block:
        """Returns some of the channels, each down to a depth.

        Args:
            places: of the channels.
            depths: of each the last rank that is left, >= 1.
        """
        channels = [self.channels[place].head(k) for place, k in zip(places, depths, strict=True)]
        used = np.zeros(len(self.queries), dtype=np.bool_)
        for rows in channels:
            used[rows.pairs] = True
        numbers = np.cumsum(used) - 1
        return Block(
            self.query_ids,
            self.item_ids,
            self.queries[used],
            self.items[used],
            tuple(replace(rows, pairs=numbers[rows.pairs]) for rows in channels),
        )


@dataclass(frozen=True, slots=True)
class Picked:
    """What a merge takes: one row an item of the merged lists, by query and rank.

    Args:
        pairs: number of the pair.
        places: rank in the merged list, 1..n.
        scores: of the merged list, highest first.
        givers: number of the channel that gave the item.
        ranks: rank of the item in the list of that channel.
        duplicates: of each channel, rows that were passed over since another one gave the item.
    """

    pairs: Ints
    places: Ints
    scores: Floats
    givers: Ints
    ranks: Ints
    duplicates: tuple[int, ...]


def filled_depths(quotas: Sequence[int | None], limit: int) -> list[int]:
    """Returns how deep `fill` reads the list of each channel at most.

    Before a channel's own items come at most those of the channels before it, all of them
    perhaps its duplicates; no merged list is longer than the limit.

    Args:
        quotas: of the channels in order of priority; None: no bound.
        limit: length of the merged list, items, >= 1.

    Example:
        >>> filled_depths([300, 100, None], 500)
        [300, 400, 500]
    """
    own = [limit if quota is None else quota for quota in quotas]
    return [min(limit, total) for total in accumulate(own)]


def turned_depths(quotas: Sequence[int | None], limit: int) -> list[int]:
    """Returns how deep `take_turns` reads the list of each channel at most.

    A channel takes one item a round. Before its last item comes what the others took in as many
    rounds, less the last one where their turn comes after its own.

    Args:
        quotas: of the channels in order of their turns; None: no bound.
        limit: length of the merged list, items, >= 1.

    Example:
        >>> turned_depths([1, 3], 10)
        [1, 4]
    """
    own = [limit if quota is None else quota for quota in quotas]

    def depth(channel: int) -> int:
        rounds = own[channel]
        forwards = rounds % 2 == 1
        before = sum(
            min(quota, rounds if (other < channel) == forwards else rounds - 1)
            for other, quota in enumerate(own)
            if other != channel
        )
        return min(limit, rounds + before)

    return [depth(channel) for channel in range(len(own))]


def number_rows(lists: Sequence[pl.DataFrame]) -> Block:
    """Returns the lists with numbers for their ids.

    Args:
        lists: of each channel: query_id, item_id, rank (1..n), score (Float64); rows in any
            order, items distinct within a query.
    """
    runs = [_runs(each) for each in lists]
    heads = pl.concat([run.heads for run in runs])
    query_ids = heads.unique().sort()
    numbers = np.split(positions(heads, query_ids), _ends([len(run.heads) for run in runs]))
    queries = [np.repeat(own, np.diff(run.starts)) for own, run in zip(numbers, runs, strict=True)]
    listed = pl.concat([run.rows[c.ITEM_ID] for run in runs])
    item_ids = listed.unique().sort()
    keys = np.concatenate(queries) * len(item_ids) + positions(listed, item_ids)

    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    pairs = np.empty(len(keys), dtype=np.int64)
    pairs[order] = np.cumsum(first) - 1
    own_pairs = np.split(pairs, _ends([run.rows.height for run in runs]))
    channels = tuple(
        _listed(run.rows, own, coded, len(query_ids))
        for run, own, coded in zip(runs, queries, own_pairs, strict=True)
    )
    known = ordered[first]
    width = max(len(item_ids), 1)
    return Block(query_ids, item_ids, known // width, known % width, channels)


def _ends(lengths: Sequence[int]) -> Ints:
    """Returns where each part but the last one ends."""
    return np.cumsum(lengths)[:-1]


@dataclass(frozen=True, slots=True)
class _Runs:
    """Rows by query and rank, where each query starts (the end included), and the queries."""

    rows: pl.DataFrame
    starts: Ints
    heads: pl.Series


def _runs(rows: pl.DataFrame) -> _Runs:
    """Returns the runs of rows that have one query, sorted unless they are."""
    runs = _Runs(rows, *_starts_of_runs(rows[c.QUERY_ID]))
    rises = np.diff(rows[c.RANK].to_numpy()) > 0
    rises[runs.starts[1:-1] - 1] = True
    if rises.all() and runs.heads.n_unique() == len(runs.heads):
        return runs
    rows = rows.sort(c.QUERY_ID, c.RANK)
    return _Runs(rows, *_starts_of_runs(rows[c.QUERY_ID]))


def _starts_of_runs(ids: pl.Series) -> tuple[Ints, pl.Series]:
    numbers = ids.rle_id().to_numpy()
    starts = np.append(np.flatnonzero(np.diff(numbers, prepend=-1)), len(ids))
    return starts, ids.gather(starts[:-1])


def _listed(rows: pl.DataFrame, queries: Ints, pairs: Ints, size: int) -> Listed:
    scores = rows[c.SCORE].cast(pl.Float64).fill_null(np.nan).to_numpy()
    ranks = rows[c.RANK].cast(pl.Int64).to_numpy()
    if queries.size and (queries[1:] < queries[:-1]).any():
        order = np.argsort(queries, kind="stable")
        queries, pairs, ranks, scores = (part[order] for part in (queries, pairs, ranks, scores))
    starts = np.append(0, np.cumsum(np.bincount(queries, minlength=size)))
    return Listed(starts.astype(np.int64), queries, pairs, ranks, scores)


def fill(block: Block, quotas: Sequence[int | None], limit: int) -> Picked:
    """Returns the first items of each channel that no channel before it gave.

    Args:
        block: lists of the channels in order of priority.
        quotas: items that each gives at most; None: all that it has.
        limit: length of the merged lists, items, >= 1.
    """
    size = len(block.query_ids)
    given = np.zeros(len(block.queries), dtype=np.bool_)
    filled = np.zeros(size, dtype=np.int64)
    turns, duplicates = [], []
    for channel, (rows, quota) in enumerate(zip(block.channels, quotas, strict=True)):
        fresh = ~given[rows.pairs]
        counts = np.append(0, np.cumsum(fresh))
        before = counts[:-1] - np.repeat(counts[rows.starts[:-1]], rows.lengths)
        free = limit - filled if quota is None else np.minimum(limit - filled, quota)
        # A channel that has what it may give looks no further.
        visited = before < np.repeat(free, rows.lengths)
        taken = np.flatnonzero(visited & fresh)
        places = filled[rows.queries[taken]] + before[taken] + 1
        turns.append((channel, taken, places))
        duplicates.append(int(np.count_nonzero(visited & ~fresh)))
        given[rows.pairs[taken]] = True
        filled += np.bincount(rows.queries[taken], minlength=size)
    return _in_places(block, turns, filled, duplicates)


def take_turns(block: Block, quotas: Sequence[int | None], limit: int) -> Picked:
    """Returns one item of each channel after the other, there and back: A B C C B A A B C.

    Args:
        block: lists of the channels in order of their first turns.
        quotas: items that each gives at most; None: all that it has.
        limit: length of the merged lists, items, >= 1.
    """
    size = len(block.query_ids)
    given = np.zeros(len(block.queries), dtype=np.bool_)
    filled = np.zeros(size, dtype=np.int64)
    last = [limit if quota is None else quota for quota in quotas]
    next_rows = [rows.starts[:-1].copy() for rows in block.channels]
    duplicates = [0] * len(block.channels)
    turns = []
    order = list(range(len(block.channels)))
    number, asked = 0, np.arange(size)
    while len(asked):
        number += 1
        taken = [np.empty(0, dtype=np.int64)]
        for channel in order:
            if number > last[channel]:
                continue
            rows, at = block.channels[channel], next_rows[channel]
            open_lists = asked[filled[asked] < limit]
            takers, passed = _next_of(rows, at, open_lists, given)
            duplicates[channel] += passed
            filled[takers] += 1
            given[rows.pairs[at[takers] - 1]] = True
            turns.append((channel, at[takers] - 1, filled[takers]))
            taken.append(takers)
        # Whose channels all have ended is asked no more.
        asked = np.unique(np.concatenate(taken))
        order.reverse()
    return _in_places(block, turns, filled, duplicates)


def _next_of(rows: Listed, at: Ints, asked: Ints, given: Bools) -> tuple[Ints, int]:
    """Moves each query's next row behind the first item that is not given yet.

    Returns:
        The queries that have such an item, and how many rows were passed over.
    """
    ends = rows.starts[1:]
    takers, passed = [np.empty(0, dtype=np.int64)], 0
    pending = asked[at[asked] < ends[asked]]
    while len(pending):
        known = given[rows.pairs[at[pending]]]
        at[pending] += 1
        takers.append(pending[~known])
        pending = pending[known]
        passed += len(pending)
        pending = pending[at[pending] < ends[pending]]
    return np.concatenate(takers), passed


def _in_places(
    block: Block,
    turns: Sequence[tuple[int, Ints, Ints]],
    filled: Ints,
    duplicates: Sequence[int],
) -> Picked:
    """Returns the rows that were taken, each where it stands.

    Args:
        block: lists of the channels.
        turns: number of the channel, its rows, and their ranks in the merged lists.
        filled: length of each merged list.
        duplicates: of each channel.
    """
    offsets = np.cumsum(filled) - filled - 1
    size = int(filled.sum())
    pairs, places, givers, ranks = (np.empty(size, dtype=np.int64) for _ in range(4))
    for channel, taken, own in turns:
        rows = block.channels[channel]
        to = offsets[rows.queries[taken]] + own
        pairs[to], places[to] = rows.pairs[taken], own
        givers[to], ranks[to] = channel, rows.ranks[taken]
    return Picked(pairs, places, 1.0 / places, givers, ranks, tuple(duplicates))


def add_up(block: Block, values: Sequence[Floats], limit: int) -> Picked:
    """Returns the items with the highest sums of values; equal sums by item, ascending.

    An item is given by the channel that adds the most to its sum, the first of equal ones.

    Args:
        block: lists of the channels, all rows that take part.
        values: what each row of each channel adds, finite; added in the order of the channels.
        limit: length of the merged lists, items, >= 1.
    """
    size = len(block.queries)
    sums, best = np.zeros(size), np.full(size, -np.inf)
    givers, ranks = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for channel, (rows, added) in enumerate(zip(block.channels, values, strict=True)):
        sums[rows.pairs] += added
        more = added > best[rows.pairs]
        pairs = rows.pairs[more]
        best[pairs], givers[pairs], ranks[pairs] = added[more], channel, rows.ranks[more]

    # Pairs are numbered by query and item: what is left to sort by is the sum.
    keys = pl.DataFrame({"query": block.queries, "sum": 0.0 - sums}).with_row_index("pair")
    ordered = keys.sort("query", "sum", maintain_order=True)
    order = ordered["pair"].to_numpy().astype(np.int64)
    lengths = np.bincount(block.queries, minlength=len(block.query_ids))
    places = np.arange(1, size + 1) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    kept = places <= limit
    order, places = order[kept], places[kept]
    listed = np.zeros(size, dtype=np.bool_)
    listed[order] = True
    duplicates = [
        int(np.count_nonzero(listed[rows.pairs] & (givers[rows.pairs] != channel)))
        for channel, rows in enumerate(block.channels)
    ]
    return Picked(order, places, sums[order], givers[order], ranks[order], tuple(duplicates))
