"""One measurement: a program in a fresh process, with its times and its peak memory.

The process that measures stays small: Linux counts the memory of a parent as that of a child
which has just been forked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

__all__ = ["FailedError", "Usage", "measure", "run", "warm"]

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process used.

    Args:
        wall: seconds of the work, imports excluded.
        cpu: seconds of the work, user and system, all threads.
        process: seconds from start to end, imports included.
        memory: peak of the process, bytes.
        answer: what the program wrote: values, stages, versions, extra.
    """

    wall: float
    cpu: float
    process: float
    memory: int
    answer: Mapping[str, Any] = field(default_factory=dict)


class FailedError(Exception):
    """A program that did not end well."""


def run(
    command: Sequence[str | Path], *, folder: Path | None = None, accepted: Sequence[int] = (0,)
) -> Usage:
    """Returns what a command used, with its output as the answer.

    Args:
        command: program and arguments.
        folder: where it runs; default: the current one.
        accepted: exit codes that are no failure.

    Raises:
        FailedError: it was killed, or returned another code.
    """
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryFile() as said:
        begin = perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command], stdout=said, stderr=said, env=clean, cwd=folder
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode not in accepted:
        reason = f"exit code {process.returncode}"
        if process.returncode < 0:
            reason = f"killed by signal {-process.returncode}"
        raise FailedError(f"{reason}\n{text[-2000:]}")
    cpu = used.ru_utime + used.ru_stime
    # Kilobytes on Linux, bytes on macOS.
    memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Usage(seconds, cpu, seconds, memory, {"output": text})


def measure(python: Path, program: str, job: Mapping[str, Any]) -> Usage:
    """Returns what one of the programs run_*.py used and found.

    Raises:
        FailedError: it did not end well.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "job.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(job), encoding="utf-8")
        used = run([python, "-W", "ignore", HERE / program, asked, answered])
        answer = json.loads(answered.read_text(encoding="utf-8"))
    wall = sum(stage["wall"] for stage in answer["stages"])
    cpu = sum(stage["cpu"] for stage in answer["stages"])
    return Usage(wall, cpu, used.process, used.memory, answer)


def warm(*paths: str) -> None:
    """Reads files once, so that nobody is measured with a cold cache.

    Args:
        paths: files, or patterns of files.
    """
    for text in paths:
        path = Path(text)
        for file in sorted(path.parent.glob(path.name)):
            with file.open("rb") as opened:
                while opened.read(1 << 24):
                    pass
