"""Texts of the command line."""

import datetime
from pathlib import Path

import pytest

from recoeval.errors import ConfigError, DataError, Problem
from recoeval.workflow.arguments import (
    naming_options,
    parse_columns,
    parse_date,
    parse_pairs,
    split_depths,
    split_metrics,
    table_path,
)


def test_dates() -> None:
    assert parse_date(None) is None
    assert parse_date("2026-11-29") == datetime.date(2026, 11, 29)


@pytest.mark.parametrize(
    ("text", "metrics"),
    [
        ("recall", ["recall"]),
        ("recall, ndcg@10 ,map", ["recall", "ndcg@10", "map"]),
        ("map(a=b,c=d)@5,recall", ["map(a=b,c=d)@5", "recall"]),
        ("map(a=b,recall", ["map(a=b,recall"]),
        ("map),recall", ["map)", "recall"]),
    ],
)
def test_metrics(text: str, metrics: list[str]) -> None:
    assert split_metrics(text) == metrics


@pytest.mark.parametrize("text", ["", " , ,"])
def test_nothing_is_asked_for(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^metrics: name at least one metric"):
        split_metrics(text)
    with pytest.raises(ConfigError, match=r"^k: expected integers"):
        split_depths(text)


def test_depths() -> None:
    assert split_depths("10, 100,") == [10, 100]
    assert split_depths("-1") == [-1]  # refused where the values are checked


def test_pairs() -> None:
    assert parse_pairs(["a=1", "b = x=y"], "--policy") == {"a": "1", "b": "x=y"}
    with pytest.raises(ConfigError, match=r"^--policy =1: expected name=value$"):
        parse_pairs(["=1"], "--policy")


def test_columns() -> None:
    texts = ["user_id=uid,item_id = vid", "rank=pos", ""]
    assert parse_columns(texts) == {"user_id": "uid", "item_id": "vid", "rank": "pos"}
    with pytest.raises(ConfigError, match=r"^--columns user_id: expected name=value$"):
        parse_columns(["user_id"])
    with pytest.raises(ConfigError, match=r"^--columns user_id=b: given twice$"):
        parse_columns(["user_id=a", "user_id=b"])


def test_where_a_table_can_be_written(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.pq"):
        assert table_path(f"{tmp_path}/{name}", "--out") == tmp_path / name
    for name in ("a.csv", "a", "parquet"):
        with pytest.raises(ConfigError, match=r"^--out .*: parquet is written: name it"):
            table_path(f"{tmp_path}/{name}", "--out")
    with pytest.raises(ConfigError, match=r"no such folder: .*/absent; make it first$"):
        table_path(f"{tmp_path}/absent/a.parquet", "--out")
    assert not list(tmp_path.iterdir())


def test_errors_name_the_option_that_is_meant() -> None:
    said = {"metrics": "--metrics a,b", "metrics.1": "--metrics b"}
    problems = [Problem("x", "metrics.1.k"), Problem("y", "metrics.10"), Problem("z", "recs")]
    with pytest.raises(ConfigError) as error, naming_options(said):
        raise ConfigError(*problems)
    assert str(error.value) == "--metrics b: x\n--metrics a,b: y\nrecs: z"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("seen_share needs train data: give train=", "seen_share needs train data: give --train"),
        ("needs to know all users: give users=", "needs to know all users: give --users"),
        (
            "no column user_id or query_id. Columns: uid. Name it: columns: {user_id: ...}",
            "no column user_id or query_id. Columns: uid. Name it: --columns user_id=...",
        ),
        (
            "no column item_id. Columns: uid, vid",
            "no column item_id. Columns: uid, vid. Name it: --columns item_id=...",
        ),
        (
            'no column rank or score. Columns: a. Rename one, e.g. .rename({"pos": "rank"})',
            "no column rank or score. Columns: a. Name one: --columns rank=...",
        ),
        (
            'no column item_id. Columns: a. Rename it, e.g. .rename({"vid": "item_id"})',
            "no column item_id. Columns: a. Name it: --columns item_id=...",
        ),
        ("forgive users=", "forgive users="),
        ("judged@5 needs exposures", "judged@5 needs exposures: give --exposures"),
        (
            "gini@5 needs a catalogue: an items table, or train data",
            "gini@5 needs a catalogue: give --items, or --train",
        ),
    ],
)
def test_messages_speak_of_options(message: str, shown: str) -> None:
    with pytest.raises(DataError) as error, naming_options({}):
        raise DataError(Problem(message, "recs", "x"))
    assert str(error.value) == f"x: recs: {shown}"
