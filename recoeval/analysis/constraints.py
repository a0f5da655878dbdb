"""Constraints: bounds on metrics, and the verdict over them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field, Strict, model_serializer, model_validator

from recoeval.analysis.summary import ALL, CONFIDENCE, student_t
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CI_HIGH,
    GENERATOR,
    METRIC,
    STATISTIC,
    USERS,
    VALUE,
)
from recoeval.component import Component, Number
from recoeval.documents.validation import Document, validate
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.metrics.base import Measure, Metric, parse_metric

__all__ = [
    "Check",
    "Constraint",
    "Outcome",
    "Verdict",
    "check_constraints",
    "constrained_measures",
    "read_constraints",
]

Outcome = Literal["pass", "fail", "inconclusive"]

_SHORT = re.compile(r"\s*(\S.*?)\s*(>=|<=)\s*(\S+)\s*")


class Constraint(Component):
    """A bound on a metric: `recall@100 >= 0.15`, or a mapping with these keys."""

    metric: str
    """Metric with its K: recall@100."""
    generators: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Whom it binds; default: all that are not baselines."""
    bucket: str | None = None
    """Name of a bucket split: the bound holds for its buckets; default: overall."""
    match: str = "all"
    """all: every bucket keeps it; any: one does; or the label of one bucket."""
    min: Number | None = None
    """Smallest value allowed."""
    max: Number | None = None
    """Largest value allowed."""
    confidence: Annotated[float, Strict(), Field(gt=0.5, lt=1)] | None = CONFIDENCE
    """One-sided confidence of the decision; null: judge the point value."""
    severity: Literal["error", "warn"] = "error"
    """error: a failure makes the exit code 1; warn: it is shown."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        match = _SHORT.fullmatch(value)
        if match is None:
            raise ValueError(f"expected metric@K >= number or metric@K <= number, got {value!r}")
        metric, sign, bound = match.groups()
        try:
            number = float(bound)
        except ValueError:
            raise ValueError(f"expected a number after {sign}, got {bound!r}") from None
        return {"metric": metric, "min" if sign == ">=" else "max": number}

    @model_validator(mode="after")
    def _bounded(self) -> Constraint:
        if self.min is None and self.max is None:
            raise ValueError("expected a bound: min or max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"no value is >= {self.min:g} and <= {self.max:g}")
        if self.bucket is None and "match" in self.model_fields_set:
            raise ValueError("match chooses among buckets: give bucket as well")
        return self

    @model_serializer
    def _as_given(self) -> dict[str, Any]:
        # "confidence: null" and an absent confidence differ, so only what was given is written.
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}

    @property
    def text(self) -> str:
        """The bound in words: "recall@100 >= 0.15 in all buckets of activity"."""
        bounds = [f">= {self.min:.12g}"] if self.min is not None else []
        bounds += [f"<= {self.max:.12g}"] if self.max is not None else []
        where = ""
        if self.bucket is not None:
            which = {"all": "all buckets of ", "any": "any bucket of "}
            where = f" in {which.get(self.match, f'{self.match} of ')}{self.bucket}"
        return f"{self.metric} {' and '.join(bounds)}{where}"


class _Bounds(Component):
    constraints: tuple[Constraint, ...]


def read_constraints(
    constraints: Sequence[str | Mapping[str, Any] | Constraint] | Mapping[str, Any],
) -> tuple[Constraint, ...]:
    """Returns constraints of texts or mappings as in the configuration; a single one will do.

    Raises:
        ConfigError: all bad ones at once.

    Example:
        >>> read_constraints("recall@100 >= 0.15")[0].min
        0.15
    """
    single = isinstance(constraints, str | Mapping | Constraint)
    given = [constraints] if single else list(constraints)
    return validate(Document({"constraints": given}), _Bounds).constraints


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint on one generator in one bucket.

    Args:
        value: the metric, None where the bucket has no users.
        low: lower one-sided bound; equal to value where the point value decides.
        high: upper one-sided bound.
        users_needed: users at which the bound would be clear if value and spread stay.
    """

    constraint: str
    severity: Literal["error", "warn"]
    generator: str
    metric: str
    bucket_by: str
    bucket: str
    value: float | None
    low: float | None
    high: float | None
    users: int
    outcome: Outcome
    users_needed: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of all constraints, and whether the numbers can be believed.

    Args:
        outcome: none when there are no constraints; suspicious when the numbers cannot be
            right, whatever the constraints say; fail when a constraint of severity error
            failed; inconclusive when one of them could not be decided; else pass.
        checks: one a constraint, generator and bucket.
        outcomes: one a constraint and generator: (constraint, severity, generator, outcome).
        suspicions: what cannot be right: (generator, reason).
    """

    outcome: Outcome | Literal["none", "suspicious"]
    checks: tuple[Check, ...]
    outcomes: tuple[tuple[str, str, str, Outcome], ...]
    suspicions: tuple[tuple[str, str], ...] = ()

    @property
    def exit_code(self) -> int:
        """1 when a constraint of severity error failed or the numbers are suspicious, else 0."""
        return int(self.outcome in ("fail", "suspicious"))

    def doubted(self, suspicions: Sequence[tuple[str, str]]) -> Verdict:
        """Returns the verdict with (generator, reason) of what cannot be right."""
        if not suspicions:
            return self
        return replace(self, outcome="suspicious", suspicions=tuple(suspicions))

    def as_dict(self) -> dict[str, Any]:
        """Returns the verdict as plain values for JSON."""
        names = ("constraint", "severity", "generator", "outcome")
        return {
            "outcome": self.outcome,
            "constraints": [dict(zip(names, row, strict=True)) for row in self.outcomes],
            "checks": [asdict(check) for check in self.checks],
            "suspicions": [list(pair) for pair in self.suspicions],
        }


def constrained_measures(
    constraints: Sequence[Constraint], *, path: str = "constraints"
) -> tuple[Measure, ...]:
    """Returns the measures that the constraints name, in order.

    Raises:
        ConfigError: unknown metrics, a missing K, a confidence where there is no interval.
    """
    problems: list[Problem] = []
    found: list[Measure] = []
    for index, constraint in enumerate(constraints):
        place = f"{path}.{index}"
        try:
            metric, k = parse_metric(constraint.metric, path=f"{place}.metric")
        except ConfigError as error:
            problems.extend(error.problems)
            continue
        if k is None and metric.takes_k:
            text = f"{constraint.metric} needs a K: write {constraint.metric}@10"
            problems.append(Problem(text, f"{place}.metric"))
            continue
        asked = "confidence" in constraint.model_fields_set and constraint.confidence is not None
        if asked and metric.statistic == "micro":
            text = f"{metric.title} has no interval, its point value decides: remove confidence"
            problems.append(Problem(text, f"{place}.confidence"))
        found.append(Measure(metric, k))
    if problems:
        raise ConfigError(*problems)
    return tuple(found)


def check_constraints(
    constraints: Sequence[Constraint],
    summary: pl.DataFrame,
    *,
    baselines: Iterable[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
    path: str = "constraints",
) -> Verdict:
    """Returns the verdict over all constraints.

    Args:
        constraints: bounds.
        summary: SUMMARY with the metrics that the constraints name.
        baselines: generators that only named constraints bind.
        labels: labels of each bucket name, for labels that have no row in `summary`.
        path: where the constraints stand in the configuration, for errors.

    Raises:
        ConfigError: unknown metric, generator, bucket or label; a constraint that binds nobody.
    """
    problems: list[Problem] = []
    checks: list[Check] = []
    outcomes: list[tuple[str, str, str, Outcome]] = []
    names = summary[GENERATOR].unique(maintain_order=True).to_list()
    bound = [name for name in names if name not in set(baselines)]
    measured = constrained_measures(constraints, path=path)
    for index, (constraint, measure) in enumerate(zip(constraints, measured, strict=True)):
        found = _unknown_names(constraint, names, summary, labels or {}, f"{path}.{index}")
        if names and not bound and not constraint.generators:
            text = f"it binds nobody, all are baselines: name them: generators: [{names[0]}]"
            found.append(Problem(text, f"{path}.{index}"))
        problems += found
        for generator in () if found else constraint.generators or bound:
            rows = _check_buckets(constraint, measure.metric, generator, measure.label, summary)
            checks += rows
            outcome = _combine(constraint, rows)
            outcomes.append((constraint.text, constraint.severity, generator, outcome))
    if problems:
        raise ConfigError(*problems)
    binding = {outcome for _, severity, _, outcome in outcomes if severity == "error"}
    overall: Outcome | Literal["none"] = "pass" if outcomes else "none"
    if binding & {"fail", "inconclusive"}:
        overall = "fail" if "fail" in binding else "inconclusive"
    return Verdict(overall, tuple(checks), tuple(outcomes))


def _unknown_names(
    constraint: Constraint,
    generators: Sequence[str],
    summary: pl.DataFrame,
    labels: Mapping[str, Sequence[str]],
    path: str,
) -> list[Problem]:
    """Returns a problem for each name of the constraint that does not exist."""
    asked: list[tuple[str, str, Sequence[str]]] = [
        ("generator", name, generators) for name in constraint.generators or ()
    ]
    if constraint.bucket is not None:
        splits = [name for name in summary[BUCKET_BY].unique(maintain_order=True) if name != ALL]
        asked.append(("bucket", constraint.bucket, splits))
        if constraint.bucket in splits and constraint.match not in ("all", "any"):
            rows = summary.filter(pl.col(BUCKET_BY) == constraint.bucket)
            known = [*labels.get(constraint.bucket, ()), *rows[BUCKET]]
            known = list(dict.fromkeys(known))
            asked.append(("match", constraint.match, known))
    return [
        Problem(
            f"unknown {what} {name!r}.{did_you_mean(name, known)}"
            f" Choices: {', '.join(known) or 'none'}",
            f"{path}.{what if what != 'generator' else 'generators'}",
        )
        for what, name, known in asked
        if name not in known
    ]


def _check_buckets(
    constraint: Constraint, metric: Metric, generator: str, label: str, summary: pl.DataFrame
) -> list[Check]:
    """Returns a check for each bucket that the constraint names."""
    rows = summary.filter(
        pl.col(GENERATOR) == generator,
        pl.col(BUCKET_BY) == (constraint.bucket or ALL),
        pl.col(METRIC) == label,
        pl.col(STATISTIC) == metric.statistic,
    )
    if constraint.bucket is not None and constraint.match not in ("all", "any"):
        rows = rows.filter(pl.col(BUCKET) == constraint.match)
    found = rows.select(BUCKET, VALUE, CI_HIGH, USERS).rows()
    confidence = constraint.confidence if metric.statistic == "macro" else None
    if confidence is not None and constraint.match == "any" and found:
        # Holm's first step: "some bucket keeps it" is a claim about the best of m.
        confidence = 1 - (1 - confidence) / len(found)
    return [
        _check(constraint, generator, label, row, confidence=confidence)
        for row in found or [(constraint.match, None, None, 0)]
    ]


def _check(
    constraint: Constraint,
    generator: str,
    label: str,
    row: tuple[str, float | None, float | None, int],
    *,
    confidence: float | None,
) -> Check:
    bucket, value, ci_high, users = row
    low = high = value
    needed: int | None = None
    if value is not None and confidence is not None:
        low, high = None, None
        if ci_high is not None:
            error = (ci_high - value) / student_t(users - 1, (1 + CONFIDENCE) / 2)
            reach = student_t(users - 1, confidence) * error
            low, high = value - reach, value + reach
            needed = _users_needed(constraint, value, reach, users)
    outcome = _outcome(constraint, low, high)
    return Check(
        constraint.text,
        constraint.severity,
        generator,
        label,
        constraint.bucket or ALL,
        bucket,
        value,
        low,
        high,
        users,
        outcome,
        needed if outcome == "inconclusive" else None,
    )


def _outcome(constraint: Constraint, low: float | None, high: float | None) -> Outcome:
    """Returns pass if the interval keeps the bounds, fail if it breaks one, else inconclusive."""
    if low is None or high is None:
        return "inconclusive"
    least = -math.inf if constraint.min is None else constraint.min
    most = math.inf if constraint.max is None else constraint.max
    if high < least or low > most:
        return "fail"
    return "pass" if low >= least and high <= most else "inconclusive"


def _users_needed(constraint: Constraint, value: float, reach: float, users: int) -> int | None:
    """Returns the users at which the interval would clear the nearest bound."""
    bounds = [bound for bound in (constraint.min, constraint.max) if bound is not None]
    distance = min(abs(value - bound) for bound in bounds)
    if distance == 0:
        return None
    return math.ceil(users * (reach / distance) ** 2)


def _combine(constraint: Constraint, checks: Sequence[Check]) -> Outcome:
    """Returns the outcome over the buckets: the worst, or the best under `match: any`."""
    order: tuple[Outcome, ...] = ("fail", "inconclusive", "pass")
    if constraint.match == "any":
        order = ("pass", "inconclusive", "fail")
    found = {check.outcome for check in checks}
    return next(outcome for outcome in order if outcome in found)
