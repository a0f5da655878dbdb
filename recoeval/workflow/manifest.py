"""What manifest.json holds: what ran where, on which inputs, by which definitions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from recoeval.workflow.auditing import Outcome
from recoeval.workflow.config import Config
from recoeval.workflow.fingerprints import list_inputs, log_inputs
from recoeval.workflow.generating import Generating
from recoeval.workflow.loaded import Loaded
from recoeval.workflow.logs import Log
from recoeval.workflow.notes import notes_of, notes_on_reuse
from recoeval.workflow.plugins import plugin_of
from recoeval.workflow.record import Record
from recoeval.workflow.resources import peak_memory_mb
from recoeval.workflow.store import COMPLETE, COUNTS, PARTIAL

__all__ = ["manifest_of"]

PACKAGES = ("recoeval", "polars", "pyarrow", "numpy", "scipy", "implicit", "pydantic", "PyYAML")


def manifest_of(
    record: Record, loaded: Loaded, log: Log, outcome: Outcome, generating: Generating
) -> dict[str, Any]:
    """Returns what manifest.json holds: the record of the run; the inputs are read once more."""
    config, evaluation = loaded.config, outcome.evaluation
    folds = [part.prepared for part in outcome.parts]
    cache, failures = generating.cache, generating.failures
    with record.stage("fingerprints"):
        known = log_inputs(config, log) if cache is None else cache.inputs
        inputs = [*known, *list_inputs(config, failed=generating.failed)]
    finished = datetime.now(UTC)
    values = loaded.masked(config.model_dump(mode="json", exclude_none=True))
    return {
        "recoeval": _version("recoeval"),
        "status": PARTIAL if failures else COMPLETE,
        "name": config.name,
        "run_id": generating.directory.run_id,
        "started": record.started.isoformat(),
        "finished": finished.isoformat(),
        "seconds": round((finished - record.started).total_seconds(), 3),
        "peak_memory_mb": _peak(record),
        "versions": _versions(config),
        "host": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "threads": folds[0].train.threads,
        },
        "seed": config.seed,
        "config_sha256": _fingerprint(values),
        "inputs": loaded.masked(inputs),
        "definitions": loaded.masked(evaluation.definitions),
        "log": {path: asdict(facts) for path, facts in log.facts.items()},
        "roles": {role: dict(counts) for role, counts in log.roles.counts.items()},
        "splits": [fold.sides() for fold in folds],
        **{name: evaluation.counts[name] for name in COUNTS if name in evaluation.counts},
        "buckets": {name: list(labels) for name, labels in evaluation.buckets.items()},
        "measures": [measure.label for measure in evaluation.measures],
        "generators": list(config.generators),
        "reused": dict(generating.reused),
        "failures": [asdict(failure) for failure in failures],
        "baselines": list(config.baselines),
        "stages": record.stages,
        "notes": [
            *notes_of(config, log, folds, evaluation.measures),
            *notes_on_reuse(generating.reused),
        ],
        "audit": [finding.as_dict() for finding in outcome.findings],
        "health": dict(outcome.health),
    }


@cache
def _version(package: str) -> str:
    """Returns a version; it is looked for once a process, since that takes 3 ms a package."""
    return version(package)


def _versions(config: Config) -> dict[str, str]:
    """Returns the versions of what made the numbers, packages of plug-ins included."""
    found = {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}
    for generator in config.generators.values():
        plugin = plugin_of(generator)
        found |= {} if plugin is None else plugin.distributions
    return found


def _peak(record: Record) -> float:
    """Returns the most memory held; the kernel's own mark is off by some pages at times."""
    peaks: list[float] = [stage["peak_memory_mb"] for stage in record.stages]
    return max(peak_memory_mb(), *peaks)


def _fingerprint(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
