"""Metrics of the prepared lists together: how they share out the items.

Each reads one row an item, from counts of integers alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable

import polars as pl

from recoeval.columns import TRAIN_USERS
from recoeval.metrics.base import Cut, Metric

__all__ = [
    "IN_CATALOGUE",
    "LISTED",
    "CatalogueMetric",
    "Entropy",
    "Gini",
    "ItemCoverage",
    "MeanPopularity",
    "Novelty",
]

LISTED = "listed"
IN_CATALOGUE = "in_catalogue"


class CatalogueMetric(Metric):
    """A number of all lists together; a query has none of its own."""

    kind = "catalogue"
    statistic = "micro"

    def value(self, cut: Cut) -> pl.Expr:
        """Returns null: a query has no value."""
        return pl.lit(None, pl.Float64)

    @abstractmethod
    def of_items(self, items: pl.DataFrame, users: int) -> float | None:
        """Returns the value, None where it is undefined.

        Args:
            items: one row an item, sorted by item_id: item_id, listed (Int64: lists of evaluated
                queries that have it within the cut, after preparation), train_users (Int64, 0
                for a cold item), in_catalogue (Boolean).
            users: distinct users with a train row.
        """


def _tally(items: pl.DataFrame, by: str, count: pl.Expr) -> list[tuple[int, int]]:
    """Returns value and summed count for each distinct value of a column, ascending."""
    sums = items.group_by(pl.col(by).cast(pl.Int64).alias("value")).agg(count.alias("count"))
    return [(int(value), int(size)) for value, size in sums.sort("value").iter_rows()]


def _mean(parts: Iterable[tuple[float, int]]) -> float | None:
    """Returns the mean of values with their counts, None of nothing."""
    known = [(value, count) for value, count in parts if count]
    total = sum(count for _, count in known)
    return math.fsum(value * count for value, count in known) / total if total else None


class ItemCoverage(CatalogueMetric, name="item_coverage"):
    """Share of the catalogue's items that stand in some list."""

    needs_catalogue = True
    formula = "catalogue items that some list has among its first K / catalogue items"
    edge_cases = ("listed items that are not in the catalogue do not count",)
    peers = (
        "RePlay Coverage: the same",
        "RecTools CatalogCoverage(normalize=True): listed items outside the catalogue count too",
    )
    source = "Ge, Delgado-Battenfeld, Jannach, RecSys 2010"

    def of_items(self, items: pl.DataFrame, users: int) -> float | None:
        known = items.filter(IN_CATALOGUE)
        listed = known.filter(pl.col(LISTED) > 0).height
        return listed / known.height if known.height else None


class Gini(CatalogueMetric, name="gini"):
    """How unevenly the lists use the catalogue: 0 all items alike, towards 1 only one item."""

    needs_catalogue = True
    formula = (
        "sum of (2 i - n - 1) x_i / (n sum of x); x: how often each of n items is listed, ascending"
    )
    edge_cases = (
        "items that are never listed count with 0",
        "one item alone in all lists: 1 - 1 / n",
        "no catalogue item is listed: null",
    )
    peers = ("LensKit ListGini: listed items outside the catalogue count as items of it",)
    source = "Gini, 1912; Shani, Gunawardana: Evaluating Recommendation Systems, 2011, 8.3.6"

    def of_items(self, items: pl.DataFrame, users: int) -> float | None:
        known = items.filter(IN_CATALOGUE)
        above, total, before = 0, 0, 0
        for listed, size in _tally(known, LISTED, pl.len()):
            # Positions before + 1 .. before + size have this count.
            positions = size * before + size * (size + 1) // 2
            above += listed * (2 * positions - size * (known.height + 1))
            total += listed * size
            before += size
        return above / (known.height * total) if total else None


class Entropy(CatalogueMetric, name="entropy"):
    """Shannon entropy of how often items are listed, in bits."""

    formula = "- sum of p log2(p); p: share of the item in all listed rows"
    edge_cases = (
        "over all listed items, in the catalogue or not",
        "n items listed alike: log2(n)",
        "no list: null",
    )
    peers = ("some use the natural logarithm: ours / 1.4427",)
    source = "Shannon, 1948; Shani, Gunawardana, 2011, 8.3.6"

    def of_items(self, items: pl.DataFrame, users: int) -> float | None:
        tally = [(listed, size) for listed, size in _tally(items, LISTED, pl.len()) if listed]
        total = sum(listed * size for listed, size in tally)
        return _mean((math.log2(total / listed), listed * size) for listed, size in tally)


class Novelty(CatalogueMetric, name="novelty"):
    """Mean self-information of the listed items, in bits: high where few users knew them."""

    needs_seen = True
    formula = "mean of -log2((n + 1) / (N + 1)) over listed rows; n: train users of the item, of N"
    edge_cases = ("an item without a train row: log2(N + 1)", "no list: null")
    peers = (
        "RecTools MeanInvUserFreq: -log2(n / N), n = 1 if cold; a mean of the means of lists",
        "RePlay Surprisal: log2(N / n) / log2(N); short lists are divided by K",
    )
    source = "Zhou et al., PNAS 2010; Vargas, Castells, RecSys 2011"

    def of_items(self, items: pl.DataFrame, users: int) -> float | None:
        tally = _tally(items, TRAIN_USERS, pl.col(LISTED).sum())
        return _mean((math.log2((users + 1) / (known + 1)), listed) for known, listed in tally)


class MeanPopularity(CatalogueMetric, name="mean_popularity"):
    """Mean number of train users of the listed items."""

    needs_seen = True
    formula = "mean of the item's train users over listed rows"
    edge_cases = ("an item without a train row: 0", "no list: null")
    peers = (
        "RecTools AvgRecPopularity: log rows rather than users; a mean of the means of lists",
        "LensKit MeanPopRank: the mean of popularity ranks as quantiles",
    )
    source = "Abdollahpouri et al., RecSys 2017 (average recommendation popularity)"

    def of_items(self, items: pl.DataFrame, users: int) -> float | None:
        tally = _tally(items, TRAIN_USERS, pl.col(LISTED).sum())
        total = sum(listed for _, listed in tally)
        return sum(known * listed for known, listed in tally) / total if total else None
