"""A run, from the configuration to the verdict: `run` reads as the flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from recoeval.analysis.evaluator import Evaluator
from recoeval.workflow.auditing import Outcome, Part, examine
from recoeval.workflow.config import wanted_measures
from recoeval.workflow.contributions import contributions_of
from recoeval.workflow.generating import Generating, judge
from recoeval.workflow.listcache import open_cache
from recoeval.workflow.loaded import Loaded, load_config
from recoeval.workflow.logs import Fold, Log, open_log
from recoeval.workflow.manifest import manifest_of
from recoeval.workflow.preparation import prepare
from recoeval.workflow.progress import Progress, Silent
from recoeval.workflow.record import Record
from recoeval.workflow.store import Run, RunDirectory

__all__ = ["run"]


def run(
    config: str | Path | Mapping[str, Any],
    *,
    set: Sequence[str] | Mapping[str, Any] = (),  # noqa: A002 - as --set on the command line
    date: date | str | None = None,
    interactions: object | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Returns a finished run of a configuration, written to its directory.

    A generator that fails does not keep the others from finishing: the run is then `partial`, and
    its verdict says what failed. If none is left, the error is raised.

    Args:
        config: path of the YAML file, or its content as a mapping.
        set: changes: {"generators.als.factors": 128}, or texts "generators.als.factors=128".
        date: what {date} in a path stands for; text such as "2026-11-29" too.
        interactions: the log as a frame (polars, or anything with the Arrow stream protocol);
            the configuration then names no path.
        fresh: whether lists that an earlier run stored are made anew; see
            `output.recommendations`.
        progress: is told each stage; silent by default.

    Raises:
        ConfigError: the configuration is wrong, or does not fit the data.
        DataError: data is missing, unreadable, wrong or empty, or the output cannot be written.
        EngineError: a generator failed.
    """
    loaded = load_config(config, sets=set, date=date, framed=interactions is not None)
    with loaded.locating_errors():
        return _run(loaded, interactions, Record(progress or Silent()), fresh=fresh)


def _run(loaded: Loaded, frame: object | None, record: Record, *, fresh: bool) -> Run:
    config = loaded.config
    directory = RunDirectory.create(config.output.path, config.name)
    try:
        with record.stage("read the log") as stage:
            log = open_log(config, now=datetime.now(UTC), frame=frame)
            stage.rows = sum(facts.rows for facts in log.facts.values())
        cache = open_cache(config, log, directory, record, fresh=fresh)
        generating = Generating(loaded, directory, cache)
        parts = [_fold(log, fold, generating, record) for fold in log.folds]
        failures = generating.failures
        with record.stage("constraints"):
            outcome = Outcome.of(log, parts, failed=[each.generator for each in failures])
            verdict = judge(config, outcome, failures)
        with record.stage("write"):
            directory.drop_shelves()
            directory.write(outcome.evaluation, verdict, config=loaded.stored_yaml())
        manifest = manifest_of(record, loaded, log, outcome, generating)
        return directory.finish(outcome.evaluation, verdict, manifest=manifest)
    finally:
        directory.discard_unfinished()


def _fold(log: Log, fold: Fold, generating: Generating, record: Record) -> Part:
    """Returns what one fold gives: split, truth, lists, numbers, channels, audit."""
    config = generating.config
    record = record.within(f"fold {fold.number}: " if len(log.folds) > 1 else "")
    with record.stage("split and ground truth") as stage:
        prepared = prepare(config, log, fold)
        stage.rows = prepared.split.train.rows + prepared.split.test.rows
    with record.stage("buckets") as stage:
        stage.rows = prepared.truth.queries.height
        evaluator = Evaluator.of(
            prepared.truth,
            wanted_measures(config),
            background=prepared.background,
            buckets=config.buckets,
        )
    work = generating.work(prepared, evaluator, record)
    channels = generating.channels(work)
    with record.stage("summary") as stage:
        evaluation = work.summarise(channels)
        stage.rows = evaluation.per_query.height
    with record.stage("channels"):
        evaluation = replace(evaluation, **contributions_of(work, channels))
    with record.stage("audit"):
        return Part(prepared, evaluation, *examine(log, work, channels, evaluation))
