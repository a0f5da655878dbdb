"""The kernel: lists and truth in, one row a query out. LazyFrames only, nothing is collected.

Lists are reduced to hits first. The rank of a hit after duplicates and seen items have left
is its delivered rank minus the removed rows before it, so that misses are never carried on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import polars as pl

from recoeval.columns import (
    GAIN,
    ITEM_ID,
    QUERY_ID,
    RANK,
    RELEVANT,
    RETURNED,
    SCORE,
    USER_ID,
)
from recoeval.engine.ordered import sum_runs
from recoeval.metrics.base import (
    DELIVERED,
    DISCOUNT,
    HIT_NUMBER,
    REPEATED,
    SEEN,
    TIED,
    Measure,
    Table,
    Term,
)

__all__ = ["find_hits", "find_removed", "score_queries", "sum_lists", "sum_truth"]

PAIR = (QUERY_ID, ITEM_ID)
REMOVED = "removed"


def discounts(depth: int) -> pl.Series:
    """Returns 1 / log2(rank + 1) for ranks 1..depth, Float64.

    A table over integer ranks gives the same bits everywhere; a vectorised log2 may not.

    Example:
        >>> discounts(3).round(3).to_list()
        [1.0, 0.631, 0.5]
    """
    values = [1.0 / math.log2(rank + 1) for rank in range(1, depth + 1)]
    return pl.Series(DISCOUNT, values, dtype=pl.Float64)


def terms_of(measures: Iterable[Measure], table: Table) -> tuple[Term, ...]:
    """Returns the distinct sums over a table that the measures read."""
    terms = {
        term.name: term
        for measure in measures
        for term in measure.metric.terms(measure.depth)
        if term.table == table
    }
    return tuple(terms.values())


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


def find_hits(lists: pl.LazyFrame, truth: pl.LazyFrame, removed: pl.LazyFrame) -> pl.LazyFrame:
    """Returns HITS: the relevant rows of the lists with their prepared rank.

    Args:
        lists: delivered lists: query_id, item_id, rank 1..n.
        truth: query_id, item_id, gain; distinct pairs, without seen pairs if those leave.
        removed: result of `find_removed` for the same lists.

    Returns:
        query_id, item_id, rank (prepared: 1..n after removals), gain, hit_number (1-based
        within the query), sorted by query_id and rank.
    """
    found = (
        lists.select(*PAIR, RANK)
        .join(truth.select(*PAIR, GAIN), on=PAIR)
        .group_by(PAIR)
        .agg(pl.col(RANK).min(), pl.col(GAIN).first())
        .join(removed.filter(REMOVED), on=[*PAIR, RANK], how="anti")
    )
    left = removed.filter(REMOVED).select(*PAIR, RANK, pl.lit(None, pl.Float64).alias(GAIN))
    is_hit = pl.col(GAIN).is_not_null()
    return (
        pl.concat([found.select(*PAIR, RANK, GAIN), left])
        .sort(QUERY_ID, RANK)
        .with_columns(
            (pl.col(RANK) - (~is_hit).cast(pl.Int64).cum_sum().over(QUERY_ID)).alias(RANK),
            is_hit.cast(pl.Int64).cum_sum().over(QUERY_ID).alias(HIT_NUMBER),
        )
        .filter(is_hit)
    )


def _sum_counts(rows: pl.LazyFrame, terms: Sequence[Term]) -> pl.LazyFrame:
    """Returns the sums of integer terms, one row a query."""
    return (
        rows.select(QUERY_ID, *(term.expr.alias(term.name) for term in terms))
        .group_by(QUERY_ID)
        .agg(pl.col(term.name).sum() for term in terms)
    )


def _sum_sorted(rows: pl.LazyFrame, terms: Sequence[Term]) -> pl.LazyFrame:
    """Returns the sums of the terms over rows sorted by query, one row a query."""
    values = rows.select(QUERY_ID, *(term.expr.alias(term.name) for term in terms))
    names = [term.name for term in terms]
    return values.map_batches(
        lambda frame: sum_runs(frame, [QUERY_ID], names), schema=values.collect_schema()
    )


def _with_discount(rows: pl.LazyFrame, depth: int) -> pl.LazyFrame:
    """Returns the rows with the discount of their rank; ranks beyond depth get the last one."""
    index = (pl.col(RANK).clip(1, depth) - 1).cast(pl.UInt32)
    return rows.with_columns(pl.lit(discounts(depth)).gather(index).alias(DISCOUNT))


def _depth(measures: Iterable[Measure]) -> int:
    return max((measure.depth for measure in measures), default=0) or 1


def sum_truth(truth: pl.LazyFrame, measures: Sequence[Measure]) -> pl.LazyFrame:
    """Returns what the measures need to know of the truth, one row a query.

    Args:
        truth: query_id, item_id, gain (Float64 > 0); distinct pairs.
        measures: what is asked for.

    Returns:
        query_id, relevant (Int64, |R|), one column a sum over the truth.
    """
    size = Term("truth", RELEVANT, pl.lit(1, pl.Int64))
    terms = terms_of(measures, "truth")
    if not terms:
        return truth.group_by(QUERY_ID).agg(pl.len().cast(pl.Int64).alias(RELEVANT))
    ranked = (
        truth.select(*PAIR, GAIN)
        .sort(QUERY_ID, GAIN, ITEM_ID, descending=[False, True, False])
        .with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(QUERY_ID).alias(RANK))
    )
    return _sum_sorted(_with_discount(ranked, _depth(measures)), (size, *terms))


def sum_lists(lists: pl.LazyFrame, measures: Sequence[Measure]) -> pl.LazyFrame:
    """Returns what the measures need to know of the delivered lists, one row a query.

    Args:
        lists: delivered lists: query_id, item_id, rank 1..n, score.
        measures: what is asked for.

    Returns:
        query_id, delivered (Int64, length of the list), one column a sum over its rows.
    """
    terms = terms_of(measures, "delivered")
    size = pl.len().cast(pl.Int64).alias(DELIVERED)
    if not terms:
        return lists.group_by(QUERY_ID).agg(size)
    score = pl.col(SCORE)
    rows = lists.select(QUERY_ID, RANK, SCORE).sort(QUERY_ID, RANK)
    tied = (score == score.shift(-1)) & (pl.col(QUERY_ID) == pl.col(QUERY_ID).shift(-1))
    known = score.is_not_null() & score.is_not_nan()
    return (
        rows.with_columns(pl.when(known).then(tied.fill_null(False)).alias(TIED))
        .select(QUERY_ID, *(term.expr.alias(term.name) for term in terms))
        .group_by(QUERY_ID)
        .agg(size, *(pl.col(term.name).sum() for term in terms))
    )


def score_queries(
    queries: pl.LazyFrame,
    list_sums: pl.LazyFrame,
    hits: pl.LazyFrame,
    removed: pl.LazyFrame,
    truth_sums: pl.LazyFrame,
    *,
    measures: Sequence[Measure],
    without_relevant: Literal["zero", "one"] = "zero",
) -> pl.LazyFrame:
    """Returns PER_QUERY and the sums behind it: every evaluated query, with a list or not.

    Args:
        queries: query_id, user_id of the evaluated queries, distinct.
        list_sums: result of `sum_lists`.
        hits: result of `find_hits`.
        removed: result of `find_removed`.
        truth_sums: result of `sum_truth`.
        measures: what is asked for.
        without_relevant: value of queries without relevant items.

    Returns:
        query_id, user_id, relevant, returned, delivered (Int64), one Float64 column a
        measure, one column a sum that pooled averages read; in the order of `queries`.
    """
    hit_terms = terms_of(measures, "hits")
    removed_terms = terms_of(measures, "removed")
    gone = Term("removed", REMOVED, pl.col(REMOVED).cast(pl.Int64))
    found = _with_discount(hits.sort(QUERY_ID, RANK), _depth(measures))
    tables = [truth_sums, list_sums, _sum_counts(removed, (gone, *removed_terms))]
    if hit_terms:
        tables.append(_sum_sorted(found, hit_terms))
    joined = queries.select(QUERY_ID, USER_ID)
    for table in tables:
        joined = joined.join(table, on=QUERY_ID, how="left", maintain_order="left")
    joined = joined.with_columns(pl.exclude(QUERY_ID, USER_ID).fill_null(0)).with_columns(
        (pl.col(DELIVERED) - pl.col(REMOVED)).alias(RETURNED)
    )
    return joined.with_columns(_value(measure, without_relevant) for measure in measures)


def _value(measure: Measure, without_relevant: Literal["zero", "one"]) -> pl.Expr:
    """Returns the column of a measure; queries without relevant items get the policy's value."""
    metric, value = measure.metric, measure.metric.value(measure.depth)
    if metric.statistic == "macro":
        empty = metric.value_without_relevant if without_relevant == "one" else 0.0
        value = pl.when(pl.col(RELEVANT) > 0).then(value).otherwise(empty)
    return value.cast(pl.Float64).alias(measure.label)
