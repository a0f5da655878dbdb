from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.component import (
    Component,
    Count,
    Duration,
    Instant,
    Number,
    Share,
    Span,
    format_duration,
    parse_duration,
    parse_instant,
)


class Everything(Component):
    count: Count = 1
    number: Number = 0.0
    share: Share = 0.5
    span: Span = timedelta(0)
    window: Duration = timedelta(days=1)
    moment: Instant = datetime(2022, 5, 5, 16, tzinfo=UTC)


def test_unknown_keys_are_refused_and_values_stay():
    with pytest.raises(ValidationError, match="extra_forbidden"):
        Everything.model_validate({"cuont": 3})
    with pytest.raises(ValidationError, match="frozen_instance"):
        Everything().count = 2


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("3d", timedelta(days=3)),
        ("12h", timedelta(hours=12)),
        ("30m", timedelta(minutes=30)),
        ("45s", timedelta(seconds=45)),
        ("1w", timedelta(days=7)),
        ("1.5h", timedelta(minutes=90)),
        (" 0h ", timedelta(0)),
        ("0.000001s", timedelta(microseconds=1)),
        (timedelta(days=2), timedelta(days=2)),
    ],
)
def test_durations_are_read(text, length):
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "value",
    ["3", "3 d", "d", "", "-3d", "3D", "3d12h", "1e3s", ".5d", 3, 3.0, None, True],
)
def test_other_durations_are_refused(value):
    with pytest.raises(ValueError, match="duration") as error:
        parse_duration(value)
    assert str(error.value) == f"expected a duration such as 3d, 12h, 30m or 45s, got {value!r}"


@pytest.mark.parametrize("text", ["365001d", "9" * 30 + "d", "9" * 400 + "d"])
def test_durations_stay_within_the_calendar(text):
    assert datetime(2022, 5, 5, tzinfo=UTC) - parse_duration("365000d")
    with pytest.raises(ValueError, match="duration") as error:
        parse_duration(text)
    assert str(error.value) == f"expected a duration of at most 365000d, got {text!r}"


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(weeks=1), "7d"),
        (timedelta(hours=36), "36h"),
        (timedelta(minutes=90), "90m"),
        (timedelta(seconds=61), "61s"),
        (timedelta(0), "0d"),
        # "%g" of these would be 1.00086e+06s and 1e-06s, which nothing reads.
        (timedelta(seconds=1_000_861), "1000861s"),
        (timedelta(microseconds=1), "0.000001s"),
        (timedelta(days=20_000, microseconds=500_000), "1728000000.5s"),
    ],
)
def test_durations_are_written(length, text):
    assert format_duration(length) == text
    assert parse_duration(text) == length


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=20_000)))
def test_durations_are_read_back_to_the_microsecond(length):
    assert parse_duration(format_duration(length)) == length


@pytest.mark.parametrize(
    "value",
    [
        "2022-05-05T16:00:00Z",
        "2022-05-05T18:00:00+02:00",
        "2022-05-05 16:00+00:00",
        datetime(2022, 5, 5, 12, tzinfo=timezone(timedelta(hours=-4))),
    ],
)
def test_moments_are_held_in_utc(value):
    moment = parse_instant(value)
    assert moment == datetime(2022, 5, 5, 16, tzinfo=UTC)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("yesterday", "expected a time such as 2022-05-05T16:00:00Z, got 'yesterday'"),
        (1651766400, "expected a time such as 2022-05-05T16:00:00Z, got 1651766400"),
        (None, "expected a time such as 2022-05-05T16:00:00Z, got None"),
        # In UTC it is before the year 1.
        (
            "0001-01-01T00:00:00+05:00",
            "'0001-01-01T00:00:00+05:00' is no time of the years 1 to 9999 in UTC",
        ),
        ("2022-05-05", "'2022-05-05' has no time zone: add one, e.g. Z for UTC"),
        ("2022-05-05T16:00", "'2022-05-05T16:00' has no time zone: add one, e.g. Z for UTC"),
    ],
)
def test_other_moments_are_refused(value, text):
    with pytest.raises(ValueError, match="time") as error:
        parse_instant(value)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("count", 0),
        ("count", True),
        ("count", "3"),
        ("count", 3.0),
        ("number", "3"),
        ("number", True),
        ("number", float("nan")),
        ("number", float("inf")),
        ("share", 0),
        ("share", 1),
        ("share", float("nan")),
        ("span", "-1d"),
        ("window", "0d"),
        ("window", timedelta(seconds=-1)),
        # Less than a microsecond is nothing.
        ("window", "0.0000001s"),
        ("moment", "2022-05-05"),
    ],
)
def test_values_of_a_wrong_kind_are_refused(field, value):
    with pytest.raises(ValidationError) as error:
        Everything.model_validate({field: value})
    assert [problem["loc"] for problem in error.value.errors()] == [(field,)]


def test_the_smallest_values_that_are_taken():
    smallest = Everything.model_validate({"count": 1, "window": "0.000001s", "span": "0h"})
    assert (smallest.count, smallest.window) == (1, timedelta(microseconds=1))


def test_an_integer_is_a_number():
    assert Everything.model_validate({"number": 3}).number == 3.0


def test_a_duration_of_zero_says_so():
    with pytest.raises(ValidationError, match="expected a duration greater than 0"):
        Everything.model_validate({"window": "0d"})


def test_values_are_written_as_they_are_read():
    written = {
        "count": 2,
        "number": 0.5,
        "share": 0.25,
        "span": "0d",
        "window": "36h",
        "moment": "2022-05-05T16:00:00Z",
    }
    assert Everything.model_validate(written).model_dump() == written


def test_the_schema_names_the_texts():
    properties = Everything.model_json_schema()["properties"]
    assert properties["window"]["type"] == properties["moment"]["type"] == "string"
    assert properties["moment"]["format"] == "date-time"
