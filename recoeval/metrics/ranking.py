"""Metrics in which the rank of a hit matters."""

from __future__ import annotations

from typing import Literal

import polars as pl

from recoeval.columns import RANK, RELEVANT
from recoeval.metrics.base import (
    DISCOUNT,
    HIT_NUMBER,
    LINEAR_LIMITS,
    Gain,
    Metric,
    Term,
    gain_value,
    within,
)

__all__ = ["MAP", "MRR", "NDCG"]


class MRR(Metric, name="mrr"):
    """1 / rank of the first relevant item among the first K, 0 if there is none."""

    source = "trec_eval recip_rank; Voorhees, TREC-8 question answering track, 1999"

    def terms(self, k: int) -> tuple[Term, ...]:
        first = pl.when(pl.col(HIT_NUMBER) == 1).then(1.0 / pl.col(RANK)).otherwise(0.0)
        return (Term("hits", f"mrr@{k}", within(k, first)),)

    def value(self, k: int) -> pl.Expr:
        return pl.col(f"mrr@{k}")


class MAP(Metric, name="map"):
    """Sum of precision@r over the relevant ranks r <= K, divided by min(K, |R|)."""

    source = "trec_eval map_cut (denominator=relevant); Manning, Raghavan, Schuetze, 8.4"

    denominator: Literal["capped", "relevant"] = "capped"
    """capped: min(K, |R|), so that 1 can be reached; relevant: |R|, as trec_eval and ranx do."""

    def terms(self, k: int) -> tuple[Term, ...]:
        return (Term("hits", f"precisions@{k}", within(k, pl.col(HIT_NUMBER) / pl.col(RANK))),)

    def value(self, k: int) -> pl.Expr:
        relevant = pl.col(RELEVANT)
        if self.denominator == "capped":
            relevant = pl.min_horizontal(pl.lit(k, pl.Int64), relevant)
        return pl.col(f"precisions@{k}") / relevant


class NDCG(Metric, name="ndcg"):
    """DCG / ideal DCG with discount 1 / log2(r + 1); the ideal is R by gain, cut at K."""

    source = "Jaervelin, Kekaelaeinen, TOIS 2002 (linear); Burges et al., ICML 2005 (exponential)"

    gain: Gain = "linear"
    """linear: g; exponential: 2^g - 1, gains up to 50; binary: 1."""

    @property
    def gain_limits(self) -> tuple[float, float]:
        if self.gain == "linear":
            return LINEAR_LIMITS
        # Below 1e-9 the rounding of 2^g leaves fewer than seven digits of 2^g - 1.
        return (1e-9, 50.0) if self.gain == "exponential" else super().gain_limits

    def terms(self, k: int) -> tuple[Term, ...]:
        discounted = within(k, gain_value(self.gain) * pl.col(DISCOUNT))
        return (
            Term("hits", f"dcg {self.gain}@{k}", discounted),
            Term("truth", f"ideal {self.gain}@{k}", discounted),
        )

    def value(self, k: int) -> pl.Expr:
        return pl.col(f"dcg {self.gain}@{k}") / pl.col(f"ideal {self.gain}@{k}")
