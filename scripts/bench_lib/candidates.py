"""ALS: recoeval's generator beside a program that only calls implicit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from scripts.bench_lib.contenders import CACHE, ROOT
from scripts.bench_lib.page import facts_of
from scripts.bench_lib.processes import FailedError, Usage, measure
from scripts.bench_lib.table import gigabytes, markdown, ratio, seconds

__all__ = ["measure_candidates"]

ROWS, USERS = 5_000_000, 100_000
JOB = {"factors": 64, "iterations": 15, "k": 100, "seed": 7}
PROGRAMS = {"recoeval": "run_als.py", "implicit alone": "run_implicit.py"}
SAME = 0.9
"""The share of listed pairs that both must have; threads make factors differ in the last bits."""


def measure_candidates(rounds: int) -> tuple[str, list[str]]:
    """Returns the text on both programs, and what went wrong."""
    folder = CACHE / "data" / "candidates"
    command = [sys.executable, "-m", "scripts.bench_lib.logdata", "candidates", folder]
    subprocess.run([*command, str(ROWS), str(USERS)], cwd=ROOT, check=True)
    used: dict[str, list[Usage]] = {title: [] for title in PROGRAMS}
    written = {title: CACHE / f"{program}.parquet" for title, program in PROGRAMS.items()}
    try:
        for number in range(1, rounds + 1):
            for title, program in PROGRAMS.items():
                job = {**JOB, "train": str(folder / "train.parquet"), "out": str(written[title])}
                used[title].append(measure(Path(sys.executable), program, job))
                wall = used[title][-1].wall
                print(f"{title}, round {number}: {wall:.1f} s", file=sys.stderr, flush=True)
    except FailedError as error:
        return "", [f"candidates: {error}"]
    share = _share(*written.values())
    same = f"Of the pairs that implicit lists, recoeval lists {share:.2%}.\n"
    problems = [] if share >= SAME else [f"candidates: only {share:.2%} of the pairs are the same"]
    versions = used["recoeval"][0].answer["versions"]
    return "\n".join([_table(used), same, facts_of(versions, rounds)]), problems


def _table(used: dict[str, list[Usage]]) -> str:
    walls = {title: median(each.wall for each in rounds) for title, rounds in used.items()}
    base = walls["implicit alone"]
    rows = [
        [
            title,
            ", ".join(f"{name} {seconds(wall)}" for name, wall in _stages(rounds)),
            seconds(walls[title]),
            seconds(median(each.cpu for each in rounds)),
            gigabytes(median(each.memory for each in rounds)),
            ratio(walls[title], base),
        ]
        for title, rounds in used.items()
    ]
    head = ("", "stages, s", "wall, s", "CPU, s", "memory, GB", "wall / implicit")
    return markdown(head, rows, texts=2)


def _stages(rounds: Sequence[Usage]) -> list[tuple[str, float]]:
    """Returns the stages with the medians of their times."""
    together = zip(*(each.answer["stages"] for each in rounds), strict=True)
    return [(stages[0]["stage"], median(stage["wall"] for stage in stages)) for stages in together]


def _share(ours: Path, theirs: Path) -> float:
    """Returns how many of their pairs are ours."""
    # Not before all is measured: the process that measures stays small.
    import polars as pl

    pairs = pl.scan_parquet(theirs)
    both = pairs.join(pl.scan_parquet(ours), on=["user_id", "item_id"], how="semi")
    counts = [frame.select(pl.len()).collect(engine="streaming").item() for frame in (both, pairs)]
    return float(counts[0] / counts[1])
