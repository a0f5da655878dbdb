"""Every metric with every option against the oracle, through the public API, on random lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, partialmethod
from typing import Any
from unittest import mock

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval import evaluation as evaluation_module
from recoeval.analysis.evaluator import Evaluator
from recoeval.analysis.results import merge_folds
from recoeval.testing import (
    OracleResult,
    bucket_labels,
    oracle,
    over_folds,
    popularity_labels,
    quantile_cuts,
)
from recoeval.testing.formulas import lost_to
from tests.agreement import (
    assert_agrees,
    assert_same_bucket,
    assert_same_losses,
    examples,
    measured,
    near,
)
from tests.strategies import (
    GENERATORS,
    ITEM_METRICS,
    LIST_METRICS,
    PER_QUERY_METRICS,
    QUOTA,
    WHOLE,
    WITHOUT_K,
    Case,
    at_level,
    cases,
    evaluate,
    known_cases,
    summary,
)

SCORES = (
    "recall(min_score=0.5)",
    "recall(min_score=0)@all",
    "recall(min_score=2.5)@all",
    "recall(gain=linear, min_score=-1)@all",
    "recall(gain=linear, min_score=1, rel=2)",
    "recall(min_score=1)@quota",
)
FAMILIES = {
    "plain": (*PER_QUERY_METRICS, *LIST_METRICS),
    "levels": tuple(at_level(name) for name in (*PER_QUERY_METRICS, *WITHOUT_K)),
    "whole": (*WHOLE, *WITHOUT_K, *(at_level(name, "3") for name in WHOLE)),
    "quota": (
        *QUOTA,
        *(at_level(name, "1.5") for name in QUOTA[:6]),
        *(f"{name}@quota" for name in ("list_fill", "seen_share", "tie_share")),
    ),
    "items": (
        *ITEM_METRICS,
        *("judged", "judged@quota", "unknown_item_share", "unknown_item_share@quota"),
        *("recall_ceiling", at_level("recall_ceiling")),
    ),
    "scores": SCORES,
}


def asked(case: Case, metrics: Sequence[str]) -> Case:
    return measured(replace(case, metrics=metrics))


@pytest.mark.parametrize("family", FAMILIES)
@examples(25)
@given(data=st.data())
def test_evaluation_is_the_oracle(family: str, data: st.DataObject) -> None:
    plain = family in ("plain", "levels", "whole")
    mode = data.draw(st.sampled_from(("score", "both"))) if family == "scores" else None
    case = data.draw(cases() if plain else known_cases(mode=mode))
    case = asked(case, FAMILIES[family])
    assert_agrees(evaluate(case), oracle(**case.arguments()))


def test_every_metric_and_option_is_compared() -> None:
    """A new metric or option does not stay without an oracle."""
    from recoeval.metrics import METRICS

    texts = [text for family in FAMILIES.values() for text in family]
    for name, metric in METRICS.items():
        own = [text for text in texts if text.partition("@")[0].partition("(")[0] == name]
        assert own, name
        for option in metric.model_fields:
            assert any(f"{option}=" in text for text in own), (name, option)


@examples(25)
@given(data=st.data())
def test_buckets_are_the_oracle(data: st.DataObject) -> None:
    case = data.draw(known_cases(trained=True))
    case = asked(case, ("recall", "mrr@all", "f1", at_level("ndcg"), "seen_share", "entropy"))
    edges = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(sorted))
    rules: dict[str, Any] = {
        "activity": {"by": "train_interactions", "edges": edges},
        "size": {"by": "relevant_items", "edges": edges},
        "country": {"by": "column", "column": "country"},
    }
    evaluation = evaluate(case, buckets=rules)
    result = oracle(**case.arguments())
    rows = [row["user_id"] for row in case.train or ()]
    countries = {row["user_id"]: row["country"] for row in case.users or ()}
    answers = {query: answer for (_, query), answer in result.answers.items()}
    counts = {query: rows.count(answer.user) for query, answer in answers.items()}
    sizes = {query: len(answer.truth) for query, answer in answers.items()}
    labels = {
        "activity": bucket_labels(counts, edges, history=True),
        "size": bucket_labels(sizes, edges),
        "country": {q: countries.get(one.user) or "missing" for q, one in answers.items()},
    }
    for name, of_queries in labels.items():
        shown = evaluation.summary.filter(evaluation.summary["bucket_by"] == name)["bucket"]
        assert set(of_queries.values()) <= set(shown)
        for label in set(shown):
            inside = result.restrict(q for q in of_queries if of_queries[q] == label)
            assert_same_bucket(summary(evaluation, name, label), inside)
            if inside.answers:
                assert_same_losses(evaluation, name, label, inside)


@examples(25)
@given(data=st.data())
def test_parts_of_the_truth_are_the_oracle(data: st.DataObject) -> None:
    """Cold and warm pairs, item-side buckets, and causes of losses in each of them."""
    case = data.draw(known_cases(trained=True))
    case = asked(case, ("recall", "precision", "map@all", at_level("ndcg"), "r_precision", "gini"))
    shares = data.draw(st.sampled_from(([0.5], [0.25, 0.75])))
    result = oracle(**case.arguments())
    rules = {
        "popularity": {"side": "item", "by": "train_popularity", "edges": [2, 3]},
        "topic": {"side": "item", "by": "column", "column": "topic"},
    }
    labels = {"popularity": by_edges(case, result), "topic": by_topic(case)}
    popularity = (result.facts.train_users or {}).values()
    cuts = [min(popularity), *quantile_cuts(popularity, map(Fraction, shares))]
    # Cuts that are equal merge, and have other labels.
    if len(set(cuts)) == len(cuts):
        rules["rank"] = {"side": "item", "by": "train_popularity", "quantiles": shares}
        train_users = result.facts.train_users or {}
        labels["rank"] = popularity_labels(train_users, items_of(case), list(map(Fraction, shares)))
    evaluation = evaluate(case, buckets=rules)
    pairs = {(q, item) for (_, q), answer in result.answers.items() for item in answer.truth}
    for name, of_items in labels.items():
        for label in set(of_items.values()):
            part = {pair for pair in pairs if of_items[pair[1]] == label}
            items = {item for item in of_items if of_items[item] == label}
            assert_same_part(evaluation, name, label, result.among(part))
            found = summary(evaluation, name, label)
            for (generator, metric), value in result.among_items(items).items():
                if part:
                    assert found[generator, metric, "micro"]["value"] == near(value)
    for label, part in result.coldness().items():
        assert_same_part(evaluation, "coldness", label, result.among(part))


def items_of(case: Case) -> set[Any]:
    tables = (case.recs, case.truth, case.train or (), case.items or ())
    return {row["item_id"] for rows in tables for row in rows}


def by_edges(case: Case, result: OracleResult) -> dict[Any, str]:
    popularity = result.facts.train_users or {}
    counts = {item: popularity.get(item, 0) for item in items_of(case)}
    return bucket_labels(counts, [2, 3], history=True)


def by_topic(case: Case) -> dict[Any, str]:
    topics = {row["item_id"]: row["topic"] for row in case.items or ()}
    return {item: topics.get(item) or "missing" for item in items_of(case)}


def assert_same_part(evaluation: Any, name: str, label: str, inside: OracleResult) -> None:
    found = summary(evaluation, name, label)
    accuracy = {key: row for key, row in found.items() if not key[1].startswith(ITEM_METRICS)}
    assert_same_bucket(accuracy, inside)
    if inside.answers:
        assert_same_losses(evaluation, name, label, inside)


@examples(25)
@given(data=st.data())
def test_generators_that_cannot_serve_everything(data: st.DataObject) -> None:
    """What is cold is lost to coldness, and lowers the ceiling, only where the flags say so."""
    case = data.draw(known_cases(trained=True))
    case = asked(case, ("recall", "recall@all", "recall_ceiling", at_level("recall_ceiling")))
    unserved = data.draw(st.sets(st.sampled_from(("cold_item", "cold_user"))))
    flags = {
        "serves_cold_users": "cold_user" not in unserved,
        "serves_cold_items": "cold_item" not in unserved,
    }
    score = partialmethod(Evaluator.score, **flags)
    with mock.patch.object(Evaluator, "score", score):
        evaluation = evaluate(case)
    generators = {row["generator"] for row in case.recs}
    result = oracle(**case.arguments(), unserved=dict.fromkeys(generators, unserved))
    assert_agrees(evaluation, result)
    assert_same_losses(evaluation, "all", "all", result)
    lost = evaluation.lost.select("generator", "query_id", "item_id", "cause").rows()
    assert {row[:3]: row[3] for row in lost} == {
        (generator, query, item): cause
        for (generator, query), answer in result.answers.items()
        for item in answer.truth
        if (cause := lost_to(answer, item, math.inf)) != "hit"
    }


@examples(25)
@given(case=known_cases())
def test_users_who_got_a_list_are_the_oracle(case: Case) -> None:
    case = asked(case, ("recall", "mrr@all", "ndcg"))
    evaluation, result = evaluate(case), oracle(**case.arguments())
    found = summary(evaluation, "served", "served")
    without = any(not answer.delivered for answer in result.answers.values())
    assert bool(found) is without
    for generator in {generator for generator, _, _ in found}:
        own = {key: row for key, row in found.items() if key[0] == generator}
        assert_same_bucket(own, result.served(generator))
        assert any(label.startswith("recall@") for _, label, _ in own)


@examples(25)
@given(data=st.data())
def test_kinds_of_positives_are_the_oracle(data: st.DataObject) -> None:
    case = asked(data.draw(known_cases()), ("recall", "hit_rate@all", "precision", at_level("map")))
    key = "query_id" if "query_id" in case.truth[0] else "user_id"
    names, some = ("buy", "like", "view"), st.sets(st.sampled_from(("buy", "view")), min_size=1)
    of_pairs = {(row[key], row["item_id"]): data.draw(some) for row in case.truth}
    rows = [(*pair, kind) for pair, kinds in of_pairs.items() for kind in kinds]
    kinds = pl.DataFrame(rows, ["query_id", "item_id", "label"], orient="row")
    with_kinds = partial(evaluation_module.apply_policies, kinds=kinds, kind_labels=names)
    with mock.patch.object(evaluation_module, "apply_policies", with_kinds):
        evaluation = evaluate(case)
    result = oracle(**case.arguments())
    for name in names:
        part = {pair for pair, own in of_pairs.items() if name in own}
        assert_same_part(evaluation, "positives", name, result.among(part))


@examples(15)
@given(folds=st.lists(cases(kind="int", several=False), min_size=1, max_size=3))
def test_means_over_folds_are_the_oracle(folds: list[Case]) -> None:
    wanted = ("recall", at_level("mrr", "3"), "coverage")
    own = [replace(case, metrics=wanted, k=(2,), recs=of_one_generator(case)) for case in folds]
    parts, results = [], [oracle(**case.arguments()) for case in own]
    for number, case in enumerate(own):
        in_fold = partialmethod(Evaluator.evaluation, fold=number)
        with mock.patch.object(Evaluator, "evaluation", in_fold):
            parts.append(evaluate(case))
    found = merge_folds(parts).folds.filter(pl.col("bucket_by") == "all")
    assert found.is_empty() is (len(folds) == 1)
    for row in found.iter_rows(named=True):
        key = (row["generator"], row["metric"], row["statistic"])
        expected = over_folds(result.summary[key] for result in results)
        assert {name: row[name] for name in expected} == {
            name: near(value) for name, value in expected.items()
        }, key


def of_one_generator(case: Case) -> list[dict[str, Any]]:
    return [row for row in case.recs if row["generator"] == GENERATORS[0]]
