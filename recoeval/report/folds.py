"""Several folds: tables of their means, how far they are apart, and each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from recoeval.analysis.summary import ALL
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CI_HIGH,
    CI_LOW,
    FOLD,
    GENERATOR,
    METRIC,
    QUERIES,
    STATISTIC,
    TOO_FEW_USERS,
    USERS,
    VALUE,
)
from recoeval.report.numbers import FEW_NOTE, Shown, is_marked, size_of
from recoeval.report.values import Column, Group, Rate, Row, Table

__all__ = ["add_folds", "fold_tables", "in_order", "means_over_folds"]

_KEYS: Final = (GENERATOR, BUCKET_BY, BUCKET, METRIC, STATISTIC)
MEAN: Final = "mean"


def means_over_folds(summary: pl.DataFrame, folds: pl.DataFrame) -> pl.DataFrame:
    """Returns one row a number in the form of SUMMARY: its mean over the folds, no interval.

    Args:
        summary: SUMMARY of several folds; users and queries of all of them are added up.
        folds: generator, bucket_by, bucket, metric, statistic, mean.
    """
    sizes = summary.group_by(_KEYS, maintain_order=True).agg(pl.col(USERS, QUERIES).sum())
    return (
        in_order(sizes, GENERATOR, BUCKET_BY, BUCKET)
        .join(folds.select(*_KEYS, MEAN), on=_KEYS, how="left", maintain_order="left")
        .rename({MEAN: VALUE})
        .with_columns(
            pl.lit(None, pl.Float64).alias(CI_LOW),
            pl.lit(None, pl.Float64).alias(CI_HIGH),
            pl.lit(False).alias(TOO_FEW_USERS),
        )
    )


def add_folds(rows: pl.DataFrame, keys: Sequence[str], means: Sequence[str]) -> pl.DataFrame:
    """Returns one row a key: the means over the folds that have a value, and sums of all counts.

    Args:
        rows: a table with a column fold.
        keys: columns that say what a row is about.
        means: columns of means; all others are counts.

    Example:
        >>> rows = pl.DataFrame({"fold": [0, 1], "of": "a", "hits": [1, 2], "recall": [0.25, 0.75]})
        >>> add_folds(rows, ["of"], ["recall"]).rows()
        [('a', 3, 0.5)]
    """
    counts = [name for name in rows.columns if name not in (FOLD, *keys, *means)]
    known = pl.col(counts).count() > 0
    sums = pl.when(known).then(pl.col(counts).sum())
    added = rows.group_by(keys, maintain_order=True).agg(sums, pl.col(means).mean())
    return added.select(name for name in rows.columns if name != FOLD)


def in_order(rows: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Returns the rows by the first appearance of each value: what a later fold adds goes last.

    Args:
        rows: any table, without nulls in the named columns.
        names: columns, the most important one first.

    Example:
        >>> rows = pl.DataFrame({"generator": ["b", "a", "b"], "bucket": ["x", "x", "y"]})
        >>> in_order(rows, "generator").rows()
        [('b', 'x'), ('b', 'y'), ('a', 'x')]
    """
    places = []
    for name in names:
        values = rows[name].unique(maintain_order=True)
        numbers = pl.Series(range(len(values)), dtype=pl.Int64)
        places.append(pl.col(name).replace_strict(values, numbers, return_dtype=pl.Int64))
    return rows.sort(places, maintain_order=True)


def fold_tables(summary: pl.DataFrame, folds: pl.DataFrame, shown: Shown) -> list[Table]:
    """Returns how far the folds are apart, and a row a fold; nothing with one fold.

    Args:
        summary: SUMMARY of all folds.
        folds: generator, bucket_by, bucket, metric, statistic, folds, mean, sd, min, max.
        shown: the measures of the tables.
    """
    if folds.is_empty():
        return []
    labels = [measure.label for measure in (shown.lead, *shown.others)]
    overall = folds.filter(
        pl.col(BUCKET_BY) == ALL, pl.col(STATISTIC) == "macro", pl.col(METRIC).is_in(labels)
    )
    rows: list[Row] = []
    for own in overall.partition_by(GENERATOR, maintain_order=True):
        found = {row[METRIC]: row for row in own.to_dicts()}
        for row in (found[label] for label in labels if label in found):
            spread = (Rate(row[name]) for name in (MEAN, "sd", "min", "max"))
            rows.append((row[GENERATOR], row[METRIC], *spread))
    columns = (
        Column("generator", key=True, right=False),
        Column("metric", key=True, right=False),
        *(Column(name) for name in (MEAN, "sd", "min", "max")),
    )
    title = f"Spread over {summary[FOLD].n_unique()} folds"
    return [Table(title, columns, (Group(None, tuple(rows)),)), _each_fold(summary, shown)]


def _each_fold(summary: pl.DataFrame, shown: Shown) -> Table:
    rows: list[Row] = []
    overall = summary.filter(pl.col(BUCKET_BY) == ALL).sort(FOLD, maintain_order=True)
    by_generator = overall.partition_by(GENERATOR, maintain_order=True)
    for own in (fold for part in by_generator for fold in part.partition_by(FOLD)):
        users = own[USERS].max()
        sizes = size_of(int(users)) if isinstance(users, int) else None
        rows.append((own[GENERATOR][0], str(own[FOLD][0]), sizes, *shown.cells(own)))
    columns = (
        Column("generator", key=True, right=False),
        Column("fold", key=True),
        Column("users", key=True),
        *shown.columns(),
    )
    marked = any(is_marked(cell) for row in rows for cell in row)
    notes = (FEW_NOTE,) if marked else ()
    return Table("Metrics of each fold", columns, (Group(None, tuple(rows)),), notes)
