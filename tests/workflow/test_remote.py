"""Runs whose inputs are in an S3 store: the numbers of local files, and no secret anywhere."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval import cli
from recoeval.data.frames import to_frame
from recoeval.errors import DataError
from tests.store import SECRET, Bucket
from tests.workflow.test_manifest import everything
from tests.workflow.test_pipeline import LISTS, channel
from tests.workflow.test_preparation import RULE, tiny, tiny_config

TEXT = f"""\
name: nightly
interactions: "BUCKET/logs/dt={{date}}/*.parquet"
users: {{table: "BUCKET/users.csv"}}
items: {{table: "BUCKET/items.ndjson"}}
canonical_items: "BUCKET/aliases.arrow"
split: {{test_start: 2026-01-10T00:00:00Z, test: 2d, gap: 1d}}
ground_truth: {{relevant: "{RULE}"}}
generators:
  popularity:
  channel: {{type: precomputed, path: "BUCKET/lists/"}}
buckets: {{country: {{by: column, column: country}}}}
k: [1, 2]
"""


@pytest.fixture
def nightly(bucket: Bucket, tmp_path: Path) -> Path:
    """A configuration whose inputs are all in a bucket."""
    lists = pl.DataFrame(LISTS, ("user_id", "item_id", "rank"), orient="row")
    for number, rows in enumerate(tiny().iter_slices(10)):
        bucket.put(f"logs/dt=2026-01-13/p{number}.parquet", rows)
    bucket.put("logs/dt=2026-01-13/_SUCCESS", b"")
    for number, rows in enumerate(lists.iter_slices(3)):
        bucket.put(f"lists/p{number}.parquet", rows)
    bucket.put("users.csv", {"user_id": [1, 2, 3], "country": ["NO", "NO", "SE"]})
    bucket.put("items.ndjson", {"item_id": list(range(10, 80, 10))})
    bucket.put("aliases.arrow", {"alias": [11], "item_id": [10]})
    path = tmp_path / "configs" / "nightly.yaml"
    path.parent.mkdir()
    path.write_text(TEXT.replace("BUCKET", bucket.url), "utf-8")
    return path


def test_a_run_has_the_numbers_of_local_files(
    nightly: Path, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    remote = rv.run(nightly, date="2026-01-13")
    local = rv.run(
        tiny_config(tmp_path, generators={"popularity": None, "channel": channel(tmp_path)})
    )
    for name in local.manifest["generators"]:
        for label in ("recall@1", "recall@2"):
            assert remote.value(label, generator=name) == local.value(label, generator=name)
    inputs = remote.manifest["inputs"]
    assert {each["role"] for each in inputs} == {
        *("interactions", "users", "items", "canonical_items", "generators.channel"),
    }
    first = inputs[0]
    assert set(first) == {"role", "path", "bytes", "etag"}
    assert first["path"] == f"{bucket.url}/logs/dt=2026-01-13/p0.parquet"
    info = bucket.client.get_file_info(first["path"].removeprefix("s3://"))
    assert first["bytes"] == info.size
    assert first["etag"]
    assert '"' not in first["etag"]
    assert SECRET.encode() not in everything(remote.path)
    stored = remote.path.resolve() / "config.yaml"
    # The stored configuration names the same objects, from any folder.
    monkeypatch.chdir(tmp_path / "configs")
    again = rv.run(stored)
    assert again.summary.equals(remote.summary)
    assert again.manifest["inputs"] == inputs


def test_another_content_has_another_etag(bucket: Bucket, tmp_path: Path) -> None:
    path = bucket.put("log.parquet", tiny())
    config = tiny_config(tmp_path, interactions={"path": path})
    (one,) = rv.run(config).manifest["inputs"]
    bucket.put("log.parquet", tiny().with_columns(more=1))
    (two,) = rv.run(config).manifest["inputs"]
    assert one["etag"] != two["etag"]


def test_check_reads_headers(
    nightly: Path, capsys: pytest.CaptureFixture[str], bucket: Bucket
) -> None:
    code, out, err = command(capsys, "check", str(nightly), "--date", "2026-01-13", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["inputs"]
    assert found["interactions"]["path"] == f"{bucket.url}/logs/dt=2026-01-13/*.parquet"
    code, _, err = command(capsys, "check", str(nightly), "--date", "2026-01-14")
    assert code == 3
    assert f"{bucket.url}/logs/dt=2026-01-14/*.parquet matches no data files" in err
    assert "Traceback" not in err


def test_evaluate_takes_a_prefix(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    recs = {"user_id": [1, 1, 2], "item_id": [7, 8, 9], "rank": [1, 2, 1]}
    truth = {"user_id": [1, 2], "item_id": [8, 7]}
    for number, rows in enumerate(pl.DataFrame(recs).iter_slices(1)):
        bucket.put(f"lists/p{number}.parquet", rows)
    found = rv.evaluate(f"{bucket.url}/lists/", bucket.put("truth.parquet", truth), k=2)
    assert found.value("recall@2") == 0.5
    as_path = rv.evaluate(Path(f"{bucket.url}/lists"), pl.DataFrame(truth), k=2)
    assert as_path.summary.equals(found.summary)
    lists = f"{bucket.url}/lists/*.parquet"
    pairs = bucket.put("named.csv", {"uid": [1, 2], "item_id": [8, 7]})
    code, out, _ = command(
        capsys,
        *("evaluate", "--recs", lists, "--truth", pairs, "--metrics", "recall", "--k", "2"),
        *("--json", "--columns", "user_id=uid"),
    )
    assert code == 0
    assert json.loads(out)["summary"]


def test_a_refused_path_is_an_error_of_the_data(
    bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(TEXT.replace("BUCKET", "s3://not-there"), "utf-8")
    code, out, err = command(capsys, "run", str(path), "--date", "2026-01-13")
    assert (code, out) == (3, "")
    assert "canonical_items.path: s3://not-there/aliases.arrow: there is no such bucket at " in err
    assert "Traceback" not in err
    assert SECRET not in err


def test_a_frame_of_a_store_that_refuses(bucket: Bucket) -> None:
    frame = pl.scan_parquet(f"{bucket.url}/none.parquet", glob=False)
    with pytest.raises(DataError, match="recs: cannot be read: there is no such object any more"):
        to_frame(frame, what="recs")


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return stop.value.code, *capsys.readouterr()


def test_systems_in_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    lists = pl.DataFrame(LISTS, ("user_id", "item_id", "rank"), orient="row")
    for name in ("b", "a"):
        bucket.put(f"lists/{name}.parquet", lists.with_columns(model=pl.lit(name)))
    files = {"type": "precomputed", "path": f"{bucket.url}/lists/*.parquet", "systems": "per_file"}
    column = files | {"systems": {"column": "model"}}
    done = rv.run(tiny_config(tmp_path, generators={"files": files, "column": column}))
    names = ["files/a", "files/b", "column/a", "column/b"]
    assert done.manifest["generators"] == names
    values = {done.evaluation.value("recall@2", generator=name) for name in names}
    assert len(values) == 1
    roles = [each["role"] for each in done.manifest["inputs"]]
    assert roles.count("generators.files") == roles.count("generators.column") == 2
