"""What if a channel had other slots: the recall of the merge with the channel changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.analysis.itemsets import number_lists
from recoeval.analysis.population import Part, Population
from recoeval.columns import ITEM_ID, QUERY_ID, RANK, RETURNED, WHAT_IF_SCHEMA
from recoeval.data.ordering import starts_of
from recoeval.data.rowkeys import Ints, match_rows
from recoeval.engine.numbering import Numbering

__all__ = [
    "AS_CONFIGURED",
    "CONFIGURED",
    "DROPPED",
    "Variant",
    "hits_of",
    "look_deeper",
    "what_if_table",
]

AS_CONFIGURED: Final = "as configured"
DROPPED: Final = "dropped"

Variant = tuple[str, str]
"""The channel that is changed, and the change: "dropped", "+100"."""

CONFIGURED: Final[Variant] = ("", AS_CONFIGURED)
"""The merge as it is: the variant that the others are held against."""


@dataclass(frozen=True, slots=True)
class Hits:
    """What the lists of one variant give.

    Args:
        pairs: numbers of the relevant pairs that are in the lists (UInt32), in any order.
        queries: numbers of the queries that have a list.
        lengths: items in the list of each.
    """

    pairs: NDArray[np.uint32]
    queries: Ints
    lengths: Ints


def hits_of(lists: pl.DataFrame, numbering: Numbering) -> Hits:
    """Returns which relevant pairs lists have, and how long the lists are.

    Args:
        lists: query_id, item_id: prepared lists; the rows of a query stand together, its items
            are distinct.
        numbering: of the evaluated queries and their relevant pairs.

    Example:
        >>> asked = pl.DataFrame({"query_id": [1], "user_id": [1]})
        >>> truth = pl.DataFrame({"query_id": [1, 1], "item_id": [7, 8], "gain": [1.0, 1.0]})
        >>> lists = pl.DataFrame({"query_id": [1, 1], "item_id": [5, 8]})
        >>> hits = hits_of(lists, Numbering.of(asked, truth))
        >>> hits.pairs.tolist(), hits.lengths.tolist()
        ([1], [2])
    """
    return _match(number_lists(lists.select(QUERY_ID, ITEM_ID), numbering), numbering)[0]


def look_deeper(
    blocks: Iterable[pl.DataFrame], numbering: Numbering
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns what is in lists that go deeper than those that were scored.

    Args:
        blocks: query_id, item_id, rank: prepared lists, the rows of a query one after the other;
            each query once.
        numbering: of the evaluated queries and their relevant pairs.

    Returns:
        item_id (number of the pair, UInt32), rank (Int64) of the relevant pairs in them; and
        query_id, returned (Int64, length of the list) of the queries that have one.
    """
    found = [pl.DataFrame(schema={ITEM_ID: pl.UInt32, RANK: pl.Int64})]
    own = numbering.queries[QUERY_ID]
    lengths = [pl.DataFrame(schema={QUERY_ID: own.dtype, RETURNED: pl.Int64})]
    for lists in blocks:
        rows = number_lists(lists.select(QUERY_ID, ITEM_ID, RANK), numbering)
        hits, at = _match(rows, numbering)
        ranks = rows[RANK].gather(at)
        found.append(pl.DataFrame({ITEM_ID: hits.pairs, RANK: ranks}))
        lengths.append(pl.DataFrame({QUERY_ID: own.gather(hits.queries), RETURNED: hits.lengths}))
    return pl.concat(found), pl.concat(lengths)


def _match(rows: pl.DataFrame, numbering: Numbering) -> tuple[Hits, Ints]:
    """Returns what is relevant in lists, and the position of the row of each relevant pair.

    Args:
        rows: query_id (number), item_id; the rows of a query stand together.
        numbering: of the evaluated queries and their relevant pairs.
    """
    starts = starts_of(rows[QUERY_ID])
    queries = rows[QUERY_ID].gather(starts).to_numpy().astype(np.int64)
    owners, pairs = numbering.index.of_lists(queries)
    wanted = owners, numbering.truth[ITEM_ID].gather(pairs)
    ends = np.append(starts, rows.height)
    # A fifth of the CPU of a join, or less (5 M rows).
    [(found, at)] = match_rows(ends, rows[ITEM_ID], [wanted]).found
    return Hits(pairs[found].astype(np.uint32), queries, np.diff(ends)), at


def what_if_table(
    lists: Iterable[tuple[Variant, pl.DataFrame]],
    population: Population,
    *,
    merge: str,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns WHAT_IF: each channel of a merge with each change, overall and by bucket.

    Args:
        lists: the merged lists of each variant, `CONFIGURED` among them, in blocks that together
            have each query once: query_id, item_id, seen items gone, the rows of a query one
            after the other. One block is held at a time.
        population: who is counted; queries without relevant items are left out.
        merge: name in the result.
        fold: number in the result.

    Returns:
        WHAT_IF, one row a channel, change ("as configured" for each channel, in front) and
        bucket. slots is the mean length of the merged list (null for a part of the truth, by
        which lists are not split), recall that of the whole merged list, macro; delta is recall
        less that as configured; null without users.

    Raises:
        KeyError: lists without those of the merge as configured.
    """
    found: dict[Variant, list[Hits]] = {}
    for variant, block in lists:
        found.setdefault(variant, []).append(hits_of(block, population.numbering))
    if not found:
        return pl.DataFrame(schema=WHAT_IF_SCHEMA)
    told = {variant: _numbers(parts, population) for variant, parts in found.items()}
    plain = told.pop(CONFIGURED)
    rows: list[tuple[object, ...]] = []
    for channel in dict.fromkeys(channel for channel, _ in told):
        own = {change: each for (name, change), each in told.items() if name == channel}
        for change, numbers in {AS_CONFIGURED: plain, **own}.items():
            for part, number, base in zip(population.parts, numbers, plain, strict=True):
                recall, before = number[-1], base[-1]
                delta = None if recall is None or before is None else recall - before
                sizes = (len(part.queries), part.user_count)
                keys = (fold, merge, channel, change, part.bucket_by, part.bucket)
                rows.append((*keys, *sizes, *number, delta))
    return pl.DataFrame(rows, schema=WHAT_IF_SCHEMA, orient="row")


def _numbers(
    parts: Sequence[Hits], population: Population
) -> list[tuple[float | None, int, float | None]]:
    """Returns slots, hits and recall of one variant, for each part of the population."""
    hits = population.sums(np.concatenate([each.pairs for each in parts]))
    lengths = np.zeros(len(population.sizes), np.int64)
    for each in parts:
        lengths[each.queries] = each.lengths
    return [
        (_slots(part, lengths), int(hits.of(part).sum()), hits.recall(part))
        for part in population.parts
    ]


def _slots(part: Part, lengths: Ints) -> float | None:
    """Returns the mean length of the lists of a part; None for a part of the truth."""
    return part.mean(lengths[part.queries]) if part.pairs is None else None
