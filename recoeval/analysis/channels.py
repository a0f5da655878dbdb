"""What each channel adds to recall, and how many slots it takes for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.analysis.population import Bools, Part, Population, Sums
from recoeval.columns import CHANNELS_SCHEMA, ITEM_ID, RANK, RETURNED
from recoeval.data.rowkeys import Ints

__all__ = ["contribution_table", "within"]

Pairs = NDArray[Any]


def contribution_table(
    found: Mapping[str, pl.DataFrame],
    lengths: Mapping[str, pl.DataFrame],
    groups: Mapping[str, Mapping[str, int]],
    population: Population,
    *,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns CHANNELS: each channel of each group, overall and by bucket.

    A pair that m channels of a group have within their K gives each of them 1/m: that is the
    Shapley value of a channel in the game whose value is the recall of the union of the lists.
    The shares of a group add up to its union_recall.

    Args:
        found: by generator: item_id (number of the pair), rank (prepared) of the relevant pairs
            in its lists, distinct, in any order.
        lengths: by generator: query_id, returned (prepared length).
        groups: by name of a group, such as a merge: K of each channel, items, >= 1.
        population: who is counted; queries without relevant items are left out.
        fold: number in the result.

    Returns:
        CHANNELS, one row a group, channel and bucket. hits, exclusive_hits (those that no other
        channel of the group has), slots (sum of min(returned, K)) are counts; null slots: a part
        of the truth, by which lists are not split. recall, union_recall, leave_one_out
        (union_recall less that of the others alone), shapley and recall_served (over the queries
        with a prepared list) are means over users, null without users.

    Source:
        Shapley, A Value for n-Person Games, 1953.
    """
    rows = [
        (fold, *row)
        for name, depths in groups.items()
        for row in _rows_of_group(name, depths, found, lengths, population)
    ]
    return pl.DataFrame(rows, schema=CHANNELS_SCHEMA, orient="row")


def within(found: pl.DataFrame, k: int) -> Pairs:
    """Returns the numbers of the pairs at ranks up to K.

    Args:
        found: item_id (number of the pair), rank.
        k: depth, items, >= 1.

    Example:
        >>> within(pl.DataFrame({"item_id": [4, 9], "rank": [1, 30]}), 10).tolist()
        [4]
    """
    return found[ITEM_ID].to_numpy()[found[RANK].to_numpy() <= k]


def _rows_of_group(
    name: str,
    depths: Mapping[str, int],
    found: Mapping[str, pl.DataFrame],
    lengths: Mapping[str, pl.DataFrame],
    population: Population,
) -> Iterator[tuple[object, ...]]:
    """Yields the rows of CHANNELS of one group, without the fold."""
    own = {channel: within(found[channel], k) for channel, k in depths.items()}
    channels = np.zeros(len(population.query_of), np.int32)
    for pairs in own.values():
        channels[pairs] += 1
    union = population.sums(np.flatnonzero(channels))
    union_recall = [union.recall(part) for part in population.parts]
    for channel, pairs in own.items():
        k = depths[channel]
        shared = channels[pairs]
        hits = population.sums(pairs)
        exclusive = population.sums(pairs[shared == 1])
        shares = population.sums(pairs, 1 / shared)
        returned = population.by_query(lengths[channel], RETURNED)
        for part, whole in zip(population.parts, union_recall, strict=True):
            yield (
                name,
                channel,
                part.bucket_by,
                part.bucket,
                k,
                len(part.queries),
                part.user_count,
                int(hits.of(part).sum()),
                int(exclusive.of(part).sum()),
                part.slots(returned, k),
                hits.recall(part),
                whole,
                exclusive.recall(part),
                shares.recall(part),
                *_served(part, returned, hits),
            )


def _served(part: Part, returned: Ints, hits: Sums) -> tuple[int, float | None]:
    """Returns how many users have a list, and the recall over their queries with one."""
    chosen: Bools = returned[part.queries] > 0
    served = part if chosen.all() else part.within(chosen)
    return served.user_count, hits.recall(served)
