"""Scales: the labels of a bucket's values, and where they are cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

import polars as pl

from recoeval.columns import TIMESTAMP_DTYPE
from recoeval.data.bucketrules import Bucket
from recoeval.data.failures import dtype_name
from recoeval.errors import ConfigError, DataError, Problem, some

__all__ = ["MISSING", "NO_HISTORY", "Edges", "Scale", "column_scale", "count_scale"]

NO_HISTORY: Final = "0"
MISSING: Final = "missing"

Edges = tuple[float, ...] | tuple[datetime, ...]

_MOST_VALUES: Final = 100
_NAMES: Final = {1: ("tail", "head"), 2: ("tail", "torso", "head")}
_DISCRETE: Final = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels of values.

    Args:
        names: the declared labels in order, with or without values.
        edges: the inner ends; None where each value is a label.
        implied: a label that exists only where some value has it: "0" for no history (a count
            of 0), "missing" for null; None where there is none.
    """

    names: tuple[str, ...]
    edges: Edges | None
    implied: str | None = None

    @property
    def known(self) -> tuple[str, ...]:
        """Every label that a value can have, in order."""
        if self.implied is None:
            return self.names
        others = tuple(name for name in self.names if name != self.implied)
        first = self.implied == NO_HISTORY
        return (self.implied, *others) if first else (*others, self.implied)

    def order(self, labels: pl.Series) -> tuple[str, ...]:
        """Returns the labels in order: the declared ones, and the implied one if it is found."""
        if self.implied is None or not (labels == self.implied).any():
            return self.names
        return self.known

    def label(self, values: pl.Series) -> pl.Series:
        """Returns the label of each value (String, never null)."""
        if self.edges is None:
            labels = _as_text(values)
        else:
            numbers, cuts = _numbers(values), _numbers(pl.Series(list(self.edges)))
            # The edges at or below a value: an edge belongs to the bucket that it begins.
            places = cuts.cast(numbers.dtype).search_sorted(numbers, side="right")
            labels = pl.Series(self.names, dtype=pl.String)[places]
            rest = numbers == 0 if self.implied == NO_HISTORY else numbers.is_null()
            labels = _replaced(labels, rest, self.implied)
        return labels.fill_null(MISSING)


def _replaced(labels: pl.Series, where: pl.Series, label: str | None) -> pl.Series:
    return pl.select(pl.when(where).then(pl.lit(label)).otherwise(labels)).to_series()


def _numbers(values: pl.Series) -> pl.Series:
    """Returns numbers as Float64 without NaN, times as microseconds since 1970."""
    if values.dtype == pl.Datetime:
        return values.dt.epoch("us")
    return values.cast(pl.Float64).fill_nan(None)


def count_scale(bucket: Bucket, values: pl.Series, path: str) -> Scale:
    """Returns the scale of counts or ages.

    Args:
        bucket: the rule.
        values: what quantiles are taken over: the counts of queries (distinct ones count
            once), or for train_popularity those of all items with a train row.
        path: of the bucket in the configuration, for errors.

    Raises:
        DataError: quantiles of nothing.
    """
    history = bucket.counts_history
    implied = NO_HISTORY if history else MISSING if bucket.by == "item_age" else None
    if bucket.edges is not None:
        edges: Any = bucket.edges
        return Scale(_ranges(edges, history=history), _above(edges, history=history), implied)
    counts = values.filter(values > 0) if history else values
    over_items = bucket.by == "train_popularity"
    ordered = (counts if over_items else counts.unique()).sort()
    who = "item has a train row" if over_items else "user has a history"
    if ordered.is_empty():
        raise DataError(Problem(f"no {who}: quantiles have nothing to cut", path))
    cuts = _cuts(ordered, bucket.quantiles or ())
    names = _NAMES.get(len(cuts)) if over_items else None
    if names is not None:
        return Scale(names, tuple(cuts), implied)
    edges = _merged(ordered, cuts)
    return Scale(_ranges(edges, history=history), edges, implied)


def _cuts(ordered: pl.Series, shares: Sequence[float]) -> list[Any]:
    """Returns the values at quantiles: that of value floor(q n) in order."""
    exact = (math.floor(Decimal(repr(share)) * len(ordered)) for share in shares)
    return [ordered[place] for place in exact]


def _merged(ordered: pl.Series, cuts: Sequence[Any]) -> tuple[Any, ...]:
    """Returns distinct cuts; one at the smallest value would begin an empty bucket."""
    return tuple(sorted(set(cuts) - {ordered[0]}))


def _above(edges: Sequence[float], *, history: bool) -> tuple[float, ...]:
    """Returns the edges that cut: with a history the first bucket starts at 1."""
    return tuple(edge for edge in edges if edge > 1) if history else tuple(edges)


def _ranges(edges: Sequence[Any], *, history: bool = False) -> tuple[str, ...]:
    """Returns the labels of the buckets between edges."""
    ends = [-math.inf, *edges, math.inf]
    if history:
        ends = [1.0, *_above(edges, history=True), math.inf]
    return tuple(f"[{_text(low)},{_text(high)})" for low, high in pairwise(ends))


def _text(edge: float | datetime) -> str:
    if isinstance(edge, datetime):
        return edge.isoformat().replace("+00:00", "Z")
    return repr(edge) if math.isinf(edge) or edge != int(edge) else str(int(edge))


def column_scale(bucket: Bucket, values: pl.Series, path: str) -> Scale:
    """Returns the scale of a column of a table.

    Args:
        bucket: the rule.
        values: all values of the table; null is "missing".
        path: of the bucket in the configuration, for errors.

    Raises:
        ConfigError: edges or quantiles that do not fit the column, or too many values.
        DataError: a dtype without an order, or quantiles of nothing.
    """
    if problem := _misfit(bucket, values.dtype):
        raise ConfigError(Problem(f"column {bucket.column!r} {problem}", path))
    known = values.drop_nulls().unique().sort()
    if bucket.edges is not None:
        edges: Any = bucket.edges
        return Scale(_ranges(edges), edges, MISSING)
    if bucket.quantiles is not None:
        if known.is_empty():
            text = f"column {bucket.column!r} has no value: quantiles have nothing to cut"
            raise DataError(Problem(text, path))
        edges = _merged(known, _cuts(known, bucket.quantiles))
        return Scale(_ranges(edges), edges, MISSING)
    if len(known) > _MOST_VALUES:
        raise ConfigError(
            Problem(
                f"column {bucket.column!r} has {len(known)} values, e.g. {some(known)}; "
                f"a bucket a value is for at most {_MOST_VALUES}",
                path,
            )
        )
    # Sorted before they are text: 2 before 10.
    names = tuple(name for name in _as_text(known).to_list() if name != MISSING)
    return Scale(names, None, MISSING)


def _as_text(values: pl.Series) -> pl.Series:
    return values.cast(pl.String)


def _misfit(bucket: Bucket, dtype: pl.DataType) -> str:
    """Returns why a rule does not fit a column, or ""."""
    name = dtype_name(dtype)
    if dtype in _DISCRETE:
        has_cuts = bucket.edges is not None or bucket.quantiles is not None
        text = f"is {name}: it has a bucket a value, leave edges and quantiles out"
        return text if has_cuts and dtype != pl.Null else ""
    if isinstance(dtype, pl.List | pl.Array):
        return "holds lists: expected text, numbers or times"
    times = dtype == pl.Datetime
    if not times and not dtype.is_numeric():
        return f"is {name}: expected text, numbers or times"
    if bucket.edges is None:
        whole = bucket.quantiles is not None or dtype.is_integer()
        return "" if whole else f"is {name}: give edges or quantiles"
    if times != isinstance(bucket.edges[0], datetime):
        example = "times such as 2022-05-05T16:00:00Z" if times else "numbers"
        return f"is {name}: its edges are {example}"
    return ""


def comparable(values: pl.Series) -> pl.Series:
    """Returns a column of a table ready for a scale: dates and times in UTC, no NaN."""
    if values.dtype == pl.Date:
        values = values.cast(pl.Datetime("us"))
    if values.dtype == pl.Datetime:
        zoned = values.dtype.time_zone is not None  # type: ignore[attr-defined]
        return (values if zoned else values.dt.replace_time_zone("UTC")).cast(TIMESTAMP_DTYPE)
    if values.dtype == pl.Decimal:
        values = values.cast(pl.Float64)
    return values.fill_nan(None) if values.dtype.is_float() else values
