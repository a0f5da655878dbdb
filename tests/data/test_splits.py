from datetime import UTC, datetime, timedelta
from itertools import chain

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.data.sides import Side, look_at_sides
from recoeval.data.splits import (
    FileSplit,
    TimeSplit,
    Windows,
    find_windows,
    since,
)
from recoeval.errors import ConfigError, DataError

START = datetime(2022, 5, 1, tzinfo=UTC)
DAY, HOUR, TICK = timedelta(days=1), timedelta(hours=1), timedelta(microseconds=1)


def log_of(*times: datetime) -> pl.LazyFrame:
    """Returns a row a time; item_id numbers the rows."""
    return pl.LazyFrame(
        {"user_id": [1] * len(times), "item_id": range(len(times)), "timestamp": times},
        schema_overrides={"timestamp": pl.Datetime("us", "UTC")},
    )


def items(rows: pl.LazyFrame) -> list[int]:
    return sorted(rows.collect()["item_id"].to_list())


def parts(windows: Windows, log: pl.LazyFrame) -> dict[str, list[int]]:
    return {name: items(getattr(windows, name)(log)) for name in ("train", "gap", "test", "later")}


# test: 3d


def test_test_counts_back_from_the_latest_row():
    latest = START + 8 * DAY
    end = latest + TICK
    log = log_of(latest, START, end - 3 * DAY, end - 3 * DAY - TICK)
    windows = find_windows(TimeSplit(test="3d"), log)
    assert windows == Windows(end - 3 * DAY, end - 3 * DAY, end)
    # The row at the cutoff is a test row, the one a microsecond before it is not.
    assert parts(windows, log) == {"train": [1, 3], "gap": [], "test": [0, 2], "later": []}


def test_the_shortest_test_window_holds_the_latest_rows_only():
    latest = START + DAY
    log = log_of(START, latest - TICK, latest, latest)
    windows = find_windows(TimeSplit(test=TICK), log)
    assert windows.cutoff == latest
    assert parts(windows, log)["test"] == [2, 3]


# test_start


def test_test_start_alone_reaches_to_the_latest_row():
    cutoff = START + 5 * DAY
    log = log_of(START, cutoff - TICK, cutoff, cutoff + 2 * DAY)
    windows = find_windows(TimeSplit(test_start="2022-05-06T00:00:00Z"), log)
    assert windows == Windows(cutoff, cutoff, cutoff + 2 * DAY + TICK)
    assert parts(windows, log) == {"train": [0, 1], "gap": [], "test": [2, 3], "later": []}


def test_test_start_and_test_leave_later_rows_out():
    cutoff, end = START + 5 * DAY, START + 6 * DAY
    log = log_of(START, cutoff, end - TICK, end, end + DAY)
    windows = find_windows(TimeSplit(test_start=cutoff, test="1d"), log)
    assert windows == Windows(cutoff, cutoff, end)
    assert parts(windows, log) == {"train": [0], "gap": [], "test": [1, 2], "later": [3, 4]}


def test_test_start_is_a_moment_in_any_zone():
    log = log_of(START, START + 2 * HOUR, START + 3 * HOUR)
    windows = find_windows(TimeSplit(test_start="2022-05-01T04:00:00+02:00"), log)
    assert windows.cutoff == START + 2 * HOUR


@pytest.mark.parametrize(
    "split",
    [{"test_start": START + 5 * DAY, "test": "2d"}, {"test": 2 * DAY}, {"fraction": 0.5}],
)
def test_gap_rows_are_used_by_neither_side(split):
    # All three rules put the cutoff on the third of the fifth.
    cutoff, end = START + 5 * DAY, START + 7 * DAY
    gap_start = cutoff - HOUR
    log = log_of(START, gap_start - TICK, gap_start, cutoff - TICK, cutoff, *[end - TICK] * 3)
    windows = find_windows(TimeSplit(**split, gap="1h"), log)
    assert windows == Windows(gap_start, cutoff, end)
    expected = {"train": [0, 1], "gap": [2, 3], "test": [4, 5, 6, 7], "later": []}
    assert parts(windows, log) == expected


# fraction


@pytest.mark.parametrize(
    ("rows", "fraction", "first_test_row"),
    [
        (10, 0.1, 9),  # ceil(1) = 1 row
        (10, 0.25, 7),  # ceil(2.5) = 3
        (10, 0.3, 7),
        (10, 0.01, 9),  # ceil(0.1) = 1: never none
        (10, 0.89, 1),  # ceil(8.9) = 9
        (3, 0.5, 1),  # ceil(1.5) = 2
        (1000, 0.001, 999),
        # In floats 0.07 * 100 is 7.000000000000001 and 0.55 * 100 is 55.00000000000001.
        (100, 0.07, 93),
        (100, 0.55, 45),
    ],
)
def test_fraction_is_the_time_of_row_n_less_the_ceiling(rows, fraction, first_test_row):
    times = [START + n * HOUR for n in range(rows)]
    # In the file's order the cutoff stands somewhere else.
    log = log_of(*reversed(times))
    windows = find_windows(TimeSplit(fraction=fraction), log)
    cutoff = START + first_test_row * HOUR
    assert windows == Windows(cutoff, cutoff, times[-1] + TICK)
    assert len(items(windows.test(log))) == rows - first_test_row


def test_rows_that_tie_with_the_cutoff_are_all_test_rows():
    hours = [0, 1, 2, 2, 2, 3]
    log = log_of(*(START + hour * HOUR for hour in hours))
    # ceil(0.25 x 6) = 2, row 4 in order of time is the last of three at hour 2.
    windows = find_windows(TimeSplit(fraction=0.25), log)
    assert windows.cutoff == START + 2 * HOUR
    assert parts(windows, log)["test"] == [2, 3, 4, 5]


# Sides that stay empty.


ENDS = "leaves no test rows; the log ends 2022-05-08T15:52:00Z"
STARTS = "leaves no train rows; the log starts 2022-05-01T00:00:00Z"


@pytest.mark.parametrize(
    ("split", "text"),
    [
        (
            {"test_start": "2022-06-01T00:00:00Z"},
            f"split.test_start: 2022-06-01T00:00:00Z {ENDS}",
        ),
        (
            {"test_start": "2022-05-08T15:52:00.000001Z", "test": "1d"},
            f"split.test_start: 2022-05-08T15:52:00.000001Z {ENDS}",
        ),
        (
            {"test_start": "2022-05-01T00:00:00Z"},
            f"split.test_start: the cutoff 2022-05-01T00:00:00Z {STARTS}",
        ),
        (
            {"test": "30d"},
            f"split.test: the cutoff 2022-04-08T15:52:00.000001Z {STARTS}",
        ),
        (
            # ceil(0.9 x 2) = 2: all rows.
            {"fraction": 0.9},
            f"split.fraction: the cutoff 2022-05-01T00:00:00Z {STARTS}",
        ),
        (
            {"test_start": "2022-05-03T00:00:00Z", "gap": "2d"},
            f"split.test_start: the cutoff 2022-05-03T00:00:00Z less a gap of 2d {STARTS}",
        ),
    ],
)
def test_an_empty_side_is_an_error(split, text):
    log = log_of(START, datetime(2022, 5, 8, 15, 52, tzinfo=UTC))
    with pytest.raises(DataError) as error:
        find_windows(TimeSplit(**split), log)
    assert str(error.value) == text
    assert error.value.exit_code == 3


def test_windows_of_edges_that_still_have_rows():
    latest = START + 7 * DAY
    log = log_of(START, latest)
    assert parts(find_windows(TimeSplit(test_start=latest), log), log)["test"] == [1]
    split = TimeSplit(test_start=START + 2 * DAY + TICK, gap="2d")
    assert parts(find_windows(split, log), log)["train"] == [0]


def test_windows_of_a_log_that_is_not_read_yet(tmp_path):
    log_of(START, START + DAY, START + 2 * DAY).collect().write_parquet(tmp_path / "log.parquet")
    log = pl.scan_parquet(tmp_path / "log.parquet")
    windows = find_windows(TimeSplit(test="1d"), log)
    assert parts(windows, log) == {"train": [0, 1], "gap": [], "test": [2], "later": []}


MOMENTS = st.integers(0, 20).map(lambda hour: START + hour * HOUR)


@given(
    times=st.lists(MOMENTS, min_size=2, max_size=12),
    split=st.one_of(
        st.fixed_dictionaries({"test_start": MOMENTS, "test": st.sampled_from(["1h", "5h"])}),
        st.fixed_dictionaries({"test": st.sampled_from(["1h", "5h"])}),
        st.fixed_dictionaries({"fraction": st.sampled_from([0.1, 0.5, 0.9])}),
    ),
    gap=st.sampled_from(["0h", "1h", "3h"]),
)
def test_every_row_is_in_one_place(times, split, gap):
    log = log_of(*times)
    try:
        windows = find_windows(TimeSplit(**split, gap=gap), log)
    except DataError:
        return
    found = parts(windows, log)
    assert sorted(chain.from_iterable(found.values())) == list(range(len(times)))
    assert found["train"]
    assert bool(found["later"]) == (max(times) >= windows.test_end)


# What the split reports.


def test_report_counts_rows_users_items_and_what_is_left_out():
    hours = [0, 0, 1, 2, 3, 4, 4, 5, 6]
    log = pl.LazyFrame(
        {
            "user_id": ["a", "b", "a", "z", "a", "b", "b", "z", "z"],
            "item_id": [1, 1, 2, 9, 3, 3, 3, 9, 9],
            "timestamp": [START + hour * HOUR for hour in hours],
        },
        schema_overrides={"timestamp": pl.Datetime("us", "UTC")},
    )
    windows = find_windows(TimeSplit(test_start="2022-05-01T03:00:00Z", test="2h", gap="1h"), log)
    report = look_at_sides(windows.train(log), windows.test(log), log, windows).report
    assert report.train == Side(None, "2022-05-01T02:00:00Z", rows=3, users=2, items=2)
    assert report.test == Side(
        "2022-05-01T03:00:00Z", "2022-05-01T05:00:00Z", rows=3, users=2, items=1
    )
    assert (report.gap_rows, report.later_rows) == (1, 2)
    assert report.as_dict() == {
        "train": {
            "start": None,
            "end": "2022-05-01T02:00:00Z",
            "rows": 3,
            "users": 2,
            "items": 2,
        },
        "test": {
            "start": "2022-05-01T03:00:00Z",
            "end": "2022-05-01T05:00:00Z",
            "rows": 3,
            "users": 2,
            "items": 1,
        },
        "gap_rows": 1,
        "later_rows": 2,
        "earlier_rows": 0,
        "users_too_short": 0,
    }


def test_report_of_files_has_no_windows_and_needs_no_times():
    train = log_of(START, START).drop("timestamp")
    test = log_of(START).drop("timestamp")
    report = look_at_sides(train, test, None, None).report
    assert look_at_sides(train, test, train, None).report == report
    assert report.train == Side(None, None, rows=2, users=1, items=2)
    assert report.test == Side(None, None, rows=1, users=1, items=1)
    assert (report.gap_rows, report.later_rows) == (0, 0)


@pytest.mark.parametrize("empty", ["train", "test"])
def test_report_of_an_empty_side_is_an_error(empty):
    sides = {name: log_of() if name == empty else log_of(START) for name in ("train", "test")}
    with pytest.raises(DataError) as error:
        look_at_sides(sides["train"], sides["test"], None, None)
    assert str(error.value) == f"split.{empty}: no {empty} rows"


@pytest.mark.parametrize(
    "split",
    [
        {"test_start": "0001-01-02T00:00:00Z", "gap": "3d"},
        {"test_start": "9999-01-02T00:00:00Z", "test": "365000d"},
    ],
)
def test_windows_beyond_the_calendar(split):
    with pytest.raises(ConfigError) as error:
        find_windows(TimeSplit(**split), log_of(START))
    assert str(error.value) == "split: a window of this split lies outside the years 1 to 9999"


def test_report_finds_a_test_window_between_the_rows():
    log = log_of(START, START + 9 * DAY)
    windows = find_windows(TimeSplit(test_start=START + DAY, test="1d"), log)
    window = "from 2022-05-02T00:00:00Z to before 2022-05-03T00:00:00Z"
    with pytest.raises(DataError, match=rf"^split\.test: no test rows {window}$"):
        look_at_sides(windows.train(log), windows.test(log), log, windows)


# since


def test_since_holds_its_start_and_not_its_end():
    end = START + 7 * DAY
    log = log_of(START - TICK, START, end - TICK, end)
    assert items(log.filter(since(end, 7 * DAY))) == [1, 2]


@pytest.mark.parametrize("end", [None, START])
def test_since_without_a_window_lets_all_pass(end):
    assert items(log_of(START, START + DAY).filter(since(end, None))) == [0, 1]


def test_since_without_times_is_an_error():
    with pytest.raises(ConfigError) as error:
        since(None, DAY)
    assert str(error.value) == "window: a window needs timestamps, and the log has none"


# Configuration.


@pytest.mark.parametrize(
    ("split", "text"),
    [
        ({}, "say where the test window starts: test_start: 2022-05-05T16:00:00Z, "),
        ({"gap": "1h"}, r"test: 3d \(counted from the end\) or fraction: 0.2"),
        ({"fraction": 0.2, "test": "1d"}, "fraction stands alone: remove test_start and test"),
        (
            {"fraction": 0.2, "test_start": "2022-05-05T16:00:00Z"},
            "fraction stands alone: remove test_start and test",
        ),
        ({"test": "0d"}, "expected a duration greater than 0"),
        ({"fraction": 1}, "less than 1"),
        ({"test": "1d", "gap": "-1d"}, "expected a duration such as"),
        ({"test": "1d", "until": "2d"}, "Extra inputs"),
    ],
)
def test_splits_that_say_too_little_or_too_much(split, text):
    with pytest.raises(ValidationError, match=text):
        TimeSplit.model_validate(split)


def test_a_split_by_files_needs_both():
    split = FileSplit.model_validate({"train": {"path": "a.csv"}, "test": {"path": "b.csv"}})
    assert (split.train.path, split.test.path) == ("a.csv", "b.csv")
    with pytest.raises(ValidationError, match="test"):
        FileSplit.model_validate({"train": {"path": "a.csv"}})
