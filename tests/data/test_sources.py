"""The log: named, derived, filtered, and all of it lazy."""

from datetime import UTC, datetime

import polars as pl
import pytest

from recoeval.data.sources import Source, check_interactions, scan_interactions
from tests.data.helpers import NOW, PAIR, naive, of_frame, put, read, refused, write


def test_columns_may_swap_their_names():
    found = of_frame(
        {"user_id": [1], "item_id": [10], "n": [3]},
        columns={"user_id": "item_id", "item_id": "user_id"},
    )
    assert found.rows(named=True) == [{"user_id": 10, "item_id": 1, "n": 3}]


@pytest.mark.parametrize(
    ("columns", "mapping", "message", "code"),
    [
        (
            ["uid", "item_id"],
            {},
            (
                "interactions.user_id: no such column in the frame. Columns: uid, item_id. "
                "Name it: columns: {user_id: ...}"
            ),
            3,
        ),
        (
            ["uid", "vid"],
            {},
            (
                "interactions.user_id: no such column in the frame. Columns: uid, vid. "
                "Name it: columns: {user_id: ...}\n"
                "interactions.item_id: no such column in the frame. Columns: uid, vid. "
                "Name it: columns: {item_id: ...}"
            ),
            3,
        ),
        (
            ["uid", "item_id"],
            {"user_id": "uidd"},
            (
                "interactions.columns.user_id: unknown column 'uidd' in the frame. "
                "Did you mean 'uid'? Columns: uid, item_id"
            ),
            2,
        ),
        (
            ["user_id", "uid", "item_id"],
            {"user_id": "uid"},
            (
                "interactions.columns.user_id: the frame has a column 'user_id' already, so 'uid' "
                "cannot be named so; name that one too: columns: {other_user_id: user_id}"
            ),
            2,
        ),
        (
            ["uid", "vid"],
            {"user_id": "uid", "item_id": "uid"},
            "interactions.columns.item_id: column 'uid' is already named user_id",
            2,
        ),
        (
            ["uid\x1b[31m", "item_id"],
            {},
            (
                "interactions.user_id: no such column in the frame. Columns: uid\\x1b[31m, "
                "item_id. Name it: columns: {user_id: ...}"
            ),
            3,
        ),
    ],
)
def test_columns_that_are_missing_or_clash(columns, mapping, message, code):
    frame = {name: [1] for name in columns}
    assert refused(of_frame, frame, columns=mapping) == (message, code)


def test_errors_name_the_section(tmp_path):
    path = put(tmp_path / "train.csv", "uid,item_id\n1,2\n")
    message, _ = refused(scan_interactions, Source(path=str(path)), path="split.train")
    assert message == (
        f"split.train.user_id: no such column in {path}. Columns: uid, item_id. "
        "Name it: columns: {user_id: ...}"
    )
    assert refused(scan_interactions, Source(), path="split.train") == (
        "split.train.path: missing: where is the log?",
        2,
    )


def test_derived_columns_come_after_ids_and_times_and_before_the_filter():
    frame = {"uid": ["1", "2"], "item_id": [1, 2], "at": [0, 86400], "play_time_ms": [500, 1500]}
    found = of_frame(
        frame,
        columns={"user_id": "uid", "timestamp": "at"},
        timestamp_unit="s",
        derive={
            "dwell": "play_time_ms / 1000.0",
            "long": "dwell > 1",
            "late": "timestamp > TIMESTAMP '1970-01-01T12:00:00Z'",
        },
        where="long AND late AND user_id = '2'",
    )
    assert found.select("user_id", "dwell", "long", "late").rows() == [("2", 1.5, True, True)]
    assert found.columns == [
        *("user_id", "item_id", "timestamp", "play_time_ms", "dwell", "long", "late")
    ]


def test_a_filter_that_is_null_says_no():
    assert of_frame({**PAIR, "n": [None, 5]}, where="n > 3").rows() == [(2, 20, 5)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"derive": {"n": "n * 2"}},
            "interactions.derive.n: the frame has a column 'n' already: choose another name",
        ),
        (
            {"derive": {"timestamp": "n"}},
            (
                "interactions.derive.timestamp: timestamp is not derived: name its column, "
                "columns: {timestamp: ...}"
            ),
        ),
        (
            {"derive": {"a": "b + 1", "b": "n"}},
            "interactions.derive.a: unknown column 'b' in the frame. Columns: user_id, item_id, n",
        ),
        (
            {"where": "m > 1"},
            "interactions.where: unknown column 'm' in the frame. Columns: user_id, item_id, n",
        ),
        (
            {"where": "n"},
            "interactions.where: expected true or false for each row, this gives Int64: 'n'",
        ),
    ],
)
def test_rules_that_do_not_fit(options, message):
    assert refused(of_frame, {**PAIR, "n": [1, 2]}, **options) == (message, 2)


def test_duplicates():
    frame = {"user_id": [1, 1, 1, 2], "item_id": [1, 1, 1, 2], "n": [None, None, 3, 3]}
    kept = scan_interactions(Source(), frame=pl.DataFrame(frame))
    assert check_interactions(kept, path="interactions", now=NOW).exact_duplicates == 1
    dropped = scan_interactions(Source(duplicates="drop"), frame=pl.DataFrame(frame))
    assert check_interactions(dropped, path="interactions", now=NOW).exact_duplicates == 0
    assert dropped.collect().sort("n").rows() == [(1, 1, None), (1, 1, 3), (2, 2, 3)]


def test_duplicates_leave_before_columns_are_derived():
    # A repeated row must not be its own predecessor.
    found = of_frame(
        {"user_id": [1, 1, 1], "item_id": [1, 1, 2], "n": [5, 5, 7]},
        duplicates="drop",
        derive={"before": "LAG(n) OVER (PARTITION BY user_id ORDER BY n)"},
    )
    assert found.sort("n")["before"].to_list() == [None, 5]


def test_projection_and_filter_reach_the_file(tmp_path):
    moment = pl.Series([naive(2022, 5, 1), naive(2022, 5, 2)]).dt.replace_time_zone("UTC")
    frame = pl.DataFrame({**PAIR, "ts": moment, "event": ["a", "b"], "n": [1, 2], "unused": [0, 0]})
    frame.write_parquet(tmp_path / "log.parquet")
    source = Source(
        path=str(tmp_path / "log.parquet"),
        columns={"timestamp": "ts"},
        derive={"twice": "n * 2"},
        where="event = 'b'",
    )
    log = scan_interactions(source)
    window = log.filter(pl.col("timestamp") >= datetime(2022, 5, 2, tzinfo=UTC))
    plan = window.select("user_id").explain()
    assert "PROJECT 3/6 COLUMNS" in plan
    selection = plan.split("SELECTION: ")[1].splitlines()[0]
    assert set(selection.split(" & ")) == {
        '(col("ts") >= 2022-05-02 00:00:00 UTC)',
        '(col("event") == "b")',
    }
    assert "FILTER" not in plan
    assert window.collect().height == 1


def test_the_filter_reaches_the_file_past_conversions(tmp_path):
    frame = pl.DataFrame({**PAIR, "timestamp": [1, 2], "n": [1, 2]})
    frame.with_columns(pl.col("user_id").cast(pl.Int32)).write_parquet(tmp_path / "log.parquet")
    log = scan_interactions(
        Source(path=str(tmp_path / "log.parquet"), timestamp_unit="s", where="n = 2")
    )
    assert 'SELECTION: col("n") == 2' in log.explain()
    assert "FILTER" not in log.explain()


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    frame = pl.DataFrame({**PAIR, "timestamp": ["2022-05-05", "never"]})
    frame.write_parquet(tmp_path / "log.parquet")
    log = scan_interactions(Source(path=str(tmp_path / "log.parquet"), timestamp_unit="iso"))
    assert refused(check_interactions, log, path="interactions", now=NOW) == (
        'interactions.timestamp: at least 1 value is no ISO 8601 time, e.g. "never"',
        3,
    )


def test_kuairand_in_both_formats(real_data):
    folder = real_data / "kuairand_demo"
    logs = [
        scan_interactions(
            Source(path=str(folder / f"demo_interactions.{ending}"), timestamp_unit="ms")
        )
        for ending in ("parquet", "csv.gz")
    ]
    facts = [check_interactions(log, path="interactions", now=NOW) for log in logs]
    assert facts[0] == facts[1]
    assert (facts[0].rows, facts[0].exact_duplicates) == (74_038, 1_452)
    columns = ["user_id", "item_id", "timestamp", "is_click", "dwell_ms"]
    first, second = (log.select(columns).collect().sort(columns) for log in logs)
    assert first.with_columns(pl.col("is_click", "dwell_ms").cast(pl.Int64)).equals(second)


def test_movietweetings_keeps_its_zeros(real_data):
    found = read(
        real_data / "movietweetings_100k" / "ratings.dat.gz",
        format={
            "separator": "::",
            "header": False,
            "names": ["user_id", "item_id", "rating", "timestamp"],
        },
        timestamp_unit="s",
    )
    assert found.height == 100_000
    assert found.schema["item_id"] == pl.String
    assert found.schema["user_id"] == pl.Int64
    assert "0133093" in found["item_id"]


def test_a_file_without_header_is_asked_for_its_names(tmp_path):
    path = put(tmp_path / "log.csv", "00012,77,5\n00013,78,6\n")
    assert refused(read, path)[0].startswith(
        f"interactions.user_id: no such column in {path}. Columns: 00012, 77, 5. Name it: "
        "columns: {user_id: ...}; or is there no header? format: {header: false, "
        "names: [user_id, ...]}\n"
    )


def test_nan_is_null_so_that_it_passes_no_rule():
    # NaN compares as larger than every number: `dwell > 30` would hold.
    nan = float("nan")
    rows = {"user_id": [1, 2, 3], "item_id": [1, 2, 3], "dwell": [nan, 31.0, None]}
    assert of_frame(rows)["dwell"].to_list() == [None, 31.0, None]
    assert of_frame(rows, where="dwell > 30")["user_id"].to_list() == [2]


@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.ndjson"])
def test_rules_count_the_same_in_every_format(tmp_path, name):
    frame = pl.DataFrame(
        {
            **PAIR,
            "click": pl.Series([1, 0], dtype=pl.Int8),
            "like": pl.Series([1, 1], dtype=pl.Int8),
            "dwell_ms": pl.Series([60_000, 5], dtype=pl.Int32),
            "old": pl.Series([3, 5], dtype=pl.UInt16),
            "new": pl.Series([5, 3], dtype=pl.UInt16),
            "ratio": pl.Series([0.1, 0.7], dtype=pl.Float32),
        }
    )
    write(frame, tmp_path / name)
    derive = {
        "points": "click * 100 + like * 100",
        "scaled": "dwell_ms * 100000",
        "change": "old - new",
        "least": "CASE WHEN ratio <= 0.1 THEN 100000 ELSE 0 END",
        "most": "least * 100000",
    }
    found = read(tmp_path / name, derive=derive)
    assert found.select("points", "scaled", "change", "least", "most").rows() == [
        (200, 6_000_000_000, -2, 100_000, 10_000_000_000),
        (100, 500_000, 2, 0, 0),
    ]
    assert found["ratio"].to_list() == [0.1, 0.7]
    assert {dtype for dtype in found.dtypes if dtype != pl.Int64} == {pl.Float64}


def test_derived_columns_hold_finite_numbers_or_null():
    rows = {**PAIR, "play": [0.0, 5.0], "dur": [0.0, 0.0], "low": [-1.0, 1000.0]}
    derive = {
        "share": "play / dur",
        "root": "SQRT(low)",
        "power": "EXP(low * 10)",
        "narrow": "CAST(low AS REAL)",
        "good": "play / dur > 0.9",
    }
    found = of_frame(rows, derive=derive)
    assert found["share"].to_list() == [None, None]
    assert found["root"].to_list() == [None, 1000**0.5]
    assert found["power"].to_list() == [pytest.approx(4.54e-5, rel=1e-3), None]
    assert found["narrow"].to_list() == [-1.0, 1000.0]
    assert found["good"].to_list() == [None, None]
    assert of_frame(rows, derive=derive, where="root > 1")["user_id"].to_list() == [2]


def test_a_filter_on_time_reaches_a_file_of_narrow_columns(tmp_path):
    moments = pl.Series([0, 1]).cast(pl.Datetime("us", "UTC"))
    narrow = pl.Series([1, 2], dtype=pl.Int8)
    frame = pl.DataFrame({**PAIR, "n": narrow, "x": narrow.cast(pl.Float32), "timestamp": moments})
    frame.write_parquet(tmp_path / "log.parquet")
    source = Source(path=str(tmp_path / "log.parquet"), where="timestamp > TIMESTAMP '1970-01-01'")
    log = scan_interactions(source)
    assert 'SELECTION: col("timestamp") > 1970' in log.explain()
    assert "PROJECT 3/5 COLUMNS" in log.select("user_id", "n", "timestamp").explain()
    assert log.collect().height == 1
