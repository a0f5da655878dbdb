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
    _refuse_shared(queries, universe)
    counts: dict[str, int] = {}
    known = queries.lazy().select(QUERY_ID, USER_ID)
    left, heads = _of_queries(_sorted(pairs), queries[QUERY_ID])
    counts["pairs"] = left.height
    counts["queries_with_pairs"] = len(heads)
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
        kept = joined.collect(engine="streaming").rechunk()
        counts[name] = left.height - kept.height
        if kept.height < left.height:
            left, heads = kept, _heads(kept)
    trained = seen is not None
    truth = _evaluated(left, queries, policies, universe, counts, heads=heads, trained=trained)
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
    heads: pl.Series,
    trained: bool,
) -> Truth:
    """Returns the truth with its evaluated queries: those with pairs left, and by policy more.

    Args:
        left: the pairs that are left, sorted.
        queries: query_id, user_id, and query_time if known.
        policies: what is in force.
        universe: queries that may be evaluated without pairs.
        counts: what was dropped; the sizes that are left are added.
        heads: the queries of the pairs.
        trained: whether there are train data.
    """
    with_truth = _asked(queries)
    if not heads.equals(queries[QUERY_ID]):
        with_truth = with_truth.join(heads.to_frame(), on=QUERY_ID, how="semi")
    evaluated = with_truth
    if universe is not None:
        empty = _asked(universe).join(heads.to_frame(), on=QUERY_ID, how="anti")
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
    evaluated = in_order(evaluated, USER_ID, QUERY_ID)
    counts["evaluated_queries"] = evaluated.height
    counts["evaluated_users"] = len(starts_of(evaluated[USER_ID]))
    in_force: dict[str, str] = {"zero_relevant": policies.zero_relevant}
    for name in ("repeats", "cold_users", "cold_items"):
        in_force[name] = getattr(policies, name) if trained else "not applied"
    return Truth(left, evaluated, counts, in_force)


def _sorted(pairs: pl.LazyFrame) -> pl.DataFrame:
    """Returns pairs in order of query and item."""
    # Chunks cost: a frame in one is left as it is, which the streaming engine would cut.
    rows = pairs.select(QUERY_ID, ITEM_ID, GAIN).collect().rechunk()
    return rows if is_in_order(rows, QUERY_ID, ITEM_ID) else sort_pairs(rows, QUERY_ID, ITEM_ID)


def _heads(pairs: pl.DataFrame) -> pl.Series:
    """Returns the queries of sorted pairs."""
    return pairs[QUERY_ID].gather(starts_of(pairs[QUERY_ID]))


def _of_queries(pairs: pl.DataFrame, queries: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Returns the sorted pairs of some queries, and those of the queries that have any."""
    heads, known = _heads(pairs), queries.to_frame()
    if heads.equals(queries) or heads.to_frame().join(known, on=QUERY_ID, how="anti").is_empty():
        return pairs, heads
    own = pairs.lazy().join(known.lazy(), on=QUERY_ID, how="semi", maintain_order="left")
    left = own.collect(engine="streaming").rechunk()
    return left, _heads(left)


def _refuse_shared(queries: pl.DataFrame, universe: pl.DataFrame | None) -> None:
    """Raises if a query belongs to several users: it would be counted for each of them."""
    asked = _asked(queries)
    if universe is not None and not asked.equals(other := _asked(universe)):
        asked = pl.concat([asked, other])
    if is_in_order(asked, QUERY_ID) or asked[QUERY_ID].n_unique() == asked.height:
        return
    pairs = asked.select(QUERY_ID, USER_ID).unique()
    shared = pairs.filter(pl.col(QUERY_ID).is_duplicated())[QUERY_ID].unique().sort()
    if len(shared):
        text = f"{len(shared)} queries belong to several users, e.g. {some(shared)}"
        raise DataError(Problem(f"{text}; a query has one user", f"queries.{QUERY_ID}"))


def _asked(queries: pl.DataFrame) -> pl.DataFrame:
    """Returns query_id, user_id and query_time, which is null where it is not known."""
    time = QUERY_TIME if QUERY_TIME in queries.columns else pl.lit(None).alias(QUERY_TIME)
    return queries.select(QUERY_ID, USER_ID, time).cast({QUERY_TIME: TIMESTAMP_DTYPE})
