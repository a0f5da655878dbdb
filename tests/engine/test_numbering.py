"""Queries and relevant pairs as numbers."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.engine.numbering import Numbering

QUERIES = pl.DataFrame({"query_id": ["c", "a", "b"], "user_id": [3, 1, 1], "quota": [5, 6, 7]})
TRUTH = pl.DataFrame(
    {
        "query_id": ["c", "a", "c", "z", "a"],
        "item_id": [8, 9, 7, 7, 1],
        "gain": [1.0, 2.0, 3.0, 9.0, 4.0],
        "stray": [0] * 5,
    }
)
OWN = Numbering.of(QUERIES, TRUTH)


def test_queries_and_pairs_are_numbered_in_order_of_their_ids():
    assert OWN.queries.rows() == [("a", 1, 6), ("b", 1, 7), ("c", 3, 5)]
    # Pairs of queries that are not evaluated are left out.
    assert OWN.truth.rows() == [("a", 1, 4.0), ("a", 9, 2.0), ("c", 7, 3.0), ("c", 8, 1.0)]
    assert OWN.pairs.rows() == [(0, 0, 4.0), (0, 1, 2.0), (2, 2, 3.0), (2, 3, 1.0)]
    assert OWN.pairs.schema == {
        "query_id": pl.UInt32,
        "item_id": pl.UInt32,
        "gain": pl.Float64,
    }


def test_the_index_has_the_pairs_of_each_query():
    lists, pairs = OWN.index.of_lists(np.array([2, -1, 1, 0]))
    assert (lists.tolist(), pairs.tolist()) == ([0, 0, 3, 3], [2, 3, 0, 1])


def test_numbers_of_queries_and_back():
    ids = pl.Series("query_id", ["b", "0", "c", "d", "a"])
    assert OWN.numbers(ids).tolist() == [1, -1, 2, -1, 0]
    rows = pl.DataFrame({"query_id": ids, "x": range(5)})
    numbered = OWN.number_queries(rows)
    assert numbered.rows() == [(1, 0), (2, 2), (0, 4)]
    assert numbered.schema["query_id"] == pl.UInt32
    assert OWN.decode(numbered).rows() == [("b", 0), ("c", 2), ("a", 4)]


def test_numbers_of_pairs():
    rows = pl.DataFrame(
        {
            "label": ["x", "y", "z", "x", "w"],
            "query_id": ["c", "a", "c", "z", "b"],
            "item_id": [7, 9, 7, 7, 1],
        }
    )
    # A pair may have several labels; what is no relevant pair has none.
    assert OWN.number_pairs(rows).rows() == [("x", 2, 2), ("y", 0, 1), ("z", 2, 2)]
    # Labels of every pair in order need no look-up.
    every = OWN.truth.select("item_id", "query_id", label="gain")
    assert OWN.number_pairs(every).rows() == [
        (0, 0, 4.0),
        (1, 0, 2.0),
        (2, 2, 3.0),
        (3, 2, 1.0),
    ]
    assert OWN.number_pairs(every.reverse()).rows() == OWN.number_pairs(every).rows()[::-1]
    assert OWN.number_pairs(rows.clear()).is_empty()


def test_pairs_of_others_by_query():
    pairs = pl.LazyFrame({"query_id": ["c", "z", "a", "c"], "item_id": [5, 5, 6, 4], "x": 1})
    index = OWN.index_of(pairs)
    assert index.starts.tolist() == [0, 1, 1, 3]
    assert sorted(index.items[1:].to_list()) == [4, 5]
    assert index.items[0] == 6
    assert OWN.index_of(pairs.clear()).starts.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("queries", [QUERIES, QUERIES.sort("query_id"), QUERIES.clear()])
def test_no_truth(queries):
    found = Numbering.of(queries, TRUTH.clear())
    assert found.pairs.is_empty()
    assert found.pairs.schema == OWN.pairs.schema
    assert found.index.starts.tolist() == [0] * (queries.height + 1)


IDS = st.sampled_from([-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1])
TEXTS = st.sampled_from(["", "0", "10", "9", "A", "a", "é", "z", "\U0001f600"])


@pytest.mark.parametrize("ids", [IDS, TEXTS], ids=["int", "text"])
@given(data=st.data())
def test_any_ids_are_numbered_and_come_back(ids, data):
    known = data.draw(st.lists(ids, unique=True, min_size=1))
    pairs = data.draw(st.lists(st.tuples(ids, ids), unique=True))
    truth = pl.DataFrame(
        {
            "query_id": pl.Series([pair[0] for pair in pairs], dtype=pl.Series(known).dtype),
            "item_id": pl.Series([pair[1] for pair in pairs], dtype=pl.Series(known).dtype),
            "gain": pl.Series(range(len(pairs)), dtype=pl.Float64),
        }
    )
    own = Numbering.of(pl.DataFrame({"query_id": known}), truth)
    numbers = own.numbers(pl.Series(known))
    # Python sorts text by code point, as polars does by bytes.
    assert numbers.tolist() == [sorted(known).index(each) for each in known]
    expected = sorted((*pair, float(n)) for n, pair in enumerate(pairs) if pair[0] in known)
    assert own.truth.rows() == expected
    assert own.decode(own.pairs)["query_id"].to_list() == [row[0] for row in expected]
    assert own.number_pairs(truth).sort("item_id").equals(own.pairs)
