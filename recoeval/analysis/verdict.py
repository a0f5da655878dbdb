"""Verdicts: constraints held against a summary, and what they come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import polars as pl

from recoeval.analysis.constraints import Constraint, constrained_measures
from recoeval.analysis.student import student_t
from recoeval.analysis.summary import ALL, CONFIDENCE, SERVED
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CI_HIGH,
    FOLD,
    GENERATOR,
    METRIC,
    STATISTIC,
    USERS,
    VALUE,
)
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.metrics.base import Measure, Metric

__all__ = ["Check", "Failure", "Outcome", "Verdict", "check_constraints"]

Outcome = Literal["pass", "fail", "inconclusive"]

WORST_FIRST: tuple[Outcome, ...] = ("fail", "inconclusive", "pass")

ROUNDING = 1e-12
"""A mean of a thousand thirds may miss 1/3 by its last bits: that breaks no bound."""


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint on one generator in one bucket of one fold.

    Args:
        value: the metric, None where the bucket has no users.
        low: lower one-sided bound; equal to value where the point value decides.
        high: upper one-sided bound.
        users_needed: users at which the bound would be clear if value and spread stay.
        fold: number of the fold.
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
    fold: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A generator that gave no lists, while others did.

    Args:
        generator: its name.
        exit_code: of the error.
        messages: what went wrong, one a problem, with their places.
    """

    generator: str
    exit_code: int
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of all constraints, and whether the numbers can be believed.

    Args:
        outcome: partial when a generator failed, whatever the others did; none when there are
            no constraints; suspicious when the numbers cannot be right, whatever the
            constraints say; fail when a constraint of severity error failed; inconclusive when
            one of them could not be decided; else pass.
        checks: one a constraint, generator, fold and bucket.
        outcomes: one a constraint and generator: (constraint, severity, generator, outcome).
        suspicions: what cannot be right: (generator, reason).
        failures: generators that failed; their constraints are not judged.
    """

    outcome: Outcome | Literal["none", "suspicious", "partial"]
    checks: tuple[Check, ...]
    outcomes: tuple[tuple[str, str, str, Outcome], ...]
    suspicions: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def exit_code(self) -> int:
        """The highest of: 1 when a constraint of severity error failed, those of failures; or 0."""
        broken = any(row[1] == "error" and row[3] == "fail" for row in self.outcomes)
        failed = broken or bool(self.suspicions) or self.outcome in ("fail", "suspicious")
        return max([int(failed), *(failure.exit_code for failure in self.failures)])

    def doubted(self, suspicions: Sequence[tuple[str, str]]) -> Verdict:
        """Returns the verdict with (generator, reason) of what cannot be right."""
        if not suspicions:
            return self
        return replace(self, outcome="suspicious", suspicions=tuple(suspicions))

    def without(self, failures: Sequence[Failure]) -> Verdict:
        """Returns the verdict of a run in which generators failed."""
        if not failures:
            return self
        return replace(self, outcome="partial", failures=tuple(failures))

    def as_dict(self) -> dict[str, Any]:
        """Returns the verdict as plain values for JSON."""
        names = ("constraint", "severity", "generator", "outcome")
        return {
            "outcome": self.outcome,
            "constraints": [dict(zip(names, row, strict=True)) for row in self.outcomes],
            "checks": [asdict(check) for check in self.checks],
            "suspicions": [list(pair) for pair in self.suspicions],
            "failures": [asdict(failure) for failure in self.failures],
        }


def check_constraints(
    constraints: Sequence[Constraint],
    summary: pl.DataFrame,
    *,
    baselines: Iterable[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
    path: str = "constraints",
) -> Verdict:
    """Returns the verdict over all constraints: each fold has to keep them.

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
        elif not found:
            found = _not_split(constraint, measure, summary, f"{path}.{index}")
        problems += found
        for generator in () if found else constraint.generators or bound:
            own = summary.filter(pl.col(GENERATOR) == generator)
            rows = _check_folds(constraint, measure.metric, generator, measure.label, own)
            checks += rows
            outcome = _worst_fold(constraint, rows)
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
        if constraint.bucket != SERVED:
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


def _not_split(
    constraint: Constraint, measure: Measure, summary: pl.DataFrame, path: str
) -> list[Problem]:
    """Returns a problem if the metric has no numbers by the constraint's bucket."""
    bucket = constraint.bucket
    if bucket is None or measure.metric.kind == "accuracy":
        return []
    if summary.filter(pl.col(METRIC) == measure.label, pl.col(BUCKET_BY) == bucket).height:
        return []
    text = f"{measure.label} is not split by {bucket}: choose a metric of relevant items"
    return [Problem(text, f"{path}.bucket")]


def _check_folds(
    constraint: Constraint, metric: Metric, generator: str, label: str, summary: pl.DataFrame
) -> list[Check]:
    """Returns a check for each fold and each bucket that the constraint names."""
    numbers = summary.filter(pl.col(METRIC) == label, pl.col(STATISTIC) == metric.statistic)
    rows = _of_bucket(numbers, constraint.bucket or ALL)
    if constraint.bucket is not None and constraint.match not in ("all", "any"):
        rows = rows.filter(pl.col(BUCKET) == constraint.match)
    confidence = constraint.confidence if metric.statistic == "macro" else None
    checks = []
    folds = summary[FOLD].unique(maintain_order=True).to_list()
    known = rows.filter(pl.col(VALUE).is_not_null())
    for fold in folds:
        found = rows.filter(pl.col(FOLD) == fold).select(BUCKET, VALUE, CI_HIGH, USERS).rows()
        here = known.filter(pl.col(FOLD) == fold).height
        levels = None
        if confidence is not None:
            any_bucket = constraint.match == "any"
            breaks = known[FOLD].n_unique() if any_bucket else known.height
            levels = _levels(confidence, keeps=here if any_bucket else 1, breaks=breaks)
        checks += [
            _check(constraint, generator, label, (fold, *row), levels)
            for row in found or [(constraint.match, None, None, 0)]
        ]
    return checks


def _of_bucket(numbers: pl.DataFrame, bucket_by: str) -> pl.DataFrame:
    """Returns the rows of a split; in folds where every query has a list all are served."""
    rows = numbers.filter(pl.col(BUCKET_BY) == bucket_by)
    if bucket_by != SERVED:
        return rows
    whole = numbers.filter(pl.col(BUCKET_BY) == ALL, ~pl.col(FOLD).is_in(rows[FOLD].implode()))
    named = whole.with_columns(pl.lit(SERVED).alias(BUCKET_BY), pl.lit(SERVED).alias(BUCKET))
    return pl.concat([rows, named])


def _levels(confidence: float, *, keeps: int, breaks: int) -> tuple[float, float]:
    """Returns the levels at which a bucket keeps and breaks the bound.

    "All buckets keep it" and "all break it" need no correction. "Some bucket keeps it", "some
    bucket breaks it" and "some fold breaks it" are claims about the best of m, judged by Holm's
    first step.

    Args:
        confidence: of the claim.
        keeps: m of the claim that the bound is kept.
        breaks: m of the claim that it is broken.
    """
    keep, broken = (1 - (1 - confidence) / m if m > 1 else confidence for m in (keeps, breaks))
    return keep, broken


def _check(
    constraint: Constraint,
    generator: str,
    label: str,
    row: tuple[int, str, float | None, float | None, int],
    levels: tuple[float, float] | None,
) -> Check:
    fold, bucket, value, ci_high, users = row
    low = high = value
    needed: int | None = None
    outcome: Outcome = "inconclusive"
    if value is not None and levels is None:
        outcome = _outcome(constraint, value, (0.0, 0.0))
    elif value is not None and levels is not None and ci_high is not None:
        error = (ci_high - value) / student_t(users - 1, (1 + CONFIDENCE) / 2)
        keep, broken = (student_t(users - 1, level) * error for level in levels)
        outcome = _outcome(constraint, value, (keep, broken))
        inside = _outcome(constraint, value, (0.0, 0.0)) == "pass"
        # The interval that decides on this side of the bounds: to keep them, or to break one.
        reach = keep if inside else broken
        low, high = value - reach, value + reach
        needed = _users_needed(constraint, value, reach, users)
    elif levels is not None:
        low = high = None
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
        fold,
    )


def _outcome(constraint: Constraint, value: float, reach: tuple[float, float]) -> Outcome:
    """Returns pass if the interval keeps the bounds, fail if it breaks one, else inconclusive.

    Args:
        constraint: the bounds.
        value: the metric.
        reach: half-widths of the intervals that keep and that break a bound.
    """
    keep, broken = reach
    least = -math.inf if constraint.min is None else constraint.min - ROUNDING
    most = math.inf if constraint.max is None else constraint.max + ROUNDING
    if value + broken < least or value - broken > most:
        return "fail"
    return "pass" if value - keep >= least and value + keep <= most else "inconclusive"


def _users_needed(constraint: Constraint, value: float, reach: float, users: int) -> int | None:
    """Returns the users at which the interval would clear the nearest bound."""
    bounds = [bound for bound in (constraint.min, constraint.max) if bound is not None]
    distance = min(abs(value - bound) for bound in bounds)
    if distance == 0:
        return None
    return math.ceil(users * (reach / distance) ** 2)


def _worst_fold(constraint: Constraint, checks: Sequence[Check]) -> Outcome:
    """Returns the worst outcome of the folds."""
    by_fold: dict[int, list[Check]] = {}
    for check in checks:
        by_fold.setdefault(check.fold, []).append(check)
    found = {_combine(constraint, rows) for rows in by_fold.values()}
    return next(outcome for outcome in WORST_FIRST if outcome in found)


def _combine(constraint: Constraint, checks: Sequence[Check]) -> Outcome:
    """Returns the outcome over the buckets: the worst, or the best under `match: any`."""
    order = WORST_FIRST if constraint.match != "any" else WORST_FIRST[::-1]
    found = {check.outcome for check in checks}
    return next(outcome for outcome in order if outcome in found)
