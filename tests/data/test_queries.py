from datetime import UTC, datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from recoeval.data.queries import blocks_of, pairs_by_query, queries_of_rows, queries_of_users
from recoeval.errors import DataError

CUTOFF = datetime(2022, 5, 5, 16, tzinfo=UTC)
SEVERAL = pl.DataFrame(
    {"query_id": ["q3", "q1", "q2", "q1"], "user_id": [1, 2, 1, 2], "item_id": [7, 7, 8, 9]}
)


@pytest.mark.parametrize("cutoff", [CUTOFF, None])
def test_by_default_a_user_asks_once_at_the_cutoff(cutoff):
    users = pl.LazyFrame({"user_id": [2, 1, 2], "timestamp": [5, 6, 7]})
    expected = pl.DataFrame(
        {"query_id": [1, 2], "user_id": [1, 2], "query_time": [cutoff, cutoff]},
        schema_overrides={"query_time": pl.Datetime("us", "UTC")},
    )
    assert_frame_equal(queries_of_users(users, cutoff).collect(), expected)


def test_queries_of_rows_are_distinct_and_in_order_of_their_users():
    assert queries_of_rows(SEVERAL.lazy(), what="truth").rows() == [
        ("q2", 1),
        ("q3", 1),
        ("q1", 2),
    ]


@pytest.mark.parametrize("only", ["query_id", "user_id"])
def test_the_one_id_stands_for_the_other(only):
    rows = pl.LazyFrame({only: ["b", "a", "b"], "item_id": [1, 2, 3]})
    queries = queries_of_rows(rows, what="truth")
    assert queries.columns == ["query_id", "user_id"]
    assert queries.rows() == [("a", "a"), ("b", "b")]


def test_a_query_has_one_user():
    rows = pl.LazyFrame({"query_id": [5, 5, 4, 4, 4, 6], "user_id": [1, 2, 1, 2, 3, 1]})
    with pytest.raises(DataError) as error:
        queries_of_rows(rows, what="users")
    assert str(error.value) == (
        "users.query_id: 2 queries belong to several users, e.g. 4, 5; a query has one user"
    )
    assert error.value.exit_code == 3


def test_what_a_user_has_seen_holds_for_each_of_his_queries():
    pairs = pl.LazyFrame({"user_id": [1, 1, 2, 9], "item_id": [7, 8, 7, 7], "weight": [1.0] * 4})
    queries = queries_of_rows(SEVERAL.lazy(), what="truth").with_columns(item_id=0).lazy()
    found = pairs_by_query(pairs, queries).collect()
    assert found.columns == ["query_id", "item_id"]
    assert sorted(found.rows()) == [("q1", 7), ("q2", 7), ("q2", 8), ("q3", 7), ("q3", 8)]


@pytest.mark.parametrize(
    ("size", "blocks"),
    [(2, [[1, 2], [3, 4], [5]]), (5, [[1, 2, 3, 4, 5]]), (9, [[1, 2, 3, 4, 5]])],
)
def test_blocks_keep_the_order(size, blocks):
    queries = pl.DataFrame({"query_id": [1, 2, 3, 4, 5]})
    assert [block["query_id"].to_list() for block in blocks_of(queries, size)] == blocks


def test_no_queries_no_blocks():
    assert list(blocks_of(pl.DataFrame({"query_id": []}), 3)) == []
