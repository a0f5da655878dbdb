"""Ids of any dtype, frames of any kind, errors of polars in our words."""

from datetime import UTC, date, datetime

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from recoeval.data.sources import (
    Source,
    check_interactions,
    normalise_ids,
    reading,
    scan_interactions,
    to_frame,
)
from recoeval.errors import ConfigError, DataError, RecoevalError
from tests.data.helpers import NOW, PAIR, of_frame, put, read, refused


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "20", "-3", "0"], [1, 20, -3, 0]),
        (["999999999999999999"], [10**18 - 1]),
        (["1", "0012"], ["1", "0012"]),
        (["1", "-0"], ["1", "-0"]),
        (["1", "+2"], ["1", "+2"]),
        (["1", "2.0"], ["1", "2.0"]),
        (["1", " 2"], ["1", " 2"]),
        (["1732958400123456789"], [1732958400123456789]),
        (["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["1", "9223372036854775808"], ["1", "9223372036854775808"]),
        (["10000000000000000000"], ["10000000000000000000"]),
        (["x9", "10"], ["x9", "10"]),
    ],
)
def test_ids_of_text_files_are_integers_if_all_of_them_read_back(tmp_path, values, expected):
    path = put(tmp_path / "log.csv", "\n".join(["user_id,item_id", *(f"1,{v}" for v in values)]))
    assert read(path)["item_id"].to_list() == expected
    assert read(path, item_id_type="text")["item_id"].to_list() == values


@pytest.mark.parametrize(
    ("series", "auto"),
    [
        (pl.Series([1, 2], dtype=pl.Int8), [1, 2]),
        (pl.Series([1, 2], dtype=pl.UInt64), [1, 2]),
        (pl.Series([1, 2], dtype=pl.Int128), [1, 2]),
        (pl.Series(["0012", "7"]), ["0012", "7"]),
        (pl.Series(["12", "7"]), ["12", "7"]),
        (pl.Series(["12", "7"], dtype=pl.Categorical), ["12", "7"]),
        (pl.Series(["12", "7"], dtype=pl.Enum(["7", "12"])), ["12", "7"]),
    ],
)
def test_ids_of_typed_columns(series, auto):
    frame = pl.DataFrame({"user_id": [1, 2], "item_id": series})
    assert of_frame(frame)["item_id"].to_list() == auto
    assert of_frame(frame, item_id_type="text")["item_id"].to_list() == [str(v) for v in auto]
    forced = of_frame(frame, item_id_type="int")["item_id"]
    assert forced.dtype == pl.Int64
    assert forced.to_list() == [int(v) for v in auto]


def test_float_ids_are_integers_when_forced():
    frame = {"user_id": [1, 2], "item_id": [3.0, 2.0**53 - 1]}
    assert of_frame(frame, item_id_type="int")["item_id"].to_list() == [3, 2**53 - 1]
    for kind in ("auto", "text"):
        assert refused(of_frame, frame, item_id_type=kind) == (
            (
                "interactions.item_id: Float64 ids lose digits: cast them in the data, or "
                "item_id_type: int"
            ),
            3,
        )


@pytest.mark.parametrize(
    ("series", "shown"),
    [
        (pl.Series([1.5]), '"1.5"'),
        (pl.Series([float("nan")]), '"NaN"'),
        (pl.Series([2.0**53]), '"9007199254740992.0"'),
        (pl.Series(["x9"]), '"x9"'),
        (pl.Series(["a\x1b[2Jb"]), '"a\\x1b[2Jb"'),
        (pl.Series([2**63], dtype=pl.UInt64), "9223372036854775808"),
    ],
)
def test_ids_that_are_no_integers(series, shown):
    frame = pl.DataFrame({"user_id": [1], "item_id": series})
    assert refused(of_frame, frame, item_id_type="int") == (
        f"interactions.item_id: at least 1 value is no whole number, e.g. {shown}",
        3,
    )


def test_large_unsigned_ids_are_refused_rather_than_wrapped():
    frame = pl.DataFrame({"user_id": [1], "item_id": pl.Series([2**64 - 1], dtype=pl.UInt64)})
    assert "18446744073709551615" in refused(of_frame, frame)[0]


@pytest.mark.parametrize(
    ("value", "name"),
    [(True, "Boolean"), (date(2022, 1, 1), "Date"), ([1], "List(Int64)"), (b"x", "Binary")],
)
def test_dtypes_that_are_no_ids(value, name):
    assert refused(of_frame, {"user_id": [value], "item_id": [1]}) == (
        f"interactions.user_id: {name} cannot be an id; expected integers or text",
        3,
    )


def test_normalise_ids_takes_any_columns():
    frame = pl.LazyFrame({"query_id": [1.0], "other": pl.Series([1], dtype=pl.Int8)})
    assert refused(normalise_ids, frame, ["query_id"], what="recs") == (
        "recs.query_id: Float64 ids lose digits: cast them in the data, or user_id_type: int",
        3,
    )
    found = normalise_ids(frame, ["query_id", "other"], {"query_id": "int"}, what="recs")
    assert found.collect_schema() == {"query_id": pl.Int64, "other": pl.Int64}


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(PAIR),
        pl.LazyFrame(PAIR),
        pd.DataFrame(PAIR),
        pd.DataFrame(PAIR, index=[5, 9]),
        pd.DataFrame(PAIR, index=["a", "b"]),
        pa.table(PAIR),
        pa.table({"user_id": pa.array([1, 2], pa.int8()), "item_id": pa.array([10, 20])}),
    ],
)
def test_frames_of_all_kinds(frame):
    found = scan_interactions(Source(), frame=frame).collect()
    assert found.equals(pl.DataFrame(PAIR))


def test_a_duckdb_relation():
    query = "SELECT 1 AS user_id, 'x' AS item_id, TIMESTAMPTZ '2022-05-05 16:00:00+00' AS timestamp"
    with duckdb.connect() as connection:
        found = scan_interactions(Source(), frame=connection.sql(query)).collect()
    assert found.schema["timestamp"] == pl.Datetime("us", "UTC")
    assert found.rows() == [(1, "x", datetime(2022, 5, 5, 16, tzinfo=UTC))]


def test_dates_and_text_of_pandas_and_arrow():
    frame = pd.DataFrame({**PAIR, "timestamp": pd.to_datetime(["2022-05-05", "2022-05-06"])})
    assert scan_interactions(Source(), frame=frame).collect()["timestamp"].dt.day().to_list() == [
        5,
        6,
    ]
    large = pa.table({"user_id": pa.array(["0012"], pa.large_string()), "item_id": pa.array([1])})
    assert scan_interactions(Source(), frame=large).collect().rows() == [("0012", 1)]


def test_frames_are_never_changed():
    frame = pl.DataFrame({"uid": pl.Series([1], dtype=pl.Int8), "item_id": [1.0]})
    before = frame.clone()
    scan_interactions(
        Source(columns={"user_id": "uid"}, item_id_type="int", derive={"n": "user_id"}), frame=frame
    ).collect()
    assert frame.equals(before)
    assert frame.schema == before.schema


def test_paths_pass_the_door_of_frames(tmp_path):
    path = put(tmp_path / "recs.csv", "user_id,item_id,rank\n1,0012,1\n")
    for named in (path, str(path), f"{tmp_path}/*.csv"):
        assert to_frame(named, what="recs").collect().rows() == [(1, "0012", 1)]
    other = put(tmp_path / "other.csv", "a,b\n01,2\n")
    assert to_frame(other, what="items").collect().rows() == [(1, 2)]
    assert refused(to_frame, tmp_path / "no.csv", what="recs") == (
        f"recs: no such file or folder: {tmp_path}/no.csv",
        3,
    )


@pytest.mark.parametrize(
    ("frame", "name"), [({"user_id": [1]}, "builtins.dict"), (7, "builtins.int")]
)
def test_other_objects_are_refused(frame, name):
    assert refused(to_frame, frame, what="recs") == (
        (
            f"recs: got a {name}; accepted are a polars frame (lazy too), an object with the Arrow "
            "stream protocol (pandas, pyarrow, duckdb) and the path or glob of files"
        ),
        2,
    )


def test_mistakes_of_the_program_are_not_blamed_on_the_data():
    with pytest.raises(pl.exceptions.ColumnNotFoundError), reading("interactions"):
        pl.LazyFrame(PAIR).select("nope").collect()


def test_a_file_that_breaks_while_it_is_read(tmp_path):
    path = tmp_path / "log.parquet"
    pl.DataFrame(PAIR).write_parquet(path)
    log = scan_interactions(Source(path=str(path)))
    path.write_bytes(b"")
    message, code = refused(check_interactions, log, path="interactions", now=NOW)
    assert message.startswith("interactions: cannot be read: ")
    assert "\n" not in message
    assert code == 3
    path.unlink()
    assert refused(check_interactions, log, path="interactions", now=NOW)[1] == 3


def test_errors_know_their_kind():
    assert issubclass(ConfigError, RecoevalError)
    with pytest.raises(DataError) as error, reading("log"):
        raise OSError("disk on fire\n\nhint: buy another")
    assert str(error.value) == "log: cannot be read: disk on fire"
