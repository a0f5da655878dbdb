import polars as pl
import pytest

from recoeval.engine.local import Scorer
from recoeval.errors import DataError
from recoeval.metrics import measures

QUERIES = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "user_id": [1, 1, 2]})
TRUTH = pl.DataFrame(
    {"query_id": ["q1", "q1", "q3"], "item_id": [7, 8, 7], "gain": [1.0, 2.0, 4.0]}
)
SEEN = pl.LazyFrame({"query_id": ["q1", "q2"], "item_id": [5, 7]})
LISTS = pl.LazyFrame(
    {
        "query_id": ["q1", "q1", "q1", "q3", "q9"],
        "item_id": [5, 8, 8, 7, 7],
        "rank": [1, 2, 3, 1, 1],
        "score": [3.0, 2.0, 2.0, 1.0, 1.0],
    }
)
ASKED = measures(["recall@2", "ndcg@2", "coverage", "seen_share@1", "tie_share@2"], [])


def scorer(**options) -> Scorer:
    defaults = {"seen": SEEN, "drop_seen": True}
    return Scorer.of(QUERIES, TRUTH, ASKED, **defaults | options)


def test_scores_and_hits_of_one_generator():
    scored = scorer().score(LISTS)
    assert scored.per_query.select(
        "query_id", "relevant", "delivered", "returned", "recall@2", "seen_share@1", "tie_share@2"
    ).rows() == [
        ("q1", 2, 3, 1, 0.5, 1.0, 1.0),
        ("q2", 0, 0, 0, 0.0, None, None),
        ("q3", 1, 1, 1, 1.0, 0.0, 0.0),
    ]
    # The list of q9 was not asked for.
    assert scored.hits.columns == ["query_id", "item_id", "rank", "gain"]
    assert scored.hits.rows() == [("q1", 8, 1, 2.0), ("q3", 7, 1, 4.0)]


def test_seen_rows_that_stay():
    scored = scorer(drop_seen=False).score(LISTS)
    assert scored.hits.rows() == [("q1", 8, 2, 2.0), ("q3", 7, 1, 4.0)]
    assert scored.per_query["returned"].to_list() == [2, 0, 1]
    assert scored.per_query["seen_share@1"].to_list() == [1.0, None, 0.0]


def test_nothing_is_known_to_be_seen():
    scored = scorer(seen=None).score(LISTS)
    assert scored.hits["rank"].to_list() == [2, 1]
    assert scored.per_query["seen_share@1"].to_list() == [0.0, None, 0.0]


def test_queries_without_truth_count_one_if_the_policy_says_so():
    assert scorer(without_relevant="one").score(LISTS).per_query["recall@2"].to_list() == [
        0.5,
        1.0,
        1.0,
    ]


def test_lists_without_scores():
    scored = scorer().score(LISTS.drop("score"))
    assert scored.per_query["tie_share@2"].to_list() == [None, None, None]
    assert scored.hits.equals(scorer().score(LISTS).hits)


def test_columns_that_happen_to_be_there_do_not_matter():
    stray = LISTS.with_columns(gain=0.0, relevant=9, user_id=9, seen=True)
    assert scorer().score(stray).per_query.equals(scorer().score(LISTS).per_query)


def test_blocks_together_are_the_whole():
    whole = scorer().score(LISTS)
    parts = [scorer().score(LISTS, QUERIES.slice(n, 1)) for n in range(3)]
    assert pl.concat([part.per_query for part in parts]).equals(whole.per_query)
    assert pl.concat([part.hits for part in parts]).equals(whole.hits)


def test_lists_that_are_not_read_yet(tmp_path):
    LISTS.collect().write_parquet(tmp_path / "lists.parquet")
    scored = scorer().score(pl.scan_parquet(tmp_path / "lists.parquet"))
    assert scored.per_query.equals(scorer().score(LISTS).per_query)


def test_sizes_of_the_truth():
    assert scorer().relevant.rows() == [("q1", 1, 2), ("q2", 1, 0), ("q3", 2, 1)]
    assert scorer().relevant.columns == ["query_id", "user_id", "relevant"]


@pytest.mark.parametrize(
    ("metric", "gain", "reason"),
    [
        ("ndcg", 1e101, "above 1e+100, too large"),
        ("recall(gain=linear)", 1e308, "above 1e+100, too large"),
        ("ndcg(gain=exponential)", 1e-17, "below 1e-09, too small"),
        ("ndcg", 1e-300, "below 1e-100, too small"),
        ("ndcg(gain=binary)", 1e308, None),
        ("recall", 1e308, None),
    ],
)
def test_gains_whose_sums_are_no_numbers(metric, gain, reason):
    truth = TRUTH.with_columns(gain=pl.Series([gain, 1.0, 1.0]))
    asked = measures([metric], [5])
    if reason is None:
        Scorer.of(QUERIES, truth, asked, seen=None, drop_seen=False)
        return
    with pytest.raises(DataError) as error:
        Scorer.of(QUERIES, truth, asked, seen=None, drop_seen=False)
    assert str(error.value) == f"truth.gain: 1 gains are {reason} for {metric}@5, e.g. {gain!r}"


def test_gains_that_are_too_large_for_a_measure():
    truth = TRUTH.with_columns(gain=pl.Series([50.5, 1.0, 2000.0]))
    asked = measures(["ndcg", "ndcg(gain=exponential)"], [5])
    with pytest.raises(DataError) as error:
        Scorer.of(QUERIES, truth, asked, seen=None, drop_seen=False)
    assert str(error.value) == (
        "truth.gain: 2 gains are above 50, too large for ndcg(gain=exponential)@5, "
        "e.g. 50.5, 2000.0"
    )
    # 50 is allowed, and the other gains take any number.
    Scorer.of(QUERIES, truth, asked[:1], seen=None, drop_seen=False)
    limit = TRUTH.with_columns(gain=pl.Series([50.0, 1.0, 50.0]))
    Scorer.of(QUERIES, limit, asked, seen=None, drop_seen=False)
