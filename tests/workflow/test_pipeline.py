"""Whole runs over the log of test_preparation.py: every expected number is worked by hand.

Popularity: item 10 has 3 users with a train row, 20 has 2, 30 has 1. Without seen items:
user 1: 30; user 2: 30; user 3: 20; user 4: 10, 20, 30.
Truth: 1: {30}, 2: {30, 50}, 3: {20}, 4: {20, 60}.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, timedelta
from math import log2
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recoeval as rv
from recoeval.errors import EngineError
from recoeval.generators import GENERATORS, Popularity
from recoeval.workflow import scoring
from recoeval.workflow.progress import Progress
from tests.workflow.test_preparation import (
    COLUMNS,
    GAP,
    LATER,
    ROWS,
    TEST,
    TRAIN,
    TRUTH,
    tiny,
    tiny_config,
    write_sides,
)

# user, item, rank. Delivered: user 1 has 10 (seen), 30, 30 (again), 50; user 2 has 50 twice in
# identical rows, 20 (seen), 30; user 4 has 60 at rank 5; nobody asked for user 9.
LISTS = [
    (1, 10, 1),
    (1, 30, 2),
    (1, 30, 3),
    (1, 50, 4),
    (2, 50, 1),
    (2, 50, 1),
    (2, 20, 2),
    (2, 30, 3),
    (4, 60, 5),
    (9, 10, 1),
]
ALL_METRICS = [
    "hits",
    "precision",
    "precision(denominator=returned)",
    "recall",
    "capped_recall",
    "f1",
    "hit_rate",
    "mrr",
    "map",
    "map(denominator=relevant)",
    "ndcg",
    "coverage",
    "list_fill",
    "duplicate_share",
    "seen_share",
]
SECOND = 1 / log2(3)  # the discount of rank 2


def channel(folder: Path) -> dict[str, Any]:
    """Returns a generator of lists, which are written to the folder."""
    path = folder / "lists.parquet"
    pl.DataFrame(LISTS, ("user_id", "item_id", "rank"), orient="row").write_parquet(path)
    return {"type": "precomputed", "path": str(path)}


def values(run: rv.Run, generator: str) -> dict[str, float | None]:
    return {m.label: run.value(m.label, generator) for m in run.evaluation.measures}


def numbers(run: rv.Run) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    return run.summary, run.per_query, run.hits


def without_ceiling(run: rv.Run) -> rv.Run:
    name = "recall_ceiling"
    evaluation = replace(
        run.evaluation,
        summary=run.summary.filter(pl.col("name") != name),
        per_query=run.per_query.drop(name),
    )
    return replace(run, evaluation=evaluation)


def equal(one: rv.Run, other: rv.Run) -> bool:
    return all(a.equals(b) for a, b in zip(numbers(one), numbers(other), strict=True))


def test_popularity_by_hand(tmp_path: Path) -> None:
    run = rv.run(tiny_config(tmp_path, metrics=ALL_METRICS))
    assert values(run, "popularity") == pytest.approx(
        {
            "hits@1": 3 / 4,
            "hits@2": 1,
            "precision@1": 3 / 4,
            "precision@2": 1 / 2,
            "precision(denominator=returned)@1": 3 / 4,
            "precision(denominator=returned)@2": (1 + 1 + 1 + 1 / 2) / 4,
            "recall@1": (1 + 1 / 2 + 1 + 0) / 4,
            "recall@2": (1 + 1 / 2 + 1 + 1 / 2) / 4,
            "capped_recall@1": 3 / 4,
            "capped_recall@2": (1 + 1 / 2 + 1 + 1 / 2) / 4,
            "f1@1": (1 + 2 / 3 + 1 + 0) / 4,
            "f1@2": (2 / 3 + 2 / 4 + 2 / 3 + 2 / 4) / 4,
            "hit_rate@1": 3 / 4,
            "hit_rate@2": 1,
            "mrr@1": 3 / 4,
            "mrr@2": (1 + 1 + 1 + 1 / 2) / 4,
            "map@1": 3 / 4,
            "map@2": (1 + 1 / 2 + 1 + 1 / 4) / 4,
            "map(denominator=relevant)@1": (1 + 1 / 2 + 1 + 0) / 4,
            "map(denominator=relevant)@2": (1 + 1 / 2 + 1 + 1 / 4) / 4,
            "ndcg@1": 3 / 4,
            "ndcg@2": (1 + 1 / (1 + SECOND) + 1 + SECOND / (1 + SECOND)) / 4,
            "coverage": 1,
            "list_fill@1": 1,
            "list_fill@2": (1 + 1 + 1 + 2) / 8,
            "duplicate_share": 0,
            "seen_share@1": 0,
            "seen_share@2": 0,
            # 50 and 60 have no train row: half of what users 2 and 4 look for.
            "recall_ceiling": (1 + 1 / 2 + 1 + 1 / 2) / 4,
        },
        abs=1e-15,
    )
    assert run.manifest["lists"] == {"popularity": {"rows": 1 + 1 + 1 + 2, "lists": 4}}
    assert run.hits.rows() == [
        (0, "popularity", 1, 30, 1, 1.0),
        (0, "popularity", 2, 30, 1, 1.0),
        (0, "popularity", 3, 20, 1, 1.0),
        (0, "popularity", 4, 20, 2, 1.0),
    ]
    micro = run.summary.filter(statistic="micro", metric="recall@2", bucket="all")
    assert micro["value"].to_list() == [4 / 6]


def test_stored_lists_by_hand(tmp_path: Path) -> None:
    generators = {"channel": channel(tmp_path)}
    run = rv.run(tiny_config(tmp_path, generators=generators, metrics=ALL_METRICS))
    # Prepared: 1: 30, 50; 2: 50, 30; 3: no list; 4: 60.
    assert values(run, "channel") == pytest.approx(
        {
            "hits@1": 3 / 4,
            "hits@2": 1,
            "precision@1": 3 / 4,
            "precision@2": 1 / 2,
            "precision(denominator=returned)@1": 3 / 4,
            "precision(denominator=returned)@2": (1 / 2 + 1 + 0 + 1) / 4,
            "recall@1": (1 + 1 / 2 + 0 + 1 / 2) / 4,
            "recall@2": (1 + 1 + 0 + 1 / 2) / 4,
            "capped_recall@1": 3 / 4,
            "capped_recall@2": (1 + 1 + 0 + 1 / 2) / 4,
            "f1@1": (1 + 2 / 3 + 0 + 2 / 3) / 4,
            "f1@2": (2 / 3 + 1 + 0 + 1 / 2) / 4,
            "hit_rate@1": 3 / 4,
            "hit_rate@2": 3 / 4,
            "mrr@1": 3 / 4,
            "mrr@2": 3 / 4,
            "map@1": 3 / 4,
            "map@2": (1 + 1 + 0 + 1 / 2) / 4,
            "map(denominator=relevant)@1": (1 + 1 / 2 + 0 + 1 / 2) / 4,
            "map(denominator=relevant)@2": (1 + 1 + 0 + 1 / 2) / 4,
            "ndcg@1": 3 / 4,
            "ndcg@2": (1 + 1 + 0 + 1 / (1 + SECOND)) / 4,
            "coverage": 3 / 4,
            # As delivered: 4, 4, 0 and 1 rows.
            "list_fill@1": 3 / 4,
            "list_fill@2": (2 + 2 + 0 + 1) / 8,
            "duplicate_share": 2 / 9,
            "seen_share@1": 1 / 3,
            "seen_share@2": 1 / 5,
            "recall_ceiling": 1,
        },
        abs=1e-15,
    )
    assert run.manifest["lists"]["channel"] == {
        "rows": 10,
        "identical_rows": 1,
        "repeated_items": 1,
        "rank_gaps": 1,
        "disagreements": 0,
        "lists": 4,
        "lists_without_query": 1,
    }
    returned = dict(run.per_query.select("user_id", "returned").rows())
    assert returned == {1: 2, 2: 2, 3: 0, 4: 1}


def test_repeats_included(tmp_path: Path) -> None:
    generators = {"popularity": None, "channel": channel(tmp_path)}
    config = tiny_config(tmp_path, ground_truth={"repeats": "include"}, generators=generators)
    run = rv.run(config)
    # Popularity gives 10, 20 to all. Truth: 1: {10, 30}, 2: {30, 50}, 3: {10, 20}, 4: {20, 60}.
    assert run.value("recall@2", "popularity") == (1 / 2 + 0 + 1 + 1 / 2) / 4
    # Channel: 1: 10, 30; 2: 50, 20; 4: 60.
    assert run.value("recall@2", "channel") == (1 + 1 / 2 + 0 + 1 / 2) / 4


@pytest.mark.parametrize(
    ("policy", "recall", "precision", "queries"),
    [("skip", 3 / 4, 1 / 2, 4), ("zero", 3 / 6, 2 / 6, 6), ("one", 5 / 6, 2 / 6, 6)],
)
def test_zero_relevant(
    tmp_path: Path, policy: str, recall: float, precision: float, queries: int
) -> None:
    run = rv.run(tiny_config(tmp_path, ground_truth={"zero_relevant": policy}))
    assert run.value("recall@2") == pytest.approx(recall, abs=1e-15)
    assert run.value("precision@2") == pytest.approx(precision, abs=1e-15)
    assert run.per_query.height == queries == run.manifest["truth"]["evaluated_queries"]
    everyone = run.summary.filter(bucket_by="all", metric="recall@2", statistic="macro")
    assert everyone.select("queries", "users").row(0) == (queries, queries)


@pytest.mark.parametrize(
    ("policies", "recall"),
    [
        ({"cold_users": "drop"}, (1 + 1 / 2 + 1) / 3),
        ({"cold_items": "drop"}, 1.0),
        ({"cold_users": "drop", "cold_items": "drop"}, 1.0),
    ],
)
def test_cold_policies(tmp_path: Path, policies: dict[str, str], recall: float) -> None:
    run = rv.run(tiny_config(tmp_path, ground_truth=policies))
    assert run.value("recall@2") == pytest.approx(recall, abs=1e-15)
    assert run.manifest["definitions"]["policies"] == {
        "zero_relevant": "skip",
        "repeats": "exclude",
        "cold_users": "keep",
        "cold_items": "keep",
        **policies,
    }


def test_gains(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        ground_truth={"gain": "CASE WHEN dwell > 60 THEN 2 ELSE 1 END"},
        metrics=["recall(gain=linear)", "recall", "ndcg", "ndcg(gain=exponential)"],
    )
    run = rv.run(config)
    # Gains: 1: 30 -> 2; 2: 30, 50 -> 1, 1; 3: 20 -> 1; 4: 20 -> 1, 60 -> 2.
    assert run.value("recall@2") == 3 / 4
    assert run.value("recall(gain=linear)@2") == pytest.approx((1 + 1 / 2 + 1 + 1 / 3) / 4)
    ideal = 1 + SECOND
    linear = (1 + 1 / ideal + 1 + SECOND / (2 + SECOND)) / 4
    exponential = (1 + 1 / ideal + 1 + SECOND / (3 + SECOND)) / 4
    assert run.value("ndcg@2") == pytest.approx(linear, abs=1e-15)
    assert run.value("ndcg(gain=exponential)@2") == pytest.approx(exponential, abs=1e-15)


def test_seen_by_exposure_in_a_window(tmp_path: Path) -> None:
    where = "event = 'impression'"
    lists = {}
    for name, seen in (("all", {}), ("recent", {"window": "4d"})):
        config = tiny_config(
            tmp_path,
            seen={"where": where, **seen},
            k=[3],
            output={"recommendations": True},
            name=name,
        )
        lists[name] = stored_lists(rv.run(config), "popularity")
    # A train row is no longer seen; (4, 10) is, unless it is out of the window.
    everything = [10, 20, 30]
    assert lists["all"] == {1: everything, 2: everything, 3: everything, 4: [20, 30]}
    assert lists["recent"] == dict.fromkeys((1, 2, 3, 4), everything)


def stored_lists(run: rv.Run, generator: str) -> dict[int, list[int]]:
    rows = pl.read_parquet(run.path / "recommendations" / generator / "*.parquet")
    assert rows.columns == ["fold", "generator", "query_id", "item_id", "rank", "score"]
    grouped = rows.sort("query_id", "rank").group_by("query_id", maintain_order=True)
    return dict(grouped.agg("item_id").rows())


def test_popularity_in_a_window(tmp_path: Path) -> None:
    generators = {"recent": {"type": "popularity", "window": "5d"}}
    config = tiny_config(tmp_path, generators=generators, output={"recommendations": True})
    # [4 January, 9 January): 20 and 30, one user each, in the order of their ids.
    assert stored_lists(rv.run(config), "recent") == {1: [30], 2: [30], 3: [20], 4: [20, 30]}


def test_weights_reach_als_and_leave_popularity_alone(tmp_path: Path) -> None:
    generators = {"popularity": None, "als": {"factors": 2, "iterations": 3}}
    runs = {
        name: rv.run(
            tiny_config(
                tmp_path,
                name=name,
                generators=generators,
                training=training,
                output={"recommendations": True},
            )
        )
        for name, training in (("plain", {}), ("weighted", {"weight": "dwell"}))
    }
    for name, same in (("popularity", True), ("als", False)):
        one, other = (
            pl.read_parquet(run.path / "recommendations" / name / "*.parquet")
            for run in runs.values()
        )
        assert one.equals(other) == same


def test_a_model_without_an_answer_keeps_the_query(tmp_path: Path) -> None:
    generators = {"als": {"factors": 2, "iterations": 3}}
    run = rv.run(tiny_config(tmp_path, generators=generators, metrics=["recall", "coverage"]))
    # User 4 has no train row.
    assert run.value("coverage") == 3 / 4
    assert run.manifest["lists"]["als"]["lists"] == 3
    assert run.per_query.filter(user_id=4)["recall@2"].to_list() == [0.0]


def test_buckets(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        metrics=["recall"],
        k=[2],
        buckets={
            "activity": {"by": "train_interactions", "edges": [1, 4, 100]},
            "positives": {"by": "train_rows", "edges": [1, 3]},
            "size": {"by": "relevant_items", "edges": [2]},
            "cuts": {"by": "train_interactions", "quantiles": [0.5]},
        },
    )
    run = rv.run(config)
    macro = run.summary.filter(statistic="macro").select("bucket_by", "bucket", "users", "value")
    found = {(by, label): (users, value) for by, label, users, value in macro.rows()}
    # Interactions 4, 3, 3, 1 and train rows 3, 2, 2, 0 of users 1, 2, 3, 4; recall 1, .5, 1, .5.
    assert found == {
        ("all", "all"): (4, 3 / 4),
        ("activity", "[1,4)"): (3, 2 / 3),
        ("activity", "[4,100)"): (1, 1.0),
        ("activity", "[100,inf)"): (0, None),
        ("positives", "0"): (1, 1 / 2),
        ("positives", "[1,3)"): (2, 3 / 4),
        ("positives", "[3,inf)"): (1, 1.0),
        ("size", "[-inf,2)"): (2, 1.0),
        ("size", "[2,inf)"): (2, 1 / 2),
        # Distinct counts 1, 3, 4: the cut is the one at floor(0.5 x 3).
        ("cuts", "[1,3)"): (1, 1 / 2),
        ("cuts", "[3,inf)"): (3, (1 + 1 / 2 + 1) / 3),
        # User 4 has no train row: one of two pairs is found. User 2 misses a cold item.
        ("coldness", "cold"): (2, (1 / 2 + 0) / 2),
        ("coldness", "warm"): (3, 1.0),
    }
    assert run.value("recall@2", bucket="activity:[1,4)") == 2 / 3


CHECKS: list[tuple[list[Any], str, int]] = [
    (["recall@2 >= 0.75", "recall@2 <= 0.75"], "inconclusive", 0),
    ([{"metric": "recall@2", "min": 0.75, "confidence": None}], "pass", 0),
    ([{"metric": "recall@2", "min": 0.76, "confidence": None}], "fail", 1),
    ([{"metric": "recall@2", "min": 0.76, "confidence": None, "severity": "warn"}], "pass", 0),
    (["coverage >= 1"], "pass", 0),
    ([{"metric": "list_fill@2", "min": 0.7}], "fail", 1),
    (
        [{"metric": "recall@2", "bucket": "size", "min": 0.6, "confidence": None}],
        "fail",
        1,
    ),
    (
        [{"metric": "recall@2", "bucket": "size", "match": "any", "min": 1, "confidence": None}],
        "pass",
        0,
    ),
    (
        [
            {
                "metric": "recall@2",
                "bucket": "size",
                "match": "[-inf,2)",
                "min": 1,
                "confidence": None,
            }
        ],
        "pass",
        0,
    ),
    # One failure of severity error is enough.
    (
        [
            {"metric": "recall@2", "min": 0.9, "confidence": None, "severity": "warn"},
            {"metric": "recall@1", "min": 0.9, "confidence": None},
            "coverage >= 1",
        ],
        "fail",
        1,
    ),
]


@pytest.mark.parametrize(("constraints", "outcome", "code"), CHECKS)
def test_constraints(tmp_path: Path, constraints: list[Any], outcome: str, code: int) -> None:
    buckets = {"size": {"by": "relevant_items", "edges": [2]}}
    run = rv.run(tiny_config(tmp_path, constraints=constraints, buckets=buckets))
    assert (run.verdict.outcome, run.verdict.exit_code) == (outcome, code)
    assert rv.open_run(run.path).verdict == run.verdict


def test_a_bucket_without_users_decides_nothing(tmp_path: Path) -> None:
    run = rv.run(
        tiny_config(
            tmp_path,
            buckets={"activity": {"by": "train_interactions", "edges": [1, 100]}},
            constraints=[
                {
                    "metric": "recall@2",
                    "bucket": "activity",
                    "match": "[100,inf)",
                    "min": 0.1,
                    "confidence": None,
                }
            ],
        )
    )
    (check,) = run.verdict.checks
    assert (check.users, check.value, check.outcome) == (0, None, "inconclusive")
    assert run.verdict.exit_code == 0


def test_baselines_are_bound_only_by_name(tmp_path: Path) -> None:
    generators = {"popularity": None, "channel": channel(tmp_path)}
    bound = {"metric": "recall@2", "min": 0.7, "confidence": None}
    named = {**bound, "generators": ["popularity"]}
    run = rv.run(
        tiny_config(
            tmp_path, generators=generators, baselines=["channel"], constraints=[bound, named]
        )
    )
    assert [check.generator for check in run.verdict.checks] == ["popularity", "popularity"]
    # As no baseline, the channel breaks the first one: 0.625.
    assert run.check([bound]).outcome == "pass"
    other = rv.run(tiny_config(tmp_path, generators=generators, constraints=[bound]))
    assert other.verdict.outcome == "fail"


def test_a_metric_that_only_a_constraint_names_is_computed(tmp_path: Path) -> None:
    run = rv.run(
        tiny_config(tmp_path, metrics=["recall"], k=[1], constraints=["f1@2 >= 0.1", "mrr@5 >= 0"])
    )
    labels = [measure.label for measure in run.evaluation.measures]
    assert labels == ["recall@1", "f1@2", "mrr@5", "recall_ceiling"]
    assert run.value("f1@2") == pytest.approx((2 / 3 + 2 / 4 + 2 / 3 + 2 / 4) / 4)
    # The lists are as long as the deepest of them.
    assert run.manifest["lists"]["popularity"]["rows"] == 1 + 1 + 1 + 3


def test_tie_share_asks_for_one_more_row(tmp_path: Path) -> None:
    # With every click as a train row 20 and 30 have two users each, 40 one.
    # 1: 40; 2: 30, 40; 3: 20; 4: 10, 20, 30, 40. Only user 4 has a tie across the cut at 2.
    training = {"where": "event = 'click'"}
    config = tiny_config(tmp_path, training=training, seen={"where": "FALSE"})
    config |= {"metrics": ["tie_share"], "k": [2], "output": {**config["output"]}}
    config["ground_truth"] = {**config["ground_truth"], "repeats": "include"}
    run = rv.run({**config, "output": {**config["output"], "recommendations": True}})
    # The row that tells the tie is in no list.
    assert {len(items) for items in stored_lists(run, "popularity").values()} == {2}
    assert run.value("tie_share@2") == 1.0
    without = rv.run({**config, "metrics": ["recall"], "name": "recall"})
    assert without.manifest["lists"]["popularity"]["rows"] == 4 * 2


def test_generators_keep_their_order(tmp_path: Path) -> None:
    names = ["zeta", "alpha", "mid"]
    generators = {name: {"type": "popularity"} for name in names}
    run = rv.run(tiny_config(tmp_path, generators=generators))
    assert run.manifest["generators"] == names
    assert list(run.evaluation.generators) == names
    assert run.per_query["generator"].unique(maintain_order=True).to_list() == names


def test_duplicates_are_kept_or_dropped_and_counted(tmp_path: Path) -> None:
    kept = rv.run(tiny_config(tmp_path, name="kept"))
    dropped = rv.run(tiny_config(tmp_path, name="dropped", interactions={"duplicates": "drop"}))
    for run, rows in ((kept, 10), (dropped, 9)):
        assert run.manifest["log"]["interactions"]["exact_duplicates"] == 1
        assert run.manifest["truth"]["relevant_rows"] == rows
    assert equal(kept, dropped)


@pytest.mark.parametrize("times", [True, False])
def test_split_by_files(tmp_path: Path, times: bool) -> None:
    expected = rv.run(tiny_config(tmp_path))
    sides = write_sides(tmp_path, times=times)
    run = rv.run(tiny_config(tmp_path, name="files", interactions=None, split=sides))
    assert equal(run, expected)
    assert run.manifest["definitions"]["cutoff"] is None
    assert run.manifest["definitions"]["split"] == {"type": "files"}


FORMATS = {
    "csv": lambda frame, path: frame.write_csv(path),
    "ndjson": lambda frame, path: frame.write_ndjson(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
    "parquet": lambda frame, path: frame.write_parquet(path),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_tables(tmp_path: Path, kind: str) -> None:
    generators: dict[str, Any] = {"popularity": None, "channel": channel(tmp_path)}
    generators["als"] = {"factors": 2, "iterations": 3}
    expected = rv.run(tiny_config(tmp_path, generators=generators))
    text = pl.DataFrame(ROWS, COLUMNS, orient="row", strict=False)
    lists = pl.DataFrame(LISTS, ("user_id", "item_id", "rank"), orient="row")
    FORMATS[kind](text, tmp_path / f"other.{kind}")
    FORMATS[kind](lists, tmp_path / f"other-lists.{kind}")
    path = str(tmp_path / f"other-lists.{kind}")
    generators["channel"] = {"type": "precomputed", "path": path}
    source = {"path": str(tmp_path / f"other.{kind}"), "timestamp_unit": "iso"}
    run = rv.run(tiny_config(tmp_path, interactions=source, generators=generators))
    assert equal(run, expected)
    assert run.manifest["truth"] == expected.manifest["truth"]
    assert run.manifest["lists"] == expected.manifest["lists"]


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow"])
def test_a_frame_gives_the_same_tables(tmp_path: Path, kind: str) -> None:
    expected = rv.run(tiny_config(tmp_path, name="files"))
    log = tiny()
    frame = {
        "polars": lambda: log,
        "lazy": log.lazy,
        "pandas": log.to_pandas,
        "pyarrow": log.to_arrow,
    }[kind]()
    config = tiny_config(tmp_path, name="frame", interactions=None)
    run = rv.run(config, interactions=frame)
    assert equal(run, expected)
    assert run.manifest["truth"] == expected.manifest["truth"]
    assert run.manifest["splits"] == expected.manifest["splits"]
    assert run.manifest["inputs"] == []
    assert equal(rv.open_run(run.path), run)
    # Nothing of the caller's has changed.
    assert log.equals(tiny())


def test_nested_lists_are_the_long_ones(tmp_path: Path) -> None:
    long = pl.DataFrame(LISTS, ("user_id", "item_id", "rank"), orient="row")
    long.group_by("user_id", maintain_order=True).agg("item_id", "rank").write_parquet(
        tmp_path / "nested.parquet"
    )
    nested = {"type": "precomputed", "path": str(tmp_path / "nested.parquet")}
    one = rv.run(tiny_config(tmp_path, generators={"channel": channel(tmp_path)}))
    assert equal(rv.run(tiny_config(tmp_path, generators={"channel": nested})), one)


def test_ids_with_zeros(tmp_path: Path) -> None:
    def text(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [(f"{user:03}", f"{item:04}", *rest) for user, item, *rest in rows]

    log = pl.DataFrame(text(ROWS), COLUMNS, orient="row", strict=False)
    log.write_csv(tmp_path / "zeros.csv")
    lists = pl.DataFrame(text(LISTS), ("user_id", "item_id", "rank"), orient="row")
    lists.write_csv(tmp_path / "zeros-lists.csv")
    run = rv.run(
        tiny_config(
            tmp_path,
            interactions={"path": str(tmp_path / "zeros.csv"), "timestamp_unit": "iso"},
            generators={
                "popularity": None,
                "channel": {"type": "precomputed", "path": str(tmp_path / "zeros-lists.csv")},
            },
        )
    )
    plain = rv.run(
        tiny_config(tmp_path, generators={"popularity": None, "channel": channel(tmp_path)})
    )
    assert run.hits["item_id"].to_list() == [f"{item:04}" for item in plain.hits["item_id"]]
    assert run.summary.equals(plain.summary)


def run_three(folder: Path, name: str) -> rv.Run:
    generators = {
        "popularity": None,
        "als": {"factors": 3, "iterations": 5},
        "random": None,
        "channel": channel(folder),
    }
    output = {"recommendations": True}
    return rv.run(
        tiny_config(folder, name=name, generators=generators, output=output, metrics=ALL_METRICS)
    )


def test_the_same_run_twice_gives_equal_tables(tmp_path: Path) -> None:
    one, other = run_three(tmp_path, "one"), run_three(tmp_path, "other")
    assert equal(one, other)
    assert one.verdict == other.verdict
    for name in ("popularity", "als", "random"):
        lists = [
            pl.read_parquet(run.path / "recommendations" / name / "*.parquet")
            for run in (one, other)
        ]
        assert lists[0].equals(lists[1])


def test_stored_lists_give_the_same_numbers(tmp_path: Path) -> None:
    trained = run_three(tmp_path, "trained")
    folder = trained.path / "recommendations"
    assert {path.name for path in folder.iterdir()} == {"popularity", "als", "random"}
    generators: dict[str, Any] = {
        name: {"type": "precomputed", "path": str(folder / name)}
        for name in ("popularity", "als", "random")
    }
    generators["channel"] = channel(tmp_path)
    stored = rv.run(
        tiny_config(tmp_path, name="stored", generators=generators, metrics=ALL_METRICS)
    )
    # Lists from files may serve anybody: what they miss is out of nobody's reach.
    assert equal(without_ceiling(stored), without_ceiling(trained))
    # And so does the notebook's entry.
    truth = pl.DataFrame(TRUTH, ("user_id", "item_id"), orient="row")
    rows = tiny(TRAIN).filter(pl.col("event") == "click", pl.col("dwell") > 30)
    found = rv.evaluate(folder / "*/*.parquet", truth, metrics=ALL_METRICS, k=[1, 2], train=rows)
    for name in ("popularity", "als", "random"):
        for measure in found.measures:
            assert found.value(measure.label, name) == trained.value(measure.label, name)


def trained_lists(folder: Path, rows: list[tuple[Any, ...]], name: str) -> dict[str, pl.DataFrame]:
    """Returns all trained lists for all users of the log, whatever is relevant."""
    path = folder / f"{name}.parquet"
    tiny(rows).write_parquet(path)
    run = rv.run(
        tiny_config(
            folder,
            name=name,
            interactions={"path": str(path)},
            generators={"popularity": None, "als": {"factors": 2, "iterations": 2}, "random": None},
            ground_truth={"zero_relevant": "zero", "relevant": "event = 'click'"},
            training={"where": "event = 'click' AND dwell > 30"},
            output={"recommendations": True},
            k=[10],
        )
    )
    return {
        name: pl.read_parquet(run.path / "recommendations" / name / "*.parquet").sort(
            "query_id", "rank"
        )
        for name in ("popularity", "als", "random")
    }


@settings(
    max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.data())
def test_no_row_of_the_test_window_changes_a_list(tmp_path: Path, data: st.DataObject) -> None:
    """Items, events, dwell and order of the test, gap and later rows are anything."""
    item, dwell = st.sampled_from([10, 20, 30, 40, 50, 99]), st.floats(0, 500)
    event = st.sampled_from(["click", "impression"])
    altered = [
        (user, data.draw(item), time, data.draw(event), data.draw(dwell))
        for user, _, time, _, _ in [*GAP, *TEST, *LATER]
    ]
    # One click at least, so that there is a truth.
    altered.append((1, 98, "2026-01-10T08:00:00Z", "click", 31.0))
    expected = trained_lists(tmp_path, ROWS, "expected")
    found = trained_lists(tmp_path, data.draw(st.permutations([*TRAIN, *altered])), "altered")
    for name, lists in expected.items():
        assert found[name].equals(lists), name


@pytest.mark.parametrize("order", [ROWS[::-1], ROWS[13:] + ROWS[:13]])
def test_the_order_of_the_rows_changes_nothing(
    tmp_path: Path, order: list[tuple[Any, ...]]
) -> None:
    expected = run_three(tmp_path, "expected")
    tiny(order).write_parquet(tmp_path / "log.parquet")
    assert equal(run_three(tmp_path, "turned"), expected)


def test_dates_and_settings(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    (tmp_path / "dt=2026-01-13").mkdir()
    (tmp_path / "log.parquet").rename(tmp_path / "dt=2026-01-13" / "log.parquet")
    config["interactions"] = {"path": str(tmp_path / "dt={date}" / "log.parquet")}
    run = rv.run(config, set={"k": [2], "metrics": ["recall"]}, date=date(2026, 1, 13))
    assert values(run, "popularity") == {"recall@2": 3 / 4, "recall_ceiling": 3 / 4}


def test_lists_are_made_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rv.run(tiny_config(tmp_path, output={"recommendations": True}))
    noted: list[int] = []
    plain = Popularity.fit

    def fit(self: Popularity, train: Any) -> Any:
        inner = plain(self, train)

        class Fitted:
            def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
                noted.append(queries.height)
                return inner.recommend(queries, k)

        return Fitted()

    monkeypatch.setattr(Popularity, "fit", fit)
    # Four users, two items a list: seven rows at once are three lists.
    monkeypatch.setattr(scoring, "ROWS_AT_ONCE", 7)
    rv.run(tiny_config(tmp_path))
    assert noted == [3, 1]
    noted.clear()
    monkeypatch.undo()
    monkeypatch.setattr(Popularity, "fit", fit)
    monkeypatch.setattr(Popularity, "block", 3)
    run = rv.run(tiny_config(tmp_path, output={"recommendations": True}), fresh=True)
    assert noted == [3, 1]
    files = sorted(path.name for path in (run.path / "recommendations/popularity").iterdir())
    assert files == ["part-00000.parquet", "part-00001.parquet"]
    assert stored_lists(run, "popularity") == stored_lists(whole, "popularity")
    assert equal(run, whole)


class Stages(Progress):
    """Keeps what a run tells of its progress."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int | None]] = []
        self.steps: dict[str, int] = {}
        self.taken: list[dict[str, Any]] = []

    def stage(self, name: str, total: int | None = None) -> Any:
        self.told.append((name, total))
        self.steps[name] = 0

        def advance(steps: int) -> None:
            self.steps[name] += steps

        return nullcontext(advance)

    def over(self, taken: Mapping[str, Any]) -> None:
        self.taken.append(dict(taken))


def test_progress_is_told(tmp_path: Path) -> None:
    stages = Stages()
    generators = {"popularity": None, "channel": channel(tmp_path)}
    run = rv.run(tiny_config(tmp_path, generators=generators), progress=stages)
    assert stages.told == [
        ("read the log", None),
        ("split and ground truth", None),
        ("buckets", None),
        ("popularity: fit", None),
        ("popularity: lists", 4),
        ("channel: fit", None),
        ("channel: lists", 4),
        ("summary", None),
        ("channels", None),
        ("audit", None),
        ("constraints", None),
        ("write", None),
        ("fingerprints", None),
    ]
    assert stages.steps["popularity: lists"] == stages.steps["channel: lists"] == 4
    assert [each["stage"] for each in run.manifest["stages"]] == [name for name, _ in stages.told]
    assert stages.taken == run.manifest["stages"]
    rows = {each["stage"]: each["rows"] for each in run.manifest["stages"]}
    assert rows["read the log"] == 28
    assert rows["split and ground truth"] == 11 + 13
    assert (rows["buckets"], rows["summary"]) == (4, 8)
    for each in run.manifest["stages"]:
        assert each["seconds"] >= 0
        assert each["cpu_seconds"] >= 0
        assert 0 < each["peak_memory_mb"] <= run.manifest["peak_memory_mb"]


def test_a_failing_generator_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(self: Any, train: Any) -> Any:
        raise ValueError("no luck")

    monkeypatch.setattr(GENERATORS["random"], "fit", fit)
    generators = {"mine": {"type": "random"}}
    with pytest.raises(EngineError) as caught:
        rv.run(tiny_config(tmp_path, generators=generators, output={"recommendations": True}))
    assert str(caught.value) == "generators.mine: ValueError: no luck"
    assert list((tmp_path / "runs").rglob("*.parquet")) == []
    assert list((tmp_path / "runs" / "tiny").iterdir()) == []


def test_a_window_in_the_manifest(tmp_path: Path) -> None:
    run = rv.run(tiny_config(tmp_path, seen={"window": timedelta(days=2)}))
    assert run.manifest["definitions"]["seen_window"] == "2d"
