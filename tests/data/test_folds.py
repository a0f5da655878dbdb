from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.data.folds import LeaveLast, Rolling, find_cutoffs, roll_windows
from recoeval.data.sides import look_at_sides
from recoeval.data.splits import Windows
from recoeval.errors import ConfigError, DataError

START = datetime(2022, 5, 1, tzinfo=UTC)
DAY, HOUR, TICK = timedelta(days=1), timedelta(hours=1), timedelta(microseconds=1)


def log_of(*rows: tuple[object, datetime]) -> pl.LazyFrame:
    """Returns a row each user and time; item_id numbers the rows, all are relevant but "view"."""
    return pl.LazyFrame(
        {
            "user_id": [user for user, _ in rows],
            "item_id": range(len(rows)),
            "timestamp": [time for _, time in rows],
        },
        schema_overrides={"timestamp": pl.Datetime("us", "UTC")},
    )


def days(*numbers: float) -> pl.LazyFrame:
    return log_of(*((1, START + number * DAY) for number in numbers))


def items(rows: pl.LazyFrame) -> list[int]:
    return sorted(rows.collect()["item_id"].to_list())


# rolling


def test_the_last_test_window_ends_with_the_log_and_each_is_a_step_earlier():
    log = days(0, 10)
    end = START + 10 * DAY + TICK
    assert roll_windows(Rolling(folds=3, test="2d"), log) == (
        Windows(end - 6 * DAY, end - 6 * DAY, end - 4 * DAY),
        Windows(end - 4 * DAY, end - 4 * DAY, end - 2 * DAY),
        Windows(end - 2 * DAY, end - 2 * DAY, end),
    )


def test_a_step_of_its_own_lets_windows_overlap_or_leave_rows_between():
    log = days(0, 10)
    for step in ("1d", "3d"):
        windows = roll_windows(Rolling(folds=2, test="2d", step=step), log)
        length = DAY if step == "1d" else 3 * DAY
        assert windows[1].cutoff - windows[0].cutoff == length
        assert [each.test_end - each.cutoff for each in windows] == [2 * DAY] * 2


def test_a_sliding_train_window_starts_before_the_gap():
    # By hand: end is day 10 and a tick, the cutoffs 6 and 8, train ends 5 and 7, starts 2 and 4.
    log = days(0, 1, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 10)
    split = Rolling(folds=2, test="2d", train="3d", gap="1d")
    first, last = roll_windows(split, log)
    end = START + 10 * DAY + TICK
    assert first == Windows(end - 5 * DAY, end - 4 * DAY, end - 2 * DAY, end - 8 * DAY)
    names = ("earlier", "train", "gap", "test", "later")
    found = [{name: items(getattr(each, name)(log)) for name in names} for each in (first, last)]
    assert found == [
        {"earlier": [0, 1], "train": [2, 3, 4], "gap": [5], "test": [6, 7], "later": [8, 9]},
        {"earlier": [0, 1, 2, 3], "train": [4, 5, 6], "gap": [7], "test": [8, 9], "later": []},
    ]
    report = look_at_sides(first.train(log), first.test(log), log, first).report
    assert (report.earlier_rows, report.gap_rows, report.later_rows) == (2, 1, 2)
    assert report.train.start == "2022-05-03T00:00:00.000001Z"


def test_a_train_window_that_starts_before_the_log_is_as_long_as_the_log_allows():
    log = days(0, 1, 4)
    (window,) = roll_windows(Rolling(folds=1, test="2d", train="30d"), log)
    assert items(window.train(log)) == [0, 1]
    assert items(window.earlier(log)) == []


@pytest.mark.parametrize(
    ("split", "text", "fit"),
    [
        # Ten days and a tick: the sixth cutoff from behind would be at the row of day 0.
        ({"folds": 6, "test": "2d"}, "6 folds with a test window of 2d, 2d apart", 5),
        (
            {"folds": 5, "test": "2d", "gap": "12h"},
            "5 folds with a test window of 2d after a gap of 12h, 2d apart",
            4,
        ),
        ({"folds": 9, "test": "3d", "step": "1d"}, "9 folds with a test window of 3d, 1d apart", 8),
        ({"folds": 1, "test": "20d"}, "1 fold with a test window of 20d", 0),
    ],
)
def test_folds_that_do_not_fit(split, text, fit):
    log = days(0, 10)
    with pytest.raises(DataError) as error:
        roll_windows(Rolling(**split), log)
    assert str(error.value) == (
        f"split.folds: {text} leave no train rows before the first; the log goes from "
        f"2022-05-01T00:00:00Z to before 2022-05-11T00:00:00.000001Z, where {fit} fit"
    )
    if fit:
        first, *_ = roll_windows(Rolling(**split | {"folds": fit}), log)
        assert items(first.train(log)) == [0]


def test_a_fold_without_test_rows():
    log = days(0, 1, 9)
    first, _, last = roll_windows(Rolling(folds=3, test="2d"), log)
    assert items(last.test(log)) == [2]
    with pytest.raises(DataError) as error:
        look_at_sides(first.train(log), first.test(log), log, first)
    assert str(error.value) == (
        "split.test: no test rows from 2022-05-04T00:00:00.000001Z to before "
        "2022-05-06T00:00:00.000001Z"
    )


def test_windows_beyond_the_calendar():
    split = Rolling(folds=2, test="1d", train="365000d")
    with pytest.raises(ConfigError) as error:
        roll_windows(split, log_of(*((1, datetime(year, 1, 1, tzinfo=UTC)) for year in (1, 3))))
    assert str(error.value) == "split: a window of this split lies outside the years 1 to 9999"


@pytest.mark.parametrize(
    ("split", "text"),
    [
        ({"folds": 0, "test": "1d"}, "greater than or equal to 1"),
        ({"folds": -2, "test": "1d"}, "greater than or equal to 1"),
        ({"folds": 1001, "test": "1d"}, "less than or equal to 1000"),
        ({"folds": 2}, "test"),
        ({"folds": 2, "test": "1d", "step": "0d"}, "greater than 0"),
        ({"folds": 2, "test": "1d", "train": "0d"}, "greater than 0"),
    ],
)
def test_rolling_options(split, text):
    with pytest.raises(ValidationError, match=text):
        Rolling.model_validate(split)


# leave_last


def hours(*rows: tuple[object, float]) -> pl.LazyFrame:
    return log_of(*((user, START + hour * HOUR) for user, hour in rows))


def sides(log: pl.LazyFrame, n: int, relevant: pl.Expr | None = None):
    cutoffs = find_cutoffs(LeaveLast(n=n), log, pl.lit(True) if relevant is None else relevant)
    return items(cutoffs.train(log)), items(cutoffs.test(log)), cutoffs


def test_the_last_row_of_each_user_is_a_test_row():
    log = hours((1, 1), (2, 9), (1, 3), (2, 7), (1, 2))
    train, test, cutoffs = sides(log, 1)
    assert (train, test) == ([0, 3, 4], [1, 2])
    assert cutoffs.by_user.rows() == [(1, START + 3 * HOUR), (2, START + 9 * HOUR)]
    assert cutoffs.by_user.schema["query_time"] == pl.Datetime("us", "UTC")


def test_rows_of_one_time_stay_together_whatever_their_order():
    # Of user 1 the last two rows are at hour 5: n = 1 and n = 2 both take them, n = 3 the next.
    rows = [(1, 5), (1, 2), (1, 5), (1, 4), (2, 6), (2, 6), (2, 1)]
    expected = {1: [0, 2, 4, 5], 2: [0, 2, 4, 5], 3: [0, 2, 3]}
    for n, test in expected.items():
        assert sides(hours(*rows), n)[1] == test
        backwards = sides(hours(*reversed(rows)), n)[1]
        assert backwards == sorted(len(rows) - 1 - row for row in test)


def test_users_without_an_earlier_relevant_row_stay_in_train():
    # User 1 has one row, user 2 two of one time, user 3 fewer than n = 2 and an earlier one.
    log = hours((1, 1), (2, 2), (2, 2), (3, 1), (3, 2), (3, 3))
    train, test, cutoffs = sides(log, 1)
    assert (train, test) == ([0, 1, 2, 3, 4], [5])
    assert cutoffs.counts == {"users_with_test": 1, "users_too_short": 2}
    train, test, cutoffs = sides(log, 2)
    assert (train, test) == ([0, 1, 2, 3], [4, 5])


def test_the_cutoff_is_that_of_relevant_rows_and_other_rows_follow_it():
    log = hours((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 1), (2, 2))
    # Relevant: rows 0, 1 and 3 of user 1, row 6 of user 2; a null is not relevant.
    rule = pl.col("item_id").replace_strict({0: True, 1: True, 3: True, 6: True}, default=None)
    train, test, cutoffs = sides(log, 1, rule)
    assert (train, test) == ([0, 1, 2, 5, 6], [3, 4])
    assert cutoffs.counts == {"users_with_test": 1, "users_too_short": 1}
    assert sides(log, 2, rule)[:2] == ([0, 5, 6], [1, 2, 3, 4])


def test_nobody_has_enough_rows():
    with pytest.raises(DataError) as error:
        sides(hours((1, 1), (1, 2), (2, 5)), 2)
    assert str(error.value) == (
        "split.n: no user has a relevant row before the last 2: 2 users have relevant rows, "
        "the most active one 2"
    )


def test_no_row_is_relevant():
    with pytest.raises(DataError) as error:
        sides(hours((1, 1)), 1, pl.lit(value=False))
    assert str(error.value) == "ground_truth: no row of the log is relevant"


def test_columns_stay_as_they_were():
    log = hours(("b", 1), ("b", 2)).with_columns(query_time=pl.lit("own"))
    cutoffs = find_cutoffs(LeaveLast(), log, pl.lit(True))
    for side in (cutoffs.train(log), cutoffs.test(log)):
        assert side.collect_schema() == log.collect_schema()


@given(
    rows=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5)), min_size=1, max_size=20),
    n=st.integers(1, 4),
)
def test_leave_last_against_its_definition(rows, n):
    """Every row is on one side, and each cutoff is the n-th last time of its user."""
    log = hours(*rows)
    times = {
        user: sorted((hour for who, hour in rows if who == user), reverse=True)
        for user in {user for user, _ in rows}
    }
    expected = {
        user: own[n - 1] for user, own in times.items() if len(own) > n and own[-1] < own[n - 1]
    }
    if not expected:
        with pytest.raises(DataError):
            sides(log, n)
        return
    train, test, cutoffs = sides(log, n)
    found = {user: (time - START) // HOUR for user, time in cutoffs.by_user.rows()}
    assert found == expected
    assert sorted(train + test) == list(range(len(rows)))
    assert test == [
        index for index, (user, hour) in enumerate(rows) if hour >= expected.get(user, 99)
    ]


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_leave_last_options(n):
    with pytest.raises(ValidationError):
        LeaveLast.model_validate({"n": n})
