"""Quality of the lists as they were delivered: before duplicates and seen items leave."""

from __future__ import annotations

import polars as pl

from recoeval.columns import RANK
from recoeval.metrics.base import DELIVERED, REPEATED, SEEN, TIED, Metric, Term

__all__ = ["Coverage", "DuplicateShare", "ListFill", "SeenShare", "TieShare"]


def _has_list() -> pl.Expr:
    return (pl.col(DELIVERED) > 0).cast(pl.Int64)


def _delivered_within(k: int) -> pl.Expr:
    return pl.min_horizontal(pl.lit(k, pl.Int64), pl.col(DELIVERED))


class _ListQuality(Metric):
    """A ratio of counts over the delivered lists of the evaluated queries."""

    statistic = "micro"
    source = "recoeval"

    def terms(self, k: int) -> tuple[Term, ...]:
        return ()

    def value(self, k: int) -> pl.Expr:
        ratio = self.pooled(k)
        return pl.when(ratio[1] > 0).then(ratio[0] / ratio[1])

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        raise AssertionError(f"{type(self).__name__} defines no ratio")


class Coverage(_ListQuality, name="coverage"):
    """Share of the evaluated queries that have a list."""

    takes_k = False

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        return _has_list(), pl.lit(1, pl.Int64)


class ListFill(_ListQuality, name="list_fill"):
    """Mean of min(K, delivered rows) / K: how full the lists are; a missing list counts 0."""

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        return _delivered_within(k), pl.lit(k, pl.Int64)


class DuplicateShare(_ListQuality, name="duplicate_share"):
    """Share of the delivered rows whose item already stood earlier in the same list."""

    takes_k = False

    def terms(self, k: int) -> tuple[Term, ...]:
        return (Term("removed", REPEATED, pl.col(REPEATED).cast(pl.Int64)),)

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(REPEATED), pl.col(DELIVERED)


class SeenShare(_ListQuality, name="seen_share"):
    """Share of the first K delivered rows that the user had seen before."""

    needs_seen = True

    def terms(self, k: int) -> tuple[Term, ...]:
        seen = pl.col(SEEN) & (pl.col(RANK) <= k)
        return (Term("removed", f"seen@{k}", seen.cast(pl.Int64)),)

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(f"seen@{k}"), _delivered_within(k)


class TieShare(_ListQuality, name="tie_share"):
    """Share of the lists in which the items at rank K and K + 1 have the same score.

    Lists without scores do not count; null when no list has scores.
    """

    def terms(self, k: int) -> tuple[Term, ...]:
        tied = pl.col(TIED) & (pl.col(RANK) == k)
        scored = (pl.col(RANK) == 1) & pl.col(TIED).is_not_null()
        return (
            Term("delivered", f"tied@{k}", tied.fill_null(False).cast(pl.Int64)),
            Term("delivered", "scored", scored.cast(pl.Int64)),
        )

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(f"tied@{k}"), pl.col("scored")
