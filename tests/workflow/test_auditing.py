"""What the audit of a run and `check --deep` tell, over the log of test_preparation.py."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.analysis.findings import Finding
from recoeval.analysis.selfcheck import SelfCheck
from recoeval.errors import DataError
from recoeval.generators import Popularity
from recoeval.report.planned import deep_sections
from recoeval.report.values import Paragraph
from recoeval.workflow import auditing
from recoeval.workflow.deepcheck import DeepCheck, deep_check
from recoeval.workflow.loaded import load_config
from recoeval.workflow.planning import plan
from tests.workflow.test_pipeline import LISTS
from tests.workflow.test_preparation import tiny_config

CUTOFF = datetime(2026, 1, 10, tzinfo=UTC)


def lists_of(folder: Path, built: datetime) -> dict[str, Any]:
    path = folder / "lists.parquet"
    table = pl.DataFrame(LISTS, ("user_id", "item_id", "rank"), orient="row")
    table.with_columns(pl.lit(built).alias("built_at")).write_parquet(path)
    return {"type": "precomputed", "path": str(path), "as_of": "built_at", "max_age": "2d"}


def codes(audit: Any, severity: str) -> list[tuple[str, str | None]]:
    return [(each["code"], each["generator"]) for each in audit if each["severity"] == severity]


def test_lists_from_the_future_make_a_run_suspicious(tmp_path: Path) -> None:
    generators = {"popularity": None, "channel": lists_of(tmp_path, CUTOFF)}
    run = rv.run(tiny_config(tmp_path, generators=generators, constraints=["recall@2 >= 0.1"]))
    assert codes(run.manifest["audit"], "severe") == [("lists_after_cutoff", "channel")]
    # Severe findings stand first.
    assert run.manifest["audit"][0]["severity"] == "severe"
    assert (run.verdict.outcome, run.verdict.exit_code) == ("suspicious", 1)
    text = run.manifest["audit"][0]["text"]
    assert run.verdict.suspicions == (("channel", text),)
    assert rv.open_run(run.path).verdict == run.verdict


def test_stale_lists_are_a_warning(tmp_path: Path) -> None:
    generators = {"channel": lists_of(tmp_path, datetime(2026, 1, 7, tzinfo=UTC))}
    run = rv.run(tiny_config(tmp_path, generators=generators))
    assert ("stale_lists", "channel") in codes(run.manifest["audit"], "warn")
    assert run.verdict.outcome == "none"
    fresh = {"channel": lists_of(tmp_path, datetime(2026, 1, 9, tzinfo=UTC))}
    run = rv.run(tiny_config(tmp_path, generators=fresh))
    assert "stale_lists" not in {each["code"] for each in run.manifest["audit"]}


def test_a_failed_self_check_makes_a_run_suspicious(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **options: Any) -> tuple[Finding, ...]:
        assert options == {"deep": False, "seed": 7, "fold": 0}
        return (Finding("severe", "wrong_ideal_value", "recall@1 is wrong"),)

    monkeypatch.setattr(auditing, "self_check", broken)
    run = rv.run(tiny_config(tmp_path))
    assert run.verdict.suspicions == (("data", "recall@1 is wrong"),)
    assert run.verdict.exit_code == 1


def test_duplicates_are_found_once_for_all_folds(tmp_path: Path) -> None:
    split = {"type": "rolling", "folds": 2, "test": "2d"}
    run = rv.run(tiny_config(tmp_path, split=split))
    found = [each for each in run.manifest["audit"] if each["code"] == "duplicate_rows"]
    assert len(found) == 1
    assert found[0]["counts"]["rows"] == 1


def test_health_tells_the_fold_where_there_are_several(tmp_path: Path) -> None:
    one = rv.run(tiny_config(tmp_path)).manifest["health"]
    assert [row["pairs"] for row in one["truth_size"]] == [6]
    assert all("fold" not in row for rows in one.values() for row in rows)
    split = {"type": "rolling", "folds": 2, "test": "2d"}
    two = rv.run(tiny_config(tmp_path, split=split)).manifest["health"]
    assert [row["fold"] for row in two["truth_size"]] == ["0", "1"]


def checked(folder: Path, **sections: Any) -> DeepCheck:
    return deep_check(load_config(tiny_config(folder, **sections)))


def test_a_deep_check_trains_nothing_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*_: Any) -> Any:
        raise AssertionError("nothing is trained")

    generators = {"popularity": None, "channel": lists_of(tmp_path, CUTOFF)}
    run = rv.run(tiny_config(tmp_path, generators=generators))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(Popularity, "fit", fit)
    found = checked(tmp_path, generators=generators)
    assert sorted(tmp_path.rglob("*")) == before
    assert [each.code for each in found.findings if each.severity == "severe"] == [
        "lists_after_cutoff"
    ]
    assert found.findings[0].severity == "severe"
    assert dict(found.health) == run.manifest["health"]
    # All that a run says of the data and of these lists.
    told = {each["text"] for each in run.manifest["audit"] if each["generator"] != "popularity"}
    assert told <= {each.text for each in found.findings}


def test_a_deep_check_says_how_much_of_the_engine_was_tried(tmp_path: Path) -> None:
    generators = {"channel": lists_of(tmp_path, datetime(2026, 1, 9, tzinfo=UTC))}
    measures = len(plan(tiny_config(tmp_path, generators=generators)).measures)
    tried = checked(tmp_path, generators=generators).self_check
    assert tried == SelfCheck(laws=6, broken=0, queries=4, measures=measures)
    split = {"type": "rolling", "folds": 2, "test": "2d"}
    found = checked(tmp_path, split=split)
    queries = sum(row["queries"] for row in found.health["truth_size"])
    assert found.self_check == SelfCheck(laws=3, broken=0, queries=queries, measures=measures)


def test_a_broken_law_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **options: Any) -> tuple[Finding, ...]:
        text, fold = "recall@1 is wrong", options["fold"]
        return tuple(
            Finding("severe", code, text, {}, None, fold)
            for code in ("wrong_ideal_value", "wrong_ideal_value", "unstable_results")
        )

    monkeypatch.setattr(auditing, "self_check", broken)
    split = {"type": "rolling", "folds": 2, "test": "2d"}
    found = checked(tmp_path, split=split)
    assert (found.self_check.laws, found.self_check.broken) == (3, 2)
    document = {"audit": [], "health": {}, "self_check": asdict(found.self_check)}
    (said,) = deep_sections(document)
    assert isinstance(said, Paragraph)
    assert said.lines[1].text.startswith("Self-check: 2 of 3 laws broken, tried with ")


def test_a_deep_check_of_models_alone(tmp_path: Path) -> None:
    found = checked(tmp_path)
    assert not [each for each in found.findings if each.severity == "severe"]
    assert found.health["truth_size"][0]["queries"] == 4


def test_a_deep_check_of_several_folds(tmp_path: Path) -> None:
    found = checked(tmp_path, split={"type": "rolling", "folds": 2, "test": "2d"})
    assert [row["fold"] for row in found.health["truth_size"]] == ["0", "1"]
    assert {each.fold for each in found.findings} == {0, 1}


def test_a_deep_check_reads_the_data(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        checked(tmp_path, ground_truth={"relevant": "dwell > 500"}, training={"where": "dwell > 1"})
    assert str(caught.value) == (
        "ground_truth.relevant: none of the 13 rows of the test window passes 'dwell > 500', "
        "for 1 it is null"
    )
