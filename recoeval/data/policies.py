"""The policies that decide who and what counts, and the truth that they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from recoeval.columns import (
    GAIN,
    ITEM_ID,
    LABEL,
    QUERY_ID,
    QUERY_TIME,
    TIMESTAMP_DTYPE,
    USER_ID,
)
from recoeval.component import Component
from recoeval.data.ordering import in_order, is_in_order, sort_pairs, starts_of
from recoeval.data.queries import pairs_by_query
from recoeval.errors import ConfigError, DataError, Problem, some

__all__ = ["Policies", "Truth", "apply_policies"]


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


@dataclass(frozen=True, slots=True)
class Truth:
    """What the lists are held against.

    Args:
        pairs: query_id, item_id, gain (Float64 > 0) after all policies; distinct pairs.
        queries: the evaluated queries: query_id, user_id, query_time (Datetime[us], UTC; null
            without times); the same for every generator.
        counts: what each policy dropped, and the sizes that are left.
        policies: the policies in force; "not applied" where train data is missing.
        kinds: query_id, item_id, label: which kinds of positives a pair is, at least one;
            None where the truth has no kinds.
        kind_labels: all kinds in order, those without a pair as well.
    """

    pairs: pl.DataFrame
    queries: pl.DataFrame
    counts: Mapping[str, int]
    policies: Mapping[str, str]
    kinds: pl.DataFrame | None = None
    kind_labels: tuple[str, ...] = ()


def apply_policies(
    pairs: pl.LazyFrame,
    queries: pl.DataFrame,
    policies: Policies,
    *,
    universe: pl.DataFrame | None,
    seen: pl.LazyFrame | None,
    warm_users: pl.LazyFrame | None,
    warm_items: pl.LazyFrame | None,
    kinds: pl.DataFrame | None = None,
    kind_labels: Sequence[str] = (),
) -> Truth:
    """Returns the truth that counts: seen pairs, cold users and cold items as the policies say.

    Args:
        pairs: query_id, item_id, gain; distinct.
        queries: query_id, user_id, and query_time if known; pairs of others are left out.
        policies: what to do with whom.
        universe: queries that may be evaluated although they have no relevant item; None
            when it is unknown, then only `zero_relevant: skip` is possible.
        seen: distinct (user_id, item_id) pairs; None without train data.
        warm_users: user_id of users with a train row; None without train data.
        warm_items: item_id of items with a train row; None without train data.
        kinds: query_id, item_id, label of all `pairs`; None if there are no kinds.
        kind_labels: all kinds in order; default: those of `kinds`.

    Raises:
        ConfigError: zero_relevant needs a universe.
        DataError: nothing is left, a query belongs to several users, or `zero_relevant: error`
            and a query has no relevant item.
    """
    if universe is None and policies.zero_relevant != "skip":
        raise ConfigError(
            Problem(
                f"{policies.zero_relevant!r} needs to know all users: give users=",
                "policies.zero_relevant",
            )
        )
    _refuse_shared(queries if universe is None else pl.concat([_asked(queries), _asked(universe)]))
    counts: dict[str, int] = {}
    known = queries.lazy().select(QUERY_ID, USER_ID)
    left = _of_queries(_sorted(pairs.collect(engine="streaming")), known)
    counts["pairs"] = left.height
    counts["queries_with_pairs"] = len(starts_of(left[QUERY_ID]))
    steps: list[tuple[str, pl.LazyFrame | None, tuple[str, ...], Literal["anti", "semi"]]] = []
    if policies.repeats == "exclude":
        by_query = None if seen is None else pairs_by_query(seen, known)
        steps.append(("dropped_repeats", by_query, (QUERY_ID, ITEM_ID), "anti"))
    if policies.cold_users == "drop":
        warm = None if warm_users is None else known.join(warm_users, on=USER_ID, how="semi")
        steps.append(("dropped_cold_users", warm, (QUERY_ID,), "semi"))
    if policies.cold_items == "drop":
        steps.append(("dropped_cold_items", warm_items, (ITEM_ID,), "semi"))
    for name, other, keys, how in steps:
        if other is None:
            continue
        joined = left.lazy().join(other.select(keys), on=keys, how=how, maintain_order="left")
        kept = joined.collect(engine="streaming")
        counts[name] = left.height - kept.height
        left = kept
    truth = _evaluated(left, queries, policies, universe, counts, trained=seen is not None)
    if kinds is None:
        return truth
    parts = kinds.select(QUERY_ID, ITEM_ID, LABEL).unique()
    left_kinds = parts.join(truth.pairs, on=(QUERY_ID, ITEM_ID), how="semi")
    return replace(
        truth,
        kinds=left_kinds.sort(QUERY_ID, ITEM_ID, LABEL),
        kind_labels=tuple(kind_labels) or tuple(parts[LABEL].unique().sort()),
    )


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
    heads = left[QUERY_ID].gather(starts_of(left[QUERY_ID])).to_frame()
    with_truth = _asked(queries).join(heads, on=QUERY_ID, how="semi")
    evaluated = with_truth
    if universe is not None:
        empty = _asked(universe).join(heads, on=QUERY_ID, how="anti")
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
        _sorted(left),
        in_order(evaluated, USER_ID, QUERY_ID),
        counts,
        in_force,
    )


def _sorted(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns pairs in order of query and item."""
    pairs = pairs.select(QUERY_ID, ITEM_ID, GAIN)
    return pairs if is_in_order(pairs, QUERY_ID, ITEM_ID) else sort_pairs(pairs, QUERY_ID, ITEM_ID)


def _of_queries(pairs: pl.DataFrame, queries: pl.LazyFrame) -> pl.DataFrame:
    """Returns the pairs of some queries."""
    heads = pairs[QUERY_ID].gather(starts_of(pairs[QUERY_ID])).to_frame().lazy()
    others = heads.join(queries, on=QUERY_ID, how="anti").head(1)
    if others.collect(engine="streaming").is_empty():
        return pairs
    known = pairs.lazy().join(queries, on=QUERY_ID, how="semi", maintain_order="left")
    return known.collect(engine="streaming")


def _refuse_shared(queries: pl.DataFrame) -> None:
    """Raises if a query belongs to several users: it would be counted for each of them."""
    if queries[QUERY_ID].n_unique() == queries.height:
        return
    pairs = queries.select(QUERY_ID, USER_ID).unique()
    shared = pairs.filter(pl.col(QUERY_ID).is_duplicated())[QUERY_ID].unique().sort()
    if len(shared):
        text = f"{len(shared)} queries belong to several users, e.g. {some(shared)}"
        raise DataError(Problem(f"{text}; a query has one user", f"queries.{QUERY_ID}"))


def _asked(queries: pl.DataFrame) -> pl.DataFrame:
    """Returns query_id, user_id and query_time, which is null where it is not known."""
    time = QUERY_TIME if QUERY_TIME in queries.columns else pl.lit(None).alias(QUERY_TIME)
    return queries.select(QUERY_ID, USER_ID, time).cast({QUERY_TIME: TIMESTAMP_DTYPE})
