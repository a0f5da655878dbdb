"""SUMMARY: from one row a query to one row a number, overall and by bucket.

The sample is users: queries of a user are one cluster. Values are put in the order of the
users before they are summed, so that the same rows give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import polars as pl

from recoeval.analysis.student import student_t
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    FOLD,
    GENERATOR,
    QUERY_ID,
    RELEVANT,
    RETURNED,
    SUMMARY_SCHEMA,
    USER_ID,
)
from recoeval.data.buckets import Buckets
from recoeval.data.ordering import in_order
from recoeval.engine.ordered import mean_runs
from recoeval.metrics.base import DELIVERED, Measure

__all__ = [
    "ALL",
    "FEW_USERS",
    "SERVED",
    "Interval",
    "interval_of",
    "per_user_table",
    "summarise",
]

ALL = "all"
SERVED = "served"
"""The evaluated queries that a generator has a list for."""
CONFIDENCE = 0.95
FEW_USERS = 500
FEW_NON_ZERO = 30
_THREADS: Final = 2
_MANY_QUERIES: Final = 50_000
NO_PARTS: Final = pl.DataFrame(schema={BUCKET_BY: pl.String, BUCKET: pl.String})
QUANTILES: Final = {"p10": 0.1, "p50": 0.5, "p90": 0.9}


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
    few = users < FEW_USERS or int(np.count_nonzero(values != 0)) < FEW_NON_ZERO
    if users == 0:
        return Interval(None, None, None, 0, None, True)
    mean = float(values.mean())
    if users == 1:
        return Interval(mean, None, None, 1, None, few)
    # As values.std(ddof=1), which would look for the mean again.
    apart = values - mean
    apart *= apart
    error = math.sqrt(float(apart.sum()) / (users - 1)) / math.sqrt(users)
    half = student_t(users - 1, 1 - tail) * error
    return Interval(mean, mean - half, mean + half, users, error, few)


def per_user_table(per_query: pl.DataFrame, measures: Sequence[Measure]) -> pl.DataFrame:
    """Returns PER_USER: the mean of PER_QUERY by fold, generator and user.

    Args:
        per_query: PER_QUERY.
        measures: the metric columns; metrics of the catalogue have none.

    Returns:
        fold, generator, user_id, relevant, returned and one column a metric, all Float64.
    """
    labels = [each.label for each in measures if each.metric.kind != "catalogue"]
    columns = [RELEVANT, RETURNED, *labels]
    keys = [FOLD, GENERATOR, USER_ID]
    return mean_runs(in_order(per_query, *keys, QUERY_ID), keys, columns)


def summarise(
    sums: pl.DataFrame,
    measures: Sequence[Measure],
    buckets: Buckets,
    *,
    generator: str,
    fold: int = 0,
    sliced: pl.DataFrame = NO_PARTS,
    slices: Mapping[str, Sequence[str]] = MappingProxyType({}),
    served: bool = False,
) -> pl.DataFrame:
    """Returns SUMMARY of one generator: overall, each bucket of queries, each part of the truth.

    Args:
        sums: result of `kernel.score_queries` for all evaluated queries, sorted by user_id
            and query_id.
        measures: what to summarise; metrics of the catalogue are left to `summarise_items`.
        buckets: labels in the order of `sums`.
        generator: name in the result.
        fold: number in the result.
        sliced: bucket_by, bucket and the columns of `sums` against that part of the truth; one
            row a query that has any of it; in any order.
        slices: labels of each part, in order.
        served: whether to add the queries that have a list.

    Returns:
        SUMMARY; buckets without users have rows with users 0 and value null. A query whose
        restricted truth is empty (null) does not count for that metric. Parts of the truth and
        served queries have accuracy metrics alone.
    """
    users = sums[USER_ID]
    single = not (users[1:] == users[:-1]).any()
    of_queries = [_Asked.of(each) for each in measures if each.metric.kind != "catalogue"]
    accuracy = [each for each in of_queries if each.kind == "accuracy"]
    read = _read_by(of_queries) - ({USER_ID} if single else set())
    sums = sums.select(name for name in sums.columns if name in read)
    # Lazy: a group has a copy of its rows while it is summarised, and no longer.
    every = sums.lazy()
    groups = [(ALL, ALL, every, of_queries)]
    for name, labels in buckets.labels.items():
        groups += [
            (name, label, every.filter(labels == label), of_queries)
            for label in buckets.order[name]
        ]
    for name, known in slices.items():
        groups += [(name, label, _part(sliced, name, label).lazy(), accuracy) for label in known]
    if served:
        groups.append((SERVED, SERVED, every.filter(pl.col(DELIVERED) > 0), accuracy))
    if sums.height < _MANY_QUERIES:
        found = [list(_numbers(*each[2:], single=single)) for each in groups]
    else:
        # numpy lets other threads work meanwhile.
        with ThreadPoolExecutor(_THREADS) as pool:
            found = list(pool.map(lambda each: list(_numbers(*each[2:], single=single)), groups))
    rows = [
        (fold, generator, bucket_by, bucket, each.label, each.name, each.k, *number)
        for (bucket_by, bucket, *_), numbers in zip(groups, found, strict=True)
        for each, number in numbers
    ]
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is read of a measure: its names are made once, not for every number.

    Args:
        label: name of its column.
        name: of the metric.
        kind: of the metric.
        k: depth, items; None: it has none.
        is_mean: whether its number is the mean over users.
        sides: numerator and denominator of its micro average.
    """

    label: str
    name: str
    kind: str
    k: int | None
    is_mean: bool
    sides: tuple[pl.Expr, ...]

    @classmethod
    def of(cls, measure: Measure) -> _Asked:
        metric, sides = measure.metric, measure.pooled() or ()
        is_mean = metric.statistic == "macro"
        return cls(measure.label, metric.name, metric.kind, measure.k, is_mean, sides)


def _read_by(asked: Sequence[_Asked]) -> set[str]:
    """Returns the columns that a summary reads."""
    sides = {name for each in asked for side in each.sides for name in side.meta.root_names()}
    return {USER_ID, DELIVERED, *sides, *(each.label for each in asked)}


def _part(sliced: pl.DataFrame, name: str, label: str) -> pl.DataFrame:
    own = sliced.filter(pl.col(BUCKET_BY) == name, pl.col(BUCKET) == label)
    return in_order(own, USER_ID, QUERY_ID)


def _numbers(
    rows: pl.LazyFrame, asked: Sequence[_Asked], *, single: bool
) -> Iterator[tuple[_Asked, tuple[object, ...]]]:
    """Yields statistic, queries, users, value, ci_low, ci_high, too_few_users of each measure."""
    group = rows.collect()
    averaged = [each.label for each in asked if each.is_mean]
    by_user = group if single else mean_runs(group, [USER_ID], averaged)
    ratios = _ratios(group, asked)
    for each in asked:
        queries, users = group.height, by_user.height
        if each.is_mean:
            values = _known(by_user[each.label])
            per_query = values if single else _known(group[each.label])
            queries, users = len(per_query), len(values)
            mean = interval_of(values)
            row = (queries, users, mean.value, mean.low, mean.high, mean.too_few_users)
            yield each, ("macro", *row)
            others = [] if single else [("macro_query", _mean(per_query))]
            others += zip(QUANTILES, _quantiles(values), strict=True)
            for name, value in others:
                yield each, (name, queries, users, value, None, None, mean.too_few_users)
        if each.sides:
            few = users < FEW_USERS
            yield each, ("micro", queries, users, ratios[each.label], None, None, few)


def _known(values: pl.Series) -> np.ndarray[Any, Any]:
    """Returns the values that are there."""
    # Dropping nulls where there are none takes a third of a summary of 100,000 users.
    return (values.drop_nulls() if values.null_count() else values).to_numpy()


def _mean(values: np.ndarray[Any, Any]) -> float | None:
    return float(values.mean()) if len(values) else None


def _quantiles(values: np.ndarray[Any, Any]) -> list[float | None]:
    if not len(values):
        return [None] * len(QUANTILES)
    # np.quantile looks for the places once more where values are sorted: three times the time.
    ordered = np.sort(values)
    places = [(len(values) - 1) * share for share in QUANTILES.values()]
    return [_between(ordered[int(place) :][:2].tolist(), place % 1) for place in places]


def _between(neighbours: Sequence[float], share: float) -> float:
    """Returns what is this share of the way from one value to the next, as np.quantile does."""
    low, high = neighbours[0], neighbours[-1]
    step = high - low
    return high - step * (1 - share) if share >= 0.5 else low + step * share


def _ratios(group: pl.DataFrame, asked: Sequence[_Asked]) -> dict[str, float | None]:
    """Returns sum of numerators / sum of denominators over the queries; None for 0 / 0."""
    pairs = {each.label: each.sides for each in asked if each.sides}
    sides = [
        side.alias(f"{place} {label}")
        for label, pair in pairs.items()
        for place, side in zip(("above", "below"), pair, strict=True)
    ]
    rows = group.with_columns(sides)
    found: dict[str, float | None] = {}
    for label in pairs:
        # numpy's pairwise sum depends on the order of the rows alone, not on threads.
        above, below = (rows[f"{place} {label}"].to_numpy().sum() for place in ("above", "below"))
        found[label] = float(above / below) if below else None
    return found
