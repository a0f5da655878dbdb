"""The record of a run: what ran where, on which inputs, by which definitions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from recoeval.analysis.results import Evaluation
from recoeval.data.formats import find_files
from recoeval.workflow.config import Config, Loaded
from recoeval.workflow.preparation import FRAME, Log, Prepared
from recoeval.workflow.progress import Progress
from recoeval.workflow.store import COMPLETE

__all__ = ["Record", "definitions_of"]

EARLIEST_YEAR = 1990
"""Logs that end before it were probably read with a wrong unit of time."""

PACKAGES = ("recoeval", "polars", "pyarrow", "numpy", "scipy", "implicit", "pydantic", "PyYAML")


@dataclass(frozen=True, slots=True)
class Record:
    """Times of the stages of a run, told to a progress display as they pass."""

    progress: Progress
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    stages: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Times a stage; yields a function that advances its progress by n of `total`."""
        begin = perf_counter()
        with self.progress.stage(name, total) as advance:
            yield advance
        self.stages.append({"stage": name, "seconds": round(perf_counter() - begin, 3)})

    def manifest(
        self, loaded: Loaded, log: Log, prepared: Prepared, evaluation: Evaluation, run_id: str
    ) -> dict[str, Any]:
        """Returns what manifest.json holds."""
        config = loaded.config
        finished = datetime.now(UTC)
        values = loaded.masked(config.model_dump(mode="json", exclude_none=True))
        return {
            "recoeval": version("recoeval"),
            "status": COMPLETE,
            "name": config.name,
            "run_id": run_id,
            "started": self.started.isoformat(),
            "finished": finished.isoformat(),
            "seconds": round((finished - self.started).total_seconds(), 3),
            "peak_memory_mb": _peak_memory_mb(),
            "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
            "host": {
                "system": platform.platform(),
                "machine": platform.machine(),
                "cpus": os.cpu_count(),
                "threads": prepared.train.threads,
            },
            "seed": config.seed,
            "config_sha256": _fingerprint(values),
            "inputs": loaded.masked(_inputs(config, log)),
            "definitions": loaded.masked(evaluation.definitions),
            "log": dict(prepared.log),
            "split": prepared.split.as_dict(),
            "truth": dict(evaluation.counts["truth"]),
            "lists": dict(evaluation.counts["lists"]),
            "buckets": {name: list(labels) for name, labels in evaluation.buckets.items()},
            "measures": [measure.label for measure in evaluation.measures],
            "generators": list(config.generators),
            "baselines": list(config.baselines),
            "stages": self.stages,
            "notes": _notes(config, prepared),
        }


def definitions_of(config: Config, prepared: Prepared) -> dict[str, Any]:
    """Returns the options that decide what the numbers mean."""
    truth, training, seen = config.ground_truth, config.training, config.seen
    return {
        "query": config.query,
        "split": config.split.model_dump(mode="json", exclude={"train", "test"}, exclude_none=True)
        if config.split.type == "files"
        else config.split.model_dump(mode="json", exclude_none=True),
        "cutoff": prepared.split.test.start,
        "relevant": truth.relevant or "TRUE",
        "gain": truth.gain or "1",
        "train_rows": training.where or truth.relevant or "TRUE",
        "train_weight": training.weight or "1",
        "seen": seen.where or "train rows",
        "seen_window": seen.model_dump(mode="json")["window"],
    }


def _notes(config: Config, prepared: Prepared) -> list[str]:
    """Returns what a reader of the numbers should know."""
    notes = []
    trained = [name for name, generator in config.generators.items() if generator.type == "als"]
    if trained and prepared.train.threads > 1:
        notes.append(
            f"{', '.join(trained)}: trained with {prepared.train.threads} threads, so that the "
            "factors differ in the last bits between runs; engine.threads: 1 makes them equal"
        )
    train, test = (prepared.log.get(f"split.{side}") for side in ("train", "test"))
    if train and test and train["end"] and test["start"] and train["end"] >= test["start"]:
        notes.append(
            f"split.train goes on until {train['end']}, and split.test starts {test['start']}: "
            "what is learned is partly later than what is asked for"
        )
    ends = [facts["end"] for facts in prepared.log.values() if facts["end"] is not None]
    if ends and max(ends).year < EARLIEST_YEAR:
        notes.append(f"all times lie before {EARLIEST_YEAR}: is timestamp_unit right?")
    return notes


def _inputs(config: Config, log: Log) -> list[dict[str, Any]]:
    """Returns path, size and content hash of every input file; a frame has none."""
    roles = {role: path for role, path in log.sources.items() if path != FRAME}
    for name, generator in config.generators.items():
        path = getattr(generator, "path", None)
        if path is not None:
            roles[f"generators.{name}"] = path
    return [
        {
            "role": role,
            "path": str(file),
            "bytes": file.stat().st_size,
            "sha256": _hash_file(file),
        }
        for role, path in roles.items()
        for file in _files(path, role)
    ]


def _files(path: str, role: str) -> list[Path]:
    """Returns the files of a path; a single one may have any ending (TREC runs)."""
    single = Path(path).expanduser()
    return [single] if single.is_file() else [Path(file) for file in find_files(path, said=role)]


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fingerprint(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes on Linux, bytes on macOS.
    return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)
