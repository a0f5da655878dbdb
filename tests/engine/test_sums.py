from math import log2

import polars as pl
import pytest

from recoeval.engine.sums import sum_found, sum_lists, sum_rows, sum_truth, terms_of
from recoeval.metrics import measures

GAINS = pl.LazyFrame(
    {"query_id": [*"qqqp"], "item_id": [1, 2, 3, 1], "gain": [1.0, 3.0, 1.0, 2.0]},
)


def test_truth_without_sums_has_its_sizes():
    found = sum_truth(GAINS, measures(["recall", "coverage"], [5])).collect()
    assert found.schema == {"query_id": pl.String, "relevant": pl.Int64}
    assert sorted(found.rows()) == [("p", 1), ("q", 3)]


def test_truth_is_ideal_in_the_order_of_its_gains():
    asked = measures(["ndcg", "recall(gain=linear)"], [1, 2])
    found = sum_truth(GAINS, asked).sort("query_id").collect()
    half = 1 / log2(3)
    assert found.rows(named=True) == [
        {
            "query_id": "p",
            "relevant": 1,
            "ideal linear@1": 2.0,
            "ideal linear@2": 2.0,
            "gain of truth": 2.0,
        },
        {
            "query_id": "q",
            "relevant": 3,
            "ideal linear@1": 3.0,
            "ideal linear@2": 3.0 + half,
            "gain of truth": 5.0,
        },
    ]


def test_no_truth():
    assert sum_truth(GAINS.clear(), measures(["ndcg", "recall"], [5])).collect().is_empty()


def test_the_ideal_ends_where_the_list_does():
    asked = measures(["ndcg@all", "ndcg@quota", "ndcg@1"], [])
    quotas = GAINS.with_columns(quota=pl.Series([2, 2, 2, 9]))
    found = sum_truth(quotas, asked).collect()
    half = 1 / log2(3)
    assert found.select("query_id", "ideal linear@1", "ideal linear@quota").rows() == [
        ("p", 2.0, 2.0),
        ("q", 3.0, 3.0 + half),
    ]
    assert found["ideal linear@all"].to_list() == [2.0, 3.0 + half + 0.5]


def test_truth_by_parts_is_ranked_within_each():
    labels = pl.Series(["a", "b", "b", "a"])
    found = sum_truth(
        GAINS.with_columns(label=labels), measures(["ndcg@2"], []), keys=("label", "query_id")
    ).collect()
    assert found.rows() == [
        ("a", "p", 1, 2.0),
        ("a", "q", 1, 1.0),
        ("b", "q", 2, 3.0 + 1 / log2(3)),
    ]


def test_hits_by_parts_are_numbered_within_each():
    hits = pl.LazyFrame(
        {
            "label": ["a", "b", "b"],
            "query_id": ["q", "q", "q"],
            "item_id": [1, 2, 3],
            "rank": [4, 5, 2],
            "gain": [1.0, 3.0, 1.0],
        }
    )
    asked = measures(["mrr@9", "map@9", "r_precision"], [])
    keys = ("label", "query_id")
    sums = sum_truth(GAINS.with_columns(label=pl.Series([*"abba"])), asked, keys=keys)
    lost = hits.head(0).with_columns(cause=pl.lit("filtered"))
    found = sum_found(sums, hits, lost, hits, measures=asked, keys=keys).collect()
    assert found.rows() == [
        ("a", "p", 1, None, None, None),
        ("a", "q", 1, 1 / 4, 1 / 4, 0),
        ("b", "q", 2, 1 / 2, 1 / 2 + 2 / 5, 1),
    ]


def test_rows_are_summed_by_query_and_cut_at_its_quota():
    rows = pl.LazyFrame({"query_id": [*"qqp"], "rank": [1, 2, 1]})
    queries = pl.LazyFrame({"query_id": [*"pq"], "quota": [7, 1]})
    terms = terms_of(measures(["judged@quota", "judged@2"], []), "exposed")
    found = sum_rows(rows, terms, queries).sort("query_id").collect()
    assert found.rows() == [("p", 1, 1), ("q", 1, 2)]
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        sum_rows(rows, terms).collect()


def test_equal_sums_are_computed_once():
    asked = measures(["recall", "precision", "hits@3", "ndcg", "ndcg(gain=binary)"], [3, 5])
    assert [term.name for term in terms_of(asked, "hits")] == [
        "hits@3",
        "hits@5",
        "dcg linear@3",
        "dcg linear@5",
        "dcg binary@3",
        "dcg binary@5",
    ]
    assert [term.name for term in terms_of(asked, "truth")] == [
        "ideal linear@3",
        "ideal linear@5",
        "ideal binary@3",
        "ideal binary@5",
    ]
    assert terms_of(asked, "removed") == terms_of(asked, "delivered") == ()


@pytest.mark.parametrize(("depth", "rows"), [(None, 3), (2, 2), (1, 1), (5, 3)])
@pytest.mark.parametrize("metric", ["coverage", "tie_share@1"])
def test_lists_end_at_their_depth(depth, rows, metric):
    lists = pl.LazyFrame(
        {"query_id": [*"qqq"], "item_id": [1, 2, 3], "rank": [1, 2, 3], "score": [1.0, 1.0, 0.0]}
    )
    found = sum_lists(lists, measures([metric], []), depth=depth).collect()
    assert found["delivered"].to_list() == [rows]
    # Ranks 1 and 2 are tied wherever the list ends.
    assert metric == "coverage" or found["tied@1"].to_list() == [1]
