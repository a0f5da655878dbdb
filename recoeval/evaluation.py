"""The notebook entry: evaluate lists against a truth. The workflow scores through it too."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from recoeval.analysis.evaluator import Evaluator
from recoeval.analysis.results import Evaluation, merge_folds
from recoeval.columns import ITEM_ID, USER_ID
from recoeval.component import Component
from recoeval.data.background import Background
from recoeval.data.buckets import Bucket
from recoeval.data.inputs import History, check_ids, read_recs, read_train, read_truth, said
from recoeval.data.sampling import SampleShare, Seed, sample_definition, sample_queries
from recoeval.data.sidetables import Universe, read_exposures, read_items, read_universe
from recoeval.data.truth import Policies, Truth, apply_policies
from recoeval.documents.validation import Document, validate
from recoeval.errors import ConfigError, Problem
from recoeval.metrics.base import measures

__all__ = ["Evaluation", "evaluate", "merge_folds"]


class _Options(Component):
    """What `evaluate` takes as mappings."""

    policies: Policies
    buckets: dict[str, Bucket]
    sample_users: SampleShare | None = None
    seed: Seed = 7


def evaluate(
    recs: object,
    truth: object,
    *,
    metrics: Sequence[str] = ("recall", "precision", "hit_rate", "ndcg"),
    k: Sequence[int] | int = (10, 100),
    train: object | None = None,
    users: object | None = None,
    items: object | None = None,
    exposures: object | None = None,
    buckets: Mapping[str, Any] | None = None,
    policies: Mapping[str, str] | None = None,
    sample_users: float | None = None,
    seed: int = 7,
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
            seen_share, novelty and buckets by activity possible.
        users: user_id (or query_id) of everyone who could have been evaluated; needed by
            `zero_relevant` other than skip. Further columns are for buckets by column, and
            `quota` (items, >= 1) for metrics @quota.
        items: item_id of the catalogue, maybe created_at and available (Boolean), and columns
            for buckets of items; default: the items of train.
        exposures: user_id, item_id of what users were shown; makes judged@K possible.
        buckets: bucket rules by name, as in the configuration.
        policies: zero_relevant, repeats, cold_users, cold_items, as in the configuration.
        sample_users: share of the users who are evaluated, above 0, at most 1, by hash: the same
            ones every time. What train says of items and users is counted over everyone.
        seed: of the sample, from 0.

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
    named = {"policies": policies, "buckets": buckets}
    mappings = {name: {} if each is None else each for name, each in named.items()}
    options = validate(Document({**mappings, "sample_users": sample_users, "seed": seed}), _Options)
    asked = read_truth(truth)
    lists = read_recs(recs, users_are_queries=asked.users_are_queries)
    history = read_train(train)
    everyone = read_universe(users, asked.queries)
    catalogue, exposed = read_items(items), read_exposures(exposures)
    sides = {} if exposed is None else {"exposures": exposed}
    if catalogue is not None:
        sides["items"] = catalogue.lazy().select(ITEM_ID)
    check_ids(lists, asked, history, everyone.queries, sides=sides)
    everyone.check(asked.queries)
    queries, universe, sampled = sample_queries(
        asked.queries, everyone.queries, options.sample_users, seed=options.seed
    )
    kept = apply_policies(
        asked.pairs.lazy(),
        queries,
        options.policies,
        universe=universe,
        seen=history.seen_among(asked),
        warm_users=history.known.get(USER_ID),
        warm_items=history.known.get(ITEM_ID),
    )
    background = _background(history, catalogue, exposed, everyone, kept)
    evaluator = Evaluator.of(
        everyone.describe(kept), measured, background=background, buckets=options.buckets
    )
    scored = {
        name: [evaluator.score(rows, what=said(name), tie=lists.tie, threads=pl.thread_pool_size())]
        for name, rows in lists.by_generator.items()
    }
    found = {name: part.counts for name, (part,) in scored.items()}
    return evaluator.evaluation(
        scored,
        counts={"truth": {**asked.counts, **sampled, **kept.counts}, "lists": found},
        definitions={
            "cutoff": None,
            "catalogue": _catalogue_of(background),
            **sample_definition(options.sample_users, options.seed),
        },
    )


def _background(
    history: History,
    items: pl.DataFrame | None,
    exposed: pl.LazyFrame | None,
    everyone: Universe,
    truth: Truth,
) -> Background:
    """Returns what the tables say of users and items."""
    known = Background(items=items, exposed=exposed, users=everyone.of_users)
    if history.pairs is None:
        return known
    return replace(
        known,
        seen=history.pairs.seen_of(truth.queries[USER_ID].unique()),
        activity=history.activity,
        popularity=history.pairs.popularity(),
        train_users=len(history.pairs.coding.users),
    )


def _catalogue_of(background: Background) -> str:
    """Returns what the catalogue is, in words."""
    if background.items is not None:
        return "items table"
    return "not known" if background.popularity is None else "train rows"


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
        if not _is_depth(depth)
    ]
    if problems:
        raise ConfigError(*problems)
    return tuple(operator.index(depth) for depth in depths)


def _is_depth(value: Any) -> bool:
    try:
        return value is not True and operator.index(value) >= 1
    except TypeError:
        return False
