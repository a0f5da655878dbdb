"""`check --deep`: what the audit and the self-check say before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from recoeval.analysis.audit import audit_log
from recoeval.analysis.evaluator import Evaluator
from recoeval.analysis.findings import Finding, in_order
from recoeval.analysis.selfcheck import SelfCheck
from recoeval.columns import QUERY_ID
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.auditing import examine, join_health
from recoeval.workflow.config import wanted_measures
from recoeval.workflow.loaded import Loaded
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
        self_check: how much of the engine was tried, and how much of it is right.
    """

    findings: tuple[Finding, ...]
    health: Health
    self_check: SelfCheck


@dataclass(frozen=True, slots=True)
class _Part:
    """What a fold gave.

    Args:
        findings: in any order.
        health: tables of truth health by name.
        queries: those with relevant items.
        listed: whether lists were scored.
    """

    findings: tuple[Finding, ...]
    health: Health
    queries: int
    listed: bool


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
        findings = [each for part in found for each in part.findings]
        tried = SelfCheck.of(
            findings,
            queries=[part.queries for part in found],
            measures=len(wanted_measures(loaded.config)),
            listed=any(part.listed for part in found),
        )
        health = join_health([part.health for part in found])
        return DeepCheck(in_order([*audit_log(log.read), *findings]), health, tried)


def _of_fold(loaded: Loaded, log: Log, fold: Fold) -> _Part:
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
    findings, health = examine(log, work, channels, evaluation, deep=True)
    queries = prepared.truth.pairs[QUERY_ID].n_unique()
    return _Part(findings, health, queries, listed=evaluation is not None)
