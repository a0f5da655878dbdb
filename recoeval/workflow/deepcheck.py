"""`check --deep`: what the audit and the self-check say before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from recoeval.analysis.audit import audit_log
from recoeval.analysis.findings import Finding, in_order
from recoeval.evaluation import Evaluator
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.auditing import examine, join_health
from recoeval.workflow.config import Loaded, wanted_measures
from recoeval.workflow.logs import Fold, Log, open_log
from recoeval.workflow.preparation import prepare
from recoeval.workflow.progress import Silent
from recoeval.workflow.record import Record
from recoeval.workflow.scoring import Work

__all__ = ["DeepCheck", "deep_check"]

Health = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class DeepCheck:
    """What is to be known before a run.

    Args:
        findings: severe ones first.
        health: tables of truth health by name.
    """

    findings: tuple[Finding, ...]
    health: Health


def deep_check(loaded: Loaded) -> DeepCheck:
    """Returns what reading all of the data says; models are not trained, and nothing is written.

    Lists from files are read, audited and scored. The engine is tried with lists that are made
    for it.

    Args:
        loaded: the configuration.

    Raises:
        ConfigError: rules that do not fit the data.
        DataError: data that is missing, unreadable, wrong or empty.
    """
    with loaded.locating_errors():
        log = open_log(loaded.config, now=datetime.now(UTC))
        found = [_of_fold(loaded, log, fold) for fold in log.folds]
        findings = [each for own, _ in found for each in own]
        health = join_health([own for _, own in found])
        return DeepCheck(in_order([*audit_log(log.read), *findings]), health)


def _of_fold(loaded: Loaded, log: Log, fold: Fold) -> tuple[tuple[Finding, ...], Health]:
    config = loaded.config
    prepared = prepare(config, log, fold)
    evaluator = Evaluator.of(
        prepared.truth,
        wanted_measures(config),
        background=prepared.background,
        buckets=config.buckets,
    )
    work = Work(config, prepared, evaluator, Record(Silent()))
    named = [name for name, each in config.generators.items() if isinstance(each, Precomputed)]
    channels = {name: work.evaluate(name) for name in named}
    evaluation = work.summarise(channels) if channels else None
    return examine(log, work, channels, evaluation, deep=True)
