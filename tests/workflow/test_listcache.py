"""Stored lists are used again where settings, data and versions are the same, and nowhere else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.generators import ALS, Popularity
from recoeval.generators.base import Fitted, Train
from recoeval.workflow import listcache
from tests.workflow.test_pipeline import channel, equal
from tests.workflow.test_preparation import ROWS, tiny, tiny_config

ALS_OF_TEST = {"factors": 2, "iterations": 2}


@pytest.fixture(autouse=True)
def fits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Which generators were trained, in order."""
    trained: list[str] = []
    for kind in (Popularity, ALS):

        def fit(self: Any, train: Train, plain: Any = kind.fit) -> Fitted:
            trained.append(self.type)
            return plain(self, train)  # type: ignore[no-any-return]

        monkeypatch.setattr(kind, "fit", fit)
    return trained


def evaluated(folder: Path, /, fresh: bool = False, **sections: Any) -> rv.Run:
    base: dict[str, Any] = {
        "generators": {"popularity": None, "als": ALS_OF_TEST, "channel": channel(folder)},
        "output": {"recommendations": True},
    }
    return rv.run(tiny_config(folder, **{**base, **sections}), fresh=fresh)


def test_a_second_run_trains_nothing(tmp_path: Path, fits: list[str]) -> None:
    first = evaluated(tmp_path)
    assert fits == ["popularity", "als"]
    assert first.manifest["reused"] == {}
    second = evaluated(tmp_path)
    assert fits == ["popularity", "als"]
    run = first.path.name
    assert second.manifest["reused"] == {"popularity": run, "als": run}
    said = "lists of run {}: same settings, data, versions; --fresh trains anew".format
    assert [f"{name}: {said(run)}" for name in ("popularity", "als")] == [
        note for note in second.manifest["notes"] if "same settings" in note
    ]
    assert equal(first, second)
    # The second run has the lists as well, and is the one that a third one finds.
    assert evaluated(tmp_path).manifest["reused"]["als"] == second.path.name
    for name in ("popularity", "als"):
        lists = [
            pl.read_parquet(run.path / "recommendations" / name / "*.parquet")
            for run in (first, second)
        ]
        assert lists[0].equals(lists[1])


def test_one_changed_generator_is_trained_alone(tmp_path: Path, fits: list[str]) -> None:
    evaluated(tmp_path)
    fits.clear()
    generators = {"popularity": None, "als": {**ALS_OF_TEST, "factors": 3}}
    evaluated(tmp_path, generators=generators)
    assert fits == ["als"]


# Of another name, in another order, with other metrics, buckets and constraints.
@pytest.mark.parametrize(
    "sections",
    [
        {"generators": {"other": {"type": "als", **ALS_OF_TEST}, "popularity": None}},
        {"name": "another"},
        {"metrics": ["hit_rate", "ndcg"]},
        {"k": [2, 1]},
        {"buckets": {"size": {"by": "relevant_items", "edges": [2]}}},
        {"constraints": ["recall@2 >= 0.1"]},
        {"baselines": ["popularity"]},
    ],
    ids=str,
)
def test_what_changes_no_list(tmp_path: Path, fits: list[str], sections: dict[str, Any]) -> None:
    evaluated(tmp_path)
    fits.clear()
    evaluated(tmp_path, **sections)
    assert fits == []


@pytest.mark.parametrize(
    "sections",
    [
        {"seed": 8},
        {"k": [1, 2, 3]},
        {"metrics": ["recall", "tie_share"]},
        {"engine": {"threads": 2}},
        {"training": {"weight": "1 + dwell"}},
        {"training": {"where": "event = 'click'"}},
        {"split": {"test_start": "2026-01-09T00:00:00Z"}},
        {"ground_truth": {"repeats": "include"}},
        {"ground_truth": {"relevant": "event = 'click' AND dwell > 44"}},
        {"seen": {"where": "event = 'impression'"}},
        {"sample_users": 0.9},
    ],
    ids=str,
)
def test_what_changes_lists(tmp_path: Path, fits: list[str], sections: dict[str, Any]) -> None:
    evaluated(tmp_path)
    fits.clear()
    evaluated(tmp_path, **sections)
    assert fits == ["popularity", "als"]


def test_changed_content_of_the_log(tmp_path: Path, fits: list[str]) -> None:
    evaluated(tmp_path)
    fits.clear()
    # As many rows, the same path.
    other = [(user, 20 if item == 10 else item, *rest) for user, item, *rest in ROWS]
    tiny([tuple(row) for row in other]).write_parquet(tmp_path / "log.parquet")
    evaluated(tmp_path)
    assert fits == ["popularity", "als"]


def test_changed_content_of_a_table_beside_the_log(tmp_path: Path, fits: list[str]) -> None:
    aliases = pl.DataFrame({"alias": [99], "item_id": [10]})
    aliases.write_parquet(tmp_path / "aliases.parquet")
    sections = {"canonical_items": str(tmp_path / "aliases.parquet")}
    evaluated(tmp_path, **sections)
    evaluated(tmp_path, **sections)
    assert fits == ["popularity", "als"]
    aliases.with_columns(item_id=20).write_parquet(tmp_path / "aliases.parquet")
    evaluated(tmp_path, **sections)
    assert fits == ["popularity", "als"] * 2


def test_another_version(tmp_path: Path, fits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated(tmp_path)
    fits.clear()
    monkeypatch.setattr(listcache, "version", lambda name: f"{name} 9")
    evaluated(tmp_path)
    assert fits == ["popularity", "als"]


def test_fresh(tmp_path: Path, fits: list[str]) -> None:
    evaluated(tmp_path)
    run = evaluated(tmp_path, fresh=True)
    assert fits == ["popularity", "als"] * 2
    assert run.manifest["reused"] == {}


def test_lists_that_nobody_stores_are_not_looked_for(tmp_path: Path, fits: list[str]) -> None:
    evaluated(tmp_path)
    evaluated(tmp_path, output={})
    assert fits == ["popularity", "als"] * 2


def test_a_frame_has_no_fingerprint(tmp_path: Path, fits: list[str]) -> None:
    config = {
        **tiny_config(tmp_path, generators={"popularity": None}, interactions={}),
        "output": {"path": str(tmp_path / "runs"), "recommendations": True},
    }
    config["interactions"] = {}
    for _ in range(2):
        rv.run(config, interactions=tiny())
    assert fits == ["popularity"] * 2


@pytest.mark.parametrize("damage", ["no manifest", "no file", "shorter", "no json", "other json"])
def test_damaged_lists_are_made_anew(tmp_path: Path, fits: list[str], damage: str) -> None:
    run = evaluated(tmp_path)
    notes = sorted((run.path / "cache").glob("*.json"))
    files = sorted((run.path / "recommendations").rglob("*.parquet"))
    assert len(notes) == len(files) == 2
    for file, note in zip(files, notes, strict=True):
        if damage == "no file":
            file.unlink()
        elif damage == "shorter":
            file.write_bytes(file.read_bytes()[:-1])
        elif damage == "no json":
            note.write_text("{")
        elif damage == "other json":
            note.write_text(json.dumps({"files": []}))
    if damage == "no manifest":
        (run.path / "manifest.json").unlink()
    fits.clear()
    again = evaluated(tmp_path)
    assert fits == ["popularity", "als"]
    assert again.summary.equals(run.summary)


def test_folds_have_lists_of_their_own(tmp_path: Path, fits: list[str]) -> None:
    sections = {
        "split": {"type": "rolling", "folds": 2, "test": "1d"},
        "generators": {"popularity": None},
        "ground_truth": {"relevant": "event = 'click'"},
    }
    first = evaluated(tmp_path, **sections)
    second = evaluated(tmp_path, **sections)
    assert fits == ["popularity"] * 2
    assert equal(first, second)


def test_ties_and_merges_read_rows_below_the_end(tmp_path: Path, fits: list[str]) -> None:
    """What is stored for them alone is no part of the lists that users see."""
    sections: dict[str, Any] = {
        "generators": {
            "popularity": None,
            "als": ALS_OF_TEST,
            "merged": {"type": "merge", "channels": {"popularity": 1, "als": 1}},
        },
        "metrics": ["recall", "tie_share"],
        "k": 1,
        "what_if": [2],
    }
    first = evaluated(tmp_path, **sections)
    shown = pl.read_parquet(first.path / "recommendations" / "popularity" / "*.parquet")
    assert shown["rank"].max() == 1
    second = evaluated(tmp_path, **sections)
    assert fits == ["popularity", "als"]
    assert equal(first, second)
