"""Parts of the truth, served users and the catalogue, as they are shown."""

import polars as pl

from recoeval.metrics import measures
from recoeval.report.numbers import (
    all_shown,
    bucket_tables,
    catalogue_tables,
    list_quality,
    metric_table,
    names_of_users,
)
from recoeval.report.values import Count, Interval, Rate, Table
from tests.report.helpers import summary_of

(RECALL,) = measures(["recall"], [5])
SHOWN = all_shown((RECALL,), RECALL)
ENDS = Interval(0.125, 0.375)
PART_NOTE = "each over the users with such a relevant item: a user may stand in several rows"


def row(bucket_by: str, bucket: str, users: int) -> tuple[int, str, str, str, str, str, int, float]:
    return (0, "als", bucket_by, bucket, "recall@5", "macro", users, 0.25)


SUMMARY = summary_of(
    row("all", "all", 900),
    row("activity", "0", 300),
    row("activity", "[1,inf)", 600),
    row("coldness", "cold", 500),
    row("coldness", "warm", 800),
    row("positives", "buy", 100),
    row("positives", "view", 900),
    row("served", "served", 700),
    row("head_tail", "head", 890),
    row("head_tail", "tail", 20),
)


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_parts_of_the_truth_say_whom_they_are_about() -> None:
    tables = {each.title: each for each in bucket_tables(SUMMARY, SHOWN, full=False)}
    assert list(tables) == [
        "Metrics by activity",
        "Metrics on cold and warm pairs",
        "Metrics by kind of positives",
        "Metrics over the users with a list",
        "Metrics by head_tail",
    ]
    assert {title for title, each in tables.items() if PART_NOTE in each.notes} == {
        "Metrics on cold and warm pairs",
        "Metrics by kind of positives",
        "Metrics by head_tail",
    }
    assert tables["Metrics on cold and warm pairs"].rows == (
        ("als", "cold", Count(500), Rate(0.25), ENDS),
        ("als", "warm", Count(800), Rate(0.25), ENDS),
    )


def test_parts_that_nobody_asked_for_show_the_leading_metric_alone() -> None:
    measured = measures(["recall", "hits"], [5])
    shown = all_shown(measured, measured[0])
    names = {each.title: titles(each) for each in bucket_tables(SUMMARY, shown, full=False)}
    assert names["Metrics on cold and warm pairs"][3:] == ["recall@5", "95% interval"]
    assert names["Metrics by head_tail"][3:] == ["recall@5", "95% interval", "hits@5"]
    for found in bucket_tables(SUMMARY, shown, full=True):
        assert titles(found)[-1] == "hits@5"


def test_a_part_that_is_all_of_the_truth_is_left_out() -> None:
    alike = SUMMARY.with_columns(
        users=pl.when(pl.col("bucket") == "cold").then(0).otherwise("users").cast(pl.Int64)
    )
    names = [each.title for each in bucket_tables(alike, SHOWN, full=True)]
    assert "Metrics on cold and warm pairs" not in names
    assert len(names) == 4


def test_which_buckets_split_the_users() -> None:
    assert names_of_users(SUMMARY) == ["activity"]
    # Even where each query has relevant items of one kind alone.
    rows = [row("all", "all", 9), row("coldness", "cold", 1), row("coldness", "warm", 8)]
    assert names_of_users(summary_of(*rows)) == []


def test_served_users_have_no_bucket() -> None:
    found = bucket_tables(
        SUMMARY.filter(pl.col("bucket_by").is_in(["all", "served"])), SHOWN, full=False
    )
    assert titles(found[0]) == ["generator", "users", "recall@5", "95% interval"]
    assert found[0].rows == (("als", Count(700), Rate(0.25), ENDS),)


def test_queries_are_shown_where_users_have_several() -> None:
    several = SUMMARY.with_columns(queries=pl.col("queries") * 2)
    found = bucket_tables(several, SHOWN, full=False)[0]
    assert titles(found)[:4] == ["generator", "bucket", "users", "queries"]
    assert found.rows[0][:4] == ("als", "0", Count(300, few=True), 600)


def test_a_metric_of_a_part_of_the_truth_says_over_how_many_users() -> None:
    measured = measures(["recall", "recall(rel=2)"], [5])
    narrow = (0, "als", "all", "all", "recall(rel=2)@5", "macro", 1500, 0.5)
    wide = (0, "als", "all", "all", "recall@5", "macro", 2500, 0.25)
    found = metric_table(summary_of(wide, narrow), all_shown(measured, measured[0]))
    assert found.title == "Metrics, means over 2,500 users"
    assert found.notes == ("recall(rel=2): over the 1,500 users with such a relevant item",)


def test_lists_and_catalogue_are_tables_of_their_own() -> None:
    measured = measures(["recall", "coverage", "item_coverage", "entropy"], [5])
    rows = [
        (0, "als", "all", "all", "recall@5", "macro", 900, 0.25),
        (0, "als", "all", "all", "coverage", "micro", 900, 1.0),
        (0, "als", "all", "all", "item_coverage@5", "micro", 900, 0.5),
        (0, "als", "all", "all", "entropy@5", "micro", 900, None),
        (0, "als", "activity", "0", "recall@5", "macro", 900, 0.25),
        (0, "als", "activity", "0", "item_coverage@5", "micro", 900, 0.125),
        (0, "als", "activity", "0", "entropy@5", "micro", 900, 3.5),
    ]
    summary = summary_of(*rows)
    lists = list_quality(summary, measured)
    assert lists is not None
    assert (titles(lists), lists.rows) == (["generator", "coverage"], (("als", Rate(1.0)),))
    overall, by_activity = catalogue_tables(summary, measured, full=True)
    assert catalogue_tables(summary, measured, full=False) == [overall]
    assert overall.title == "Items in the lists"
    assert overall.rows == (("als", Rate(0.5), Rate(None)),)
    assert overall.notes == ("-  no value: nothing is listed",)
    assert by_activity.title == "Items in the lists by activity"
    assert titles(by_activity) == ["generator", "bucket", "item_coverage@5", "entropy@5"]
    assert by_activity.rows == (("als", "0", Rate(0.125), Rate(3.5)),)


def test_nobody_asked_for_the_catalogue() -> None:
    assert catalogue_tables(SUMMARY, (RECALL,), full=True) == []
    assert list_quality(SUMMARY, (RECALL,)) is None
