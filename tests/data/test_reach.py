from datetime import UTC, datetime

import polars as pl

from recoeval.data.background import Background
from recoeval.data.reach import find_reach, label_coldness

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
TIME = pl.Datetime("us", "UTC")
PAIRS = pl.DataFrame({"query_id": ["a", "b", "a", "b"], "item_id": [1, 1, 2, 3]})
QUERIES = pl.DataFrame(
    {"query_id": ["a", "b"], "user_id": [7, 8], "query_time": [NOON, NOON.replace(hour=11)]},
    schema_overrides={"query_time": TIME},
)
ACTIVITY = pl.LazyFrame(
    # User 8 has rows, but no train row.
    {"user_id": [7, 8], "train_interactions": [3, 2], "train_rows": [1, 0]}
)
POPULARITY = pl.DataFrame({"item_id": [1, 9], "train_users": [1, 1]})


def items(*rows: tuple[int, datetime | None, bool]) -> pl.DataFrame:
    schema = {"item_id": pl.Int64, "created_at": TIME, "available": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_nothing_known_is_nothing_out_of_reach():
    assert find_reach(PAIRS, QUERIES, Background()) is None


def test_what_has_no_train_row_is_cold():
    known = Background(activity=ACTIVITY, popularity=POPULARITY, train_users=1)
    found = find_reach(PAIRS, QUERIES, known)
    assert found.columns == ["query_id", "item_id", "unavailable", "cold_item", "cold_user"]
    assert found.rows() == [
        ("a", 1, False, False, False),
        ("b", 1, False, False, True),
        ("a", 2, False, True, False),
        ("b", 3, False, True, True),
    ]
    assert label_coldness(found)["label"].to_list() == ["warm", "cold", "cold", "cold"]


def test_a_user_that_the_train_window_does_not_know_is_cold():
    known = Background(activity=ACTIVITY.filter(user_id=7), popularity=POPULARITY)
    found = find_reach(PAIRS, QUERIES, known)
    assert found["cold_user"].to_list() == [False, True, False, True]


def test_a_query_that_nobody_knows_is_cold():
    known = Background(activity=ACTIVITY, popularity=POPULARITY, items=items((1, NOON, True)))
    found = find_reach(PAIRS, QUERIES.filter(query_id="b"), known)
    assert found["cold_user"].to_list() == [True, True, True, True]
    # Whenever it was asked.
    assert found["unavailable"].to_list() == [False, True, True, True]
    alone = find_reach(PAIRS, QUERIES.clear(), Background(items=items((1, NOON, True))))
    assert not alone["cold_user"].any()


def test_items_are_there_from_when_they_are_created():
    # Query a is at noon, b an hour before.
    known = Background(items=items((1, NOON, True), (2, None, True), (3, None, False)))
    found = find_reach(PAIRS, QUERIES, known)
    assert found["unavailable"].to_list() == [False, True, False, True]
    # Without train data nobody is known to be cold.
    assert not found["cold_item"].any()
    assert not found["cold_user"].any()


def test_an_item_that_the_table_lacks_is_not_available():
    found = find_reach(PAIRS, QUERIES, Background(items=items((2, None, True))))
    assert found["unavailable"].to_list() == [True, True, False, True]


def test_queries_without_a_time_do_not_ask_when_items_were_created():
    known = Background(items=items((1, NOON, True), (2, NOON, False)))
    for queries in (QUERIES.drop("query_time"), QUERIES.with_columns(query_time=None)):
        typed = queries
        if "query_time" in queries.columns:
            typed = queries.cast({"query_time": TIME})
        found = find_reach(PAIRS, typed, known)
        assert found["unavailable"].to_list() == [False, False, True, True]


def test_columns_of_the_items_table_do_not_matter():
    table = items((1, None, True), (2, None, True), (3, None, True))
    known = Background(items=table.with_columns(user_id=1, query_time=pl.lit("x"), query_id=2))
    assert not find_reach(PAIRS, QUERIES, known)["unavailable"].any()
