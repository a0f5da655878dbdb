"""Sums over hits, truth and lists: integers in any order, floats in row order.

Rows of hits and truth say their place: the row of the result that they are added to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from recoeval.columns import GAIN, QUERY_ID, QUOTA, RANK, RELEVANT, SCORE
from recoeval.engine.ordered import PLACE, number_places, sum_places
from recoeval.metrics.base import DELIVERED, DISCOUNT, HIT_NUMBER, TIED, Measure, Table, Term
from recoeval.metrics.cuts import discounts

__all__ = ["sum_found", "sum_lists", "sum_rows", "sum_terms", "sum_truth", "terms_of"]

PER_QUERY = (RELEVANT, QUOTA)
"""What rows have from their query."""


def terms_of(measures: Iterable[Measure], table: Table) -> tuple[Term, ...]:
    """Returns the distinct sums over a table that the measures read."""
    terms = {
        term.name: term
        for measure in measures
        for term in measure.metric.terms(measure.place)
        if term.table == table
    }
    return tuple(terms.values())


def _read_by(terms: Iterable[Term]) -> set[str]:
    """Returns the columns that the terms read."""
    return {name for term in terms for name in term.expr.meta.root_names()}


def sum_rows(
    rows: pl.LazyFrame, terms: Sequence[Term], queries: pl.LazyFrame | None = None
) -> pl.LazyFrame:
    """Returns the sums of integer terms, one row a query.

    Args:
        rows: query_id and what the terms read.
        terms: what to sum.
        queries: query_id, quota; only read by terms that need a quota.
    """
    if queries is not None and QUOTA in _read_by(terms):
        rows = rows.join(queries.select(QUERY_ID, QUOTA), on=QUERY_ID)
    return (
        rows.select(QUERY_ID, *(term.expr.alias(term.name) for term in terms))
        .group_by(QUERY_ID)
        .agg(pl.col(term.name).sum() for term in terms)
    )


def sum_terms(rows: pl.DataFrame, terms: Sequence[Term], queries: pl.DataFrame) -> list[pl.Series]:
    """Returns the sums of the terms, one row a place; rows are added in their order.

    Args:
        rows: place, and what the terms read.
        terms: what to sum.
        queries: one row a place: relevant, quota; only read by terms that need them.
    """
    own = [queries[name].gather(rows[PLACE]) for name in PER_QUERY if name in _read_by(terms)]
    columns = [term.expr.alias(term.name) for term in terms]
    # A plan works out what terms have in common once: half of the CPU of 12 terms.
    values = rows.with_columns(own).lazy().select(PLACE, *columns).collect()
    return sum_places(values, queries.height)


def _with_discount(rows: pl.DataFrame, depth: int | None) -> pl.DataFrame:
    """Returns the rows with the discount of their rank.

    Args:
        rows: with a rank, >= 1.
        depth: ranks beyond it get its discount; None: each rank gets its own.
    """
    deepest = rows[RANK].max()
    # The next power of two, so that tables are shared.
    own = 1 << (deepest - 1).bit_length() if isinstance(deepest, int) else 1
    table = discounts(own if depth is None else depth)
    index = (pl.col(RANK).clip(1, len(table)) - 1).cast(pl.UInt32)
    return rows.with_columns(pl.lit(table).gather(index).alias(DISCOUNT))


def _depth(measures: Iterable[Measure]) -> int | None:
    """Returns the largest K, None if lists are not cut at one number."""
    cuts = [measure.place for measure in measures]
    if any(cut.at in ("all", QUOTA) for cut in cuts):
        return None
    return max((cut.k or 0 for cut in cuts), default=0) or 1


def sum_truth(
    truth: pl.DataFrame, measures: Sequence[Measure], queries: pl.DataFrame
) -> pl.DataFrame:
    """Returns what the measures need to know of the truth, one row a query.

    Args:
        truth: place (row of its query), gain (Float64 > 0); one row a pair.
        measures: what is asked for.
        queries: quota; only read by measures that are cut there.

    Returns:
        relevant (Int64, |R|), one column a sum over the truth; 0 where there is none.
    """
    terms = (Term("truth", RELEVANT, pl.lit(1, pl.Int64)), *terms_of(measures, "truth"))
    depth = _depth(measures)
    if truth[GAIN].min() == truth[GAIN].max() and QUOTA not in _read_by(terms):
        return _sum_equal(truth, terms, depth, queries.height)
    return _sum_by_gain(truth, terms, depth, queries)


def _sum_by_gain(
    truth: pl.DataFrame, terms: Sequence[Term], depth: int | None, queries: pl.DataFrame
) -> pl.DataFrame:
    """Returns the sums over the truth by falling gain."""
    rows = truth.sort(PLACE, GAIN, descending=[False, True])
    rank = pl.Series(RANK, number_places(rows[PLACE].to_numpy(), queries.height))
    return pl.DataFrame(sum_terms(_with_discount(rows.with_columns(rank), depth), terms, queries))


def _sum_equal(
    truth: pl.DataFrame, terms: Sequence[Term], depth: int | None, size: int
) -> pl.DataFrame:
    """Returns the sums where all gains are the same: they depend on |R| alone."""
    relevant = np.bincount(truth[PLACE].to_numpy(), minlength=size)
    known = np.bincount(relevant) > 0
    sizes = np.flatnonzero(known)
    place = pl.Series(PLACE, np.repeat(np.arange(len(sizes)), sizes))
    gain = pl.repeat(truth[GAIN].max(), len(place), dtype=pl.Float64, eager=True).alias(GAIN)
    sample, heads = pl.DataFrame([place, gain]), pl.DataFrame({RELEVANT: sizes})
    sums = _sum_by_gain(sample, terms, depth, heads)
    return sums[(np.cumsum(known) - 1)[relevant]]


def sum_lists(
    lists: pl.LazyFrame,
    measures: Sequence[Measure],
    queries: pl.LazyFrame | None = None,
    *,
    depth: int | None = None,
) -> pl.LazyFrame:
    """Returns what the measures need to know of the delivered lists, one row a query.

    Args:
        lists: delivered lists: query_id, item_id, rank 1..n, score.
        measures: what is asked for.
        queries: query_id, quota; only read by measures that are cut there.
        depth: where the lists end; the row after it only tells whether the last one is tied.
            None: they end where they end.

    Returns:
        query_id, delivered (Int64, length of the list), one column a sum over its rows.
    """
    terms = terms_of(measures, "delivered")
    size = pl.len().cast(pl.Int64).alias(DELIVERED)
    within = pl.lit(True) if depth is None else pl.col(RANK) <= depth
    if not terms:
        return lists.filter(within).group_by(QUERY_ID).agg(size)
    score = pl.col(SCORE)
    rows = lists.select(QUERY_ID, RANK, SCORE).sort(QUERY_ID, RANK)
    tied = (score == score.shift(-1)) & (pl.col(QUERY_ID) == pl.col(QUERY_ID).shift(-1))
    known = score.is_not_null() & score.is_not_nan()
    marked = rows.with_columns(pl.when(known).then(tied.fill_null(False)).alias(TIED))
    length = Term("delivered", DELIVERED, pl.lit(1, pl.Int64))
    return sum_rows(marked.filter(within), (length, *terms), queries)


def sum_found(
    hits: pl.DataFrame, lost: pl.DataFrame, measures: Sequence[Measure], queries: pl.DataFrame
) -> list[pl.Series]:
    """Returns the sums over hits and lost pairs, one row a query.

    Args:
        hits: place, rank, gain, sorted by place and rank; score if a measure reads it.
        lost: place, cause.
        measures: what is asked for.
        queries: relevant; quota, only read by measures that are cut there.
    """
    terms = terms_of(measures, "hits")
    read = _read_by(terms)
    if HIT_NUMBER in read:
        number = number_places(hits[PLACE].to_numpy(), queries.height)
        hits = hits.with_columns(pl.Series(HIT_NUMBER, number))
    if DISCOUNT in read:
        hits = _with_discount(hits, _depth(measures))
    found = sum_terms(hits, terms, queries)
    return found + sum_terms(lost, terms_of(measures, "lost"), queries)
