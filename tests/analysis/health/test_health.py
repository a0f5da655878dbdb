"""Truth health of a log that is worked by hand."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from recoeval.analysis.audit import AuditView
from recoeval.analysis.health import audit_health, health_of
from recoeval.analysis.health import rows as healthrows
from recoeval.analysis.health.rows import by_duration, mark_relevant
from recoeval.columns import TIMESTAMP_DTYPE
from recoeval.data.splits import Windows
from recoeval.data.truth import GroundTruth
from tests.analysis.views import CUTOFF, RULE, TRAIN, day, view_of

BEFORE = [*TRAIN, (1, 30, day(2), "impression", 0)]
AFTER = [
    (1, 30, day(10, 8)),
    (1, 40, day(10, 9), "click", 90),  # an item without any row before
    (1, 10, day(11, 1), "click", 50),  # seen
    (2, 20, day(11, 9), "click", 90),
    (2, 20, day(11, 10), "click", 60),  # the same pair
    (3, 20, day(11, 23), "click", 30),  # 30 is not more than 30
    (3, 10, day(11, 22), "impression", 0),
    (4, 10, day(10, 7), None, None),  # a user without history, a rule that is null
]


@pytest.fixture(autouse=True)
def dwell_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the few values of dwell in the small log many."""
    monkeypatch.setattr(healthrows, "FEW_VALUES", 4)


def health(**changes: Any) -> dict[str, list[dict[str, Any]]]:
    return health_of(view_of(BEFORE, AFTER, **changes))


def rows(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(record.values()) for record in records]


def test_the_tables_are_plain_values() -> None:
    found = health()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert list(found) == [
        "truth_size",
        "relevant_items",
        "repeats",
        "events",
        "dwell",
        "by_popularity",
        "by_age",
        "by_day",
        "representative",
    ]


def test_how_many_relevant_items_a_query_has() -> None:
    assert health()["truth_size"] == [
        {
            "queries": 2,
            "without_relevant": 2,
            "pairs": 3,
            "mean": 1.5,
            "p10": 1,
            "p50": 1,
            "p90": 1,
            "p99": 1,
            "max": 2,
        }
    ]
    assert rows(health()["relevant_items"]) == [
        ("0", 2, 0.5, 0, 0.0),
        ("1", 1, 0.25, 1, 1 / 3),
        ("2", 1, 0.25, 2, 2 / 3),
    ]


def test_ranges_of_relevant_items_hold_every_size_once() -> None:
    sizes = [1, 2, 3, 4, 5, 9, 10, 99, 100, 101]
    test = [
        (user, 1000 + item, day(10, 1))
        for user, size in enumerate(sizes, start=100)
        for item in range(size)
    ]
    found = health_of(view_of(BEFORE, test))["relevant_items"]
    assert [(each["relevant_items"], each["queries"]) for each in found] == [
        ("1", 1),
        ("2", 1),
        ("3-4", 2),
        ("5-9", 2),
        ("10-19", 1),
        ("50-99", 1),
        ("100+", 2),
    ]


def test_pairs_that_repeat_what_was_before() -> None:
    # (1, 10) has a train row; (1, 30) a mere impression; the policy drops the first alone.
    assert rows(health()["repeats"]) == [
        ("are relevant in the test window", 4, 1.0),
        ("have a train row", 1, 0.25),
        ("have any row before", 2, 0.5),
        ("were seen", 1, 0.25),
    ]


def test_the_mix_of_events() -> None:
    assert rows(health()["events"]) == [
        ("event", "click", 6, 0.75, 5, 1.0),
        ("event", "(null)", 1, 0.125, 0, 0.0),
        ("event", "impression", 1, 0.125, 0, 0.0),
    ]


def test_many_values_are_cut_short() -> None:
    test = [(1, 30, day(10, 8)), *((2, 20, day(10, 9), f"e{n:02}", 0) for n in range(25))]
    found = [
        each for each in health_of(view_of(BEFORE, test))["events"] if each["column"] == "event"
    ]
    assert len(found) == 21
    assert rows(found[:2]) == [
        ("event", "click", 1, 1 / 26, 1, 1.0),
        ("event", "e00", 1, 1 / 26, 0, 0.0),
    ]
    assert rows(found[-1:]) == [("event", "(others)", 6, 6 / 26, 0, 0.0)]


def test_quantiles_of_what_the_rules_measure() -> None:
    assert rows(health()["dwell"]) == [
        ("dwell", "test rows", 8, 1, 0, 30, 50, 60, 90, 90),
        ("dwell", "relevant rows", 5, 0, 40, 50, 60, 90, 90, 90),
    ]


def test_integers_with_few_values_are_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthrows, "FEW_VALUES", 10)
    found = health()
    assert "dwell" not in found
    assert ("dwell", "90", 2, 0.25, 2, 0.4) in rows(found["events"])


def test_truth_by_popularity() -> None:
    # Items 10 and 20 have two train users, 30 has one: the cuts of torso and head are equal.
    assert rows(health()["by_popularity"]) == [
        ("cold", "0", 1, 1, 1 / 3),
        ("tail", "[1,2)", 1, 1, 1 / 3),
        ("head", "[2,inf)", 2, 1, 1 / 3),
    ]


def test_tail_torso_and_head() -> None:
    # Item n has n train users, for n = 1..20: the item 0.8 x 20 = 16 has 17, 0.95 x 20 = 19 has 20.
    train = [(user, item, day(3)) for item in range(1, 21) for user in range(100, 100 + item)]
    test = [(1, 16, day(10)), (1, 17, day(10)), (1, 19, day(10)), (1, 20, day(10)), (1, 1, day(10))]
    assert rows(health_of(view_of(train, test))["by_popularity"]) == [
        ("cold", "0", 0, 0, 0.0),
        ("tail", "[1,17)", 16, 2, 0.4),
        ("torso", "[17,20)", 3, 2, 0.4),
        ("head", "[20,inf)", 1, 1, 0.2),
    ]


def test_truth_by_age() -> None:
    # 30 was first seen on day 2, 20 on day 4 at 9, 40 after the cutoff on day 10.
    assert rows(health()["by_age"]) == [
        ("after the cutoff", "first log row", 1, 1 / 3),
        ("[3,7)", "first log row", 1, 1 / 3),
        ("[7,30)", "first log row", 1, 1 / 3),
    ]


def test_ages_begin_at_their_lower_end() -> None:
    train = [(1, 10, day(3)), (1, 20, day(7)), (1, 30, day(9, 0, 1))]
    test = [(2, 10, day(10, 1)), (2, 20, day(10, 1)), (2, 30, day(10, 1)), (2, 40, CUTOFF)]
    assert [each["age_days"] for each in health_of(view_of(train, test))["by_age"]] == [
        "[0,1)",
        "[3,7)",
        "[7,30)",
    ]


def test_truth_by_age_since_creation() -> None:
    times: list[datetime | None] = [day(9, 12), None]
    items = pl.DataFrame(
        {"item_id": [30, 20], "created_at": times, "available": [True, True]},
        {"item_id": pl.Int64, "created_at": TIMESTAMP_DTYPE, "available": pl.Boolean},
    )
    view = view_of(BEFORE, AFTER)
    known = replace(view, background=replace(view.background, items=items))
    assert rows(health_of(known)["by_age"]) == [
        ("[0,1)", "created_at", 1, 1 / 3),
        ("missing", "created_at", 2, 2 / 3),
    ]
    nobody = items.with_columns(created_at=pl.lit(None, TIMESTAMP_DTYPE))
    unknown = replace(view, background=replace(view.background, items=nobody))
    assert health_of(unknown)["by_age"] == health()["by_age"]


def test_days_of_the_test_window() -> None:
    assert health()["by_day"] == [
        {"day": "2026-01-10", "hours": 24.0, "rows": 3, "relevant_rows": 2, "pairs": 2, "users": 2},
        {
            "day": "2026-01-11",
            "hours": 23.75,
            "rows": 5,
            "relevant_rows": 3,
            "pairs": 2,
            "users": 3,
        },
    ]


def test_days_without_rows_are_shown_and_said() -> None:
    found = health(windows=Windows(CUTOFF, CUTOFF, day(13)), log_end=day(12, 12))
    assert rows(found["by_day"])[2] == ("2026-01-12", 12.0, 0, 0, 0, 0)
    (said,) = [each for each in audit_health(found, fold=1) if each.code == "days_without_rows"]
    assert (said.severity, said.counts, said.fold) == ("warn", {"days": 1}, 1)
    assert said.text == (
        "no log row at all on 1 of 3 UTC days with at least 12 hours in the test window: 2026-01-12"
    )


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        # A log that ends 23:59:50 and a test window of two days: ten seconds of a third day.
        (day(9, 23, 59), day(12), ""),
        (day(9, 12, 1), day(12, 11, 59), ""),
        (day(9, 12), day(12, 11, 59), "1 of 3 UTC days with"),
        (day(9, 12), day(12, 12), "2 of 4 UTC days with"),
        (day(9, 12), day(10, 12), "1 of 2 UTC days with"),
    ],
)
def test_a_day_is_judged_by_twelve_hours_of_it(start: datetime, end: datetime, said: str) -> None:
    found = health(windows=Windows(start, start, end), log_end=end - timedelta(microseconds=1))
    texts = [each.text for each in audit_health(found) if each.code == "days_without_rows"]
    assert len(texts) == bool(said)
    assert all(said in text for text in texts)


def test_a_split_by_user_has_the_days_of_its_rows() -> None:
    cutoffs = {1: day(10, 8), 2: day(11, 9), 3: day(11, 22), 4: day(10, 7)}
    found = health(split="leave_last", cutoffs=cutoffs)["by_day"]
    assert [each["day"] for each in found] == ["2026-01-10", "2026-01-11"]
    assert "hours" not in found[0]


def test_a_log_without_times_has_neither_days_nor_ages() -> None:
    found = health(split="files", timed=False)
    assert not {"by_day", "by_age"} & set(found)


def test_a_horizon_ends_what_is_relevant() -> None:
    rule = GroundTruth(relevant=RULE, horizon="1d")
    marked = mark_relevant(view_of(BEFORE, AFTER, truth=rule)).collect()
    assert marked[healthrows.MARK].sum() == 2


def test_several_kinds_of_positives_are_one_truth() -> None:
    kinds = {"long": {"where": "dwell > 80"}, "any": {"where": "event = 'impression'"}}
    kinds["seen"] = kinds.pop("any")
    marked = mark_relevant(view_of(BEFORE, AFTER, truth=GroundTruth(positives=kinds))).collect()
    assert marked[healthrows.MARK].to_list() == [
        False,
        True,
        False,
        True,
        False,
        False,
        True,
        False,
    ]


DURATIONS = pl.LazyFrame(
    {
        "video_duration_ms": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, None],
        healthrows.MARK: [False, True, False, True, False, True, True, True, True, True, True],
    }
)


def test_positives_by_duration() -> None:
    assert rows(by_duration(DURATIONS)) == [
        ("video_duration_ms", "[-inf,2)", 1, 0, 0.0),
        ("video_duration_ms", "[2,4)", 2, 1, 0.5),
        ("video_duration_ms", "[4,6)", 2, 1, 0.5),
        ("video_duration_ms", "[6,8)", 2, 2, 1.0),
        ("video_duration_ms", "[8,inf)", 3, 3, 1.0),
        ("video_duration_ms", "missing", 1, 1, 1.0),
    ]


def test_durations_of_nothing_but_nulls() -> None:
    empty = DURATIONS.with_columns(video_duration_ms=pl.lit(None, pl.Float64))
    assert rows(by_duration(empty)) == [("video_duration_ms", "missing", 11, 8, 8 / 11)]


def test_a_rule_that_favours_long_items_is_said() -> None:
    longer = [
        {"column": "duration", "band": band, "relevant_share": share}
        for band, share in (("[-inf,9)", 0.1), ("[9,inf)", 0.3), ("missing", 1.0))
    ]
    (found,) = audit_health({"by_duration": longer})
    assert (found.severity, found.code) == ("info", "duration_bias")
    assert found.counts == {"lowest": 0.1, "highest": 0.3, "ratio": 3.0}
    assert found.text == (
        "30.0% of the rows with duration in [9,inf) are relevant, 10.0% of those in [-inf,9): the "
        "rule favours items by their length"
    )
    never = [{**longer[0], "relevant_share": 0.0}, longer[1]]
    assert audit_health({"by_duration": never})[0].counts == {"lowest": 0.0, "highest": 0.3}
    twice = [{**longer[0], "relevant_share": 0.15}, longer[1]]
    assert audit_health({"by_duration": twice}) == ()


def test_evaluated_users_against_all() -> None:
    before = "log rows before the cutoff"
    assert rows(health()["representative"]) == [
        ("users", 2, 4),
        (f"{before}, mean", 2.5, 1.75),
        (f"{before}, 10%", 2, 0),
        (f"{before}, median", 2, 2),
        (f"{before}, 90%", 2, 2),
        ("share without any row before the cutoff", 0.0, 0.25),
        ("share without a train row", 0.0, 0.25),
        ("share of rows before the cutoff with event click", 0.8, 5 / 7),
        ("share of rows before the cutoff with event impression", 0.2, 2 / 7),
    ]


def test_evaluated_users_that_are_another_population_are_said() -> None:
    median = {"fact": "log rows before the cutoff, median", "evaluated": 9.0, "all_users": 4.0}
    (found,) = audit_health({"representative": [median]})
    assert (found.severity, found.code) == ("info", "unlike_users")
    assert found.text == (
        "evaluated users have 9 log rows before the cutoff (median), all users 4: the numbers "
        "speak of the active ones"
    )
    assert audit_health({"representative": [{**median, "evaluated": 8.0}]}) == ()


def test_the_order_of_the_rows_changes_nothing() -> None:
    view = view_of(BEFORE, AFTER)
    sides = ("train", "test", "train_rows")
    turned: AuditView = replace(view, **{name: getattr(view, name).reverse() for name in sides})
    assert health_of(turned) == health_of(view)
