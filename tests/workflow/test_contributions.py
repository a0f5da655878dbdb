"""What channels add in whole runs: each number is worked by hand.

Truth: 1: {30}, 2: {30, 50}, 3: {20}, 4: {20, 60}; lists are shown beside their channel.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.workflow import contributions
from tests.workflow.test_pipeline import equal
from tests.workflow.test_preparation import tiny_config

A = {1: [30, 70, 71], 2: [50, 30], 3: [70, 20], 4: [60]}
# User 1 has seen 20: it leaves, and 30 has rank 1.
B = {1: [20, 30, 72], 2: [30, 71, 70], 4: [20, 60, 30]}


def lists_in(folder: Path, name: str, lists: Mapping[int, Sequence[int]]) -> dict[str, Any]:
    """Returns a generator of lists, the better an item the higher its score."""
    rows = [
        (user, item, 1.0 / rank)
        for user, items in lists.items()
        for rank, item in enumerate(items, start=1)
    ]
    path = folder / f"{name}.parquet"
    pl.DataFrame(rows, ("user_id", "item_id", "score"), orient="row").write_parquet(path)
    return {"type": "precomputed", "path": str(path)}


def merged(folder: Path, **sections: Any) -> rv.Run:
    base: dict[str, Any] = {
        "generators": {
            "a": lists_in(folder, "a", A),
            "b": lists_in(folder, "b", B),
            "merged": {"type": "merge", "channels": {"a": 1, "b": 2}},
            "ranked": {"type": "rerank", "of": "merged", "by": "b"},
        },
        "k": [1, 2],
        "what_if": [1],
        "funnel": [
            {"stage": "recall", "generator": "merged", "k": 3},
            {"stage": "rank", "generator": "ranked", "k": 1},
        ],
    }
    return rv.run(tiny_config(folder, **{**base, **sections}))


def stored(run: rv.Run, name: str) -> dict[int, list[int]]:
    rows = pl.read_parquet(run.path / "recommendations" / name / "*.parquet")
    lists = rows.sort("query_id", "rank").group_by("query_id", maintain_order=True)
    return {query: own["item_id"].to_list() for (query,), own in lists}


def overall(table: pl.DataFrame, **keys: Any) -> pl.DataFrame:
    return table.filter(bucket_by="all", **keys)


def test_lists_of_merges_and_reranks(tmp_path: Path) -> None:
    run = merged(tmp_path, output={"recommendations": True})
    # The first of a, then two of b that a did not give.
    assert stored(run, "merged") == {
        1: [30, 72],
        2: [50, 30, 71],
        3: [70],
        4: [60, 20, 30],
    }
    # By the score of b: 72 has 1/3 and 30 has 1/2; what b lacks comes last.
    assert stored(run, "ranked") == {1: [30, 72], 2: [30, 71, 50], 3: [70], 4: [20, 60, 30]}
    # b repeats 30 of user 1 and 60 of user 4; it has no score for 50 of user 2 and 70 of user 3.
    assert run.manifest["lists"]["merged"] == {
        "rows": 9,
        "lists": 4,
        "duplicates[a]": 0,
        "duplicates[b]": 2,
    }
    assert run.manifest["lists"]["ranked"] == {"rows": 9, "lists": 4, "unscored": 2}
    # Files are where they were.
    assert sorted(path.name for path in (run.path / "recommendations").iterdir()) == [
        "merged",
        "ranked",
    ]
    assert not (run.path / ".lists").exists()


def test_contributions(tmp_path: Path) -> None:
    found = overall(merged(tmp_path).channels, merge="merged")
    # Within its quota a has 1:30, 2:50, 4:60; b has 1:30, 2:30, 4:20 and 4:60.
    assert found.select("generator", "k", "hits", "exclusive_hits", "slots").rows() == [
        ("a", 1, 3, 1, 4),
        ("b", 2, 4, 2, 6),
    ]
    a, b = found.rows(named=True)
    assert a["union_recall"] == b["union_recall"] == pytest.approx((1 + 1 + 0 + 1) / 4)
    assert a["recall"] == pytest.approx((1 + 1 / 2 + 0 + 1 / 2) / 4)
    assert b["recall"] == pytest.approx((1 + 1 / 2 + 0 + 1) / 4)
    # 1:30 and 4:60 are found by both.
    assert a["shapley"] == pytest.approx((1 / 2 + 1 / 2 + 0 + 1 / 4) / 4)
    assert b["shapley"] == pytest.approx((1 / 2 + 1 / 2 + 0 + 3 / 4) / 4)
    assert a["leave_one_out"] == pytest.approx((0 + 1 / 2 + 0 + 0) / 4)
    assert b["leave_one_out"] == pytest.approx((0 + 1 / 2 + 0 + 1 / 2) / 4)
    assert (a["served_users"], b["served_users"]) == (4, 3)
    assert b["recall_served"] == pytest.approx((1 + 1 / 2 + 1) / 3)


def test_all_generators_are_a_group_of_their_own(tmp_path: Path) -> None:
    run = merged(tmp_path)
    found = overall(run.channels, merge="all")
    assert found.select("generator", "k").rows() == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    twice = merged(tmp_path, k=[1, 2, 2])
    assert twice.channels.equals(run.channels)
    # A baseline is no channel of ours.
    alone = merged(tmp_path, baselines=["b"])
    assert alone.channels["merge"].unique().to_list() == ["merged"]


def test_overlap(tmp_path: Path) -> None:
    found = overall(merged(tmp_path).overlap)
    assert found.select("merge", "generator", "other", "k", "other_k", "queries").rows() == [
        ("merged", "a", "b", 1, 2, 4),
        ("all", "a", "b", 2, 2, 4),
    ]
    # {30} and {30, 72}; {50} and {30, 71}; {70} and none; {60} and {20, 60}.
    assert found["jaccard"][0] == pytest.approx((1 / 2 + 0 + 0 + 1 / 2) / 4)
    # {30, 70} and {30, 72}; {50, 30} and {30, 71}; {70, 20} and none; {60} and {20, 60}.
    assert found["jaccard"][1] == pytest.approx((1 / 3 + 1 / 3 + 0 + 1 / 2) / 4)


def test_what_if(tmp_path: Path) -> None:
    found = overall(merged(tmp_path).what_if)
    rows = {
        (row["generator"], row["change"]): (row["hits"], row["slots"], row["recall"])
        for row in found.rows(named=True)
    }
    plain = (5, 9 / 4, (1 + 1 + 0 + 1) / 4)
    assert rows == {
        ("a", "as configured"): plain,
        # b alone: {30, 72}, {30, 71}, {}, {20, 60}.
        ("a", "dropped"): (4, 6 / 4, pytest.approx((1 + 1 / 2 + 0 + 1) / 4)),
        # {30, 70, 72}, {50, 30, 71, 70}, {70, 20}, {60, 20, 30}.
        ("a", "+1"): (6, 12 / 4, 1.0),
        ("b", "as configured"): plain,
        ("b", "dropped"): (3, 4 / 4, pytest.approx((1 + 1 / 2 + 0 + 1 / 2) / 4)),
        # {30, 72}, {50, 30, 71, 70}, {70}, {60, 20, 30}.
        ("b", "+1"): (5, 10 / 4, plain[2]),
    }


def test_nothing_is_tried_where_nothing_is_asked(tmp_path: Path) -> None:
    run = merged(tmp_path, what_if=[])
    assert run.what_if["change"].unique().sort().to_list() == ["as configured", "dropped"]


def test_funnel(tmp_path: Path) -> None:
    found = overall(merged(tmp_path).funnel, channel="all")
    columns = ("stage", "k", "relevant", "survived", "lost", "inserted", "candidates")
    assert found.select(columns).rows() == [
        ("recall", 3, 6, 5, 1, 0, 9),
        # 30, 30, 70, 20.
        ("rank", 1, 6, 3, 2, 0, 4),
    ]
    assert found["recall"].to_list() == pytest.approx([3 / 4, (1 + 1 / 2 + 0 + 1 / 2) / 4])
    assert found["precision"].to_list() == pytest.approx([5 / 3 / 4, 3 / 4])
    assert found["kept"].to_list() == [pytest.approx(4 / 9), None]


def test_bounds_of_stages_are_constraints(tmp_path: Path) -> None:
    run = merged(
        tmp_path,
        funnel=[
            {"stage": "recall", "generator": "merged", "k": 3, "min_recall": 0.7},
            {"stage": "rank", "generator": "ranked", "k": 1, "min_precision": 0.9},
        ],
    )
    assert [(row[0], row[2]) for row in run.verdict.outcomes] == [
        ("recall@3 >= 0.7", "merged"),
        ("precision@1 >= 0.9", "ranked"),
    ]
    assert run.value("recall@3", "merged") == pytest.approx(3 / 4)
    assert run.value("precision@1", "ranked") == pytest.approx(3 / 4)


def test_exposures_say_which_candidates_were_shown(tmp_path: Path) -> None:
    run = merged(tmp_path, exposures={"where": "event = 'click'"})
    found = overall(run.funnel, channel="all")
    assert found["exposed"].null_count() == 0


def test_an_opened_run_has_the_same_tables(tmp_path: Path) -> None:
    run = merged(tmp_path)
    again = rv.open_run(run.path)
    assert equal(again, run)
    for name in ("channels", "overlap", "what_if", "funnel"):
        assert getattr(run, name).height
        assert getattr(again, name).equals(getattr(run, name)), name


def test_a_run_of_one_channel_has_none(tmp_path: Path) -> None:
    run = rv.run(tiny_config(tmp_path))
    for opened in (run, rv.open_run(run.path)):
        for name in ("channels", "overlap", "what_if", "funnel"):
            assert getattr(opened, name).is_empty(), name
    assert not list(run.path.glob("channels*"))


def test_blocks_of_queries_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recoeval.workflow import scoring

    run = merged(tmp_path)
    monkeypatch.setattr(scoring, "SHELVED_AT_ONCE", 1)
    again = merged(tmp_path)
    assert equal(again, run)
    for name in ("channels", "overlap", "what_if", "funnel"):
        assert getattr(again, name).equals(getattr(run, name)), name


@pytest.mark.parametrize(
    "more",
    [
        {"generators": {"merged": {"type": "merge", "channels": {"als": 1, "popularity": 1}}}},
        {"generators": {"merged": {"type": "merge", "channels": {"als": 9, "popularity": 9}}}},
        {"generators": {"r": {"type": "rerank", "of": "als", "by": "popularity", "depth": 9}}},
        {"funnel": [{"stage": "recall", "generator": "als", "k": 9}]},
    ],
    ids=str,
)
def test_who_reads_a_channel_changes_no_number_of_it(tmp_path: Path, more: dict[str, Any]) -> None:
    """Lists that others read deeper are looked at as deep as before."""
    metrics = ["recall@all", "mrr@all", "ndcg", "tie_share", "recall_ceiling", "entropy"]
    channels: dict[str, Any] = {"popularity": None, "als": {"factors": 2, "iterations": 2}}
    sections: dict[str, Any] = {"metrics": metrics, "k": 1, "output": {"recommendations": True}}
    plain = rv.run(tiny_config(tmp_path, generators=channels, **sections))
    generators = {**channels, **more.get("generators", {})}
    rest = {name: own for name, own in more.items() if name != "generators"}
    run = rv.run(tiny_config(tmp_path, generators=generators, **sections, **rest), fresh=True)
    for table in ("summary", "per_query", "hits", "lost", "loss"):
        own = getattr(run, table).filter(pl.col("generator").is_in(["popularity", "als"]))
        assert own.equals(getattr(plain, table)), table
    for name in channels:
        assert stored(run, name) == stored(plain, name)


@pytest.mark.parametrize("by", ["merged", "inner", "random"])
def test_scores_that_a_rerank_asks_for_depend_on_no_k(tmp_path: Path, by: str) -> None:
    generators = {
        "a": lists_in(tmp_path, "a", A),
        "b": lists_in(tmp_path, "b", B),
        "random": None,
        "merged": {"type": "merge", "method": "rrf", "channels": {"a": None, "b": None}},
        "inner": {"type": "rerank", "of": "merged", "by": "b", "depth": 3},
        "ranked": {"type": "rerank", "of": "merged", "by": by, "depth": 4},
    }
    found = [
        stored(
            rv.run(
                tiny_config(
                    tmp_path,
                    generators=generators,
                    k=k,
                    metrics=metrics,
                    output={"recommendations": True},
                )
            ),
            "ranked",
        )
        for k, metrics in ((1, ["recall"]), (1, ["recall", "tie_share"]), (7, ["recall"]))
    ]
    assert found[0] == found[1] == found[2]


def test_channels_without_a_quota_count_down_to_the_deepest_metric(tmp_path: Path) -> None:
    generators = {
        "a": lists_in(tmp_path, "a", A),
        "b": lists_in(tmp_path, "b", B),
        "merged": {"type": "merge", "method": "rrf", "channels": {"a": None, "b": None}},
    }
    run = merged(tmp_path, generators=generators, funnel=[], k=1, metrics=["recall@3"])
    plain = overall(run.what_if, change="as configured")
    assert plain["recall"].unique().to_list() == [run.value("recall@3", "merged")]
    assert overall(run.channels, merge="merged")["k"].to_list() == [3, 3]


def test_slots_that_are_named_twice_are_tried_once(tmp_path: Path) -> None:
    once = merged(tmp_path).what_if
    assert merged(tmp_path, what_if=[1, 1]).what_if.equals(once)


def test_more_channels_than_can_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs their whole lists is left out; the run has everything else."""
    monkeypatch.setattr(contributions, "MOST", 2)
    many = {f"c{number}": lists_in(tmp_path, f"c{number}", A) for number in range(3)}
    merge = {"type": "merge", "channels": dict.fromkeys(many, 1), "total": 3}
    run = merged(
        tmp_path,
        generators={**many, "merged": merge},
        funnel=[{"stage": "recall", "generator": "merged", "k": 3}],
        what_if=[],
    )
    assert overall(run.channels, merge="merged").height == 3
    assert not run.overlap.height
    [whole] = overall(run.funnel, channel="all").rows(named=True)
    # Of a nobody has more than two relevant items, and all are within the first three.
    assert (whole["relevant"], whole["survived"]) == (6, 5)
    assert whole["kept"] is None
    assert whole["candidates"] == 8
