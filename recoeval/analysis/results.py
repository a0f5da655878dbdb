"""Results of an evaluation: tables, single numbers, and verdicts over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from recoeval.analysis.constraints import Constraint, constrained_measures, read_constraints
from recoeval.analysis.summary import ALL, per_user_table
from recoeval.analysis.verdict import Verdict, check_constraints
from recoeval.columns import BUCKET, BUCKET_BY, GENERATOR, METRIC, STATISTIC, VALUE
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.metrics.base import Measure, parse_metric

__all__ = ["Evaluation"]


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """Results of an evaluation; all tables are polars frames.

    Args:
        summary: SUMMARY: fold, generator, bucket_by, bucket, metric, name, k, statistic,
            queries, users, value, ci_low, ci_high, too_few_users.
        per_query: fold, generator, query_id, user_id, relevant, returned, one column a metric.
        hits: fold, generator, query_id, item_id, rank (prepared), gain.
        counts: what was read, dropped and left, by name.
        definitions: the options in force.
        measures: what was computed.
        buckets: labels of the buckets in order, by bucket name.
        baselines: generators that only constraints which name them bind.
    """

    summary: pl.DataFrame
    per_query: pl.DataFrame
    hits: pl.DataFrame
    counts: Mapping[str, Any]
    definitions: Mapping[str, Any]
    measures: tuple[Measure, ...]
    buckets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    baselines: tuple[str, ...] = ()

    def __repr__(self) -> str:
        labels = ", ".join(measure.label for measure in self.measures)
        return f"Evaluation(generators: {', '.join(self.generators)}; metrics: {labels})"

    @property
    def per_user(self) -> pl.DataFrame:
        """PER_USER: the mean of per_query by fold, generator and user."""
        return per_user_table(self.per_query, self.measures)

    @property
    def generators(self) -> tuple[str, ...]:
        """The generators in the order of the result."""
        return tuple(self.summary[GENERATOR].unique(maintain_order=True))

    def value(
        self, metric: str, generator: str | None = None, bucket: str | None = None
    ) -> float | None:
        """Returns one number: the mean over users (list-quality metrics: the pooled ratio).

        Args:
            metric: label such as "recall@10".
            generator: which generator; may be left out when there is one.
            bucket: label of a bucket, or "name:label" where several buckets share a label;
                None is overall.

        Raises:
            ConfigError: unknown or ambiguous names; the error lists the choices.
        """
        known = {measure.label: measure for measure in self.measures}
        found, k = parse_metric(metric, path="metric")
        measure = known.get(Measure(found, k).label)
        if measure is None:
            raise _no_such("metric", metric, known)
        generator = _one_of("generator", generator, self.generators)
        rows = self.summary.filter(
            pl.col(METRIC) == measure.label,
            pl.col(GENERATOR) == generator,
            pl.col(STATISTIC) == measure.metric.statistic,
        )
        places = {f"{by}:{label}": (by, label) for by, label in rows[BUCKET_BY, BUCKET].iter_rows()}
        by, label = places[_place(bucket, places)]
        values = rows.filter(pl.col(BUCKET_BY) == by, pl.col(BUCKET) == label)[VALUE]
        return None if values[0] is None else float(values[0])

    def check(
        self, constraints: Sequence[str | Mapping[str, Any] | Constraint] | Mapping[str, Any]
    ) -> Verdict:
        """Returns the verdict of constraints such as "recall@100 >= 0.15".

        Args:
            constraints: texts or mappings as in the configuration; a single one will do.

        Raises:
            ConfigError: a bad constraint, or one on a metric that was not computed.
        """
        bound = read_constraints(constraints)
        known = [measure.label for measure in self.measures]
        for index, measure in enumerate(constrained_measures(bound)):
            if measure.label not in known:
                place = f"constraints.{index}.metric"
                text = f"{measure.label} was not computed here. Choices: {', '.join(known)}"
                raise ConfigError(Problem(text, place))
        return check_constraints(bound, self.summary, baselines=self.baselines, labels=self.buckets)


def _no_such(what: str, name: str, choices: Iterable[str]) -> ConfigError:
    names = list(choices)
    hint = did_you_mean(name, names)
    text = f"unknown {what} {name!r}.{hint} Choices: {', '.join(names)}"
    return ConfigError(Problem(text, what))


def _one_of(what: str, name: str | None, choices: Sequence[str]) -> str:
    """Returns the name if it is a choice, or the only choice if there is no name."""
    if name is None and len(choices) == 1:
        return choices[0]
    if name is None:
        raise ConfigError(Problem(f"which one? Choices: {', '.join(choices)}", what))
    if name not in choices:
        raise _no_such(what, name, choices)
    return name


def _place(bucket: str | None, places: Mapping[str, tuple[str, str]]) -> str:
    """Returns the key of the bucket that is meant."""
    if bucket is None:
        return f"{ALL}:{ALL}"
    if bucket in places:
        return bucket
    found = [key for key, (_, label) in places.items() if label == bucket]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(Problem(f"which one? Choices: {', '.join(found)}", "bucket"))
    raise _no_such("bucket", bucket, places)
