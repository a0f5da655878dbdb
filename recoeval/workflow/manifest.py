"""What manifest.json holds: what ran where, on which inputs, by which definitions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recoeval.data.formats import find_files
from recoeval.workflow.auditing import Outcome
from recoeval.workflow.config import Config, Loaded
from recoeval.workflow.logs import FRAME, Log
from recoeval.workflow.notes import notes_of
from recoeval.workflow.record import Record
from recoeval.workflow.store import COMPLETE, COUNTS

__all__ = ["manifest_of"]

PACKAGES = ("recoeval", "polars", "pyarrow", "numpy", "scipy", "implicit", "pydantic", "PyYAML")


def manifest_of(
    record: Record, loaded: Loaded, log: Log, outcome: Outcome, run_id: str
) -> dict[str, Any]:
    """Returns what manifest.json holds: the record of the run."""
    config, evaluation = loaded.config, outcome.evaluation
    folds = [part.prepared for part in outcome.parts]
    finished = datetime.now(UTC)
    values = loaded.masked(config.model_dump(mode="json", exclude_none=True))
    return {
        "recoeval": version("recoeval"),
        "status": COMPLETE,
        "name": config.name,
        "run_id": run_id,
        "started": record.started.isoformat(),
        "finished": finished.isoformat(),
        "seconds": round((finished - record.started).total_seconds(), 3),
        "peak_memory_mb": _peak_memory_mb(),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
        "host": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "threads": folds[0].train.threads,
        },
        "seed": config.seed,
        "config_sha256": _fingerprint(values),
        "inputs": loaded.masked(_inputs(config, log)),
        "definitions": loaded.masked(evaluation.definitions),
        "log": {path: asdict(facts) for path, facts in log.facts.items()},
        "roles": {role: dict(counts) for role, counts in log.roles.counts.items()},
        "splits": [fold.sides() for fold in folds],
        **{name: evaluation.counts[name] for name in COUNTS if name in evaluation.counts},
        "buckets": {name: list(labels) for name, labels in evaluation.buckets.items()},
        "measures": [measure.label for measure in evaluation.measures],
        "generators": list(config.generators),
        "baselines": list(config.baselines),
        "stages": record.stages,
        "notes": list(notes_of(config, log, folds, evaluation.measures)),
        "audit": [finding.as_dict() for finding in outcome.findings],
        "health": dict(outcome.health),
    }


def _inputs(config: Config, log: Log) -> list[dict[str, Any]]:
    """Returns path, size and content hash of every input file; a frame has none."""
    roles = {role: path for role, path in log.sources.items() if path != FRAME}
    roles |= _tables(config)
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


def _tables(config: Config) -> dict[str, str]:
    """Returns the paths of the tables beside the log."""
    users = config.users
    paths = {
        "canonical_items": config.canonical_items and config.canonical_items.path,
        "users": users and users.table,
        "users.exclude": users and users.exclude,
        "items": config.items and config.items.table,
    }
    return {role: path for role, path in paths.items() if path}


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
