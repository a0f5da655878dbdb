import gzip
import hashlib
import json
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from tests.workflow.test_pipeline import LISTS, channel
from tests.workflow.test_preparation import RULE, SPLIT, tiny, tiny_config, write_sides


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_what_ran_where_and_when(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    run = rv.run(tiny_config(tmp_path, seed=11))
    manifest = run.manifest
    assert json.loads((run.path / "manifest.json").read_text("utf-8")) == manifest
    assert manifest["recoeval"] == version("recoeval") == rv.__version__
    assert manifest["status"] == "complete"
    assert (manifest["name"], manifest["seed"]) == ("tiny", 11)
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{6}", manifest["run_id"])
    started, finished = (datetime.fromisoformat(manifest[key]) for key in ("started", "finished"))
    assert before <= started <= finished <= datetime.now(UTC)
    assert manifest["seconds"] == pytest.approx((finished - started).total_seconds(), abs=0.001)
    assert manifest["peak_memory_mb"] > 10
    assert manifest["versions"]["polars"] == pl.__version__
    assert manifest["host"]["threads"] == 1
    assert manifest["notes"] == []


def test_log_and_split_and_definitions(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        training={"where": "event = 'click'", "weight": "COALESCE(dwell, 1)"},
        seen={"where": "event = 'impression'", "window": "3d"},
        ground_truth={"gain": "CASE WHEN dwell > 60 THEN 2 ELSE 1 END", "cold_items": "drop"},
    )
    manifest = rv.run(config).manifest
    assert manifest["log"]["interactions"] == {
        "rows": 28,
        "start": "2026-01-01 08:00:00+00:00",
        "end": "2026-01-13 00:00:00+00:00",
        "exact_duplicates": 1,
    }
    assert manifest["splits"][0]["gap_rows"] == 2
    assert manifest["definitions"] == {
        "query": "user",
        "split": {"type": "time", **SPLIT},
        "cutoff": "2026-01-10T00:00:00Z",
        "relevant": RULE,
        "gain": "CASE WHEN dwell > 60 THEN 2 ELSE 1 END",
        "train_rows": "event = 'click'",
        "train_weight": "COALESCE(dwell, 1)",
        "seen": "event = 'impression'",
        "seen_window": "3d",
        "policies": {
            "zero_relevant": "skip",
            "repeats": "exclude",
            "cold_users": "keep",
            "cold_items": "drop",
        },
    }


def test_definitions_by_default(tmp_path: Path) -> None:
    definitions = rv.run(tiny_config(tmp_path)).manifest["definitions"]
    named = ("relevant", "gain", "train_rows", "train_weight", "seen", "seen_window")
    assert [definitions[name] for name in named] == [RULE, "1", RULE, "1", "train rows", None]


def test_inputs_have_fingerprints(tmp_path: Path) -> None:
    generators = {"popularity": None, "channel": channel(tmp_path)}
    manifest = rv.run(tiny_config(tmp_path, generators=generators)).manifest
    expected = []
    for role, name in (("interactions", "log.parquet"), ("generators.channel", "lists.parquet")):
        content = (tmp_path / name).read_bytes()
        expected.append(
            {
                "role": role,
                "path": str(tmp_path / name),
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        )
    assert manifest["inputs"] == expected


def test_every_file_of_a_glob_or_of_a_side_has_a_fingerprint(tmp_path: Path) -> None:
    for number, rows in enumerate(tiny().iter_slices(10)):
        rows.write_parquet(tmp_path / f"part-{number}.parquet")
    config = tiny_config(tmp_path, interactions={"path": str(tmp_path / "part-*.parquet")})
    found = rv.run(config).manifest["inputs"]
    assert [Path(each["path"]).name for each in found] == [f"part-{n}.parquet" for n in range(3)]
    assert {each["role"] for each in found} == {"interactions"}
    sides = write_sides(tmp_path, times=True)
    found = rv.run(tiny_config(tmp_path, interactions=None, split=sides)).manifest["inputs"]
    assert [each["role"] for each in found] == ["split.train", "split.test"]


def test_fingerprint_of_the_configuration(tmp_path: Path) -> None:
    one, same, other = (
        rv.run(tiny_config(tmp_path, k=k)).manifest["config_sha256"] for k in ([1], [1], [2])
    )
    assert one == same != other


def test_the_fingerprint_knows_the_values_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(
        tmp_path, ground_truth={"relevant": "event = 'click' AND dwell > ${LEAST}"}
    )
    found = {}
    for least in ("30", "45"):
        monkeypatch.setenv("LEAST", least)
        run = rv.run(config)
        found[run.value("recall@2")] = run.manifest["config_sha256"]
    assert len(set(found.values())) == len(found) == 2


def test_threads_are_noted_where_they_matter(tmp_path: Path) -> None:
    generators = {"popularity": None, "mine": {"type": "als", "factors": 2}}
    single = rv.run(tiny_config(tmp_path, generators=generators)).manifest
    assert single["notes"] == []
    several = rv.run(tiny_config(tmp_path, generators=generators, engine={"threads": 2})).manifest
    assert several["host"]["threads"] == 2
    (note,) = several["notes"]
    assert note.startswith("mine: trained with 2 threads")


def test_names_in_their_order(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        generators={"b": {"type": "popularity"}, "a": {"type": "popularity"}},
        baselines=["a"],
        metrics=["recall", "ndcg(gain=binary)@2", "coverage"],
        constraints=["hits@1 >= 0"],
        buckets={"size": {"by": "relevant_items", "edges": [2, 50]}},
    )
    manifest = rv.run(config).manifest
    assert manifest["generators"] == ["b", "a"]
    assert manifest["baselines"] == ["a"]
    assert manifest["measures"] == [
        "recall@1",
        "recall@2",
        "ndcg(gain=binary)@2",
        "coverage",
        "hits@1",
        "recall_ceiling",
    ]
    # Cold and warm pairs are always told apart.
    assert manifest["buckets"] == {
        "size": ["[-inf,2)", "[2,50)", "[50,inf)"],
        "coldness": ["cold", "warm"],
    }


def write_yaml(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tiny().write_parquet(folder / "log.parquet")
    pl.DataFrame(LISTS, ("user_id", "item_id", "rank"), orient="row").write_parquet(
        folder / "lists.parquet"
    )
    (folder / "nightly.yaml").write_text(text, "utf-8")
    return folder / "nightly.yaml"


NIGHTLY = """\
name: nightly
interactions: "{log}"
split: {{test_start: 2026-01-10T00:00:00Z, test: 2d, gap: 1d}}
ground_truth: {{relevant: "event = 'click' AND dwell > ${{LEAST:-30}}"}}
generators:
  popularity:
  als: {{factors: 2, iterations: "${{ROUNDS:-4}}"}}
  channel: {{type: precomputed, path: "{lists}"}}
baselines: [popularity]
metrics: [recall, "ndcg(gain=exponential)@2", coverage]
k: [1, 2]
buckets: {{size: {{by: relevant_items, edges: [2]}}}}
constraints:
  - recall@2 >= 0.1
  - {{metric: recall@1, bucket: size, match: "[2,inf)", min: 0.1, confidence: null, severity: warn}}
engine: {{threads: 1}}
output: {{path: "{runs}"}}
"""


@pytest.mark.parametrize(
    ("log", "lists", "runs"),
    [
        ("log.parquet", "lists.parquet", "runs"),
        ("../here/log.parquet", "./lists.parquet", "../runs"),
        ("${PLACE:-../here}/log.parquet", "${PLACE:-.}/lists.parquet", "${OUT:-runs}"),
        ("${FOLDER}/log.parquet", "${FOLDER}/lists.parquet", "${FOLDER}/runs"),
        ("dt={date}/../log.parquet", "lists.parquet", "runs"),
    ],
)
def test_the_stored_configuration_reproduces_the_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    log: str,
    lists: str,
    runs: str,
) -> None:
    monkeypatch.setenv("FOLDER", str(tmp_path / "here"))
    text = NIGHTLY.format(log=log, lists=lists, runs=runs)
    text = text.replace('"${ROUNDS:-4}"', "${ROUNDS:-4}").replace("{factors", "{ factors")
    text = re.sub(r"als: \{ factors: 2, iterations: (.*?)\}\n", "als:\n    iterations: 4\n", text)
    path = write_yaml(tmp_path / "here", text)
    (tmp_path / "here" / "dt=2026-01-13").mkdir()
    monkeypatch.chdir(tmp_path)
    day = datetime(2026, 1, 13, tzinfo=UTC).date()
    first = rv.run("here/nightly.yaml", date=day)
    folder = first.path.resolve()
    assert path.exists()
    # From another folder, without the date.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = rv.run(folder / "config.yaml")
    assert again.summary.equals(first.summary)
    assert again.per_query.equals(first.per_query)
    assert again.verdict == first.verdict
    assert again.path.parent.resolve() == folder.parent
    assert again.manifest["definitions"] == first.manifest["definitions"]
    assert (again.path / "config.yaml").read_bytes() == (folder / "config.yaml").read_bytes()


def test_the_environment_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMPAIGN_TOKEN", "hunter2-secret")
    monkeypatch.setenv("LEAST", "30.015625")
    rule = "event <> '${CAMPAIGN_TOKEN}' AND event = 'click' AND dwell > ${LEAST}"
    text = NIGHTLY.format(log="log.parquet", lists="lists.parquet", runs="runs")
    text = text.replace("\"event = 'click' AND dwell > ${LEAST:-30}\"", f'"{rule}"')
    text = text.replace('"${ROUNDS:-4}"', "4")
    run = rv.run(write_yaml(tmp_path / "here", text))
    stored = (run.path / "config.yaml").read_text("utf-8")
    assert rule in stored
    assert "30.015625" not in stored
    assert b"hunter2-secret" not in everything(run.path)


@pytest.mark.parametrize("kind", ["missing", "extra"])
def test_set_is_part_of_the_stored_configuration(tmp_path: Path, kind: str) -> None:
    changes: dict[str, Any] = {"k": [2], "generators.popularity": False}
    if kind == "extra":
        changes = {"k": [2], "generators.floor.type": "random"}
    config = tiny_config(tmp_path, generators={"popularity": None, "channel": channel(tmp_path)})
    run = rv.run(config, set=changes)
    again = rv.run(run.path / "config.yaml")
    assert again.summary.equals(run.summary)
    assert again.manifest["config_sha256"] == run.manifest["config_sha256"]


@pytest.mark.parametrize("name", ["served.run", "served.run.gz"])
def test_a_trec_run_is_an_input_like_any_other(tmp_path: Path, name: str) -> None:
    text = "".join(f"{user} Q0 30 1 2.5 tag\n" for user in (1, 2, 3, 4)).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    served = {"type": "precomputed", "path": str(path)}
    served |= {"user_id_type": "int", "item_id_type": "int"}
    run = rv.run(tiny_config(tmp_path, generators={"served": served}))
    (found,) = [each for each in run.manifest["inputs"] if each["role"] == "generators.served"]
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_log_of_1970_asks_for_the_unit_of_time(tmp_path: Path) -> None:
    times = tiny().with_columns(pl.col("timestamp").dt.epoch("s"))
    times.write_parquet(tmp_path / "log.parquet")
    log = {"timestamp_unit": "ms"}
    split = {"type": "time", "fraction": 0.4}
    run = rv.run(tiny_config(tmp_path, interactions=log, split=split))
    assert "all times lie before 1990: is timestamp_unit right?" in run.manifest["notes"]
    right = rv.run(tiny_config(tmp_path, interactions={"timestamp_unit": "s"}, split=split))
    assert not any("1990" in note for note in right.manifest["notes"])


@pytest.mark.parametrize(
    ("sides", "noted"), [(("train", "test"), False), (("test", "train"), True)]
)
def test_training_on_the_future_is_noted(
    tmp_path: Path, sides: tuple[str, str], noted: bool
) -> None:
    files = write_sides(tmp_path, times=True)
    split = {"train": files[sides[0]], "test": files[sides[1]]}
    run = rv.run(tiny_config(tmp_path, interactions=None, split=split))
    assert any("split.train goes on until" in note for note in run.manifest["notes"]) == noted


def test_notes_on_the_stage(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, stage="recall", k=[2], metrics=["recall", "ndcg@60"])
    # Three items have a train row: 5% of them is less than one.
    assert rv.run(config).manifest["notes"] == [
        (
            "stage recall: ndcg@60: the order of a list counts, and a later stage sorts it anew; "
            "recall, hit_rate, capped_recall fit better"
        ),
        "stage recall: K = 2: usual at this stage are 100, 500, 1000",
        (
            "stage recall: K = 2, 60: more than 5% of the catalogue of 3 items, so that lists "
            "drawn by chance find much"
        ),
    ]
    assert rv.run(tiny_config(tmp_path)).manifest["notes"] == []
