"""Merges lists of several channels as the options of a merge say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.errors import DataError, Problem, some
from recoeval.generators.combining import (
    Block,
    Listed,
    Picked,
    add_up,
    fill,
    number_rows,
    take_turns,
)

if TYPE_CHECKING:
    from recoeval.generators.merge import Merge

__all__ = ["Merged", "Numbered", "merge_lists", "merge_numbered"]

Floats = NDArray[np.float64]

_CONSTANT = 60.0


@dataclass(frozen=True, slots=True)
class Numbered:
    """Lists of channels for the same queries, their ids numbered once for all merges of them.

    Args:
        names: of the channels.
        block: their lists, in that order.
    """

    names: tuple[str, ...]
    block: Block

    @classmethod
    def of(cls, lists: Mapping[str, pl.DataFrame]) -> Self:
        """Returns lists as numbers; for their columns see `merge_lists`."""
        return cls(tuple(lists), number_rows(list(lists.values())))


@dataclass(frozen=True, slots=True)
class Merged:
    """Merged lists, and where their items come from.

    Args:
        lists: query_id, item_id, rank (Int64, 1..n), score (Float64), channel (String: who gave
            the item; with weighted and rrf who adds the most to its score, the first of equals),
            channel_rank (Int64: its rank in that channel's list); by query and rank.
        duplicates: of each channel, as configured: its rows that were read, and whose items are
            in the merged list because another channel gave them.
    """

    lists: pl.DataFrame
    duplicates: dict[str, int]


def merge_lists(lists: Mapping[str, pl.DataFrame], merge: Merge, k: int) -> Merged:
    """Returns one list a query out of those of the channels.

    Args:
        lists: of each channel, by its name: query_id, item_id, rank (Int64, 1..n without gaps),
            score (Float64 or null); rows in any order, items distinct within a query. Rows
            deeper than `merge.reads(k)` change nothing.
        merge: how; its channels are those of the lists.
        k: length of the merged lists, items, >= 1.

    Raises:
        DataError: a channel has rows without a score where the method needs one.

    Source:
        rrf: G. V. Cormack, C. L. A. Clarke, S. Büttcher, Reciprocal rank fusion outperforms
        Condorcet and individual rank learning methods, SIGIR 2009.

    Example:
        >>> from recoeval.generators.merge import Merge
        >>> def ranked(*items):
        ...     rows = {"query_id": "q", "item_id": items, "rank": range(1, len(items) + 1)}
        ...     return pl.DataFrame(rows).with_columns(score=1.0 / pl.col("rank"))
        >>> merge = Merge(channels={"als": 2, "popular": 2})
        >>> merged = merge_lists({"als": ranked(7, 5), "popular": ranked(5, 3, 9)}, merge, 10)
        >>> merged.lists["item_id"].to_list(), merged.lists["channel"].to_list()
        ([7, 5, 3, 9], ['als', 'als', 'popular', 'popular'])
        >>> merged.duplicates
        {'als': 0, 'popular': 1}
    """
    depths = merge.reads(k).items()
    cut = {name: lists[name].filter(pl.col(c.RANK) <= depth) for name, depth in depths}
    return merge_numbered(Numbered.of(cut), merge, k)


def merge_numbered(numbered: Numbered, merge: Merge, k: int) -> Merged:
    """Returns what `merge_lists` does, of lists that several merges read.

    Args:
        numbered: lists of the merge's channels, and perhaps of others.
        merge: how.
        k: length of the merged lists, items, >= 1.

    Raises:
        DataError: a channel has rows without a score where the method needs one.
    """
    depths = merge.reads(k)
    names = list(depths)
    block = numbered.block.part([numbered.names.index(name) for name in names], depths.values())
    channels = [merge.channels[name] for name in names]
    quotas, limit = [channel.quota for channel in channels], merge.length(k)
    if merge.method == "quota":
        picked = fill(block, quotas, limit)
    elif merge.method == "round_robin":
        picked = take_turns(block, quotas, limit)
    else:
        if merge.method == "weighted" and merge.normalize != "rank":
            for name, rows in zip(names, block.channels, strict=True):
                _require_scores(name, rows, block)
        values = [
            (channel.weight or 1.0) * _share(merge, rows)
            for channel, rows in zip(channels, block.channels, strict=True)
        ]
        picked = add_up(block, values, limit)
    query_ids = block.query_ids.gather(block.queries[picked.pairs])
    item_ids = block.item_ids.gather(block.items[picked.pairs])
    counted = dict(zip(names, picked.duplicates, strict=True))
    return Merged(
        _frame(query_ids, item_ids, picked, names),
        {name: counted[name] for name in merge.channels},
    )


def _frame(
    query_ids: pl.Series, item_ids: pl.Series, picked: Picked, names: list[str]
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            c.QUERY_ID: query_ids,
            c.ITEM_ID: item_ids,
            c.RANK: picked.places,
            c.SCORE: picked.scores,
            c.CHANNEL: pl.Series(names, dtype=pl.String).gather(picked.givers),
            c.CHANNEL_RANK: picked.ranks,
        }
    )


def _require_scores(name: str, rows: Listed, block: Block) -> None:
    """Raises DataError where rows of a channel have no finite score."""
    lacking = np.flatnonzero(~np.isfinite(rows.scores))
    if len(lacking):
        pairs = rows.pairs[lacking[:6]]
        ids = (
            block.query_ids.gather(block.queries[pairs]),
            block.item_ids.gather(block.items[pairs]),
        )
        examples = some(list(zip(*ids, strict=True)))
        text = (
            f"{len(lacking)} of {len(rows.scores)} rows have no finite score, which "
            f"normalize: minmax needs, e.g. {examples}: write normalize: rank"
        )
        raise DataError(Problem(text, f"lists[{name}].{c.SCORE}"))


def _share(merge: Merge, rows: Listed) -> Floats:
    """Returns what each row of a channel adds, before its weight."""
    if merge.method == "rrf":
        constant = _CONSTANT if merge.constant is None else merge.constant
        return 1.0 / (constant + rows.ranks.astype(np.float64))
    if merge.normalize == "rank":
        counts = np.repeat(rows.lengths, rows.lengths).astype(np.float64)
        return (counts - rows.ranks + 1) / counts
    return _minmax(rows)


def _minmax(rows: Listed) -> Floats:
    """Returns (score - min) / (max - min) within each query, 1 where all scores are equal."""
    lengths = rows.lengths[rows.lengths > 0]
    starts = rows.starts[:-1][rows.lengths > 0]
    if not len(starts):
        return rows.scores
    low = np.repeat(np.minimum.reduceat(rows.scores, starts), lengths)
    high = np.repeat(np.maximum.reduceat(rows.scores, starts), lengths)
    with np.errstate(over="ignore"):
        # The range of the largest numbers overflows: halves do not, and are exact up there.
        half: Floats = np.where(np.isfinite(high - low), 1.0, 0.5)
    span = high * half - low * half
    equal = span == 0
    values: Floats = (rows.scores * half - low * half) / np.where(equal, 1.0, span)
    return np.where(equal, 1.0, values)
