from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.attributes import Table
from recoeval.data.items import Items, read_items
from tests.data.helpers import naive, refused, write

LOG = pl.LazyFrame({"user_id": [1, 1], "item_id": [10, 11]})
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
TABLE = pl.DataFrame({"item_id": [11, 10, 12], "status": ["on", None, "off"], "length": [1, 2, 3]})


def table_of(frame: Any, log: pl.LazyFrame = LOG, **options: Any) -> Table:
    aliases = options.pop("aliases", None)
    return read_items(Items(table="unused", **options), log, frame=frame, aliases=aliases)


def test_items_are_always_there_unless_the_table_says_more():
    table = table_of(pl.concat([TABLE, TABLE.head(2)]))
    assert table.rows.columns == ["item_id", "created_at", "available", "status", "length"]
    assert table.rows.schema["created_at"] == pl.Datetime("us", "UTC")
    assert table.rows.rows() == [
        (10, None, True, None, 2),
        (11, None, True, "on", 1),
        (12, None, True, "off", 3),
    ]
    assert table.counts == {
        "rows": 5,
        "identical_rows": 2,
        "alias_rows": 0,
        "available_was_null": 0,
        "created_at_is_null": 3,
        "available": 3,
    }


def test_a_null_rule_is_not_available_and_counted():
    table = table_of(TABLE, available="status = 'on'")
    assert table.rows["available"].to_list() == [False, True, False]
    assert table.counts["available_was_null"] == 1
    assert table.counts["available"] == 1


def test_a_column_named_available_is_the_default():
    frame = TABLE.with_columns(available=pl.Series([True, None, False]))
    assert table_of(frame).rows["available"].to_list() == [False, True, False]
    table = table_of(frame, available="COALESCE(available, TRUE) AND length < 3")
    assert table.rows["available"].to_list() == [True, True, False]
    assert table.rows.columns == ["item_id", "created_at", "available", "status", "length"]


@pytest.mark.parametrize(
    ("times", "options"),
    [
        ([NOON, None, NOON], {}),
        ([naive(2026, 1, 5, 20), None, naive(2026, 1, 5, 20)], {"timezone": "Asia/Shanghai"}),
        ([1767614400, None, 1767614400], {"timestamp_unit": "s"}),
        ([1767614400000.0, None, 1767614400000.0], {"timestamp_unit": "ms"}),
        (["2026-01-05T13:00+01:00", None, "2026-01-05 12:00"], {"timestamp_unit": "iso"}),
    ],
)
@pytest.mark.parametrize("column", ["created_at", "upload_ts"])
def test_times_have_the_rules_of_the_log(times, options, column):
    frame = TABLE.with_columns(pl.Series(column, times))
    named = {} if column == "created_at" else {"created_at": column}
    table = table_of(frame, **options, **named)
    assert table.rows["created_at"].to_list() == [None, NOON, NOON]
    assert table.counts["created_at_is_null"] == 1
    # The column stays, for buckets and rules.
    assert column in table.rows.columns


def test_days_begin_at_midnight():
    frame = TABLE.with_columns(created_at=pl.lit(date(2026, 1, 5)))
    assert table_of(frame).rows["created_at"][0] == NOON.replace(hour=0)


def test_a_rule_may_look_at_the_times():
    frame = TABLE.with_columns(created_at=pl.Series([NOON, None, NOON.replace(day=7)]))
    table = table_of(frame, available="created_at < TIMESTAMP '2026-01-06T00:00:00Z'")
    assert table.rows["available"].to_list() == [False, True, False]


def test_numbers_are_wide_before_a_rule_sees_them():
    frame = TABLE.with_columns(
        length=pl.Series([100, 100, 1], dtype=pl.Int8),
        rating=pl.Series([float("nan"), 1.0, 1.0]),
    )
    assert table_of(frame, available="length + length = 200").counts["available"] == 2
    # No number is no rating, and not a high one.
    table = table_of(frame, available="rating > 0.5")
    assert (table.counts["available"], table.counts["available_was_null"]) == (2, 1)


# Aliases.

ALIASES = pl.DataFrame({"alias": [12, 13], "item_id": [10, 14]})


def test_the_row_of_an_item_stands_before_those_of_its_aliases():
    frame = pl.concat([TABLE, TABLE.head(1).with_columns(item_id=13)], how="diagonal_relaxed")
    table = table_of(frame, aliases=ALIASES)
    # 12 is dropped for 10; 14 has no row of its own, that of 13 stands for it.
    assert table.rows.select("item_id", "length").rows() == [(10, 2), (11, 1), (14, 1)]
    assert (table.counts["rows"], table.counts["alias_rows"]) == (4, 1)


def test_two_aliases_of_an_item_that_differ():
    aliases = pl.DataFrame({"alias": [10, 12], "item_id": [7, 7]})
    text = (
        "items.item_id: 1 item_id has several rows that differ, e.g. 7; the table has one row "
        "for each"
    )
    assert refused(table_of, TABLE, aliases=aliases) == (text, 3)


# What is refused.


def with_time(values: list[Any], name: str = "created_at") -> pl.DataFrame:
    return TABLE.with_columns(pl.Series(name, values))


@pytest.mark.parametrize(
    ("frame", "options", "text", "code"),
    [
        (TABLE.clear(), {}, "items.table: no rows", 3),
        (
            TABLE.drop("item_id"),
            {},
            "items.table: no column item_id in the frame. Columns: status, length",
            3,
        ),
        (
            TABLE.with_columns(item_id=pl.Series([10, None, 12])),
            {},
            "items.item_id: 1 row without item_id",
            3,
        ),
        (
            pl.concat([TABLE, TABLE.with_columns(length=pl.lit(0, pl.Int64))]),
            {},
            (
                "items.item_id: 3 item_ids have several rows that differ, e.g. 10, 11, 12; the "
                "table has one row for each"
            ),
            3,
        ),
        (
            TABLE.cast({"item_id": pl.String}),
            {},
            (
                "items.item_id: String, but the log has Int64; e.g. '10', '11', '12' against 10, "
                "11. Cast one side, so that both are integers or both are text"
            ),
            3,
        ),
        (
            TABLE.with_columns(pl.col("item_id") * 100),
            {},
            "items.item_id: no id in common with the log; e.g. 1000, 1100, 1200 against 10, 11",
            3,
        ),
        (
            TABLE,
            {"available": "statu = 'on'"},
            (
                "items.available: unknown column 'statu' in the items table. Did you mean "
                "'status'? Columns: item_id, status, length, created_at"
            ),
            2,
        ),
        (
            TABLE,
            {"available": "length"},
            "items.available: expected true or false for each row, this gives Int64: 'length'",
            2,
        ),
        (
            TABLE.with_columns(available=pl.lit(1)),
            {},
            "items.available: expected true or false for each row, this gives Int64: 'available'",
            2,
        ),
        (
            TABLE,
            {"created_at": "uploaded"},
            (
                "items.created_at: unknown column 'uploaded' in the items table. Columns: item_id, "
                "status, length"
            ),
            2,
        ),
        (
            TABLE,
            {"timestamp_unit": "ms"},
            (
                "items.timestamp_unit: unknown column 'created_at' in the items table. Columns: "
                "item_id, status, length"
            ),
            2,
        ),
        (
            with_time([1, 2, 3]).with_columns(up=pl.lit(1)),
            {"created_at": "up"},
            (
                "items.created_at: the items table has a column created_at already, beside 'up': "
                "which is it?"
            ),
            2,
        ),
        (
            with_time([1, 2, 3]),
            {},
            "items.timestamp_unit: missing: created_at is Int64; is it in s, ms or us since 1970?",
            2,
        ),
        (
            with_time(["2026-01-01"] * 3),
            {},
            "items.timestamp_unit: missing: created_at is text; say iso if it is ISO 8601",
            2,
        ),
        (
            with_time(["2026-01-01"] * 3),
            {"timestamp_unit": "s"},
            "items.timestamp_unit: s is for numbers, but created_at is text, at least in some rows",
            2,
        ),
        (
            with_time([NOON] * 3),
            {"timestamp_unit": "s"},
            (
                "items.timestamp_unit: created_at is a time (Datetime) already: leave "
                "timestamp_unit out"
            ),
            2,
        ),
        (
            with_time([True] * 3),
            {},
            "items.created_at: Boolean holds no time; expected a time, a number or text",
            3,
        ),
        (
            with_time(["2026-01-01", "yesterday", None]),
            {"timestamp_unit": "iso"},
            'items.created_at: at least 1 value is no ISO 8601 time, e.g. "yesterday"',
            3,
        ),
        # Milliseconds that are read as seconds.
        (
            with_time([1767614400000, 1, 2]),
            {"timestamp_unit": "s"},
            (
                "items.created_at: 1 row before the year 1 or after 2262, e.g. "
                "+57983-06-22T00:00:00Z; is timestamp_unit right?"
            ),
            3,
        ),
        (
            with_time([naive(2026, 3, 29, 2, 30)] * 3),
            {"timezone": "Europe/Berlin"},
            (
                "items.created_at: the local time 2026-03-29 02:30:00 is non-existent in "
                "Europe/Berlin, where the clock changes; write the times with an offset, in UTC or "
                "as epoch"
            ),
            3,
        ),
        (
            TABLE,
            {"aliases": ALIASES.cast(pl.String)},
            (
                "items.item_id: Int64, but the aliases has String; e.g. 10, 11, 12 against '12', "
                "'13'. Cast one side, so that both are integers or both are text"
            ),
            3,
        ),
    ],
)
def test_tables_that_are_refused(frame, options, text, code):
    assert refused(table_of, frame, **options) == (text, code)


@pytest.mark.parametrize("ending", ["parquet", "csv", "ndjson"])
def test_files(tmp_path: Path, ending: str):
    path = tmp_path / f"items.{ending}"
    write(TABLE.select("status", "length", vid="item_id"), path)
    items = Items(table=str(path), columns={"item_id": "vid"}, available="status = 'on'")
    table = read_items(items, LOG)
    assert table.rows["available"].to_list() == [False, True, False]
    nowhere = Items(table=str(tmp_path / "no"))
    text = f"items.table: no such file or folder: {tmp_path}/no"
    assert refused(read_items, nowhere, LOG) == (text, 3)


@pytest.mark.parametrize("options", [{}, {"table": "x", "available": 1}, {"table": "x", "id": 1}])
def test_options_that_are_refused(options):
    with pytest.raises(ValidationError):
        Items(**options)
