"""How much of two channels is the same: the Jaccard index of their lists, averaged over queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import polars as pl

from recoeval.analysis.itemsets import Cut, Lists, in_parts, mark_items
from recoeval.analysis.population import Population
from recoeval.columns import BUCKET, OVERLAP_SCHEMA, QUERIES, QUERY_ID

__all__ = ["overlap_table"]

_PAIR: Final = "pair"
_SHARED: Final = "shared"
_UNION: Final = "union"
_KEYS: Final = (_PAIR, BUCKET, _SHARED, _UNION)

_AT_ONCE: Final = 1 << 18
"""Rows that wait before they are added up."""
_SIZES: Final = dict.fromkeys((_PAIR, QUERY_ID, _SHARED, _UNION), pl.Int64)


def overlap_table(
    blocks: Iterable[Lists],
    groups: Mapping[str, Mapping[str, int]],
    population: Population,
    *,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns OVERLAP: the Jaccard index of each two channels of each group.

    A query counts where one of the two channels has a list for it; its index is then the items
    that both have within their K, over those that one of them has. The mean is over queries: one
    list, one value. Buckets of queries are shown, parts of the truth are none of lists.

    Args:
        blocks: for blocks of queries, which together have each query once: the prepared lists
            by channel.
        groups: by name of a group: K of each channel, items, >= 1.
        population: the evaluated queries, with relevant items or not, and their buckets.
        fold: number in the result.

    Returns:
        OVERLAP, one row a group, two channels (each two once, in the order of the group) and
        bucket; jaccard is null without queries.

    Raises:
        ConfigError: a group of more than 64 channels.

    Source:
        Jaccard, 1901: size of the intersection over size of the union.
    """
    told = {group: _Sizes(population) for group in groups}
    for lists in (part for block in blocks for part in in_parts(block)):
        for group, depths in groups.items():
            told[group].add(_sizes(lists, list(depths.items()), population))
    rows = [
        (fold, group, one, other, name, label, k, other_k, *number)
        for group, depths in groups.items()
        for place, ((one, k), (other, other_k)) in enumerate(combinations(depths.items(), 2))
        for name, (labels, _) in population.buckets.items()
        for label, number in _means(told[group].counts(name), place, labels)
    ]
    return pl.DataFrame(rows, schema=OVERLAP_SCHEMA, orient="row")


def _sizes(lists: Lists, cuts: Sequence[Cut], population: Population) -> pl.DataFrame:
    """Returns pair (place of the two channels), query_id (number), shared, union (items)."""
    marked = mark_items(lists, cuts, population.numbering)
    sizes = [marked.count(place) for place in range(len(cuts))]
    # Most items are in one list: what two have is counted over the few others.
    several = marked.shared
    parts = []
    for place, (one, other) in enumerate(combinations(range(len(cuts)), 2)):
        shared = several.count(one, other)
        union = sizes[one] + sizes[other] - shared
        counted = union > 0
        own = {QUERY_ID: marked.queries, _SHARED: shared, _UNION: union}
        rows = pl.DataFrame({name: each[counted] for name, each in own.items()})
        parts.append(rows.select(pl.lit(place, pl.Int64).alias(_PAIR), pl.all()))
    return pl.concat([pl.DataFrame(schema=_SIZES), *parts])


class _Sizes:
    """How many queries of each bucket have which sizes: integers, whatever the blocks are.

    Args:
        population: the buckets.
    """

    def __init__(self, population: Population) -> None:
        self._buckets = population.buckets
        nothing = pl.DataFrame(schema={**dict.fromkeys(_KEYS, pl.Int64), QUERIES: pl.Int64})
        self._counts = dict.fromkeys(self._buckets, nothing)
        self._waiting: list[pl.DataFrame] = []

    def add(self, sizes: pl.DataFrame) -> None:
        """Takes note of pair, query_id (number), shared, union."""
        self._waiting.append(sizes)
        if sum(each.height for each in self._waiting) > _AT_ONCE:
            self._add_up()

    def counts(self, name: str) -> pl.DataFrame:
        """Returns pair, bucket (place of the label), shared, union, queries."""
        self._add_up()
        return self._counts[name]

    def _add_up(self) -> None:
        if not self._waiting:
            return
        sizes, self._waiting = pl.concat(self._waiting), []
        queries = sizes[QUERY_ID].to_numpy()
        for name, (_, codes) in self._buckets.items():
            labels = pl.Series(BUCKET, codes[queries], pl.Int64)
            own = sizes.select(_PAIR, labels, _SHARED, _UNION, pl.lit(1, pl.Int64).alias(QUERIES))
            rows = pl.concat([self._counts[name], own])
            self._counts[name] = rows.group_by(_KEYS).agg(pl.col(QUERIES).sum())


def _means(
    counts: pl.DataFrame, place: int, labels: Sequence[str]
) -> list[tuple[str, tuple[float | None, int]]]:
    """Returns the mean index and the number of queries of each label, for two channels."""
    # In the order of the sizes: a sum of floats that no block changes.
    own = counts.filter(pl.col(_PAIR) == place).sort(BUCKET, _SHARED, _UNION)
    codes, queries = own[BUCKET].to_numpy(), own[QUERIES].to_numpy()
    indexes = own[_SHARED].to_numpy() / own[_UNION].to_numpy() * queries
    totals = np.bincount(codes, indexes, len(labels) + 1)
    sizes = np.bincount(codes, queries, len(labels) + 1).astype(np.int64).tolist()
    return [
        (label, (float(totals[code] / sizes[code]) if sizes[code] else None, sizes[code]))
        for code, label in enumerate(labels)
    ]
