"""From a fold of the log to what generators learn from and what their lists are held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from recoeval.columns import (
    ITEM_ID,
    QUERY_ID,
    TESTED,
    TIMESTAMP,
    TRAIN_INTERACTIONS,
    TRAIN_ROWS,
    USER_ID,
    WEIGHT,
)
from recoeval.data.background import Background
from recoeval.data.exposures import Exposed, find_exposed
from recoeval.data.failures import reading
from recoeval.data.repeats import Repeats, count_repeats
from recoeval.data.rules import compile_rule
from recoeval.data.sampling import sample_queries
from recoeval.data.sides import Sides, SplitReport, look_at_sides
from recoeval.data.splits import since
from recoeval.data.trainpairs import (
    TrainPairs,
    among,
    find_train_pairs,
)
from recoeval.data.truth import (
    Relevant,
    Truth,
    apply_policies,
    find_relevant,
    relevant_mark,
    train_rows,
    training_rule,
)
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
        users: user_id, train_interactions, train_rows, tested of all users of both sides.
        items: item_id, trained, tested and, with times, first of all items of the log.
        repeats: how many relevant pairs are known from the train window.
        counts: what rules and policies kept and dropped.
    """

    fold: Fold
    train: Train
    truth: Truth
    background: Background
    split: SplitReport
    users: pl.DataFrame
    items: pl.DataFrame
    repeats: Repeats
    counts: Mapping[str, int]

    def sides(self) -> dict[str, Any]:
        """Returns the split report as plain values, with the fold's number."""
        return {"fold": self.fold.number, **self.split.as_dict()}


def prepare(config: Config, log: Log, fold: Fold) -> Prepared:
    """Returns train rows, truth and background of a fold.

    The rows of the train window are read once: as pairs, which are counted.

    Args:
        config: the configuration.
        log: result of `open_log`.
        fold: one of its folds.

    Raises:
        ConfigError: a rule that does not fit the log.
        DataError: rules that leave no train row or no relevant pair, bad gains or weights.
    """
    with reading("interactions"):
        marks = _marks(config, fold, log.said)
        sides = look_at_sides(fold.train, fold.test, log.whole, fold.windows, marks)
        relevant = find_relevant(
            fold.test,
            config.ground_truth,
            source=log.said,
            query_time=fold.query_time,
            later=fold.windows.later(log.whole) if fold.windows and log.whole is not None else None,
        )
        rows = _train_rows(config, fold, log.said)
        pairs = _train_pairs(config, fold, sides, marks, log.said)
        shown = None
        if config.exposures is not None:
            shown = find_exposed(fold.test, config.exposures, source=log.said)
        users = _with_train_rows(sides.users, pairs)
        background = _background(log, users, pairs, shown)
        codes = pairs.coding.find(relevant.pairs)
        # Of the seen pairs only those that are relevant can leave the truth.
        again = relevant.pairs.filter(among(codes, pairs.seen))
        truth = _apply_policies(config, fold, relevant, background, seen=again, users=users)
        repeats = _count_repeats(config, fold, relevant.pairs, truth, codes=codes, pairs=pairs)
    # Lists are made and scored for evaluated users alone.
    seen = pairs.seen_of(truth.queries[USER_ID].unique())
    excluded = seen if config.ground_truth.repeats == "exclude" else None
    threads = config.engine.threads or pl.thread_pool_size()
    return Prepared(
        fold,
        Train(
            rows,
            excluded,
            fold.train_end,
            config.seed,
            threads,
            log.roles.aliases,
            background.popularity,
            users=log.roles.users,
        ),
        truth,
        replace(background, seen=seen),
        _with_short_users(sides.report, fold),
        users,
        sides.items,
        repeats,
        {
            **relevant.counts,
            **truth.counts,
            "train_rows": int(pairs.train_rows.sum()),
            **({} if shown is None else shown.counts),
        },
    )


def _background(
    log: Log, users: pl.DataFrame, pairs: TrainPairs, shown: Exposed | None
) -> Background:
    """Returns what is known of users and items besides the truth; seen pairs come later."""
    active = users.lazy().filter(pl.col(TRAIN_INTERACTIONS) > 0)
    return Background(
        activity=active.select(USER_ID, TRAIN_INTERACTIONS, TRAIN_ROWS),
        popularity=pairs.popularity(),
        train_users=int((pairs.train_rows > 0).sum()),
        items=log.roles.items,
        users=log.roles.users,
        exposed=None if shown is None else shown.pairs.lazy(),
    )


def _with_short_users(report: SplitReport, fold: Fold) -> SplitReport:
    if fold.cutoffs is None:
        return report
    return replace(report, users_too_short=fold.cutoffs.counts["users_too_short"])


def _with_train_rows(users: pl.DataFrame, pairs: TrainPairs) -> pl.DataFrame:
    """Returns the users of both sides, with the train rows of each."""
    rows = np.zeros(users.height, np.int64)
    # Those of the train side are in the same order.
    rows[(users[TRAIN_INTERACTIONS] > 0).to_numpy()] = pairs.train_rows
    return users.with_columns(pl.Series(TRAIN_ROWS, rows))


def _marks(config: Config, fold: Fold, said: str) -> list[pl.Expr]:
    """Returns whether a row of the train window is a train row, and a seen one by another rule."""
    schema, seen = fold.train.collect_schema(), config.seen
    trained = training_rule(schema, config.training, config.ground_truth, source=said)
    rule = _seen_rule(config, fold, trained, said)
    if (seen.where is None and seen.window is None) or _by_user(config, fold):
        return [trained]
    return [trained, rule & since(fold.train_end, seen.window)]


def _by_user(config: Config, fold: Fold) -> bool:
    """Returns whether rows are seen up to another time for each user."""
    return config.seen.window is not None and fold.cutoffs is not None


def _train_rows(config: Config, fold: Fold, said: str) -> pl.LazyFrame:
    """Returns the train rows, not yet read."""
    rows = train_rows(fold.train, config.training, config.ground_truth, source=said)
    names = rows.collect_schema().names()
    return rows.select(name for name in (USER_ID, ITEM_ID, TIMESTAMP, WEIGHT) if name in names)


def _train_pairs(
    config: Config, fold: Fold, sides: Sides, marks: list[pl.Expr], said: str
) -> TrainPairs:
    """Returns the pairs of the train window."""
    pairs = find_train_pairs(sides.rows, sides.coding, marks=len(marks))
    if _by_user(config, fold):
        rule = _seen_rule(config, fold, marks[0], said)
        recent = fold.recent(fold.train.filter(rule), config.seen.window)
        pairs = replace(pairs, seen=sides.coding.distinct(recent))
    if not pairs.train_rows.any():
        place = "training.where" if config.training.where else _rule_place(config)
        text = config.training.where or config.ground_truth.rule
        raise DataError(Problem(f"no row of the train window passes {text!r}", place))
    return pairs


def _rule_place(config: Config) -> str:
    return f"ground_truth.{'positives' if config.ground_truth.positives else 'relevant'}"


def _seen_rule(config: Config, fold: Fold, trained: pl.Expr, said: str) -> pl.Expr:
    """Returns whether a row of the train window may make its pair a seen one."""
    seen = config.seen
    if seen.window is not None and fold.train_end is None:
        raise ConfigError(Problem("a window needs a split by time", "seen.window"))
    if seen.where is None:
        return trained
    schema = fold.train.collect_schema()
    return compile_rule(seen.where, schema, path="seen.where", kind="boolean", source=said)


def _apply_policies(
    config: Config,
    fold: Fold,
    relevant: Relevant,
    background: Background,
    *,
    seen: pl.DataFrame,
    users: pl.DataFrame,
) -> Truth:
    queries = universe = fold.asked_by(users.lazy().filter(TESTED))
    if config.ground_truth.looks_ahead:
        # With a horizon a query may have relevant rows after the test window alone.
        beyond = fold.asked_by(relevant.pairs.lazy().select(USER_ID))
        queries = pl.concat([universe, beyond]).unique().sort(USER_ID)
    queries, asked, sampled = sample_queries(
        queries, universe, config.sample_users, seed=config.seed
    )
    warm_items = background.popularity
    truth = apply_policies(
        relevant.pairs.rename({USER_ID: QUERY_ID}).lazy(),
        queries,
        config.ground_truth,
        universe=asked,
        seen=seen.lazy(),
        warm_users=users.lazy().filter(pl.col(TRAIN_ROWS) > 0).select(USER_ID),
        warm_items=None if warm_items is None else warm_items.lazy().select(ITEM_ID),
        kinds=None if relevant.kinds is None else relevant.kinds.rename({USER_ID: QUERY_ID}),
        kind_labels=tuple(config.ground_truth.positives or ()),
    )
    return replace(truth, counts={**sampled, **truth.counts})


def _count_repeats(
    config: Config,
    fold: Fold,
    relevant: pl.DataFrame,
    truth: Truth,
    *,
    codes: pl.Series,
    pairs: TrainPairs,
) -> Repeats:
    """Returns how much of the test window is known from the train window.

    Args:
        config: the configuration.
        fold: the fold.
        relevant: user_id, item_id of all relevant pairs.
        truth: those that are left.
        codes: of the relevant pairs.
        pairs: those of the train window.
    """
    marked = codes
    if config.ground_truth.looks_ahead:
        # Some of the relevant pairs are from after the test window.
        cutoff = fold.windows.cutoff if fold.windows else None
        schema = fold.test.collect_schema()
        mark = relevant_mark(config.ground_truth, schema, source="the log", cutoff=cutoff)
        inside = fold.test.filter(mark).select(USER_ID, ITEM_ID).unique()
        marked = pairs.coding.find(inside.collect(engine="streaming"))
    # Few: the other way round all pairs would be joined with their users.
    trained = relevant.filter(among(codes, pairs.trained)).join(truth.queries, on=USER_ID)
    leaked = truth.pairs.join(trained, on=(QUERY_ID, ITEM_ID), how="semi").height
    return count_repeats(pairs, marked, leaked)
