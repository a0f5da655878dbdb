"""A run, from the configuration to the verdict: `run` reads as the flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl

from recoeval.analysis.results import Evaluation
from recoeval.analysis.suspicion import find_cold_hits
from recoeval.analysis.verdict import Verdict, check_constraints
from recoeval.columns import GENERATOR, ITEM_ID, QUERY_ID
from recoeval.data.common_ids import require_overlap, unlike_types
from recoeval.data.failures import gist, reading
from recoeval.data.inputs import count_lists
from recoeval.data.listcheck import check_lists
from recoeval.data.queries import blocks_of
from recoeval.engine.local import Scored
from recoeval.errors import ConfigError, DataError, EngineError, Problem, RecoevalError
from recoeval.evaluation import Evaluator
from recoeval.generators.base import Fitted
from recoeval.generators.precomputed import Files
from recoeval.workflow.config import Config, Loaded, list_depth, load_config, wanted_measures
from recoeval.workflow.manifest import Record, definitions_of
from recoeval.workflow.preparation import Prepared, open_log, prepare
from recoeval.workflow.progress import Progress, Silent
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
        work = _Work(config, prepared, evaluator, directory, record)
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


ROWS_AT_ONCE = 2_000_000
"""Rows of trained lists in memory at a time: deep lists come in smaller blocks."""

_LOST = "(zeros in front that a file has lost do not come back)"
_REMEDIES = {QUERY_ID: f": user_id_type: text {_LOST}", ITEM_ID: f": item_id_type: text {_LOST}"}


@dataclass(frozen=True, slots=True)
class Channel:
    """What one generator gave: its scored blocks and the counts of its lists."""

    parts: tuple[Scored, ...]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Work:
    """Fits, recommends and scores the generators of a run, one after the other."""

    config: Config
    prepared: Prepared
    evaluator: Evaluator
    directory: RunDirectory
    record: Record

    def evaluate(self, name: str) -> Channel:
        """Returns what a generator gives, block by block of queries.

        Raises:
            RecoevalError: it failed; the error names it.
        """
        generator = self.config.generators[name]
        queries = self.prepared.truth.queries
        with _naming(name):
            with self.record.stage(f"{name}: fit"):
                fitted = generator.fit(self.prepared.train)
            with self.record.stage(f"{name}: lists", queries.height) as advance:
                if isinstance(fitted, Files):
                    channel = self._read(name, fitted)
                    advance(queries.height)
                else:
                    channel = self._recommend(name, fitted, generator.block, advance)
        return channel

    def _recommend(
        self, name: str, fitted: Fitted, size: int | None, advance: Callable[[int], None]
    ) -> Channel:
        """Returns what a trained generator gives; only one block of lists is held at a time."""
        queries = self.prepared.truth.queries
        depth = list_depth(self.config, self.evaluator.scorer.measures)
        parts, rows, lists_made = [], 0, 0
        size = max(1, min(size or queries.height, ROWS_AT_ONCE // depth))
        for number, block in enumerate(blocks_of(queries, size)):
            lists = fitted.recommend(block, depth).collect()
            if self.config.output.recommendations:
                self.directory.write_lists(name, number, lists)
            parts.append(self.evaluator.score(lists.lazy(), block))
            rows += lists.height
            lists_made += lists[QUERY_ID].n_unique()
            advance(block.height)
        return Channel(tuple(parts), {"rows": rows, "lists": lists_made})

    def _read(self, name: str, files: Files) -> Channel:
        """Returns what lists from files give; they are checked, and never held whole."""
        what, queries = f"lists[{name}]", self.prepared.truth.queries
        rows, pairs = self.prepared.train.rows, self.prepared.truth.pairs.lazy()
        items = pl.concat([rows.select(ITEM_ID), pairs.select(ITEM_ID)])
        known = ((QUERY_ID, queries.lazy()), (ITEM_ID, items))
        with reading(what):
            facts = check_lists(files.lists, what=what)
            if not facts.rows:
                raise DataError(Problem("no rows", what))
            problems = [
                problem
                for column, other in known
                if (
                    problem := unlike_types(
                        files.lists, other, column, what, "the log", remedy=_REMEDIES[column]
                    )
                )
            ]
            if problems:
                raise DataError(*problems)
            require_overlap(files.lists, queries.lazy(), QUERY_ID, what, "the evaluated queries")
            require_overlap(files.lists, items, ITEM_ID, what, "the log")
            counts = count_lists(files.lists, facts, queries)
            lists = files.recommend(
                queries, list_depth(self.config, self.evaluator.scorer.measures)
            )
            return Channel((self.evaluator.score(lists),), counts)

    def summarise(self, channels: Mapping[str, Channel]) -> Evaluation:
        """Returns the result tables of all generators."""
        return self.evaluator.evaluation(
            {name: channel.parts for name, channel in channels.items()},
            counts={
                "truth": dict(self.prepared.counts),
                "lists": {name: dict(channel.counts) for name, channel in channels.items()},
            },
            definitions=definitions_of(self.config, self.prepared),
            baselines=self.config.baselines,
        )


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Makes every failure of a generator one that names it."""
    path = f"generators.{name}"
    try:
        yield
    except ConfigError as error:
        raise ConfigError(
            *(replace(each, path=f"{path}.{each.path}".rstrip(".")) for each in error.problems)
        ) from error
    except RecoevalError as error:
        raise type(error)(
            *(replace(each, path=_named(each.path, name) or path) for each in error.problems)
        ) from error
    except Exception as error:  # anybody's code: what it raises must name it
        text = f"{type(error).__name__}: {gist(str(error))}"
        raise EngineError(Problem(text, path)) from error


def _named(path: str, name: str) -> str:
    """Returns a place in lists that do not know their generator's name, with it."""
    lists, dot, column = path.partition(".")
    return f"lists[{name}]{dot}{column}" if lists == "lists" else path
