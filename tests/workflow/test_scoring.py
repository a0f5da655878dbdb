"""How long the lists of trained generators are, and that the row after them counts for nothing.

Items 1 to 4 are equally popular, so that every cut of a list goes through a tie; item 9 is the
most popular one, and every user has seen it.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.workflow import scoring

TRAIN = [(9, item, 1) for item in (1, 2, 3, 4)] + [(user, 9, 1) for user in (1, 2, 3)]
TEST = [(1, 2, 9), (2, 1, 9), (2, 3, 9), *((3, item, 9) for item in (1, 2, 3, 4))]


def evaluated(folder: Path, **sections: Any) -> rv.Run:
    rows = [(user, item, datetime(2026, 1, day, tzinfo=UTC)) for user, item, day in (*TRAIN, *TEST)]
    log = pl.DataFrame(rows, ("user_id", "item_id", "timestamp"), orient="row")
    config: dict[str, Any] = {
        "split": {"type": "time", "test_start": "2026-01-05T00:00:00Z"},
        "ground_truth": {"relevant": "TRUE"},
        "generators": {"popularity": None},
        "output": {"path": str(folder / "runs"), "recommendations": True},
        "k": 1,
    }
    return rv.run(config | sections, interactions=log)


def quotas(folder: Path, quota: int) -> dict[str, Any]:
    table = pl.DataFrame({"user_id": [1, 2, 3], "quota": [quota] * 3})
    table.write_parquet(folder / "users.parquet")
    return {"table": str(folder / "users.parquet")}


def stored(run: rv.Run) -> pl.DataFrame:
    return pl.read_parquet(run.path / "recommendations" / "popularity" / "*.parquet")


OTHERS = ["recall", "recall@all", "mrr@all", "list_fill", "coverage", "item_coverage", "entropy"]


def test_asking_for_ties_changes_no_other_number(tmp_path: Path) -> None:
    plain = evaluated(tmp_path, metrics=OTHERS)
    asked = evaluated(tmp_path, metrics=[*OTHERS, "tie_share"])
    # The first item is tied with the second one, which is in no list.
    assert asked.value("tie_share@1") == 1
    for table in ("hits", "lost", "loss"):
        assert getattr(asked, table).equals(getattr(plain, table)), table
    assert asked.summary.filter(pl.col("name") != "tie_share").equals(plain.summary)
    assert asked.per_query.drop("tie_share@1").equals(plain.per_query)
    assert asked.value("recall@all") == pytest.approx((0 + 1 / 2 + 1 / 4) / 3)
    assert plain.per_query["returned"].to_list() == [1, 1, 1]
    # Nor is that row stored.
    assert stored(asked).equals(stored(plain))
    assert stored(plain)["rank"].to_list() == [1, 1, 1]
    assert asked.manifest["lists"] == plain.manifest["lists"]


def test_blocks_of_queries_change_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = evaluated(tmp_path, metrics=[*OTHERS, "tie_share", "seen_share"], k=[1, 3])
    # One query a block.
    monkeypatch.setattr(scoring, "ROWS_AT_ONCE", 1)
    cut = evaluated(tmp_path, metrics=[*OTHERS, "tie_share", "seen_share"], k=[1, 3])
    for table in ("summary", "per_query", "hits", "lost", "loss"):
        assert getattr(cut, table).equals(getattr(plain, table)), table
    assert stored(cut).equals(stored(plain))
    assert cut.manifest["lists"] == plain.manifest["lists"]
    assert cut.manifest["lists"]["popularity"] == {"rows": 9, "lists": 3}


@pytest.mark.parametrize("k", [1, 3, 4])
def test_ties_are_seen_beyond_the_largest_quota(tmp_path: Path, k: int) -> None:
    run = evaluated(tmp_path, metrics=["recall", "tie_share@quota"], users=quotas(tmp_path, 3), k=k)
    # Ranks 3 and 4 are tied, however deep the other metrics look.
    assert run.value("tie_share@quota") == 1
    assert stored(run)["rank"].max() == max(k, 3)


def test_a_list_ends_where_the_catalogue_does(tmp_path: Path) -> None:
    run = evaluated(tmp_path, metrics=["tie_share"], k=[3, 4, 5])
    assert [run.value(f"tie_share@{k}") for k in (3, 4, 5)] == [1, 0, 0]


@pytest.mark.parametrize("k", [1, 2, 9])
def test_r_precision_does_not_depend_on_k(tmp_path: Path, k: int) -> None:
    # 2 is not the first item, 1 and 3 are the first and the third, 1 to 4 are all of them.
    run = evaluated(tmp_path, metrics=["recall", "r_precision", "r_precision(rel=1)"], k=k)
    assert run.value("r_precision") == pytest.approx((0 + 1 / 2 + 1) / 3)
    assert run.value("r_precision(rel=1)") == run.value("r_precision")
    # The longest truth has four items.
    assert stored(run).filter(query_id=3).height == 4
    assert run.value(f"recall@{k}") == pytest.approx(
        {1: (0 + 1 / 2 + 1 / 4), 2: (1 + 1 / 2 + 1 / 2), 9: 3}[k] / 3
    )


def test_the_truth_that_policies_leave_is_the_longest(tmp_path: Path) -> None:
    truth = {"relevant": "user_id < 3", "zero_relevant": "zero"}
    run = evaluated(
        tmp_path, metrics=["recall", "r_precision"], ground_truth=truth, training={"where": "TRUE"}
    )
    assert stored(run)["rank"].max() == 2
    assert run.value("r_precision") == pytest.approx((0 + 1 / 2 + 0) / 3)


@pytest.mark.parametrize(("zone", "late"), [("Asia/Shanghai", False), ("UTC", True), (None, True)])
def test_all_times_without_a_zone_are_in_that_of_the_log(
    tmp_path: Path, zone: str | None, late: bool
) -> None:
    # Seven in the morning of Shanghai is an hour before the cutoff, midnight in UTC.
    local = datetime(2026, 1, 5, 7)
    lists = pl.DataFrame({"user_id": [1, 2, 3], "item_id": [2, 1, 1], "rank": [1, 1, 1]})
    lists.with_columns(built=pl.lit(local)).write_parquet(tmp_path / "lists.parquet")
    items = pl.DataFrame({"item_id": [1, 2, 3, 4, 9]}).with_columns(created_at=pl.lit(local))
    items.write_parquet(tmp_path / "items.parquet")
    run = evaluated(
        tmp_path,
        interactions={"timezone": zone},
        items={"table": str(tmp_path / "items.parquet")},
        generators={
            "channel": {
                "type": "precomputed",
                "path": str(tmp_path / "lists.parquet"),
                "as_of": "built",
            }
        },
        metrics=["recall", "unknown_item_share"],
    )
    found = {each["code"] for each in run.manifest["audit"]}
    assert ("lists_after_cutoff" in found) == late
    assert run.value("unknown_item_share@1") == (1 if late else 0)
