"""Bytes that cannot be read: the error names the file among many."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.errors import DataError
from recoeval.workflow.damage import naming_damage
from recoeval.workflow.loaded import load_config
from tests.workflow.test_preparation import tiny_config


def damage(path: Path) -> None:
    """Overwrites the values of a parquet file; header and footer stay."""
    whole = path.read_bytes()
    # The first page begins with its own header.
    assert len(whole) > 400
    path.write_bytes(whole[:4] + b"\xff" * 200 + whole[204:])


def lists(tmp_path: Path, folder: str = "lists") -> dict[str, Any]:
    log = pl.read_parquet(tmp_path / "log.parquet")
    users = log["user_id"].unique().sort().to_frame()
    rows = users.join(pl.DataFrame({"item_id": range(400)}), how="cross")
    rows = rows.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user_id"))
    (tmp_path / folder).mkdir()
    for number in range(3):
        part = rows.filter(pl.col("user_id").rank("dense") % 3 == number)
        part.write_parquet(tmp_path / folder / f"{number}.parquet")
    return {"type": "precomputed", "path": str(tmp_path / folder)}


def refusal(tmp_path: Path, config: dict[str, Any]) -> str:
    with pytest.raises(DataError) as caught:
        rv.run(config | {"output": {"path": str(tmp_path / "runs")}})
    return str(caught.value).replace(str(tmp_path), "@")


def test_a_damaged_file_of_lists_is_named(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    config |= {"generators": {"a": lists(tmp_path)}}
    damage(tmp_path / "lists" / "1.parquet")
    text = refusal(tmp_path, config)
    assert text.startswith("lists[a]: @/lists/1.parquet cannot be read: parquet: ")


def test_a_damaged_file_of_a_system_is_named(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    config |= {"generators": {"a": lists(tmp_path) | {"systems": "per_file"}}}
    damage(tmp_path / "lists" / "2.parquet")
    run = rv.run(config | {"output": {"path": str(tmp_path / "runs")}})
    (failure,) = run.verdict.failures
    text = failure.messages[0].replace(str(tmp_path), "@")
    assert (failure.generator, failure.exit_code) == ("a/2", 3)
    assert text.startswith("lists[a/2]: @/lists/2.parquet cannot be read: parquet: ")


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    log = pl.read_parquet(tmp_path / "log.parquet")
    (tmp_path / "log").mkdir()
    for name in "ab":
        pl.concat([log] * 200).write_parquet(tmp_path / "log" / f"{name}.parquet")
    damage(tmp_path / "log" / "b.parquet")
    own = dict(config["interactions"]) if isinstance(config["interactions"], dict) else {}
    config |= {"interactions": {**own, "path": str(tmp_path / "log")}}
    text = refusal(tmp_path, config)
    assert "interactions: @/log/b.parquet cannot be read: parquet: " in text


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    config = load_config(tiny_config(tmp_path)).config
    error = DataError("cannot be read: by anybody")
    assert naming_damage(error, config) is error
