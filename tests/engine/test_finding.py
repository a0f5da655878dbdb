"""What is found in lists: hits with the rank that is left, and rows that leave."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recoeval.data.listblocks import block_of
from recoeval.engine.finding import Asked, find, merge
from recoeval.engine.numbering import Numbering
from tests.engine.helpers import Search, lists_of, pairs_of, truth_of

# What leaves a list.

LISTS = lists_of({"q": [7, 8, 7, 9, 8, 7, 5]})
ASKED = pl.DataFrame({"query_id": ["q"]})
NO_TRUTH = truth_of({})


@pytest.mark.parametrize(
    ("seen", "drop_seen", "expected"),
    [
        # item, rank, repeated, seen, removed
        (None, True, [(7, 3, 1, 0, 1), (8, 5, 1, 0, 1), (7, 6, 1, 0, 1)]),
        (
            [7, 9, 4],
            True,
            [
                (7, 1, 0, 1, 1),
                (7, 3, 1, 1, 1),
                (9, 4, 0, 1, 1),
                (8, 5, 1, 0, 1),
                (7, 6, 1, 1, 1),
            ],
        ),
        # Seen rows are known but stay, repeated ones leave all the same.
        (
            [7, 9],
            False,
            [
                (7, 1, 0, 1, 0),
                (7, 3, 1, 1, 1),
                (9, 4, 0, 1, 0),
                (8, 5, 1, 0, 1),
                (7, 6, 1, 1, 1),
            ],
        ),
    ],
)
def test_what_leaves_a_list(seen, drop_seen, expected):
    known = None if seen is None else pairs_of({"q": seen, "p": [8]})
    search = Search.of(LISTS, NO_TRUTH, known, drop_seen=drop_seen, queries=ASKED)
    assert search.found.removed.columns == ["query_id", "rank", "repeated", "seen", "removed"]
    assert search.removed.drop("query_id").rows() == expected


def test_lists_of_which_nothing_leaves():
    search = Search.of(lists_of({"q": [1, 2]}), NO_TRUTH, queries=ASKED)
    assert search.removed.is_empty()
    assert search.found.removed.schema["removed"] == pl.Boolean


# Hits.


@pytest.mark.parametrize(
    ("seen", "drop_seen", "expected", "filtered"),
    [
        # Delivered 7 8 7 9 8 7 5; prepared 7 8 9 5.
        ([], True, [(8, 2, 2.0), (9, 3, 1.0), (5, 4, 0.5)], []),
        # Prepared 8 9 5.
        ([7], True, [(8, 1, 2.0), (9, 2, 1.0), (5, 3, 0.5)], []),
        # Prepared 7 5: what was seen is no hit, even if the truth still has it.
        ([8, 9], True, [(5, 2, 0.5)], [8, 9]),
        ([8, 9], False, [(8, 2, 2.0), (9, 3, 1.0), (5, 4, 0.5)], []),
    ],
)
def test_hits_have_the_rank_that_is_left(seen, drop_seen, expected, filtered):
    truth = truth_of({"q": {8: 2.0, 9: 1.0, 5: 0.5, 6: 1.0}, "p": {7: 1.0}})
    search = Search.of(LISTS, truth, pairs_of({"q": seen}), drop_seen=drop_seen)
    assert search.hits.select("item_id", "rank", "gain").rows() == expected
    assert search.found.hits.schema == {
        "query_id": pl.UInt32,
        "item_id": pl.UInt32,
        "rank": pl.Int64,
        "score": pl.Float64,
    }
    assert search.filtered == [("q", item) for item in filtered]


def test_a_hit_has_the_score_of_its_first_row():
    search = Search.of(LISTS, truth_of({"q": {8: 1.0, 5: 1.0}}))
    assert search.hits.select("item_id", "score").rows() == [(8, 1 / 2), (5, 1 / 7)]
    bare = Search.of(LISTS.drop("score"), truth_of({"q": {8: 1.0}}))
    assert bare.found.hits["score"].to_list() == [None]
    assert bare.found.hits.schema["score"] == pl.Float64


def prepared(items: Sequence[int], gone: Sequence[int]) -> list[int]:
    """The plain way: the first of each item, without what is gone."""
    return [item for item in dict.fromkeys(items) if item not in gone]


SMALL = st.lists(st.integers(0, 7), max_size=10)
BY_QUERY = st.dictionaries(st.sampled_from("abc"), SMALL)
TRUTHS = st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, 7)), min_size=1)
FOUR = pl.DataFrame({"query_id": list("abcd")})


@settings(max_examples=60)
@given(
    lists=BY_QUERY,
    seen=BY_QUERY,
    truth=TRUTHS,
    drop_seen=st.booleans(),
    blocks=st.integers(1, 3),
)
def test_delivered_rank_less_what_left_is_the_rank_in_the_prepared_list(
    lists, seen, truth, drop_seen, blocks
):
    gone = {query: (seen.get(query, []) if drop_seen else []) for query in "abcd"}
    gains = {query: {item: 1.0 + item for item in items} for query, items in truth.items()}
    search = Search.of(
        lists_of(lists),
        truth_of(gains),
        pairs_of(seen).unique(),
        drop_seen=drop_seen,
        queries=FOUR,
        blocks=blocks,
    )
    expected, filtered, left = [], [], {}
    for query in sorted(lists):
        own = prepared(lists[query], gone[query])
        left[query] = len(lists[query]) - len(own)
        expected += [
            (query, item, rank, 1.0 + item)
            for rank, item in enumerate(own, 1)
            if item in gains.get(query, {})
        ]
        listed = set(lists[query]) & set(gains.get(query, {}))
        filtered += [(query, item) for item in sorted(listed - set(own))]
    assert search.hits.select("query_id", "item_id", "rank", "gain").rows() == expected
    assert sorted(search.filtered) == filtered
    counts = search.removed.filter("removed").group_by("query_id").len()
    assert dict(counts.rows()) == {query: count for query, count in left.items() if count}


@settings(max_examples=60)
@given(lists=BY_QUERY, seen=BY_QUERY, truth=TRUTHS, depth=st.integers(1, 11))
def test_what_is_deeper_does_not_count(lists, seen, truth, depth):
    gains = {query: dict.fromkeys(items, 1.0) for query, items in truth.items()}
    known = pairs_of(seen).unique()
    cut = Search.of(lists_of(lists), truth_of(gains), known, queries=FOUR, depth=depth)
    short = lists_of({query: items[:depth] for query, items in lists.items()})
    expected = Search.of(short, truth_of(gains), known, queries=FOUR)
    assert cut.hits.equals(expected.hits)
    assert cut.removed.equals(expected.removed)
    assert cut.filtered == expected.filtered
    assert cut.rows.sort("query_id", "rank").equals(expected.rows.sort("query_id", "rank"))
    lengths = [part.lengths.sum() for part in cut.parts]
    assert lengths == [part.lengths.sum() for part in expected.parts]


# Rows of queries that nobody asked for.


def test_lists_that_nobody_asked_for_are_not_looked_at():
    lists = lists_of({"a": [1, 1, 2], "b": [2, 2], "c": [3]})
    search = Search.of(lists, truth_of({"b": {2: 1.0}, "d": {3: 1.0}}), pairs_of({"a": [2]}))
    assert search.hits.select("query_id", "item_id", "rank").rows() == [("b", 2, 1)]
    assert search.removed.select("query_id", "rank").rows() == [("b", 2)]
    (part,) = search.parts
    assert sorted(part.lengths.tolist()) == [0, 0, 2]
    assert search.rows.select("query_id", "item_id", "rank").rows() == [(0, 2, 1), (0, 2, 2)]


def test_rows_that_are_picked():
    block = block_of(lists_of({"a": [5, 6], "b": [7]}), np.array([0, 2]))
    own = Asked.of(block, np.array([3, 1]), {})
    picked = own.rows(np.array([2, 1]))
    assert picked.rows() == [(1, 7, 1, 1.0), (3, 6, 2, 0.5)]
    assert picked.schema["query_id"] == pl.UInt32
    assert own.rows(np.zeros(0, np.int64)).schema == own.rows().schema


# Any ids.


@pytest.mark.parametrize("kind", ["int", "text", "negative"])
@pytest.mark.parametrize("drop_seen", [False, True])
def test_many_lists_of_any_ids(kind, drop_seen):
    rng = np.random.default_rng(11)
    names = {
        "int": list(range(200)),
        "text": [f"{n:03x}é" for n in range(200)],
        "negative": [n * 2**55 - 2**62 for n in range(200)],
    }[kind]
    lists = {n: rng.integers(0, 200, rng.integers(1, 60)).tolist() for n in range(150)}
    gains = {n: set(rng.integers(0, 200, 20).tolist()) for n in range(20, 170)}
    known = {n: set(rng.integers(0, 200, 30).tolist()) for n in range(0, 160, 2)}
    rows = [(names[q], names[item], rank) for q in lists for rank, item in enumerate(lists[q], 1)]
    frame = pl.DataFrame(rows, ["query_id", "item_id", "rank"], orient="row")
    pairs = [(names[q], names[item]) for q in gains for item in gains[q]]
    truth = pl.DataFrame(pairs, ["query_id", "item_id"], orient="row").with_columns(gain=1.0)
    pairs = [(names[q], names[item]) for q in known for item in known[q]]
    seen = pl.DataFrame(pairs, ["query_id", "item_id"], orient="row")
    expected = []
    for query, items in lists.items():
        own = prepared(items, known.get(query, ()) if drop_seen else ())
        expected += [
            (names[query], names[item], rank)
            for rank, item in enumerate(own, 1)
            if item in gains.get(query, ())
        ]
    for rows in (frame, frame.sample(fraction=1, shuffle=True, seed=2)):
        search = Search.of(rows, truth, seen, drop_seen=drop_seen, blocks=3)
        found = search.hits.select("query_id", "item_id", "rank").rows()
        assert found == sorted(expected, key=lambda row: (row[0], row[2]))


# Merging.


def test_no_rows_at_all():
    for lists in (lists_of({}), lists_of({"z": [1, 1]})):
        search = Search.of(lists, truth_of({"q": {1: 1.0}}), pairs_of({"q": [2]}))
        assert [search.found.hits.height, search.found.removed.height] == [0, 0]
        assert search.filtered == []
        some = Search.of(LISTS, truth_of({"q": {8: 1.0}}), pairs_of({"q": [8]})).found
        for name in ("hits", "removed", "filtered"):
            assert getattr(search.found, name).schema == getattr(some, name).schema


def test_blocks_merge_by_rows():
    numbering = Numbering.of(FOUR, truth_of({"a": {1: 1.0}, "b": {1: 1.0}}))
    parts = [
        find(
            Asked.of(block, numbering.numbers(block.queries), {"truth": numbering.index}),
            drop_seen=True,
        )
        for block in (block_of(lists_of({"b": [1, 1]})), block_of(lists_of({"a": [2, 1]})))
    ]
    merged = merge(parts)
    assert merged.hits.select("query_id", "item_id", "rank").rows() == [(1, 1, 1), (0, 0, 2)]
    assert merged.removed.select("query_id", "rank").rows() == [(1, 2)]
    assert merge(parts[:1]) is parts[0]
