"""What a metric is: an immutable value whose text is its name, its parser and its result key.

A metric of queries says what it needs as sums of row expressions over these tables, so that
one pass over the lists serves all metrics at every K:

| table | rows | columns |
|---|---|---|
| hits | relevant items found | rank (prepared), gain, hit_number, discount; score |
| truth | relevant items | rank (by gain descending), gain, discount |
| lost | relevant items that are in no prepared list | gain, cause |
| removed | rows that a rule takes out of a delivered list | rank (delivered), repeated, seen |
| delivered | rows as they came | rank (delivered), tied (same score as the next row) |
| unknown | delivered rows whose item is not in the catalogue | rank (delivered) |
| exposed | delivered rows that were shown to the user | rank (delivered) |

The query's `quota` stands in each of them where a measure is cut there, its `relevant` (|R|) in
hits where an expression reads it. `value` and `pooled` are then expressions over one row a
query: the sums by name, relevant, returned, delivered (Int64), and quota.

A metric of the catalogue reads how often each item was listed instead: `of_items`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin

import polars as pl
from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo

from recoeval.component import Component
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.metrics.cuts import ALL, DISCOUNT, HIT_NUMBER, NO_CUT, Cut

__all__ = [
    "DISCOUNT",
    "HIT_NUMBER",
    "METRICS",
    "Accuracy",
    "Cut",
    "Measure",
    "Metric",
    "Term",
    "hits_within",
    "measures",
    "parse_metric",
]

DEEPEST = 1_000_000
"""Largest K: the table of discounts has as many rows."""

REPEATED = "repeated"
SEEN = "seen"
TIED = "tied"
DELIVERED = "delivered"

Table = Literal["hits", "truth", "lost", "removed", "delivered", "unknown", "exposed"]

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
    kind: ClassVar[Literal["accuracy", "lists", "catalogue"]] = "accuracy"
    """accuracy: of a query's hits; lists: of the delivered lists; catalogue: of all prepared
    lists together, by item."""
    takes_k: ClassVar[bool] = True
    takes_all: ClassVar[bool] = False
    """Whether it makes sense without a cut: "recall@all"."""
    statistic: ClassVar[Literal["macro", "micro"]] = "macro"
    """What `Evaluation.value`, tables and constraints read: the mean over users, or the ratio
    of sums over all lists (list quality)."""
    value_without_relevant: ClassVar[float | None] = 0.0
    """Value of a query without relevant items under `zero_relevant: one`; None leaves it out
    under every policy."""
    needs_seen: ClassVar[bool] = False
    """Whether it cannot be told without train data: what a user had seen, who knew an item."""
    needs_exposures: ClassVar[bool] = False
    """Whether it cannot be told without knowing what users were shown."""
    needs_catalogue: ClassVar[bool] = False
    """Whether it cannot be told without a catalogue: an items table, or train data."""
    formula: ClassVar[str] = ""
    """The value in one line."""
    edge_cases: ClassVar[tuple[str, ...]] = ()
    """What it gives where the formula leaves doubt."""
    peers: ClassVar[tuple[str, ...]] = ()
    """What other libraries compute under this name."""
    source: ClassVar[str]
    """Paper or library of the formula."""

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.title = name
            METRICS[name] = cls

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Returns the options in the order in which they are printed."""
        return tuple(cls.model_fields)

    @property
    def name(self) -> str:
        """The metric with the options that were given: "ndcg(gain=exponential)"."""
        given = [
            f"{option}={_printed(getattr(self, option))}"
            for option in self.option_names()
            if option in self.model_fields_set
        ]
        return f"{self.title}({', '.join(given)})" if given else self.title

    @property
    def value_of_nothing(self) -> float | None:
        """`value_without_relevant` of this metric with its options."""
        return self.value_without_relevant

    @property
    def gain_limits(self) -> tuple[float, float]:
        """Smallest and largest gain for which sums stay numbers; others are refused."""
        return 0.0, math.inf

    @property
    def needs_scores(self) -> bool:
        """Whether every listed item must have a score."""
        return False

    @property
    def needs_equal_gains(self) -> bool:
        """Whether it is defined only where all gains are 1."""
        return False

    def refuses(self, cut: Cut) -> str:
        """Returns why a list cannot be cut there for this metric, or ""."""
        if not self.takes_k:
            return "" if cut == NO_CUT else f"{self.title} has no @K"
        return f"{self.name} has no @all: name a K" if cut.at == ALL and not self.takes_all else ""

    def terms(self, cut: Cut) -> tuple[Term, ...]:
        """Returns the sums that `value` and `pooled` read."""
        return ()

    @abstractmethod
    def value(self, cut: Cut) -> pl.Expr:
        """Returns the value of a query with relevant items, Float64."""

    def pooled(self, cut: Cut) -> tuple[pl.Expr, pl.Expr] | None:
        """Returns numerator and denominator of a query for the micro average, if it has one."""
        return None

    def of_items(self, items: pl.DataFrame, users: int) -> float | None:
        """Returns the value of a catalogue metric; see `catalogue.CatalogueMetric`."""
        raise AssertionError(f"{self.title} is no metric of the catalogue")


class Accuracy(Metric):
    """A metric of what was found: the mean over users of a value of each query."""

    rel: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Only items with a gain of at least this count as relevant; queries without any are left
    out."""

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        return (*(option for option in cls.model_fields if option != "rel"), "rel")


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric at a depth: what is asked for, and the key of the result.

    Args:
        metric: the metric with its options.
        cut: where lists end; None for metrics that cut none.
    """

    metric: Metric
    cut: Cut | None

    @property
    def label(self) -> str:
        """Key of the result: "recall@100", "recall@all", or "coverage"."""
        return self.metric.name if self.cut is None else f"{self.metric.name}@{self.cut}"

    @property
    def k(self) -> int | None:
        """K if it is one number for all queries, items."""
        return None if self.cut is None else self.cut.k

    @property
    def depth(self) -> int:
        """K, or 0 where there is none."""
        return self.k or 0

    @property
    def rel(self) -> float | None:
        """The smallest gain that counts as relevant; None: every gain."""
        return self.metric.rel if isinstance(self.metric, Accuracy) else None

    @property
    def place(self) -> Cut:
        """The cut, also where there is none."""
        return self.cut or NO_CUT

    def pooled(self) -> tuple[pl.Expr, pl.Expr] | None:
        """Returns numerator and denominator of the micro average over rows of PER_QUERY.

        The sums of a measure with a smallest gain are its own; they stand there by its label.
        """
        ratio = self.metric.pooled(self.place)
        if ratio is None or self.rel is None:
            return ratio
        return pl.col(f"above {self.label}"), pl.col(f"below {self.label}")


def hits_within(cut: Cut) -> Term:
    """Returns h, the number of relevant items within the cut."""
    return Term("hits", f"hits@{cut}", cut.within.cast(pl.Int64))


def _printed(value: object) -> str:
    """Returns an option as it is written: 2 for 2.0."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


_SHAPE = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\S+?))?\s*")


def parse_metric(text: object, *, path: str = "metrics") -> tuple[Metric, Cut | None]:
    """Returns the metric and the cut of a text such as "ndcg(gain=exponential)@10".

    Args:
        text: `name(option=value, ...)@K`, K an integer, "all" or "quota"; options and K may be
            absent (then the cut is None).
        path: where the text stands, for the error.

    Raises:
        ConfigError: unknown metric or option, a value outside its choices, a bad K.

    Example:
        >>> metric, cut = parse_metric("ndcg( gain=exponential ) @10")
        >>> metric.name, cut
        ('ndcg(gain=exponential)', Cut(at=10))
    """
    if not isinstance(text, str):
        raise ConfigError(Problem(f"expected text such as recall@10, got {text!r}", path))
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
    cut = _cut_of(depth, text, path)
    reason = metric.refuses(cut)
    if reason:
        raise ConfigError(Problem(f"{reason}, got {text!r}", path))
    return metric, cut


def _cut_of(depth: str, text: str, path: str) -> Cut:
    for word in ("all", "quota"):
        if depth == word:
            return Cut(word)
    if not re.fullmatch(r"0*[1-9]\d{0,99}", depth):
        reason = f"K of {text!r}: expected an integer >= 1, all or quota, got {depth!r}"
        raise ConfigError(Problem(reason, path))
    if int(depth) > DEEPEST:
        raise ConfigError(Problem(_too_deep(text), path))
    return Cut(int(depth))


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
            known = ", ".join(cls.option_names()) or "none"
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
        wanted = _wanted(cls.model_fields[key])
        text = f"{cls.title}: {key} is {wanted}, got {options[key]!r}"
        raise ConfigError(Problem(text, path)) from None


def _wanted(field: FieldInfo) -> str:
    """Returns what an option takes, in words."""
    if get_origin(field.annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(field.annotation)))}"
    above = any(getattr(each, "gt", None) == 0 for each in field.metadata)
    return "a finite number > 0" if above else "a finite number"


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
        path = f"metrics.{index}"
        if isinstance(text, str):
            path = (paths or {}).get(text, path)
        try:
            metric, own = parse_metric(text, path=path)
        except ConfigError as error:
            problems.extend(error.problems)
            continue
        asked: tuple[Cut | None, ...] = (own,) if own is not None else tuple(map(Cut, depths))
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
