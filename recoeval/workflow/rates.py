"""What stages of a run cost by the row: measured once, for estimates; they decide nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from recoeval.generators.base import Generator

__all__ = ["Cost", "Rate", "cost_of"]


@dataclass(frozen=True, slots=True)
class Rate:
    """What a million rows cost with text ids on two cores.

    Args:
        seconds: of wall time.
        megabytes: of memory at the peak, beside what the process holds anyway.
    """

    seconds: float
    megabytes: float

    def of(self, rows: float) -> tuple[float, float]:
        """Returns seconds and megabytes.

        Args:
            rows: how many.
        """
        return rows / 1e6 * self.seconds, rows / 1e6 * self.megabytes

    def times(self, factor: float) -> Rate:
        """Returns what a million rows cost that take longer, but no more memory.

        Args:
            factor: of the time.
        """
        return Rate(self.seconds * factor, self.megabytes)


# The stages of a run in its manifest, by millions of their rows: those of `scripts/bench log` (a
# log of 50 M rows, lists of 100 M), and a fifth more time for busy machines.
READ: Final = Rate(0.1, 24)
SPLIT: Final = Rate(0.35, 28)
AUDIT: Final = Rate(0.13, 45)
SUMMARY: Final = Rate(0.8, 500)
FILES: Final = Rate(0.065, 22)
FIT: Final = Rate(0.015, 20)
LISTS: Final = Rate(0.05, 10)
START: Final = Rate(2, 200)
"""Of a run of no rows: not by the million."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a matrix of items x items in float64 costs.

    Args:
        seconds: for 10,000 items, of wall time; it grows with the cube.
    """

    seconds: float

    def of(self, items: int) -> tuple[float, float]:
        """Returns seconds and megabytes.

        Args:
            items: how many.
        """
        return self.seconds * (items / 1e4) ** 3, 8 * items**2 / 1e6


@dataclass(frozen=True, slots=True)
class Cost:
    """What a type of generator costs.

    Args:
        fit: by rows of the log.
        lists: by rows of the lists.
        fit_grows: options that the time of the fit is proportional to, each with the value that
            was measured.
        lists_grow: the same for the lists.
        matrix: of a fit that goes by the items alone; None: it goes by the rows.
        known: whether it was measured.
    """

    fit: Rate = FIT
    lists: Rate = LISTS
    fit_grows: Mapping[str, float] = field(default_factory=dict)
    lists_grow: Mapping[str, float] = field(default_factory=dict)
    matrix: Matrix | None = None
    known: bool = True

    def of(self, generator: Generator) -> tuple[Rate, Rate]:
        """Returns the rates of the fit and of the lists with the options of a generator."""
        fit, lists = (
            math.prod(getattr(generator, name) / value for name, value in grows.items())
            for grows in (self.fit_grows, self.lists_grow)
        )
        return self.fit.times(fit), self.lists.times(lists)


# By the row what cost more: a million train rows of 20,000 users and 5,000 items, or five million
# of 100,000 and 50,000; lists of 100; two threads. bpr and lmf were fitted in a tenth and a sixth
# of their iterations. Merges read 12 million rows, what-if made 19 million.
COUNTED: Final = Cost(fit=Rate(0.9, 90))
"""Popularity that counts for itself: within a window, with decay, or by group."""
COSTS: Final[Mapping[str, Cost]] = {
    "popularity": Cost(),
    "random": Cost(lists=Rate(0.2, 10)),
    "recent": Cost(fit=Rate(0.9, 60)),
    "co_visitation": Cost(
        fit=Rate(3, 150),
        lists=Rate(2.5, 30),
        fit_grows={"history": 20},
        lists_grow={"history": 20, "neighbours": 100},
    ),
    "als": Cost(
        fit=Rate(7, 170),
        lists=Rate(1.7, 120),
        fit_grows={"factors": 64, "iterations": 15},
        lists_grow={"factors": 64},
    ),
    "bpr": Cost(
        fit=Rate(45, 180),
        lists=Rate(1.7, 120),
        fit_grows={"factors": 100, "iterations": 100},
        lists_grow={"factors": 64},
    ),
    "lmf": Cost(
        fit=Rate(10, 150),
        lists=Rate(1.7, 120),
        fit_grows={"factors": 30, "iterations": 30},
        lists_grow={"factors": 64},
    ),
    "item_knn": Cost(fit=Rate(4, 120), lists=Rate(1.5, 30), lists_grow={"neighbours": 20}),
    "ease": Cost(lists=Rate(2.3, 120), matrix=Matrix(32)),
    "merge": Cost(fit=Rate(0, 0), lists=Rate(0.45, 100)),
    "rerank": Cost(fit=Rate(0, 0), lists=Rate(0.6, 100)),
}
"""By type of generator. A merge and a rerank learn nothing; the rows that they read cost."""
CHANNELS: Final = Rate(0.6, 30)
"""By the rows of lists that are read or merged to tell what channels add."""
COUNTING: Final = ("window", "half_life", "per")
"""Options of popularity with which it counts for itself."""


def cost_of(generator: Generator) -> Cost:
    """Returns what a generator costs; that of popularity for a type that nobody measured."""
    if generator.type not in COSTS:
        return Cost(known=False)
    if generator.type == "popularity" and any(getattr(generator, name) for name in COUNTING):
        return COUNTED
    return COSTS[generator.type]
