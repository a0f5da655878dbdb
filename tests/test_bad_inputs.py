"""Bad inputs: each row of cases/bad_inputs.yaml is one command, its exact message and exit code."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import recoeval as rv
from recoeval.cli import main
from recoeval.errors import RecoevalError
from recoeval.generators import Popularity
from recoeval.metrics import METRICS

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("cases").joinpath("bad_inputs.yaml").read_text("utf-8")
)
LOG = """\
user_id,item_id,timestamp,event,dwell
1,10,2026-01-01T08:00:00Z,click,40
2,10,2026-01-02T08:00:00Z,click,50
2,20,2026-01-03T08:00:00Z,click,60
1,20,2026-01-10T08:00:00Z,click,40
2,30,2026-01-11T08:00:00Z,view,50
"""
# One section a line, in this order: the positions in the messages count from it.
SECTIONS = {
    "interactions": "{path: log.csv, timestamp_unit: iso}",
    "split": "{test_start: 2026-01-10T00:00:00Z}",
    "ground_truth": '{relevant: "dwell > 30"}',
    "generators": "{popularity: }",
    "metrics": "[recall]",
    "k": "[1, 2]",
    "engine": "{threads: 1}",
}
DTYPES = {
    "int": pl.Int64,
    "float": pl.Float64,
    "text": pl.String,
    "bool": pl.Boolean,
    "time": pl.Datetime("us"),
    "utc": pl.Datetime("us", "UTC"),
    "ints": pl.List(pl.Int64),
    "floats": pl.List(pl.Float64),
    "decimal": pl.Decimal(10, 2),
    "null": pl.Null,
}


def table(columns: dict[str, list[Any]]) -> pl.DataFrame:
    """Returns a frame of columns such as "item_id int": [1, 2]."""
    series = []
    for title, values in columns.items():
        name, _, kind = title.rpartition(" ")
        dtype = DTYPES[kind]
        if dtype in (pl.Datetime("us"), pl.Datetime("us", "UTC")):
            texts = pl.Series(name, values, dtype=pl.String)
            zone = "UTC" if kind == "utc" else None
            series.append(texts.str.to_datetime(time_unit="us", time_zone=zone))
        else:
            series.append(pl.Series(name, values, dtype=dtype, strict=False))
    return pl.DataFrame(series)


def put(folder: Path, name: str, content: Any) -> None:
    """Writes a file: text, or a mapping that says how it is made."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        path.mkdir()
        return
    content = {"text": content} if isinstance(content, str) else content
    if "text" in content:
        body = content["text"].encode()
        path.write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    if "table" in content:
        frame = table(content["table"])
        {".parquet": frame.write_parquet, ".arrow": frame.write_ipc, ".csv": frame.write_csv}[
            path.suffix
        ](path)
    if "bytes" in content:
        path.write_bytes(bytes.fromhex(content["bytes"]))
    if "cut" in content:
        body = path.read_bytes()
        path.write_bytes(body[: int(len(body) * content["cut"])])


class Broken(Popularity):
    """A generator that fails where its window tells it to."""

    def fit(self, _train: Any) -> Any:
        if self.window is not None and self.window.days == 1:
            raise ValueError("no luck\x1b[31m in fit")
        return self

    def recommend(self, queries: pl.DataFrame, _k: int) -> pl.LazyFrame:
        if self.window is not None and self.window.days == 2:
            raise ZeroDivisionError("no luck in recommend")
        # Lists without the columns that lists have.
        return queries.lazy().select("query_id")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECOEVAL_DEBUG", raising=False)


def command(case: dict[str, Any]) -> list[str]:
    """Returns the arguments of a case's command, its files written to the current folder."""
    files = {"log.csv": LOG, **case.get("files", {})}
    for name, content in files.items():
        if content != "absent":
            put(Path(), name, content)
    if "evaluate" in case:
        return ["evaluate", *case["evaluate"]]
    sections = {**SECTIONS, **case.get("config", {})}
    text = "".join(f"{name}: {said}\n" for name, said in sections.items() if said is not None)
    Path("bad.yaml").write_text(case.get("yaml", text), "utf-8")
    return [case.get("command", "run"), "bad.yaml", *case.get("options", ())]


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.parametrize("case", [c for c in CASES if "frames" not in c], ids=lambda c: c["name"])
def test_bad_input(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    if case.get("broken"):
        monkeypatch.setattr(Popularity, "fit", Broken.fit)
        monkeypatch.setattr(Popularity, "recommend", Broken.recommend, raising=False)
    code = run(command(case))
    out, err = capsys.readouterr()
    err = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{6}", "{run}", err)
    err = re.sub(r"later than [\d-]+T[\d:]+Z", "later than {tomorrow}", err)
    err = err.replace(f"Metrics: {', '.join(METRICS)}", "Metrics: {metrics}")
    assert (err.rstrip("\n"), code) == (case["stderr"].rstrip("\n"), case["code"])
    if "partial" not in case:
        assert out == ""
        nothing_is_left()
        return
    # The others finished, and the report says so.
    assert f"Verdict: PARTIAL (exit code {code})" in out
    assert re.findall(r"^  failed: (\S+)", out, re.MULTILINE) == case["partial"]
    (manifest,) = Path("runs").rglob("manifest.json")
    assert json.loads(manifest.read_text("utf-8"))["status"] == "partial"


def nothing_is_left() -> None:
    """No run directory, no temporary file: a failed run leaves at most its folder's name."""
    left = [path for path in Path("runs").rglob("*") if path.parent != Path("runs")]
    assert left == []


@pytest.mark.parametrize("case", [c for c in CASES if "frames" in c], ids=lambda c: c["name"])
def test_bad_frame(case: dict[str, Any]) -> None:
    frames = {name: table(columns) for name, columns in case["frames"].items()}
    recs, truth = frames.pop("recs"), frames.pop("truth")

    def evaluate() -> None:
        evaluation = rv.evaluate(recs, truth, **frames, **case.get("options", {}))
        evaluation.check(case.get("check", []))

    with pytest.raises(RecoevalError) as caught:
        evaluate()
    assert str(caught.value) == case["stderr"].rstrip("\n")
    assert caught.value.exit_code == case["code"]


def test_the_table_is_large_and_well_formed() -> None:
    assert len(CASES) >= 60
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert {case["code"] for case in CASES} == {2, 3, 4}
    for case in CASES:
        jargon = r"Traceback|pydantic|ComputeError|SchemaError|Input should|\x1b|0x[0-9a-f]{6,}"
        assert not re.search(jargon, case["stderr"]), case["name"]


def test_the_base_of_the_table_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command({})) == 0
    out, err = capsys.readouterr()
    assert "Written to runs/recoeval/" in out
    assert err == ""
    assert len(list(Path("runs").rglob("manifest.json"))) == 1
