from math import log2

import polars as pl
import pytest

from recoeval.engine.sums import (
    sum_found,
    sum_lists,
    sum_rows,
    sum_terms,
    sum_truth,
    terms_of,
)
from recoeval.metrics import measures

# The first query has three relevant items, the second none, the third one.
GAINS = pl.DataFrame({"place": [0, 0, 0, 2], "gain": [1.0, 3.0, 1.0, 2.0]})
QUERIES = pl.DataFrame({"quota": [2, 5, 9]})
HALF = 1 / log2(3)


def test_truth_without_sums_has_its_sizes():
    found = sum_truth(GAINS, measures(["recall", "coverage"], [5]), QUERIES)
    assert found.schema == {"relevant": pl.Int64}
    assert found["relevant"].to_list() == [3, 0, 1]


def test_truth_is_ideal_in_the_order_of_its_gains():
    asked = measures(["ndcg", "recall(gain=linear)"], [1, 2])
    assert sum_truth(GAINS, asked, QUERIES).to_dict(as_series=False) == {
        "relevant": [3, 0, 1],
        "ideal linear@1": [3.0, 0.0, 2.0],
        "ideal linear@2": [3.0 + HALF, 0.0, 2.0],
        "gain of truth": [5.0, 0.0, 2.0],
    }


@pytest.mark.parametrize("gain", [1.0, 0.3])
def test_equal_gains_need_no_order(gain):
    asked = measures(["ndcg", "ndcg(gain=exponential)", "recall(gain=linear)", "ndcg@all"], [1, 2])
    rows = pl.DataFrame({"place": [3, 0, 0, 0, 3, 1], "gain": [gain] * 6})
    queries = pl.DataFrame({"quota": [1] * 5})
    found = sum_truth(rows, asked, queries)
    # One other gain, of a query of its own, and the order matters.
    other = pl.concat([rows, pl.DataFrame({"place": [5], "gain": [2.0]})])
    assert found.equals(sum_truth(other, asked, pl.DataFrame({"quota": [1] * 6}))[:5])
    assert found["relevant"].to_list() == [3, 1, 0, 2, 0]


def test_no_truth():
    found = sum_truth(GAINS.clear(), measures(["ndcg", "recall"], [5]), QUERIES)
    assert found.rows() == [(0, 0.0)] * 3
    assert sum_truth(GAINS.clear(), measures(["ndcg"], [5]), QUERIES.clear()).is_empty()


def test_the_ideal_ends_where_the_list_does():
    asked = measures(["ndcg@all", "ndcg@quota", "ndcg@1"], [])
    assert sum_truth(GAINS, asked, QUERIES).to_dict(as_series=False) == {
        "relevant": [3, 0, 1],
        "ideal linear@all": [3.0 + HALF + 0.5, 0.0, 2.0],
        "ideal linear@quota": [3.0 + HALF, 0.0, 2.0],
        "ideal linear@1": [3.0, 0.0, 2.0],
    }


def test_hits_are_numbered_within_their_query():
    hits = pl.DataFrame({"place": [0, 2, 2], "rank": [4, 2, 5], "gain": [1.0, 1.0, 3.0]})
    lost = pl.DataFrame({"place": [2, 2, 0], "cause": ["cold_item", "filtered", "cold_user"]})
    asked = measures(["mrr@9", "map@9", "r_precision", "recall_ceiling", "hits@quota"], [])
    queries = QUERIES.with_columns(relevant=pl.Series([5, 2, 4]))
    found = pl.DataFrame(sum_found(hits, lost, asked, queries))
    assert found.to_dict(as_series=False) == {
        "mrr@9": [1 / 4, 0.0, 1 / 2],
        "precisions@9": [1 / 4, 0.0, 1 / 2 + 2 / 5],
        "hits@R": [1, 0, 1],
        "hits@quota": [0, 0, 2],
        "out of reach": [1, 0, 1],
    }


def test_terms_read_what_their_query_has():
    rows = pl.DataFrame({"place": [2, 0, 2], "rank": [9, 3, 10]})
    (term,) = terms_of(measures(["judged@quota"], []), "exposed")
    (found,) = sum_terms(rows, [term], QUERIES)
    assert found.name == term.name
    assert found.to_list() == [0, 0, 1]


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
