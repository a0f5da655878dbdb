from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.buckets import Bucket, Buckets, assign_buckets
from recoeval.errors import ConfigError, DataError

INF = float("inf")


def assign(values: list[int], *, by: str = "relevant_items", **rule: Any) -> Buckets:
    column = "relevant" if by == "relevant_items" else by
    queries = pl.DataFrame({"query_id": range(len(values)), column: values})
    return assign_buckets(queries, {"b": Bucket(by=by, **rule)})


def labels(buckets: Buckets) -> list[str]:
    return buckets.labels["b"].to_list()


@pytest.mark.parametrize(
    ("edges", "values", "expected"),
    [
        # Half-open: an edge belongs to the bucket that it begins.
        ((2, 5), [1, 2, 4, 5, 9], ["[-inf,2)", "[2,5)", "[2,5)", "[5,inf)", "[5,inf)"]),
        ((100,), [0, 99, 100], ["[-inf,100)", "[-inf,100)", "[100,inf)"]),
        ((1.5, 2.0), [1, 2], ["[-inf,1.5)", "[2,inf)"]),
        ((-1, 0), [0, 1], ["[0,inf)", "[0,inf)"]),
        ((1_000_000,), [1_000_000], ["[1000000,inf)"]),
    ],
)
def test_edges(edges, values, expected):
    assert labels(assign(values, edges=edges)) == expected


def test_buckets_without_queries_are_declared_all_the_same():
    buckets = assign([3], edges=(2, 5, 50))
    assert buckets.order["b"] == ("[-inf,2)", "[2,5)", "[5,50)", "[50,inf)")
    assert buckets.edges["b"] == (2.0, 5.0, 50.0)
    assert labels(buckets) == ["[2,5)"]


@pytest.mark.parametrize("by", ["train_interactions", "train_rows"])
@pytest.mark.parametrize(
    ("edges", "values", "expected", "order"),
    [
        (
            (1, 50, 100),
            [0, 1, 49, 50, 99, 100, 5000],
            ["0", "[1,50)", "[1,50)", "[50,100)", "[50,100)", "[100,inf)", "[100,inf)"],
            ("0", "[1,50)", "[50,100)", "[100,inf)"),
        ),
        # The first bucket after no history starts at 1, wherever the first edge is.
        ((5,), [0, 4, 5], ["0", "[1,5)", "[5,inf)"], ("0", "[1,5)", "[5,inf)")),
        ((0, 5), [0, 4], ["0", "[1,5)"], ("0", "[1,5)", "[5,inf)")),
        ((1,), [0, 1, 7], ["0", "[1,inf)", "[1,inf)"], ("0", "[1,inf)")),
        ((0,), [0, 1], ["0", "[1,inf)"], ("0", "[1,inf)")),
        ((2, 3), [0, 1, 2], ["0", "[1,2)", "[2,3)"], ("0", "[1,2)", "[2,3)", "[3,inf)")),
        # Everybody has a history.
        ((5,), [4, 5], ["[1,5)", "[5,inf)"], ("[1,5)", "[5,inf)")),
        # Nobody has.
        ((5,), [0, 0], ["0", "0"], ("0", "[1,5)", "[5,inf)")),
    ],
)
def test_no_history_is_a_bucket_of_its_own(by, edges, values, expected, order):
    buckets = assign(values, by=by, edges=edges)
    assert labels(buckets) == expected
    assert buckets.order["b"] == order


@pytest.mark.parametrize(
    ("quantiles", "values", "cuts"),
    [
        # Ten distinct counts: the cuts are the 6th and the 10th of them.
        ((0.5, 0.9), list(range(1, 11)), (6, 10)),
        # Distinct counts, not users: a thousand users with 1 count once.
        ((0.5,), [1] * 1000 + [2, 3, 4], (3,)),
        # Equal cuts merge.
        ((0.5, 0.6), [1, 2], (2,)),
        # A cut at the smallest count would begin an empty bucket.
        ((0.1, 0.2, 0.9), [5, 7], (7,)),
        ((0.5,), [4], ()),
        # Exact decimals: 0.29 x 100 is 28.999999999999996 in floats.
        ((0.29,), list(range(100)), (29,)),
    ],
)
def test_quantiles_are_of_the_distinct_counts_in_order(quantiles, values, cuts):
    buckets = assign(values, quantiles=quantiles)
    assert buckets.edges["b"] == cuts
    ends = ["-inf", *map(str, cuts), "inf"]
    expected = [f"[{low},{high})" for low, high in pairwise(ends)]
    assert buckets.order["b"] == tuple(expected)


def test_quantiles_of_activity_leave_no_history_out():
    # Of 2, 4, 6, 8 the half is at 6; with 0 among them it would be at 4.
    buckets = assign([0, 0, 2, 4, 6, 8], by="train_interactions", quantiles=(0.5,))
    assert buckets.edges["b"] == (6,)
    assert labels(buckets) == ["0", "0", "[1,6)", "[1,6)", "[6,inf)", "[6,inf)"]
    # A single row is a history.
    assert assign([0, 1, 2, 3], by="train_rows", quantiles=(0.5,)).edges["b"] == (2,)


@pytest.mark.parametrize("by", ["train_interactions", "train_rows"])
def test_quantiles_of_nothing(by):
    with pytest.raises(DataError) as error:
        assign([0, 0], by=by, quantiles=(0.5,))
    assert str(error.value) == ("buckets.b: no user has a history: quantiles have nothing to cut")


def test_several_buckets_stand_in_the_order_of_the_queries():
    queries = pl.DataFrame(
        {"query_id": [1, 2, 3], "relevant": [9, 1, 1], "train_interactions": [0, 7, 1]}
    )
    buckets = assign_buckets(
        queries,
        {
            "size": Bucket(by="relevant_items", edges=(2,)),
            "activity": Bucket(by="train_interactions", edges=(5,)),
        },
    )
    assert list(buckets.labels) == list(buckets.order) == list(buckets.edges)
    assert buckets.labels["size"].to_list() == ["[2,inf)", "[-inf,2)", "[-inf,2)"]
    assert buckets.labels["activity"].to_list() == ["0", "[5,inf)", "[1,5)"]


def test_no_buckets():
    assert assign_buckets(pl.DataFrame({"relevant": [1]}), {}) == Buckets({}, {}, {})


@pytest.mark.parametrize("by", ["train_interactions", "train_rows"])
def test_activity_needs_train_data(by):
    queries = pl.DataFrame({"relevant": [1]})
    with pytest.raises(ConfigError) as error:
        assign_buckets(queries, {"activity": Bucket(by=by, edges=(5,))})
    assert str(error.value) == f"buckets.activity: by: {by} needs train data"
    assert error.value.exit_code == 2


def test_all_is_no_name_of_a_bucket():
    with pytest.raises(ConfigError) as error:
        assign_buckets(
            pl.DataFrame({"relevant": [1]}), {"all": Bucket(by="relevant_items", edges=(5,))}
        )
    assert str(error.value) == "buckets.all: 'all' means all queries: choose another name"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({}, r"give either edges: \[1, 50\] or quantiles: \[0.5, 0.9\]"),
        (
            {"edges": [1], "quantiles": [0.5]},
            r"give either edges: \[1, 50\] or quantiles: \[0.5, 0.9\]",
        ),
        ({"edges": [5, 2]}, r"expected ascending values, got \[5.0, 2.0\]"),
        ({"edges": [2, 2]}, r"expected ascending values, got \[2.0, 2.0\]"),
        ({"quantiles": [0.9, 0.5]}, r"expected ascending values, got \[0.9, 0.5\]"),
        ({"edges": []}, "at least 1 item"),
        ({"quantiles": []}, "at least 1 item"),
        ({"quantiles": [1.0]}, "less than 1"),
        ({"quantiles": [0]}, "greater than 0"),
        ({"edges": [INF]}, "finite"),
        ({"edges": ["1"]}, "valid number"),
        ({"by": "country", "edges": [1]}, "relevant_items"),
        ({"edges": [1], "side": "item"}, "Extra inputs"),
    ],
)
def test_rules_that_are_refused(rule, text):
    with pytest.raises(ValidationError, match=text):
        Bucket.model_validate({"by": "relevant_items", **rule})
