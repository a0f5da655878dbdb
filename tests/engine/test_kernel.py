from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from recoeval.engine.kernel import join_lists, score_queries
from recoeval.engine.losses import Causes
from recoeval.engine.ordered import places_of
from recoeval.engine.sums import sum_lists, sum_truth
from recoeval.metrics import METRICS, measures
from tests.engine.helpers import Search, everyone, lists_of, pairs_of, truth_of

OF_QUERIES = [name for name, metric in METRICS.items() if metric.kind != "catalogue"]
WITH_ROLES = ["unknown_item_share", "judged"]
EVERYTHING = measures(
    [
        *(name for name in OF_QUERIES if name not in WITH_ROLES),
        *("recall(gain=linear)", "ndcg(gain=exponential)", "map(denominator=relevant)"),
        *("recall@all", "map@all", "ndcg@all"),
    ],
    [1, 5, 20],
)


def scored(
    lists: pl.DataFrame,
    truth: pl.DataFrame,
    seen: pl.DataFrame | None = None,
    *,
    drop_seen: bool = True,
    queries: pl.DataFrame | None = None,
    asked: Any = EVERYTHING,
    blocks: int = 1,
) -> pl.DataFrame:
    """Returns what the kernel makes of lists, those of some queries at a time."""
    if queries is None:
        query = pl.col("query_id")
        queries = truth.select(query.unique().sort()).select(query, query.alias("user_id"))
    search = Search.of(lists, truth, seen, drop_seen=drop_seen, queries=queries, blocks=blocks)
    numbering, found = search.numbering, search.found
    sums = [sum_lists(part.rows().lazy(), asked).collect() for part in search.parts]
    numbered = search.numbered(queries)
    facts = join_lists(numbered, pl.concat(sums), found.removed, asked)
    places = places_of(numbered["query_id"].to_numpy())

    def placed(rows: pl.DataFrame) -> pl.DataFrame:
        pairs = numbering.pairs[rows["item_id"]]
        return rows.with_columns(pairs["gain"], place=places[pairs["query_id"].to_numpy()])

    hits = placed(found.hits).sort("place", "rank")
    lost = placed(Causes.of(numbering, None).lost(everyone(search), found))
    truth_sums = sum_truth(placed(numbering.pairs), asked, facts)
    rows = score_queries(facts, truth_sums, hits, lost, measures=asked)
    return numbering.decode(rows)


# One row a query.

SMALL = st.lists(st.integers(0, 7), max_size=10)
BY_QUERY = st.dictionaries(st.sampled_from("abc"), SMALL)


@settings(max_examples=60)
@given(
    lists=BY_QUERY,
    seen=BY_QUERY,
    truth=st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, 7)), min_size=1),
    drop_seen=st.booleans(),
)
def test_lengths_of_lists_before_and_after(lists, seen, truth, drop_seen):
    gone = {query: (seen.get(query, []) if drop_seen else []) for query in "abcd"}
    gains = {query: dict.fromkeys(items, 1.0) for query, items in truth.items()}
    asked = measures(["coverage"], [])
    queries = pl.DataFrame({"query_id": list("abcd"), "user_id": list("abcd")})
    known = pairs_of(seen).unique()
    rows = scored(
        lists_of(lists), truth_of(gains), known, drop_seen=drop_seen, queries=queries, asked=asked
    )
    assert rows.select("query_id", "relevant", "delivered", "returned").rows() == [
        (
            query,
            len(truth.get(query, ())),
            len(lists.get(query, ())),
            len({*lists.get(query, ())} - {*gone[query]}),
        )
        for query in "abcd"
    ]


def test_queries_keep_their_order_and_those_without_a_list_stay():
    queries = pl.DataFrame({"query_id": ["q2", "q9", "q1"], "user_id": [5, 5, 3]})
    lists = lists_of({"q1": [1, 2], "q2": [3], "stranger": [1]})
    truth = truth_of({"q1": {2: 1.0}, "q2": {1: 1.0}, "q9": {1: 1.0}})
    found = scored(lists, truth, queries=queries, asked=measures(["recall", "mrr"], [2]))
    columns = ["query_id", "user_id", "relevant", "returned", "delivered", "recall@2", "mrr@2"]
    assert found.select(columns).rows() == [
        ("q2", 5, 1, 1, 1, 0.0, 0.0),
        ("q9", 5, 1, 0, 0, 0.0, 0.0),
        ("q1", 3, 1, 2, 2, 1.0, 0.5),
    ]
    dtypes = {name: found.schema[name] for name in columns[2:]}
    assert dtypes == dict.fromkeys(columns[2:5], pl.Int64) | dict.fromkeys(columns[5:], pl.Float64)


def test_no_list_at_all():
    found = scored(lists_of({}), truth_of({"q": {1: 1.0}}))
    row = found.row(0, named=True)
    assert (row["delivered"], row["returned"], row["coverage"], row["recall@5"]) == (0, 0, 0, 0)
    assert row["duplicate_share"] is None


def test_without_any_measure():
    found = scored(lists_of({"q": [1]}), truth_of({"q": {1: 1.0}}), asked=())
    assert found.select("query_id", "relevant", "returned").rows() == [("q", 1, 1)]


@pytest.mark.parametrize(
    "name", ["gain", "hit_number", "seen", "first", "times", "recall@5", "user_id"]
)
def test_columns_that_happen_to_be_there_do_not_matter(name):
    lists, truth = lists_of({"q": [1, 2, 2, 3]}), truth_of({"q": {2: 1.0, 3: 2.0}})
    seen = pairs_of({"q": [1]})
    stray = pl.lit(0.0).alias(name)
    more = truth.with_columns(stray) if name != "gain" else truth
    queries = pl.DataFrame({"query_id": ["q"], "user_id": ["u"]})
    clean = scored(lists, truth, seen, queries=queries)
    wider = queries.with_columns(stray) if name != "user_id" else queries
    found = scored(lists.with_columns(stray), more, seen.with_columns(stray), queries=wider)
    assert found.equals(clean)


# Bits.


@pytest.fixture(scope="module")
def big() -> dict[str, pl.DataFrame]:
    """300 queries of 100 users with gains that have no short sums."""
    rng = np.random.default_rng(5)
    queries = [f"q{n}" for n in range(300)]
    lists = lists_of({q: rng.integers(0, 60, 40).tolist() for q in queries[:280]})
    truth = {
        q: dict(zip(rng.permutation(60)[: 1 + n % 20].tolist(), rng.random(20) + 0.1, strict=False))
        for n, q in enumerate(queries)
    }
    seen = pairs_of({q: rng.permutation(60)[:15].tolist() for q in queries})
    return {
        "lists": lists,
        "truth": truth_of(truth).join(seen, on=["query_id", "item_id"], how="anti"),
        "seen": seen,
        "queries": pl.DataFrame({"query_id": queries, "user_id": [n % 100 for n in range(300)]}),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_no_bit(big, seed):
    shuffled = {
        name: frame.sample(fraction=1, shuffle=True, seed=seed)
        for name, frame in big.items()
        if name != "queries"
    }
    assert_frame_equal(scored(**big | shuffled), scored(**big), check_exact=True)


def test_chunks_change_no_bit(big):
    chunked = {
        name: pl.concat([frame.slice(n, 97) for n in range(0, frame.height, 97)], rechunk=False)
        for name, frame in big.items()
    }
    assert chunked["lists"].n_chunks() > 1
    assert_frame_equal(scored(**chunked), scored(**big), check_exact=True)


def test_blocks_of_queries_change_no_bit(big):
    parts = []
    for start in range(0, 300, 70):
        queries = big["queries"].slice(start, 70)
        block = {
            name: frame.filter(pl.col("query_id").is_in(queries["query_id"].implode()))
            for name, frame in big.items()
        }
        parts.append(scored(**block))
    assert_frame_equal(pl.concat(parts), scored(**big), check_exact=True)


@pytest.mark.parametrize("blocks", [2, 7, 100])
def test_blocks_of_lists_change_no_bit(big, blocks):
    assert_frame_equal(scored(**big, blocks=blocks), scored(**big), check_exact=True)
