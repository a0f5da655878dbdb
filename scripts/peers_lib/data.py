"""Random lists and truths with fixed seeds: what all peers are asked about."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["RECORDED", "all_cases", "make_case"]

ITEMS = range(1, 91)
"""Items with a train row; those above it are cold."""

Case = dict[str, Any]

TINY: Case = {
    "depths": [2],
    "users": [1, 2, 3, 4, 5, 6, 7],
    "lists": {
        "1": [[10, 0.9], [20, 0.8]],
        "2": [[30, 0.9]],
        "3": [[20, 0.9], [10, 0.8]],
        "4": [[20, 0.9], [10, 0.8], [40, 0.7]],
        "5": [[10, 0.9], [20, 0.8], [30, 0.7]],
        "7": [[60, 0.9], [10, 0.8]],
    },
    "truth": {
        "1": [[10, 1], [30, 1]],
        "2": [[30, 1], [40, 1]],
        "3": [[10, 1]],
        "4": [[10, 1], [40, 1], [50, 1]],
        "5": [[10, 1], [20, 3]],
        "6": [[10, 1]],
        "7": [[10, 1]],
    },
    "judged": {"1": [20], "2": [10], "3": [], "4": [20], "5": [30], "6": [], "7": [60]},
    "train": {
        "1": [20, 40],
        "2": [10],
        "3": [30, 50],
        "4": [30],
        "5": [50],
        "6": [20, 30],
        "7": [30],
    },
}
"""Small enough to be worked out by hand: examples are taken from it."""


def all_cases() -> dict[str, Case]:
    """Returns all cases by name.

    binary, graded: gains 1, and 1 to 4. cold: some items have no train row. ties: equal scores.
    full: everybody has a list of 20 and a relevant item. tiny: see TINY. many: 400 users, for the
    comparison only.
    """
    return {
        "binary": make_case(1, 16, (1,)),
        "graded": make_case(2, 16, (1, 2, 3, 4)),
        "cold": make_case(3, 16, (1,), cold_items=10),
        "ties": make_case(4, 16, (1,), scores=4),
        "full": make_case(6, 16, (1,), kinds=(3, 4, 5, 6, 7)),
        "tiny": TINY,
        "many": make_case(5, 400, (1, 2, 3)),
    }


RECORDED = ("binary", "graded", "cold", "ties", "full", "tiny")
"""The cases whose values are kept as fixtures."""


def make_case(
    seed: int,
    users: int,
    gains: tuple[int, ...],
    *,
    cold_items: int = 0,
    scores: int | None = None,
    kinds: tuple[int, ...] = tuple(range(8)),
) -> Case:
    """Returns one case: lists, truth and train rows by user.

    Kinds of users: 0 has no list, 1 no relevant item, 2 a list of three, 3 more relevant items
    than K, 4 a single relevant item, 5 a list without a hit.

    Args:
        seed: of everything random.
        users: how many, >= 1; ids 1, 2, ...
        gains: what the gain of a relevant item is drawn from.
        cold_items: items that lists and truth may name and that have no train row.
        scores: how many different scores there are; None: all scores of a list differ.
        kinds: of the users, in turn.

    Returns:
        depths: each K. users: their ids. lists: for each user with a list, [item, score] best
        first. truth: for each user with a relevant item, [item, gain]. train: for each user, items.
    """
    random_ = random.Random(seed)  # noqa: S311 (data, not secrets)
    tables: Case = {table: {} for table in ("lists", "truth", "judged", "train")}
    case = {"depths": [5, 10], "users": list(range(1, users + 1)), **tables}
    for user in case["users"]:
        kind = kinds[user % len(kinds)]
        listed, relevant = _list_and_relevant(random_, kind, len(ITEMS) + cold_items)
        drawn = random_.sample(range(1, 10000), len(listed))
        if scores is not None:
            drawn = [random_.randint(1, scores) for _ in listed]
        if kind != 0:
            ranked = sorted(zip(listed, drawn, strict=True), key=lambda pair: -pair[1])
            case["lists"][str(user)] = [[item, score / 10000] for item, score in ranked]
        if kind != 1:
            case["truth"][str(user)] = [[item, random_.choice(gains)] for item in relevant]
            others = [item for item in ITEMS if item not in relevant]
            case["judged"][str(user)] = sorted(random_.sample(others, 12))
        # Every item of ITEMS gets a train row from somebody.
        mine = {item for item in ITEMS if item % users == user - 1}
        popular = _distinct(random_, len(ITEMS), random_.randint(2, 12))
        case["train"][str(user)] = sorted(mine.union(popular))
    return case


def _list_and_relevant(
    random_: random.Random, kind: int, items: int
) -> tuple[list[int], list[int]]:
    """Returns the items of a list and the relevant items."""
    listed = _distinct(random_, items, 3 if kind == 2 else 20)
    size = {3: 14, 4: 1}.get(kind, random_.randint(2, 6))
    inside = [] if kind == 5 else random_.sample(listed, min(len(listed), (size + 1) // 2))
    outside = [item for item in range(1, items + 1) if item not in listed]
    return listed, sorted(inside + random_.sample(outside, size - len(inside)))


def _distinct(random_: random.Random, items: int, n: int) -> list[int]:
    """Returns n different items, small ids more often, in the order in which they were drawn."""
    weights = [1 / (place + 5) for place in range(items)]
    found: dict[int, None] = {}
    while len(found) < n:
        found[random_.choices(range(1, items + 1), weights)[0]] = None
    return list(found)
