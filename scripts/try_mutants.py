"""Applies each patch of tests/mutants.yaml to a copy of the project and runs its fast tests."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from time import perf_counter

import yaml

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests" / "mutants.yaml"

# What finds most mistakes soonest; only what survives these meets the rest.
FIRST = ("tests/test_cases.py",)
FAST = (
    "tests/test_cases.py",
    "tests/metrics",
    "tests/engine",
    "tests/analysis",
    "tests/generators/test_popularity.py",
    "tests/generators/test_recent.py",
    "tests/generators/test_co_visitation.py",
    "tests/data/test_truth.py",
    "tests/data/test_splits.py",
    "tests/data/test_buckets.py",
    "tests/test_evaluation.py",
    "tests/test_shards.py",
    "tests/workflow/test_preparation.py",
)
# A patch that makes a test run on is noticed as well.
MINUTES_AT_MOST = 10


@dataclass(frozen=True, slots=True)
class Mutant:
    """A patch: `old` stands once in the file and becomes `new`."""

    file: str
    old: str
    new: str
    breaks: str

    @property
    def text(self) -> str:
        """The patch on one line."""
        return f"{self.file}: {' '.join(self.old.split())}  ->  {' '.join(self.new.split())}"

    @property
    def mirror(self) -> tuple[str, ...]:
        """The tests of the module itself, where there are some."""
        path = Path(self.file)
        place = Path("tests", *path.parts[1:-1], f"test_{path.name}")
        return (str(place),) if (ROOT / place).is_file() else ()


def read_mutants(wanted: str) -> list[Mutant]:
    """Returns the patches; those that do not fit the code end the program."""
    found = [Mutant(**entry) for entry in yaml.safe_load(PATCHES.read_text())]
    stale = [each for each in found if (ROOT / each.file).read_text().count(each.old) != 1]
    for each in stale:
        count = (ROOT / each.file).read_text().count(each.old)
        print(f"stands {count} times, not once: {each.text}", file=sys.stderr)
    if stale:
        sys.exit(2)
    return [each for each in found if wanted in each.text]


def copy_project(folder: Path) -> None:
    """Copies what git tracks, as it stands in the work tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def fails(folder: Path, tests: Sequence[str]) -> str | None:
    """Returns the first test that fails in a copy, None when all pass."""
    present = [name for name in dict.fromkeys(tests) if (folder / name).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly"]
    command += ["-p", "no:cacheprovider", "--hypothesis-seed=0", *present]
    # The copy, not the installed project; also in the commands that tests start.
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60 * MINUTES_AT_MOST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {MINUTES_AT_MOST} minutes"
    if done.returncode == 0:
        return None
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return named[1] if named else f"pytest ended with {done.returncode}"


@contextmanager
def broken(folder: Path, mutant: Mutant) -> Iterator[None]:
    """Applies a patch to a copy for a while."""
    file = folder / mutant.file
    whole = file.read_text()
    file.write_text(whole.replace(mutant.old, mutant.new))
    try:
        yield
    finally:
        file.write_text(whole)


def noticed_by(folder: Path, mutant: Mutant) -> str | None:
    """Returns the test that notices a patch, None when it survives."""
    with broken(folder, mutant):
        return fails(folder, (*FIRST, *mutant.mirror)) or fails(folder, FAST)


def main() -> int:
    """Tries every patch; returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wanted", nargs="?", default="")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    mutants = read_mutants(options.wanted)
    copies: Queue[Path] = Queue()
    survivors = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(options.jobs):
            folder = Path(place, str(number))
            copy_project(folder)
            copies.put(folder)
        healthy = copies.get()
        if (reason := fails(healthy, FAST)) is not None:
            print(f"the fast tests fail without any patch: {reason}", file=sys.stderr)
            return 2
        copies.put(healthy)

        def attempt(mutant: Mutant) -> tuple[Mutant, str | None, float]:
            begin, folder = perf_counter(), copies.get()
            try:
                return mutant, noticed_by(folder, mutant), perf_counter() - begin
            finally:
                copies.put(folder)

        with ThreadPoolExecutor(options.jobs) as pool:
            for mutant, test, seconds in pool.map(attempt, mutants):
                print(
                    f"{'SURVIVED' if test is None else 'noticed'}  {seconds:5.1f} s  {mutant.text}"
                )
                print(f"          {test or mutant.breaks}", flush=True)
                survivors += [mutant] if test is None else []
    print(f"{len(mutants)} patches, {len(survivors)} survived the fast tests")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
