"""The starter configuration."""

from pathlib import Path

import pytest

from recoeval.errors import ConfigError
from recoeval.workflow.loaded import load_config
from recoeval.workflow.templates import STARTER, write_starter


def test_it_is_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    write_starter(path)
    config = load_config(path).config
    assert config.name == "nightly-recall"
    assert set(config.generators) == {"popularity", "als"}
    assert max(map(len, STARTER.splitlines())) <= 100


@pytest.mark.parametrize(
    "option",
    [
        "columns: {user_id: uid, item_id: vid, timestamp: ts}",
        "timestamp_unit: ms",
        "two_tower: {type: precomputed, path: two_tower.parquet}",
    ],
)
def test_what_is_commented_out_is_right_as_well(tmp_path: Path, option: str) -> None:
    path = tmp_path / "a.yaml"
    assert f"# {option}" in STARTER
    path.write_text(STARTER.replace(f"# {option}", option))
    load_config(path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="is not overwritten"):
        write_starter(path)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_starter(path / "b.yaml")
    assert path.read_text() == "mine"


def test_a_file_called_like_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^-: expected the name of a file"):
        write_starter(Path("-"))
    assert not list(tmp_path.iterdir())
