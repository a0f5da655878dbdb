"""Buckets of queries and of items: whose numbers are shown apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import polars as pl

from recoeval.columns import (
    CREATED_AT,
    ITEM_ID,
    LABEL,
    QUERY_ID,
    QUERY_TIME,
    RELEVANT,
    TIMESTAMP_DTYPE,
    TRAIN_USERS,
    USER_ID,
)
from recoeval.data.background import Background
from recoeval.data.bucketrules import Bucket
from recoeval.data.failures import listed
from recoeval.data.scales import (
    Edges,
    Scale,
    column_scale,
    comparable,
    count_scale,
)
from recoeval.errors import ConfigError, Problem, did_you_mean

__all__ = ["Bucket", "Buckets", "assign_buckets", "label_items", "label_pairs"]

_DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of all queries, and the labels of those on the item side.

    Args:
        labels: for each bucket of the user side one label a query, in the order of the queries.
        order: for each bucket its labels in order: all that are declared, with queries or not,
            and "0" (no history) or "missing" if there are such users or items.
        edges: for each bucket the edges in force; none where each value is a bucket.
        implied: for each bucket that may have it the label "0" or "missing".
    """

    labels: Mapping[str, pl.Series]
    order: Mapping[str, tuple[str, ...]]
    edges: Mapping[str, Edges]
    implied: Mapping[str, str] = field(default_factory=dict)

    @property
    def known(self) -> Mapping[str, tuple[str, ...]]:
        """For each bucket every label that it can have, in order."""
        return {
            name: Scale(labels, None, self.implied.get(name)).known
            for name, labels in self.order.items()
        }


def assign_buckets(
    queries: pl.DataFrame,
    buckets: Mapping[str, Bucket],
    *,
    background: Background | None = None,
    pairs: pl.DataFrame | None = None,
) -> Buckets:
    """Returns the bucket of each query, and the labels of the buckets of items.

    Args:
        queries: one row a query with relevant and, where buckets need them, user_id,
            query_time, train_interactions and train_rows (Int64, 0 when there is no history),
            and columns of their own, which `by: column` finds too.
        buckets: the rules by name.
        background: the tables of users and items, and the popularity of items.
        pairs: query_id, item_id of the truth: whether its items have the labels "0", "missing".

    Raises:
        ConfigError: a bucket by what is not known, by a column that does not exist or does not
            fit its edges, or one named "all".
        DataError: quantiles of nothing.

    Example:
        >>> queries = pl.DataFrame({"relevant": [1, 2, 9]})
        >>> rule = Bucket(by="relevant_items", edges=(2, 5))
        >>> assign_buckets(queries, {"size": rule}).labels["size"].to_list()
        ['[-inf,2)', '[2,5)', '[5,inf)']
    """
    known = background or Background()
    labels: dict[str, pl.Series] = {}
    order: dict[str, tuple[str, ...]] = {}
    scales: dict[str, Scale] = {}
    for name, bucket in buckets.items():
        path = f"buckets.{name}"
        if name == "all":
            raise ConfigError(Problem("'all' means all queries: choose another name", path))
        if bucket.side == "user":
            values, scales[name] = _of_queries(bucket, queries, known, path)
            labels[name] = scales[name].label(values)
            order[name] = scales[name].order(labels[name])
        else:
            scales[name] = _item_scale(bucket, known, path)
            found = pl.Series([], dtype=pl.String)
            if pairs is not None:
                asked = _asked(pairs, queries)
                found = scales[name].label(_of_items(bucket, asked, known, path))
            order[name] = scales[name].order(found)
    return Buckets(
        labels,
        order,
        {name: scale.edges or () for name, scale in scales.items()},
        {name: scale.implied for name, scale in scales.items() if scale.implied is not None},
    )


def label_pairs(
    pairs: pl.DataFrame,
    queries: pl.DataFrame,
    background: Background,
    buckets: Mapping[str, Bucket],
) -> dict[str, pl.DataFrame]:
    """Returns the label of the item of each pair, for each bucket of the item side.

    Args:
        pairs: query_id, item_id.
        queries: query_id and query_time (Datetime[us], UTC), which item_age is counted to.
        background: the items table and the popularity of items.
        buckets: the rules by name; those of the user side are left out.

    Returns:
        By name query_id, item_id, label; a row a pair, in the order of the pairs.

    Raises:
        ConfigError: a bucket by what is not known, or by a column that does not exist.
        DataError: quantiles of nothing.
    """
    found: dict[str, pl.DataFrame] = {}
    rules = _item_side(buckets)
    if not rules:
        return found
    asked = _asked(pairs, queries)
    for name, bucket in rules.items():
        path = f"buckets.{name}"
        scale = _item_scale(bucket, background, path)
        labels = scale.label(_of_items(bucket, asked, background, path))
        found[name] = asked.select(QUERY_ID, ITEM_ID).with_columns(labels.alias(LABEL))
    return found


def label_items(
    items: pl.Series, background: Background, buckets: Mapping[str, Bucket], at: datetime | None
) -> dict[str, pl.Series]:
    """Returns the label of each item, for each bucket of the item side that needs no query.

    Args:
        items: ids.
        background: the items table and the popularity of items.
        buckets: the rules by name; those of the user side are left out.
        at: the one time of all queries, UTC; None: there are several, and buckets by item_age
            are left out.

    Raises:
        ConfigError: a bucket by what is not known, or by a column that does not exist.
        DataError: quantiles of nothing.
    """
    asked = items.alias(ITEM_ID).to_frame()
    asked = asked.with_columns(pl.lit(at, TIMESTAMP_DTYPE).alias(QUERY_TIME))
    found = {}
    for name, bucket in _item_side(buckets).items():
        if bucket.by == "item_age" and at is None:
            continue
        path = f"buckets.{name}"
        scale = _item_scale(bucket, background, path)
        found[name] = scale.label(_of_items(bucket, asked, background, path)).alias(name)
    return found


def _item_side(buckets: Mapping[str, Bucket]) -> dict[str, Bucket]:
    return {name: bucket for name, bucket in buckets.items() if bucket.side == "item"}


def _asked(pairs: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Returns the pairs with the time of their query, in their order."""
    known = QUERY_TIME in queries.columns
    time = pl.col(QUERY_TIME) if known else pl.lit(None, TIMESTAMP_DTYPE).alias(QUERY_TIME)
    times = queries.select(QUERY_ID, time)
    return pairs.select(QUERY_ID, ITEM_ID).join(
        times, on=QUERY_ID, how="left", maintain_order="left"
    )


def _of_queries(
    bucket: Bucket, queries: pl.DataFrame, known: Background, path: str
) -> tuple[pl.Series, Scale]:
    """Returns the value of each query, and the scale."""
    if bucket.by == "column":
        if known.users is not None and bucket.column in known.users.columns:
            table = known.users
            values = _looked_up(queries, table, str(bucket.column), USER_ID)
        elif bucket.column in queries.columns:
            values, table = queries[bucket.column], queries
        else:
            raise _no_column(bucket, known.users, "users", path)
        every = comparable(table[str(bucket.column)])
        return comparable(values), column_scale(bucket, every, path)
    column = RELEVANT if bucket.by == "relevant_items" else bucket.by
    if column not in queries.columns:
        raise ConfigError(Problem(f"by: {bucket.by} needs train data", path))
    return queries[column], count_scale(bucket, queries[column], path)


def _looked_up(rows: pl.DataFrame, table: pl.DataFrame, column: str, key: str) -> pl.Series:
    """Returns the value of a table's column for each row, null where the table has none."""
    attribute = table.select(key, pl.col(column).alias(LABEL))
    joined = rows.select(key).join(attribute, on=key, how="left", maintain_order="left")
    return joined[LABEL]


def _no_column(bucket: Bucket, table: pl.DataFrame | None, what: str, path: str) -> ConfigError:
    if table is None:
        return ConfigError(Problem(f"by: {bucket.by} needs a table of {what}", path))
    name = str(bucket.column)
    return ConfigError(
        Problem(
            f"unknown column {name!r} in the {what} table.{did_you_mean(name, table.columns)} "
            f"Columns: {listed(table.columns)}",
            f"{path}.column",
        )
    )


def _item_scale(bucket: Bucket, known: Background, path: str) -> Scale:
    """Returns the scale of a bucket of items, which does not depend on the queries."""
    table, column = _item_column(bucket, known, path)
    if bucket.by == "column":
        return column_scale(bucket, comparable(table[column]), path)
    return count_scale(bucket, table[column], path)


def _item_column(bucket: Bucket, known: Background, path: str) -> tuple[pl.DataFrame, str]:
    """Returns the table of items whose column decides, and that column."""
    if bucket.by == "train_popularity":
        if known.popularity is None:
            raise ConfigError(Problem(f"by: {bucket.by} needs train data", path))
        return known.popularity, TRAIN_USERS
    if known.items is None:
        raise _no_column(bucket, None, "items", path)
    column = CREATED_AT if bucket.by == "item_age" else str(bucket.column)
    if column not in known.items.columns:
        raise _no_column(bucket, known.items, "items", path)
    if bucket.by == "item_age" and known.items[CREATED_AT].is_null().all():
        text = "by: item_age needs the times when items were created: created_at"
        raise ConfigError(Problem(text, path))
    return known.items, column


def _of_items(bucket: Bucket, asked: pl.DataFrame, known: Background, path: str) -> pl.Series:
    """Returns the value of each row's item."""
    values = _looked_up(asked, *_item_column(bucket, known, path), ITEM_ID)
    if bucket.by == "train_popularity":
        return values.fill_null(0)
    if bucket.by == "column":
        return comparable(values)
    if asked.height and asked[QUERY_TIME].is_null().all():
        raise ConfigError(Problem("by: item_age needs the time of the queries", path))
    return (asked[QUERY_TIME] - values).dt.total_microseconds() / _DAY
