"""The kernel: lists and truth in, one row a query out. LazyFrames only, nothing is collected.

Lists are reduced to hits first. The rank of a hit after duplicates and seen items have left
is its delivered rank minus the removed rows before it, so that misses are never carried on.

A part of the truth (gains from some size on, one kind of positives, cold pairs) goes through
the same functions: its pairs and hits are what is left of all, its keys say whose they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import polars as pl

from recoeval.columns import (
    CAUSE,
    COLD_ITEM,
    COLD_USER,
    FILTERED,
    GAIN,
    ITEM_ID,
    NOT_RETRIEVED,
    QUERY_ID,
    QUOTA,
    RANK,
    RELEVANT,
    RETURNED,
    SCORE,
    UNAVAILABLE,
    USER_ID,
)
from recoeval.engine.sums import sum_found, sum_rows, terms_of
from recoeval.metrics.base import DELIVERED, HIT_NUMBER, REPEATED, SEEN, Measure, Term

__all__ = ["find_hits", "find_lost", "find_removed", "join_lists", "score_queries"]

PAIR = (QUERY_ID, ITEM_ID)
REMOVED = "removed"


def find_removed(
    lists: pl.LazyFrame, seen: pl.LazyFrame | None, *, drop_seen: bool
) -> pl.LazyFrame:
    """Returns the delivered rows that are repeated or seen.

    Args:
        lists: delivered lists: query_id, item_id, rank 1..n.
        seen: distinct (query_id, item_id) pairs, or None when unknown.
        drop_seen: whether seen rows leave the lists (`repeats: exclude`).

    Returns:
        query_id, item_id, rank, repeated, seen, removed (Boolean): a row is removed when its
        item stood earlier in the list, or when it is seen and seen rows leave.
    """
    rows = lists.select(*PAIR, RANK)
    again = (
        rows.group_by(PAIR)
        .agg(pl.col(RANK).min().alias("first"), pl.len().alias("times"))
        .filter(pl.col("times") > 1)
        .select(*PAIR, "first")
    )
    repeated = rows.join(again, on=PAIR).filter(pl.col(RANK) > pl.col("first")).drop("first")
    marks = [repeated.with_columns(pl.lit(True).alias(REPEATED), pl.lit(False).alias(SEEN))]
    if seen is not None:
        known = rows.join(seen.select(PAIR), on=PAIR, how="semi")
        marks.append(known.with_columns(pl.lit(False).alias(REPEATED), pl.lit(True).alias(SEEN)))
    return (
        pl.concat(marks)
        .group_by(*PAIR, RANK)
        .agg(pl.col(REPEATED).any(), pl.col(SEEN).any())
        .with_columns((pl.col(REPEATED) | (pl.col(SEEN) & drop_seen)).alias(REMOVED))
    )


def find_hits(
    lists: pl.LazyFrame, truth: pl.LazyFrame, removed: pl.LazyFrame, *, scores: bool = False
) -> pl.LazyFrame:
    """Returns HITS: the relevant rows of the lists with their prepared rank.

    Args:
        lists: delivered lists: query_id, item_id, rank 1..n; score if it is asked for.
        truth: query_id, item_id, gain; distinct pairs, without seen pairs if those leave.
        removed: result of `find_removed` for the same lists.
        scores: whether the scores of the rows are wanted.

    Returns:
        query_id, item_id, rank (prepared: 1..n after removals), gain, hit_number (1-based
        within the query) and score if asked for, sorted by query_id and rank.
    """
    first = pl.col(RANK).arg_min()
    more = [pl.col(SCORE).get(first)] if scores else []
    found = (
        lists.select(*PAIR, RANK, *([SCORE] if scores else []))
        .join(truth.select(*PAIR, GAIN), on=PAIR)
        .group_by(PAIR)
        .agg(pl.col(RANK).min(), pl.col(GAIN).first(), *more)
        .join(removed.filter(REMOVED), on=[*PAIR, RANK], how="anti")
    )
    left = removed.filter(REMOVED).select(*PAIR, RANK, pl.lit(None, pl.Float64).alias(GAIN))
    is_hit = pl.col(GAIN).is_not_null()
    return (
        pl.concat([found, left], how="diagonal")
        .sort(QUERY_ID, RANK)
        .with_columns(
            (pl.col(RANK) - (~is_hit).cast(pl.Int64).cum_sum().over(QUERY_ID)).alias(RANK),
            is_hit.cast(pl.Int64).cum_sum().over(QUERY_ID).alias(HIT_NUMBER),
        )
        .filter(is_hit)
    )


def find_lost(
    truth: pl.LazyFrame,
    hits: pl.LazyFrame,
    removed: pl.LazyFrame,
    reach: pl.LazyFrame | None,
    *,
    serves_cold_users: bool = True,
    serves_cold_items: bool = True,
) -> pl.LazyFrame:
    """Returns LOST: the relevant pairs that are in no prepared list, each with its cause.

    Args:
        truth: query_id, item_id, gain; distinct pairs.
        hits: result of `find_hits` for this truth.
        removed: result of `find_removed` for the same lists.
        reach: query_id, item_id, unavailable, cold_item, cold_user (Boolean), distinct pairs;
            None when nothing is known of them.
        serves_cold_users: whether the generator can serve users without a train row.
        serves_cold_items: whether it can list items without one.

    Returns:
        query_id, item_id, gain, cause: filtered, unavailable, cold_item, cold_user or
        not_retrieved, the first that holds; in the order of `truth`.
    """
    left = removed.filter(REMOVED).select(PAIR).unique().with_columns(pl.lit(True).alias(FILTERED))
    lost = (
        truth.select(*PAIR, GAIN)
        .join(hits.select(PAIR), on=PAIR, how="anti", maintain_order="left")
        .join(left, on=PAIR, how="left", maintain_order="left")
    )
    causes = [FILTERED]
    if reach is not None:
        causes.append(UNAVAILABLE)
        causes += [] if serves_cold_items else [COLD_ITEM]
        causes += [] if serves_cold_users else [COLD_USER]
        known = reach.select(*PAIR, *causes[1:])
        lost = lost.join(known, on=PAIR, how="left", maintain_order="left")
    cause = pl.coalesce(
        *(pl.when(pl.col(name).fill_null(False)).then(pl.lit(name)) for name in causes),
        pl.lit(NOT_RETRIEVED),
    )
    return lost.select(*PAIR, GAIN, cause.alias(CAUSE))


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
        removed: result of `find_removed`.
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
        hits: result of `find_hits`, with the keys.
        lost: result of `find_lost`, with the keys.
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
