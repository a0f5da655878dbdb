"""Our numbers against those that other libraries gave for the same lists.

`scripts/peers` recorded them: cases.json has the lists, each other file the values of a library,
and which option of ours equals which metric of it.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scripts.peers_lib.ours import FORMS, Computed, differences, evaluate_case, label_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = sorted(path.stem for path in HERE.glob("*.json") if path.stem != "cases")
METRIC = "metric "

Record = dict[str, Any]


@cache
def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return found


def metrics_of(peer: str) -> dict[str, Record]:
    return {
        name.removeprefix(METRIC): record
        for name, record in read(peer).items()
        if name.startswith(METRIC)
    }


@cache
def templates() -> tuple[str, ...]:
    """Every template of ours that some library has, each of which fits each case."""
    records = [record for peer in FILES for record in metrics_of(peer).values()]
    texts = {record[key] for record in records for key in ("ours", "nearest")}
    return tuple(sorted(texts - {None}))


@cache
def ours(case: str, population: str, order: str | None = None) -> Computed:
    return evaluate_case(read("cases")[case], templates(), population, order)


def users_of(value: Record) -> dict[str, float | None]:
    """The values of a library by user."""
    ids = map(str, read("cases")[value["case"]]["users"])
    return dict(zip(ids, value["users"], strict=True))


def numbers(record: Record, tolerance: float) -> list[str]:
    """Returns what differs between a metric of a library and ours, in the cases that are equal."""
    wrong, compared = [], 0
    for value in record["values"]:
        if value["case"] == "ties":
            continue
        label = label_of(record["ours"], value["k"])
        if record["users"] is not None:
            own = ours(value["case"], "relevant").users[label]
            apart = differences(users_of(value), own, record["form"])
            compared += len(apart)
            wrong += [f"{label} {value['case']} {u}" for u, d in apart.items() if d > tolerance]
        if record["population"] is not None:
            mean = ours(value["case"], record["population"]).means[label]
            assert mean is not None
            compared += 1
            if abs(FORMS[record["form"]](mean) - value["mean"]) > tolerance:
                wrong.append(f"{label} {value['case']} mean")
    assert compared >= 9
    return wrong


def test_there_are_records_of_every_library() -> None:
    assert FILES == ["ir_measures", "lenskit", "ranx", "rectools", "replay", "torchmetrics"]


@pytest.mark.parametrize("peer", FILES)
def test_what_is_said_to_be_equal_is_equal(peer: str) -> None:
    equal = {name: r for name, r in metrics_of(peer).items() if r["nearest"] is None}
    assert len(equal) >= 7
    wrong = {name: numbers(record, read(peer)["tolerance"]) for name, record in equal.items()}
    assert not {name: found for name, found in wrong.items() if found}


@pytest.mark.parametrize("peer", FILES)
def test_what_is_said_to_differ_differs(peer: str) -> None:
    for name, record in metrics_of(peer).items():
        if record["nearest"] is not None:
            (value,) = [value for value in record["values"] if value["case"] == "tiny"]
            label = label_of(record["nearest"], value["k"])
            own = ours("tiny", "relevant")
            if "users" in value and label in own.users:
                apart = list(differences(users_of(value), own.users[label], "{}").values())
            else:
                mean = own.means[label]
                assert mean is not None
                apart = [abs(value["mean"] - mean)]
            assert max(apart) > read(peer)["tolerance"], name


@pytest.mark.parametrize("peer", FILES)
def test_equal_scores_are_ordered_as_said(peer: str) -> None:
    wrong = []
    for order, names in read(peer)["ties"].items():
        for name in names if order != "none" else ():
            record = metrics_of(peer)[name]
            for value in (value for value in record["values"] if value["case"] == "ties"):
                label = label_of(record["ours"], value["k"])
                own = ours("ties", "relevant", order).users[label]
                apart = differences(users_of(value), own, record["form"])
                if max(apart.values()) > read(peer)["tolerance"]:
                    wrong.append((name, order))
    assert not wrong


def test_the_page_names_every_metric_and_version() -> None:
    page = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    for peer in FILES:
        assert read(peer)["version"] in page
        for name, record in metrics_of(peer).items():
            assert f"`{name}`" in page
            if record["nearest"] is None:
                assert record["form"].format(f"`{record['ours']}`") in page


def test_the_fixtures_are_small() -> None:
    assert sum(path.stat().st_size for path in HERE.glob("*.json")) < 300_000
