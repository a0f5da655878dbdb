"""From a fold of the log to what generators learn from and what their lists are held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from recoeval.data.background import Background, count_train_users
from recoeval.data.exposures import find_exposed
from recoeval.data.failures import reading
from recoeval.data.rules import compile_rule
from recoeval.data.splits import SplitReport, report_split
from recoeval.data.truth import Relevant, Truth, apply_policies, find_relevant, train_rows
from recoeval.errors import ConfigError, DataError, Problem
from recoeval.generators.base import Train
from recoeval.workflow.config import Config
from recoeval.workflow.logs import Fold, Log

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the generators and the evaluator need of a fold.

    Args:
        fold: its two sides.
        train: what generators learn from.
        truth: what lists are held against.
        background: what else is known of users and items.
        split: rows, users and items of each side.
        counts: what rules and policies kept and dropped.
    """

    fold: Fold
    train: Train
    truth: Truth
    background: Background
    split: SplitReport
    counts: Mapping[str, int]

    def sides(self) -> dict[str, Any]:
        """Returns the split report as plain values, with the fold's number."""
        return {"fold": self.fold.number, **self.split.as_dict()}


def prepare(config: Config, log: Log, fold: Fold) -> Prepared:
    """Returns train rows, truth and background of a fold.

    Args:
        config: the configuration.
        log: result of `open_log`.
        fold: one of its folds.

    Raises:
        ConfigError: a rule that does not fit the log.
        DataError: rules that leave no train row or no relevant pair, bad gains or weights.
    """
    with reading("interactions"):
        split = _report(log, fold)
        relevant = find_relevant(
            fold.test,
            config.ground_truth,
            source=log.said,
            query_time=fold.query_time,
            later=fold.windows.later(log.whole) if fold.windows and log.whole is not None else None,
        )
        rows = _train_rows(config, fold, log.said)
        shown = None
        if config.exposures is not None:
            shown = find_exposed(fold.test, config.exposures, source=log.said)
        background = replace(
            _background(config, fold, rows, log),
            exposed=None if shown is None else shown.pairs.lazy(),
        )
        truth = _apply_policies(config, fold, relevant, background)
    excluded = background.seen if config.ground_truth.repeats == "exclude" else None
    threads = config.engine.threads or pl.thread_pool_size()
    return Prepared(
        fold,
        Train(rows.lazy(), excluded, fold.train_end, config.seed, threads, log.roles.aliases),
        truth,
        background,
        split,
        {
            **relevant.counts,
            **truth.counts,
            "train_rows": rows.height,
            **({} if shown is None else shown.counts),
        },
    )


def _report(log: Log, fold: Fold) -> SplitReport:
    report = report_split(fold.train, fold.test, log.whole, fold.windows)
    if fold.cutoffs is None:
        return report
    return replace(report, users_too_short=fold.cutoffs.counts["users_too_short"])


def _train_rows(config: Config, fold: Fold, said: str) -> pl.DataFrame:
    rows = train_rows(fold.train, config.training, config.ground_truth, source=said)
    names = rows.collect_schema().names()
    wanted = [name for name in (USER_ID, ITEM_ID, TIMESTAMP, WEIGHT) if name in names]
    found = rows.select(wanted).collect(engine="streaming")
    if found.is_empty():
        rule = "training.where" if config.training.where else _rule_place(config)
        text = config.training.where or config.ground_truth.rule
        raise DataError(Problem(f"no row of the train window passes {text!r}", rule))
    return found


def _rule_place(config: Config) -> str:
    return f"ground_truth.{'positives' if config.ground_truth.positives else 'relevant'}"


def _background(config: Config, fold: Fold, rows: pl.DataFrame, log: Log) -> Background:
    """Returns what is known of users and items besides the truth."""
    activity = _count(fold.train, TRAIN_INTERACTIONS).join(
        _count(rows.lazy(), TRAIN_ROWS), on=USER_ID, how="left"
    )
    popularity, users = count_train_users(rows.lazy())
    return Background(
        seen=_seen(config, fold, rows, log.said),
        activity=activity.collect(engine="streaming").lazy(),
        popularity=popularity,
        train_users=users,
        items=log.roles.items,
        users=log.roles.users,
    )


def _seen(config: Config, fold: Fold, rows: pl.DataFrame, said: str) -> pl.LazyFrame:
    """Returns the distinct pairs that lists may not contain again."""
    seen = config.seen
    candidates = rows.lazy()
    if seen.where is not None:
        rule = compile_rule(
            seen.where,
            fold.train.collect_schema(),
            path="seen.where",
            kind="boolean",
            source=said,
        )
        candidates = fold.train.filter(rule)
    if seen.window is not None and fold.train_end is None:
        raise ConfigError(Problem("a window needs a split by time", "seen.window"))
    recent = fold.recent(candidates, seen.window)
    return recent.select(USER_ID, ITEM_ID).unique().collect(engine="streaming").lazy()


def _count(rows: pl.LazyFrame, name: str) -> pl.LazyFrame:
    return rows.group_by(USER_ID).agg(pl.len().cast(pl.Int64).alias(name))


def _apply_policies(
    config: Config, fold: Fold, relevant: Relevant, background: Background
) -> Truth:
    universe = fold.universe()
    # With a horizon a query may have relevant rows after the test window alone.
    beyond = relevant.pairs.lazy().select(USER_ID)
    queries = pl.concat([universe, fold.asked_by(beyond)]).unique().sort(USER_ID)
    warm_users = background.activity
    warm_items = background.popularity
    return apply_policies(
        relevant.pairs.rename({USER_ID: QUERY_ID}).lazy(),
        queries,
        config.ground_truth,
        universe=universe,
        seen=background.seen,
        warm_users=None
        if warm_users is None
        else warm_users.filter(pl.col(TRAIN_ROWS) > 0).select(USER_ID),
        warm_items=None if warm_items is None else warm_items.lazy().select(ITEM_ID),
        kinds=None if relevant.kinds is None else relevant.kinds.rename({USER_ID: QUERY_ID}),
        kind_labels=tuple(config.ground_truth.positives or ()),
    )
