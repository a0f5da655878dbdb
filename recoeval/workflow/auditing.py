"""The audit of a run: what its folds and lists look like to the checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from recoeval.analysis.audit import AuditView, audit_data, audit_lists, audit_log
from recoeval.analysis.findings import Finding, in_order
from recoeval.analysis.health import audit_health, health_of
from recoeval.analysis.results import Evaluation, merge_folds
from recoeval.analysis.selfcheck import self_check
from recoeval.analysis.summary import ALL
from recoeval.columns import FIRST
from recoeval.workflow.config import Config
from recoeval.workflow.logs import Log
from recoeval.workflow.preparation import Prepared
from recoeval.workflow.scoring import Channel, Work

__all__ = ["Outcome", "Part", "examine", "join_health", "view_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """What a fold gave.

    Args:
        prepared: what was evaluated.
        evaluation: its result tables.
        findings: what its audit found.
        health: tables of truth health.
    """

    prepared: Prepared
    evaluation: Evaluation
    findings: tuple[Finding, ...] = ()
    health: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What all folds of a run gave.

    Args:
        parts: one a fold.
        evaluation: the result tables of all of them.
        findings: of the log, then of each fold.
    """

    parts: tuple[Part, ...]
    evaluation: Evaluation
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, log: Log, parts: Sequence[Part], *, failed: Collection[str] = ()) -> Outcome:
        """Returns the folds as one; the log is audited once.

        Args:
            log: the log.
            parts: the folds.
            failed: generators that failed in a fold: what they gave in others is left out.
        """
        own = [each for part in parts for each in part.findings if each.generator not in failed]
        evaluation = merge_folds([part.evaluation.without(failed) for part in parts])
        if failed and len(parts) > 1:
            # Later folds tell of a group without what failed, earlier ones do not.
            evaluation = evaluation.without_group(ALL)
        return cls(tuple(parts), evaluation, in_order([*audit_log(log.read), *own]))

    @property
    def health(self) -> dict[str, list[dict[str, Any]]]:
        """Tables of truth health, with the fold where there are several."""
        return join_health([part.health for part in self.parts])


def join_health(
    folds: Sequence[Mapping[str, list[dict[str, Any]]]],
) -> dict[str, list[dict[str, Any]]]:
    """Returns the tables of truth health of all folds, with the fold where there are several."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for number, health in enumerate(folds):
        key = {"fold": str(number)} if len(folds) > 1 else {}
        for name, records in health.items():
            tables.setdefault(name, []).extend({**key, **record} for record in records)
    return tables


def view_of(config: Config, log: Log, prepared: Prepared) -> AuditView:
    """Returns a fold as audit and truth health look at it."""
    fold = prepared.fold
    return AuditView(
        split=config.split.type,
        train=fold.train,
        test=fold.test,
        train_rows=prepared.train.rows,
        truth=prepared.truth,
        background=prepared.background,
        users=prepared.users,
        items=prepared.items if log.whole is not None else prepared.items.drop(FIRST, strict=False),
        repeats=prepared.repeats,
        ground_truth=config.ground_truth,
        training=config.training,
        seen=config.seen,
        windows=fold.windows,
        log_end=log.end,
        fold=fold.number,
    )


def examine(
    log: Log,
    work: Work,
    channels: Mapping[str, Channel],
    evaluation: Evaluation | None,
    *,
    deep: bool = False,
) -> tuple[tuple[Finding, ...], dict[str, list[dict[str, Any]]]]:
    """Returns what is to be known of a fold's split, truth, lists and engine, and truth health.

    Args:
        log: the log.
        work: the fold's.
        channels: what each generator gave.
        evaluation: the fold's result tables; None where no list was scored.
        deep: whether the engine is tried with lists that are made for it.
    """
    view = view_of(work.config, log, work.prepared)
    lists = {name: channel.audited for name, channel in channels.items()}
    # Truth health reads the log, the rest looks at results: side by side they fill two cores.
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(health_of, view)
        found = list(audit_data(view))
        of_lists = () if evaluation is None else audit_lists(view, evaluation, lists)
        seed = work.config.seed
        laws = self_check(work.evaluator.scorer, evaluation, deep=deep, seed=seed, fold=view.fold)
        health = reading.result()
    found += [*audit_health(health, fold=view.fold), *of_lists, *laws]
    return tuple(found), health
