"""Constraints: bounds on metrics, as texts or mappings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, model_serializer, model_validator

from recoeval.analysis.summary import CONFIDENCE
from recoeval.component import Component, Number
from recoeval.documents.validation import Document, validate
from recoeval.errors import ConfigError, Problem
from recoeval.metrics.base import Measure, parse_metric

__all__ = ["Constraint", "constrained_measures", "read_constraints"]

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
        decided = ""
        if self.confidence != CONFIDENCE:
            level = self.confidence
            decided = ", by its value" if level is None else f", at {100 * level:.12g}%"
        return f"{self.metric} {' and '.join(bounds)}{where}{decided}"


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
    given: object = constraints
    # What is none at all is refused as a single one.
    if isinstance(given, str | Mapping | Constraint) or not isinstance(given, Iterable):
        given = [given]
    given = list(given)
    return validate(Document({"constraints": given}), _Bounds).constraints


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
