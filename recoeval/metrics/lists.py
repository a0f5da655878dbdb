"""Quality of the lists as they were delivered: before duplicates and seen items leave."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from recoeval.columns import RANK
from recoeval.metrics.base import DELIVERED, REPEATED, SEEN, TIED, Cut, Metric, Term
from recoeval.metrics.cuts import ratio

__all__ = [
    "Coverage",
    "DuplicateShare",
    "Judged",
    "ListFill",
    "SeenShare",
    "TieShare",
    "UnknownItemShare",
]


def _has_list() -> pl.Expr:
    return (pl.col(DELIVERED) > 0).cast(pl.Int64)


class _ListQuality(Metric):
    """A ratio of counts over the delivered lists of the evaluated queries."""

    kind = "lists"
    statistic = "micro"
    peers: ClassVar[tuple[str, ...]] = ("none of those compared has it",)
    source = "recoeval"

    def value(self, cut: Cut) -> pl.Expr:
        numerator, denominator = self.pooled(cut)
        return pl.when(denominator > 0).then(ratio(numerator, denominator))

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        raise AssertionError(f"{type(self).__name__} defines no ratio")


class Coverage(_ListQuality, name="coverage"):
    """Share of the evaluated queries that have a list."""

    takes_k = False
    formula = "evaluated queries with a list / evaluated queries"
    edge_cases = ("a list of which no row is left after preparation counts as a list",)
    peers = (
        "RecTools CoveredUsers: the same",
        "RePlay Coverage, LensKit: the share of items that are listed, item_coverage",
    )

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return _has_list(), pl.lit(1, pl.Int64)


class ListFill(_ListQuality, name="list_fill"):
    """Mean of min(K, delivered rows) / K: how full the lists are; a missing list counts 0."""

    formula = "mean of min(K, delivered rows) / K"
    edge_cases = ("a missing list counts 0",)
    peers = ("RecTools SufficientReco(deep=True): the same over users with a list",)

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        rows = cut.capped(pl.col(DELIVERED))
        # With a K of its own, each list counts alike.
        return (rows, cut.size) if cut.k else (ratio(rows, cut.size), pl.lit(1, pl.Int64))


class DuplicateShare(_ListQuality, name="duplicate_share"):
    """Share of the delivered rows whose item already stood earlier in the same list."""

    takes_k = False
    formula = "delivered rows whose item stands earlier in the list / delivered rows"
    edge_cases = ("rows that are equal in all columns left before and do not count", "no row: null")

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        return (Term("removed", REPEATED, pl.col(REPEATED).cast(pl.Int64)),)

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(REPEATED), pl.col(DELIVERED)


class SeenShare(_ListQuality, name="seen_share"):
    """Share of the first K delivered rows that the user had seen before."""

    needs_seen = True
    formula = "seen rows among the first K / rows among the first K"
    edge_cases = ("a list shorter than K counts with the rows that it has", "no row: null")
    peers = ("RePlay Novelty: 1 - seen_share",)

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        seen = pl.col(SEEN) & cut.within
        return (Term("removed", f"seen@{cut}", seen.cast(pl.Int64)),)

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(f"seen@{cut}"), cut.capped(pl.col(DELIVERED))


class UnknownItemShare(_ListQuality, name="unknown_item_share"):
    """Share of the first K delivered rows whose item is not in the catalogue."""

    needs_catalogue = True
    formula = "rows among the first K with an item outside the catalogue / rows among the first K"
    edge_cases = ("a list shorter than K counts with the rows that it has", "no row: null")

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        return (Term("unknown", f"unknown@{cut}", cut.within.cast(pl.Int64)),)

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(f"unknown@{cut}"), cut.capped(pl.col(DELIVERED))


class Judged(_ListQuality, name="judged"):
    """Share of the first K delivered rows that the user was shown in the test window.

    Where it is low every number is a lower bound: what was never shown could not be chosen.
    """

    needs_exposures = True
    formula = "rows among the first K that were shown to the user / rows among the first K"
    edge_cases = ("a list shorter than K counts with the rows that it has", "no row: null")
    peers = ("ir_measures Judged: rows that the qrels name; the same with those as exposures",)
    source = "ir_measures Judged; Buckley, Voorhees, SIGIR 2004 (incomplete judgments)"

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        return (Term("exposed", f"exposed@{cut}", cut.within.cast(pl.Int64)),)

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(f"exposed@{cut}"), cut.capped(pl.col(DELIVERED))


class TieShare(_ListQuality, name="tie_share"):
    """Share of the lists in which the items at rank K and K + 1 have the same score.

    Lists without scores do not count; null when no list has scores.
    """

    formula = "lists with equal scores at ranks K and K + 1 / lists with scores"
    edge_cases = ("lists without scores do not count", "a list that ends at K has no tie there")

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        tied = pl.col(TIED) & (pl.col(RANK) == cut.size)
        scored = (pl.col(RANK) == 1) & pl.col(TIED).is_not_null()
        return (
            Term("delivered", f"tied@{cut}", tied.fill_null(False).cast(pl.Int64)),
            Term("delivered", "scored", scored.cast(pl.Int64)),
        )

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr]:
        return pl.col(f"tied@{cut}"), pl.col("scored")
