"""The kernel: what is found in lists, and the truth, in; one row a query out.

LazyFrames only, nothing is collected. A part of the truth (gains from some size on, one kind of
positives, cold pairs) goes through the same functions: its pairs and hits are what is left of
all, its keys say whose they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import polars as pl

from recoeval.columns import QUERY_ID, QUOTA, RELEVANT, RETURNED, USER_ID
from recoeval.engine.sums import sum_found, sum_rows, terms_of
from recoeval.metrics.base import DELIVERED, Measure, Term

__all__ = ["join_lists", "score_queries"]

REMOVED = "removed"


def join_lists(
    queries: pl.LazyFrame,
    list_sums: pl.LazyFrame,
    removed: pl.LazyFrame,
    measures: Sequence[Measure],
    *,
    marked: Iterable[pl.LazyFrame] = (),
) -> pl.LazyFrame:
    """Returns what is known of the list of every evaluated query, whether it has one or not.

    Args:
        queries: query_id, user_id of the evaluated queries, distinct; quota if a measure is
            cut there.
        list_sums: result of `sum_lists`.
        removed: `removed` of `finding.find`.
        measures: what is asked for.
        marked: results of `sum_rows` over other rows of the lists.

    Returns:
        query_id, user_id, quota if there is one, delivered, returned (Int64), one column a sum;
        in the order of `queries`.
    """
    terms = terms_of(measures, "removed")
    gone = Term("removed", REMOVED, pl.col(REMOVED).cast(pl.Int64))
    known = [name for name in (QUERY_ID, USER_ID, QUOTA) if name in queries.collect_schema()]
    joined = queries.select(known)
    for table in (list_sums, sum_rows(removed, (gone, *terms), queries), *marked):
        joined = joined.join(table, on=QUERY_ID, how="left", maintain_order="left")
    return joined.with_columns(pl.exclude(known).fill_null(0)).with_columns(
        (pl.col(DELIVERED) - pl.col(REMOVED)).alias(RETURNED)
    )


def score_queries(
    lists: pl.LazyFrame,
    truth_sums: pl.LazyFrame,
    hits: pl.LazyFrame,
    lost: pl.LazyFrame,
    *,
    measures: Sequence[Measure],
    keys: Sequence[str] = (QUERY_ID,),
    everyone: bool = True,
    without_relevant: Literal["zero", "one"] = "zero",
) -> pl.LazyFrame:
    """Returns PER_QUERY and the sums behind it.

    Args:
        lists: result of `join_lists`.
        truth_sums: result of `sum_truth` for the same keys.
        hits: hits of `finding.find` with their gain, and the keys.
        lost: the keys, gain, cause of the relevant pairs that are in no prepared list.
        measures: what is asked for.
        keys: columns that name a part of the truth, query_id among them.
        everyone: whether queries without relevant items have a row.
        without_relevant: value of queries without relevant items.

    Returns:
        The keys, user_id, relevant, returned, delivered (Int64), one Float64 column a measure,
        one column a sum that pooled averages read: every query of `lists` in their order,
        or those whose truth is not empty, sorted by the keys.
    """
    found = sum_found(truth_sums, hits, lost, lists, measures=measures, keys=keys)
    joined = (
        lists.join(found, on=QUERY_ID, how="left", maintain_order="left")
        if everyone
        else found.join(lists, on=QUERY_ID, maintain_order="left")
    )
    counted = [name for name in found.collect_schema() if name not in keys]
    return joined.with_columns(pl.col(counted).fill_null(0)).with_columns(
        _value(measure, without_relevant)
        for measure in measures
        if measure.metric.kind != "catalogue"
    )


def _value(measure: Measure, without_relevant: Literal["zero", "one"]) -> pl.Expr:
    """Returns the column of a measure; queries without relevant items get the policy's value."""
    metric, value = measure.metric, measure.metric.value(measure.place)
    if metric.kind == "accuracy":
        empty = metric.value_of_nothing
        if empty is not None and without_relevant == "zero":
            empty = 0.0
        value = pl.when(pl.col(RELEVANT) > 0).then(value).otherwise(empty)
    return value.cast(pl.Float64).alias(measure.label)
