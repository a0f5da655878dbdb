import math

import polars as pl
import pytest

from recoeval.analysis.catalogue import (
    BY,
    ItemGroup,
    item_table,
    merge_listed,
    summarise_items,
)
from recoeval.columns import SUMMARY_SCHEMA
from recoeval.metrics import measures

SCHEMA = ["bucket_by", "bucket", "item_id", "@2", "@5"]
FIRST = pl.DataFrame(
    [("all", "all", 1, 2, 3), ("all", "all", 4, 0, 1), (f"{BY}age", "old", 1, 2, 3)],
    schema=SCHEMA,
    orient="row",
)
SECOND = pl.DataFrame(
    [("all", "all", 1, 1, 1), ("all", "all", 2, 1, 1), (f"{BY}age", "new", 1, 1, 1)],
    schema=SCHEMA,
    orient="row",
)
POPULARITY = pl.DataFrame({"item_id": [1, 2, 9], "train_users": [3, 1, 1]})


def test_counts_of_blocks_add_up():
    assert merge_listed([FIRST, SECOND]).rows() == [
        ("age", "new", 1, 1, 1),
        ("age", "old", 1, 2, 3),
        ("all", "all", 1, 3, 4),
        ("all", "all", 2, 1, 1),
        ("all", "all", 4, 0, 1),
    ]
    assert merge_listed([SECOND, FIRST]).equals(merge_listed([FIRST, SECOND]))


def test_the_table_has_what_is_listed_and_what_could_be():
    items = item_table(merge_listed([FIRST, SECOND]), pl.Series([1, 2, 3]), POPULARITY)
    assert items.select("item_id", "train_users", "in_catalogue").rows() == [
        (1, 3, True),
        (2, 1, True),
        (3, 0, True),
        (4, 0, False),
    ]


def test_nothing_known_of_items():
    items = item_table(FIRST, None, None)
    assert items.select("item_id", "train_users", "in_catalogue").rows() == [
        (1, 0, False),
        (4, 0, False),
    ]


def test_numbers_by_bucket_of_queries_and_of_items():
    listed = merge_listed([FIRST, SECOND])
    items = item_table(listed, pl.Series([1, 2, 3]), POPULARITY)
    names = ["item_coverage", "mean_popularity", "novelty@5", "recall@2"]
    groups = [
        ItemGroup("all", "all", 5, 4),
        ItemGroup("age", "old", 3, 2),
        ItemGroup("age", "young", 0, 0),
        ItemGroup("fame", "tail", 5, 4, pl.Series([False, True, True, True])),
    ]
    found = summarise_items(
        listed, measures(names, [2]), items, groups, train_users=4, generator="als", fold=1
    )
    assert found.schema == SUMMARY_SCHEMA
    assert found["fold"].unique().to_list() == [1]
    assert found["statistic"].unique().to_list() == ["micro"]
    assert found.select("metric", "name", "k").unique(maintain_order=True).rows() == [
        ("item_coverage@2", "item_coverage", 2),
        ("mean_popularity@2", "mean_popularity", 2),
        ("novelty@5", "novelty", 5),
    ]
    rows = {
        (by, label, metric.partition("@")[0]): (queries, users, value)
        for by, label, metric, queries, users, value in found.select(
            "bucket_by", "bucket", "metric", "queries", "users", "value"
        ).iter_rows()
    }
    # Items 1 and 2 of 1, 2, 3 are listed within 2: three times and once.
    assert rows["all", "all", "item_coverage"] == (5, 4, 2 / 3)
    assert rows["all", "all", "mean_popularity"] == (5, 4, (3 * 3 + 1 * 1) / 4)
    bits = 4 * math.log2(5 / 4) + math.log2(5 / 2) + math.log2(5)
    assert rows["all", "all", "novelty"] == (5, 4, pytest.approx(bits / 6, abs=1e-15))
    # The lists of old users have item 1 alone; the catalogue stays whole.
    assert rows["age", "old", "item_coverage"] == (3, 2, 1 / 3)
    assert rows["age", "young", "item_coverage"] == (0, 0, None)
    assert rows["age", "young", "mean_popularity"] == (0, 0, None)
    # Of the items in the tail 2 and 3 are in the catalogue, and 2 is listed.
    assert rows["fame", "tail", "item_coverage"] == (5, 4, 1 / 2)
    assert rows["fame", "tail", "mean_popularity"] == (5, 4, 1.0)


def test_without_such_metrics_there_are_no_rows():
    listed = FIRST.select("bucket_by", "bucket", "item_id")
    items = item_table(listed, None, None)
    groups = [ItemGroup("all", "all", 1, 1)]
    asked = measures(["recall@2"], [])
    found = summarise_items(listed, asked, items, groups, train_users=0, generator="als")
    assert found.is_empty()
    assert found.schema == SUMMARY_SCHEMA
