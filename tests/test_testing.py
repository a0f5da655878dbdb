"""The oracle itself: its statistics against scipy and numpy, its refusals, its independence."""

import ast
import math
import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import recoeval.testing
from recoeval.errors import ConfigError, DataError
from recoeval.testing import (
    bucket_labels,
    oracle,
    over_folds,
    popularity_labels,
    quantile_cuts,
    student_t,
)
from recoeval.testing.formulas import lost_to
from recoeval.testing.statistics import interval, quantile

VALUES = st.lists(st.floats(-5, 5).map(lambda value: round(value, 3)), min_size=1, max_size=40)


def rows(lists):
    return [
        {"user_id": user, "item_id": item, "rank": rank}
        for user, items in lists.items()
        for rank, item in enumerate(items, 1)
    ]


def pairs(truth):
    return [{"user_id": user, "item_id": item} for user, items in truth.items() for item in items]


FOLDER = Path(recoeval.testing.__file__).parent
# They run the code: no part of the oracle.
CONTRACTS = {"contracts", "generator_contract", "metric_contract", "toy"}


def test_it_imports_nothing_that_it_checks():
    allowed = {"recoeval.errors", "recoeval.testing"}
    for file in FOLDER.glob("*.py"):
        if file.stem in CONTRACTS:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {"polars", "numpy", "scipy"} & {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.module is not None
                package = node.module.split(".")[0]
                assert package not in {"polars", "numpy", "scipy", "hypothesis", "pytest"}
                home = ".".join(node.module.split(".")[:2])
                assert package != "recoeval" or home in allowed
                assert node.module.split(".")[-1] not in CONTRACTS


def test_each_module_of_the_oracle_is_held_to_that():
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    rules = {rule["id"]: rule for rule in project["tool"]["importlinter"]["contracts"]}
    held = {name.rpartition(".")[2] for name in rules["oracle"]["source_modules"]}
    assert held == {file.stem for file in FOLDER.glob("*.py")} - CONTRACTS - {"__init__"}


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 29, 30, 99, 499, 2000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_student_t(confidence, degrees):
    expected = scipy.stats.t.ppf((1 + confidence) / 2, degrees)
    assert student_t(confidence, degrees) == pytest.approx(expected, rel=1e-10)


@settings(deadline=None)
@given(values=VALUES, share=st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))
def test_quantile(values, share):
    assert quantile(values, share) == pytest.approx(np.quantile(values, float(share)), abs=1e-12)


@settings(deadline=None)
@given(values=VALUES)
def test_interval(values):
    if len(values) == 1:
        assert interval(values) is None
        return
    low, high = interval(values)
    half = scipy.stats.t.ppf(0.975, len(values) - 1) * scipy.stats.sem(values)
    assert (low, high) == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=1e-9)


@pytest.mark.parametrize(
    ("edges", "history", "expected"),
    [
        ([1, 5], False, {0: "[-inf,1)", 1: "[1,5)", 4: "[1,5)", 5: "[5,inf)", 99: "[5,inf)"}),
        ([2.5], False, {2: "[-inf,2.5)", 2.5: "[2.5,inf)"}),
        ([1, 50, 100], True, {0: "0", 1: "[1,50)", 49: "[1,50)", 50: "[50,100)", 100: "[100,inf)"}),
        ([10], True, {0: "0", 1: "[1,10)", 9: "[1,10)", 10: "[10,inf)"}),
        ([0, 10], True, {0: "0", 1: "[1,10)", 10: "[10,inf)"}),
        ([1_000_000], False, {5: "[-inf,1000000)", 1e6: "[1000000,inf)"}),
    ],
)
def test_bucket_labels(edges, history, expected):
    values = {str(value): value for value in expected}
    labels = bucket_labels(values, edges, history=history)
    assert labels == {str(value): label for value, label in expected.items()}


def test_a_missing_value_is_a_bucket():
    assert bucket_labels({"a": None, "b": 1}, [5]) == {"a": "missing", "b": "[-inf,5)"}


@settings(deadline=None)
@given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=6))
def test_over_folds(values):
    found = over_folds([*values, None])
    assert found["folds"] == len(values)
    assert found["mean"] == pytest.approx(np.mean(values), abs=1e-12)
    assert found["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert (found["min"], found["max"]) == (min(values), max(values))


def test_over_one_fold_or_none():
    assert over_folds([2.0]) == {"folds": 1, "mean": 2.0, "sd": None, "min": 2.0, "max": 2.0}
    assert over_folds([None]) == {"folds": 0, "mean": None, "sd": None, "min": None, "max": None}


def test_head_torso_and_tail():
    """Ten items: the cuts are the values with index 8 and 9 in order."""
    popularity = {f"i{n}": n for n in range(1, 11)}
    shares = [Fraction(4, 5), Fraction(95, 100)]
    assert quantile_cuts(popularity.values(), shares) == [9, 10]
    labels = popularity_labels(popularity, ["i8", "i9", "i10", "x"], shares)
    assert labels == {"i8": "tail", "i9": "torso", "i10": "head", "x": "0"}


def lost(unserved, *, at=None, k=1):
    """u has train row a, so that b and w are cold; d comes later, c cannot be listed."""
    items = [
        {"item_id": "a"},
        {"item_id": "b"},
        {"item_id": "c", "available": False},
        {"item_id": "d", "created_at": datetime(2026, 1, 2, tzinfo=UTC)},
        {"item_id": "s"},
    ]
    result = oracle(
        rows({"u": "xsb", "w": "x"}),
        pairs({"u": "bcde", "w": "ab"}),
        metrics=["recall_ceiling"],
        train=pairs({"u": "s", "v": "a"}),
        items=items,
        at=at,
        unserved={"recs": unserved},
    )
    causes = {query: dict(counts) for (_, query), counts in result.loss(k).items()}
    return causes, result.summary["recs", "recall_ceiling", "macro"]


def test_the_first_cause_that_holds():
    causes, ceiling = lost(())
    assert causes == {
        "u": {"below_k": 1, "unavailable": 2, "not_retrieved": 1},
        "w": {"not_retrieved": 2},
    }
    assert ceiling == (1 / 2 + 1) / 2
    causes, ceiling = lost(("cold_item", "cold_user"))
    assert causes == {
        "u": {"below_k": 1, "unavailable": 2, "cold_item": 1},
        "w": {"cold_user": 1, "cold_item": 1},
    }
    assert ceiling == (1 / 4 + 0) / 2
    assert lost(("cold_user",))[0]["w"] == {"cold_user": 2}


def test_an_item_that_comes_later():
    before, after = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))
    assert lost((), at=before)[0]["u"]["unavailable"] == 3
    assert lost((), at=after)[0]["u"]["unavailable"] == 2


def test_a_rule_that_removes_a_relevant_item():
    """Seen pairs leave the truth as well, so only another rule can filter one."""
    result = oracle(rows({1: "ab"}), pairs({1: "ab"}), metrics=["recall@1"])
    answer = replace(result.answers["recs", 1], prepared=("b",))
    assert [lost_to(answer, item, 1) for item in "ab"] == ["filtered", "hit"]


def test_parts_of_the_truth():
    result = oracle(
        rows({1: "ab", 2: "a"}),
        pairs({1: "ac", 2: "b"}),
        metrics=["recall@2", "coverage"],
        train=pairs({1: "x", 3: "ab"}),
    )
    assert result.coldness() == {"cold": {(1, "c"), (2, "b")}, "warm": {(1, "a")}}
    cold = result.among(result.coldness()["cold"])
    assert cold.summary["recs", "recall@2", "macro"] == 0
    assert cold.counted["recs", "recall@2"] == (2, 2)
    assert ("recs", "coverage", "micro") not in cold.summary
    assert result.among({(1, "a")}).per_query == {("recs", 1): {"recall@2": 1.0}}
    assert result.among(()).summary == {}


def test_the_catalogue_of_some_items():
    result = oracle(
        rows({1: "ab", 2: "a"}),
        pairs({1: "a", 2: "a"}),
        metrics=["item_coverage@2", "mean_popularity@2", "recall@2"],
        train=pairs({3: "abc", 4: "a"}),
    )
    assert result.among_items("bc") == {
        ("recs", "item_coverage@2"): 1 / 2,
        ("recs", "mean_popularity@2"): 1,
    }


def test_users_with_a_list():
    result = oracle(rows({1: "a"}), pairs({1: "a", 2: "a"}), metrics=["recall@1"])
    assert result.served("recs").counted["recs", "recall@1"] == (1, 1)
    assert result.served("recs").summary["recs", "recall@1", "macro"] == 1


def test_seen_pairs_may_differ_from_train_pairs():
    lists, truth = rows({1: "ab"}), pairs({1: "b"})
    train, seen = pairs({1: "b"}), pairs({1: "a"})
    result = oracle(lists, truth, metrics=["mrr@1", "seen_share@1"], train=train, seen=seen)
    assert result.per_query["recs", 1] == {"mrr@1": 1.0}
    assert result.summary["recs", "seen_share@1", "micro"] == 1


def test_shares_of_nothing_are_none():
    result = oracle(
        rows({2: "a"}),
        pairs({1: "a"}),
        metrics=["duplicate_share", "seen_share@1", "tie_share@1", "coverage", "recall@1", "f1@1"],
        users=[1, 3],
        policies={"zero_relevant": "zero"},
    )
    values = {label: value for (_, label, kind), value in result.summary.items() if kind == "micro"}
    assert values == {
        "duplicate_share": None,
        "seen_share@1": None,
        "tie_share@1": None,
        "coverage": 0,
        "recall@1": 0,
        "f1@1": 0,
    }
    nobody = result.restrict([3]).summary
    assert nobody["recs", "recall@1", "micro"] is None
    assert nobody["recs", "f1@1", "micro"] is None


def test_ties_of_trec_runs():
    lists = [{"query_id": "q", "item_id": item, "score": 1.0} for item in ("a", "b")]
    truth = [{"query_id": "q", "item_id": "b"}]
    for tie, expected in (("ascending", 0.5), ("descending", 1.0)):
        result = oracle(lists, truth, metrics=["mrr@2"], tie=tie)
        assert result.per_query["recs", "q"]["mrr@2"] == expected


def test_restricted_to_some_queries():
    result = oracle(rows({1: "a", 2: "x"}), pairs({1: "a", 2: "a"}), metrics=["recall@1"])
    assert result.summary["recs", "recall@1", "macro"] == 0.5
    assert result.restrict([1, 99]).summary["recs", "recall@1", "macro"] == 1
    assert result.restrict([]).summary == {}


@pytest.mark.parametrize(
    ("users", "served", "few"), [(500, 30, False), (499, 499, True), (500, 29, True)]
)
def test_too_few_users(users, served, few):
    lists = rows({user: "a" if user < served else "x" for user in range(users)})
    truth = pairs(dict.fromkeys(range(users), "a"))
    result = oracle(lists, truth, metrics=["recall@1"])
    assert result.too_few_users["recs", "recall@1"] is few


@pytest.mark.parametrize(
    "metric",
    [
        "recal@1",
        "recall",
        "recall@0",
        "recall@-1",
        "recall@1.5",
        "precision@all",
        "f1@all",
        "gini@all",
        "judged@all",
        "ndcg(gain=binary, ideal=k)@all",
        "r_precision@1",
        "recall(rel=0)@1",
        "recall(rel=-1)@1",
        "recall(rel=two)@1",
        "recall(min_score=)@1",
        "precision(min_score=1)@1",
        "gini(rel=2)@1",
        "coverage@1",
        "recall(gain=log)@1",
        "recall(weight=1)@1",
        "recall(gain=linear@1",
        "",
    ],
)
def test_metrics_that_do_not_exist(metric):
    with pytest.raises(ConfigError):
        oracle(rows({1: "a"}), pairs({1: "a"}), metrics=[metric])


@pytest.mark.parametrize(
    "policies",
    [{"repeats": "maybe"}, {"zero": "skip"}, {"zero_relevant": "one"}],
)
def test_policies_that_do_not_exist(policies):
    with pytest.raises(ConfigError):
        oracle(rows({1: "a"}), pairs({1: "a"}), metrics=["recall@1"], policies=policies)


def test_a_query_has_one_user():
    truth = [
        {"query_id": "q", "user_id": "u", "item_id": "a"},
        {"query_id": "q", "user_id": "v", "item_id": "b"},
    ]
    with pytest.raises(DataError, match="two users"):
        oracle(rows({"q": "a"}), truth, metrics=["recall@1"])


@pytest.mark.parametrize("gain", [None, 0, -1, math.nan, math.inf])
def test_gains_that_are_none(gain):
    with pytest.raises(DataError, match="gain"):
        oracle(rows({1: "a"}), [{"user_id": 1, "item_id": "a", "gain": gain}], metrics=["recall@1"])


def test_a_rank_is_missing():
    lists = [{"user_id": 1, "item_id": "a", "rank": 1}, {"user_id": 1, "item_id": "b", "score": 2}]
    with pytest.raises(DataError, match="rank"):
        oracle(lists, pairs({1: "a"}), metrics=["recall@1"])


def test_rows_of_any_iterable_are_left_alone():
    lists, truth = rows({1: "ba"}), pairs({1: "a"})
    before = repr((lists, truth))
    result = oracle(iter(lists), iter(truth), metrics=["mrr"], k=[2], train=iter(()))
    assert result.per_query == {("recs", 1): {"mrr@2": 0.5}}
    assert repr((lists, truth)) == before
