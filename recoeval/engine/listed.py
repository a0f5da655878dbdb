"""How often each item stands in the prepared lists, which catalogue metrics read."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recoeval.columns import BUCKET, BUCKET_BY, ITEM_ID, QUERY_ID, QUOTA, RANK
from recoeval.engine.kernel import REMOVED
from recoeval.metrics.base import Cut, Measure

__all__ = ["count_listed", "cuts_of"]

WHOLE = "all"


def cuts_of(measures: Sequence[Measure]) -> tuple[Cut, ...]:
    """Returns the distinct cuts of the catalogue metrics."""
    asked = (each.place for each in measures if each.metric.kind == "catalogue")
    return tuple(dict.fromkeys(asked))


def count_listed(
    lists: pl.LazyFrame,
    removed: pl.LazyFrame,
    cuts: Sequence[Cut],
    queries: pl.LazyFrame,
    groups: pl.DataFrame | None,
) -> pl.DataFrame:
    """Returns in how many prepared lists each item stands, overall and by bucket.

    Args:
        lists: delivered lists: query_id, item_id, rank 1..n.
        removed: `removed` of `finding.find` for the same lists.
        cuts: where lists end.
        queries: query_id, quota if a cut reads it.
        groups: query_id and one String column a bucket split; None without buckets.

    Returns:
        bucket_by, bucket ("all", "all" first), item_id, one Int64 column a cut ("@10"); sorted
        within the splits by bucket and item_id.
    """
    names = [f"@{cut}" for cut in cuts]
    # Names of our own: a split may be called as it likes.
    splits = [] if groups is None else [name for name in groups.columns if name != QUERY_ID]
    labels = [f"bucket {number}" for number in range(len(splits))]
    rows = _prepared(lists, removed)
    if any(cut.at == QUOTA for cut in cuts):
        rows = rows.join(queries.select(QUERY_ID, QUOTA), on=QUERY_ID)
    rows = rows.filter(pl.any_horizontal(cut.within for cut in cuts))
    if groups is not None:
        own = groups.lazy().rename(dict(zip(splits, labels, strict=True)))
        rows = rows.join(own, on=QUERY_ID)
    # One pass: the splits are added up from the counts by all of them together.
    counts = [cut.within.cast(pl.Int64).alias(name) for cut, name in zip(cuts, names, strict=True)]
    fine = (
        rows.select(ITEM_ID, *labels, *counts)
        .group_by(ITEM_ID, *labels)
        .agg(pl.col(names).sum())
        .collect(engine="streaming")
    )
    tables = [_added(fine, pl.lit(WHOLE), WHOLE, names)]
    for split, label in zip(splits, labels, strict=True):
        tables.append(_added(fine, pl.col(label), split, names))
    return pl.concat(tables)


def _added(fine: pl.DataFrame, bucket: pl.Expr, split: str, names: Sequence[str]) -> pl.DataFrame:
    """Returns the counts by bucket of one split."""
    return (
        fine.with_columns(bucket.alias(BUCKET))
        .group_by(BUCKET, ITEM_ID)
        .agg(pl.col(names).sum())
        .sort(BUCKET, ITEM_ID)
        .select(pl.lit(split).alias(BUCKET_BY), BUCKET, ITEM_ID, *names)
    )


def _prepared(lists: pl.LazyFrame, removed: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the rows that stay, with their rank 1..n. Lists that lose none stay as they are."""
    rows = lists.select(QUERY_ID, ITEM_ID, RANK)
    gone = removed.filter(REMOVED).select(QUERY_ID, RANK)
    shorter = gone.select(QUERY_ID).unique()
    whole = rows.join(shorter, on=QUERY_ID, how="anti")
    left = (
        rows.join(shorter, on=QUERY_ID, how="semi")
        .join(gone, on=[QUERY_ID, RANK], how="anti")
        .sort(QUERY_ID, RANK)
        .with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(QUERY_ID).alias(RANK))
    )
    return pl.concat([whole, left])
