"""Metrics in which the rank of a hit matters."""

from __future__ import annotations

from typing import Literal

import polars as pl

from recoeval.columns import QUOTA, RANK, RELEVANT
from recoeval.metrics.base import Accuracy, Cut, Term
from recoeval.metrics.cuts import (
    DISCOUNT,
    HIT_NUMBER,
    LINEAR_LIMITS,
    Gain,
    gain_value,
    ideal_discounts,
    ratio,
    within,
)

__all__ = ["AUPRC", "MAP", "MRR", "NDCG"]


class MRR(Accuracy, name="mrr"):
    """1 / rank of the first relevant item among the first K, 0 if there is none."""

    takes_all = True
    formula = "1 / rank of the first hit"
    edge_cases = ("no hit among the first K: 0",)
    peers = (
        "trec_eval recip_rank, ir_measures RR: mrr@all",
        "ranx, RecTools, RePlay MRR: the same",
        "LensKit RecipRank, torchmetrics: the same",
    )
    source = "trec_eval recip_rank; Voorhees, TREC-8 question answering track, 1999"

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        first = pl.when(pl.col(HIT_NUMBER) == 1).then(1.0 / pl.col(RANK)).otherwise(0.0)
        return (Term("hits", f"mrr@{cut}", within(cut, first)),)

    def value(self, cut: Cut) -> pl.Expr:
        return pl.col(f"mrr@{cut}")


class _Precisions(Accuracy):
    """A metric of the sum of precision@r over the ranks r of the hits."""

    takes_all = True

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        return (Term("hits", f"precisions@{cut}", within(cut, pl.col(HIT_NUMBER) / pl.col(RANK))),)


class MAP(_Precisions, name="map"):
    """Sum of precision@r over the relevant ranks r <= K, divided by min(K, |R|)."""

    formula = "sum of precision@r over the ranks r <= K of the hits / min(K, |R|)"
    edge_cases = (
        "no hit: 0",
        "relevant items beyond K count in the denominator up to K of them",
        "denominator=relevant: auprc by another name",
    )
    peers = (
        "RePlay MAP: the same",
        "trec_eval map, ir_measures AP, ranx map without a depth: map@all",
        "trec_eval map_cut, ir_measures AP@K, ranx map@K, RecTools MAP: auprc",
        "LensKit: divides by min(|R|, rows of the list); torchmetrics: by the hits found",
        "Elliot: the mean of precision@1..K",
    )
    source = "trec_eval map_cut (denominator=relevant); Manning, Raghavan, Schuetze, 8.4"

    denominator: Literal["capped", "relevant"] = "capped"
    """capped: min(K, |R|), so that 1 can be reached; relevant: |R|, as trec_eval and ranx do."""

    @property
    def value_of_nothing(self) -> float | None:
        return AUPRC.value_without_relevant if self.denominator == "relevant" else 0.0

    def value(self, cut: Cut) -> pl.Expr:
        relevant = pl.col(RELEVANT)
        if self.denominator == "capped":
            relevant = cut.capped(relevant)
        return pl.col(f"precisions@{cut}") / relevant


class AUPRC(_Precisions, name="auprc"):
    """Area under the uninterpolated precision-recall curve: `map(denominator=relevant)`."""

    formula = "sum of precision@r over the ranks r <= K of the hits / |R|"
    edge_cases = ("K < |R|: at most K / |R|", "no hit: 0")
    peers = ("trec_eval map_cut, ir_measures AP@K, ranx map@K, RecTools MAP: the same",)
    source = "Manning, Raghavan, Schuetze, 8.4 (average precision)"
    value_without_relevant = 1.0

    def value(self, cut: Cut) -> pl.Expr:
        return pl.col(f"precisions@{cut}") / pl.col(RELEVANT)


class NDCG(Accuracy, name="ndcg"):
    """DCG / ideal DCG with discount 1 / log2(r + 1); the ideal is R by gain, cut at K."""

    takes_all = True
    formula = "sum of g / log2(r + 1) over the hits / the same sum over R by gain, cut at K"
    edge_cases = (
        "fewer than K relevant items: 1 can be reached all the same, unless ideal=k",
        "gain=exponential takes gains from 0.001 to 50",
        "ideal=k takes binary gains only, and has no @all",
    )
    peers = (
        "trec_eval ndcg_cut, ir_measures nDCG, ranx ndcg, torchmetrics: the same",
        "ranx ndcg_burges: ndcg(gain=exponential)",
        "RePlay NDCG, RecTools NDCG(divide_by_achievable=True): ndcg(gain=binary)",
        "RecTools NDCG: ndcg(gain=binary, ideal=k)",
        "LensKit NDCG: ranks 1 and 2 weigh the same; LogRankWeight(offset=1) is ndcg(gain=binary)",
    )
    source = "Jaervelin, Kekaelaeinen, TOIS 2002 (linear); Burges et al., ICML 2005 (exponential)"

    gain: Gain = "linear"
    """linear: g; exponential: 2^g - 1, gains from 0.001 to 50; binary: 1."""
    ideal: Literal["truth", "k"] = "truth"
    """truth: R by gain; k: as if there were K relevant items, for gains that are all 1."""

    @property
    def gain_limits(self) -> tuple[float, float]:
        if self.gain == "linear":
            return LINEAR_LIMITS
        # Below 0.001 the rounding of 2^g leaves fewer than twelve digits of 2^g - 1.
        return (1e-3, 50.0) if self.gain == "exponential" else super().gain_limits

    @property
    def needs_equal_gains(self) -> bool:
        return self.ideal == "k" and self.gain != "binary"

    def refuses(self, cut: Cut) -> str:
        if self.ideal == "k" and cut.at == "all":
            return f"{self.name} has no @all: name a K"
        return super().refuses(cut)

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        discounted = within(cut, gain_value(self.gain) * pl.col(DISCOUNT))
        found = Term("hits", f"dcg {self.gain}@{cut}", discounted)
        if self.ideal == "k":
            return (found,)
        return found, Term("truth", f"ideal {self.gain}@{cut}", discounted)

    def value(self, cut: Cut) -> pl.Expr:
        return ratio(pl.col(f"dcg {self.gain}@{cut}"), self._ideal(cut))

    def _ideal(self, cut: Cut) -> pl.Expr:
        if self.ideal == "truth":
            return pl.col(f"ideal {self.gain}@{cut}")
        if cut.k is not None:
            return pl.lit(ideal_discounts(cut.k)[-1])
        return pl.col(QUOTA).map_batches(_ideal_of_quotas, return_dtype=pl.Float64)


def _ideal_of_quotas(quotas: pl.Series) -> pl.Series:
    """Returns the ideal DCG of K relevant items for each K."""
    deepest = quotas.max()
    return ideal_discounts(deepest if isinstance(deepest, int) else 1).gather(quotas - 1)
