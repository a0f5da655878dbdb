"""What it means that an evaluation says what the oracle says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import recoeval as rv
from recoeval.testing import OracleResult, oracle
from tests.strategies import Case, evaluate, losses, per_query, per_user, summary

TOLERANCE = 1e-12
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

Values = dict[tuple[str, Any], dict[str, Any]]
Rows = dict[tuple[str, str, str], Any]

NEEDS = {
    "seen_share": ("train",),
    "novelty": ("train",),
    "mean_popularity": ("train",),
    "unknown_item_share": ("train", "items"),
    "item_coverage": ("train", "items"),
    "gini": ("train", "items"),
    "entropy": ("train", "items"),
    "recall_ceiling": ("train", "items"),
    "judged": ("exposures",),
}


def examples(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=SLOW)


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=0, abs=TOLERANCE)


def measured(case: Case) -> Case:
    """Returns the case without the metrics that its data cannot have."""
    scored = all("score" in row for row in case.recs)

    def possible(text: str) -> bool:
        name = text.partition("@")[0].partition("(")[0]
        if name == "tie_share" or "min_score" in text:
            return scored
        needs = NEEDS.get(name)
        return needs is None or any(getattr(case, field) is not None for field in needs)

    return replace(case, metrics=[text for text in case.metrics if possible(text)])


def by_oracle(case: Case) -> Values:
    result = oracle(**case.arguments())
    return {
        key: values | {"relevant": len(result.answers[key].truth)}
        for key, values in result.per_query.items()
    }


def by_evaluate(case: Case) -> Values:
    return per_query(evaluate(case))


ENGINES = pytest.mark.parametrize("engine", [by_oracle, by_evaluate])


def assert_agrees(evaluation: rv.Evaluation, result: OracleResult) -> None:
    labels = {metric.label for metric in result.metrics if metric.kind == "accuracy"}
    found = per_query(evaluation)
    assert found.keys() >= result.per_query.keys()
    assert {key for key, _ in found} == {key for key, _ in result.answers}
    for key, row in found.items():
        answer = result.answers[key]
        assert row["user_id"] == answer.user
        assert (row["relevant"], row["returned"]) == (len(answer.truth), len(answer.prepared))
        assert labels <= row.keys()
    for key, values in result.per_query.items():
        for label, value in values.items():
            assert found[key][label] == near(value), (key, label)
    users = per_user(evaluation)
    for key, values in result.per_user.items():
        for label, value in values.items():
            assert users[key][label] == near(value), (key, label)
    assert_same_summary(summary(evaluation), result)


def assert_same_summary(found: Rows, result: OracleResult) -> None:
    """Asserts that each row is the oracle's, and that none is missing."""
    for (generator, label, statistic), row in found.items():
        key = (generator, label, statistic)
        assert key in result.summary, key
        assert row["value"] == near(result.summary[key]), key
        assert (row["queries"], row["users"]) == result.counted[generator, label], key
        bounds = result.ci[generator, label] if statistic == "macro" else None
        low, high = bounds or (None, None)
        # Student's t is computed in another way there.
        assert row["ci_low"] == (None if low is None else pytest.approx(low, abs=1e-9)), key
        assert row["ci_high"] == (None if high is None else pytest.approx(high, abs=1e-9)), key
        if statistic == "macro":
            assert row["too_few_users"] == result.too_few_users[generator, label]
    for generator, label, statistic in result.summary.keys() - found.keys():
        # Shown where it differs from macro.
        assert statistic == "macro_query", (label, statistic)
        value = result.summary[generator, label, statistic]
        assert value == near(result.summary[generator, label, "macro"])


def assert_same_bucket(found: Rows, result: OracleResult) -> None:
    """Asserts the same of a bucket or a part of the truth, which may have nobody in it."""
    if result.answers:
        assert_same_summary(found, result)
    else:
        assert {(row["queries"], row["users"], row["value"]) for row in found.values()} <= {
            (0, 0, None)
        }


def assert_same_losses(
    evaluation: rv.Evaluation, bucket_by: str, bucket: str, result: OracleResult
) -> None:
    """Asserts the rows of LOSS of one bucket, whose causes add up to what is relevant."""
    depths = {
        None if metric.k == "all" else metric.k
        for metric in result.metrics
        if metric.kind == "accuracy" and metric.k not in (None, "quota")
    }
    found = losses(evaluation, bucket_by, bucket)
    generators = {generator for generator, _ in result.answers}
    assert {key for key in found if key[0] in generators} == {
        (generator, k) for generator in generators for k in depths
    }
    for (generator, k), row in found.items():
        expected: Counter[str] = Counter()
        for (name, _), causes in result.loss(k).items():
            expected += causes if name == generator else Counter()
        causes = {name: row[name] for name in row if name in LOSSES}
        assert causes == {name: expected[name] for name in LOSSES}, (generator, k)
        assert row["relevant"] == sum(causes.values()) == expected.total()


LOSSES = (
    "hit",
    "below_k",
    "filtered",
    "unavailable",
    "cold_item",
    "cold_user",
    "not_retrieved",
)
