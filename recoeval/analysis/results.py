"""Results of an evaluation: tables, single numbers, and verdicts over them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from recoeval.analysis.constraints import Constraint, constrained_measures, read_constraints
from recoeval.analysis.spread import spread_over_folds
from recoeval.analysis.summary import ALL, per_user_table
from recoeval.analysis.verdict import Verdict, check_constraints
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CHANNELS_SCHEMA,
    FOLD,
    FUNNEL_SCHEMA,
    GENERATOR,
    LOSS_SCHEMA,
    MERGE,
    METRIC,
    OTHER,
    OVERLAP_SCHEMA,
    STATISTIC,
    VALUE,
    WHAT_IF_SCHEMA,
)
from recoeval.data.ordering import starts_of
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.metrics.base import Measure, parse_metric

__all__ = ["Evaluation", "by_generator", "merge_folds"]

_TABLES: Final = (
    *("summary", "per_query", "hits", "lost_pairs", "loss"),
    *("channels", "overlap", "what_if", "funnel"),
)
"""What has rows of its own for each fold."""
_OF_SEVERAL: Final = ("channels", "overlap", "what_if", "funnel")
"""Of these, what tells of several generators at once."""


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
        lost_pairs: LOST as a plan: most relevant pairs are in it, and it is seldom read.
        loss: LOSS: relevant pairs by cause, for each bucket and K.
        channels: CHANNELS: what each channel of a merge or group adds, and its slots.
        overlap: OVERLAP: how much of two channels is the same.
        what_if: WHAT_IF: recall of a merge with other slots for a channel.
        funnel: FUNNEL: what becomes of relevant pairs from stage to stage.
    """

    summary: pl.DataFrame
    per_query: pl.DataFrame
    hits: pl.DataFrame
    counts: Mapping[str, Any]
    definitions: Mapping[str, Any]
    measures: tuple[Measure, ...]
    buckets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    baselines: tuple[str, ...] = ()
    lost_pairs: pl.LazyFrame = field(default_factory=pl.LazyFrame)
    loss: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LOSS_SCHEMA))
    channels: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CHANNELS_SCHEMA))
    overlap: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=OVERLAP_SCHEMA))
    what_if: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=WHAT_IF_SCHEMA))
    funnel: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FUNNEL_SCHEMA))

    def __repr__(self) -> str:
        labels = ", ".join(measure.label for measure in self.measures)
        return f"Evaluation(generators: {', '.join(self.generators)}; metrics: {labels})"

    @property
    def lost(self) -> pl.DataFrame:
        """LOST: fold, generator, query_id, item_id, gain, cause of what is in no list."""
        return self.lost_pairs.collect()

    @property
    def per_user(self) -> pl.DataFrame:
        """PER_USER: the mean of per_query by fold, generator and user."""
        return per_user_table(self.per_query, self.measures)

    @property
    def generators(self) -> tuple[str, ...]:
        """The generators in the order of the result."""
        return tuple(self.summary[GENERATOR].unique(maintain_order=True))

    @property
    def folds(self) -> pl.DataFrame:
        """For each number its mean over the folds, sd, min and max; empty with one fold."""
        return spread_over_folds(self.summary)

    def without(self, generators: Collection[str]) -> Evaluation:
        """Returns the results of the other generators."""
        if not generators:
            return self
        tables: dict[str, Any] = {
            name: _without(getattr(self, name), generators, whole=name in _OF_SEVERAL)
            for name in _TABLES
        }
        lists = self.counts.get("lists", {})
        left = {name: counts for name, counts in lists.items() if name not in generators}
        return replace(self, **tables, counts={**self.counts, "lists": left})

    def without_group(self, name: str) -> Evaluation:
        """Returns the results without what is told of a group of channels."""
        tables: dict[str, Any] = {
            table: getattr(self, table).filter(pl.col(MERGE) != name)
            for table in _OF_SEVERAL
            if MERGE in getattr(self, table).columns
        }
        return replace(self, **tables)

    def value(
        self,
        metric: str,
        generator: str | None = None,
        bucket: str | None = None,
        *,
        fold: int | None = None,
    ) -> float | None:
        """Returns one number: the mean over users (list-quality metrics: the pooled ratio).

        Args:
            metric: label such as "recall@10".
            generator: which generator; may be left out when there is one.
            bucket: label of a bucket, or "name:label" where several buckets share a label;
                None is overall.
            fold: number of a fold; None is the mean over the folds that have the number.

        Raises:
            ConfigError: unknown or ambiguous names; the error lists the choices.
        """
        known = {measure.label: measure for measure in self.measures}
        found, k = parse_metric(metric, path="metric")
        measure = known.get(Measure(found, k).label)
        if measure is None:
            raise _no_such("metric", metric, known)
        generator = _one_of("generator", generator, self.generators)
        summary = self.summary
        if fold is not None:
            summary = _of_fold(summary, fold)
        rows = summary.filter(
            pl.col(METRIC) == measure.label,
            pl.col(GENERATOR) == generator,
            pl.col(STATISTIC) == measure.metric.statistic,
        )
        by, label = _place(bucket, rows[BUCKET_BY, BUCKET].unique(maintain_order=True).rows())
        found_rows = rows.filter(pl.col(BUCKET_BY) == by, pl.col(BUCKET) == label)
        if found_rows.height > 1:
            found_rows = spread_over_folds(found_rows).rename({"mean": VALUE})
        number = found_rows[VALUE].item()
        return None if number is None else float(number)

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


def by_generator(per_query: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yields each generator of PER_QUERY with its rows; those that stand together are not copied.

    Example:
        >>> table = pl.DataFrame({"generator": ["b", "b", "a"], "returned": [1, 2, 3]})
        >>> [(name, rows["returned"].to_list()) for name, rows in by_generator(table)]
        [('b', [1, 2]), ('a', [3])]
    """
    starts = starts_of(per_query[GENERATOR])
    names = per_query[GENERATOR].gather(starts)
    if names.n_unique() < len(names):
        groups = per_query.group_by([GENERATOR], maintain_order=True)
        yield from ((str(name), rows) for (name,), rows in groups)
        return
    lengths = np.diff(starts, append=per_query.height)
    for name, start, length in zip(names, starts.tolist(), lengths.tolist(), strict=True):
        yield str(name), per_query.slice(start, length)


def _without(table: Any, generators: Collection[str], *, whole: bool) -> Any:
    """Returns the rows of other generators.

    Args:
        table: with a column generator.
        generators: whose rows leave.
        whole: whether those of all that they are told with leave as well: their groups, or,
            where there are none, everything.
    """
    own = pl.col(GENERATOR).is_in(list(generators))
    if not whole:
        return table.filter(~own)
    if OTHER in table.columns:
        own |= pl.col(OTHER).is_in(list(generators))
    if MERGE in table.columns:
        named = table.filter(own)[MERGE].unique()
        return table.filter(~pl.col(MERGE).is_in(named.implode()))
    return table.filter(~own.any())


def merge_folds(parts: Sequence[Evaluation]) -> Evaluation:
    """Returns the results of several folds as one.

    Args:
        parts: at least one, each of one fold, in the order of the folds, with the same measures
            and generators.

    Returns:
        All tables one below the other. Counts are the sums over the folds, and each fold's own
        under "folds"; a definition that differs between folds is the list of its values.

    Raises:
        ConfigError: there is no part.
    """
    if not parts:
        raise ConfigError(Problem("expected the results of at least one fold", "folds"))
    first = parts[0]
    if len(parts) == 1:
        return first
    buckets: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for name, labels in part.buckets.items():
            buckets[name] = tuple(dict.fromkeys((*buckets.get(name, ()), *labels)))
    definitions = [part.definitions for part in parts]
    tables = {name: pl.concat([getattr(part, name) for part in parts]) for name in _TABLES}
    return replace(
        first,
        **tables,
        counts={
            **_sum_counts([part.counts for part in parts]),
            "folds": [dict(part.counts) for part in parts],
        },
        definitions={
            name: _shared([each.get(name) for each in definitions])
            for name in dict.fromkeys(key for each in definitions for key in each)
        },
        buckets=buckets,
    )


def _sum_counts(counts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the sums of equally named counts; what is no count is kept where all agree."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(key for each in counts for key in each):
        values = [each[name] for each in counts if name in each]
        if all(isinstance(value, Mapping) for value in values):
            found[name] = _sum_counts(values)
        elif all(type(value) is int for value in values):
            found[name] = sum(values)
        else:
            found[name] = _shared(values)
    return found


def _shared(values: list[Any]) -> Any:
    """Returns the value that all have, or the list of them."""
    return values[0] if all(value == values[0] for value in values) else values


def _of_fold(summary: pl.DataFrame, fold: object) -> pl.DataFrame:
    """Returns the rows of a fold."""
    known = {str(number): number for number in summary[FOLD].unique(maintain_order=True)}
    number = known.get(str(fold))
    if number is None:
        text = f"unknown fold {fold!r}. Choices: {', '.join(known)}"
        raise ConfigError(Problem(text, "fold"))
    return summary.filter(pl.col(FOLD) == number)


def _no_such(what: str, name: object, choices: Iterable[str]) -> ConfigError:
    if not isinstance(name, str):
        return ConfigError(Problem(f"expected text, got {name!r}", what))
    names = list(choices)
    hint = did_you_mean(name, names)
    text = f"unknown {what} {name!r}.{hint} Choices: {', '.join(names)}"
    return ConfigError(Problem(text, what))


def _one_of(what: str, name: object, choices: Sequence[str]) -> str:
    """Returns the name if it is a choice, or the only choice if there is no name."""
    if name is None and len(choices) == 1:
        return choices[0]
    if name is None:
        raise ConfigError(Problem(f"which one? Choices: {', '.join(choices)}", what))
    if not isinstance(name, str) or name not in choices:
        raise _no_such(what, name, choices)
    return name


def _place(bucket: str | None, places: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Returns the name and the label of the bucket that is meant.

    Args:
        bucket: a label, or "name:label"; None is overall.
        places: the name and the label of each bucket.
    """
    if bucket is None:
        return ALL, ALL
    found = _meant(bucket, places)
    if not found:
        raise _no_such("bucket", bucket, [_texts(place)[0] for place in places])
    if len(found) == 1:
        return found[0]
    # A text of each that means it alone: "a:b" may be the bucket a, b or the label of another.
    choices = [
        next((text for text in _texts(place) if len(_meant(text, places)) == 1), None)
        or "{1!r} of {0!r} (in summary only)".format(*place)
        for place in found
    ]
    raise ConfigError(Problem(f"which one? Choices: {', '.join(choices)}", "bucket"))


def _texts(place: tuple[str, str]) -> tuple[str, str]:
    """Returns what a bucket may be called."""
    return f"{place[0]}:{place[1]}", place[1]


def _meant(bucket: object, places: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the buckets that a text may mean."""
    return [place for place in places if isinstance(bucket, str) and bucket in _texts(place)]
