"""Constraints and verdicts, whatever they are shown on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from recoeval.analysis.verdict import Verdict
from recoeval.report.numbers import FEW_NOTE
from recoeval.report.sections import Results
from recoeval.report.values import Count, Interval, Rate, Table, Word
from recoeval.report.verdicts import constraint_table, verdict_lines

Make = Callable[..., Results]

NO_BOUNDS = "-  no bounds: the value decides, or there are fewer than 2 users"


def table(results: Results) -> Table:
    found = constraint_table(
        results.verdict, results.evaluation.summary, results.evaluation.measures
    )
    assert found is not None
    return found


def test_outcomes_with_their_reasons(results: Results) -> None:
    found = table(results)
    assert [group.title for group in found.groups] == [
        Word("recall@10 >= 0.1", "strong"),
        Word("recall@10 >= 0.9", "strong"),
        Word("recall@10 >= 0.35 in all buckets of activity (warn)", "strong"),
        Word("recall@10 >= 0.1 in [100,inf) of truth_size", "strong"),
        Word("coverage >= 0.9", "strong"),
    ]
    outcomes = [[row[-2:] for row in group.rows] for group in found.groups]
    assert outcomes[0][0] == (Word("pass", "good"), "")
    assert outcomes[1][0] == (Word("FAIL", "bad"), "")
    assert outcomes[2][3] == (Word("fail", "doubt"), "")
    assert outcomes[2][6] == (Word("inconclusive", "doubt"), "362")
    assert outcomes[3][0] == (Word("inconclusive", "doubt"), "n = 0")


def test_millions_of_users_needed(results: Results) -> None:
    first = replace(results.verdict.checks[0], outcome="inconclusive", users_needed=3_480_666)
    verdict = Verdict("inconclusive", (first,), results.verdict.outcomes)
    found = table(replace(results, verdict=verdict))
    assert found.rows[0][-1] == "3.48 M"
    assert [column.title for column in found.columns][:2] == ["generator", "users"]


Outcomes = tuple[tuple[str, str, str, Any], ...]


@pytest.mark.parametrize(
    ("outcome", "outcomes", "texts"),
    [
        ("pass", (), ["Verdict: none, there are no constraints"]),
        ("pass", (("x", "error", "a", "pass"),), ["Verdict: pass (exit code 0); 1 of 1 pass"]),
        (
            "fail",
            (("x", "error", "a", "fail"), ("y", "warn", "a", "fail"), ("z", "warn", "b", "fail")),
            [
                "Verdict: FAIL (exit code 1); 0 of 3 pass, 1 fail, 2 warnings",
                "  fail: a: x",
                "  warning: a: y",
                "  warning: b: z",
            ],
        ),
        (
            "inconclusive",
            (("x", "error", "a", "inconclusive"),),
            [
                "Verdict: inconclusive (exit code 0); 0 of 1 pass, 1 inconclusive",
                "  inconclusive: a: x",
            ],
        ),
    ],
)
def test_the_verdict_in_lines(outcome: Any, outcomes: Outcomes, texts: list[str]) -> None:
    assert [line.text for line in verdict_lines(Verdict(outcome, (), outcomes))] == texts


def test_no_constraints_no_table(make_results: Make) -> None:
    results = make_results()
    assert (
        constraint_table(results.verdict, results.evaluation.summary, results.evaluation.measures)
        is None
    )


def test_bounds_where_all_users_are_alike(make_results: Make) -> None:
    results = make_results(["hit_rate@10 >= 0.5"], users=10, buckets=None)
    als = table(results).rows[0]
    assert als[:4] == ("als", Count(10, few=True), Rate(1.0), Interval(1.0, 1.0))
    assert table(results).notes == (FEW_NOTE,)


@pytest.mark.parametrize(
    "check",
    [
        {"metric": "recall@10", "min": 0.1, "confidence": None},
        "coverage >= 0.9",
        {"metric": "recall@10", "bucket": "truth_size", "match": "[100,inf)", "min": 0.1},
    ],
)
def test_no_bounds(make_results: Make, check: str | dict[str, Any]) -> None:
    found = table(make_results([check]))
    assert [row[-3] for row in found.rows] == [None, None]
    assert found.notes[-1] == NO_BOUNDS


def test_few_users_are_marked_as_elsewhere(make_results: Make) -> None:
    checks: list[Any] = [
        "recall@10 >= 0.1",
        {"metric": "recall@10", "bucket": "activity", "min": 0},
    ]
    found = table(make_results([*checks, "coverage >= 0.9"]))
    sizes = [row[2] for row in found.rows]
    assert sizes == [Count(600)] * 2 + [Count(150, few=True)] * 8 + [Count(600)] * 2
    assert found.notes[0] == FEW_NOTE
    # Pooled ratios have no interval that few users could spoil.
    found = table(make_results(["coverage >= 0.9"], users=40))
    assert [row[1] for row in found.rows] == [Count(40)] * 2
    assert found.notes == (NO_BOUNDS,)


def test_few_values_other_than_0_are_marked_each(results: Results) -> None:
    evaluation = results.evaluation
    marked = evaluation.summary.with_columns(too_few_users=pl.lit(True))
    value = table(replace(results, evaluation=replace(evaluation, summary=marked))).rows[0][3]
    assert isinstance(value, Rate)
    assert value.few


@pytest.mark.parametrize(("metric", "ends"), [("recall@10", (0.0, 1.0)), ("hits@10", (-1.0, 3.0))])
def test_bounds_stay_within_what_a_metric_can_be(
    make_results: Make, metric: str, ends: tuple[float, float]
) -> None:
    results = make_results([f"{metric} >= 0.1"], metrics=[metric])
    checks = tuple(replace(check, low=-1.0, high=3.0) for check in results.verdict.checks)
    results = replace(results, verdict=replace(results.verdict, checks=checks))
    assert table(results).rows[0][-3] == Interval(*ends)


def test_one_bucket_is_enough(make_results: Make) -> None:
    any_bucket = {"metric": "recall@10", "bucket": "activity", "match": "any"}
    results = make_results([{**any_bucket, "min": 0.35}, {**any_bucket, "min": 0.9}])
    first, second = table(results).groups
    outcomes = [(row[0], row[1], row[-2]) for row in first.rows if row[0] == "popularity"]
    assert outcomes == [
        ("popularity", "0", Word("keeps it", "good")),
        ("popularity", "[1,2)", Word("keeps it", "good")),
        ("popularity", "[2,3)", Word("inconclusive", "doubt")),
        ("popularity", "[3,inf)", Word("inconclusive", "doubt")),
        ("popularity", "any bucket", Word("pass", "good")),
    ]
    assert [row[-2] for row in second.rows if row[0] == "als"] == [
        *[Word("breaks it", "plain")] * 4,
        Word("FAIL", "bad"),
    ]
    warned = table(make_results([{**any_bucket, "min": 0.9, "severity": "warn"}]))
    assert warned.rows[4][1:] == ("any bucket", "", "", "", Word("fail", "doubt"), "")
