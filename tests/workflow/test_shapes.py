"""Damaged JSON files of a run: refused where they are read, never later."""

import io
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import recoeval as rv
from recoeval.errors import DataError
from recoeval.report.document import json_text, results_document
from recoeval.report.sections import Results, report_sections
from recoeval.report.text import open_console, write_report
from recoeval.workflow.shapes import ManifestFile, require_shape
from tests.workflow.test_folds import rolled
from tests.workflow.test_store import finished

DAMAGE = (None, {"x": 1})
# What the report does not read.
UNREAD = ("host", "inputs", "versions", "reused", "failures")


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        rv.open_run(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("audit", None, "is not of this version: audit: Input should be a valid array"),
        ("audit", [{}], "is not of this version: audit.0.severity: Field required"),
        ("seed", "x", "is not of this version: seed: Input should be a valid integer"),
        ("seconds", "1", "is not of this version: seconds: Input should be a valid number"),
        ("health", {"a": [[1]]}, "is not of this version: health.a.0: Input should be"),
        ("splits", [{"fold": 0}], "is not of this version: splits.0.train: Field required"),
        ("buckets", {"a": "b"}, "is not of this version: buckets.a: Input should be a valid array"),
    ],
)
def test_a_manifest_of_other_types(tmp_path: Path, name: str, value: Any, said: str) -> None:
    run = finished(tmp_path)
    (run.path / "manifest.json").write_text(json.dumps({**run.manifest, name: value}))
    assert refused(run.path).startswith(f"{run.path}/manifest.json: {said}")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"outcome": "maybe"}, "is not of this version: outcome: Input should be 'none'"),
        ({"checks": [{}]}, "is not of this version: checks.0.constraint: Field required"),
        ({"suspicions": [["data"]]}, "is not of this version: suspicions.0.1: Field required"),
        ({"constraints": None}, "is not of this version: constraints: Input should be a valid"),
    ],
)
def test_a_verdict_of_other_types(tmp_path: Path, value: Any, said: str) -> None:
    run = finished(tmp_path)
    (run.path / "constraints.json").write_text(json.dumps({**run.verdict.as_dict(), **value}))
    assert refused(run.path).startswith(f"{run.path}/constraints.json: {said}")


def test_what_nobody_reads_may_be_anything() -> None:
    require_shape('{"host": 5, "more": null}', ManifestFile, "manifest.json")


def damaged(node: Any, depth: int = 4) -> Iterator[Any]:
    """Yields the document with one of its values replaced or taken out, each in turn."""
    yield from (value for value in DAMAGE if value != node)
    if not depth or not isinstance(node, dict | list):
        return
    # The first records of a list stand for the others.
    places = list(node) if isinstance(node, dict) else range(min(1, len(node)))
    for place in places:
        without = deepcopy(node)
        del without[place]
        yield without
        for value in damaged(node[place], depth - 1):
            changed = deepcopy(node)
            changed[place] = value
            yield changed


def shorter(node: Any) -> Any:
    """Returns a table of alike entries with two of them, and what is no such table as it is."""
    if not isinstance(node, dict) or "policies" in node:
        return node
    return dict(list(node.items())[:2])


def shown(run: rv.Run) -> None:
    results = Results(run.evaluation, run.verdict, run.manifest, {}, str(run.path))
    json_text(results_document(results))
    write_report(report_sections(results, full=True), open_console(io.StringIO()))


@pytest.mark.parametrize("name", ["manifest.json", "constraints.json"])
def test_a_run_is_refused_or_can_be_shown(tmp_path: Path, name: str) -> None:
    run = rolled(tmp_path, constraints=["recall@2 >= 0.1"], metrics=["recall@2"])
    file = run.path / name
    whole = json.loads(file.read_text("utf-8"))
    whole = {key: shorter(value) for key, value in whole.items() if key not in UNREAD}
    outcomes = {"shown": 0, "refused": 0}
    for content in damaged(whole, depth=3):
        file.write_text(json.dumps(content))
        try:
            again = rv.open_run(run.path)
        except DataError:
            outcomes["refused"] += 1
        else:
            shown(again)
            outcomes["shown"] += 1
    assert outcomes["refused"] > outcomes["shown"] > 0
