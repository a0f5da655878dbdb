"""From the log to what generators learn from and what their lists are held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import polars as pl

from recoeval.columns import (
    ITEM_ID,
    QUERY_ID,
    TIMESTAMP,
    TRAIN_INTERACTIONS,
    TRAIN_ROWS,
    USER_ID,
    WEIGHT,
)
from recoeval.data.failures import reading
from recoeval.data.queries import queries_of_users
from recoeval.data.rules import compile_rule
from recoeval.data.sources import LogFacts, Source, check_interactions, scan_interactions
from recoeval.data.splits import (
    FileSplit,
    SplitReport,
    Windows,
    find_windows,
    report_split,
    since,
)
from recoeval.data.truth import Truth, apply_policies, find_relevant, train_rows
from recoeval.errors import ConfigError, DataError, Problem
from recoeval.generators.base import Train
from recoeval.workflow.config import Config

__all__ = ["FRAME", "Log", "Prepared", "open_log", "prepare"]

FRAME = "<frame>"
"""What a log is called that is no file."""


@dataclass(frozen=True, slots=True)
class Log:
    """The log, split; nothing is read yet but headers and the ends.

    Args:
        train: rows of the train window.
        test: rows of the test window.
        whole: all rows; None for a split by files.
        windows: half-open windows in UTC; None for a split by files.
        facts: for each source what its check found.
        sources: for each source its path.
    """

    train: pl.LazyFrame
    test: pl.LazyFrame
    whole: pl.LazyFrame | None
    windows: Windows | None
    facts: Mapping[str, LogFacts]
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the generators and the evaluator need.

    Args:
        train: what generators learn from.
        truth: what lists are held against.
        seen: distinct (user_id, item_id) pairs.
        activity: user_id, train_interactions, train_rows.
        split: rows, users and items of each side.
        counts: what rules and policies kept and dropped.
        log: facts of each source: rows, first and last time, exact duplicates.
    """

    train: Train
    truth: Truth
    seen: pl.LazyFrame
    activity: pl.LazyFrame
    split: SplitReport
    counts: Mapping[str, int]
    log: Mapping[str, Any]


def side_source(config: Config, side: Source) -> Source:
    """Returns a side's source with what `interactions` says of both sides."""
    if config.interactions is None:
        return side
    own = {name: getattr(side, name) for name in side.model_fields_set}
    return config.interactions.model_copy(update=own)


def open_log(config: Config, *, now: datetime, frame: object | None = None) -> Log:
    """Returns the log, checked and split.

    Args:
        config: the configuration.
        now: the time of the run, UTC; later rows are an error.
        frame: the log as a frame, read instead of its path.

    Raises:
        ConfigError: columns or rules that do not fit the files.
        DataError: missing, unreadable or wrong data, or an empty side.
    """
    if isinstance(config.split, FileSplit):
        return _open_sides(config, config.split, now)
    source = config.interactions or Source()
    rows, facts = _open(source, "interactions", now, frame)
    require_times(rows.collect_schema())
    with reading("interactions"):
        windows = find_windows(config.split, rows)
    return Log(
        windows.train(rows),
        windows.test(rows),
        rows,
        windows,
        {"interactions": facts},
        {"interactions": FRAME if frame is not None else source.path or ""},
    )


def require_times(log: pl.Schema) -> None:
    """Checks that a log can be split by time.

    Raises:
        DataError: it has no timestamps.
    """
    if TIMESTAMP not in log:
        text = "a split by time needs times. Name the column: columns: {timestamp: ...}"
        raise DataError(Problem(text, "interactions.timestamp"))


def _open(
    source: Source, path: str, now: datetime, frame: object | None = None
) -> tuple[pl.LazyFrame, LogFacts]:
    """Returns the rows of a source, without duplicates if asked, and the facts before that."""
    kept = source.model_copy(update={"duplicates": "keep"})
    rows = scan_interactions(kept, path=path, frame=frame)
    facts = check_interactions(rows, path=path, now=now)
    return (rows.unique() if source.duplicates == "drop" else rows), facts


def _open_sides(config: Config, split: FileSplit, now: datetime) -> Log:
    sides, facts, sources = {}, {}, {}
    for name, own in (("train", split.train), ("test", split.test)):
        source = side_source(config, own)
        path = f"split.{name}"
        sides[name], facts[path] = _open(source, path, now)
        sources[path] = source.path or ""
    for column in (USER_ID, ITEM_ID):
        types = {name: rows.collect_schema()[column] for name, rows in sides.items()}
        if types["train"] != types["test"]:
            raise DataError(
                Problem(
                    f"{types['test']}, but split.train has {types['train']}. "
                    f"Cast one side: {column}_type: text",
                    f"split.test.{column}",
                )
            )
    return Log(sides["train"], sides["test"], None, None, facts, sources)


def prepare(config: Config, log: Log) -> Prepared:
    """Returns train rows, truth, seen pairs and activity of a log.

    Args:
        config: the configuration.
        log: result of `open_log`.

    Raises:
        ConfigError: a rule that does not fit the log.
        DataError: rules that leave no train row or no relevant pair, bad gains or weights.
    """
    said = ", ".join(log.sources.values())
    with reading("interactions"):
        split = report_split(log.train, log.test, log.whole, log.windows)
        relevant = find_relevant(log.test, config.ground_truth, source=said)
        rows = _train_rows(config, log, said)
        seen = _seen(config, log, rows, said)
        activity = _count(log.train, TRAIN_INTERACTIONS).join(
            _count(rows.lazy(), TRAIN_ROWS), on=USER_ID, how="left"
        )
        truth = _apply_policies(config, log, relevant.pairs, rows, seen)
        known_activity = activity.collect(engine="streaming").lazy()
    end = log.windows.train_end if log.windows else None
    excluded = seen if config.ground_truth.repeats == "exclude" else None
    threads = config.engine.threads or pl.thread_pool_size()
    return Prepared(
        Train(rows.lazy(), excluded, end, config.seed, threads),
        truth,
        seen,
        known_activity,
        split,
        {**relevant.counts, **truth.counts, "train_rows": rows.height},
        {name: asdict(facts) for name, facts in log.facts.items()},
    )


def _train_rows(config: Config, log: Log, said: str) -> pl.DataFrame:
    rows = train_rows(log.train, config.training, config.ground_truth, source=said)
    names = rows.collect_schema().names()
    wanted = [name for name in (USER_ID, ITEM_ID, TIMESTAMP, WEIGHT) if name in names]
    found = rows.select(wanted).collect(engine="streaming")
    if found.is_empty():
        rule = "training.where" if config.training.where else "ground_truth.relevant"
        text = config.training.where or config.ground_truth.relevant
        raise DataError(Problem(f"no row of the train window passes {text!r}", rule))
    return found


def _seen(config: Config, log: Log, rows: pl.DataFrame, said: str) -> pl.LazyFrame:
    """Returns the distinct pairs that lists may not contain again."""
    seen = config.seen
    candidates = rows.lazy()
    if seen.where is not None:
        rule = compile_rule(
            seen.where,
            log.train.collect_schema(),
            path="seen.where",
            kind="boolean",
            source=said,
        )
        candidates = log.train.filter(rule)
    end = log.windows.train_end if log.windows else None
    if seen.window is not None and end is None:
        raise ConfigError(Problem("a window needs a split by time", "seen.window"))
    recent = candidates.filter(since(end, seen.window))
    return recent.select(USER_ID, ITEM_ID).unique().collect(engine="streaming").lazy()


def _count(rows: pl.LazyFrame, name: str) -> pl.LazyFrame:
    return rows.group_by(USER_ID).agg(pl.len().cast(pl.Int64).alias(name))


def _apply_policies(
    config: Config,
    log: Log,
    relevant: pl.DataFrame,
    rows: pl.DataFrame,
    seen: pl.LazyFrame,
) -> Truth:
    cutoff = log.windows.cutoff if log.windows else None
    universe = queries_of_users(log.test.select(USER_ID), cutoff).collect(engine="streaming")
    return apply_policies(
        relevant.rename({USER_ID: QUERY_ID}).lazy(),
        universe,
        config.ground_truth,
        universe=universe,
        seen=seen,
        warm_users=rows.lazy().select(USER_ID),
        warm_items=rows.lazy().select(ITEM_ID),
    )
