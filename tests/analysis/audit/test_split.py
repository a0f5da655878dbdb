"""Faults of a split, planted one by one; the clean log gives nothing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from recoeval.analysis.audit import AuditView, audit_data
from recoeval.data.truth import GroundTruth, SeenRule, TrainingRule
from tests.analysis.views import CUTOFF, RULE, TEST, TRAIN, day, view_of

# Leave-last: each user's cutoff is the time of the last relevant row.
OWN_TRAIN = [(1, 10, day(1)), (1, 20, day(2)), (2, 10, day(2)), (2, 20, day(3))]
OWN_TEST = [(1, 20, day(4)), (2, 10, day(5))]
OWN = {1: day(4), 2: day(5)}


def codes(view: AuditView) -> list[tuple[str, str]]:
    return [(each.severity, each.code) for each in audit_data(view)]


def only(view: AuditView, code: str) -> Any:
    (found,) = [each for each in audit_data(view) if each.code == code]
    return found


@pytest.mark.parametrize(
    "view",
    [
        view_of(),
        view_of(split="rolling"),
        view_of(split="files"),
        view_of(split="files", timed=False),
        view_of(
            [*OWN_TRAIN, (9, 30, day(3))],
            [(1, 30, day(4)), (2, 30, day(5))],
            split="leave_last",
            cutoffs=OWN,
        ),
    ],
    ids=["time", "rolling", "files", "untimed", "leave_last"],
)
def test_a_clean_log_gives_nothing(view: AuditView) -> None:
    assert audit_data(view) == ()


def test_a_train_row_at_the_cutoff_is_severe() -> None:
    found = only(view_of([*TRAIN, (3, 30, CUTOFF), (2, 20, day(11))]), "train_after_cutoff")
    assert found.severity == "severe"
    assert found.counts == {"rows": 2}
    assert found.text == (
        "2 train rows at or after the cutoff: the model has seen what it is asked"
    )


def test_a_log_row_of_the_train_side_after_the_cutoff_is_severe_too() -> None:
    # It is no train row, but it counts as activity.
    found = only(view_of([*TRAIN, (3, 30, day(11), "impression", 0)]), "train_after_cutoff")
    assert found.counts == {"rows": 1}


def test_the_last_moment_before_the_cutoff_is_clean() -> None:
    last = CUTOFF - timedelta(microseconds=1)
    assert audit_data(view_of([*TRAIN, (1, 20, last)])) == ()


def test_a_train_row_after_its_own_users_cutoff_is_severe() -> None:
    view = view_of(
        [*OWN_TRAIN, (1, 10, day(4))],
        [(1, 30, day(4)), (2, 30, day(5))],
        split="leave_last",
        cutoffs=OWN,
    )
    found = only(view, "train_after_cutoff")
    assert (found.severity, found.counts) == ("severe", {"rows": 1})
    assert found.text == (
        "1 train row at or after their own user's cutoff: the model has seen what it is asked"
    )


def test_the_first_of_a_users_queries_is_the_limit() -> None:
    view = view_of(
        [*OWN_TRAIN, (1, 10, day(4, 5))],
        [(1, 30, day(4)), (2, 30, day(5))],
        split="leave_last",
        cutoffs=OWN,
    )
    again = view.truth.queries.head(1).with_columns(query_id=77, query_time=day(4, 9))
    queries = pl.concat([view.truth.queries, again.cast(view.truth.queries.schema)])
    twice = replace(view, truth=replace(view.truth, queries=queries))
    assert only(twice, "train_after_cutoff").counts == {"rows": 1}


@pytest.mark.parametrize(("late", "severity"), [(1, "info"), (2, "warn")])
def test_leave_last_looks_into_the_future_of_others(late: int, severity: str) -> None:
    # Of 12 train rows one or two are later than the cutoff of user 1, the median; more are later
    # than that of user 3, the first one.
    between = [(9, 20, day(3, n + 1)) for n in range(8 - late)]
    view = view_of(
        [*OWN_TRAIN, *between, *((9, 20, day(5, n + 1)) for n in range(late))],
        [(1, 30, day(4)), (2, 30, day(5)), (3, 20, day(3))],
        split="leave_last",
        cutoffs={**OWN, 3: day(3)},
    )
    found = only(view, "train_looks_ahead")
    assert (found.severity, found.counts) == (severity, {"rows": late, "share": late / 12})
    share = {1: "1 train row (8.3%)", 2: "2 train rows (16.7%)"}[late]
    assert found.text == (
        f"{share} later than the median cutoff, 2026-01-04T00:00:00Z: a model learns from what "
        "others did afterwards"
    )


def test_files_that_are_not_split_by_time_are_said() -> None:
    view = view_of([*TRAIN, (1, 20, day(10, 9)), (1, 20, day(10, 8))], split="files")
    found = only(view, "train_looks_ahead")
    assert (found.severity, found.counts) == ("warn", {"rows": 1, "share": 1 / 7})
    assert found.text == (
        "1 train row (14.3%) later than the first test row, 2026-01-10T08:00:00Z: the files are "
        "not split by time"
    )


def test_rows_in_both_files_are_severe() -> None:
    shared = [(2, 20, day(11, 9), "impression", 0), (2, 20, day(11, 9), "impression", 1)]
    found = only(view_of([*TRAIN, *shared], split="files"), "rows_in_train_and_test")
    assert (found.severity, found.counts) == ("severe", {"rows": 1})
    assert found.text == (
        "1 test row with the same user, item and time as a train row: the files overlap, and the "
        "model has seen its test"
    )
    near = [(2, 20, day(11, 8)), (1, 20, day(11, 9)), (2, 10, day(11, 9))]
    assert "rows_in_train_and_test" not in str(codes(view_of([*TRAIN, *near], split="files")))


def test_a_truth_pair_in_train_that_should_have_left_is_severe() -> None:
    view = view_of(test=[*TEST, (1, 10, day(11))], forget_seen=True)
    found = only(view, "truth_in_train")
    assert (found.severity, found.counts) == ("severe", {"pairs": 1, "share": 0.25})
    assert found.text == (
        "1 relevant pair (25.0%) with a train row, though such pairs leave the truth: it leaked "
        "into training"
    )


def test_a_seen_rule_of_its_own_explains_truth_pairs_in_train() -> None:
    own = SeenRule(where="event = 'impression'")
    found = only(view_of(test=[*TEST, (1, 10, day(11))], seen=own), "truth_in_train")
    assert (found.severity, found.counts["pairs"]) == ("warn", 1)
    assert found.text == (
        "1 relevant pair (25.0%) with a train row: the seen rule leaves them in, and a model "
        "finds them by heart"
    )


def test_a_window_of_the_seen_rule_explains_them_too() -> None:
    view = view_of(test=[*TEST, (1, 10, day(11))], seen=SeenRule(window="1d"), forget_seen=True)
    assert only(view, "truth_in_train").severity == "warn"


def test_repeats_that_count_are_said() -> None:
    rule = GroundTruth(relevant=RULE, repeats="include")
    found = only(view_of(test=[*TEST, (1, 10, day(11))], truth=rule), "truth_in_train")
    assert (found.severity, found.counts["pairs"]) == ("info", 1)
    assert found.text == (
        "1 relevant pair (25.0%) with a train row; repeats: include says that they count"
    )


def test_a_truth_that_is_all_in_train_is_doubted() -> None:
    """The same file on both sides, where repeats count and nothing has a time."""
    rule = GroundTruth(relevant=RULE, repeats="include")
    view = view_of(test=TRAIN, truth=rule, split="files", timed=False)
    found = only(view, "truth_in_train")
    assert (found.severity, found.counts["share"]) == ("warn", 1.0)
    assert found.text == (
        "5 relevant pairs (100.0%) with a train row, all of them: are train and test the same rows?"
    )


def test_repeats_that_left_the_truth_are_clean() -> None:
    assert audit_data(view_of(test=[*TEST, (1, 10, day(11))])) == ()


@pytest.mark.parametrize("split", ["time", "files"])
def test_items_without_a_row_before_the_cutoff(split: str) -> None:
    new = [(1, 70, day(11)), (2, 70, day(11, 1)), (2, 80, day(10, 2))]
    found = only(view_of(test=[*TEST, *new], split=split), "items_after_cutoff")
    assert found.severity == "info"
    assert found.counts == {"pairs": 3, "items": 2, "share": 0.5}
    assert found.text == (
        "3 relevant pairs (50.0%) on 2 items without any log row before the cutoff: who learns "
        "from the log cannot find them"
    )


def test_an_item_that_begins_at_the_cutoff_was_not_known_before() -> None:
    found = only(view_of(test=[*TEST, (1, 70, CUTOFF)]), "items_after_cutoff")
    assert found.counts["pairs"] == 1


def test_a_mere_impression_makes_an_item_known() -> None:
    shown = (9, 70, day(9), "impression", 0)
    assert audit_data(view_of([*TRAIN, shown], [*TEST, (1, 70, day(11))])) == ()
    # Also in the gap, which neither side uses.
    view = view_of(test=[*TEST, (1, 70, day(11))], unused=[(9, 70, day(9))])
    assert audit_data(view) == ()


def test_ties_at_the_cutoff() -> None:
    tied = [(1, 30, CUTOFF), (3, 10, CUTOFF, "impression", 0)]
    found = only(view_of(test=[*TEST, *tied]), "ties_at_cutoff")
    assert (found.severity, found.counts) == ("info", {"rows": 2})
    assert found.text == ("2 rows at the cutoff 2026-01-10T00:00:00Z itself; all are test rows")
    assert audit_data(view_of(test=[*TEST, tied[0]])) == ()


def test_ties_at_a_users_own_cutoff() -> None:
    test = [(1, 30, day(4)), (1, 40, day(4), "impression", 0), (2, 30, day(5))]
    train = [*OWN_TRAIN, (9, 30, day(3))]
    found = only(view_of(train, test, split="leave_last", cutoffs=OWN), "ties_at_cutoff")
    assert (found.severity, found.counts) == ("info", {"users": 1, "rows": 2})
    assert found.text == (
        "1 user with several rows at their own cutoff (2 rows); rows of one time stay together, so "
        "these users have more test rows than asked for"
    )


def test_a_test_window_that_the_log_does_not_fill() -> None:
    found = only(view_of(log_end=day(11)), "window_beyond_log")
    assert (found.severity, found.counts) == ("warn", {"missing_hours": 24.0})
    assert found.text == (
        "the test window ends 2026-01-12T00:00:00Z, the log 2026-01-11T00:00:00Z: 50.0% of the "
        "window has no rows"
    )


def test_a_horizon_beyond_the_end_of_the_log() -> None:
    kinds = {
        "view": {"where": RULE},
        "buy": {"where": "event = 'click'", "horizon": "7d"},
    }
    found = only(view_of(truth=GroundTruth(positives=kinds)), "horizon_beyond_log")
    assert (found.severity, found.counts) == ("warn", {"queries": 3, "share": 1.0})
    assert found.text == (
        "the horizon of buy ends after the log for 3 queries (100.0%): their truth is not "
        "complete. Take a shorter horizon, or an earlier test_start"
    )
    whole = GroundTruth(relevant=RULE, horizon="2d")
    assert only(view_of(truth=whole), "horizon_beyond_log").text.startswith(
        "the horizon of the truth ends"
    )


@pytest.mark.parametrize(
    ("split", "remedy"),
    [
        ("rolling", ". Take a shorter horizon, or a longer test window"),
        # Each user's cutoff is what it is.
        ("leave_last", ". Take a shorter horizon"),
    ],
)
def test_what_to_do_about_a_horizon_fits_the_split(split: str, remedy: str) -> None:
    cutoffs = dict.fromkeys((1, 2, 3), CUTOFF) if split == "leave_last" else None
    view = view_of(truth=GroundTruth(relevant=RULE, horizon="7d"), split=split, cutoffs=cutoffs)
    assert only(view, "horizon_beyond_log").text.endswith(f"not complete{remedy}")


@pytest.mark.parametrize(("before_the_end", "short"), [(1, False), (2, True)])
def test_a_horizon_that_ends_with_the_log(before_the_end: int, short: bool) -> None:
    # The last row of the log is a microsecond before the end of a horizon that it fills.
    end = day(12) - timedelta(microseconds=before_the_end)
    view = view_of(truth=GroundTruth(relevant=RULE, horizon="2d"), log_end=end)
    assert ("warn", "horizon_beyond_log") in codes(view) or not short
    assert codes(view) == [("warn", "horizon_beyond_log")] * short


def test_a_training_rule_unlike_the_truth() -> None:
    view = view_of(training=TrainingRule(where="event = 'click'"))
    found = only(view, "training_unlike_truth")
    assert (found.severity, found.counts) == ("info", {"train_rows": 5})
    assert found.text == (
        "generators learn from rows where event = 'click' (5 rows) and are held against rows "
        "where event = 'click' AND dwell > 30"
    )
    same = TrainingRule(where="event = 'click'  AND dwell > 30")
    assert audit_data(view_of(training=same)) == ()


def test_a_finding_knows_its_fold() -> None:
    (found,) = audit_data(view_of(log_end=day(11), fold=3))
    assert found.fold == 3
