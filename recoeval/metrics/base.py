"""What a metric is: an immutable value whose text is its name, its parser and its result key.

A metric says what it needs as sums of row expressions over four tables, so that one pass
over the lists serves all metrics at every K:

| table | rows | columns |
|---|---|---|
| hits | relevant items found | rank (prepared), gain, hit_number, discount |
| truth | relevant items | rank (by gain descending), gain, discount |
| removed | rows that a rule takes out of a delivered list | rank (delivered), repeated, seen |
| delivered | rows as they came | rank (delivered), tied (same score as the next row) |

`value` and `pooled` are then expressions over one row a query: the sums by name, and
relevant, returned, delivered (Int64).
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import polars as pl
from pydantic import ValidationError

from recoeval.columns import GAIN, RANK
from recoeval.component import Component
from recoeval.errors import ConfigError, Problem, did_you_mean

__all__ = ["METRICS", "Measure", "Metric", "Term", "measures", "parse_metric"]

DEEPEST = 1_000_000
"""Largest K: the table of discounts has as many rows."""

HIT_NUMBER = "hit_number"
DISCOUNT = "discount"
REPEATED = "repeated"
SEEN = "seen"
TIED = "tied"
DELIVERED = "delivered"

Table = Literal["hits", "truth", "removed", "delivered"]
Gain = Literal["linear", "exponential", "binary"]

METRICS: dict[str, type[Metric]] = {}
"""All metrics by name, filled as their classes are defined."""


class Term(NamedTuple):
    """A row expression that is summed within a query; equal names are computed once.

    Args:
        table: the table whose rows are summed.
        name: name of the sum, unique among all terms.
        expr: one number a row.
    """

    table: Table
    name: str
    expr: pl.Expr


class Metric(Component, ABC):
    """Base of all metrics; the fields of a subclass are its options.

    A subclass is registered under its class keyword: `class Recall(Metric, name="recall")`.
    """

    title: ClassVar[str]
    takes_k: ClassVar[bool] = True
    statistic: ClassVar[Literal["macro", "micro"]] = "macro"
    """What `Evaluation.value`, tables and constraints read: the mean over users, or the ratio
    of sums over all lists (list quality)."""
    value_without_relevant: ClassVar[float] = 0.0
    """Value of a query without relevant items under `zero_relevant: one`."""
    needs_seen: ClassVar[bool] = False
    """Whether it cannot be told without knowing what a user had seen (train data)."""
    source: ClassVar[str]
    """Paper or library of the formula."""

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.title = name
            METRICS[name] = cls

    @property
    def name(self) -> str:
        """The metric with the options that were given: "ndcg(gain=exponential)"."""
        given = [
            f"{option}={getattr(self, option)}"
            for option in type(self).model_fields
            if option in self.model_fields_set
        ]
        return f"{self.title}({', '.join(given)})" if given else self.title

    @property
    def gain_limits(self) -> tuple[float, float]:
        """Smallest and largest gain for which sums stay numbers; others are refused."""
        return 0.0, math.inf

    @abstractmethod
    def terms(self, k: int) -> tuple[Term, ...]:
        """Returns the sums that `value` and `pooled` read."""

    @abstractmethod
    def value(self, k: int) -> pl.Expr:
        """Returns the value of a query with relevant items, Float64."""

    def pooled(self, k: int) -> tuple[pl.Expr, pl.Expr] | None:
        """Returns numerator and denominator of a query for the micro average, if it has one."""
        return None


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric at a depth: what is asked for, and the key of the result.

    Args:
        metric: the metric with its options.
        k: depth of the list, items, >= 1; None for metrics that have none.
    """

    metric: Metric
    k: int | None

    @property
    def label(self) -> str:
        """Key of the result: "recall@100", or "coverage"."""
        return self.metric.name if self.k is None else f"{self.metric.name}@{self.k}"

    @property
    def depth(self) -> int:
        """K, or 0 for metrics that have none."""
        return self.k or 0


def hits_within(k: int) -> Term:
    """Returns h, the number of relevant items among the first k."""
    return Term("hits", f"hits@{k}", (pl.col(RANK) <= k).cast(pl.Int64))


LINEAR_LIMITS = (1e-100, 1e100)
"""Gains whose sums neither vanish nor overflow."""


def within(k: int, expr: pl.Expr) -> pl.Expr:
    """Returns the expression for rows among the first k, 0 for deeper rows."""
    return pl.when(pl.col(RANK) <= k).then(expr).otherwise(0.0)


def gain_value(gain: Gain) -> pl.Expr:
    """Returns what a relevant item is worth: g, 2^g - 1, or 1."""
    if gain == "exponential":
        return pl.lit(2.0).pow(pl.col(GAIN)) - 1.0
    return pl.lit(1.0) if gain == "binary" else pl.col(GAIN)


_SHAPE = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\S+?))?\s*")


def parse_metric(text: str, *, path: str = "metrics") -> tuple[Metric, int | None]:
    """Returns the metric and the K of a text such as "ndcg(gain=exponential)@10".

    Args:
        text: `name(option=value, ...)@K`; options and K may be absent (then K is None).
        path: where the text stands, for the error.

    Raises:
        ConfigError: unknown metric or option, a value outside its choices, a bad K.

    Example:
        >>> metric, k = parse_metric("ndcg( gain=exponential ) @10")
        >>> metric.name, k
        ('ndcg(gain=exponential)', 10)
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        hint = " Quote this metric." if text.count("(") != text.count(")") else ""
        raise ConfigError(Problem(f"expected name(option=value, ...)@K, got {text!r}.{hint}", path))
    name, options, depth = match.groups()
    if name not in METRICS:
        raise ConfigError(
            Problem(
                f"unknown metric {name!r}.{did_you_mean(name, METRICS)}"
                f" Metrics: {', '.join(METRICS)}",
                path,
            )
        )
    metric = _with_options(METRICS[name], options or "", path)
    if depth is None:
        return metric, None
    if not metric.takes_k:
        raise ConfigError(Problem(f"{name} has no @K, got {text!r}", path))
    if not re.fullmatch(r"0*[1-9]\d{0,99}", depth):
        raise ConfigError(Problem(f"K of {text!r}: expected an integer >= 1, got {depth!r}", path))
    if int(depth) > DEEPEST:
        raise ConfigError(Problem(_too_deep(text), path))
    return metric, int(depth)


def _too_deep(k: object) -> str:
    return f"lists are evaluated to a depth of at most {DEEPEST:,}, got {k}"


def _with_options(cls: type[Metric], text: str, path: str) -> Metric:
    """Returns the metric with the options of "a=b, c=d"."""
    options: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ConfigError(Problem(f"{cls.title}: expected option=value, got {part!r}", path))
        if key not in cls.model_fields:
            known = ", ".join(cls.model_fields) or "none"
            raise ConfigError(
                Problem(
                    f"{cls.title}: unknown option {key!r}."
                    f"{did_you_mean(key, cls.model_fields)} Options: {known}",
                    path,
                )
            )
        if key in options:
            raise ConfigError(Problem(f"{cls.title}: option {key!r} is given twice", path))
        options[key] = value
    try:
        return cls.model_validate(options)
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        choices = ", ".join(map(str, get_args(cls.model_fields[key].annotation)))
        raise ConfigError(
            Problem(f"{cls.title}: {key} is one of {choices}, got {options[key]!r}", path)
        ) from None


def measures(
    metrics: Sequence[object], k: Iterable[int], *, paths: Mapping[str, str] | None = None
) -> tuple[Measure, ...]:
    """Returns what to compute: each metric at its own K, or at every K of `k`.

    Args:
        metrics: texts such as "recall" or "ndcg@10", in the order of the result.
        k: depths for the metrics that name none, items, >= 1.
        paths: where a metric's text stands in the configuration, for errors.

    Returns:
        Distinct measures in the order asked for.

    Raises:
        ConfigError: all bad metrics at once; a metric needs a K and there is none.

    Example:
        >>> [measure.label for measure in measures(["recall", "ndcg@10", "coverage"], [5, 20])]
        ['recall@5', 'recall@20', 'ndcg@10', 'coverage']
    """
    depths = tuple(k)
    problems = [Problem(_too_deep(depth), "k") for depth in depths if depth > DEEPEST]
    if not metrics:
        problems.append(Problem("expected at least one metric", "metrics"))
    found: dict[str, Measure] = {}
    for index, text in enumerate(metrics):
        if not isinstance(text, str):
            reason = f"expected text such as recall@10, got {text!r}"
            problems.append(Problem(reason, f"metrics.{index}"))
            continue
        path = (paths or {}).get(text, f"metrics.{index}")
        try:
            metric, own = parse_metric(text, path=path)
        except ConfigError as error:
            problems.extend(error.problems)
            continue
        asked: tuple[int | None, ...] = (own,) if own is not None else depths
        if not metric.takes_k:
            asked = (None,)
        elif not asked:
            problems.append(Problem(f"{text} needs a K: write {text}@10, or give k", path))
        for depth in asked:
            measure = Measure(metric, depth)
            found.setdefault(measure.label, measure)
    if problems:
        raise ConfigError(*problems)
    return tuple(found.values())
