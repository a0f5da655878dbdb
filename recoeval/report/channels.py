"""Channels: what each adds to recall and at what cost, how alike they are, and what if."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from recoeval.analysis.results import Evaluation
from recoeval.analysis.summary import ALL
from recoeval.analysis.whatif import AS_CONFIGURED, DROPPED
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CHANGE,
    DELTA,
    EXCLUSIVE_HITS,
    FOLD,
    GENERATOR,
    HITS,
    JACCARD,
    LEAVE_ONE_OUT,
    MERGE,
    OTHER,
    OTHER_K,
    QUERIES,
    RECALL,
    RECALL_SERVED,
    SERVED_USERS,
    SHAPLEY,
    SLOTS,
    UNION_RECALL,
    USERS,
    K,
)
from recoeval.metrics import Measure
from recoeval.report.folds import add_folds, in_order
from recoeval.report.funnel import funnel_tables
from recoeval.report.values import Cell, Column, Group, Rate, Row, Share, Table

__all__ = [
    "DUPLICATES",
    "channel_sections",
    "contribution_tables",
    "duplicate_table",
    "overlap_tables",
    "what_if_tables",
]

DUPLICATES: Final = "duplicates["
"""What the counts of a merge's channels are called: "duplicates[als]"."""

SLOTS_ROW: Final = "  slots"
"""Stands before the slots of the row above."""

Record = Mapping[str, Any]

_MEANS: Final = (RECALL, UNION_RECALL, LEAVE_ONE_OUT, SHAPLEY, RECALL_SERVED)
_NOTES: Final = (
    "Shapley: recall that a channel adds, a pair found by m channels as 1/m to each",
    "exclusive: hits that no other channel has; without it: recall that would be lost",
)


def channel_sections(
    evaluation: Evaluation, names: Sequence[str], lead: Measure | None, *, full: bool
) -> Iterator[Table]:
    """Yields what channels add, how alike they are, what if, and what the stages lose.

    Args:
        evaluation: the result tables; those without rows show nothing.
        names: buckets to show apart.
        lead: the measure at whose K a group of generators is shown.
        full: at every K.
    """
    k = None if lead is None else lead.k
    yield from contribution_tables(
        evaluation.channels, names, k, full=full, baselines=evaluation.baselines
    )
    yield from overlap_tables(evaluation.overlap, k, full=full)
    yield from what_if_tables(evaluation.what_if)
    yield from funnel_tables(evaluation.funnel, names)


def contribution_tables(
    channels: pl.DataFrame,
    names: Sequence[str],
    k: int | None,
    *,
    full: bool,
    baselines: Sequence[str] = (),
) -> list[Table]:
    """Returns for each merge or group what its channels add, the best one first.

    Args:
        channels: CHANNELS.
        names: buckets to show apart.
        k: depth of which a group is shown that has several; None is the largest.
        full: a group at every depth.
        baselines: generators that are not among "all generators".
    """
    keys = (MERGE, GENERATOR, BUCKET_BY, BUCKET, K)
    tables = []
    for title, own in _groups(add_folds(channels, keys, _MEANS), k, full=full):
        overall = own.filter(pl.col(BUCKET_BY) == ALL).sort(
            SHAPLEY, GENERATOR, descending=[True, False], nulls_last=True
        )
        left_out = baselines if own[MERGE][0] == ALL else ()
        tables.append(_contributions(overall, title, channels[FOLD].n_unique(), left_out))
        ranked = overall[GENERATOR].to_list()
        for name in names:
            part = own.filter(pl.col(BUCKET_BY) == name, pl.col(QUERIES) > 0)
            if part.height:
                tables.append(_by_bucket(part, ranked, title, name))
    return tables


def _groups(rows: pl.DataFrame, k: int | None, *, full: bool) -> list[tuple[str, pl.DataFrame]]:
    """Returns the rows of each merge or group, at each depth if it has several, with a title."""
    found = []
    for own in rows.partition_by(MERGE, maintain_order=True):
        merge = own[MERGE][0]
        named = "all generators" if merge == ALL else merge
        depths = own[K].unique().sort().to_list()
        channels = own[GENERATOR].n_unique()
        if own.select(GENERATOR, K).n_unique() == channels:
            # Each channel has one depth: the one that the merge gives it.
            found.append((named + (f", K = {depths[0]:,}" if len(depths) == 1 else ""), own))
            continue
        shown = depths if full else [k if k in depths else depths[-1]]
        found += [(f"{named}, K = {depth:,}", own.filter(pl.col(K) == depth)) for depth in shown]
    return found


def _contributions(rows: pl.DataFrame, title: str, folds: int, left_out: Sequence[str]) -> Table:
    """Returns one row a channel, and below them what they add up to."""
    partial = (rows[SERVED_USERS] < rows[USERS]).any()
    cells: list[Row] = []
    for row in rows.iter_rows(named=True):
        served: list[Cell] = [row[SERVED_USERS], Rate(row[RECALL_SERVED])] if partial else []
        cells.append(
            (
                row[GENERATOR],
                row[K],
                Rate(row[SHAPLEY]),
                _share(row),
                Rate(row[RECALL]),
                Rate(row[LEAVE_ONE_OUT]),
                row[HITS],
                row[EXCLUSIVE_HITS],
                row[SLOTS],
                _slots_per_hit(row),
                *served,
            )
        )
    columns = (
        Column("channel", key=True, right=False),
        *(Column(name) for name in ("K", "Shapley", "of union", "recall", "without it")),
        *(Column(name) for name in ("hits", "exclusive", "slots", "slots per hit")),
        *((Column("served users"), Column("recall of these")) if partial else ()),
    )
    first = rows.row(0, named=True)
    union = "-" if first[UNION_RECALL] is None else f"{first[UNION_RECALL]:.4f}"
    notes = [f"union recall: {union}, over {first[USERS]:,} users; the Shapley shares add up to it"]
    notes += _NOTES
    notes += [f"baselines are left out: {', '.join(left_out)}"] if left_out else []
    notes += [f"means over {folds} folds; counts are sums over them"] * (folds > 1)
    return Table(f"Channels of {title}", columns, (Group(None, tuple(cells)),), tuple(notes))


def _by_bucket(rows: pl.DataFrame, ranked: Sequence[str], title: str, name: str) -> Table:
    """Returns one row a channel and bucket."""
    cells: list[Row] = []
    for channel in ranked:
        for row in rows.filter(pl.col(GENERATOR) == channel).iter_rows(named=True):
            numbers = (Rate(row[SHAPLEY]), _share(row), Rate(row[RECALL]), row[HITS])
            cells.append((channel, row[BUCKET], row[USERS], *numbers, _slots_per_hit(row)))
    columns = (
        Column("channel", key=True, right=False),
        Column("bucket", key=True, right=False),
        *(Column(each) for each in ("users", "Shapley", "of union", "recall", "hits")),
        Column("slots per hit"),
    )
    return Table(f"Channels of {title}, by {name}", columns, (Group(None, tuple(cells)),))


def _share(row: Record) -> Share:
    """Returns the part of the union's recall that is the channel's."""
    union = row[UNION_RECALL]
    return Share(row[SHAPLEY] / union if union else None)


def _slots_per_hit(row: Record) -> str | None:
    if row[SLOTS] is None or not row[HITS]:
        return None
    return f"{row[SLOTS] / row[HITS]:,.1f}"


def overlap_tables(overlap: pl.DataFrame, k: int | None, *, full: bool) -> list[Table]:
    """Returns for each merge or group a matrix: how much of the lists of two channels is the same.

    Args:
        overlap: OVERLAP.
        k: depth of which a group is shown that has several; None is the largest.
        full: a group at every depth.
    """
    keys = (MERGE, GENERATOR, OTHER, BUCKET_BY, BUCKET, K, OTHER_K)
    overall = add_folds(overlap.filter(pl.col(BUCKET_BY) == ALL), keys, [JACCARD])
    turned = overall.rename({GENERATOR: OTHER, OTHER: GENERATOR, K: OTHER_K, OTHER_K: K})
    both = pl.concat([overall, turned.select(overall.columns)])
    tables = []
    for title, own in _groups(both, k, full=full):
        # By first appearance as the first of two, then as the second: the order of the channels.
        order = own[GENERATOR].unique(maintain_order=True).to_list()
        found = {(row[GENERATOR], row[OTHER]): row[JACCARD] for row in own.to_dicts()}
        rows: list[Row] = [
            (one, *("" if one == other else Rate(found.get((one, other))) for other in order))
            for one in order
        ]
        columns = (Column("channel", key=True, right=False), *(Column(name) for name in order))
        notes = (
            "Jaccard index of their first K items, a mean over the queries where one has a list",
        )
        name = f"Overlap of the channels of {title}"
        tables.append(Table(name, columns, (Group(None, tuple(rows)),), notes))
    return tables


def what_if_tables(what_if: pl.DataFrame) -> list[Table]:
    """Returns for each merge its recall with other slots, the channel first that uses them best.

    Args:
        what_if: WHAT_IF.
    """
    keys = (MERGE, GENERATOR, CHANGE, BUCKET_BY, BUCKET)
    rows = add_folds(what_if.filter(pl.col(BUCKET_BY) == ALL), keys, [SLOTS, RECALL, DELTA])
    return [
        _curves(in_order(own, GENERATOR), str(own[MERGE][0]))
        for own in rows.partition_by(MERGE, maintain_order=True)
    ]


def _curves(rows: pl.DataFrame, merge: str) -> Table:
    """Returns recall by channel and change, and below it the slots that the merge then has."""
    changes = rows[CHANGE].unique(maintain_order=True).to_list()
    shown = [*(each for each in changes if not each.startswith("+"))]
    shown.sort(key=lambda change: change == AS_CONFIGURED)
    more = [each for each in changes if each.startswith("+")]
    told: dict[str, dict[str, Record]] = {}
    for row in rows.iter_rows(named=True):
        told.setdefault(row[GENERATOR], {})[row[CHANGE]] = row
    gains = {channel: _gain(own, more[-1]) if more else None for channel, own in told.items()}
    # Without more slots, the channel first whose loss is felt most.
    worth = gains if more else {channel: _felt(own) for channel, own in told.items()}
    cells: list[Row] = []
    for channel in sorted(told, key=lambda name: (-(worth[name] or 0.0), name)):
        own = [told[channel].get(change) for change in (*shown, *more)]
        gain: list[Cell] = [Rate(gains[channel])] if more else []
        cells.append((channel, *(Rate(each[RECALL] if each else None) for each in own), *gain))
        slots = [f"{each[SLOTS]:,.1f}" if each and each[SLOTS] is not None else "" for each in own]
        cells.append((SLOTS_ROW, *slots, *([""] if more else [])))
    columns = [Column("channel", key=True, right=False)]
    columns += [Column(change) for change in (*shown, *more)]
    columns += [Column("gain per 100 slots")] if more else []
    notes = ["recall of the whole merged list if the channel alone were changed; mean slots"]
    if more:
        notes.append(f"gain per 100 slots: from {AS_CONFIGURED} to {more[-1]}, the best one first")
    title = f"What if a channel of {merge} had other slots"
    return Table(title, tuple(columns), (Group(None, tuple(cells)),), tuple(notes))


def _gain(own: Mapping[str, Record], change: str) -> float | None:
    """Returns the recall that 100 more slots of the merged list bring."""
    if change not in own or own[change][DELTA] is None:
        return None
    more: float = own[change][SLOTS] - own[AS_CONFIGURED][SLOTS]
    return 100 * own[change][DELTA] / more if more else None


def _felt(own: Mapping[str, Record]) -> float | None:
    """Returns the recall that is lost without the channel."""
    delta = own[DROPPED][DELTA] if DROPPED in own else None
    return None if delta is None else -delta


def duplicate_table(lists: Mapping[str, Mapping[str, int | None]]) -> Table | None:
    """Returns how many items of each channel a merge passed over, since another one gave them.

    Args:
        lists: counts by generator; those of merges are called "duplicates[als]".
    """
    rows: list[Row] = [
        (merge, name[len(DUPLICATES) : -1], count)
        for merge, counts in lists.items()
        for name, count in counts.items()
        if name.startswith(DUPLICATES)
    ]
    if not rows:
        return None
    columns = (
        Column("merge", key=True, right=False),
        Column("channel", key=True, right=False),
        Column("passed over"),
    )
    notes = ("items of a channel that another one had given: it went on to the next",)
    return Table("Duplicates in merges", columns, (Group(None, tuple(rows)),), notes)
