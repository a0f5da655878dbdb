from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.attributes import Table
from recoeval.data.users import Users, drop_users, read_user_table, users_to_drop
from tests.data.helpers import refused, write

MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
SECOND = timedelta(seconds=1)
# User 1: three rows on the 4th, two on the 5th. User 2: two and two. User 3: one.
LOG = pl.DataFrame(
    {
        "user_id": [1, 1, 1, 1, 1, 2, 2, 2, 2, 3],
        "item_id": range(10),
        "timestamp": [
            MIDNIGHT - 3 * SECOND,
            MIDNIGHT - 2 * SECOND,
            MIDNIGHT - SECOND,
            MIDNIGHT,
            MIDNIGHT + SECOND,
            MIDNIGHT - 2 * SECOND,
            MIDNIGHT - SECOND,
            MIDNIGHT,
            MIDNIGHT + SECOND,
            MIDNIGHT,
        ],
    },
    schema_overrides={"timestamp": pl.Datetime("us", "UTC")},
).lazy()
TABLE = pl.DataFrame({"user_id": [3, 1, 2], "country": ["DE", "FR", None]})


def table_of(frame: Any, log: pl.LazyFrame = LOG, **options: Any) -> Table:
    return read_user_table(Users(**options), log, frame=frame)


def put(tmp_path: Path, users: list[Any], ending: str = "parquet") -> str:
    path = tmp_path / f"exclude.{ending}"
    write(pl.DataFrame({"user_id": users}), path)
    return str(path)


# The table.


def test_one_row_a_user_in_order():
    table = table_of(pl.concat([TABLE, TABLE.head(1)]))
    assert table.rows.rows() == [(1, "FR"), (2, None), (3, "DE")]
    assert table.counts == {"rows": 4, "identical_rows": 1}


@pytest.mark.parametrize("ending", ["parquet", "csv", "ndjson"])
def test_a_file_with_names_of_its_own(tmp_path: Path, ending: str):
    path = tmp_path / f"users.{ending}"
    write(TABLE.rename({"user_id": "uid"}), path)
    users = Users(table=str(path), columns={"user_id": "uid"})
    assert read_user_table(users, LOG).rows.equals(table_of(TABLE).rows)


@pytest.mark.parametrize(
    ("frame", "text", "code"),
    [
        (TABLE.clear(), "users.table: no rows", 3),
        (
            TABLE.drop("user_id"),
            "users.table: no column user_id in the frame. Columns: country",
            3,
        ),
        (
            TABLE.with_columns(user_id=pl.Series([3, None, None])),
            "users.user_id: 2 rows without user_id",
            3,
        ),
        (
            pl.concat([TABLE, TABLE.with_columns(country=pl.lit("NO"))]).sort("country"),
            (
                "users.user_id: 3 user_ids have several rows that differ, e.g. 1, 2, 3; the table "
                "has one row for each"
            ),
            3,
        ),
        (
            pl.concat([TABLE, TABLE.head(1).with_columns(country=None)]),
            (
                "users.user_id: 1 user_id has several rows that differ, e.g. 3; the table has one "
                "row for each"
            ),
            3,
        ),
        (
            TABLE.with_columns(pl.col("user_id").cast(pl.String)),
            (
                "users.user_id: String, but the log has Int64; e.g. '1', '2', '3' against 1, 2, 3. "
                "Cast one side, so that both are integers or both are text"
            ),
            3,
        ),
        (
            TABLE.with_columns(pl.col("user_id") + 100),
            "users.user_id: no id in common with the log; e.g. 101, 102, 103 against 1, 2, 3",
            3,
        ),
        (
            TABLE.with_columns(pl.col("user_id") / 2),
            "users.user_id: Float64 ids lose digits: cast them in the data, or user_id_type: int",
            3,
        ),
    ],
)
def test_tables_that_are_refused(frame, text, code):
    assert refused(table_of, frame) == (text, code)


def test_text_that_is_no_id(tmp_path: Path):
    path = tmp_path / "users.csv"
    write(pl.DataFrame({"user_id": ["1", "x7"]}), path)
    users = Users(table=str(path), user_id_type="int")
    text = 'users.user_id: at least 1 value is no whole number, e.g. "x7"'
    assert refused(read_user_table, users, LOG) == (text, 3)


def test_a_file_that_is_missing_or_has_other_names(tmp_path: Path):
    nowhere = Users(table=str(tmp_path / "no.parquet"))
    text = f"users.table: no such file or folder: {tmp_path}/no.parquet"
    assert refused(read_user_table, nowhere, LOG) == (text, 3)
    text = (
        "users.columns.user_id: unknown column 'usr_id' in the frame. Did you mean 'user_id'? "
        "Columns: user_id, country"
    )
    found = refused(table_of, TABLE, table="x", columns={"user_id": "usr_id"})
    assert found == (text, 2)
    write(TABLE, tmp_path / "users.parquet")
    users = Users(table=str(tmp_path / "users.parquet"), format={"separator": ";"})
    text = f"users.format: format is for text files, and {tmp_path}/users.parquet is parquet"
    assert refused(read_user_table, users, LOG) == (text, 2)


# Users who leave.


def dropped(log: pl.LazyFrame = LOG, **options: Any) -> tuple[list[int], dict[str, int]]:
    left, counts = drop_users({"log": log}, Users(**options))
    return left["log"].collect()["user_id"].to_list(), counts


def test_nobody_is_left_out():
    assert dropped() == (LOG.collect()["user_id"].to_list(), {})


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_excluded_users_leave_with_all_their_rows(tmp_path: Path, ending: str):
    # User 77 is not in the log, user 3 stands there twice.
    rows, counts = dropped(exclude=put(tmp_path, [3, 2, 3, 77], ending))
    assert rows == [1, 1, 1, 1, 1]
    assert counts == {"excluded_users": 2, "excluded_rows": 5, "excluded_unknown": 1}


def test_unknown_users_are_no_error(tmp_path: Path):
    rows, counts = dropped(exclude=put(tmp_path, [77, 78]))
    assert len(rows) == 10
    assert counts == {"excluded_users": 0, "excluded_rows": 0, "excluded_unknown": 2}


@pytest.mark.parametrize(
    ("most", "rows", "users"),
    [
        # Exactly as many as allowed.
        (3, 0, 0),
        # The rows of the other day leave as well.
        (2, 5, 1),
        (1, 9, 2),
    ],
)
def test_busy_users_leave_with_all_their_rows(most, rows, users):
    left, counts = dropped(max_rows_per_day=most)
    assert len(left) == 10 - rows
    assert counts == {"busy_users": users, "busy_rows": rows}


def test_a_user_of_both_rules_is_excluded(tmp_path: Path):
    rows, counts = dropped(exclude=put(tmp_path, [1]), max_rows_per_day=1)
    assert rows == [3]
    assert counts == {
        "excluded_users": 1,
        "excluded_rows": 5,
        "excluded_unknown": 0,
        "busy_users": 1,
        "busy_rows": 4,
    }


def test_who_leaves_is_known_without_the_rows(tmp_path: Path):
    users = Users(exclude=put(tmp_path, [3]), max_rows_per_day=2)
    found, _ = users_to_drop(LOG.select("user_id", "timestamp"), users)
    assert found["user_id"].to_list() == [1, 3]


def test_the_order_of_the_rows_does_not_matter():
    left, counts = drop_users({"log": LOG.reverse()}, Users(max_rows_per_day=2))
    again, same = drop_users({"log": LOG}, Users(max_rows_per_day=2))
    assert counts == same
    assert left["log"].collect().reverse().equals(again["log"].collect())


def test_a_user_leaves_all_sides():
    # On the 4th user 1 has three rows, but no more than two in one of the files.
    sides = {"train": LOG.head(2).drop("item_id"), "test": LOG.slice(2)}
    left, counts = drop_users(sides, Users(max_rows_per_day=2))
    assert counts == {"busy_users": 1, "busy_rows": 5}
    assert left["train"].collect().is_empty()
    assert left["train"].collect_schema().names() == ["user_id", "timestamp"]
    assert left["test"].collect().equals(LOG.slice(5).collect())


@pytest.mark.parametrize(
    ("users", "text"),
    [
        ([], "users.exclude: no rows; leave exclude out if there is nobody"),
        ([1, None], "users.exclude.user_id: has a null"),
        (
            ["1", "x"],
            (
                "users.exclude.user_id: String, but the log has Int64; e.g. '1', 'x' against 1, 2, "
                "3. Cast one side, so that both are integers or both are text"
            ),
        ),
        (
            [1, 2, 3],
            (
                "users: no row of the log is left: excluded_users 3, excluded_rows 10, "
                "excluded_unknown 0"
            ),
        ),
    ],
)
def test_exclusions_that_are_refused(tmp_path: Path, users, text):
    frame = pl.DataFrame({"user_id": users}, schema=None if users else {"user_id": pl.Int64})
    frame.write_parquet(tmp_path / "bots.parquet")
    assert refused(dropped, exclude=str(tmp_path / "bots.parquet")) == (text, 3)


def test_an_exclusion_without_users(tmp_path: Path):
    path = tmp_path / "bots.parquet"
    pl.DataFrame({"uid": [1]}).write_parquet(path)
    text = f"users.exclude: no column user_id in {path}. Columns: uid"
    assert refused(dropped, exclude=str(path)) == (text, 3)
    text = f"users.exclude: no such file or folder: {tmp_path}/no.csv"
    assert refused(dropped, exclude=str(tmp_path / "no.csv")) == (text, 3)


def test_rows_a_day_need_times():
    log = LOG.drop("timestamp")
    text = "users.max_rows_per_day: needs times, and the log has none: leave it out"
    assert refused(dropped, log, max_rows_per_day=3) == (text, 2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_rows_per_day": 0}, "greater than or equal to 1"),
        ({"max_rows_per_day": True}, "valid integer"),
        ({"columns": {"user_id": "uid"}}, "columns are those of the table"),
        ({"bots": "x"}, "Extra inputs"),
    ],
)
def test_options_that_are_refused(options, text):
    with pytest.raises(ValidationError, match=text):
        Users(**options)
