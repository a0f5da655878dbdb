"""Results for machines."""

import datetime
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from recoeval.report.document import json_text, results_document
from recoeval.report.sections import Results

KEYS = [
    "recoeval",
    "name",
    "run_id",
    "started",
    "finished",
    "seconds",
    "peak_memory_mb",
    "config_sha256",
    "path",
    "given",
    "splits",
    "roles",
    "truth",
    "lists",
    "relevant_items",
    "buckets",
    "measures",
    "summary",
    "folds",
    "loss",
    "channels",
    "overlap",
    "what_if",
    "funnel",
    "verdict",
    "audit",
    "health",
    "definitions",
    "notes",
]


def test_keys_are_the_same_with_and_without_a_run(
    results: Results, make_results: Callable[..., Results]
) -> None:
    assert list(results_document(results)) == KEYS
    assert list(results_document(make_results(train=None, buckets=None))) == KEYS


def test_numbers_are_exact(results: Results) -> None:
    read = json.loads(json_text(results_document(results)))
    assert read["summary"] == results.evaluation.summary.to_dicts()
    assert read["verdict"]["exit_code"] == 1
    assert read["verdict"]["checks"][0]["value"] == results.verdict.checks[0].value
    assert read["buckets"] == {
        "activity": ["0", "[1,2)", "[2,3)", "[3,inf)"],
        "truth_size": ["[-inf,2)", "[2,100)", "[100,inf)"],
        "coldness": ["cold", "warm"],
    }


def test_audit_health_loss_and_misses(results: Results) -> None:
    read = json.loads(json_text(results_document(results)))
    assert read["audit"] == results.facts["audit"]
    assert read["health"] == results.facts["health"]
    assert read["loss"] == results.evaluation.loss.to_dicts()
    for name in ("channels", "overlap", "what_if", "funnel"):
        assert read[name] == getattr(results.evaluation, name).to_dicts()
    assert read["folds"] == []
    assert "misses" not in read
    misses = pl.DataFrame({"query_id": ["a"], "rank": [None], "cause": ["cold_item"]})
    read = json.loads(json_text(results_document(replace(results, misses=misses))))
    assert read["misses"] == [{"query_id": "a", "rank": None, "cause": "cold_item"}]


def test_what_json_does_not_know() -> None:
    document = {
        "nan": math.nan,
        "inf": -math.inf,
        "yes": True,
        "none": None,
        "time": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        "day": datetime.date(2026, 1, 2),
        "path": Path("a"),
        1: (1, 2.5),
    }
    assert json.loads(json_text(document)) == {
        "nan": None,
        "inf": None,
        "yes": True,
        "none": None,
        "time": "2026-01-02T00:00:00+00:00",
        "day": "2026-01-02",
        "path": "a",
        "1": [1, 2.5],
    }
