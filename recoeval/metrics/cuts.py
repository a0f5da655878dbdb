"""Where a list ends, and the row expressions that metrics are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import polars as pl

from recoeval.columns import GAIN, QUOTA, RANK

__all__ = ["ALL", "NO_CUT", "Cut", "discounts", "gain_value", "ideal_discounts"]

ALL: Literal["all"] = "all"

HIT_NUMBER = "hit_number"
DISCOUNT = "discount"

Gain = Literal["linear", "exponential", "binary"]

LINEAR_LIMITS = (1e-100, 1e100)
"""Gains whose sums neither vanish nor overflow."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The depth at which a list is cut: what stands after the @ of a metric.

    Args:
        at: items, >= 1; "all": the whole list; "quota": the query's own column `quota`;
            None for metrics that cut nothing.

    Example:
        >>> str(Cut(10)), str(Cut("all")), Cut("all").k
        ('10', 'all', None)
    """

    at: int | Literal["all", "quota"] | None

    def __str__(self) -> str:
        return "" if self.at is None else str(self.at)

    @property
    def k(self) -> int | None:
        """The depth if it is one number for all queries, items."""
        return self.at if isinstance(self.at, int) else None

    @property
    def size(self) -> pl.Expr:
        """K of a row, Int64. A list that is not cut has none."""
        if self.at == QUOTA:
            return pl.col(QUOTA)
        if self.k is None:
            raise AssertionError(f"a list that ends at {self.at!r} has no K")
        return pl.lit(self.k, pl.Int64)

    @property
    def within(self) -> pl.Expr:
        """Whether a row of a list stands within it, Boolean."""
        if self.at in (ALL, None):
            return pl.col(RANK) > 0
        return pl.col(RANK) <= self.size

    def capped(self, size: pl.Expr) -> pl.Expr:
        """Returns min(K, size), Int64."""
        return size if self.at in (ALL, None) else pl.min_horizontal(self.size, size)


NO_CUT = Cut(None)


def within(cut: Cut, expr: pl.Expr) -> pl.Expr:
    """Returns the expression for rows within the cut, 0 for deeper rows."""
    return pl.when(cut.within).then(expr).otherwise(0.0)


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Returns the correctly rounded quotient of two numbers of a row, Float64.

    Args:
        numerator: reads a column; without null.
        denominator: may be one number for all rows.
    """
    # Polars multiplies by the reciprocal of a number that is the same for all rows, and divides
    # the last rows of a block: the bits would depend on the block.
    return numerator / (denominator + 0 * numerator)


def gain_value(gain: Gain) -> pl.Expr:
    """Returns what a relevant item is worth: g, 2^g - 1, or 1."""
    if gain == "exponential":
        return pl.lit(2.0).pow(pl.col(GAIN)) - 1.0
    return pl.lit(1.0) if gain == "binary" else pl.col(GAIN)


def discounts(depth: int) -> pl.Series:
    """Returns 1 / log2(rank + 1) for ranks 1..depth, Float64.

    A table over integer ranks gives the same bits everywhere; a vectorised log2 may not.

    Example:
        >>> discounts(3).round(3).to_list()
        [1.0, 0.631, 0.5]
    """
    return _discounts(depth)


@lru_cache(maxsize=8)
def _discounts(depth: int) -> pl.Series:
    values = [1.0 / math.log2(rank + 1) for rank in range(1, depth + 1)]
    return pl.Series(DISCOUNT, values, dtype=pl.Float64)


def ideal_discounts(depth: int) -> pl.Series:
    """Returns the sum of the discounts of ranks 1..r for each r up to depth, Float64.

    Example:
        >>> ideal_discounts(3).round(3).to_list()
        [1.0, 1.631, 2.131]
    """
    return pl.Series(np.cumsum(discounts(depth).to_numpy()))
