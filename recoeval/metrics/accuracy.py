"""Metrics that count hits: how many, of how many, whether any."""

from __future__ import annotations

from typing import Literal

import polars as pl

from recoeval.columns import GAIN, RELEVANT, RETURNED
from recoeval.metrics.base import LINEAR_LIMITS, Metric, Term, hits_within, within

__all__ = ["F1", "CappedRecall", "HitRate", "Hits", "Precision", "Recall"]


def _hits(k: int) -> pl.Expr:
    return pl.col(hits_within(k).name)


def _capped(k: int) -> pl.Expr:
    return pl.min_horizontal(pl.lit(k, pl.Int64), pl.col(RELEVANT))


class _Counted(Metric):
    """A metric that needs nothing but h."""

    def terms(self, k: int) -> tuple[Term, ...]:
        return (hits_within(k),)


class Hits(_Counted, name="hits"):
    """h: relevant items among the first K. A count, not a rate."""

    source = "Manning, Raghavan, Schuetze: Introduction to Information Retrieval, 8.3"

    def value(self, k: int) -> pl.Expr:
        return _hits(k).cast(pl.Float64)


class Precision(_Counted, name="precision"):
    """h / K, for short lists too; `denominator=returned` gives h / min(K, n), 0 when n = 0."""

    source = "trec_eval P; Manning, Raghavan, Schuetze, 8.4"

    denominator: Literal["k", "returned"] = "k"
    """k: the depth asked for; returned: the length of the list where it is shorter."""

    def value(self, k: int) -> pl.Expr:
        numerator, denominator = self.pooled(k)
        return pl.when(denominator > 0).then(numerator / denominator).otherwise(0.0)

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        depth = pl.lit(k, pl.Int64)
        if self.denominator == "returned":
            return _hits(k), pl.min_horizontal(depth, pl.col(RETURNED))
        return _hits(k), depth


class Recall(Metric, name="recall"):
    """h / |R|; `gain=linear` gives the gains hit / all gains."""

    source = "trec_eval recall; Manning, Raghavan, Schuetze, 8.3"
    value_without_relevant = 1.0

    gain: Literal["binary", "linear"] = "binary"
    """binary: every relevant item counts 1; linear: it counts its gain."""

    @property
    def gain_limits(self) -> tuple[float, float]:
        return LINEAR_LIMITS if self.gain == "linear" else super().gain_limits

    def terms(self, k: int) -> tuple[Term, ...]:
        if self.gain == "binary":
            return (hits_within(k),)
        return (
            Term("hits", f"gain@{k}", within(k, pl.col(GAIN))),
            Term("truth", "gain of truth", pl.col(GAIN)),
        )

    def value(self, k: int) -> pl.Expr:
        numerator, denominator = self.pooled(k)
        return numerator / denominator

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        if self.gain == "binary":
            return _hits(k), pl.col(RELEVANT)
        return pl.col(f"gain@{k}"), pl.col("gain of truth")


class CappedRecall(_Counted, name="capped_recall"):
    """h / min(K, |R|): recall that can reach 1 for users with more than K relevant items."""

    source = "RecPack CalibratedRecallK; Liang et al., WWW 2018 (Recall@R)"
    value_without_relevant = 1.0

    def value(self, k: int) -> pl.Expr:
        numerator, denominator = self.pooled(k)
        return numerator / denominator

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        return _hits(k), _capped(k)


class F1(_Counted, name="f1"):
    """Harmonic mean of precision and recall, 2h / (K + |R|); 0 if both are 0."""

    source = "van Rijsbergen: Information Retrieval, 1979, chapter 7"

    def value(self, k: int) -> pl.Expr:
        # 2 p r / (p + r) with p = h / K and r = h / |R|, for one query and for sums alike.
        return 2 * _hits(k) / (k + pl.col(RELEVANT))

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        # Without any relevant item the pooled recall is 0 / 0, and so is its mean with precision.
        defined = pl.col(RELEVANT).sum() > 0
        return 2 * _hits(k), pl.when(defined).then(k + pl.col(RELEVANT)).otherwise(0)


class HitRate(_Counted, name="hit_rate"):
    """1 if any of the first K items is relevant, else 0."""

    source = "trec_eval success"

    def value(self, k: int) -> pl.Expr:
        return (_hits(k) > 0).cast(pl.Float64)
