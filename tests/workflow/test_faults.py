"""A run that dies, at any moment and in any way, leaves nothing that looks like a run."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl
import pytest
import yaml

import recoeval as rv
from recoeval.errors import DataError, RecoevalError
from recoeval.workflow.store import RunDirectory
from tests.workflow.test_pipeline import channel, equal
from tests.workflow.test_preparation import tiny_config

# Runs the command and stops dead at the n-th event: a file synced, renamed, or a folder synced.
KILLER = """\
import os, signal, sys
from pathlib import Path

left, how, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
sync, rename = os.fsync, Path.replace

def event():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), getattr(signal, how))

def fsync(handle):
    sync(handle)
    event()

def replace(self, target):
    done = rename(self, target)
    event()
    return done

os.fsync, Path.replace = fsync, replace
from recoeval.cli import main
main(command)
"""
# Nine files, and two for stored lists: each is synced, renamed, and its folder synced.
FILES = 11
EVENTS = 3 * FILES


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    """A configuration whose run writes lists, tables and the manifest."""
    config = tiny_config(
        tmp_path,
        name="nightly",
        generators={"popularity": None, "channel": channel(tmp_path)},
        output={"recommendations": True},
        constraints=["recall@2 >= 0.1"],
    )
    (tmp_path / "nightly.yaml").write_text(yaml.safe_dump(config), "utf-8")
    (tmp_path / "killer.py").write_text(KILLER, "utf-8")
    return tmp_path / "nightly.yaml"


def start(nightly: Path, *before: str) -> subprocess.Popen[str]:
    command = [sys.executable, *(before or ("-m", "recoeval")), "run", str(nightly)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=nightly.parent
    )


def killed_at(nightly: Path, event: int, how: str) -> tuple[int, str]:
    process = start(nightly, str(nightly.parent / "killer.py"), str(event), how)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def runs_of(nightly: Path) -> list[Path]:
    folder = nightly.parent / "runs" / "nightly"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def readable(path: Path) -> bool:
    try:
        rv.open_run(path)
    except DataError:
        return False
    return True


def sound(nightly: Path) -> list[Path]:
    """Returns the runs that can be read, each of which has to be whole."""
    whole = []
    for path in runs_of(nightly):
        assert readable(path) == (path / "manifest.json").is_file()
        if readable(path):
            run = rv.open_run(path)
            assert run.value("recall@2", "popularity") == 3 / 4
            assert run.manifest["status"] == "complete"
            assert not list(path.rglob("*.tmp"))
            whole.append(path)
    return whole


# Before, at and after the last rename, which makes the run; and some of the others.
@pytest.mark.parametrize("event", [1, 11, EVENTS - 2, EVENTS - 1])
def test_kill_9_at_each_step_of_writing(nightly: Path, event: int) -> None:
    code, err = killed_at(nightly, event, "SIGKILL")
    assert code == -signal.SIGKILL, err
    (path,) = runs_of(nightly)
    whole = sound(nightly)
    assert bool(whole) == (event >= EVENTS - 1)
    if not whole:
        with pytest.raises(DataError) as caught:
            rv.open_run(path)
        said = "no manifest.json: this is no run, or one that did not finish and decides nothing"
        assert str(caught.value) == f"{path}: {said}"
    # What is left is in nobody's way.
    again = rv.run(nightly)
    assert len(sound(nightly)) == len(whole) + 1
    assert again.value("recall@2", "popularity") == 3 / 4


def test_all_steps_were_counted(nightly: Path) -> None:
    code, err = killed_at(nightly, EVENTS + 1, "SIGKILL")
    assert code == 0, err
    assert len(sound(nightly)) == 1


def test_kill_9_at_any_moment(nightly: Path) -> None:
    draw = random.Random(7)  # noqa: S311
    for _ in range(2):
        process = start(nightly)
        time.sleep(draw.uniform(0.2, 1.2))
        process.kill()
        process.communicate(timeout=60)
        sound(nightly)
    rv.run(nightly)
    assert sound(nightly)


@pytest.mark.parametrize(
    ("how", "code", "event"), [("SIGINT", 130, 2), ("SIGINT", 130, EVENTS - 3), ("SIGTERM", 143, 9)]
)
def test_a_signal_leaves_nothing(nightly: Path, how: str, code: int, event: int) -> None:
    found, err = killed_at(nightly, event, how)
    assert found == code, err
    assert "Traceback" not in err
    assert runs_of(nightly) == []


class Full:
    """A disk that is full after some files."""

    def __init__(self, files: int, code: int) -> None:
        self.left, self.code = files, code

    def __call__(self, file: IO[bytes]) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(self.code, os.strerror(self.code))


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def fill(files: int, code: int = errno.ENOSPC) -> None:
        disk, sync = Full(files, code), os.fsync

        def fsync(handle: int) -> None:
            if not Path(f"/dev/fd/{handle}").is_dir():
                disk(None)  # type: ignore[arg-type]
            sync(handle)

        monkeypatch.setattr(os, "fsync", fsync)

    yield fill
    monkeypatch.undo()


@pytest.mark.parametrize("files", range(FILES))
def test_a_full_disk(nightly: Path, full: Any, files: int) -> None:
    full(files)
    with pytest.raises(DataError) as caught:
        rv.run(nightly)
    message = str(caught.value)
    assert message.endswith(": cannot be written: No space left on device")
    assert message.startswith(str(nightly.parent / "runs" / "nightly"))
    assert runs_of(nightly) == []


def test_a_full_disk_while_parquet_is_written(
    nightly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer of the tables says it in its own way."""

    def write(self: pl.DataFrame, file: Any, **options: Any) -> None:
        file.write(b"PAR1")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pl.DataFrame, "write_parquet", write)
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        rv.run(nightly)
    assert runs_of(nightly) == []


def test_a_disk_that_gives_up(nightly: Path, full: Any) -> None:
    full(2, errno.EIO)
    with pytest.raises(DataError, match="cannot be written: Input/output error"):
        rv.run(nightly)
    assert runs_of(nightly) == []


@pytest.mark.parametrize("place", ["runs", "runs/nightly"])
def test_a_file_in_the_place_of_a_folder(nightly: Path, place: str) -> None:
    taken = nightly.parent / place
    taken.parent.mkdir(exist_ok=True)
    taken.write_text("mine")
    with pytest.raises(DataError, match=r"cannot be made: .*; set output\.path"):
        rv.run(nightly)
    assert taken.read_text() == "mine"


def test_what_is_in_the_folder_stays(nightly: Path) -> None:
    other = nightly.parent / "runs" / "nightly" / "notes"
    other.mkdir(parents=True)
    (other / "mine.txt").write_text("mine")
    rv.run(nightly)
    with pytest.raises(RecoevalError):
        rv.run(nightly, set={"ground_truth.relevant": "dwell > 1e9"})
    assert (other / "mine.txt").read_text() == "mine"
    assert len(runs_of(nightly)) == 2


def test_two_runs_of_one_name_at_once(nightly: Path) -> None:
    processes = [start(nightly) for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    one, other = (rv.open_run(path) for path in sound(nightly))
    assert one.path != other.path
    assert equal(one, other)


def test_two_runs_in_one_second_have_their_own_places(tmp_path: Path) -> None:
    one, other = (RunDirectory.create(tmp_path, "x") for _ in range(2))
    assert one.path != other.path


def test_a_leftover_is_never_read(nightly: Path) -> None:
    """A temporary file of a killed run does not become part of a table."""
    run = rv.run(nightly)
    (run.path / "hits" / ".part-00000.parquet.0a1b2c3d.tmp").write_bytes(b"PAR1 half")
    (run.path / ".manifest.json.0a1b2c3d.tmp").write_bytes(b"{")
    again = rv.open_run(run.path)
    assert equal(again, run)
    assert json.loads((run.path / "manifest.json").read_text("utf-8")) == again.manifest
