"""From rows to what counts: the truth after its policies, and lists in delivered order."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from recoeval.errors import ConfigError, DataError
from recoeval.testing.facts import Facts
from recoeval.testing.formulas import Id, Row

__all__ = [
    "apply_policies",
    "choose_policies",
    "delivered_lists",
    "is_sampled",
    "owners_of",
    "query_of",
    "truth_of",
    "universe_of",
]

_POLICIES: Final = {
    "zero_relevant": ("skip", "zero", "one", "error"),
    "repeats": ("exclude", "include"),
    "cold_users": ("keep", "drop"),
    "cold_items": ("keep", "drop"),
}

Gains = Mapping[Id, Mapping[Id, float]]


def choose_policies(policies: Mapping[str, str] | None, *, universe: bool) -> dict[str, str]:
    """Returns every policy, the defaults included.

    Args:
        policies: those that are not the default.
        universe: `users` were given.
    """
    chosen = {name: values[0] for name, values in _POLICIES.items()} | dict(policies or {})
    for name, choice in chosen.items():
        if choice not in _POLICIES.get(name, ()):
            raise ConfigError(f"policies.{name}: unknown policy or value {choice!r}")
    if chosen["zero_relevant"] != "skip" and not universe:
        raise ConfigError(f"policies.zero_relevant: {chosen['zero_relevant']!r} needs users=")
    return chosen


def query_of(row: Row) -> Id:
    """Returns the query of a row: without a query_id the user is the query."""
    query: Id = row["query_id"] if "query_id" in row else row["user_id"]
    return query


def owners_of(rows: Iterable[Row]) -> dict[Id, Id]:
    """Returns query -> user, for queries that have one."""
    owners: dict[Id, Id] = {}
    for row in rows:
        query = query_of(row)
        if "user_id" in row and owners.setdefault(query, row["user_id"]) != row["user_id"]:
            raise DataError(f"query {query!r} has two users: {owners[query]!r}, {row['user_id']!r}")
    return owners


def truth_of(rows: Iterable[Row]) -> dict[Id, dict[Id, float]]:
    """Returns query -> relevant item -> the largest gain of its rows, of whatever kind."""
    relevant: dict[Id, dict[Id, float]] = {}
    for row in rows:
        gain = row.get("gain", 1.0)
        if gain is None or not 0 < gain < math.inf:
            raise DataError(f"gain {gain!r} of {query_of(row)!r}, {row['item_id']!r}: expected > 0")
        gains = relevant.setdefault(query_of(row), {})
        gains[row["item_id"]] = max(float(gain), gains.get(row["item_id"], 0.0))
    return relevant


def apply_policies(
    relevant: Gains, owners: Mapping[Id, Id], facts: Facts, chosen: Mapping[str, str]
) -> dict[Id, dict[Id, float]]:
    """Returns the truth after the policies, without the queries that have nothing left."""
    exclude = chosen["repeats"] == "exclude" and facts.seen is not None
    seen = facts.seen if exclude and facts.seen is not None else {}
    users, items = facts.warm_users, facts.train_users

    def stays(user: Id, item: Id) -> bool:
        if item in seen.get(user, ()):
            return False
        if chosen["cold_users"] == "drop" and users is not None and user not in users:
            return False
        return not (chosen["cold_items"] == "drop" and items is not None and item not in items)

    kept = {
        query: {item: gain for item, gain in gains.items() if stays(owners.get(query, query), item)}
        for query, gains in relevant.items()
    }
    return {query: gains for query, gains in kept.items() if gains}


def universe_of(
    users: Iterable[Id | Row], owners: Mapping[Id, Id], asked: Collection[Id]
) -> Iterator[Id]:
    """Yields the queries of everyone who could have been evaluated."""
    for one in users:
        if isinstance(one, Mapping) and "query_id" in one:
            yield one["query_id"]
        else:
            user: Id = one["user_id"] if isinstance(one, Mapping) else one
            yield from [q for q in asked if owners.get(q, q) == user] or [user]


def is_sampled(user: Id, share: float, seed: int) -> bool:
    """Returns whether a user is in the sample: the hash against the share of all hashes.

    Args:
        user: id of the user; of an integer the decimal digits are hashed.
        share: of the users, above 0, at most 1; as it is written in decimals.
        seed: of the run.
    """
    digest = hashlib.sha256(f"{seed}:{user}".encode()).hexdigest()
    return Fraction(int(digest[:16], 16), 16**16) < Fraction(str(share))


def delivered_lists(recs: Iterable[Row], tie: str) -> dict[str, dict[Id, tuple[Row, ...]]]:
    """Returns generator -> query -> item, rank and score in delivered order."""
    rows: dict[str, dict[Id, list[Row]]] = {}
    for row in recs:
        named = {"item": row["item_id"], "rank": row.get("rank"), "score": row.get("score")}
        own = rows.setdefault(row.get("generator", "recs"), {})
        own.setdefault(query_of(row), []).append(named)
    return {
        generator: {query: _deliver(listed, tie) for query, listed in by_query.items()}
        for generator, by_query in rows.items()
    }


def _deliver(rows: Sequence[Row], tie: str) -> tuple[Row, ...]:
    """Returns one list in delivered order: by rank where ranks are given, else by score."""
    if any(row["rank"] is not None for row in rows):
        at: dict[int, Id] = {}
        for row in rows:
            rank = row["rank"]
            if rank is None or rank < 1 or at.setdefault(rank, row["item"]) != row["item"]:
                raise DataError(f"rank {rank!r}: null, below 1, or of two items of one list")
        return tuple(sorted(rows, key=lambda row: int(row["rank"])))
    if not all(row["score"] is not None and math.isfinite(row["score"]) for row in rows):
        raise DataError("a score is null, NaN or infinite, and no rank decides")
    by_item = sorted(rows, key=lambda row: row["item"], reverse=tie == "descending")
    return tuple(sorted(by_item, key=lambda row: -float(row["score"])))
