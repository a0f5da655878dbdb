"""Texts of the command line."""

import datetime

import pytest

from recoeval.errors import ConfigError, Problem
from recoeval.workflow.arguments import (
    naming_options,
    parse_date,
    parse_pairs,
    split_depths,
    split_metrics,
)


def test_dates() -> None:
    assert parse_date(None) is None
    assert parse_date("2026-11-29") == datetime.date(2026, 11, 29)


@pytest.mark.parametrize(
    ("text", "metrics"),
    [
        ("", []),
        (" , ,", []),
        ("recall", ["recall"]),
        ("recall, ndcg@10 ,map", ["recall", "ndcg@10", "map"]),
        ("map(a=b,c=d)@5,recall", ["map(a=b,c=d)@5", "recall"]),
        ("map(a=b,recall", ["map(a=b,recall"]),
        ("map),recall", ["map)", "recall"]),
    ],
)
def test_metrics(text: str, metrics: list[str]) -> None:
    assert split_metrics(text) == metrics


def test_depths() -> None:
    assert split_depths("10, 100,") == [10, 100]
    assert split_depths("-1") == [-1]  # refused where the values are checked


def test_pairs() -> None:
    assert parse_pairs(["a=1", "b = x=y"], "--policy") == {"a": "1", "b": "x=y"}
    with pytest.raises(ConfigError, match=r"^--policy =1: expected name=value$"):
        parse_pairs(["=1"], "--policy")


def test_errors_name_the_option_that_is_meant() -> None:
    said = {"metrics": "--metrics a,b", "metrics.1": "--metrics b"}
    problems = [Problem("x", "metrics.1.k"), Problem("y", "metrics.10"), Problem("z", "recs")]
    with pytest.raises(ConfigError) as error, naming_options(said):
        raise ConfigError(*problems)
    assert str(error.value) == "--metrics b: x\n--metrics a,b: y\nrecs: z"
