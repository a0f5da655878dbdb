"""The run on a log: `recoeval run` beside bare scans of everything that it reads."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from scripts.bench_lib.contenders import CACHE, ROOT
from scripts.bench_lib.page import facts_of
from scripts.bench_lib.processes import FailedError, Usage, measure, run, warm
from scripts.bench_lib.table import gigabytes, markdown, ratio, seconds

__all__ = ["measure_log", "stage_table"]

ROWS, USERS = 50_000_000, 1_000_000
INPUTS = ("log/*", "list_1", "list_2", "list_3")
HEAD = ("", "wall, s", "CPU, s", "memory, GB", "wall / scans")


def measure_log(rounds: int) -> tuple[str, list[str]]:
    """Returns the text on the run, and what went wrong."""
    folder = CACHE / "data" / "log"
    command = [sys.executable, "-m", "scripts.bench_lib.logdata", "log", folder]
    subprocess.run([*command, str(ROWS), str(USERS)], cwd=ROOT, check=True)
    paths = [str(folder / f"{name}.parquet") for name in INPUTS]
    warm(*paths)
    scans: dict[str, list[Usage]] = {name: [] for name in INPUTS}
    runs: list[Usage] = []
    try:
        for number in range(1, rounds + 1):
            for name, path in zip(INPUTS, paths, strict=True):
                job = {"lists": path}
                scans[name].append(measure(Path(sys.executable), "run_scan.py", job))
            runs.append(_run(folder / "config.yaml"))
            print(f"log, round {number}: {runs[-1].wall:.1f} s", file=sys.stderr, flush=True)
    except FailedError as error:
        return "", [f"log: {error}"]
    manifest = json.loads(_manifest().read_text(encoding="utf-8"))
    versions = {name: manifest["versions"][name] for name in ("polars", "numpy")}
    facts = facts_of({"recoeval": manifest["recoeval"], **versions}, rounds)
    return "\n".join([_table(scans, runs), stage_table(manifest["stages"]), facts]), []


def _run(config: Path) -> Usage:
    """Returns what the run used; a verdict against a list is no failure."""
    shutil.rmtree(CACHE / "runs", ignore_errors=True)
    command = [sys.executable, "-m", "recoeval", "run", config]
    return run(command, folder=CACHE, accepted=(0, 1))


def _manifest() -> Path:
    """Returns the record of the run that was made last."""
    return max((CACHE / "runs" / "log").glob("*/manifest.json"), key=lambda p: p.stat().st_mtime)


def _table(scans: Mapping[str, Sequence[Usage]], runs: Sequence[Usage]) -> str:
    rows = []
    for name, used in scans.items():
        rows.append([f"scan of `{name}`", *_numbers(used), ""])
    walls = sum(median(each.wall for each in used) for used in scans.values())
    cpus = sum(median(each.cpu for each in used) for used in scans.values())
    rows.append(["all scans", seconds(walls), seconds(cpus), "", "1"])
    wall = median(each.wall for each in runs)
    rows.append(["`recoeval run`", *_numbers(runs), ratio(wall, walls)])
    return markdown(HEAD, rows)


def _numbers(used: Sequence[Usage]) -> list[str]:
    return [
        seconds(median(each.wall for each in used)),
        seconds(median(each.cpu for each in used)),
        gigabytes(median(each.memory for each in used)),
    ]


def stage_table(stages: Sequence[Mapping[str, Any]]) -> str:
    """Returns the stages of a manifest, with all that it records of them."""
    names = list(dict.fromkeys(name for stage in stages for name in stage))
    rows = [[_shown(stage.get(name)) for name in names] for stage in stages]
    return markdown([name.replace("_", " ") for name in names], rows)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str("" if value is None else value)
