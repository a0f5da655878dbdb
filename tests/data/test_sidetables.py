from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import recoeval as rv
from recoeval.data.policies import Truth
from recoeval.data.sidetables import read_exposures, read_items, read_universe
from recoeval.errors import ConfigError, DataError

ASKED = pl.DataFrame({"query_id": [1, 2], "user_id": [1, 2]})
OF_QUERIES = pl.DataFrame({"query_id": ["a", "b", "c"], "user_id": [1, 1, 2]})
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def text_of(call: Any, *arguments: Any) -> str:
    with pytest.raises(DataError) as error:
        call(*arguments)
    assert error.value.exit_code == 3
    return str(error.value)


# Users.


def test_no_users():
    found = read_universe(None, ASKED)
    assert (found.queries, found.of_users, found.of_queries) == (None, None, None)


def test_users_without_attributes_are_a_universe_alone():
    found = read_universe(pl.DataFrame({"user_id": [2, 3, 2]}), ASKED)
    assert found.queries is not None
    assert sorted(found.queries.rows()) == [(2, 2), (3, 3)]
    assert (found.of_users, found.of_queries) == (None, None)


def test_attributes_of_users():
    users = pl.DataFrame(
        {"user_id": [2, 1, 2], "country": ["de", None, "de"], "tags": [["x"], [], ["x"]]}
    )
    found = read_universe(users, ASKED)
    # A repeated row is one row; of nested columns nothing but the type is kept.
    assert found.of_users is not None
    assert found.of_users.rows(named=True) == [
        {"user_id": 1, "country": None, "tags": None},
        {"user_id": 2, "country": "de", "tags": None},
    ]
    assert found.of_users.schema["tags"] == pl.List(pl.String)
    assert found.of_queries is None
    assert found.queries is not None
    assert found.queries.height == 2


def test_lists_alone_are_no_attributes():
    users = pl.DataFrame({"user_id": [8], "tags": [["x"]]})
    assert read_universe(users, ASKED).of_users is None


@pytest.mark.parametrize("side", ["user", "item"])
def test_a_bucket_by_a_column_of_lists(side):
    truth = pl.DataFrame({"user_id": [1, 2], "item_id": [1, 2]})
    table = pl.DataFrame({f"{side}_id": [1, 2], "tags": [["x"], ["y"]]})
    with pytest.raises(ConfigError) as error:
        rv.evaluate(
            truth.with_columns(rank=1),
            truth,
            buckets={"b": {"side": side, "by": "column", "column": "tags"}},
            **{f"{side}s": table.with_columns(country=pl.lit("de"))},
        )
    assert str(error.value) == (
        "buckets.b: column 'tags' holds lists: expected text, numbers or times"
    )


def test_attributes_of_queries_belong_to_the_query():
    users = OF_QUERIES.with_columns(scene=pl.Series(["home", "feed", "feed"]))
    found = read_universe(users, OF_QUERIES)
    assert found.of_users is None
    assert found.of_queries is not None
    assert found.of_queries.columns == ["query_id", "scene"]
    truth = Truth(pl.DataFrame(), OF_QUERIES[1:], {}, {})
    assert found.describe(truth).queries["scene"].to_list() == ["feed", "feed"]
    assert read_universe(OF_QUERIES, OF_QUERIES).describe(truth) is truth


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int32, pl.Int64])
def test_quotas_of_any_width(dtype):
    users = pl.DataFrame({"user_id": [1], "quota": pl.Series([5], dtype=dtype)})
    found = read_universe(users, ASKED)
    assert found.of_users is not None
    assert found.of_users.schema["quota"] == pl.Int64


def test_a_stream_is_read_once():
    table = pa.table({"user_id": [1, 2], "country": ["de", "fr"]})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    found = read_universe(reader, ASKED)
    assert found.of_users is not None
    assert found.of_users.height == 2


def test_rows_of_a_user_that_differ():
    users = pl.DataFrame({"user_id": [1, 2, 1], "country": ["de", "fr", "is"]})
    assert text_of(read_universe, users, ASKED) == (
        "users.user_id: 1 user_id has several rows that differ, e.g. 1; "
        "the table has one row for each"
    )


def test_attributes_of_queries_with_names_of_ours():
    users = OF_QUERIES.with_columns(relevant=1)
    assert text_of(read_universe, users, OF_QUERIES) == (
        "users.relevant: this name is ours, and not read from here: rename column 'relevant', "
        "or drop it"
    )
    # Of users they are found apart.
    assert read_universe(ASKED.select("user_id", relevant=1), ASKED).of_users is not None


def test_attributes_of_strangers():
    found = read_universe(pl.DataFrame({"user_id": [8, 9], "country": ["de", "fr"]}), ASKED)
    assert text_of(found.check, ASKED) == (
        "users.user_id: no id in common with the truth; e.g. 8, 9 against 1, 2"
    )
    read_universe(pl.DataFrame({"user_id": [8]}), ASKED).check(ASKED)


def test_users_with_null_ids():
    users = pl.DataFrame({"user_id": [1, None], "country": ["de", "fr"]})
    assert text_of(read_universe, users, ASKED) == "users.user_id: 1 ids are null"


# Items.


def test_no_items():
    assert read_items(None) is None


def test_items_alone_are_all_available():
    found = read_items(pl.DataFrame({"item_id": [3, 1, 3]}))
    assert found is not None
    assert found.select("item_id", "created_at", "available").rows() == [
        (1, None, True),
        (3, None, True),
    ]
    assert found.schema["created_at"] == pl.Datetime("us", "UTC")


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([NOON, None], [NOON, None]),
        ([NOON.replace(tzinfo=None), None], [NOON, None]),
        ([date(2026, 1, 5), None], [NOON.replace(hour=0), None]),
        (["2026-01-05T13:00+01:00", None], [NOON, None]),
        ([None, None], [None, None]),
    ],
)
def test_times_when_items_were_created(times, expected):
    found = read_items(pl.DataFrame({"item_id": [1, 2], "created_at": times, "topic": ["a", "b"]}))
    assert found is not None
    assert found["created_at"].to_list() == expected
    assert found["topic"].to_list() == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"id": [1]}, "items: no column item_id. Columns: id"),
        ({"item_id": [1, None]}, "items.item_id: 1 ids are null"),
        (
            {"item_id": [1.5]},
            "items.item_id: Float64 ids lose digits: cast them in the data, or item_id_type: int",
        ),
        ({"item_id": pl.Series([], dtype=pl.Int64)}, "items: no rows"),
        (
            {"item_id": [1, 1, 2], "topic": ["a", "b", "a"]},
            (
                "items.item_id: 1 item_id has several rows that differ, e.g. 1; "
                "the table has one row for each"
            ),
        ),
        (
            {"item_id": [1], "created_at": [1767614400]},
            "items.created_at: Int64 holds no time; expected times, dates or ISO 8601 text",
        ),
        (
            {"item_id": [1, 2], "created_at": ["2026-01-05", "soon"]},
            'items.created_at: at least 1 value is no ISO 8601 time, e.g. "soon"',
        ),
        ({"item_id": [1], "available": [1]}, "items.available: Int64, expected true and false"),
        (
            {"item_id": [1, 2], "available": [True, None]},
            "items.available: null for 1 items, e.g. 2; expected true or false",
        ),
    ],
)
def test_items_that_are_none(columns, text):
    assert text_of(read_items, pl.DataFrame(columns)) == text


def test_items_of_a_text_file_keep_their_zeros(tmp_path):
    file = tmp_path / "items.csv"
    file.write_text("item_id,created_at,available\n007,2026-01-05T12:00Z,true\n7,,false\n")
    found = read_items(file)
    assert found is not None
    assert found.rows() == [("007", NOON, True), ("7", None, False)]


# Exposures.


def test_no_exposures():
    assert read_exposures(None) is None


def test_exposures_are_distinct_pairs():
    rows = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 7, 7], "place": [1, 2, 3]})
    found = read_exposures(rows)
    assert found is not None
    assert sorted(found.collect().rows()) == [(1, 7), (2, 7)]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (
            {"query_id": [1], "item_id": [1]},
            "exposures: an item is shown to a user: name the column user_id",
        ),
        ({"user_id": [1]}, "exposures: no column item_id. Columns: user_id"),
        ({"item_id": [1]}, "exposures: no column user_id or query_id. Columns: item_id"),
        ({"user_id": [None], "item_id": [1]}, "exposures.user_id: 1 ids are null"),
        (
            {"user_id": pl.Series([], dtype=pl.Int64), "item_id": pl.Series([], dtype=pl.Int64)},
            "exposures: no rows",
        ),
    ],
)
def test_exposures_that_are_none(columns, text):
    assert text_of(read_exposures, pl.DataFrame(columns)) == text
