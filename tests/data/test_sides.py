"""Users and items of the sides of a split; test_splits.py holds the counts of rows."""

from datetime import UTC, timedelta

import numpy as np
import polars as pl

from recoeval.data.sides import look_at_sides
from recoeval.data.splits import Windows
from tests.data.helpers import naive

START = naive(2026, 1, 1)
DAY = timedelta(days=1)


def log_of(*rows: tuple[int, int, int]) -> pl.LazyFrame:
    """Returns a log of user, item and day."""
    table = pl.DataFrame(
        [(user, item, START + day * DAY) for user, item, day in rows],
        {"user_id": pl.Int64, "item_id": pl.Int64, "timestamp": pl.Datetime("us")},
        orient="row",
    )
    return table.lazy().with_columns(pl.col("timestamp").dt.replace_time_zone("UTC"))


def test_users_and_items_of_both_sides():
    rows = [(2, 7, 0), (1, 7, 1), (1, 8, 1), (3, 9, 2), (1, 9, 3), (3, 6, 3), (3, 7, 4), (4, 5, 6)]
    log = log_of(*rows)
    cutoff = (START + 3 * DAY).replace(tzinfo=UTC)
    windows = Windows(cutoff - DAY, cutoff, cutoff + 2 * DAY)
    sides = look_at_sides(windows.train(log), windows.test(log), log, windows)
    # The gap holds day 2, and day 6 is later: user 4 is on neither side.
    assert sides.users.rows() == [(1, 2, True), (2, 1, False), (3, 0, True)]
    assert sides.users.schema == {
        "user_id": pl.Int64,
        "train_interactions": pl.Int64,
        "tested": pl.Boolean,
    }
    days = (pl.col("first") - pl.lit(START).dt.replace_time_zone("UTC")).dt.total_days()
    assert sides.items.select("item_id", "trained", "tested", days).rows() == [
        (5, False, False, 6),
        (6, False, True, 3),
        (7, True, True, 0),
        (8, True, False, 1),
        (9, False, True, 2),
    ]
    assert sides.coding.decode(sides.rows).rows() == [(1, 7), (1, 8), (2, 7)]
    report = sides.report
    assert (report.gap_rows, report.later_rows, report.earlier_rows) == (1, 1, 0)


def test_rows_without_times_have_no_first():
    rows = log_of((1, 7, 0), (2, 8, 0)).drop("timestamp")
    sides = look_at_sides(rows, rows, None, None)
    assert sides.items.columns == ["item_id", "trained", "tested"]
    assert sides.items["trained"].all()


def test_marks_stand_behind_the_codes_of_train_rows():
    train = log_of((2, 7, 0), (1, 8, 1), (2, 7, 1), (1, 9, 2))
    marks = [pl.col("item_id") < 9, pl.when(pl.col("user_id") == 2).then(pl.lit(True))]
    sides = look_at_sides(train, log_of((0, 1, 5)), None, None, marks)
    found = sides.coding.decode(sides.rows >> np.uint64(2)).rows()
    bits = (sides.rows & np.uint64(3)).tolist()
    assert [*zip(found, bits, strict=True)] == [((1, 8), 2), ((1, 9), 0), ((2, 7), 3), ((2, 7), 3)]
    assert sides.users["train_interactions"].to_list() == [0, 2, 2]
    assert (sides.report.test.users, sides.report.test.items) == (1, 1)
