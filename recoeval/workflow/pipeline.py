"""A run, from the configuration to the verdict: `run` reads as the flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl

from recoeval.analysis.results import Evaluation
from recoeval.analysis.suspicion import find_cold_hits
from recoeval.analysis.verdict import Verdict, check_constraints
from recoeval.columns import GENERATOR
from recoeval.evaluation import Evaluator
from recoeval.workflow.config import Config, Loaded, load_config, wanted_measures
from recoeval.workflow.manifest import Record
from recoeval.workflow.preparation import Prepared, open_log, prepare
from recoeval.workflow.progress import Progress, Silent
from recoeval.workflow.scoring import Work
from recoeval.workflow.store import Run, RunDirectory

__all__ = ["run"]


def run(
    config: str | Path | Mapping[str, Any],
    *,
    set: Sequence[str] | Mapping[str, Any] = (),  # noqa: A002 - as --set on the command line
    date: date | str | None = None,
    interactions: object | None = None,
    progress: Progress | None = None,
) -> Run:
    """Returns a finished run of a configuration, written to its directory.

    Args:
        config: path of the YAML file, or its content as a mapping.
        set: changes: {"generators.als.factors": 128}, or texts "generators.als.factors=128".
        date: what {date} in a path stands for; text such as "2026-11-29" too.
        interactions: the log as a frame (polars, or anything with the Arrow stream protocol);
            the configuration then names no path.
        progress: is told each stage; silent by default.

    Raises:
        ConfigError: the configuration is wrong, or does not fit the data.
        DataError: data is missing, unreadable, wrong or empty, or the output cannot be written.
        EngineError: a generator failed.
    """
    loaded = load_config(config, sets=set, date=date, framed=interactions is not None)
    with loaded.locating_errors():
        return _run(loaded, interactions, Record(progress or Silent()))


def _run(loaded: Loaded, frame: object | None, record: Record) -> Run:
    config, measured = loaded.config, wanted_measures(loaded.config)
    directory = RunDirectory.create(config.output.path, config.name)
    try:
        with record.stage("read the log"):
            log = open_log(config, now=datetime.now(UTC), frame=frame)
        with record.stage("split and ground truth"):
            prepared = prepare(config, log)
        with record.stage("buckets"):
            evaluator = Evaluator.of(
                prepared.truth,
                measured,
                seen=prepared.seen,
                activity=prepared.activity,
                buckets=config.buckets,
            )
        work = Work(config, prepared, evaluator, directory, record)
        channels = {name: work.evaluate(name) for name in config.generators}
        with record.stage("summary and constraints"):
            evaluation = work.summarise(channels)
            verdict = _judge(config, prepared, evaluation)
        with record.stage("write"):
            manifest = record.manifest(loaded, log, prepared, evaluation, directory.run_id)
            text = loaded.stored_yaml()
            return directory.finish(evaluation, verdict, config=text, manifest=manifest)
    finally:
        directory.discard_unfinished()


def _judge(config: Config, prepared: Prepared, evaluation: Evaluation) -> Verdict:
    verdict = check_constraints(
        config.constraints,
        evaluation.summary,
        baselines=config.baselines,
        labels=evaluation.buckets,
    )
    suspicions = []
    for name, generator in config.generators.items():
        reason = find_cold_hits(
            evaluation.hits.filter(pl.col(GENERATOR) == name),
            prepared.truth.queries,
            prepared.train.rows,
            serves_cold_users=generator.serves_cold_users,
            serves_cold_items=generator.serves_cold_items,
        )
        suspicions += [(name, reason)] if reason else []
    return verdict.doubted(suspicions)
