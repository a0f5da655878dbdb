"""Ground truth from the log by rules: which rows are relevant, and what they are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from recoeval.columns import (
    GAIN,
    ITEM_ID,
    LABEL,
    QUERY_TIME,
    TIMESTAMP,
    TIMESTAMP_DTYPE,
    USER_ID,
    WEIGHT,
)
from recoeval.data.policies import Policies, Truth, apply_policies
from recoeval.data.rules import compile_rule
from recoeval.data.truthrules import GroundTruth, Kind, Positive, SeenRule, TrainingRule
from recoeval.errors import ConfigError, DataError, Problem, some

__all__ = [
    "GroundTruth",
    "Policies",
    "Positive",
    "Relevant",
    "SeenRule",
    "TrainingRule",
    "Truth",
    "apply_policies",
    "find_relevant",
    "is_worth",
    "relevance_rule",
    "relevant_mark",
    "train_rows",
    "training_rule",
]

# Beside the log's columns, which may have any name: when a row's user asks, and whether the row
# is of the test window.
_ASKED: Final = "<asked>"
_TESTED: Final = "<tested>"


@dataclass(frozen=True, slots=True)
class Relevant:
    """Relevant pairs before any policy, with what the rules did.

    Args:
        pairs: user_id, item_id, gain; distinct.
        counts: rows of the test window, rows whose rule was null, relevant rows, distinct
            pairs; with a horizon the rows that it leaves out; with kinds of positives the rows
            and pairs of each, and kinds without any.
        kinds: user_id, item_id, label: which kinds a pair is; None unless there are several.
    """

    pairs: pl.DataFrame
    counts: Mapping[str, int]
    kinds: pl.DataFrame | None = None


def relevance_rule(
    rule: GroundTruth, schema: pl.Schema, *, source: str, path: str = "ground_truth"
) -> pl.Expr:
    """Returns whether a row is relevant by the rule, or by that of any kind; may be null.

    Args:
        rule: which rows are relevant.
        schema: the log's columns.
        source: the log's name, for errors.
        path: the rule's place in the configuration, for errors.

    Raises:
        ConfigError: a rule that does not parse, names unknown columns or is not boolean.
    """
    return pl.any_horizontal([_where(kind, schema, source) for kind in rule.kinds(path).values()])


def _where(kind: Kind, schema: pl.Schema, source: str) -> pl.Expr:
    if kind.where is None:
        return pl.lit(True)
    return compile_rule(kind.where, schema, path=kind.path, kind="boolean", source=source)


def _worth(kind: Kind, schema: pl.Schema, source: str) -> pl.Expr:
    if not isinstance(kind.gain, str):
        return pl.lit(1.0 if kind.gain is None else kind.gain, pl.Float64)
    gain = compile_rule(kind.gain, schema, path=kind.gain_path, kind="numeric", source=source)
    return gain.cast(pl.Float64)


def find_relevant(
    rows: pl.LazyFrame,
    rule: GroundTruth,
    *,
    source: str,
    path: str = "ground_truth",
    query_time: datetime | pl.DataFrame | None = None,
    later: pl.LazyFrame | None = None,
) -> Relevant:
    """Returns the distinct relevant pairs of the test window, or of each query's horizon.

    Args:
        rows: rows of the test window.
        rule: which rows are relevant, and their gain.
        source: the log's name, for errors.
        path: the rule's place in the configuration, for errors.
        query_time: when users ask, UTC: one time for all, or user_id, query_time of each; None
            without times. A horizon starts there.
        later: rows after the test window, which only a horizon reaches.

    Raises:
        ConfigError: a rule that does not parse, names unknown columns or gives another type; a
            horizon without times.
        DataError: no row passes, or a relevant row's gain is null, not positive or infinite.
    """
    schema, kinds = rows.collect_schema(), rule.kinds(path)
    looked_at = _looked_at(rows, rule, query_time, later, path)
    passing = [_where(kind, schema, source) for kind in kinds.values()]
    marks, gains = _names(kinds, "mark"), _names(kinds, "gain")
    marked = looked_at.select(
        USER_ID,
        ITEM_ID,
        _TESTED,
        (pl.col(_TESTED) & pl.any_horizontal(passing)).alias("passes"),
        *(
            (passes & _in_time(kind)).alias(mark)
            for passes, kind, mark in zip(passing, kinds.values(), marks, strict=True)
        ),
        *(
            _worth(kind, schema, source).alias(gain)
            for kind, gain in zip(kinds.values(), gains, strict=True)
        ),
    )
    counts, found, *bad = pl.collect_all(
        [
            marked.select(_sums(marks)),
            _best(marked, marks, gains),
            *(
                _bad_values(marked.filter(mark).rename({gain: GAIN}), GAIN)
                for mark, gain in zip(marks, gains, strict=True)
            ),
        ],
        engine="streaming",
    )
    for kind, wrong in zip(kinds.values(), bad, strict=True):
        _refuse_bad_values(wrong, GAIN, kind.gain_path)
    sums = counts.row(0, named=True)
    if not sums["relevant_rows"]:
        raise _nothing(rule, sums, path)
    return _relevant(rule, list(kinds), found, sums)


def _names(kinds: Mapping[str, Kind], what: str) -> list[str]:
    return [f"{what}/{index}" for index in range(len(kinds))]


def _looked_at(
    rows: pl.LazyFrame,
    rule: GroundTruth,
    query_time: datetime | pl.DataFrame | None,
    later: pl.LazyFrame | None,
    path: str,
) -> pl.LazyFrame:
    """Returns the rows that may count, with when their user asks where a horizon needs it."""
    tested = rows.with_columns(pl.lit(True).alias(_TESTED))
    if not rule.looks_ahead:
        return tested
    if query_time is None or TIMESTAMP not in rows.collect_schema():
        raise ConfigError(Problem("a horizon needs a split by time", f"{path}.horizon"))
    if later is not None:
        tested = pl.concat([tested, later.with_columns(pl.lit(False).alias(_TESTED))])
    if isinstance(query_time, datetime):
        return tested.with_columns(pl.lit(query_time, TIMESTAMP_DTYPE).alias(_ASKED))
    times = query_time.lazy().select(USER_ID, pl.col(QUERY_TIME).alias(_ASKED))
    return tested.join(times, on=USER_ID)


def _in_time(kind: Kind) -> pl.Expr:
    """Returns whether a row counts for a kind, whatever it is; never null."""
    if kind.horizon is None:
        return pl.col(_TESTED)
    start = pl.col(_ASKED)
    return pl.col(TIMESTAMP).is_between(start, start + kind.horizon, closed="left")


def _sums(marks: list[str]) -> list[pl.Expr]:
    """Returns the counts of rows; a row is relevant if it is of any kind."""
    relevant = pl.any_horizontal(marks)
    return [
        pl.col(_TESTED).sum().alias("test_rows"),
        relevant.is_null().sum().alias("rule_was_null"),
        relevant.sum().alias("relevant_rows"),
        (pl.col("passes") & ~relevant).sum().alias("outside_horizon"),
        *(pl.col(mark).sum() for mark in marks),
    ]


def _best(marked: pl.LazyFrame, marks: list[str], gains: list[str]) -> pl.LazyFrame:
    """Returns each relevant pair with its largest gain, and whether it is of each kind."""
    worth = [pl.when(mark).then(gain) for mark, gain in zip(marks, gains, strict=True)]
    return (
        marked.filter(pl.any_horizontal(marks))
        .group_by(USER_ID, ITEM_ID)
        .agg(pl.max_horizontal(worth).max().alias(GAIN), pl.col(marks).any())
    )


def _nothing(rule: GroundTruth, sums: Mapping[str, int], path: str) -> DataError:
    """Returns the error of a log in which nothing is relevant."""
    nulls = f", for {sums['rule_was_null']} it is null" if sums["rule_was_null"] else ""
    late = sums["outside_horizon"]
    late_text = f", {late} pass it outside the horizon" if late else ""
    return DataError(
        Problem(
            f"none of the {sums['test_rows']} rows of the test window passes "
            f"{rule.rule!r}{nulls}{late_text}",
            f"{path}.{'relevant' if rule.positives is None else 'positives'}",
        )
    )


def _relevant(
    rule: GroundTruth, names: list[str], found: pl.DataFrame, sums: Mapping[str, int]
) -> Relevant:
    """Returns pairs, counts and kinds of what was found."""
    counts = {name: sums[name] for name in ("test_rows", "rule_was_null", "relevant_rows")}
    if rule.looks_ahead:
        counts["outside_horizon"] = sums["outside_horizon"]
    pairs = found.select(USER_ID, ITEM_ID, GAIN)
    counts["relevant_pairs"] = pairs.height
    if rule.positives is None:
        return Relevant(pairs, counts)
    kinds = pl.concat(
        [
            found.filter(f"mark/{index}").select(USER_ID, ITEM_ID, pl.lit(name).alias(LABEL))
            for index, name in enumerate(names)
        ]
    )
    sizes = dict(kinds[LABEL].value_counts().iter_rows())
    for index, name in enumerate(names):
        counts[f"relevant_rows[{name}]"] = sums[f"mark/{index}"]
        counts[f"relevant_pairs[{name}]"] = sizes.get(name, 0)
    counts["kinds_without_pairs"] = len(names) - len(sizes)
    return Relevant(pairs, counts, kinds)


def relevant_mark(
    rule: GroundTruth, schema: pl.Schema, *, source: str, cutoff: datetime | None
) -> pl.Expr:
    """Returns whether a row of the test window is relevant by the rule; never null.

    Args:
        rule: which rows are relevant; those after the horizon of a kind are not.
        schema: the log's columns.
        source: the log's name, for errors.
        cutoff: start of all horizons, UTC; None: the rule alone decides.

    Raises:
        ConfigError: as `relevance_rule`.
    """
    marks = []
    for kind in rule.kinds("ground_truth").values():
        mark = _where(kind, schema, source)
        if kind.horizon is not None and cutoff is not None:
            end = pl.lit(cutoff, TIMESTAMP_DTYPE) + kind.horizon
            mark = mark & (pl.col(TIMESTAMP) < end)
        marks.append(mark.fill_null(False))
    return pl.any_horizontal(marks)


def training_rule(
    schema: pl.Schema, training: TrainingRule, truth: GroundTruth, *, source: str
) -> pl.Expr:
    """Returns whether a row of the train window is a train row; may be null.

    Args:
        schema: the log's columns.
        training: which rows count.
        truth: the rule that decides where `training.where` is absent; of several kinds any.
        source: the log's name, for errors.

    Raises:
        ConfigError: a bad rule.
    """
    if training.where is None:
        return relevance_rule(truth, schema, source=source)
    path = "training.where"
    return compile_rule(training.where, schema, path=path, kind="boolean", source=source)


def train_rows(
    rows: pl.LazyFrame, training: TrainingRule, truth: GroundTruth, *, source: str
) -> pl.LazyFrame:
    """Returns the train rows with their weight.

    Args:
        rows: rows of the train window.
        training: which rows count, and their weight.
        truth: the rule that decides where `training.where` is absent; of several kinds any.
        source: the log's name, for errors.

    Returns:
        The rows that pass, with weight (Float64 > 0).

    Raises:
        ConfigError: a bad rule.
        DataError: a train row whose weight is null, not positive or infinite.
    """
    schema = rows.collect_schema()
    rows = rows.filter(training_rule(schema, training, truth, source=source))
    if training.weight is None:
        return rows.with_columns(pl.lit(1.0).alias(WEIGHT))
    weight = compile_rule(
        training.weight, schema, path="training.weight", kind="numeric", source=source
    )
    weighted = rows.with_columns(weight.cast(pl.Float64).alias(WEIGHT))
    bad = _bad_values(weighted, WEIGHT).collect(engine="streaming")
    _refuse_bad_values(bad, WEIGHT, "training.weight")
    return weighted


def is_worth(column: str) -> pl.Expr:
    """Returns whether a gain or weight is a finite number above 0; never null."""
    value = pl.col(column)
    return (value.is_finite() & (value > 0)).fill_null(False)


def _bad_values(rows: pl.LazyFrame, column: str) -> pl.LazyFrame:
    bad = rows.filter(~is_worth(column))
    return bad.select(USER_ID, ITEM_ID, column).sort(USER_ID, ITEM_ID)


def _refuse_bad_values(bad: pl.DataFrame, column: str, path: str) -> None:
    if bad.height:
        raise DataError(
            Problem(
                f"{bad.height} rows have a {column} that is null, not positive or infinite, "
                f"e.g. {some(bad.rows())} as (user_id, item_id, {column}); a {column} is > 0",
                path,
            )
        )
