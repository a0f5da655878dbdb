"""Generators that fail: the others finish, the run is partial, and everybody is told why."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import recoeval as rv
from recoeval.errors import DataError, EngineError
from recoeval.generators import Popularity
from recoeval.generators.base import Fitted, Train
from tests.workflow.test_pipeline import channel, equal
from tests.workflow.test_preparation import tiny_config


class Halfway:
    """Lists of one query, and then no more."""

    def __init__(self, fitted: Fitted) -> None:
        self.fitted, self.left = fitted, 1

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        if not self.left:
            raise ZeroDivisionError("it went away")
        self.left -= 1
        return self.fitted.recommend(queries, k)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes popularity with a window fail in its second block of queries."""
    fit = Popularity.fit

    def half(self: Popularity, train: Train) -> Any:
        fitted = fit(self, train)
        return fitted if self.window is None else Halfway(fitted)

    monkeypatch.setattr(Popularity, "fit", half)
    monkeypatch.setattr(Popularity, "block", 1)


GENERATORS: dict[str, Any] = {
    "first": {"type": "popularity"},
    "broken": {"type": "popularity", "window": "30d"},
    "als": {"factors": 2, "iterations": 2},
}
SAID = "generators.broken: ZeroDivisionError: it went away"
EMPTY = "lists[empty]: no rows"


def empty(folder: Path) -> dict[str, Any]:
    """Returns a generator of lists without a row."""
    lists = pl.DataFrame(schema={"user_id": pl.Int64, "item_id": pl.Int64, "rank": pl.Int64})
    lists.write_parquet(folder / "empty.parquet")
    return {"type": "precomputed", "path": str(folder / "empty.parquet")}


@pytest.mark.usefixtures("failing")
def test_the_others_finish(tmp_path: Path) -> None:
    whole = rv.run(tiny_config(tmp_path, generators={**GENERATORS, "broken": {"type": "random"}}))
    run = rv.run(tiny_config(tmp_path, generators=GENERATORS, output={"recommendations": True}))
    assert run.evaluation.generators == ("first", "als")
    others = whole.summary.filter(pl.col("generator") != "broken")
    assert run.summary.equals(others)
    assert run.status == run.manifest["status"] == "partial"
    assert run.verdict.outcome == "partial"
    assert run.verdict.exit_code == 4
    (failure,) = run.verdict.failures
    assert (failure.generator, failure.exit_code, failure.messages) == ("broken", 4, (SAID,))
    assert run.manifest["failures"] == [{"generator": "broken", "exit_code": 4, "messages": [SAID]}]
    # Its half lists are not left behind.
    assert sorted(path.name for path in (run.path / "recommendations").iterdir()) == [
        "als",
        "first",
    ]
    again = rv.open_run(run.path)
    assert equal(again, run)
    assert again.verdict == run.verdict
    assert again.status == "partial"


@pytest.mark.usefixtures("failing")
def test_those_that_read_it_fail_with_it(tmp_path: Path) -> None:
    generators = {
        **GENERATORS,
        "merged": {"type": "merge", "channels": {"first": 1, "broken": 1}},
        "ranked": {"type": "rerank", "of": "merged", "by": "first"},
        "sound": {"type": "merge", "channels": {"first": 1, "als": 1}},
    }
    run = rv.run(tiny_config(tmp_path, generators=generators))
    assert run.evaluation.generators == ("first", "als", "sound")
    assert {each.generator: each.messages for each in run.verdict.failures} == {
        "broken": (SAID,),
        "merged": ("generators.merged: needs broken, which failed",),
        "ranked": ("generators.ranked: needs merged, which failed",),
    }
    assert [each.exit_code for each in run.verdict.failures] == [4, 4, 4]


@pytest.mark.usefixtures("failing")
def test_its_constraints_are_not_judged(tmp_path: Path) -> None:
    constraints = [
        "recall@2 >= 0.1",
        {"metric": "recall@2", "generators": ["broken"], "min": 0.1},
        {"metric": "recall@1", "generators": ["broken", "first"], "min": 0.99},
    ]
    run = rv.run(tiny_config(tmp_path, generators=GENERATORS, constraints=constraints))
    judged = [(text, name) for text, _, name, _ in run.verdict.outcomes]
    assert judged == [
        ("recall@2 >= 0.1", "first"),
        ("recall@2 >= 0.1", "als"),
        ("recall@1 >= 0.99", "first"),
    ]
    # The failure weighs more than the constraint that does not hold.
    assert run.verdict.exit_code == 4


@pytest.mark.usefixtures("failing")
def test_constraints_that_bind_nobody_who_is_left(tmp_path: Path) -> None:
    run = rv.run(
        tiny_config(
            tmp_path,
            generators={name: GENERATORS[name] for name in ("first", "broken")},
            baselines=["first"],
            constraints=["recall@2 >= 0.1"],
        )
    )
    assert run.verdict.outcomes == ()
    assert run.verdict.exit_code == 4


def test_the_highest_code_wins(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        generators={
            "popularity": None,
            "empty": empty(tmp_path),
            "channel": channel(tmp_path),
        },
        constraints=["recall@1 >= 0.99"],
    )
    run = rv.run(config)
    assert [each.exit_code for each in run.verdict.failures] == [3]
    assert run.verdict.exit_code == 3
    assert run.evaluation.generators == ("popularity", "channel")


@pytest.mark.usefixtures("failing")
def test_none_is_left(tmp_path: Path) -> None:
    generators = {
        "empty": empty(tmp_path),
        "broken": GENERATORS["broken"],
    }
    with pytest.raises(EngineError) as caught:
        rv.run(tiny_config(tmp_path, generators=generators))
    assert [str(each) for each in caught.value.problems] == [EMPTY, SAID]
    assert list((tmp_path / "runs" / "tiny").iterdir()) == []
    with pytest.raises(DataError):
        rv.run(tiny_config(tmp_path, generators={"empty": generators["empty"]}))


def test_what_failed_in_one_fold_is_in_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, count = Popularity.fit, []

    def second_fails(self: Popularity, train: Train) -> Fitted:
        if self.window is not None:
            count.append(1)
            if len(count) == 2:
                raise DataError("not in this fold")
        return fit(self, train)

    monkeypatch.setattr(Popularity, "fit", second_fails)
    run = rv.run(
        tiny_config(
            tmp_path,
            split={"type": "rolling", "folds": 2, "test": "1d"},
            ground_truth={"relevant": "event = 'click'"},
            generators={
                "first": {"type": "popularity"},
                "broken": GENERATORS["broken"],
                "als": GENERATORS["als"],
                "merged": {"type": "merge", "channels": {"first": 1, "als": 1}},
            },
        )
    )
    left = {"first", "als", "merged"}
    for table in ("summary", "per_query", "hits", "lost", "loss"):
        assert set(getattr(run, table)["generator"]) == left, table
    assert set(run.manifest["lists"]) == left
    # The group of all generators was another one in the first fold.
    assert run.channels["merge"].unique().to_list() == ["merged"]
    assert run.overlap["merge"].unique().to_list() == ["merged"]
    assert run.channels["fold"].n_unique() == 2
    assert run.verdict.failures[0].messages == ("generators.broken: not in this fold",)


def test_the_command_tells_what_failed(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        generators={"popularity": None, "empty": empty(tmp_path)},
    )
    file = tmp_path / "nightly.yaml"
    file.write_text(yaml.safe_dump(config), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "recoeval", "run", str(file), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == EMPTY
    document = json.loads(done.stdout)
    assert document["verdict"]["outcome"] == "partial"
    assert document["verdict"]["exit_code"] == 3
    assert document["verdict"]["failures"][0]["generator"] == "empty"
    assert {row["generator"] for row in document["summary"]} == {"popularity"}


@pytest.mark.usefixtures("failing")
def test_one_that_leaves_the_program_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the command would end with exit code 0, and without a word."""

    def leave(self: Halfway, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        raise SystemExit(0)

    monkeypatch.setattr(Halfway, "recommend", leave)
    run = rv.run(tiny_config(tmp_path, generators=GENERATORS))
    assert run.verdict.exit_code == 4
    [failure] = run.verdict.failures
    assert failure.messages == ("generators.broken: SystemExit: 0",)
