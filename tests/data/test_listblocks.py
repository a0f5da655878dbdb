"""Whole lists in delivered order: the same rows and facts as `deliver` and `check_lists` say."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recoeval.data.delivery import deliver
from recoeval.data.listblocks import ListBlock, block_of
from recoeval.data.listcheck import ListFacts, add_facts, check_lists
from recoeval.data.ordering import starts_of
from recoeval.data.rowkeys import match_rows
from recoeval.errors import DataError
from tests.data.helpers import refused

IDS = {"int": [0, -5, 9, 10, 2**53 + 1], "text": ["", "10", "9", "A", "é"]}
SCORES = [-1.0, -0.0, 0.0, 0.5, 2.0]


def delivered(block: ListBlock) -> pl.DataFrame:
    """Returns the rows of a block, sorted by query and rank."""
    rows = np.arange(len(block.items))
    frame = pl.DataFrame(
        {
            "query_id": block.queries.gather(block.lists(np.arange(len(block.items)))),
            "item_id": block.items,
            "rank": pl.Series(block.ranks(rows), dtype=pl.Int64),
        }
    )
    if block.scores is not None:
        frame = frame.with_columns(block.scores.alias("score"))
    # Every list stands together, and each once.
    assert block.starts.tolist() == [*starts_of(frame["query_id"]).tolist(), len(rows)]
    assert block.queries.n_unique() == len(block.queries)
    assert (
        block.lengths.tolist()
        == frame.group_by("query_id", maintain_order=True).len()["len"].to_list()
    )
    assert frame["rank"].to_list() == [n + 1 for size in block.lengths for n in range(size)]
    return frame.sort("query_id", maintain_order=True)


def facts_of(block: ListBlock) -> ListFacts:
    return block.facts(match_rows(block.starts, block.items).shared)


def as_defined(rows: pl.DataFrame, **options: Any) -> None:
    """Checks a block of rows in any order, of rows list by list, and of several blocks."""
    expected = deliver(rows.lazy(), **options).collect()
    facts = check_lists(rows.lazy(), what="recs")
    together = rows.sort("query_id", maintain_order=True)
    for block in (
        block_of(rows, **options),
        block_of(together, starts_of(together["query_id"]), **options),
    ):
        # Zero has one value; 0.0 == -0.0 is what equals says as well.
        assert delivered(block).equals(expected)
        assert facts_of(block) == facts
        assert block.items.dtype == rows["item_id"].dtype
    queries = rows["query_id"].unique()
    apart = [block_of(rows.filter(query_id=query), **options) for query in queries]
    if apart:
        assert add_facts([facts_of(block) for block in apart]) == facts
        assert pl.concat(map(delivered, apart)).sort("query_id", "rank").equals(expected)


def frame_of(rows: list[Any], kind: str) -> pl.DataFrame:
    ids = pl.String if kind == "text" else pl.Int64
    schema = {"query_id": pl.Int64, "item_id": ids, "rank": pl.Int64, "score": pl.Float64}
    named = [(query, IDS[kind][item], rank, score) for query, item, rank, score in rows]
    return pl.DataFrame(named, schema, orient="row")


KINDS = pytest.mark.parametrize("kind", ["int", "text"])
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 6), st.sampled_from(SCORES)),
    max_size=14,
)


def one_item_a_rank(rows: list[Any]) -> list[Any]:
    """Returns the rows without those whose rank another item of the list has."""
    owner: dict[Any, Any] = {}
    return [row for row in rows if owner.setdefault((row[0], row[2]), row[1]) == row[1]]


@KINDS
@settings(max_examples=40)
@given(rows=ROWS.map(one_item_a_rank), scored=st.booleans())
def test_ranks_with_gaps_and_repeats(kind, rows, scored):
    frame = frame_of(rows, kind)
    as_defined(frame if scored else frame.drop("score"))


@KINDS
@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 6), max_size=4),
    items=st.lists(st.integers(0, 4), min_size=24, max_size=24),
    scores=st.lists(
        st.sampled_from([*SCORES, None, float("nan"), float("inf"), float("-inf")]),
        min_size=24,
        max_size=24,
    ),
    data=st.data(),
)
def test_ranks_without_gaps_and_any_scores(kind, sizes, items, scores, data):
    rows = [
        (query, items.pop(), rank, scores.pop())
        for query, size in enumerate(sizes)
        for rank in range(1, size + 1)
    ]
    as_defined(frame_of(data.draw(st.sampled_from([rows, data.draw(st.permutations(rows))])), kind))


@KINDS
@pytest.mark.parametrize("tie", ["ascending", "descending"])
@settings(max_examples=40)
@given(rows=ROWS, in_order=st.booleans())
def test_scores_decide_where_there_are_no_ranks(kind, tie, rows, in_order):
    frame = frame_of(rows, kind).drop("rank")
    if in_order:
        frame = deliver(frame.lazy(), tie=tie).collect().drop("rank")
    as_defined(frame, tie=tie)


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        ({"item_id": [7, 8], "rank": [1, 2]}, ListFacts(2)),
        ({"item_id": [8, 7], "rank": [2, 1]}, ListFacts(2)),
        ({"item_id": [7, 8], "rank": [1, 3]}, ListFacts(2, rank_gaps=1)),
        ({"item_id": [7, 7, 8], "rank": [1, 1, 2]}, ListFacts(3, identical_rows=1)),
        ({"item_id": [7, 8, 7], "rank": [1, 2, 3]}, ListFacts(3, repeated_items=1)),
        ({"item_id": [7, 8, 7], "score": [3.0, 2.0, 1.0]}, ListFacts(3, repeated_items=1)),
        ({"item_id": [7, 7, 8], "score": [3.0, 3.0, 1.0]}, ListFacts(3, identical_rows=1)),
        (
            {"item_id": [7, 8, 9], "rank": [1, 2, 3], "score": [1.0, 2.0, 3.0]},
            ListFacts(3, disagreements=1),
        ),
        (
            {"item_id": [7, 7, 7], "rank": [1, 2, 3], "score": [1.0, 1.0, 2.0]},
            ListFacts(3, repeated_items=2, disagreements=1),
        ),
    ],
)
def test_facts(columns, facts):
    rows = pl.DataFrame({"query_id": [4] * len(columns["item_id"]), **columns})
    assert facts_of(block_of(rows)) == facts
    as_defined(rows)
    assert facts_of(block_of(rows.reverse())) == facts


def test_a_score_that_falls_to_the_next_list_is_no_disagreement():
    rows = pl.DataFrame({"query_id": [1, 1, 2, 2], "item_id": [1, 2, 1, 2], "rank": [1, 2, 1, 2]})
    as_defined(rows.with_columns(score=pl.Series([2.0, 1.0, 9.0, 8.0])))
    as_defined(rows.with_columns(score=pl.Series([2.0, 3.0, 1.0, 8.0])))


def test_ties_of_trec():
    rows = pl.DataFrame({"query_id": ["q"] * 3, "item_id": ["10", "9", "Z"], "score": [1.0] * 3})
    assert block_of(rows, tie="descending").items.to_list() == ["Z", "9", "10"]
    assert block_of(rows).items.to_list() == ["10", "9", "Z"]
    # Integers are compared as text there.
    numbers = rows.with_columns(item_id=pl.Series([10, 9, 100]))
    assert block_of(numbers, tie="descending").items.to_list() == [9, 100, 10]
    assert block_of(numbers).items.to_list() == [9, 10, 100]


@pytest.mark.parametrize("rank", [2**31, 2**62, 2**63 - 1])
def test_very_large_ranks(rank):
    rows = [(query, item, rank - item, 0.0) for query in range(4) for item in range(3)]
    frame = frame_of(rows, "int")
    as_defined(frame.drop("score"))
    as_defined(frame.sample(fraction=1, shuffle=True, seed=1))


def test_queries_whose_hashes_collide(monkeypatch):
    rng = np.random.default_rng(2)
    rows = [
        (query, item, rank + 1, 0.0)
        for query in range(4)
        for rank, item in enumerate(rng.permutation(5))
    ]
    frame = frame_of(rows, "int").sample(fraction=1, shuffle=True, seed=4)
    expected = deliver(frame.lazy()).collect()
    for divisor in (1, 2):
        monkeypatch.setattr(
            pl.Series, "hash", lambda own, divisor=divisor: (own.abs() % divisor).cast(pl.UInt64)
        )
        assert delivered(block_of(frame)).equals(expected)


# Rows that no list has.


@pytest.mark.parametrize(
    "columns",
    [
        {"query_id": [1, None], "item_id": [7, 8], "rank": [1, 1]},
        {"query_id": [1, 1], "item_id": [7, None], "rank": [1, 2]},
        {"query_id": [1, 1], "item_id": [7, 8], "rank": [1, None]},
        {"query_id": [1, 1], "item_id": [7, 8], "rank": [None, None]},
        {"query_id": [1, 1], "item_id": [7, 8], "rank": [0, 1]},
        {"query_id": [1, 1], "item_id": [7, 8], "rank": [-(2**63), 1]},
        {"query_id": [1, 1], "item_id": [7, 8], "rank": [1, 1]},
        {"query_id": [1, 1], "item_id": [7, 8], "score": [1.0, None]},
        {"query_id": [1, 1], "item_id": [7, 8], "score": [float("nan"), 0.0]},
        {"query_id": [1, 1], "item_id": [7, 8], "score": [float("inf"), 0.0]},
        {"query_id": [None, None], "item_id": [7, 8], "score": [1.0, 0.0]},
        {"query_id": ["a", None], "item_id": ["x", None], "score": [1.0, float("-inf")]},
    ],
)
@pytest.mark.parametrize("tie", ["ascending", "descending"])
def test_rows_that_no_list_has(columns, tie):
    types = {"rank": pl.Int64, "score": pl.Float64}
    ids = pl.String if isinstance(columns["query_id"][0], str) else pl.Int64
    types |= {"query_id": ids, "item_id": ids}
    rows = pl.DataFrame(columns, {name: types[name] for name in columns})
    expected = refused(check_lists, rows.lazy(), what="lists[als]")
    for frame in (rows, rows.reverse()):
        assert refused(block_of, frame, what="lists[als]", tie=tie) == expected
        starts = starts_of(frame["query_id"])
        assert refused(block_of, frame, starts, what="lists[als]", tie=tie) == expected


# Few rows.


@pytest.mark.parametrize("column", ["rank", "score"])
@pytest.mark.parametrize("tie", ["ascending", "descending"])
def test_no_rows(column, tie):
    rows = frame_of([], "text").select("query_id", "item_id", column)
    for block in (block_of(rows, tie=tie), block_of(rows, np.zeros(0, np.int64), tie=tie)):
        assert facts_of(block) == ListFacts(0)
        assert len(block.queries) == len(block.items) == 0
        assert block.starts.tolist() == [0]
        assert block.lengths.tolist() == []
        assert block.queries.dtype == pl.Int64


def test_rows_that_are_in_order_stay_where_they_are():
    rows = pl.DataFrame({"query_id": ["z", "z", "a"], "item_id": [3, 1, 2], "rank": [1, 2, 1]})
    block = block_of(rows, np.array([0, 2]))
    assert block.queries.to_list() == ["z", "a"]
    assert block.items.to_list() == [3, 1, 2]
    assert block.scores is None
    assert block.ranks(np.array([2, 1])).tolist() == [1, 2]


def test_a_bad_row_is_said_of_the_block_alone():
    rows = pl.DataFrame({"query_id": [1, 2], "item_id": [7, 8], "rank": [0, -1]})
    with pytest.raises(DataError, match="1 row with a rank below 1"):
        block_of(rows.tail(1))
