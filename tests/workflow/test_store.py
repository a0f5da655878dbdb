import json
import os
from pathlib import Path
from typing import IO, Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.errors import DataError
from recoeval.workflow.disk import write_file
from recoeval.workflow.store import RunDirectory
from tests.workflow.test_pipeline import channel, values
from tests.workflow.test_preparation import tiny_config

FILES = {
    "config.yaml",
    "constraints.json",
    "hits/part-00000.parquet",
    "loss.parquet",
    "lost/part-00000.parquet",
    "manifest.json",
    "per_query/part-00000.parquet",
    "summary.parquet",
}


def finished(folder: Path, **sections: Any) -> rv.Run:
    base: dict[str, Any] = {
        "generators": {"popularity": None, "channel": channel(folder)},
        "baselines": ["channel"],
        "buckets": {"size": {"by": "relevant_items", "edges": [2, 50]}},
        "metrics": ["recall", "ndcg(gain=exponential)@2", "coverage"],
        "constraints": [
            "recall@2 >= 0.1",
            {"metric": "recall@1", "bucket": "size", "min": 0.9, "confidence": None},
        ],
    }
    return rv.run(tiny_config(folder, **base, **sections))


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_a_run_directory_holds(tmp_path: Path) -> None:
    run = finished(tmp_path)
    assert run.path.parent == tmp_path / "runs" / "tiny"
    assert run.path.name == run.manifest["run_id"]
    assert files_of(run.path) == FILES
    with_lists = finished(tmp_path, output={"recommendations": True})
    more = files_of(with_lists.path) - FILES
    (note,) = (name for name in more if name.startswith("cache/"))
    assert more == {"recommendations/popularity/part-00000.parquet", note}
    assert with_lists.path != run.path


def test_open_run_gives_back_the_run(tmp_path: Path) -> None:
    run = finished(tmp_path)
    for place in (run.path, str(run.path)):
        again = rv.open_run(place)
        assert again.summary.equals(run.summary)
        assert again.per_query.equals(run.per_query)
        assert again.per_user.equals(run.per_user)
        assert again.lost.equals(run.lost)
        assert again.loss.equals(run.loss)
        assert again.folds.is_empty()
        assert again.hits.equals(run.hits)
        assert again.verdict == run.verdict
        assert again.manifest == run.manifest
        assert again.path == run.path
        assert again.evaluation.measures == run.evaluation.measures
        assert again.evaluation.generators == run.evaluation.generators
        assert dict(again.evaluation.buckets) == dict(run.evaluation.buckets)
        assert dict(again.evaluation.counts) == dict(run.evaluation.counts)
        for name in ("popularity", "channel"):
            assert values(again, name) == values(run, name)
    # What was not asked before can be asked now; the baseline stays one.
    more = [{"metric": "recall@2", "bucket": "size", "match": "[50,inf)", "min": 0.9}]
    assert again.check(more) == run.check(more)
    assert {check.generator for check in again.check(["recall@2 >= 0.99"]).checks} == {"popularity"}


def test_the_tables_are_parquet_that_anybody_reads(tmp_path: Path) -> None:
    import duckdb

    run = finished(tmp_path)
    sql = f"SELECT count(*) FROM '{run.path}/per_query/*.parquet' WHERE \"recall@2\" >= 0.5"  # noqa: S608
    assert duckdb.sql(sql).fetchall() == [(4 + 3,)]
    verdict = json.loads((run.path / "constraints.json").read_text("utf-8"))
    assert verdict["outcome"] == run.verdict.outcome == "fail"


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        rv.open_run(path)
    return str(caught.value)


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "none") == f"{tmp_path}/none: no such run directory"
    (tmp_path / "file").write_text("x")
    assert refused(tmp_path / "file") == f"{tmp_path}/file: no such run directory"


def test_without_a_manifest_there_is_no_run(tmp_path: Path) -> None:
    run = finished(tmp_path)
    (run.path / "manifest.json").unlink()
    said = "no manifest.json: this is no run, or one that did not finish and decides nothing"
    assert refused(run.path) == f"{run.path}: {said}"


@pytest.mark.parametrize("name", sorted(FILES - {"manifest.json", "config.yaml"}))
def test_a_manifest_alone_is_not_enough(tmp_path: Path, name: str) -> None:
    run = finished(tmp_path)
    (run.path / name).unlink()
    said = refused(run.path)
    assert str(run.path) in said
    if name.endswith(".parquet"):
        assert said.endswith(".parquet: is missing: the run is damaged")


@pytest.mark.parametrize("name", sorted(FILES - {"config.yaml"}))
@pytest.mark.parametrize("share", [0, 0.5, 0.95])
def test_files_that_end_too_early(tmp_path: Path, name: str, share: float) -> None:
    run = finished(tmp_path)
    content = (run.path / name).read_bytes()
    (run.path / name).write_bytes(content[: int(len(content) * share)])
    assert str(run.path) in refused(run.path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("manifest.json", "[]", "manifest.json: is no JSON object"),
        ("manifest.json", "{}", "manifest.json: has no "),
        (
            "manifest.json",
            '{"recoeval": "0.1.0", "split": {}}',
            "manifest.json: was written by recoeval 0.1.0, which kept less of a run: run it again",
        ),
        ("manifest.json", '{"status": "stopped"}', "manifest.json: "),
        ("manifest.json", '{"measures": 5}', "manifest.json: is not of this version: "),
        ("manifest.json", '{"measures": ["nope@1"]}', "manifest.json: is not of this version: "),
        ("constraints.json", "{}", "constraints.json: has no "),
        ("constraints.json", '{"outcome": "pass", "checks": [{}]}', "constraints.json: "),
        ("summary.parquet", "text", "summary.parquet: "),
    ],
)
def test_files_that_hold_something_else(tmp_path: Path, name: str, text: str, said: str) -> None:
    run = finished(tmp_path)
    (run.path / name).write_text(text)
    assert said in refused(run.path)


def test_a_status_of_its_own_is_no_run(tmp_path: Path) -> None:
    run = finished(tmp_path)
    file = run.path / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    assert manifest["status"] == "complete"
    file.write_text(json.dumps({**manifest, "status": "stopped"}))
    assert "the run did not finish" in refused(run.path)


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b.txt"

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write_file(place, fail)
    assert list(place.parent.iterdir()) == []
    write_file(place, lambda file: file.write(b"whole"))
    with pytest.raises(ValueError, match="no"):
        write_file(place, fail)
    assert place.read_bytes() == b"whole"
    assert [path.name for path in place.parent.iterdir()] == ["b.txt"]


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fsync of the content, then the rename, then fsync of the folder."""
    events: list[str] = []
    sync, rename = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        events.append(f"fsync {'folder' if Path(f'/dev/fd/{handle}').is_dir() else 'file'}")
        sync(handle)

    def replace(self: Path, target: Path) -> Path:
        events.append(f"rename to {target.name}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    write_file(tmp_path / "x.json", lambda file: file.write(b"{}"))
    assert events == ["fsync file", "rename to x.json", "fsync folder"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError) as caught:
        write_file(tmp_path / "file" / "x.json", lambda file: file.write(b"{}"))
    assert str(caught.value) in {
        f"{tmp_path}/file/x.json: cannot be written: Not a directory",
        f"{tmp_path}/file/x.json: cannot be written: File exists",
    }


def test_run_ids_are_unique(tmp_path: Path) -> None:
    made = [RunDirectory.create(tmp_path, "x") for _ in range(50)]
    assert len({directory.run_id for directory in made}) == 50
    for directory in made:
        directory.discard_unfinished()
    assert list((tmp_path / "x").iterdir()) == []


def test_only_an_unfinished_directory_is_removed(tmp_path: Path) -> None:
    run = finished(tmp_path)
    RunDirectory(run.path).discard_unfinished()
    assert rv.open_run(run.path).summary.equals(run.summary)


def test_home_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    run = finished(tmp_path, output={"path": "~/of-mine"})
    assert run.path.parent == tmp_path / "of-mine" / "tiny"
    assert rv.open_run(f"~/of-mine/tiny/{run.path.name}").summary.equals(run.summary)


def test_a_generator_may_have_any_safe_name(tmp_path: Path) -> None:
    name = "two_tower.v1+x-y"
    generators = {name: {"type": "popularity"}}
    run = rv.run(tiny_config(tmp_path, generators=generators, output={"recommendations": True}))
    lists = pl.read_parquet(run.path / "recommendations" / name / "part-00000.parquet")
    assert lists["generator"].unique().to_list() == [name]
    assert rv.open_run(run.path).value("recall@2") == 3 / 4


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(DataError) as error:
            write_file(place, lambda file: file.write(b"x"))
        said = f"{place}: cannot be written: this is no regular file"
        assert str(error.value) == said
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_file(tmp_path / "link", lambda file: file.write(b"x"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"x"


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    run = finished(tmp_path, output={"path": str(tmp_path / "runs[1]*?")})
    assert rv.open_run(run.path).per_query.equals(run.per_query)
