"""Several folds, as they are shown."""

import polars as pl

from recoeval.analysis.spread import spread_over_folds
from recoeval.metrics import measures
from recoeval.report.folds import fold_tables, means_over_folds
from recoeval.report.numbers import all_shown, bucket_tables, metric_table
from recoeval.report.values import Count, Interval, Rate, Table
from tests.report.helpers import summary_of

RECALL, HITS = measures(["recall", "hits"], [5])
SUMMARY = summary_of(
    (0, "als", "all", "all", "recall@5", "macro", 600, 0.25),
    (0, "als", "all", "all", "hits@5", "macro", 600, 1.0),
    (0, "als", "activity", "0", "recall@5", "macro", 600, 0.25),
    (1, "als", "all", "all", "recall@5", "macro", 400, 0.75),
    (1, "als", "all", "all", "hits@5", "macro", 400, 3.0),
    (1, "als", "activity", "0", "recall@5", "macro", 0, None),
    (1, "als", "activity", "9", "recall@5", "macro", 400, 0.75),
)
FOLDS = spread_over_folds(SUMMARY)
SHOWN = all_shown((RECALL, HITS), RECALL)


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_one_fold_has_no_tables() -> None:
    one = SUMMARY.filter(fold=0)
    assert fold_tables(one, spread_over_folds(one), SHOWN) == []


def test_how_far_the_folds_are_apart() -> None:
    spread, _ = fold_tables(SUMMARY, FOLDS, SHOWN)
    assert spread.title == "Spread over 2 folds"
    assert titles(spread) == ["generator", "metric", "mean", "sd", "min", "max"]
    assert spread.rows == (
        ("als", "recall@5", Rate(0.5), Rate(0.125**0.5), Rate(0.25), Rate(0.75)),
        ("als", "hits@5", Rate(2.0), Rate(2.0**0.5), Rate(1.0), Rate(3.0)),
    )


def test_each_fold_with_its_interval() -> None:
    _, each = fold_tables(SUMMARY, FOLDS, SHOWN)
    assert titles(each) == ["generator", "fold", "users", "recall@5", "95% interval", "hits@5"]
    assert each.rows == (
        ("als", "0", Count(600), Rate(0.25), Interval(0.125, 0.375), Rate(1.0)),
        ("als", "1", Count(400, few=True), Rate(0.75), Interval(0.625, 0.875), Rate(3.0)),
    )
    assert each.notes[0].startswith("*  too few users")


def test_means_take_the_place_of_a_single_fold() -> None:
    means = means_over_folds(SUMMARY, FOLDS)
    shown = all_shown((RECALL, HITS), RECALL, interval=False)
    found = metric_table(means, shown, folds=2)
    assert found.title == "Metrics, means over 2 folds"
    assert titles(found) == ["generator", "recall@5", "hits@5"]
    assert found.rows == (("als", Rate(0.5), Rate(2.0)),)
    # The mean over the folds that have such users; users of all folds.
    (buckets,) = bucket_tables(means, shown, full=False)
    assert buckets.rows == (
        ("als", "0", Count(600), Rate(0.25), Rate(None)),
        ("als", "9", Count(400, few=True), Rate(0.75), Rate(None)),
    )


def test_means_are_of_both_statistics() -> None:
    rows = ((fold, "als", "all", "all", "coverage", "micro", 9, float(fold)) for fold in (0, 1))
    summary = summary_of(*rows)
    means = means_over_folds(summary, spread_over_folds(summary))
    assert means.select("statistic", "value", "users").rows() == [("micro", 0.5, 18)]
    assert means.filter(pl.col("ci_low").is_not_null()).is_empty()


def test_a_bucket_that_only_a_later_fold_has_stays_with_its_generator() -> None:
    rows = [
        (fold, generator, by, bucket, "recall@5", "macro", 9, 0.5)
        for fold, buckets in ((0, ["b"]), (1, ["a", "b"]))
        for generator in ("pop", "als")
        for by, bucket in [("all", "all"), *(("x", label) for label in buckets)]
    ]
    summary = summary_of(*rows)
    means = means_over_folds(summary, spread_over_folds(summary))
    assert means.select("generator", "bucket").rows() == [
        (generator, bucket) for generator in ("pop", "als") for bucket in ("all", "b", "a")
    ]
