"""What is known besides lists and truth: train rows, items, exposures and attributes of users."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from recoeval.testing.formulas import Id, Row

__all__ = ["Facts", "gather", "items_by_user"]

Pairs = Mapping[Id, frozenset[Id]]


@dataclass(frozen=True, slots=True)
class Facts:
    """What an evaluation knows; None where nothing says so.

    Args:
        train_users: warm item -> distinct users with a train row of it.
        warm_users: users with a train row.
        seen: user -> items that a list may not bring again.
        exposed: user -> items that were shown in the test window.
        available: items of the table that can be listed at query time.
        quotas: ("query", id) or ("user", id) -> own depth, items.
    """

    train_users: Mapping[Id, int] | None
    warm_users: Collection[Id] | None
    seen: Pairs | None
    exposed: Pairs | None
    available: Collection[Id] | None
    quotas: Mapping[tuple[str, Id], int]

    @property
    def catalogue(self) -> frozenset[Id] | None:
        """The items that can be listed: those of the table, else those with a train row."""
        known = self.train_users if self.available is None else self.available
        return None if known is None else frozenset(known)

    def is_cold(self, user: Id, item: Id) -> bool:
        """Returns whether the user or the item has no train row."""
        return item not in (self.train_users or {}) or user not in (self.warm_users or ())

    def beyond(self, user: Id, item: Id, unserved: Collection[str]) -> str | None:
        """Returns why a generator could not have listed the item, None if it could have.

        Args:
            user: the user of the query.
            item: a relevant item.
            unserved: "cold_item" and "cold_user", as far as the generator cannot serve them.
        """
        if self.available is not None and item not in self.available:
            return "unavailable"
        if "cold_item" in unserved and item not in (self.train_users or {}):
            return "cold_item"
        if "cold_user" in unserved and user not in (self.warm_users or ()):
            return "cold_user"
        return None


def gather(
    *,
    train: Iterable[Row] | None,
    seen: Iterable[Row] | None,
    items: Iterable[Row] | None,
    exposures: Iterable[Row] | None,
    users: Iterable[Id | Row],
    at: datetime | None,
) -> Facts:
    """Returns the facts of these rows.

    Args:
        train: user_id, item_id.
        seen: user_id, item_id, in place of those of `train`.
        items: item_id, perhaps created_at and available.
        exposures: user_id, item_id.
        users: ids, or rows with query_id and/or user_id, perhaps with quota.
        at: the query time; None: `created_at` says nothing.
    """
    warm = None if train is None else {(row["user_id"], row["item_id"]) for row in train}
    known = warm if seen is None else {(row["user_id"], row["item_id"]) for row in seen}
    shown = None if exposures is None else [(row["user_id"], row["item_id"]) for row in exposures]
    quotas = {
        ("query", row["query_id"]) if "query_id" in row else ("user", row["user_id"]): row["quota"]
        for row in users
        if isinstance(row, Mapping) and row.get("quota") is not None
    }
    return Facts(
        None if warm is None else Counter(item for _, item in warm),
        None if warm is None else {user for user, _ in warm},
        None if known is None else items_by_user(known),
        None if shown is None else items_by_user(shown),
        None if items is None else {row["item_id"] for row in items if _is_available(row, at)},
        quotas,
    )


def items_by_user(pairs: Iterable[tuple[Id, Id]]) -> dict[Id, frozenset[Id]]:
    """Returns user -> items."""
    grouped: dict[Id, set[Id]] = defaultdict(set)
    for user, item in pairs:
        grouped[user].add(item)
    return {user: frozenset(items) for user, items in grouped.items()}


def _is_available(row: Row, at: datetime | None) -> bool:
    created = row.get("created_at")
    return bool(row.get("available", True)) and (at is None or created is None or created <= at)
