"""The configurations of the repository: they load, run, and full.yaml shows every option."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
import yaml

import recoeval as rv
from recoeval.cli import main
from recoeval.component import Component
from recoeval.data.aliases import CanonicalItems
from recoeval.data.folds import LeaveLast, Rolling
from recoeval.data.truth import Positive
from recoeval.generators import GENERATORS
from recoeval.generators.base import Generator
from recoeval.metrics.base import METRICS
from recoeval.workflow.config import Config, json_schema
from recoeval.workflow.loaded import load_config

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
NAMES = [path.name for path in CONFIGS]
# What excludes what full.yaml shows in code stands there behind "# ".
ALTERNATIVES = {
    *("extends", "canonical_items", "users.exclude", "ground_truth.positives"),
    *("split.train", "split.test", "split.folds", "split.step", "split.n"),
}
# The comment beside it shows the other forms.
IN_WORDS = {"generators[precomputed].systems"}
# The same component is shown elsewhere, and the comment says where.
REFERRED = {
    f"{section}.format": "generators[precomputed].format"
    for section in ("interactions", "users", "items")
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOEVAL_KUAIRAND", "/data/kuairand")
    monkeypatch.delenv("RECOEVAL_DEMO", raising=False)


def read(name: str) -> dict[str, Any]:
    text = (ROOT / "configs" / name).read_text("utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def components(annotation: Any) -> Iterator[type[Component]]:
    """Yields the components that a value of a type can be."""
    if isinstance(annotation, type) and issubclass(annotation, Component):
        yield annotation
    elif get_origin(annotation) in (Union, UnionType, Annotated, dict, tuple, list):
        for inner in get_args(annotation):
            yield from components(inner)


def options(cls: type[Component], prefix: str = "") -> Iterator[str]:
    """Yields the dotted names of all options: "interactions.format.separator"."""
    for name, field in cls.model_fields.items():
        path = f"{prefix}{name}"
        yield path
        if path == "generators":
            for kind, generator in GENERATORS.items():
                yield from options(generator, f"generators[{kind}].")
        elif path not in {*ALTERNATIVES, *REFERRED, *IN_WORDS}:
            named = get_origin(field.annotation) is dict
            for inner in components(field.annotation):
                yield from options(inner, f"{path}.{'*.' if named else ''}")


def shown(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the same names for what a file says."""
    for name, value in data.items():
        path = f"{prefix}{name}"
        yield path
        if path == "generators":
            for key, generator in value.items():
                kind = (generator or {}).get("type", key)
                yield from shown(generator or {}, f"generators[{kind}].")
        elif path in ("buckets", "generators[merge].channels"):
            for each in value.values():
                yield from shown(each if isinstance(each, dict) else {}, f"{path}.*.")
        elif path in ("constraints", "funnel"):
            for each in value:
                if isinstance(each, dict):
                    yield from shown(each, f"{path}.")
        elif isinstance(value, dict) and not re.search(r"\b(columns|derive)$", path):
            yield from shown(value, f"{path}.")


@pytest.mark.parametrize("name", NAMES)
def test_every_configuration_loads(name: str) -> None:
    loaded = load_config(ROOT / "configs" / name)
    assert loaded.config.name == Path(name).stem


def test_there_are_the_three() -> None:
    assert {"quickstart.yaml", "full.yaml", "kuairand.yaml"} <= set(NAMES)


def test_full_shows_every_option_and_none_that_does_not_exist() -> None:
    found = set(shown(read("full.yaml")))
    known = set(options(Config)) | {"extends"}
    assert sorted(known - found - ALTERNATIVES) == []
    assert sorted(found - known) == []
    assert set(REFERRED.values()) <= found


def commented() -> list[dict[str, Any]]:
    """Returns the mappings that stand in comments of full.yaml, each on one line."""
    text = (ROOT / "configs" / "full.yaml").read_text("utf-8")
    lines = re.findall(r"^ *# (\w+: .*[\w\]}])(?: +#.*)?$", text, re.MULTILINE)
    found = [yaml.safe_load(line) for line in lines]
    return [each for each in found if isinstance(each, dict)]


def test_alternatives_are_in_comments_and_exist() -> None:
    known, found = set(), set()
    for each in commented():
        (name,) = each
        prefix = "users." if name == "exclude" else ""
        found |= set(shown(each, prefix))
    found = {re.sub(r"^(ground_truth\.positives)\.\w+", r"\1.*", name) for name in found}
    for name in ALTERNATIVES:
        assert name in found, name
        assert name in set(options(Config)) | {"extends"}
    # What such a section has is shown as well.
    known = {
        *(f"canonical_items.{name}" for name in CanonicalItems.model_fields),
        *(f"ground_truth.positives.*.{name}" for name in Positive.model_fields),
        *(f"split.{name}" for cls in (LeaveLast, Rolling) for name in cls.model_fields),
    }
    assert known <= found


@pytest.mark.parametrize("name", ["canonical_items", "exclude", "split", "ground_truth"])
def test_alternatives_load(name: str) -> None:
    ours = [each for each in commented() if name in each]
    assert ours
    for each in ours:
        data = read("full.yaml")
        if name == "exclude":
            data["users"] = data["users"] | each
        elif "train" in each.get("split", {}) and "type" not in each["split"]:
            data |= each
            del data["interactions"]["path"], data["seen"]["window"]
        else:
            data |= each
        load_config(data)


def test_every_option_of_full_has_a_comment() -> None:
    """On its line, or above it; lists and what is said twice are excused."""
    text = (ROOT / "configs" / "full.yaml").read_text("utf-8")
    before, bare = "", []
    for line in text.splitlines():
        key = re.match(r"\s*(?:- )?([a-z_]+):(?: |$)", line)
        if key and "#" not in line and "#" not in before and not before.rstrip().endswith(":"):
            bare.append(key[1])
        before = line
    excused = {"type", "item_id_type", "columns", "path", "random", "iterations", "alpha", "by"}
    # Sections whose entries have theirs, and names of their own.
    excused |= {"engine", "output", "k", "als", "two_tower", "editorial", "truth_size", "country"}
    assert set(bare) - excused <= {"quantiles"}


def test_full_names_every_metric_and_generator() -> None:
    config = load_config(ROOT / "configs" / "full.yaml").config
    assert {re.match(r"\w+", text)[0] for text in config.metrics} == set(METRICS)  # type: ignore[index]
    assert {each.type for each in config.generators.values()} == set(GENERATORS)
    assert all(isinstance(each, Generator) for each in config.generators.values())
    # Some need what the demo does not have, and stand in comments.
    text = (ROOT / "configs" / "full.yaml").read_text("utf-8")
    for cls in METRICS.values():
        for option in set(cls.model_fields) - {"rel"}:
            assert re.search(rf"\b{cls.title}\([^)]*\b{option}=", text), (cls.title, option)
    assert "(rel=" in text
    assert "@all" in text
    assert "@quota" in text


def test_full_runs(tmp_path: Path) -> None:
    run = rv.run(
        ROOT / "configs" / "full.yaml",
        set={"output.path": str(tmp_path), "generators.als.iterations": 1},
    )
    assert run.verdict.exit_code == 0
    assert rv.open_run(run.path).summary.equals(run.summary)


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "recoeval", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
    )


def test_quickstart(tmp_path: Path) -> None:
    """As it is it exits 0; as an error the same finding makes it 1."""
    path = str(ROOT / "configs" / "quickstart.yaml")
    done = command("run", path, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = (tmp_path / "runs" / "quickstart").iterdir()
    run = rv.open_run(folder)
    assert run.verdict.outcome == "pass"
    warned = [
        number
        for number, constraint in enumerate(read("quickstart.yaml")["constraints"])
        if isinstance(constraint, dict) and constraint["severity"] == "warn"
    ]
    assert len(warned) == 1
    failed = [row for row in run.verdict.outcomes if row[3] == "fail"]
    assert [(severity, generator) for _, severity, generator, _ in failed] == [
        ("warn", "als"),
        ("warn", "two_tower"),
    ]
    # The story: the mean is above the level that users with little history do not get.
    low = run.value("recall@100", "als", "activity:[1,50)")
    mean = run.value("recall@100", "als")
    assert low is not None
    assert mean is not None
    assert low < 0.3 < mean
    error = rv.run(
        path,
        set={
            f"constraints.{warned[0]}.severity": "error",
            "output.path": str(tmp_path / "runs"),
        },
    )
    assert (error.verdict.outcome, error.verdict.exit_code) == ("fail", 1)


def test_quickstart_without_its_slow_part() -> None:
    """No constraint names a generator that somebody may want to leave out."""
    loaded = load_config(ROOT / "configs" / "quickstart.yaml", sets=["generators.als=false"])
    assert list(loaded.config.generators) == ["popularity", "two_tower", "editorial"]


@pytest.mark.parametrize("name", ["quickstart.yaml", "full.yaml"])
def test_check_shows_the_plan(name: str, tmp_path: Path) -> None:
    done = command("check", str(ROOT / "configs" / name), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


SCALARS = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}


def fits(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], place: str) -> list[str]:
    """Returns where a value does not fit a JSON Schema, as far as ours goes."""
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            tried = [fits(value, choice, root, place) for choice in schema[word]]
            return [] if [] in tried else min(tried, key=len)
    if "if" in schema and fits(value, schema["if"], root, place):
        schema = {**schema, **schema["else"]}
    if "const" in schema and value != schema["const"]:
        return [f"{place}: {value!r} is not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place}: {value!r} is none of {schema['enum']}"]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(
        isinstance(value, SCALARS[kind]) and (kind == "boolean" or not isinstance(value, bool))
        for kind in kinds
    ):
        return [f"{place}: {value!r} is no {kinds}"]
    if isinstance(value, dict):
        return list(_misfits_of_keys(value, schema, root, place))
    if isinstance(value, list) and "items" in schema:
        return [
            problem
            for index, item in enumerate(value)
            for problem in fits(item, schema["items"], root, f"{place}.{index}")
        ]
    return []


def _misfits_of_keys(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], place: str
) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    yield from (f"{place}.{key}: missing" for key in schema.get("required", ()) if key not in value)
    for key, item in value.items():
        if key in known:
            yield from fits(item, known[key], root, f"{place}.{key}")
        elif others is False:
            yield f"{place}.{key}: unknown"
        elif isinstance(others, dict):
            yield from fits(item, others, root, f"{place}.{key}")


def plain(node: Any) -> Any:
    """Returns YAML data as an editor sees it: times are text."""
    if isinstance(node, dict):
        return {key: plain(item) for key, item in node.items()}
    if isinstance(node, list):
        return [plain(item) for item in node]
    return node if isinstance(node, str | int | float | None) else node.isoformat()


@pytest.mark.parametrize("name", NAMES)
def test_the_json_schema_fits_every_configuration(name: str) -> None:
    schema = json_schema()
    assert fits(plain(read(name)), schema, schema, "") == []


@pytest.mark.parametrize(
    "change",
    [
        {"metrcs": ["recall"]},
        {"k": "ten"},
        {"k": [1.5]},
        {"generators": {"als": {"factrs": 1}}},
        {"generators": {"als": True}},
        {"interactions": 5},
        {"split": {"test": 3}},
        {"split": {"test": "3d", "train": {"path": "a.parquet"}, "gap": "1h"}},
        {"constraints": [{"min": 1}]},
        {"ground_truth": {"repeats": "keep"}},
        {"buckets": {"x": {"by": "age"}}},
        {"stage": "recal"},
        {"canonical_items": 5},
        {"users": {"exclude": 5}},
        {"items": {"created_at": "born"}},
        {"exposures": {}},
        {"split": {"type": "rolling", "folds": 2}},
        {"split": {"n": "two"}},
        {"ground_truth": {"positives": {"a": {"gain": 1}}}},
    ],
)
def test_the_json_schema_refuses_what_is_wrong(change: dict[str, Any]) -> None:
    schema = json_schema()
    assert fits(plain({**read("quickstart.yaml"), **change}), schema, schema, "") != []


def test_a_file_that_extends_others_may_leave_out_what_they_have() -> None:
    schema = json_schema()
    assert fits({}, schema, schema, "") == [".split: missing", ".generators: missing"]
    assert fits({"extends": "base.yaml"}, schema, schema, "") == []


@pytest.mark.parametrize(
    "change",
    [
        {"k": 5},
        {"generators": {"als": None, "popularity": False}},
        {"split": {"train": "a.parquet", "test": {"path": "b.csv", "timestamp_unit": "s"}}},
        {"extends": "base.yaml"},
        {"extends": ["a.yaml", "b.yaml"]},
        {"constraints": ["recall@10 >= 0.1"]},
        {"constraints": [{"metric": "recall@10", "min": 0, "confidence": None}]},
        {"interactions": {"path": "a.parquet", "format": {"separator": "::"}}},
        {"stage": "recall"},
        {"stage": None},
        {"canonical_items": "aliases.parquet"},
        {"canonical_items": {"path": "aliases.parquet", "columns": {"alias": "old"}}},
        {"users": {"table": "users.parquet", "exclude": "bots.csv", "max_rows_per_day": 9}},
        {"items": {"table": "items.parquet", "created_at": "born", "available": "x = 1"}},
        {"exposures": {"where": "TRUE"}},
        {"split": {"type": "rolling", "folds": 2, "test": "1d", "train": "7d"}},
        {"split": {"folds": 2, "test": "1d"}},
        {"split": {"n": 2}},
        {"split": {"type": "leave_last"}},
        {"ground_truth": {"positives": {"a": {"where": "TRUE", "gain": 2, "horizon": "7d"}}}},
        {"buckets": {"x": {"side": "item", "by": "train_popularity", "quantiles": [0.8]}}},
    ],
)
def test_the_json_schema_knows_the_short_forms(change: dict[str, Any]) -> None:
    schema = json_schema()
    assert fits(plain({**read("quickstart.yaml"), **change}), schema, schema, "") == []


def masked(lines: Iterable[str]) -> list[str]:
    """Returns lines without what is new in each run; of ALS without its digits.

    ALS may differ in the last digit between processors; all else is the same everywhere.
    """
    found, of_als = [], False
    for line in lines:
        if line.startswith("Written to"):
            break  # the end; the path may take several lines
        if re.match(r" {0,2}\S", line) or not line:
            of_als = line.startswith("  als ")
        text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{6}", "RUN", line)
        text = re.sub(r"^Took .* s, .* MB", "", text)
        found.append(re.sub(r"\d", "#", text) if of_als else text)
    return found


def excerpts(readme: str) -> list[list[str]]:
    """Returns the lines of each text block, "..." between its parts."""
    blocks = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    return [part.splitlines() for block in blocks for part in block.split("...\n")]


OF_CHANNELS = "What each channel adds"
"""The section of README.md with excerpts of configs/channels.yaml."""


def without(title: str, page: str) -> tuple[str, str]:
    """Returns a page without a section, and the section."""
    before, found, rest = page.partition(f"\n## {title}\n")
    section, following, after = rest.partition("\n## ")
    assert found
    return before + following + after, section


def test_readme_shows_what_the_demo_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main(["run", "configs/quickstart.yaml", "--set", f"output.path={tmp_path}"])
    assert left.value.code == 0
    printed = masked(capsys.readouterr().out.splitlines())
    readme, _ = without(OF_CHANNELS, (ROOT / "README.md").read_text("utf-8"))
    shown = [masked(part) for part in excerpts(readme)]
    assert len(shown) == 4
    assert sum(map(len, shown)) > 100
    for part in shown:
        starts = [n for n, line in enumerate(printed) if line == part[0]]
        assert part in [printed[n : n + len(part)] for n in starts]


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def alike(shown: str, printed: str) -> bool:
    """Returns whether two lines say the same, up to what differs between processors.

    That is two units of the last digit, or half a percent, of a number that hangs on a trained
    model; and the blanks around it.
    """
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    for ours, theirs in pairs:
        one, other = (float(text.replace(",", "")) for text in (ours, theirs))
        unit = 10.0 ** -len(ours.partition(".")[2])
        if abs(one - other) > max(2.000001 * unit, 0.005 * abs(other)):
            return False
    return True


def test_lines_are_alike_up_to_the_last_digit() -> None:
    assert alike("  als  1,460  0.2600", "  als  1,459  0.2598")
    assert not alike("  als  1,460  0.2600", "  als  1,440  0.2600")
    assert not alike("  als  1,460  0.0126", "  als  1,460  0.0129")
    assert not alike("  als  1,460", "  ease  1,460")
    assert not alike("  als  1,460", "  als  1,460  12")


def test_pages_on_channels_show_what_the_run_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main(["run", "configs/channels.yaml", "--set", f"output.path={tmp_path}"])
    assert left.value.code == 0
    printed = capsys.readouterr().out.splitlines()
    page = (ROOT / "docs" / "channels.md").read_text("utf-8")
    _, section = without(OF_CHANNELS, (ROOT / "README.md").read_text("utf-8"))
    parts = [*excerpts(page), *excerpts(section)]
    assert len(excerpts(section)) == 2
    assert sum(map(len, parts)) > 90
    for part in parts:
        ends = range(len(printed) - len(part) + 1)
        assert any(all(map(alike, part, printed[n:])) for n in ends), part[0]
