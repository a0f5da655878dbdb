"""Why relevant pairs are in no list: the first cause that holds."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.columns import CAUSE_DTYPE
from recoeval.engine.losses import Causes
from tests.engine.helpers import Search, everyone, lists_of, pairs_of, truth_of

TRUTH = truth_of({"p": {1: 1.0, 2: 2.0, 3: 3.0}, "q": {1: 4.0}, "r": {9: 5.0}})
REACH = pl.DataFrame(
    {
        "query_id": ["q", "p", "p", "z", "p"],
        "item_id": [1, 3, 2, 1, 1],
        "unavailable": [False, None, False, True, True],
        "cold_item": [False, True, True, True, True],
        "cold_user": [True, True, False, True, True],
    }
)


def lost_of(search, reach=REACH, numbers=None, **serves):
    causes = Causes.of(search.numbering, reach)
    if serves:
        causes = causes.of_generator(**serves)
    found = causes.lost(everyone(search) if numbers is None else numbers, search.found)
    assert found.schema == {"item_id": pl.UInt32, "cause": CAUSE_DTYPE}
    pairs = search.numbering.truth[found["item_id"]]
    return dict(zip(pairs.select("query_id", "item_id").rows(), found["cause"], strict=True))


def search(lists=None, seen=None, **options) -> Search:
    known = None if seen is None else pairs_of(seen)
    return Search.of(lists_of(lists or {}), TRUTH, known, **options)


def test_the_first_cause_that_holds_in_the_order_of_the_pairs():
    own = search({"p": [1]}, {"p": [1]})
    assert list(lost_of(own, cold_users=False, cold_items=False).items()) == [
        (("p", 1), "filtered"),
        (("p", 2), "cold_item"),
        # What is not known to be unavailable is not.
        (("p", 3), "cold_item"),
        (("q", 1), "cold_user"),
        (("r", 9), "not_retrieved"),
    ]
    assert lost_of(search())["p", 1] == "unavailable"


@pytest.mark.parametrize(
    ("serves", "expected"),
    [
        ({}, ["unavailable", "not_retrieved", "not_retrieved", "not_retrieved"]),
        (
            {"cold_users": True, "cold_items": True},
            ["unavailable", "not_retrieved", "not_retrieved", "not_retrieved"],
        ),
        (
            {"cold_users": True, "cold_items": False},
            ["unavailable", "cold_item", "cold_item", "not_retrieved"],
        ),
        (
            {"cold_users": False, "cold_items": True},
            ["unavailable", "not_retrieved", "cold_user", "cold_user"],
        ),
        (
            {"cold_users": False, "cold_items": False},
            ["unavailable", "cold_item", "cold_item", "cold_user"],
        ),
    ],
)
def test_coldness_is_a_cause_for_those_who_cannot_serve_it(serves, expected):
    assert list(lost_of(search(), **serves).values()) == [*expected, "not_retrieved"]


def test_hits_are_not_lost():
    own = search({"p": [3, 7, 1], "q": [1], "r": [9]})
    assert lost_of(own) == {("p", 2): "not_retrieved"}
    all_found = search({"p": [3, 2, 1], "q": [1], "r": [9]})
    assert lost_of(all_found) == {}


def test_seen_items_that_may_stay_are_hits():
    own = search({"p": [1]}, {"p": [1]}, drop_seen=False)
    assert ("p", 1) not in lost_of(own)


def test_a_repeated_item_is_not_filtered():
    # Its second row left, its first is a hit.
    assert ("p", 2) not in lost_of(search({"p": [2, 5, 2]}))


def test_nothing_is_known_of_reach():
    own = search({"p": [1, 2]}, {"p": [1]})
    found = lost_of(own, None, cold_users=False, cold_items=False)
    assert found == {
        ("p", 1): "filtered",
        ("p", 3): "not_retrieved",
        ("q", 1): "not_retrieved",
        ("r", 9): "not_retrieved",
    }


def test_pairs_of_some_queries():
    own = search({"p": [1]})
    assert list(lost_of(own, numbers=np.array([2, 0]))) == [("p", 2), ("p", 3), ("r", 9)]
    assert lost_of(own, numbers=np.zeros(0, np.int64)) == {}


FLAGS = ("unavailable", "cold_item", "cold_user")


@given(
    state=st.fixed_dictionaries(
        {flag: st.sets(st.integers(0, 15)) for flag in (*FLAGS, "hit", "filtered")}
    ),
    serves=st.sampled_from(list(product([False, True], repeat=2))),
)
def test_causes_are_named_in_their_order(state, serves):
    cold_users, cold_items = serves
    items = list(range(16))
    truth = truth_of({"q": dict.fromkeys(items, 1.0)})
    listed = sorted(state["hit"] | state["filtered"])
    own = Search.of(lists_of({"q": listed}), truth, pairs_of({"q": sorted(state["filtered"])}))
    reach = pl.DataFrame(
        {"query_id": ["q"] * 16, "item_id": items}
        | {flag: [item in state[flag] for item in items] for flag in FLAGS}
    )
    expected = {}
    for item in items:
        holds = {
            "filtered": item in state["filtered"],
            "unavailable": item in state["unavailable"],
            "cold_item": item in state["cold_item"] and not cold_items,
            "cold_user": item in state["cold_user"] and not cold_users,
            "not_retrieved": True,
        }
        if item in state["filtered"] or item not in state["hit"]:
            expected["q", item] = next(cause for cause, held in holds.items() if held)
    found = lost_of(own, reach, cold_users=cold_users, cold_items=cold_items)
    assert found == expected
