"""SUMMARY: from one row a query to one row a number, overall and by bucket.

The sample is users: queries of a user are one cluster. Values are put in the order of the
users before they are summed, so that the same rows give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recoeval.columns import (
    FOLD,
    GENERATOR,
    QUERY_ID,
    RELEVANT,
    RETURNED,
    SUMMARY_SCHEMA,
    USER_ID,
)
from recoeval.data.buckets import Buckets
from recoeval.engine.ordered import mean_runs
from recoeval.metrics.base import Measure

__all__ = [
    "ALL",
    "Interval",
    "interval_of",
    "per_user_table",
    "student_t",
    "summarise",
]

ALL = "all"
CONFIDENCE = 0.95
FEW_USERS = 500
FEW_NON_ZERO = 30
QUANTILES = (("p10", 0.1), ("p50", 0.5), ("p90", 0.9))


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over users and its Student t interval; the ends are None below 2 users."""

    value: float | None
    low: float | None
    high: float | None
    users: int
    standard_error: float | None
    too_few_users: bool


def interval_of(values: np.ndarray[Any, Any], *, tail: float = (1 - CONFIDENCE) / 2) -> Interval:
    """Returns the mean of per-user values with its Student t interval.

    Args:
        values: one value a user, Float64, without NaN.
        tail: probability beyond each end; 0.025 gives the two-sided 95% interval.

    Source:
        Student, Biometrika 1908.

    Example:
        >>> interval_of(np.array([0.0, 1.0, 0.5])).value
        0.5
    """
    users = len(values)
    few = users < FEW_USERS or int(np.count_nonzero(values)) < FEW_NON_ZERO
    if users == 0:
        return Interval(None, None, None, 0, None, True)
    mean = float(values.mean())
    if users == 1:
        return Interval(mean, None, None, 1, None, few)
    error = float(values.std(ddof=1)) / math.sqrt(users)
    half = student_t(users - 1, 1 - tail) * error
    return Interval(mean, mean - half, mean + half, users, error, few)


def student_t(degrees: int, probability: float) -> float:
    """Returns the quantile of Student's t distribution with these degrees of freedom."""
    from scipy.special import stdtrit  # 40 times cheaper to import than scipy.stats

    return float(stdtrit(degrees, probability))


def per_user_table(per_query: pl.DataFrame, measures: Sequence[Measure]) -> pl.DataFrame:
    """Returns PER_USER: the mean of PER_QUERY by fold, generator and user.

    Args:
        per_query: PER_QUERY.
        measures: the metric columns.

    Returns:
        fold, generator, user_id, relevant, returned and one column a metric, all Float64.
    """
    columns = [RELEVANT, RETURNED, *(measure.label for measure in measures)]
    keys = [FOLD, GENERATOR, USER_ID]
    return mean_runs(per_query.sort(*keys, QUERY_ID), keys, columns)


def summarise(
    sums: pl.DataFrame,
    measures: Sequence[Measure],
    buckets: Buckets,
    *,
    generator: str,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns SUMMARY of one generator: overall, then each bucket in order.

    Args:
        sums: result of `kernel.score_queries` for all evaluated queries, sorted by user_id
            and query_id.
        measures: what to summarise.
        buckets: labels in the order of `sums`.
        generator: name in the result.
        fold: number in the result.

    Returns:
        SUMMARY; buckets without users have rows with users 0 and value null.
    """
    single = sums[USER_ID].n_unique() == sums.height
    groups: list[tuple[str, str, pl.DataFrame]] = [(ALL, ALL, sums)]
    for name, labels in buckets.labels.items():
        groups += [(name, label, sums.filter(labels == label)) for label in buckets.order[name]]
    rows = [
        (fold, generator, bucket_by, bucket, measure.label, measure.metric.name, measure.k, *number)
        for bucket_by, bucket, group in groups
        for measure, number in _numbers(group, measures, single=single)
    ]
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


def _numbers(
    group: pl.DataFrame, measures: Sequence[Measure], *, single: bool
) -> Iterator[tuple[Measure, tuple[object, ...]]]:
    """Yields statistic, queries, users, value, ci_low, ci_high, too_few_users of each measure."""
    averaged = [measure.label for measure in measures if measure.metric.statistic == "macro"]
    by_user = group if single else mean_runs(group, [USER_ID], averaged)
    size = (group.height, by_user.height)
    for measure in measures:
        pooled = measure.metric.pooled(measure.depth)
        if measure.metric.statistic == "macro":
            values = by_user[measure.label].to_numpy()
            mean = interval_of(values)
            few = mean.too_few_users
            yield measure, ("macro", *size, mean.value, mean.low, mean.high, few)
            if not single:
                per_query = group[measure.label].to_numpy()
                value = float(per_query.mean()) if len(per_query) else None
                yield measure, ("macro_query", *size, value, None, None, few)
            for name, share in QUANTILES:
                value = float(np.quantile(values, share)) if len(values) else None
                yield measure, (name, *size, value, None, None, few)
        if pooled is not None:
            few = size[1] < FEW_USERS
            yield measure, ("micro", *size, _ratio(group, *pooled), None, None, few)


def _ratio(group: pl.DataFrame, numerator: pl.Expr, denominator: pl.Expr) -> float | None:
    """Returns sum of numerators / sum of denominators over the queries; None for 0 / 0."""
    rows = group.with_columns(numerator.alias("above"), denominator.alias("below"))
    # numpy's pairwise sum depends on the order of the rows alone, not on threads.
    above, below = (rows[name].to_numpy().sum() for name in ("above", "below"))
    return float(above / below) if below else None
