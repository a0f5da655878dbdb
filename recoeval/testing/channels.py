"""What channels add and what stages lose, again in plain Python: one query at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import permutations
from statistics import fmean
from typing import Any

__all__ = ["funnel_counts", "jaccard", "mean_over_users", "shapley_shares", "union_recall"]

Id = int | str
Lists = Mapping[Id, Sequence[Id]]
"""Prepared list by query."""
Truth = Mapping[Id, Collection[Id]]
"""Relevant items by query."""


def mean_over_users(values: Mapping[Id, float], users: Mapping[Id, Id]) -> float | None:
    """Returns the mean within a user's queries, then over users; None without queries.

    Args:
        values: by query.
        users: user of each query.
    """
    of_user: dict[Id, list[float]] = {}
    for query, value in values.items():
        of_user.setdefault(users[query], []).append(value)
    return fmean(map(fmean, of_user.values())) if of_user else None


def union_recall(
    channels: Iterable[str],
    lists: Mapping[str, Lists],
    depths: Mapping[str, int],
    truth: Truth,
    users: Mapping[Id, Id],
) -> float | None:
    """Returns the recall of the union of the channels' first items, over queries with |R| > 0.

    Args:
        channels: which ones.
        lists: of all channels.
        depths: K by channel.
        truth: relevant items by query.
        users: user of each query.
    """
    chosen = list(channels)
    values = {}
    for query, relevant in truth.items():
        if relevant:
            found = {item for name in chosen for item in lists[name].get(query, ())[: depths[name]]}
            values[query] = len(found & set(relevant)) / len(set(relevant))
    return mean_over_users(values, users)


def shapley_shares(
    channels: Sequence[str], worth: Callable[[Sequence[str]], float]
) -> dict[str, float]:
    """Returns what each channel adds, averaged over all orders in which they may come.

    Args:
        channels: few: the orders are counted out.
        worth: of a set of channels.

    Source:
        Shapley, A Value for n-Person Games, 1953: the definition, not our formula.

    Example:
        >>> shapley_shares(["a", "b"], lambda chosen: 1.0 if chosen else 0.0)
        {'a': 0.5, 'b': 0.5}
    """
    gains: dict[str, list[float]] = {name: [] for name in channels}
    for order in permutations(channels):
        for place, name in enumerate(order):
            gains[name].append(worth(order[: place + 1]) - worth(order[:place]))
    return {name: fmean(own) for name, own in gains.items()}


def jaccard(one: Lists, other: Lists, k: int, other_k: int) -> tuple[float | None, int]:
    """Returns the mean Jaccard index of two channels, and over how many queries.

    Args:
        one: lists of the first channel.
        other: lists of the second one.
        k: depth of the first.
        other_k: depth of the second.
    """
    values = []
    for query in {*one, *other}:
        first, second = set(one.get(query, ())[:k]), set(other.get(query, ())[:other_k])
        if first | second:
            values.append(len(first & second) / len(first | second))
    return (fmean(values) if values else None), len(values)


def funnel_counts(
    stages: Sequence[tuple[Lists, int]], truth: Truth, users: Mapping[Id, Id]
) -> list[dict[str, Any]]:
    """Returns relevant, survived, lost, inserted, recall, precision of each stage.

    Args:
        stages: lists and k.
        truth: relevant items by query.
        users: user of each query.
    """
    alive = {query: set(relevant) for query, relevant in truth.items() if relevant}
    sizes = {query: len(own) for query, own in alive.items()}
    told = []
    for lists, k in stages:
        first = {query: set(lists.get(query, ())[:k]) for query in alive}
        stay = {query: own & first[query] for query, own in alive.items()}
        hits = {query: len(first[query] & set(truth[query])) for query in alive}
        survived = sum(map(len, stay.values()))
        told.append(
            {
                "relevant": sum(sizes.values()),
                "survived": survived,
                "lost": sum(map(len, alive.values())) - survived,
                "inserted": sum(hits.values()) - survived,
                "recall": mean_over_users({q: len(stay[q]) / sizes[q] for q in stay}, users),
                "precision": mean_over_users({q: hits[q] / k for q in hits}, users),
            }
        )
        alive = stay
    return told
