"""The funnel: what becomes of relevant items from one stage to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from recoeval.analysis.summary import ALL
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CANDIDATES,
    CHANNEL,
    EXPOSED,
    FOLD,
    FUNNEL_SCHEMA,
    GENERATOR,
    HIT_SURVIVAL,
    INSERTED,
    KEPT,
    LOST,
    PRECISION,
    RECALL,
    RELEVANT,
    STAGE,
    SURVIVED,
    K,
)
from recoeval.report.folds import add_folds, in_order
from recoeval.report.values import Cell, Column, Group, Rate, Row, Share, Table

__all__ = ["funnel_tables"]

_KEYS: Final = (STAGE, GENERATOR, K, CHANNEL, BUCKET_BY, BUCKET)
_MEANS: Final = tuple(name for name, dtype in FUNNEL_SCHEMA.items() if dtype == pl.Float64)
_SHARES: Final = (HIT_SURVIVAL, KEPT, EXPOSED)
_PAIRS: Final = (SURVIVED, LOST, INSERTED, RECALL, HIT_SURVIVAL)

_OF_CHANNELS: Final = (SURVIVED, LOST, RECALL, HIT_SURVIVAL, CANDIDATES, KEPT)
_OF_BUCKETS: Final = (SURVIVED, LOST, RECALL, HIT_SURVIVAL, PRECISION)


def funnel_tables(funnel: pl.DataFrame, names: Sequence[str]) -> list[Table]:
    """Returns the stages overall, by channel of the first one, and by bucket.

    Args:
        funnel: FUNNEL.
        names: buckets to show apart.
    """
    rows = add_folds(funnel, _KEYS, _MEANS)
    whole = rows.filter(pl.col(CHANNEL) == ALL)
    overall = whole.filter(pl.col(BUCKET_BY) == ALL)
    if overall.is_empty():
        return []
    tables = [_stages(overall, funnel[FOLD].n_unique())]
    channels = rows.filter(pl.col(BUCKET_BY) == ALL, pl.col(CHANNEL) != ALL)
    if channels.height:
        note = "pairs that a channel has within its K; one of two channels counts for both"
        tables.append(_apart(channels, CHANNEL, _OF_CHANNELS, "Funnel by channel", (note,)))
    for name in names:
        part = whole.filter(pl.col(BUCKET_BY) == name)
        if part.height:
            tables.append(_apart(part, BUCKET, _OF_BUCKETS, f"Funnel by {name}"))
    return tables


def _stages(rows: pl.DataFrame, folds: int) -> Table:
    """Returns one row a stage."""
    wanted = (*_PAIRS, PRECISION, CANDIDATES, KEPT, EXPOSED)
    shown = [name for name in wanted if rows[name].count() or name in _PAIRS]
    cells: list[Row] = [
        (row[STAGE], row[GENERATOR], row[K], *_cells(row, shown))
        for row in rows.iter_rows(named=True)
    ]
    columns = (
        Column("stage", key=True, right=False),
        Column("generator", right=False),
        Column("k"),
        *_columns(shown),
    )
    notes = [
        f"of {rows[RELEVANT][0]:,} relevant pairs; the lost and the last survivors add up to them",
        "inserted: relevant items in the first k that an earlier stage did not have",
    ]
    if KEPT in shown:
        notes.append("kept: share of the items that the next stage has in its first k")
    if EXPOSED in shown:
        notes.append("exposed: share of the items that the user was shown in the test window")
    notes += [f"means over {folds} folds; counts are sums over them"] * (folds > 1)
    return Table("Funnel", columns, (Group(None, tuple(cells)),), tuple(notes))


def _apart(
    rows: pl.DataFrame, key: str, wanted: Sequence[str], title: str, notes: tuple[str, ...] = ()
) -> Table:
    """Returns one row a channel or bucket and stage."""
    shown = [name for name in wanted if rows[name].count()]
    cells: list[Row] = [
        (row[key], row[STAGE], row[RELEVANT], *_cells(row, shown))
        for row in in_order(rows, key, STAGE).iter_rows(named=True)
    ]
    columns = (
        Column(key, key=True, right=False),
        Column("stage", key=True, right=False),
        Column("relevant"),
        *_columns(shown),
    )
    return Table(title, columns, (Group(None, tuple(cells)),), notes)


def _columns(names: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(name.replace("_", " ")) for name in names)


def _cells(row: Mapping[str, Any], names: Iterable[str]) -> tuple[Cell, ...]:
    """Returns counts, values of metrics, and shares."""
    return tuple(_cell(name, row[name]) for name in names)


def _cell(name: str, value: Any) -> Cell:
    if name in _SHARES:
        return Share(value)
    return Rate(value) if name in _MEANS else value
