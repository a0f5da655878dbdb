"""The rows of a log, looked at once."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.data import logcheck
from recoeval.data.logcheck import Conflicts, count_conflicts
from recoeval.data.sources import LogFacts, check_interactions, look_at
from recoeval.data.splits import ends_of
from tests.data.helpers import NOW, naive, of_frame, refused


def log_of(**columns: Any) -> pl.LazyFrame:
    overrides = {"timestamp": pl.Datetime("us", "UTC")} if "timestamp" in columns else {}
    return pl.LazyFrame(columns, schema_overrides=overrides)


def test_facts_of_a_log():
    log = log_of(
        user_id=[1, 1, 1, 1],
        item_id=["a", "a", "a", "b"],
        timestamp=[naive(2022, 5, 2)] * 3 + [naive(2022, 5, 1)],
        tags=[["x"], ["x"], ["y"], None],
        gain=[0.0, -0.0, 0.0, float("nan")],
    )
    assert check_interactions(log, path="interactions", now=NOW) == LogFacts(
        rows=4,
        start=datetime(2022, 5, 1, tzinfo=UTC),
        end=datetime(2022, 5, 2, tzinfo=UTC),
        exact_duplicates=1,
    )


def test_duplicates_are_counted_beyond_the_first():
    log = log_of(user_id=[1] * 5 + [2] * 2, item_id=[1] * 5 + [1] * 2)
    facts = check_interactions(log, path="interactions", now=NOW)
    assert facts.exact_duplicates == 5


ROWS = st.lists(
    st.tuples(
        st.integers(1, 2),
        st.sampled_from("ab"),
        st.integers(1, 2),
        st.sampled_from([None, 0.5, 2.0]),
    ),
    min_size=1,
    max_size=12,
)


@given(ROWS)
def test_repeats_and_conflicts_are_what_rows_say(rows: list[tuple[Any, ...]]) -> None:
    users, items, days, gains = zip(*rows, strict=True)
    log = log_of(
        user_id=users, item_id=items, timestamp=[naive(2022, 5, day) for day in days], gain=gains
    )
    facts, conflicts = look_at(log, path="interactions", now=NOW)
    assert facts.exact_duplicates == len(rows) - len(set(rows))
    events = Counter(row[:3] for row in set(rows))
    told = [count for count in events.values() if count > 1]
    assert conflicts == Conflicts(events=len(told), rows=sum(told))
    assert count_conflicts(log) == conflicts


def test_equal_hashes_are_no_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logcheck, "_event", lambda log: pl.lit(7, pl.UInt64) + 0 * pl.len())
    log = log_of(user_id=[1, 1, 2], item_id=[1, 1, 1], timestamp=[naive(2022, 5, 1)] * 3)
    log = log.with_columns(pl.Series("gain", [1, 2, 2]))
    facts, conflicts = look_at(log, path="interactions", now=NOW)
    assert facts.exact_duplicates == 0
    assert conflicts == Conflicts(events=1, rows=2)


def test_columns_that_nobody_needs_are_read_too():
    log = log_of(user_id=[1], item_id=[1], code=["x"]).with_columns(pl.col("code").cast(pl.Int64))
    message, _ = refused(check_interactions, log, path="interactions", now=NOW)
    assert message == 'interactions.code: at least 1 value is no whole number, e.g. "x"'


def test_ends_of_a_log():
    log = log_of(user_id=[1, 1], item_id=[1, 2], timestamp=[naive(2022, 5, 2), naive(2022, 5, 1)])
    facts = check_interactions(log, path="interactions", now=NOW)
    assert facts.ends == ends_of(log)
    assert replace(facts, start=None, end=None).ends is None


def test_a_day_ahead_is_a_clock_more_is_an_error():
    ahead = NOW + timedelta(days=1)
    log = log_of(user_id=[1], item_id=[1], timestamp=[ahead])
    assert check_interactions(log, path="interactions", now=NOW).end == ahead
    late = log_of(user_id=[1], item_id=[1], timestamp=[ahead + timedelta(microseconds=1)])
    assert refused(check_interactions, late, path="interactions", now=NOW) == (
        (
            "interactions.timestamp: 1 row in the future, later than 2026-01-02T00:00Z, "
            "e.g. 2026-01-02T00:00:00Z; is timestamp_unit right? Or leave them out: "
            'where: "timestamp < ..."'
        ),
        3,
    )


def test_the_last_year():
    now = datetime(2262, 12, 31, 12, tzinfo=UTC)
    end = datetime(2263, 1, 1, tzinfo=UTC)
    log = log_of(user_id=[1], item_id=[1], timestamp=[end - timedelta(microseconds=1)])
    assert check_interactions(log, path="interactions", now=now).rows == 1
    log = log_of(user_id=[1], item_id=[1], timestamp=[end])
    message, _ = refused(check_interactions, log, path="interactions", now=now)
    assert "1 row before 1970 or after 2262, e.g. 2263-01-01T00:00:00Z" in message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"user_id": [], "item_id": []}, "interactions: no rows"),
        (
            {"user_id": [1, None, None], "item_id": ["a", "c", "b\x07"]},
            (
                "interactions.user_id: 2 rows without user_id, e.g. item_id 'b\\x07', 'c'; fix the "
                'log, or leave them out: where: "user_id IS NOT NULL"'
            ),
        ),
        (
            {"user_id": range(8), "item_id": [7, *[None] * 7]},
            (
                "interactions.item_id: 7 rows without item_id, e.g. user_id 1, 2, 3, 4, 5, ...; "
                'fix the log, or leave them out: where: "item_id IS NOT NULL"'
            ),
        ),
        (
            {"user_id": [1, 2], "item_id": ["a", "b"], "timestamp": [None, None]},
            (
                "interactions.timestamp: 2 rows without timestamp, e.g. user_id, item_id (1, 'a'), "
                "(2, 'b'); fix the log, or leave them out: where: \"timestamp IS NOT NULL\""
            ),
        ),
    ],
)
def test_rows_that_must_not_be_there(columns, message):
    log = log_of(**columns)
    assert refused(check_interactions, log, path="interactions", now=NOW) == (message, 3)


@pytest.mark.parametrize(
    ("unit", "value", "shown"),
    [
        # Milliseconds taken for seconds.
        ("s", 1650813203982, "+54282-03-10T07:19:42Z"),
        # Nanoseconds taken for seconds do not even fit.
        ("s", 1650813203982000000, "+255479-11-28T14:13:20Z"),
        ("s", -1, "1969-12-31T23:59:59Z"),
        ("us", 2**63 - 1, "+255479-11-28T14:13:20Z"),
        ("us", -(2**63), "-251540-02-03T09:46:40Z"),
    ],
)
def test_times_that_cannot_be(unit, value, shown):
    frame = {"user_id": [1], "item_id": [1], "timestamp": [value]}
    assert refused(of_frame, frame, timestamp_unit=unit) == (
        (
            f"interactions.timestamp: 1 row before 1970 or after 2262, e.g. {shown}; "
            "is timestamp_unit right?"
        ),
        3,
    )


def test_all_problems_at_once():
    log = log_of(user_id=[None], item_id=[None], timestamp=[None])
    message, _ = refused(check_interactions, log, path="interactions", now=NOW)
    assert [line.split(":")[0] for line in message.splitlines()] == [
        "interactions.user_id",
        "interactions.item_id",
        "interactions.timestamp",
    ]
