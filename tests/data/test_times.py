"""Timestamps of any kind as moments in UTC."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.sources import LogFacts, Source, check_interactions, count_naive_times
from tests.data.helpers import NOW, PAIR, naive, of_frame, refused


def moments(values: Any, dtype: Any = None, **options: Any) -> list[str]:
    """Returns timestamps as text after the log was read."""
    series = pl.Series(values, dtype=dtype)
    frame = pl.DataFrame({"user_id": range(len(series)), "item_id": 1, "timestamp": series})
    found = of_frame(frame, **options)["timestamp"]
    assert found.dtype == pl.Datetime("us", "UTC")
    return found.dt.to_string("%Y-%m-%dT%H:%M:%S%.f").to_list()


@pytest.mark.parametrize(
    ("values", "dtype", "unit", "expected"),
    [
        ([0, 1650813203], pl.Int64, "s", ["1970-01-01T00:00:00", "2022-04-24T15:13:23"]),
        ([1650813203], pl.Int32, "s", ["2022-04-24T15:13:23"]),
        ([1650813203982], pl.UInt64, "ms", ["2022-04-24T15:13:23.982"]),
        ([1650813203982001], pl.Int128, "us", ["2022-04-24T15:13:23.982001"]),
        ([1650813203.982], pl.Float64, "s", ["2022-04-24T15:13:23.982"]),
        (
            [0.1, 0.0000014, 1.000009],
            pl.Float64,
            "s",
            ["1970-01-01T00:00:00.100", "1970-01-01T00:00:00.000001", "1970-01-01T00:00:01.000009"],
        ),
    ],
)
def test_epochs(values, dtype, unit, expected):
    assert moments(values, dtype, timestamp_unit=unit) == expected


ISO = {
    "2022-05-05T16:00:00Z": "2022-05-05T16:00:00",
    "2022-05-05T16:00:00z": "2022-05-05T16:00:00",
    "2022-05-05 18:00:00+02:00": "2022-05-05T16:00:00",
    "2022-05-05T11:30:00.5-0430": "2022-05-05T16:00:00.500",
    " 2022-05-05T16:00:00,25 +00 ": "2022-05-05T16:00:00.250",
    "2022-05-05T16:00:00.123456789Z": "2022-05-05T16:00:00.123456",
    "2022-05-06T00:30+08:30": "2022-05-05T16:00:00",
}


def test_iso_times_may_be_written_in_several_ways():
    assert moments(list(ISO), timestamp_unit="iso") == list(ISO.values())
    # The zone is for times that have none.
    assert moments(list(ISO), timestamp_unit="iso", timezone="Asia/Tokyo") == list(ISO.values())


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (None, ["2022-05-05T16:00:00", "2022-05-05T00:00:00", "2022-05-05T16:00:00"]),
        ("Asia/Shanghai", ["2022-05-05T08:00:00", "2022-05-04T16:00:00", "2022-05-05T16:00:00"]),
    ],
)
def test_times_without_a_zone(zone, expected):
    texts = ["2022-05-05T16:00", "2022-05-05", "2022-05-05T16:00Z"]
    assert moments(texts, timestamp_unit="iso", timezone=zone) == expected
    local = [naive(2022, 5, 5, 16), naive(2022, 5, 5)]
    assert moments(local, timezone=zone) == expected[:2]
    assert moments([date(2022, 5, 5)], timezone=zone) == expected[1:2]


@pytest.mark.parametrize(
    "dtype",
    [
        pl.Datetime("us", "UTC"),
        pl.Datetime("ms", "UTC"),
        pl.Datetime("ns", "Etc/UTC"),
        pl.Datetime("us", "Asia/Shanghai"),
    ],
)
def test_times_with_a_zone(dtype):
    moment = datetime(2022, 5, 5, 16, tzinfo=UTC)
    assert moments([moment], dtype, timezone="Europe/Berlin") == ["2022-05-05T16:00:00"]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_naive_times_of_any_resolution(unit):
    assert moments([naive(2022, 5, 5, 16)], pl.Datetime(unit)) == ["2022-05-05T16:00:00"]


def test_hours_that_the_clock_skips_or_repeats():
    berlin = {"timezone": "Europe/Berlin"}
    assert refused(moments, [naive(2022, 3, 27, 2, 30)], **berlin) == (
        (
            "interactions.timestamp: the local time 2022-03-27 02:30:00 is non-existent in "
            "Europe/Berlin, where the clock changes; write the times with an offset, in UTC or as "
            "epoch"
        ),
        3,
    )
    text = "2022-10-30T02:30:00"
    message = (
        "interactions.timestamp: the local time 2022-10-30 02:30:00 is ambiguous in "
        "Europe/Berlin, where the clock changes; write the times with an offset, in UTC or as "
        "epoch"
    )
    assert refused(moments, [text], timestamp_unit="iso", **berlin) == (message, 3)
    # With an offset the same time is one moment.
    assert moments([f"{text}+01:00"], timestamp_unit="iso", **berlin) == ["2022-10-30T01:30:00"]


@pytest.mark.parametrize(
    ("values", "dtype", "unit", "message", "code"),
    [
        (
            [5],
            pl.Int64,
            None,
            "_unit: missing: timestamp is Int64; is it in s, ms or us since 1970?",
            2,
        ),
        (
            [5.0],
            None,
            None,
            "_unit: missing: timestamp is Float64; is it in s, ms or us since 1970?",
            2,
        ),
        (
            ["2022-05-05"],
            None,
            None,
            "_unit: missing: timestamp is text; say iso if it is ISO 8601",
            2,
        ),
        ([5], pl.Int64, "iso", "_unit: iso is for text, but timestamp is Int64", 2),
        (
            ["5"],
            None,
            "ms",
            "_unit: ms is for numbers, but timestamp is text, at least in some rows",
            2,
        ),
        (
            [naive(2022, 5, 5)],
            None,
            "ms",
            "_unit: timestamp is a time (Datetime) already: leave timestamp_unit out",
            2,
        ),
        (
            [datetime(2022, 5, 5, tzinfo=UTC)],
            pl.Datetime("us", "UTC"),
            "iso",
            "_unit: timestamp is a time (Datetime) already: leave timestamp_unit out",
            2,
        ),
        (
            [date(2022, 5, 5)],
            None,
            "s",
            "_unit: timestamp is a time (Date) already: leave timestamp_unit out",
            2,
        ),
        ([True], None, "s", ": Boolean holds no time; expected a time, a number or text", 3),
        (
            [timedelta(1)],
            None,
            None,
            ": Duration holds no time; expected a time, a number or text",
            3,
        ),
        ([float("nan")], None, "s", ": at least 1 value is no time, e.g. NaN", 3),
        ([float("inf")], None, "s", ": at least 1 value is no time, e.g. inf", 3),
        ([1e300], None, "s", ": at least 1 value is no time, e.g. 1.0000e306", 3),
        (["yesterday"], None, "iso", ': at least 1 value is no ISO 8601 time, e.g. "yesterday"', 3),
        (
            ["2022-13-01"],
            None,
            "iso",
            ': at least 1 value is no ISO 8601 time, e.g. "2022-13-01"',
            3,
        ),
        (
            ["2022-05-05T16:00:00 Berlin"],
            None,
            "iso",
            ': at least 1 value is no ISO 8601 time, e.g. "2022-05-05T16:00:00 Berlin"',
            3,
        ),
    ],
)
def test_timestamps_that_are_refused(values, dtype, unit, message, code):
    expected = f"interactions.timestamp{message}"
    assert refused(moments, values, dtype, timestamp_unit=unit) == (expected, code)


@pytest.mark.parametrize("dtype", [pl.Null, pl.Int64])
def test_a_column_without_times(dtype):
    assert refused(moments, [None], dtype, timestamp_unit="s") == (
        (
            "interactions.timestamp: 1 row without timestamp, e.g. user_id, item_id (0, 1); "
            'fix the log, or leave them out: where: "timestamp IS NOT NULL"'
        ),
        3,
    )


def test_a_unit_without_a_timestamp():
    assert refused(of_frame, {**PAIR, "ts": [1, 2]}, timestamp_unit="ms") == (
        (
            "interactions.timestamp_unit: there is no column timestamp in the frame. "
            "Columns: user_id, item_id, ts. Name it: columns: {timestamp: ...}"
        ),
        2,
    )


def test_timestamps_are_optional():
    frame = pl.DataFrame(PAIR)
    assert of_frame(frame).equals(frame)
    facts = check_interactions(frame.lazy(), path="split.train", now=NOW)
    assert facts == LogFacts(rows=2, start=None, end=None, exact_duplicates=0)


def test_time_zones_are_checked():
    with pytest.raises(ValidationError) as error:
        Source(timezone="Europe/Berlim")
    assert "unknown time zone 'Europe/Berlim'. Did you mean 'Europe/Berlin'?" in str(error.value)
    assert Source(timezone="UTC").timezone == "UTC"


@pytest.mark.parametrize("offset", ["+99:99", "+23:60", "-15:00", "+1560", "+99", "+02:60"])
def test_offsets_that_no_place_has(offset):
    values = [f"2022-05-05T16:00:00{offset}", f"2022-05-06T16:00{offset}", "2022-05-06T16:00Z"]
    assert refused(moments, values, timestamp_unit="iso") == (
        (
            "interactions.timestamp: at least 2 values are no ISO 8601 times, "
            f'e.g. "{values[0]}", "{values[1]}"'
        ),
        3,
    )


@pytest.mark.parametrize(
    ("offset", "expected"), [("+14:00", "02"), ("-12:00", "04"), ("+0545", "10:15"), ("-03", "19")]
)
def test_offsets_that_places_have(offset, expected):
    found = moments([f"2022-05-05T16:00:00{offset}"], timestamp_unit="iso")
    assert found[0][11:].startswith(expected)


@pytest.mark.parametrize(
    ("values", "options", "naive_times"),
    [
        ([naive(2026, 1, 1), None], {}, 1),
        ([date(2026, 1, 1)] * 2, {}, 2),
        ([datetime(2026, 1, 1, tzinfo=UTC)], {}, 0),
        ([1, 2], {"timestamp_unit": "s"}, 0),
        (
            ["2026-01-01T10:00", "2026-01-01", "2026-01-01T10:00Z", "2026-01-01T10:00+02:00", None],
            {"timestamp_unit": "iso"},
            2,
        ),
        # What a zone is given for is still naive.
        ([naive(2026, 1, 1)], {"timezone": "Asia/Tokyo"}, 1),
    ],
)
def test_times_without_a_zone_are_counted(values, options, naive_times):
    frame = pl.DataFrame({"user_id": 1, "item_id": 1, "at": values})
    source = Source(columns={"timestamp": "at"}, **options)
    assert count_naive_times(source, frame=frame) == naive_times


def test_a_log_without_times_has_none_without_a_zone():
    assert count_naive_times(Source(), frame=pl.DataFrame(PAIR)) == 0
