"""The notebook entry: evaluate lists against a truth. The workflow scores through it too."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import polars as pl

from recoeval.analysis.results import Evaluation
from recoeval.analysis.summary import summarise
from recoeval.columns import (
    FOLD,
    GAIN,
    GENERATOR,
    ITEM_ID,
    QUERY_ID,
    RANK,
    RELEVANT,
    RETURNED,
    TRAIN_INTERACTIONS,
    TRAIN_ROWS,
    USER_ID,
)
from recoeval.component import Component
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
from recoeval.documents.validation import Document, validate
from recoeval.engine.local import Scored, Scorer
from recoeval.errors import ConfigError, Problem
from recoeval.metrics.base import Measure, measures

__all__ = ["Evaluation", "Evaluator", "evaluate"]


class _Options(Component):
    """What `evaluate` takes as mappings."""

    policies: Policies
    buckets: dict[str, Bucket]


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
            self.buckets.known,
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
    texts = list(metrics) if isinstance(metrics, list | tuple) else [metrics]
    measured = measures(texts, check_depths(k))
    asked_for = Document({"policies": policies or {}, "buckets": buckets or {}})
    options = validate(asked_for, _Options)
    asked = read_truth(truth)
    lists = read_recs(recs, users_are_queries=asked.users_are_queries)
    history = read_train(train)
    universe = read_users(users, asked.queries)
    check_ids(lists, asked, history, universe)
    kept = apply_policies(
        asked.pairs.lazy(),
        asked.queries,
        options.policies,
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
        buckets=options.buckets,
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


def check_depths(k: object) -> tuple[int, ...]:
    """Returns the depths of one integer, or of several.

    Raises:
        ConfigError: a depth that is no integer >= 1.
    """
    depths: list[Any] = [k]
    if isinstance(k, Iterable) and not isinstance(k, str):
        depths = list(k)
    problems = [
        Problem(f"expected an integer >= 1, got {depth!r}", f"k.{index}")
        for index, depth in enumerate(depths)
        if not isinstance(depth, SupportsIndex) or depth is True or operator.index(depth) < 1
    ]
    if problems:
        raise ConfigError(*problems)
    return tuple(operator.index(depth) for depth in depths)
