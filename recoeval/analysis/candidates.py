"""What stages do with all of their items, relevant or not: handed on, and shown to the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from recoeval.analysis.itemsets import Lists, Marked, in_parts, mark_items, queries_of
from recoeval.analysis.population import Population
from recoeval.analysis.stages import Stage
from recoeval.analysis.summary import ALL
from recoeval.columns import ITEM_ID, QUERY_ID
from recoeval.data.rowkeys import Ints, PairIndex

__all__ = ["Candidates", "Counts", "count_candidates"]

Place = tuple[int, str, str, str]
"""Number of the stage, channel ("all" overall), bucket name, bucket."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Items of the counted queries in the first k of a stage.

    Args:
        items: how many.
        kept: how many of these are in the first k of the next stage; None: there is no next one.
        exposed: how many of these the user was shown; None: that is not known.
    """

    items: int
    kept: int | None
    exposed: int | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The counts of each stage, channel and bucket of queries."""

    counts: Mapping[Place, Counts]


def count_candidates(
    blocks: Iterable[Lists],
    stages: Sequence[Stage],
    population: Population,
    *,
    channels: Mapping[str, int],
    exposed: pl.DataFrame | None = None,
) -> Candidates:
    """Returns how many items each stage has, hands on, and how many were shown.

    Args:
        blocks: for blocks of queries, which together have each query once: prepared lists by
            generator, of the stages and the channels: query_id, item_id, rank, the rows of a
            query one after the other.
        stages: in order.
        population: who is counted; queries without relevant items are left out.
        channels: K by channel, items, >= 1. An item within the K of two counts for both.
        exposed: query_id, item_id, distinct: what was shown in the test window; None: not known.

    Raises:
        ConfigError: more than 64 stages and channels.
    """
    numbering = population.numbering
    shown = None if exposed is None else numbering.index_of(exposed.lazy())
    cuts = [*((stage.generator, stage.k) for stage in stages), *channels.items()]
    totals: dict[tuple[int, str, str], Ints] = {}
    for lists in (part for block in blocks for part in in_parts(block)):
        own = {name: lists[name] for name, _ in cuts if name in lists}
        others = []
        if shown is not None:
            others = [_of_queries(shown, queries_of(own.values(), numbering))]
        marked = mark_items(own, cuts, numbering, others=others)
        for (place, channel), counts in _counts(marked, stages, list(channels)):
            for name, sums in _by_bucket(counts, marked.queries, population):
                key = (place, channel, name)
                totals[key] = totals[key] + sums if key in totals else sums
    return Candidates(
        {
            (place, channel, name, label): _told(row, place + 1 < len(stages), shown is not None)
            for (place, channel, name), rows in totals.items()
            for label, row in zip(population.buckets[name][0], rows.tolist(), strict=False)
        }
    )


def _of_queries(pairs: PairIndex, queries: Ints) -> pl.DataFrame:
    """Returns the pairs of some queries: query_id (number), item_id."""
    places, rows = pairs.of_lists(queries)
    return pl.DataFrame({QUERY_ID: queries[places], ITEM_ID: pairs.items.gather(rows)})


def _counts(
    marked: Marked, stages: Sequence[Stage], channels: Sequence[str]
) -> Iterator[tuple[tuple[int, str], Sequence[Ints]]]:
    """Yields for each stage and channel: items, kept and exposed ones, by query."""
    exposed = len(stages) + len(channels)
    for place in range(len(stages)):
        following = min(place + 1, len(stages) - 1)
        for channel, own in (
            (ALL, place),
            *zip(channels, range(len(stages), exposed), strict=True),
        ):
            sets = ((place, own), (place, own, following), (place, own, exposed))
            yield (place, channel), [marked.count(*each) for each in sets]


def _by_bucket(
    counts: Sequence[Ints], queries: Ints, population: Population
) -> Iterator[tuple[str, Ints]]:
    """Yields bucket names and the sums of the counts: a row a label, the last is not shown."""
    counted = population.sizes[queries] > 0
    for name, (labels, codes) in population.buckets.items():
        own = codes[queries[counted]]
        # Integers below 2^53: exact in whatever order.
        sums = [np.bincount(own, each[counted], len(labels) + 1) for each in counts]
        yield name, np.stack(sums, axis=1).astype(np.int64)


def _told(row: Sequence[int], handed_on: bool, known: bool) -> Counts:
    items, kept, exposed = row
    return Counts(items, kept if handed_on else None, exposed if known else None)
