"""Buckets of queries: by the user's activity in the train window, or by truth size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

import polars as pl
from pydantic import Field, model_validator

from recoeval.columns import RELEVANT, TRAIN_INTERACTIONS, TRAIN_ROWS
from recoeval.component import Component, Number, Share
from recoeval.errors import ConfigError, DataError, Problem

__all__ = ["Bucket", "Buckets", "assign_buckets"]

NO_HISTORY = "0"


class Bucket(Component):
    """A split of the queries into groups whose numbers are shown apart."""

    by: Literal["train_interactions", "train_rows", "relevant_items"]
    """train_interactions: the user's log rows in the train window; train_rows: those that are
    train rows; relevant_items: |R| of the query."""
    edges: Annotated[tuple[Number, ...], Field(min_length=1)] | None = None
    """Lower ends of the buckets, ascending: [2, 5] gives [-inf,2), [2,5), [5,inf)."""
    quantiles: Annotated[tuple[Share, ...], Field(min_length=1)] | None = None
    """Cuts at these quantiles of the distinct counts, ascending; equal cuts merge."""

    @model_validator(mode="after")
    def _one_rule(self) -> Bucket:
        if (self.edges is None) == (self.quantiles is None):
            raise ValueError("give either edges: [1, 50] or quantiles: [0.5, 0.9]")
        cuts = self.edges or self.quantiles or ()
        if any(low >= high for low, high in pairwise(cuts)):
            raise ValueError(f"expected ascending values, got {list(cuts)}")
        return self

    @property
    def column(self) -> str:
        """The column of the queries that decides."""
        return RELEVANT if self.by == "relevant_items" else self.by

    @property
    def counts_history(self) -> bool:
        """Whether 0 means "no history", which is a bucket of its own."""
        return self.column in (TRAIN_INTERACTIONS, TRAIN_ROWS)


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of all queries.

    Args:
        labels: for each bucket name one label a query, in the order of the queries.
        order: for each bucket name its labels in order: all that are declared, with queries
            or not, and "0" (no history) if there are such users.
        edges: for each bucket name the edges in force.
        of_history: bucket names in which no history is a bucket of its own.
    """

    labels: Mapping[str, pl.Series]
    order: Mapping[str, tuple[str, ...]]
    edges: Mapping[str, tuple[float, ...]]
    of_history: frozenset[str] = frozenset()

    @property
    def known(self) -> Mapping[str, tuple[str, ...]]:
        """For each bucket name every label that it can have."""
        return {
            name: tuple(dict.fromkeys((NO_HISTORY, *labels))) if name in self.of_history else labels
            for name, labels in self.order.items()
        }


def assign_buckets(queries: pl.DataFrame, buckets: Mapping[str, Bucket]) -> Buckets:
    """Returns the bucket of each query.

    Args:
        queries: one row a query with relevant and, where buckets need them,
            train_interactions and train_rows (Int64, 0 when there is no history).
        buckets: the rules by name.

    Raises:
        ConfigError: a bucket by activity without train data, or one named "all".
        DataError: quantiles of nothing.

    Example:
        >>> queries = pl.DataFrame({"relevant": [1, 2, 9]})
        >>> rule = Bucket(by="relevant_items", edges=(2, 5))
        >>> assign_buckets(queries, {"size": rule}).labels["size"].to_list()
        ['[-inf,2)', '[2,5)', '[5,inf)']
    """
    labels: dict[str, pl.Series] = {}
    order: dict[str, tuple[str, ...]] = {}
    in_force: dict[str, tuple[float, ...]] = {}
    for name, bucket in buckets.items():
        path = f"buckets.{name}"
        if name == "all":
            raise ConfigError(Problem("'all' means all queries: choose another name", path))
        if bucket.column not in queries.columns:
            raise ConfigError(Problem(f"by: {bucket.by} needs train data", path))
        values = queries[bucket.column]
        edges = _edges(bucket, values, path)
        found, known = _label(values, edges, history=bucket.counts_history)
        labels[name], order[name], in_force[name] = found, known, edges
    of_history = frozenset(name for name, bucket in buckets.items() if bucket.counts_history)
    return Buckets(labels, order, in_force, of_history)


def _edges(bucket: Bucket, values: pl.Series, path: str) -> tuple[float, ...]:
    """Returns the inner edges; quantiles are cut at distinct counts, in order."""
    if bucket.edges is not None:
        return bucket.edges
    distinct = values.filter(values > 0) if bucket.counts_history else values
    counts = distinct.unique().sort().to_list()
    if not counts:
        raise DataError(Problem("no user has a history: quantiles have nothing to cut", path))
    cuts = {
        counts[math.floor(Decimal(repr(share)) * len(counts))] for share in bucket.quantiles or ()
    }
    # A cut at the smallest count would begin an empty bucket.
    return tuple(sorted(cuts - {counts[0]}))


def _label(
    values: pl.Series, edges: tuple[float, ...], *, history: bool
) -> tuple[pl.Series, tuple[str, ...]]:
    """Returns the label of each value, and all labels in order."""
    ends = [-math.inf, *edges, math.inf]
    if history:
        ends = [1.0, *(edge for edge in edges if edge > 1), math.inf]
    names = [f"[{_text(low)},{_text(high)})" for low, high in pairwise(ends)]
    cuts = pl.Series(ends[1:-1], dtype=pl.Float64)
    # The edges at or below a value: an edge belongs to the bucket that it begins.
    labels = pl.Series(names)[cuts.search_sorted(values.cast(pl.Float64), side="right")]
    if not history:
        return labels, tuple(names)
    without = values == 0
    labels = pl.select(pl.when(without).then(pl.lit(NO_HISTORY)).otherwise(labels)).to_series()
    # No history is implied, not declared: without such users there is no such bucket.
    return labels, (NO_HISTORY, *names) if without.any() else tuple(names)


def _text(edge: float) -> str:
    return repr(edge) if math.isinf(edge) or edge != int(edge) else str(int(edge))
