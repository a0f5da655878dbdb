"""Sums by query over hits, truth and lists: integers in any order, floats in row order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from recoeval.columns import GAIN, ITEM_ID, QUERY_ID, QUOTA, RANK, RELEVANT, SCORE
from recoeval.data.ordering import in_order
from recoeval.engine.ordered import number_runs, runs_of, sum_runs
from recoeval.metrics.base import DELIVERED, DISCOUNT, HIT_NUMBER, TIED, Measure, Table, Term
from recoeval.metrics.cuts import discounts

__all__ = ["sum_found", "sum_lists", "sum_rows", "sum_truth", "terms_of"]

_SIZE = "|R|"


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


def _sum_sorted(rows: pl.LazyFrame, terms: Sequence[Term], keys: Sequence[str]) -> pl.LazyFrame:
    """Returns the sums of the terms over rows sorted by the keys, one row a key."""
    values = rows.select(*keys, *(term.expr.alias(term.name) for term in terms))
    names = [term.name for term in terms]
    return values.map_batches(
        lambda frame: sum_runs(frame, keys, names), schema=values.collect_schema()
    )


def _numbered(rows: pl.LazyFrame, keys: Sequence[str], name: str) -> pl.LazyFrame:
    """Returns sorted rows with their place among the rows of their key, from 1."""
    schema = pl.Schema({**rows.collect_schema(), name: pl.Int64()})
    return rows.map_batches(
        lambda frame: frame.with_columns(number_runs(frame, keys).alias(name)), schema=schema
    )


def _with_discount(rows: pl.LazyFrame, depth: int | None) -> pl.LazyFrame:
    """Returns the rows with the discount of their rank.

    Args:
        rows: with a rank, >= 1.
        depth: ranks beyond it get its discount; None: each rank gets its own.
    """

    def look_up(frame: pl.DataFrame) -> pl.DataFrame:
        deepest = frame[RANK].max()
        # The next power of two, so that tables are shared.
        own = 1 << (deepest - 1).bit_length() if isinstance(deepest, int) else 1
        table = discounts(own if depth is None else depth)
        index = (pl.col(RANK).clip(1, len(table)) - 1).cast(pl.UInt32)
        return frame.with_columns(pl.lit(table).gather(index).alias(DISCOUNT))

    schema = pl.Schema({**rows.collect_schema(), DISCOUNT: pl.Float64()})
    return rows.map_batches(look_up, schema=schema)


def _depth(measures: Iterable[Measure]) -> int | None:
    """Returns the largest K, None if lists are not cut at one number."""
    cuts = [measure.place for measure in measures]
    if any(cut.at in ("all", QUOTA) for cut in cuts):
        return None
    return max((cut.k or 0 for cut in cuts), default=0) or 1


def sum_truth(
    truth: pl.LazyFrame, measures: Sequence[Measure], *, keys: Sequence[str] = (QUERY_ID,)
) -> pl.LazyFrame:
    """Returns what the measures need to know of the truth, one row a query.

    Args:
        truth: the keys, item_id, gain (Float64 > 0), quota if a measure is cut there; distinct.
        measures: what is asked for.
        keys: columns that name a part of the truth, query_id among them.

    Returns:
        The keys, relevant (Int64, |R|), one column a sum over the truth; sorted by the keys.
    """
    terms = (Term("truth", RELEVANT, pl.lit(1, pl.Int64)), *terms_of(measures, "truth"))
    depth = _depth(measures)
    rows = truth.select(*keys, ITEM_ID, GAIN, *([QUOTA] if QUOTA in _read_by(terms) else []))
    plan = _sum_by_gain(rows, terms, keys, depth)
    if QUOTA in _read_by(terms):
        return plan

    def summed(frame: pl.DataFrame) -> pl.DataFrame:
        if frame[GAIN].min() == frame[GAIN].max():
            return _sum_equal(frame, terms, keys, depth)
        return _sum_by_gain(frame.lazy(), terms, keys, depth).collect()

    return rows.map_batches(summed, schema=plan.collect_schema())


def _sum_by_gain(
    rows: pl.LazyFrame, terms: Sequence[Term], keys: Sequence[str], depth: int | None
) -> pl.LazyFrame:
    """Returns the sums over the truth by falling gain."""
    descending = [*(False for _ in keys), True, False]
    ranked = _numbered(rows.sort(*keys, GAIN, ITEM_ID, descending=descending), keys, RANK)
    return _sum_sorted(_with_discount(ranked, depth), terms, keys)


def _sum_equal(
    rows: pl.DataFrame, terms: Sequence[Term], keys: Sequence[str], depth: int | None
) -> pl.DataFrame:
    """Returns the sums where all gains are the same: they depend on |R| alone."""
    heads, lengths = runs_of(in_order(rows, *keys, ITEM_ID), keys)
    sizes, which = np.unique(lengths, return_inverse=True)
    gain = pl.repeat(rows[GAIN].max(), int(sizes.sum()), dtype=pl.Float64, eager=True)
    size = pl.Series(_SIZE, np.repeat(sizes, sizes))
    sample = pl.DataFrame([size, size.alias(ITEM_ID), gain.alias(GAIN)])
    sums = _sum_by_gain(sample.lazy(), terms, (_SIZE,), depth).collect()
    return heads.hstack(sums.drop(_SIZE)[which])


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
    truth_sums: pl.LazyFrame,
    hits: pl.LazyFrame,
    lost: pl.LazyFrame,
    lists: pl.LazyFrame,
    *,
    measures: Sequence[Measure],
    keys: Sequence[str],
) -> pl.LazyFrame:
    """Returns the sums over truth, hits and lost pairs, one row a key of `truth_sums`.

    Args:
        truth_sums: result of `sum_truth` for these keys.
        hits: the keys, item_id, rank, gain; score if a measure reads it.
        lost: the keys, gain, cause.
        lists: query_id, quota; only read by measures that are cut there.
        measures: what is asked for.
        keys: columns that name a part of the truth, query_id among them.
    """
    hit_terms, lost_terms = terms_of(measures, "hits"), terms_of(measures, "lost")
    joined = truth_sums
    if hit_terms:
        read = _read_by(hit_terms)
        found = hits.sort(*keys, RANK)
        if RELEVANT in read:
            found = found.join(truth_sums.select(*keys, RELEVANT), on=keys, maintain_order="left")
        if QUOTA in read:
            found = found.join(lists.select(QUERY_ID, QUOTA), on=QUERY_ID, maintain_order="left")
        if HIT_NUMBER in read:
            found = _numbered(found, keys, HIT_NUMBER)
        if DISCOUNT in read:
            found = _with_discount(found, _depth(measures))
        sums = _sum_sorted(found, hit_terms, keys)
        joined = joined.join(sums, on=keys, how="left", maintain_order="left")
    if lost_terms:
        sums = _sum_sorted(lost.sort(keys), lost_terms, keys)
        joined = joined.join(sums, on=keys, how="left", maintain_order="left")
    return joined
