"""The notebook entry: evaluate lists against a truth. The workflow scores through it too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from recoeval.analysis.constraints import (
    Constraint,
    Verdict,
    check_constraints,
    constrained_measures,
)
from recoeval.analysis.summary import ALL, per_user_table, summarise
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    FOLD,
    GAIN,
    GENERATOR,
    ITEM_ID,
    METRIC,
    QUERY_ID,
    RANK,
    RELEVANT,
    RETURNED,
    STATISTIC,
    TRAIN_INTERACTIONS,
    TRAIN_ROWS,
    USER_ID,
    VALUE,
)
from recoeval.data.buckets import Bucket, Buckets, assign_buckets
from recoeval.data.inputs import (
    check_ids,
    count_lists,
    read_recs,
    read_train,
    read_truth,
    read_users,
)
from recoeval.data.queries import pairs_by_query
from recoeval.data.truth import Policies, Truth, apply_policies
from recoeval.engine.local import Scored, Scorer
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.metrics.base import Measure, measures, parse_metric
from recoeval.validation import validate_all, validate_one

__all__ = ["Evaluation", "Evaluator", "evaluate"]

DEEPEST = 1_000_000


@dataclass(frozen=True, slots=True)
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

    def check(self, constraints: Sequence[str | Mapping[str, Any] | Constraint]) -> Verdict:
        """Returns the verdict of constraints such as "recall@100 >= 0.15".

        Args:
            constraints: texts or mappings as in the configuration.

        Raises:
            ConfigError: a bad constraint, or one on a metric that was not computed.
        """
        bound = validate_all(Constraint, constraints, path="constraints")
        known = {measure.label for measure in self.measures}
        for index, measure in enumerate(constrained_measures(bound)):
            if measure.label not in known:
                raise _no_such("metric", measure.label, known, f"constraints.{index}.metric")
        return check_constraints(bound, self.summary, baselines=self.baselines, labels=self.buckets)


def _no_such(what: str, name: str, choices: Iterable[str], path: str | None = None) -> ConfigError:
    names = list(choices)
    hint = did_you_mean(name, names)
    text = f"unknown {what} {name!r}.{hint} Choices: {', '.join(names)}"
    return ConfigError(Problem(text, what if path is None else path))


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


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Scores generators one by one against one truth.

    Args:
        scorer: the engine with truth, seen pairs and measures.
        truth: what the lists are held against.
        buckets: bucket of each evaluated query.
    """

    scorer: Scorer
    truth: Truth
    buckets: Buckets

    @classmethod
    def of(
        cls,
        truth: Truth,
        measured: Sequence[Measure],
        *,
        seen: pl.LazyFrame | None,
        activity: pl.LazyFrame | None,
        buckets: Mapping[str, Bucket],
    ) -> Evaluator:
        """Returns an evaluator for this truth.

        Args:
            truth: result of `apply_policies`.
            measured: what to compute.
            seen: distinct (user_id, item_id) pairs; None without train data.
            activity: user_id, train_interactions, train_rows; None without train data.
            buckets: bucket rules by name.

        Raises:
            ConfigError: a metric or a bucket needs train data and there is none.
        """
        if seen is None:
            for measure in measured:
                if measure.metric.needs_seen:
                    text = f"{measure.metric.title} needs train data: give train="
                    raise ConfigError(Problem(text, "metrics"))
        pairs = None
        if seen is not None:
            known = pairs_by_query(seen, truth.queries.lazy())
            pairs = known.collect(engine="streaming").lazy()
        scorer = Scorer.of(
            truth.queries,
            truth.pairs,
            measured,
            seen=pairs,
            drop_seen=truth.policies["repeats"] == "exclude",
            without_relevant="one" if truth.policies["zero_relevant"] == "one" else "zero",
        )
        attributes = scorer.relevant
        if activity is not None:
            facts = activity.select(USER_ID, TRAIN_INTERACTIONS, TRAIN_ROWS)
            users = attributes.lazy().join(facts, on=USER_ID, how="left", maintain_order="left")
            filled = pl.col(TRAIN_INTERACTIONS, TRAIN_ROWS).cast(pl.Int64).fill_null(0)
            attributes = users.with_columns(filled).collect(engine="streaming")
        return cls(scorer, truth, assign_buckets(attributes, buckets))

    def score(self, lists: pl.LazyFrame, queries: pl.DataFrame | None = None) -> Scored:
        """Returns what the delivered lists of one generator give, for a block of queries."""
        return self.scorer.score(lists, queries)

    def evaluation(
        self,
        scored: Mapping[str, Sequence[Scored]],
        *,
        counts: Mapping[str, Any],
        definitions: Mapping[str, Any],
        baselines: Sequence[str] = (),
    ) -> Evaluation:
        """Returns the result tables.

        Args:
            scored: for each generator the results of its blocks, which together hold every
                evaluated query once.
            counts: what was read and dropped.
            definitions: options in force besides the policies.
            baselines: generators that only constraints which name them bind.
        """
        measured = self.scorer.measures
        wanted = [QUERY_ID, USER_ID, RELEVANT, RETURNED, *(each.label for each in measured)]
        summaries, rows, hits = [], [], []
        for name, parts in scored.items():
            keys = (pl.lit(0, pl.Int64).alias(FOLD), pl.lit(name).alias(GENERATOR))
            sums = pl.concat([part.per_query for part in parts]).sort(USER_ID, QUERY_ID)
            summaries.append(summarise(sums, measured, self.buckets, generator=name))
            rows.append(sums.select(*keys, *wanted))
            found = pl.concat([part.hits for part in parts]).sort(QUERY_ID, RANK)
            hits.append(found.select(*keys, QUERY_ID, ITEM_ID, RANK, GAIN))
        return Evaluation(
            pl.concat(summaries),
            pl.concat(rows),
            pl.concat(hits),
            counts,
            {**definitions, "policies": dict(self.truth.policies)},
            measured,
            self.buckets.order,
            tuple(baselines),
        )


def evaluate(
    recs: object,
    truth: object,
    *,
    metrics: Sequence[str] = ("recall", "precision", "hit_rate", "ndcg"),
    k: Sequence[int] | int = (10, 100),
    train: object | None = None,
    users: object | None = None,
    buckets: Mapping[str, Any] | None = None,
    policies: Mapping[str, str] | None = None,
) -> Evaluation:
    """Returns the metrics of lists against a truth.

    Inputs are polars frames (lazy too), objects with the Arrow stream protocol (pandas,
    pyarrow, duckdb), paths or globs, or TREC run and qrels files. They are never changed.

    Args:
        recs: user_id (or query_id), item_id (integers or text), rank (>= 1) or score (higher
            is better), optionally generator.
        truth: user_id (or query_id, or both), item_id, optionally gain (> 0, default 1).
        metrics: texts such as "recall" or "ndcg(gain=exponential)@10".
        k: depths for the metrics that name none, items, >= 1.
        train: user_id, item_id: what users did before; makes the repeats and cold policies,
            seen_share and buckets by activity possible.
        users: user_id (or query_id) of everyone who could have been evaluated; needed by
            `zero_relevant` other than skip.
        buckets: bucket rules by name, as in the configuration.
        policies: zero_relevant, repeats, cold_users, cold_items, as in the configuration.

    Raises:
        ConfigError: unknown metrics, policies or buckets; an option that needs train data.
        DataError: missing columns, ids of different types, no common ids, bad scores or ranks.

    Example:
        >>> recs = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "rank": [1, 2]})
        >>> truth = pl.DataFrame({"user_id": [1], "item_id": [8]})
        >>> evaluate(recs, truth, metrics=["precision"], k=[2]).value("precision@2")
        0.5
    """
    measured = measures(list(metrics), check_depths(k))
    refuse_too_deep(measured)
    rule = validate_one(Policies, policies or {}, path="policies")
    splits = {
        name: validate_one(Bucket, bucket, path=f"buckets.{name}")
        for name, bucket in (buckets or {}).items()
    }
    asked = read_truth(truth)
    lists = read_recs(recs)
    history = read_train(train)
    universe = read_users(users, asked.queries)
    check_ids(lists, asked, history, universe)
    kept = apply_policies(
        asked.pairs.lazy(),
        asked.queries,
        rule,
        universe=universe,
        seen=history.pairs,
        warm_users=history.pairs,
        warm_items=history.pairs,
    )
    evaluator = Evaluator.of(
        kept,
        measured,
        seen=history.pairs,
        activity=history.activity,
        buckets=splits,
    )
    scored = {name: [evaluator.score(rows)] for name, rows in lists.by_generator.items()}
    found = {
        name: count_lists(rows, lists.facts[name], kept.queries)
        for name, rows in lists.by_generator.items()
    }
    return evaluator.evaluation(
        scored,
        counts={"truth": {**asked.counts, **kept.counts}, "lists": found},
        definitions={"cutoff": None},
    )


def refuse_too_deep(measured: Iterable[Measure]) -> None:
    """Refuses a K for which the table of discounts alone would fill the memory.

    Raises:
        ConfigError: a K above 1,000,000.
    """
    for measure in measured:
        if measure.depth > DEEPEST:
            text = f"{measure.label}: lists are evaluated to a depth of at most {DEEPEST}"
            raise ConfigError(Problem(text, "k"))


def check_depths(k: Sequence[Any] | int) -> tuple[int, ...]:
    """Returns the depths.

    Raises:
        ConfigError: a depth that is no integer >= 1.
    """
    depths = (k,) if isinstance(k, int) else tuple(k)
    problems = [
        Problem(f"expected an integer >= 1, got {depth!r}", f"k.{index}")
        for index, depth in enumerate(depths)
        if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1
    ]
    if problems:
        raise ConfigError(*problems)
    return depths
