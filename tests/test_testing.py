"""The oracle itself: its statistics against scipy and numpy, its refusals, its independence."""

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import recoeval.testing
from recoeval.errors import ConfigError, DataError
from recoeval.testing import bucket_labels, oracle, student_t
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


def test_it_imports_nothing_that_it_checks():
    folder = Path(recoeval.testing.__file__).parent
    allowed = {"recoeval.errors", "recoeval.testing"}
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {"polars", "numpy", "scipy"} & {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.module is not None
                package = node.module.split(".")[0]
                assert package not in {"polars", "numpy", "scipy", "hypothesis", "pytest"}
                home = ".".join(node.module.split(".")[:2])
                assert package != "recoeval" or home in allowed


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


def test_whole_list():
    result = oracle(
        rows({1: "axbyzc"}),
        pairs({1: "abcd"}),
        metrics=["recall@all", "capped_recall@all", "hits@all", "mrr@all", "map@all", "ndcg@all"],
    )
    ideal = 1 + 1 / math.log2(3) + 1 / 2 + 1 / math.log2(5)
    assert result.per_query["recs", 1] == pytest.approx(
        {
            "recall@all": 3 / 4,
            "capped_recall@all": 3 / 4,
            "hits@all": 3,
            "mrr@all": 1,
            "map@all": (1 + 2 / 3 + 1 / 2) / 4,
            "ndcg@all": (1 + 1 / 2 + 1 / math.log2(7)) / ideal,
        },
        abs=1e-12,
    )


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
