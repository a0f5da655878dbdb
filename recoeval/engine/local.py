"""The engine of one machine: runs the kernel on the lists of one generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from recoeval.columns import GAIN, ITEM_ID, QUERY_ID, RANK, RELEVANT, SCORE
from recoeval.engine import kernel
from recoeval.errors import DataError, Problem, some
from recoeval.metrics.base import Measure

__all__ = ["Scored", "Scorer"]


@dataclass(frozen=True, slots=True)
class Scored:
    """What the lists of one generator gave.

    Args:
        per_query: result of `kernel.score_queries`.
        hits: query_id, item_id, rank (prepared), gain.
    """

    per_query: pl.DataFrame
    hits: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores lists against one truth; what depends on the truth alone is computed once.

    Args:
        queries: query_id, user_id of the evaluated queries.
        truth: query_id, item_id, gain; distinct pairs after all policies.
        truth_sums: `kernel.sum_truth` of it.
        seen: distinct (query_id, item_id) pairs, or None when unknown.
        drop_seen: whether seen rows leave the lists.
        measures: what is asked for.
        without_relevant: value of queries without relevant items.
    """

    queries: pl.DataFrame
    truth: pl.DataFrame
    truth_sums: pl.DataFrame
    seen: pl.LazyFrame | None
    drop_seen: bool
    measures: tuple[Measure, ...]
    without_relevant: Literal["zero", "one"]

    @classmethod
    def of(
        cls,
        queries: pl.DataFrame,
        truth: pl.DataFrame,
        measures: Sequence[Measure],
        *,
        seen: pl.LazyFrame | None,
        drop_seen: bool,
        without_relevant: Literal["zero", "one"] = "zero",
    ) -> Scorer:
        """Returns a scorer for this truth.

        Raises:
            DataError: gains that are too large or too small for one of the measures.
        """
        for measure in measures:
            _refuse_gains(truth[GAIN], measure)
        sums = kernel.sum_truth(truth.lazy(), measures).collect()
        measured = tuple(measures)
        return cls(queries, truth, sums, seen, drop_seen, measured, without_relevant)

    @property
    def relevant(self) -> pl.DataFrame:
        """query_id, user_id, relevant (|R|, 0 for queries without truth)."""
        sizes = self.truth_sums.select(QUERY_ID, RELEVANT)
        joined = self.queries.join(sizes, on=QUERY_ID, how="left", maintain_order="left")
        return joined.with_columns(pl.col(RELEVANT).fill_null(0))

    def score(self, lists: pl.LazyFrame, queries: pl.DataFrame | None = None) -> Scored:
        """Returns what these lists give.

        Args:
            lists: delivered lists of one generator: query_id, item_id, rank 1..n, score.
            queries: the block of evaluated queries to score; None means all of them.
        """
        block = self.queries if queries is None else queries
        keep = block.lazy().select(QUERY_ID)
        score = pl.col(SCORE) if SCORE in lists.collect_schema() else pl.lit(None, pl.Float64)
        columns = (QUERY_ID, ITEM_ID, RANK, score.alias(SCORE))
        asked = lists.select(columns).join(keep, on=QUERY_ID, how="semi")
        # Whatever reads the lists streams; what is left of them is sparse.
        removed = _stream(kernel.find_removed(asked, self.seen, drop_seen=self.drop_seen))
        hits = _stream(kernel.find_hits(asked, self.truth.lazy(), removed.lazy()))
        per_query = kernel.score_queries(
            block.lazy(),
            _stream(kernel.sum_lists(asked, self.measures)).lazy(),
            hits.lazy(),
            removed.lazy(),
            self.truth_sums.lazy(),
            measures=self.measures,
            without_relevant=self.without_relevant,
        ).collect()
        return Scored(per_query, hits.drop("hit_number"))


def _stream(rows: pl.LazyFrame) -> pl.DataFrame:
    return rows.collect(engine="streaming")


def _refuse_gains(gains: pl.Series, measure: Measure) -> None:
    low, high = measure.metric.gain_limits
    for bad, how in (
        (gains.filter(gains > high), f"above {high:g}, too large"),
        (gains.filter(gains < low), f"below {low:g}, too small"),
    ):
        if len(bad):
            text = f"{len(bad)} gains are {how} for {measure.label}, e.g. {some(bad.sort())}"
            raise DataError(Problem(text, f"truth.{GAIN}"))
