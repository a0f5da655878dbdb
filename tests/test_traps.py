"""Traps that gave wrong numbers elsewhere, those that need more than one small table.

docs/traps.md lists all of them, each with its test: here, or a case of tests/cases/traps.yaml.
"""

import ast
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import recoeval as rv
from recoeval.data.splits import TimeSplit, find_windows
from recoeval.errors import ConfigError, DataError

ROOT = Path(__file__).parent.parent
CUTOFF = datetime(2026, 1, 3, tzinfo=UTC)


def lists(rows: dict[Any, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        [(user, item, rank) for user, row in rows.items() for rank, item in enumerate(row, 1)],
        ("user_id", "item_id", "rank"),
        orient="row",
    )


def pairs(rows: dict[Any, list[Any]]) -> pl.DataFrame:
    return lists(rows).drop("rank")


def log_of(rows: list[tuple[Any, Any, datetime]]) -> pl.DataFrame:
    return pl.DataFrame(rows, ("user_id", "item_id", "timestamp"), orient="row")


def config(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "split": {"type": "time", "test_start": CUTOFF.isoformat()},
        "ground_truth": {"relevant": "TRUE"},
        "generators": {"popularity": None},
        "metrics": ["recall", "hits"],
        "k": [3],
        "output": {"path": str(folder / "runs")},
        **changes,
    }


DAYS = [CUTOFF - timedelta(days=1), CUTOFF, CUTOFF + timedelta(days=1)]
LOG = [("u", "a", DAYS[0]), ("v", "b", DAYS[0]), ("u", "b", DAYS[1]), ("v", "a", DAYS[2])]


# Who is counted


def test_an_empty_truth_is_not_scored_as_perfect() -> None:
    """0/0 is not 1: without truth a user is left out, or scores what the policy says."""
    recs, truth = lists({"u": ["a"], "v": ["b"]}), pairs({"u": ["a"]})
    users = pl.DataFrame({"user_id": ["u", "v"]})
    values = {
        policy: rv.evaluate(
            recs, truth, metrics=["recall@1"], users=users, policies={"zero_relevant": policy}
        ).value("recall@1")
        for policy in ("skip", "zero", "one")
    }
    assert values == {"skip": 1.0, "zero": 0.5, "one": 1.0}


def test_users_without_lists_stay_in_every_mean() -> None:
    """One user set for all metrics: nobody is dropped for having no list."""
    truth = pairs({"u": ["a"], "v": ["b"], "w": ["c"]})
    metrics = ["precision@1", "recall@1", "ndcg@1", "map@1", "mrr@1", "hit_rate@1", "r_precision"]
    found = rv.evaluate(lists({"u": ["a"]}), truth, metrics=metrics)
    assert {metric: found.value(metric) for metric in metrics} == dict.fromkeys(metrics, 1 / 3)
    overall = found.summary.filter(pl.col("bucket_by") == "all", pl.col("statistic") == "macro")
    assert set(overall["users"]) == {3}


# Duplicates, padding, ids


def test_text_ids_against_integer_ids_are_an_error() -> None:
    with pytest.raises(DataError, match="String, but the truth has Int64"):
        rv.evaluate(lists({"1": ["7"]}), pairs({1: [7]}))


def test_large_ids_are_not_cast_to_floats() -> None:
    """2^53 + 1 is no float: cast to one it would be its neighbour, or null."""
    big = 2**53
    found = rv.evaluate(lists({big: [big + 1]}), pairs({big: [big, big + 1]}), k=[1])
    assert found.value("precision@1") == 1.0
    assert found.hits["item_id"].to_list() == [big + 1]


def test_short_lists_are_not_padded(tmp_path: Path) -> None:
    """Fewer items than K: what is not listed is no hit, and item 0 is an item as any other."""
    log = log_of([(1, 0, DAYS[0]), (2, 5, DAYS[0]), (1, 5, DAYS[1]), (2, 0, DAYS[1])])
    run = rv.run(config(tmp_path, metrics=["precision", "list_fill"], k=[50]), interactions=log)
    assert run.value("precision@50") == 1 / 50
    assert run.value("list_fill@50") == 1 / 50
    assert run.per_query["returned"].to_list() == [1, 1]


def test_depth_beyond_the_items_of_a_trained_model(tmp_path: Path) -> None:
    generators = {"als": {"factors": 2, "iterations": 1}, "random": None}
    run = rv.run(
        config(tmp_path, generators=generators, k=[1000], engine={"threads": 1}),
        interactions=log_of(LOG),
    )
    assert run.value("recall@1000", "als") == run.value("recall@1000", "random") == 1.0


# Ties and order


@pytest.mark.parametrize("size", [1, 2, 3])
def test_another_batch_size_gives_the_same_metric(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recoeval.generators import Popularity

    log = log_of([*LOG, ("w", "a", DAYS[0]), ("w", "b", DAYS[1])])
    whole = rv.run(config(tmp_path), interactions=log)
    monkeypatch.setattr(Popularity, "block", size)
    parts = rv.run(config(tmp_path), interactions=log)
    assert parts.summary.equals(whole.summary)
    assert parts.per_query.equals(whole.per_query)


def test_row_order_of_equal_scores_does_not_matter() -> None:
    recs = pl.DataFrame({"user_id": ["u"] * 4, "item_id": ["d", "b", "a", "c"], "score": [1.0] * 4})
    truth = pairs({"u": ["d", "a"]})
    one = rv.evaluate(recs, truth, metrics=["map", "mrr"], k=[1, 4])
    other = rv.evaluate(recs.reverse(), truth, metrics=["map", "mrr"], k=[1, 4])
    assert one.summary.equals(other.summary)
    assert one.value("map@4") == (1 + 2 / 4) / 2


# Time and seen items


def test_a_row_at_the_cutoff_is_in_one_side() -> None:
    log = log_of(LOG).lazy().with_columns(pl.col("timestamp").cast(pl.Datetime("us", "UTC")))
    windows = find_windows(TimeSplit(test_start=CUTOFF), log)
    train, test = (side(log).collect().height for side in (windows.train, windows.test))
    assert (train, test) == (2, 2)


def test_ties_at_the_cutoff_of_a_fraction_go_to_one_side() -> None:
    """Four rows, two of them at one moment: half of them is that moment and all after it."""
    times = [DAYS[0], DAYS[1], DAYS[1], DAYS[2]]
    log = log_of([("u", item, time) for item, time in zip("abcd", times, strict=True)]).lazy()
    log = log.with_columns(pl.col("timestamp").cast(pl.Datetime("us", "UTC")))
    for rows in (log, log.reverse()):
        windows = find_windows(TimeSplit(fraction=0.5), rows)
        assert sorted(windows.test(rows).collect()["item_id"]) == ["b", "c", "d"]


def test_times_of_a_zone_are_compared_in_utc(tmp_path: Path) -> None:
    """Midnight in Shanghai is 16:00 UTC of the day before."""
    log = log_of([("u", "a", datetime(2026, 1, 2)), ("v", "b", datetime(2026, 1, 2))])
    late = log_of([("u", "b", datetime(2026, 1, 3)), ("v", "a", datetime(2026, 1, 3, 1))])
    run = rv.run(
        config(
            tmp_path,
            split={"type": "time", "test_start": "2026-01-02T16:00:00Z"},
            interactions={"timezone": "Asia/Shanghai"},
        ),
        interactions=pl.concat([log, late]),
    )
    assert run.manifest["splits"][0]["test"]["rows"] == 2


def test_history_stays_where_users_consume_again(tmp_path: Path) -> None:
    """repeats: include: what a user had may be listed and may be found again."""
    log = log_of([*LOG, ("u", "a", DAYS[2])])
    truth = {"relevant": "TRUE", "repeats": "include"}
    run = rv.run(config(tmp_path, ground_truth=truth), interactions=log)
    assert run.manifest["truth"]["truth_pairs"] == 3
    assert run.value("recall@3") == 1.0


# State


def test_the_output_folder_is_never_emptied(tmp_path: Path) -> None:
    kept = tmp_path / "runs" / "recoeval" / "notes.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    first = rv.run(config(tmp_path), interactions=log_of(LOG))
    second = rv.run(config(tmp_path), interactions=log_of(LOG))
    assert kept.read_text() == "mine"
    assert first.path.is_dir()
    assert first.path != second.path


def test_unknown_keys_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'metricz'\. Did you mean 'metrics'"):
        rv.run(config(tmp_path, metricz=["recall"]), interactions=log_of(LOG))


def test_configuration_is_never_evaluated(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    target = tmp_path / "made"
    file.write_text(f"name: !!python/object/apply:pathlib.Path.touch ['{target}']\n")
    with pytest.raises(ConfigError):
        rv.run(file)
    assert not target.exists()


def test_rules_are_never_python(tmp_path: Path) -> None:
    rule = {"relevant": "__import__('os').getcwd() = '/'"}
    with pytest.raises(ConfigError, match=r"ground_truth\.relevant"):
        rv.run(config(tmp_path, ground_truth=rule), interactions=log_of(LOG))


# The page


def rows_of_the_page() -> list[str]:
    text = (ROOT / "docs" / "traps.md").read_text()
    return re.findall(r"`([\w/.]+(?:::\w+|\[\w+\]))`", text)


def test_every_trap_of_the_page_has_its_test() -> None:
    """A place reads tests/x.py::name, or tests/cases/x.yaml[name]."""
    missing = []
    for place in rows_of_the_page():
        file, name = re.split(r"::|\[", place.rstrip("]"))
        text = (ROOT / file).read_text()
        if file.endswith(".yaml"):
            known = {case["name"] for case in yaml.safe_load(text)}
        else:
            tree = ast.walk(ast.parse(text))
            known = {node.name for node in tree if isinstance(node, ast.FunctionDef)}
        missing += [] if name in known else [place]
    assert not missing
    assert len(rows_of_the_page()) >= 40


def test_every_trap_here_is_on_the_page() -> None:
    tree = ast.parse(Path(__file__).read_text()).body
    tests = {node.name for node in tree if isinstance(node, ast.FunctionDef)}
    named = {place.split("::")[1] for place in rows_of_the_page() if "test_traps.py" in place}
    about_the_page = {
        "test_every_trap_of_the_page_has_its_test",
        "test_every_trap_here_is_on_the_page",
    }
    assert {name for name in tests if name.startswith("test_")} - named == about_the_page
    cases = {case["name"] for case in yaml.safe_load((ROOT / "tests/cases/traps.yaml").read_text())}
    shown = (ROOT / "docs" / "traps.md").read_text()
    assert [name for name in sorted(cases) if f"traps.yaml[{name}]" not in shown] == []
