"""Where the lost recall went: relevant items by what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from recoeval.analysis.summary import ALL
from recoeval.columns import (
    BELOW_K,
    BUCKET,
    BUCKET_BY,
    CAUSE,
    CAUSES,
    COLD_ITEM,
    COLD_USER,
    FILTERED,
    FOLD,
    GAIN,
    GENERATOR,
    HIT,
    ITEM_ID,
    NOT_RETRIEVED,
    QUERY_ID,
    RANK,
    RELEVANT,
    UNAVAILABLE,
    K,
)
from recoeval.report.folds import in_order
from recoeval.report.values import (
    Cell,
    Column,
    Group,
    Paragraph,
    Rate,
    Row,
    Section,
    Share,
    Table,
    Word,
)

__all__ = ["leading_depth", "loss_table", "loss_tables_by_bucket", "miss_section"]

SHARE: Final = "  share"
"""Stands before the shares of the row above."""

MEANINGS: Final[Mapping[str, str]] = {
    BELOW_K: "in the list, deeper than K",
    FILTERED: "in the list as delivered, removed by a rule",
    UNAVAILABLE: "not among the items that were available at query time",
    COLD_ITEM: "the item has no train row, and the generator needs one",
    COLD_USER: "the user has no train row, and the generator needs one",
    NOT_RETRIEVED: "could have been in the list, and was not",
}
"""What each cause says, in the order in which they are tried."""


def _heading(cause: str) -> str:
    return cause.replace("_", " ").replace("below k", "below K")


def leading_depth(loss: pl.DataFrame, k: int | None) -> int | None:
    """Returns the K that is shown: that of the leading metric, else the largest; None: all.

    Args:
        loss: LOSS, not empty.
        k: K of the leading metric; None where it has none.
    """
    depths = loss[K].unique().to_list()
    if k in depths:
        return k
    largest: int | None = loss[K].cast(pl.Int64).max()  # type: ignore[assignment]
    return largest


def loss_table(loss: pl.DataFrame, k: int | None, ceilings: Mapping[str, float | None]) -> Table:
    """Returns generators x causes: how many relevant items, and below them their shares.

    Args:
        loss: LOSS.
        k: the depth to show; None is the whole list.
        ceilings: recall_ceiling by generator, where it is known.
    """
    found = _sums(loss, k, ALL)
    causes = _present(found)
    rows: list[Row] = []
    for row in found.iter_rows(named=True):
        name = row[GENERATOR]
        ceiling: list[Cell] = [Rate(ceilings.get(name))] if ceilings else []
        rows.append((name, row[RELEVANT], *ceiling, *(row[cause] for cause in causes)))
        nothing: list[Cell] = [""] if ceilings else []
        rows.append((SHARE, "", *nothing, *_shares(row, causes)))
    columns = [Column("generator", key=True, right=False), Column("relevant")]
    columns += [Column("recall ceiling")] if ceilings else []
    columns += [Column(_heading(cause)) for cause in causes]
    title = f"Where the lost recall went, {_depth_in_words(k)}"
    return Table(title, tuple(columns), (Group(None, tuple(rows)),), _notes(causes, ceilings))


def loss_tables_by_bucket(
    loss: pl.DataFrame, k: int | None, names: Sequence[str], *, full: bool
) -> list[Table]:
    """Returns one table a bucket name: generators x buckets with shares of the causes.

    Args:
        loss: LOSS.
        k: the depth to show; None is the whole list.
        names: which buckets.
        full: with the counts, too.
    """
    tables = []
    for name in names:
        found = _sums(loss, k, name)
        causes = _present(found)
        if causes == [HIT]:
            continue  # nothing was lost, or nothing was counted
        rows: list[Row] = []
        for row in found.iter_rows(named=True):
            keys = (row[GENERATOR], row[BUCKET])
            counts = tuple(row[cause] for cause in causes)
            shares = _shares(row, causes)
            rows += [(*keys, row[RELEVANT], *(counts if full else shares))]
            rows += [(SHARE, "", "", *shares)] if full else []
        columns = [
            Column("generator", key=True, right=False),
            Column("bucket", key=True, right=False),
            Column("relevant"),
            *(Column(_heading(cause)) for cause in causes),
        ]
        title = f"Where the lost recall went by {name}, {_depth_in_words(k)}"
        tables.append(Table(title, tuple(columns), (Group(None, tuple(rows)),)))
    return tables


def _sums(loss: pl.DataFrame, k: int | None, name: str) -> pl.DataFrame:
    """Returns one row a generator and bucket: the counts of all folds."""
    sums = (
        loss.filter(pl.col(BUCKET_BY) == name, pl.col(K).eq_missing(k))
        .group_by(GENERATOR, BUCKET, maintain_order=True)
        .agg(pl.col(RELEVANT, *CAUSES).sum())
    )
    return in_order(sums, GENERATOR, BUCKET)


def _present(found: pl.DataFrame) -> list[str]:
    """Returns the causes that something has; hit always."""
    return [cause for cause in CAUSES if cause == HIT or found[cause].sum()]


def _shares(row: Mapping[str, Any], causes: Sequence[str]) -> tuple[Share, ...]:
    relevant = row[RELEVANT]
    return tuple(Share(row[cause] / relevant if relevant else None) for cause in causes)


def _depth_in_words(k: int | None) -> str:
    return "whole lists" if k is None else f"K = {k:,}"


def _notes(causes: Sequence[str], ceilings: Mapping[str, Any]) -> tuple[str, ...]:
    said = ["pairs of all queries, and their shares; recall is a mean over users"]
    said += ["recall ceiling: recall if all but unavailable and cold ones were hit"] * bool(
        ceilings
    )
    said += [f"{_heading(cause)}: {MEANINGS[cause]}" for cause in causes if cause != HIT]
    return tuple(said)


def miss_section(misses: pl.DataFrame, k: int | None) -> Section:
    """Returns a sample of lost pairs for a look by eye, or that there are none.

    Args:
        misses: fold, generator, query_id, item_id, gain, rank (null unless below K), cause.
        k: depth at which they were lost; None is the whole list.
    """
    title = f"A sample of lost pairs, {_depth_in_words(k)}"
    if misses.is_empty():
        return Paragraph(title, (Word("none: every relevant item was found", "good"),))
    shown = {
        FOLD: misses[FOLD].n_unique() > 1,
        QUERY_ID: True,
        ITEM_ID: True,
        CAUSE: True,
        RANK: misses[RANK].count() > 0,
        GAIN: misses[GAIN].n_unique() > 1,
    }
    names = [name for name, wanted in shown.items() if wanted]
    groups = []
    for own in misses.partition_by(GENERATOR, maintain_order=True):
        cells = ([_miss_cell(name, row[name]) for name in names] for row in own.to_dicts())
        groups.append(Group(Word(str(own[GENERATOR][0]), "strong"), tuple(map(tuple, cells))))
    columns = tuple(
        Column(
            {QUERY_ID: "query", ITEM_ID: "item"}.get(name, name),
            key=name in (FOLD, QUERY_ID, ITEM_ID),
            right=name in (FOLD, RANK, GAIN),
        )
        for name in names
    )
    return Table(title, columns, tuple(groups))


def _miss_cell(name: str, value: Any) -> Cell:
    if name == CAUSE:
        return _heading(value)
    if name in (QUERY_ID, ITEM_ID):
        return str(value)  # no separators of thousands in an id
    return f"{value:g}" if isinstance(value, float) else value
