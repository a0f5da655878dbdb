"""The kernel: what is found in lists, and the truth, in; one row a query out.

Tables of one row a query stand side by side in one order, so that nothing is looked up; rows of
hits and of lost pairs carry the place of their query, the row that they are added to. A part of
the truth (gains from some size on, one kind of positives, cold pairs) goes through the same
functions: its pairs and hits are what is left of all, its places are those of its own queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import polars as pl

from recoeval.columns import QUERY_ID, QUOTA, RELEVANT, RETURNED, USER_ID
from recoeval.engine.ordered import PLACE, places_of
from recoeval.engine.sums import sum_found, sum_terms, terms_of
from recoeval.metrics.base import DELIVERED, Measure, Term

__all__ = ["Empty", "join_lists", "score_queries"]

REMOVED = "removed"

Empty = Literal["zero", "one", "null"]
"""What queries without relevant items get."""


def join_lists(
    queries: pl.DataFrame,
    list_sums: pl.DataFrame,
    removed: pl.DataFrame,
    measures: Sequence[Measure],
    *,
    marked: Iterable[pl.DataFrame] = (),
) -> pl.DataFrame:
    """Returns what is known of the list of every evaluated query, whether it has one or not.

    Args:
        queries: query_id (number), user_id of the evaluated queries, distinct; quota if a
            measure is cut there.
        list_sums: result of `sum_lists`.
        removed: `removed` of `finding.find`.
        measures: what is asked for.
        marked: results of `sum_rows` over other rows of the lists.

    Returns:
        query_id, user_id, quota if there is one, delivered, returned (Int64), one column a sum;
        in the order of `queries`.
    """
    joined = queries.select(name for name in (QUERY_ID, USER_ID, QUOTA) if name in queries.columns)
    places = places_of(joined[QUERY_ID].to_numpy())
    gone = Term("removed", REMOVED, pl.col(REMOVED).cast(pl.Int64))
    rows = removed.with_columns(pl.Series(PLACE, places[removed[QUERY_ID].to_numpy()]))
    sums = sum_terms(rows, (gone, *terms_of(measures, "removed")), joined)
    for table in (list_sums, *marked):
        own = places[table[QUERY_ID].to_numpy()]
        for column in table.drop(QUERY_ID):
            values = np.zeros(joined.height, column.to_numpy().dtype)
            values[own] = column.to_numpy()
            sums.append(pl.Series(column.name, values))
    returned = (pl.col(DELIVERED) - pl.col(REMOVED)).alias(RETURNED)
    return joined.hstack(sums).with_columns(returned)


def score_queries(
    lists: pl.DataFrame,
    truth_sums: pl.DataFrame,
    hits: pl.DataFrame,
    lost: pl.DataFrame,
    *,
    measures: Sequence[Measure],
    without_relevant: Empty = "zero",
) -> pl.DataFrame:
    """Returns PER_QUERY and the sums behind it.

    Args:
        lists: result of `join_lists`.
        truth_sums: result of `sum_truth` for the same queries, row by row.
        hits: place, rank, gain, score of what is found; sorted by place and rank.
        lost: place, cause of the relevant pairs that are in no prepared list.
        measures: what is asked for.
        without_relevant: value of queries without relevant items.

    Returns:
        The columns of `lists`, relevant (Int64), one column a sum, one Float64 column a measure;
        one row a query in their order.
    """
    known = lists.hstack(truth_sums)
    sums = known.hstack(sum_found(hits, lost, measures, known))
    values = [
        _value(measure, without_relevant)
        for measure in measures
        if measure.metric.kind != "catalogue"
    ]
    return sums.lazy().with_columns(values).collect()


def _value(measure: Measure, without_relevant: Empty) -> pl.Expr:
    """Returns the column of a measure; queries without relevant items get the policy's value."""
    metric, value = measure.metric, measure.metric.value(measure.place)
    if metric.kind == "accuracy":
        empty = {"zero": 0.0, "one": metric.value_of_nothing, "null": None}[without_relevant]
        if metric.value_of_nothing is None:
            empty = None
        value = pl.when(pl.col(RELEVANT) > 0).then(value).otherwise(empty)
    return value.cast(pl.Float64).alias(measure.label)
