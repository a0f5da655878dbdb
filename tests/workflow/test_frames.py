"""A run on a log that is a frame."""

from pathlib import Path
from typing import Any

import pytest

import recoeval as rv
from recoeval.errors import ConfigError
from tests.workflow.test_preparation import tiny, tiny_config


def framed(folder: Path, **sections: Any) -> dict[str, Any]:
    config = tiny_config(folder, **sections)
    del config["interactions"]["path"]
    return config


@pytest.mark.parametrize("kind", ["eager", "lazy", "pandas", "arrow"])
def test_a_frame_gives_the_same_numbers(tmp_path: Path, kind: str) -> None:
    frame = {
        "eager": tiny(),
        "lazy": tiny().lazy(),
        "pandas": tiny().to_pandas(),
        "arrow": tiny().to_arrow(),
    }[kind]
    from_file = rv.run(tiny_config(tmp_path))
    from_frame = rv.run(framed(tmp_path), interactions=frame)
    assert from_frame.summary.equals(from_file.summary)
    assert from_frame.manifest["truth"] == from_file.manifest["truth"]
    assert from_frame.manifest["inputs"] == []


def test_a_frame_and_a_path_contradict(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        rv.run(tiny_config(tmp_path), interactions=tiny())
    assert str(error.value) == "interactions: the log is given as a frame: remove its path"
    assert not (tmp_path / "runs").exists()


def test_without_either_the_path_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        rv.run(framed(tmp_path))
    assert str(error.value) == "interactions: missing; the path of the log"
