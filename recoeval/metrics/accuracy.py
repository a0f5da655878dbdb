"""Metrics that count hits: how many, of how many, whether any."""

from __future__ import annotations

from typing import Literal

import polars as pl
from pydantic import Field

from recoeval.columns import (
    CAUSE,
    COLD_ITEM,
    COLD_USER,
    GAIN,
    RANK,
    RELEVANT,
    RETURNED,
    SCORE,
    UNAVAILABLE,
)
from recoeval.metrics.base import Accuracy, Cut, Term, hits_within
from recoeval.metrics.cuts import LINEAR_LIMITS, ratio

__all__ = [
    "F1",
    "CappedRecall",
    "HitRate",
    "Hits",
    "Precision",
    "RPrecision",
    "Recall",
    "RecallCeiling",
]


def _hits(cut: Cut) -> pl.Expr:
    return pl.col(hits_within(cut).name)


class _Counted(Accuracy):
    """A metric that needs nothing but h."""

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        return (hits_within(cut),)


class Hits(_Counted, name="hits"):
    """h: relevant items among the first K. A count, not a rate."""

    takes_all = True
    formula = "h"
    edge_cases = ("may exceed 1: a count", "no list: 0")
    peers = (
        "ranx hits, RecPack HitK: the same count",
        "ir_measures NumRet(rel=1): hits@all, summed over queries",
        "a hit that is 0 or 1 elsewhere: hit_rate",
    )
    source = "Manning, Raghavan, Schuetze: Introduction to Information Retrieval, 8.3"

    def value(self, cut: Cut) -> pl.Expr:
        return _hits(cut).cast(pl.Float64)


class Precision(_Counted, name="precision"):
    """h / K, for short lists too; `denominator=returned` gives h / min(K, n), 0 when n = 0."""

    formula = "h / K"
    edge_cases = (
        "a list shorter than K: the denominator stays K",
        "denominator=returned and no list: 0",
    )
    peers = (
        "trec_eval P, ranx, ir_measures P, RecTools, RePlay, torchmetrics: the same",
        "LensKit Precision, ir_measures SetP: precision(denominator=returned)",
        "implicit: sum h / sum min(K, |R|), the micro average of capped_recall",
    )
    source = "trec_eval P; Manning, Raghavan, Schuetze, 8.4"

    denominator: Literal["k", "returned"] = "k"
    """k: the depth asked for; returned: the length of the list where it is shorter."""

    def value(self, cut: Cut) -> pl.Expr:
        numerator, denominator = self.pooled(cut)
        return pl.when(denominator > 0).then(ratio(numerator, denominator)).otherwise(0.0)

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        if self.denominator == "returned":
            return _hits(cut), cut.capped(pl.col(RETURNED))
        return _hits(cut), cut.size


class Recall(Accuracy, name="recall"):
    """h / |R|; `gain=linear` gives the gains hit / all gains."""

    takes_all = True
    formula = "h / |R|; gain=linear: sum of the gains hit / sum of all gains"
    edge_cases = (
        "|R| > K: at most K / |R|, see capped_recall",
        "min_score: items below it count as not listed, whatever their rank",
        "min_score with an item without a score: a data error",
    )
    peers = (
        "trec_eval recall, ranx, ir_measures R, RecTools, RePlay, RecPack, torchmetrics: the same",
        "LensKit Recall(n=K): capped_recall",
    )
    source = "trec_eval recall; Manning, Raghavan, Schuetze, 8.3"
    value_without_relevant = 1.0

    gain: Literal["binary", "linear"] = "binary"
    """binary: every relevant item counts 1; linear: it counts its gain."""
    min_score: float | None = Field(None, allow_inf_nan=False)
    """Only items with at least this score count as listed."""

    @property
    def gain_limits(self) -> tuple[float, float]:
        return LINEAR_LIMITS if self.gain == "linear" else super().gain_limits

    @property
    def needs_scores(self) -> bool:
        return self.min_score is not None

    def _found(self, cut: Cut) -> Term:
        """Returns the numerator."""
        listed, name = cut.within, f"@{cut}"
        if self.min_score is not None:
            listed &= pl.col(SCORE) >= self.min_score
            name = f"@{cut} from score {self.min_score!r}"
        if self.gain == "binary":
            return Term("hits", f"hits{name}", listed.cast(pl.Int64))
        return Term("hits", f"gain{name}", pl.when(listed).then(pl.col(GAIN)).otherwise(0.0))

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        if self.gain == "binary":
            return (self._found(cut),)
        return self._found(cut), Term("truth", "gain of truth", pl.col(GAIN))

    def value(self, cut: Cut) -> pl.Expr:
        numerator, denominator = self.pooled(cut)
        return numerator / denominator

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        whole = RELEVANT if self.gain == "binary" else "gain of truth"
        return pl.col(self._found(cut).name), pl.col(whole)


class CappedRecall(_Counted, name="capped_recall"):
    """h / min(K, |R|): recall that can reach 1 for users with more than K relevant items."""

    takes_all = True
    formula = "h / min(K, |R|)"
    edge_cases = ("|R| <= K: equals recall", "@all: equals recall@all")
    peers = (
        "RecPack CalibratedRecallK, LensKit Recall(n=K): the same",
        "RecTools Precision(r_precision=True): the same",
        "Recall@R of the variational autoencoder papers: the same",
    )
    source = "RecPack CalibratedRecallK; Liang et al., WWW 2018 (Recall@R)"
    value_without_relevant = 1.0

    def value(self, cut: Cut) -> pl.Expr:
        numerator, denominator = self.pooled(cut)
        return numerator / denominator

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return _hits(cut), cut.capped(pl.col(RELEVANT))


class F1(_Counted, name="f1"):
    """Harmonic mean of precision and recall, 2h / (K + |R|); 0 if both are 0."""

    formula = "2 h / (K + |R|)"
    edge_cases = ("no hit: 0", "micro: harmonic mean of the two micro averages")
    peers = (
        "ranx f1@K, RecTools F1Beta: the same",
        "ranx f1 without a depth, ir_measures SetF: K is the length of each list",
    )
    source = "van Rijsbergen: Information Retrieval, 1979, chapter 7"

    def value(self, cut: Cut) -> pl.Expr:
        # 2 p r / (p + r) with p = h / K and r = h / |R|, for one query and for sums alike.
        return 2 * _hits(cut) / (cut.size + pl.col(RELEVANT))

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        # Without any relevant item the pooled recall is 0 / 0, and so is its mean with precision.
        defined = pl.col(RELEVANT).sum() > 0
        return 2 * _hits(cut), pl.when(defined).then(cut.size + pl.col(RELEVANT)).otherwise(0)


class HitRate(_Counted, name="hit_rate"):
    """1 if any of the first K items is relevant, else 0."""

    takes_all = True
    formula = "1 if h > 0, else 0"
    edge_cases = ("|R| = 1: equals recall", "no list: 0")
    peers = (
        "trec_eval success, ir_measures Success, ranx, RecTools, RePlay, torchmetrics: the same",
        "LensKit Hit: the same",
    )
    source = "trec_eval success"

    def value(self, cut: Cut) -> pl.Expr:
        return (_hits(cut) > 0).cast(pl.Float64)


class RPrecision(Accuracy, name="r_precision"):
    """Hits among the first |R| items, divided by |R|."""

    takes_k = False
    formula = "h in the first |R| / |R|"
    edge_cases = ("the list is shorter than |R|: the denominator stays |R|",)
    peers = (
        "trec_eval Rprec, ir_measures Rprec, ranx, torchmetrics: the same",
        "RecTools Precision(r_precision=True): capped_recall instead",
    )
    source = "trec_eval Rprec; Manning, Raghavan, Schuetze, 8.4"
    value_without_relevant = 1.0

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        return (Term("hits", "hits@R", (pl.col(RANK) <= pl.col(RELEVANT)).cast(pl.Int64)),)

    def value(self, cut: Cut) -> pl.Expr:
        return pl.col("hits@R") / pl.col(RELEVANT)


class RecallCeiling(Accuracy, name="recall_ceiling"):
    """The recall that the generator could reach: 1 - relevant items out of its reach / |R|.

    Out of reach is what its lists lost for one of three causes: the item was not available, or
    the item or the user has no train row and the generator cannot serve such a one.
    """

    takes_k = False
    needs_catalogue = True
    formula = "1 - (unavailable + cold_item + cold_user) / |R|"
    edge_cases = (
        "lists from files can serve everyone: only unavailable items lower it",
        "a relevant item in the list is never out of reach: recall <= recall_ceiling",
        "queries without relevant items are left out under every policy",
    )
    peers = ("none of those compared has it",)
    source = "recoeval"
    value_without_relevant = None

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        beyond = pl.col(CAUSE).is_in([UNAVAILABLE, COLD_ITEM, COLD_USER])
        return (Term("lost", "out of reach", beyond.cast(pl.Int64)),)

    def value(self, cut: Cut) -> pl.Expr:
        numerator, denominator = self.pooled(cut)
        return numerator / denominator

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(RELEVANT) - pl.col("out of reach"), pl.col(RELEVANT)
