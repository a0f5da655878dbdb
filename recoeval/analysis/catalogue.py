"""SUMMARY of the metrics of the catalogue: from one row an item to one row a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from recoeval.analysis.summary import ALL, FEW_USERS
from recoeval.columns import BUCKET, BUCKET_BY, ITEM_ID, SUMMARY_SCHEMA, TRAIN_USERS
from recoeval.metrics.base import Measure
from recoeval.metrics.catalogue import IN_CATALOGUE, LISTED

__all__ = ["BY", "ItemGroup", "item_table", "merge_listed", "summarise_items"]


BY: Final = "by "
"""Begins the names of columns with the labels of queries, so that none is that of another one."""


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """Lists and items whose numbers are shown apart.

    Args:
        bucket_by: name of the split.
        bucket: label.
        queries: evaluated queries whose lists are counted.
        users: their users.
        items: which rows of the item table count (Boolean); None for all of them.
    """

    bucket_by: str
    bucket: str
    queries: int
    users: int
    items: pl.Series | None = None


def merge_listed(blocks: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Returns the counts of several blocks of queries as one: sums of integers.

    Args:
        blocks: bucket_by, bucket, item_id, and for each cut in how many lists the item stands.

    Returns:
        The same, one row a bucket and item, sorted; names of splits without `BY`.
    """
    return (
        pl.concat(blocks)
        .with_columns(pl.col(BUCKET_BY).str.strip_prefix(BY))
        .group_by(BUCKET_BY, BUCKET, ITEM_ID)
        .agg(pl.all().sum())
        .sort(BUCKET_BY, BUCKET, ITEM_ID)
    )


def item_table(
    listed: pl.DataFrame, catalogue: pl.Series | None, popularity: pl.DataFrame | None
) -> pl.DataFrame:
    """Returns one row an item that is listed or in the catalogue.

    Args:
        listed: result of `merge_listed`.
        catalogue: item ids; None when it is not known.
        popularity: item_id, train_users; None without train data.

    Returns:
        item_id, train_users (Int64, 0 without a train row), in_catalogue (Boolean), sorted by
        item_id.
    """
    ids = [listed[ITEM_ID]] if catalogue is None else [listed[ITEM_ID], catalogue]
    items = pl.DataFrame({ITEM_ID: pl.concat(ids).unique().sort()})
    known = pl.lit(False) if catalogue is None else pl.col(ITEM_ID).is_in(catalogue.implode())
    items = items.with_columns(known.alias(IN_CATALOGUE))
    if popularity is None:
        return items.with_columns(pl.lit(0, pl.Int64).alias(TRAIN_USERS))
    joined = items.join(popularity, on=ITEM_ID, how="left", maintain_order="left")
    return joined.with_columns(pl.col(TRAIN_USERS).fill_null(0))


def summarise_items(
    listed: pl.DataFrame,
    measures: Sequence[Measure],
    items: pl.DataFrame,
    groups: Sequence[ItemGroup],
    *,
    train_users: int,
    generator: str,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns SUMMARY of the metrics of the catalogue of one generator.

    Args:
        listed: result of `merge_listed`.
        measures: what to summarise; other metrics are left out.
        items: result of `item_table`.
        groups: what is shown; a split of items is counted in the lists of all queries.
        train_users: distinct users with a train row.
        generator: name in the result.
        fold: number in the result.
    """
    wanted = [each for each in measures if each.metric.kind == "catalogue"]
    rows: list[tuple[object, ...]] = []
    for group in groups if wanted else ():
        own = _listed_by(listed, items, group)
        few = group.users < FEW_USERS
        for measure in wanted:
            counted = own.with_columns(pl.col(f"@{measure.place}").alias(LISTED))
            # Without a query there is nothing that lists could cover.
            value = measure.metric.of_items(counted, train_users) if group.queries else None
            named = (measure.label, measure.metric.name, measure.k)
            keys = (fold, generator, group.bucket_by, group.bucket, *named)
            size = (group.queries, group.users)
            rows.append((*keys, measure.metric.statistic, *size, value, None, None, few))
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


def _listed_by(listed: pl.DataFrame, items: pl.DataFrame, group: ItemGroup) -> pl.DataFrame:
    """Returns the items of a group with how often its lists have them, 0 where they do not."""
    by, label = (group.bucket_by, group.bucket) if group.items is None else (ALL, ALL)
    counts = listed.filter(pl.col(BUCKET_BY) == by, pl.col(BUCKET) == label)
    joined = items.join(
        counts.drop(BUCKET_BY, BUCKET), on=ITEM_ID, how="left", maintain_order="left"
    )
    filled = joined.with_columns(pl.exclude(items.columns).fill_null(0))
    return filled if group.items is None else filled.filter(group.items)
