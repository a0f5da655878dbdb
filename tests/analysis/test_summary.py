from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from recoeval.analysis.summary import interval_of, per_user_table, summarise
from recoeval.columns import SUMMARY_SCHEMA
from recoeval.data.buckets import Buckets
from recoeval.metrics import measures

NONE = Buckets({}, {}, {})


def near(number: Any) -> Any:
    return pytest.approx(number, rel=0, abs=1e-12)


def sums_of(**columns: Any) -> pl.DataFrame:
    """Returns rows as the kernel gives them: sums and values a query, in order of users."""
    size = len(next(iter(columns.values())))
    return pl.DataFrame({"query_id": range(size), "user_id": range(size)} | columns)


def number(summary: pl.DataFrame, statistic: str, metric: str, bucket: str = "all") -> Any:
    found = summary.filter(statistic=statistic, metric=metric, bucket=bucket)
    assert found.height == 1
    return found.row(0, named=True)


# Intervals.


@pytest.mark.parametrize("users", [2, 3, 30, 1000])
@pytest.mark.parametrize("tail", [0.025, 0.05, 0.005])
def test_the_interval_is_that_of_student(users, tail):
    values = np.random.default_rng(users).random(users)
    found = interval_of(values, tail=tail)
    error = stats.sem(values)
    low, high = stats.t.interval(1 - 2 * tail, users - 1, loc=values.mean(), scale=error)
    assert (found.low, found.value, found.high) == near((low, values.mean(), high))
    assert found.standard_error == near(error)
    assert found.users == users


def test_the_interval_is_two_sided_at_95_percent_unless_told():
    values = np.array([0.0, 0.5, 1.0])
    # With 2 degrees t(p) = (2p - 1) / sqrt(2p(1 - p)); the standard error is 0.5 / sqrt(3).
    half = 0.95 / (2 * 0.975 * 0.025) ** 0.5 * 0.5 / 3**0.5
    found = interval_of(values)
    assert (found.low, found.high) == near((0.5 - half, 0.5 + half))


def test_no_variance_is_no_width():
    found = interval_of(np.full(7, 0.25))
    assert (found.value, found.low, found.high, found.standard_error) == (0.25, 0.25, 0.25, 0.0)


def test_one_user_has_no_interval_and_none_has_no_value():
    one, none = interval_of(np.array([0.5])), interval_of(np.array([]))
    assert (one.value, one.low, one.high, one.users, one.standard_error) == (
        0.5,
        None,
        None,
        1,
        None,
    )
    assert (none.value, none.low, none.high, none.users, none.standard_error) == (
        None,
        None,
        None,
        0,
        None,
    )
    assert one.too_few_users
    assert none.too_few_users


@pytest.mark.parametrize(
    ("users", "above_zero", "few"),
    [(500, 500, False), (499, 499, True), (500, 30, False), (500, 29, True), (9999, 29, True)],
)
def test_too_few_users(users, above_zero, few):
    values = np.zeros(users)
    values[:above_zero] = 0.5
    assert interval_of(values).too_few_users is few


# SUMMARY with one query a user.


def test_the_table_has_the_columns_of_the_contract():
    asked = measures(["recall@5", "precision(denominator=returned)@5", "coverage"], [])
    sums = sums_of(
        **{
            "hits@5": [1, 0],
            "relevant": [2, 1],
            "returned": [5, 1],
            "delivered": [5, 1],
            "recall@5": [0.5, 0.0],
            "precision(denominator=returned)@5": [0.2, 0.0],
            "coverage": [1.0, 1.0],
        }
    )
    summary = summarise(sums, asked, NONE, generator="als", fold=3)
    assert summary.schema == SUMMARY_SCHEMA
    keys = ["fold", "generator", "bucket_by", "bucket"]
    assert summary.select(keys).unique().rows() == [(3, "als", "all", "all")]
    wanted = ["macro", "p10", "p50", "p90", "micro"]
    assert summary.select("metric", "name", "k", "statistic").rows() == [
        *(("recall@5", "recall", 5, statistic) for statistic in wanted),
        *(
            ("precision(denominator=returned)@5", "precision(denominator=returned)", 5, statistic)
            for statistic in wanted
        ),
        ("coverage", "coverage", None, "micro"),
    ]
    assert summary.select("queries", "users").unique().rows() == [(2, 2)]


def test_macro_micro_and_quantiles():
    recall = [0.5, 0.0, 1.0, 0.25]
    asked = measures(["recall", "hits"], [5])
    sums = sums_of(
        **{
            "hits@5": [1.0, 0.0, 2.0, 1.0],
            "relevant": [2, 1, 2, 4],
            "recall@5": recall,
        }
    )
    summary = summarise(sums, asked, NONE, generator="als")
    macro = number(summary, "macro", "recall@5")
    low, high = stats.t.interval(0.95, 3, np.mean(recall), stats.sem(recall))
    assert (macro["value"], macro["ci_low"], macro["ci_high"]) == near((0.4375, low, high))
    # 4 hits of 9 relevant items.
    micro = number(summary, "micro", "recall@5")
    assert (micro["value"], micro["ci_low"], micro["ci_high"]) == (4 / 9, None, None)
    for statistic, share in (("p10", 10), ("p50", 50), ("p90", 90)):
        found = number(summary, statistic, "recall@5")
        assert found["value"] == near(np.percentile(recall, share))
        assert (found["ci_low"], found["ci_high"]) == (None, None)
    # A mean over users alone: no query weighs more than another.
    assert summary.filter(statistic="macro_query").is_empty()
    # There is no micro average of a count.
    assert summary.filter(statistic="micro", metric="hits@5").is_empty()
    assert number(summary, "macro", "hits@5")["value"] == 1.0
    assert summary["fold"].unique().to_list() == [0]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # h = 1, 0, 2; |R| = 4, 1, 2; n = 3, 0, 9; K = 5.
        ("precision@5", 3 / 15),
        ("recall@5", 3 / 7),
        ("capped_recall@5", 3 / 7),
        ("f1@5", 2 * 3 / (15 + 7)),
        ("precision(denominator=returned)@5", 3 / (3 + 0 + 5)),
        ("list_fill@5", (3 + 0 + 5) / 15),
        ("coverage", 2 / 3),
        # K = 2: min(K, |R|) = 2, 1, 2.
        ("capped_recall@2", 3 / 5),
    ],
)
def test_micro_averages(metric, expected):
    columns = {
        "hits@5": [1, 0, 2],
        "hits@2": [1, 0, 2],
        "relevant": [4, 1, 2],
        "returned": [3, 0, 9],
        "delivered": [3, 0, 9],
        metric: [0.0, 0.0, 0.0],
    }
    summary = summarise(sums_of(**columns), measures([metric], []), NONE, generator="als")
    assert number(summary, "micro", metric)["value"] == near(expected)


def test_micro_f1_is_the_f1_of_micro_precision_and_micro_recall():
    precision, recall = 3 / 15, 3 / 7
    columns = {"hits@5": [1, 0, 2], "relevant": [4, 1, 2], "f1@5": [0.0] * 3}
    summary = summarise(sums_of(**columns), measures(["f1@5"], []), NONE, generator="als")
    expected = 2 * precision * recall / (precision + recall)
    assert number(summary, "micro", "f1@5")["value"] == near(expected)


@pytest.mark.parametrize(
    ("relevant", "expected"),
    [
        # A query without relevant items adds its K to the precision.
        ([2, 0], 2 * 1 / (5 + 5 + 2)),
        # Of nothing there is no recall, and no F1 with it.
        ([0, 0], None),
    ],
)
def test_micro_f1_of_queries_without_relevant_items(relevant, expected):
    columns = {"hits@5": [min(size, 1) for size in relevant], "relevant": relevant}
    asked = measures(["f1@5", "recall@5", "precision@5"], [])
    sums = sums_of(**columns, **{measure.label: [0.0, 0.0] for measure in asked})
    summary = summarise(sums, asked, NONE, generator="als")
    assert number(summary, "micro", "f1@5")["value"] == expected
    assert (number(summary, "micro", "recall@5")["value"] is None) == (expected is None)
    assert number(summary, "micro", "precision@5")["value"] == sum(columns["hits@5"]) / 10


def test_a_ratio_of_nothing_is_null():
    columns = {"tied@5": [0, 0], "scored": [0, 0]}
    summary = summarise(sums_of(**columns), measures(["tie_share@5"], []), NONE, generator="als")
    row = number(summary, "micro", "tie_share@5")
    assert (row["value"], row["users"]) == (None, 2)
    assert summary.height == 1


@pytest.mark.parametrize(("users", "few"), [(499, True), (500, False)])
def test_marks_of_too_few_users(users, few):
    values = [0.0] * (users - 29) + [1.0] * 29
    columns = {
        "hits@5": values,
        "relevant": [1] * users,
        "delivered": [1] * users,
        "recall@5": values,
        "coverage": [1.0] * users,
    }
    asked = measures(["recall@5", "coverage"], [])
    summary = summarise(sums_of(**columns), asked, NONE, generator="als")
    # 29 users with a hit are too few for a mean, whatever the number of users.
    for statistic in ("macro", "p10", "p50", "p90"):
        assert number(summary, statistic, "recall@5")["too_few_users"]
    assert number(summary, "micro", "recall@5")["too_few_users"] is few
    assert number(summary, "micro", "coverage")["too_few_users"] is few


# Several queries a user.

SEVERAL = pl.DataFrame(
    {
        "query_id": ["a", "b", "c", "d", "e"],
        "user_id": [1, 1, 1, 2, 3],
        "hits@5": [1, 0, 0, 2, 1],
        "relevant": [1, 1, 2, 2, 2],
        "recall@5": [1.0, 0.0, 0.0, 1.0, 0.5],
    }
)


def test_queries_of_a_user_are_one_cluster():
    summary = summarise(SEVERAL, measures(["recall@5"], []), NONE, generator="als")
    assert summary["statistic"].to_list() == ["macro", "macro_query", "p10", "p50", "p90", "micro"]
    by_user = [1 / 3, 1.0, 0.5]
    macro = number(summary, "macro", "recall@5")
    assert macro["value"] == near(np.mean(by_user))
    low, high = stats.t.interval(0.95, 2, np.mean(by_user), stats.sem(by_user))
    assert (macro["ci_low"], macro["ci_high"]) == near((low, high))
    by_query = number(summary, "macro_query", "recall@5")
    assert (by_query["value"], by_query["ci_low"]) == (near(2.5 / 5), None)
    assert number(summary, "p50", "recall@5")["value"] == near(0.5)
    assert number(summary, "p90", "recall@5")["value"] == near(np.quantile(by_user, 0.9))
    assert number(summary, "micro", "recall@5")["value"] == 4 / 8
    assert summary.select("queries", "users").unique().rows() == [(5, 3)]


def test_a_bucket_of_single_queries_still_shows_the_mean_over_queries():
    labels = pl.Series(["x", "y", "y", "x", "x"])
    buckets = Buckets({"b": labels}, {"b": ("x", "y", "z")}, {"b": (1.0,)})
    summary = summarise(SEVERAL, measures(["recall@5"], []), buckets, generator="als")
    sizes = summary.select("bucket_by", "bucket", "queries", "users").unique(maintain_order=True)
    assert sizes.rows() == [
        ("all", "all", 5, 3),
        ("b", "x", 3, 3),
        ("b", "y", 2, 1),
        ("b", "z", 0, 0),
    ]
    # In x user 1 has the query with 1, in y the ones with 0.
    assert number(summary, "macro", "recall@5", "x")["value"] == near((1 + 1 + 0.5) / 3)
    assert number(summary, "macro", "recall@5", "y")["value"] == 0.0
    assert number(summary, "macro_query", "recall@5", "x")["value"] == near(2.5 / 3)
    assert number(summary, "micro", "recall@5", "y")["value"] == 0.0
    # A single user has no interval.
    assert number(summary, "macro", "recall@5", "y")["ci_low"] is None


@pytest.mark.parametrize("sums", [SEVERAL, SEVERAL.filter(pl.col("hits@5") > 0)])
def test_an_empty_bucket_has_rows_without_values(sums):
    labels = pl.Series(["x"] * sums.height)
    buckets = Buckets({"b": labels}, {"b": ("x", "z")}, {"b": (1.0,)})
    sums = sums.with_columns(delivered=1, coverage=1.0)
    asked = measures(["recall@5", "coverage"], [])
    summary = summarise(sums, asked, buckets, generator="als")
    empty = summary.filter(bucket="z")
    numbers = ["queries", "users", "value", "ci_low", "ci_high", "too_few_users"]
    assert empty.select(numbers).unique().rows() == [(0, 0, None, None, None, True)]
    assert empty["statistic"].to_list() == summary.filter(bucket="x")["statistic"].to_list()


def test_means_that_the_policy_gives_are_means_of_all_queries():
    # A query without list quality (null) is no 0 in the mean of its user.
    rows = SEVERAL.with_columns(
        pl.lit(0).alias("fold"),
        pl.lit("als").alias("generator"),
        pl.Series("returned", [5, 0, 1, 2, 3]),
        pl.Series("duplicate_share", [0.5, None, 0.0, None, 0.25]),
    )
    asked = measures(["recall@5", "duplicate_share"], [])
    found = per_user_table(rows.sample(fraction=1, shuffle=True, seed=1), asked)
    assert found.columns == [
        "fold",
        "generator",
        "user_id",
        "relevant",
        "returned",
        "recall@5",
        "duplicate_share",
    ]
    assert found.rows() == [
        (0, "als", 1, 4 / 3, 2.0, 1 / 3, 0.25),
        (0, "als", 2, 2.0, 2.0, 1.0, None),
        (0, "als", 3, 2.0, 3.0, 0.5, 0.25),
    ]


def test_users_are_apart_by_fold_and_generator():
    rows = pl.DataFrame(
        {
            "fold": [1, 0, 0, 0],
            "generator": ["als", "pop", "als", "als"],
            "query_id": [1, 1, 1, 2],
            "user_id": [7, 7, 7, 7],
            "relevant": [1, 1, 1, 1],
            "returned": [1, 1, 1, 1],
            "recall@5": [0.1, 0.2, 0.5, 1.0],
        }
    )
    found = per_user_table(rows, measures(["recall@5"], []))
    assert found.select("fold", "generator", "recall@5").rows() == [
        (0, "als", 0.75),
        (0, "pop", 0.2),
        (1, "als", 0.1),
    ]


# Parts of the truth, and queries that have a list.


def test_a_restricted_truth_counts_where_it_is_not_empty():
    label = "recall(rel=2)@5"
    sums = SEVERAL.with_columns(
        pl.Series(label, [1.0, None, 0.0, None, None]),
        pl.Series(f"above {label}", [1, 0, 0, 0, 0]),
        pl.Series(f"below {label}", [1, 0, 2, 0, 0]),
    )
    summary = summarise(sums, measures(["recall@5", label], []), NONE, generator="als")
    whole, part = (
        summary.filter(metric=metric).select("queries", "users").unique().rows()
        for metric in ("recall@5", label)
    )
    assert (whole, part) == ([(5, 3)], [(2, 1)])
    # Only user 1 has such items, in two queries.
    for statistic, value in (("macro", 0.5), ("macro_query", 0.5), ("p50", 0.5), ("micro", 1 / 3)):
        assert number(summary, statistic, label)["value"] == value
    assert number(summary, "macro", label)["ci_low"] is None


def test_a_restricted_truth_without_any_query():
    sums = SEVERAL.with_columns(
        pl.lit(None, pl.Float64).alias("recall_ceiling"), **{"out of reach": 0, "relevant": 0}
    )
    summary = summarise(sums, measures(["recall_ceiling"], []), NONE, generator="als")
    numbers = ["queries", "users", "value", "ci_low", "ci_high", "too_few_users"]
    assert summary.select(numbers).unique().rows() == [(0, 0, None, None, None, True)]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1]])
def test_parts_of_the_truth_stand_after_the_buckets(order: list[int]):
    # Query a and d have cold items, all but d have warm ones.
    sliced = pl.DataFrame(
        {
            "bucket_by": ["coldness"] * 5,
            "bucket": ["cold", "warm", "warm", "warm", "cold"],
            "query_id": ["a", "a", "b", "c", "d"],
            "user_id": [1, 1, 1, 1, 2],
            "hits@5": [0, 1, 0, 0, 2],
            "relevant": [1, 1, 1, 2, 2],
            "delivered": [5, 5, 0, 5, 5],
            "recall@5": [0.0, 1.0, 0.0, 0.0, 1.0],
        }
    )
    buckets = Buckets({"b": pl.Series(["x"] * 5)}, {"b": ("x",)}, {"b": ()})
    sums = SEVERAL.with_columns(delivered=pl.Series([5, 0, 5, 5, 5]), coverage=1.0)
    summary = summarise(
        sums,
        measures(["coverage", "recall@5"], []),
        buckets,
        generator="als",
        sliced=sliced[order],
        slices={"coldness": ("cold", "warm", "none")},
        served=True,
    )
    shown = summary.filter(statistic="macro").select("bucket_by", "bucket", "queries", "users")
    assert shown.rows() == [
        ("all", "all", 5, 3),
        ("b", "x", 5, 3),
        ("coldness", "cold", 2, 2),
        ("coldness", "warm", 3, 1),
        ("coldness", "none", 0, 0),
        ("served", "served", 4, 3),
    ]
    # Lists are not split by what is relevant.
    assert summary.filter(metric="coverage")["bucket_by"].unique().sort().to_list() == ["all", "b"]
    values = {
        bucket: (
            number(summary, "macro", "recall@5", bucket)["value"],
            number(summary, "macro_query", "recall@5", bucket)["value"],
            number(summary, "micro", "recall@5", bucket)["value"],
        )
        for bucket in ("cold", "warm", "none", "served")
    }
    assert values["cold"] == ((0 + 1) / 2, (0 + 1) / 2, (0 + 2) / (1 + 2))
    assert values["warm"] == near((1 / 3, 1 / 3, 1 / 4))
    assert values["none"] == (None, None, None)
    # Of user 1 query b has no list: (1 + 0) / 2.
    assert values["served"] == near(((0.5 + 1 + 0.5) / 3, (1 + 0 + 1 + 0.5) / 4, 4 / 7))
