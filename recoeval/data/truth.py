"""Ground truth from the log by rules, and the policies that decide who and what counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from recoeval.columns import GAIN, ITEM_ID, QUERY_ID, USER_ID, WEIGHT
from recoeval.component import Component, Duration
from recoeval.data.queries import pairs_by_query
from recoeval.data.rules import compile_rule
from recoeval.errors import ConfigError, DataError, Problem, some

__all__ = [
    "GroundTruth",
    "Policies",
    "Relevant",
    "SeenRule",
    "TrainingRule",
    "Truth",
    "apply_policies",
    "find_relevant",
    "is_worth",
    "train_rows",
]


class Policies(Component):
    """Who and what is counted."""

    zero_relevant: Literal["skip", "zero", "one", "error"] = "skip"
    """Queries of the universe without relevant items: skip, score 0, score 1, or an error."""
    repeats: Literal["exclude", "include"] = "exclude"
    """exclude: seen pairs leave both the lists and the truth."""
    cold_users: Literal["keep", "drop"] = "keep"
    """drop: users without a train row leave the truth."""
    cold_items: Literal["keep", "drop"] = "keep"
    """drop: items without a train row leave the truth."""


class GroundTruth(Policies):
    """Which rows of the test window are relevant, and what they are worth."""

    relevant: str | None = None
    """SQL rule over the log's columns; a null result is not relevant, and counted."""
    gain: str | None = None
    """SQL expression > 0; a pair's gain is the largest of its rows. Default 1."""


class TrainingRule(Component):
    """Which rows of the train window are train rows."""

    where: str | None = None
    """SQL rule; default: the ground-truth rule, so that a mere impression is no positive."""
    weight: str | None = None
    """SQL expression > 0, the weight of a row. Default 1."""


class SeenRule(Component):
    """Which pairs a list may not contain again; default: pairs with a train row."""

    where: str | None = None
    """SQL rule over rows of the train window; default: train rows."""
    window: Duration | None = None
    """Only rows in [train end - window, train end)."""


@dataclass(frozen=True, slots=True)
class Relevant:
    """Relevant pairs before any policy, with what the rule did.

    Args:
        pairs: user_id, item_id, gain; distinct.
        counts: rows of the window, rows whose rule was null, relevant rows, distinct pairs.
    """

    pairs: pl.DataFrame
    counts: Mapping[str, int]


def find_relevant(
    rows: pl.LazyFrame, rule: GroundTruth, *, source: str, path: str = "ground_truth"
) -> Relevant:
    """Returns the distinct relevant pairs of the test window.

    Args:
        rows: rows of the test window.
        rule: which rows are relevant, and their gain.
        source: the log's name, for errors.
        path: the rule's place in the configuration, for errors.

    Raises:
        ConfigError: a rule that does not parse, names unknown columns or gives another type.
        DataError: no row passes, or a relevant row's gain is null, not positive or infinite.
    """
    schema = rows.collect_schema()
    relevant = pl.lit(True)
    if rule.relevant is not None:
        relevant = compile_rule(
            rule.relevant, schema, path=f"{path}.relevant", kind="boolean", source=source
        )
    gain = pl.lit(1.0)
    if rule.gain is not None:
        gain = compile_rule(rule.gain, schema, path=f"{path}.gain", kind="numeric", source=source)
    marked = rows.select(
        USER_ID, ITEM_ID, relevant.alias("relevant"), gain.cast(pl.Float64).alias(GAIN)
    )
    chosen = marked.filter("relevant")
    counts, bad, pairs = pl.collect_all(
        [
            marked.select(
                pl.len().alias("rows"),
                pl.col("relevant").is_null().sum().alias("null"),
                pl.col("relevant").sum().alias("relevant"),
            ),
            _bad_values(chosen, GAIN),
            chosen.group_by(USER_ID, ITEM_ID).agg(pl.col(GAIN).max()),
        ],
        engine="streaming",
    )
    _refuse_bad_values(bad, GAIN, f"{path}.gain")
    total, null, kept = counts.row(0)
    if not kept:
        nulls = f", for {null} it is null" if null else ""
        raise DataError(
            Problem(
                f"none of the {total} rows of the test window passes {rule.relevant!r}{nulls}",
                f"{path}.relevant",
            )
        )
    return Relevant(
        pairs,
        {
            "test_rows": total,
            "rule_was_null": null,
            "relevant_rows": kept,
            "relevant_pairs": pairs.height,
        },
    )


def train_rows(
    rows: pl.LazyFrame, training: TrainingRule, truth: GroundTruth, *, source: str
) -> pl.LazyFrame:
    """Returns the train rows with their weight.

    Args:
        rows: rows of the train window.
        training: which rows count, and their weight.
        truth: the rule that decides where `training.where` is absent.
        source: the log's name, for errors.

    Returns:
        The rows that pass, with weight (Float64 > 0).

    Raises:
        ConfigError: a bad rule.
        DataError: a train row whose weight is null, not positive or infinite.
    """
    schema = rows.collect_schema()
    rule, path = training.where, "training.where"
    if rule is None:
        rule, path = truth.relevant, "ground_truth.relevant"
    if rule is not None:
        rows = rows.filter(compile_rule(rule, schema, path=path, kind="boolean", source=source))
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


@dataclass(frozen=True, slots=True)
class Truth:
    """What the lists are held against.

    Args:
        pairs: query_id, item_id, gain (Float64 > 0) after all policies; distinct pairs.
        queries: the evaluated queries: query_id, user_id; the same for every generator.
        counts: what each policy dropped, and the sizes that are left.
        policies: the policies in force; "not applied" where train data is missing.
    """

    pairs: pl.DataFrame
    queries: pl.DataFrame
    counts: Mapping[str, int]
    policies: Mapping[str, str]


def apply_policies(
    pairs: pl.LazyFrame,
    queries: pl.DataFrame,
    policies: Policies,
    *,
    universe: pl.DataFrame | None,
    seen: pl.LazyFrame | None,
    warm_users: pl.LazyFrame | None,
    warm_items: pl.LazyFrame | None,
) -> Truth:
    """Returns the truth that counts: seen pairs, cold users and cold items as the policies say.

    Args:
        pairs: query_id, item_id, gain; distinct.
        queries: query_id, user_id of at least all queries in `pairs`.
        policies: what to do with whom.
        universe: queries that may be evaluated although they have no relevant item; None
            when it is unknown, then only `zero_relevant: skip` is possible.
        seen: distinct (user_id, item_id) pairs; None without train data.
        warm_users: user_id of users with a train row; None without train data.
        warm_items: item_id of items with a train row; None without train data.

    Raises:
        ConfigError: zero_relevant needs a universe.
        DataError: nothing is left, or `zero_relevant: error` and a query has no relevant item.
    """
    if universe is None and policies.zero_relevant != "skip":
        raise ConfigError(
            Problem(
                f"{policies.zero_relevant!r} needs to know all users: give users=",
                "policies.zero_relevant",
            )
        )
    counts: dict[str, int] = {}
    known = queries.lazy().select(QUERY_ID, USER_ID)
    left = pairs.join(known, on=QUERY_ID, maintain_order="left").collect(engine="streaming")
    counts["pairs"], counts["queries_with_pairs"] = left.height, left[QUERY_ID].n_unique()
    steps: list[tuple[str, pl.LazyFrame | None, tuple[str, ...], Literal["anti", "semi"]]] = []
    if policies.repeats == "exclude":
        by_query = None if seen is None else pairs_by_query(seen, known)
        steps.append(("dropped_repeats", by_query, (QUERY_ID, ITEM_ID), "anti"))
    if policies.cold_users == "drop":
        steps.append(("dropped_cold_users", warm_users, (USER_ID,), "semi"))
    if policies.cold_items == "drop":
        steps.append(("dropped_cold_items", warm_items, (ITEM_ID,), "semi"))
    for name, other, keys, how in steps:
        if other is None:
            continue
        kept = left.lazy().join(other.select(keys), on=keys, how=how).collect(engine="streaming")
        counts[name] = left.height - kept.height
        left = kept
    return _evaluated(left, queries, policies, universe, counts, trained=seen is not None)


def _evaluated(
    left: pl.DataFrame,
    queries: pl.DataFrame,
    policies: Policies,
    universe: pl.DataFrame | None,
    counts: dict[str, int],
    *,
    trained: bool,
) -> Truth:
    """Returns the truth with its evaluated queries: those with pairs left, and by policy more."""
    with_truth = queries.select(QUERY_ID, USER_ID).join(left, on=QUERY_ID, how="semi")
    evaluated = with_truth
    if universe is not None:
        empty = universe.select(QUERY_ID, USER_ID).join(left, on=QUERY_ID, how="anti")
        counts["zero_relevant_queries"] = empty.height
        if empty.height and policies.zero_relevant == "error":
            raise DataError(
                Problem(
                    f"{empty.height} queries have no relevant item, "
                    f"e.g. {some(empty[QUERY_ID].sort())}; zero_relevant: skip leaves them out",
                    "ground_truth.zero_relevant",
                )
            )
        if policies.zero_relevant in ("zero", "one"):
            evaluated = pl.concat([with_truth, empty])
    if left.is_empty():
        raise DataError(
            Problem(
                "no relevant pair is left: "
                + ", ".join(f"{name} {count}" for name, count in counts.items()),
                "ground_truth",
            )
        )
    counts["truth_pairs"], counts["truth_queries"] = left.height, with_truth.height
    counts["evaluated_queries"] = evaluated.height
    counts["evaluated_users"] = evaluated[USER_ID].n_unique()
    in_force: dict[str, str] = {"zero_relevant": policies.zero_relevant}
    for name in ("repeats", "cold_users", "cold_items"):
        in_force[name] = getattr(policies, name) if trained else "not applied"
    return Truth(
        left.select(QUERY_ID, ITEM_ID, GAIN).sort(QUERY_ID, ITEM_ID),
        evaluated.sort(USER_ID, QUERY_ID),
        counts,
        in_force,
    )
