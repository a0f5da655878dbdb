from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from recoeval.engine.kernel import (
    find_hits,
    find_lost,
    find_removed,
    join_lists,
    score_queries,
)
from recoeval.engine.sums import sum_lists, sum_truth
from recoeval.metrics import METRICS, measures

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


def lists_of(lists: Mapping[str, Sequence[Any]]) -> pl.LazyFrame:
    rows = [(q, item, rank) for q, items in lists.items() for rank, item in enumerate(items, 1)]
    schema = {"query_id": pl.String, "item_id": pl.Int64, "rank": pl.Int64}
    return pl.LazyFrame(rows, schema=schema, orient="row").with_columns(score=1.0 / pl.col("rank"))


def pairs_of(pairs: Mapping[str, Sequence[Any]]) -> pl.LazyFrame:
    rows = [(query, item) for query, items in pairs.items() for item in items]
    return pl.LazyFrame(rows, schema={"query_id": pl.String, "item_id": pl.Int64}, orient="row")


def truth_of(truth: Mapping[str, Mapping[Any, float]]) -> pl.LazyFrame:
    gains = [gain for pairs in truth.values() for gain in pairs.values()]
    return pairs_of(truth).with_columns(gain=pl.Series(gains, dtype=pl.Float64))


def scored(
    lists: pl.LazyFrame,
    truth: pl.LazyFrame,
    seen: pl.LazyFrame | None = None,
    *,
    drop_seen: bool = True,
    queries: pl.LazyFrame | None = None,
    asked: Any = EVERYTHING,
) -> pl.DataFrame:
    removed = find_removed(lists, seen, drop_seen=drop_seen)
    if queries is None:
        query = pl.col("query_id")
        queries = truth.select(query.unique().sort()).select(query, query.alias("user_id"))
    hits = find_hits(lists, truth, removed)
    sums = sum_truth(truth, asked)
    lost = find_lost(truth, hits, removed, None)
    facts = join_lists(queries, sum_lists(lists, asked), removed, asked)
    return score_queries(facts, sums, hits, lost, measures=asked).collect()


# What leaves a list.

LISTS = lists_of({"q": [7, 8, 7, 9, 8, 7, 5]})


@pytest.mark.parametrize(
    ("seen", "drop_seen", "expected"),
    [
        # item, rank, repeated, seen, removed
        (None, True, [(7, 3, 1, 0, 1), (8, 5, 1, 0, 1), (7, 6, 1, 0, 1)]),
        (
            [7, 9, 4],
            True,
            [
                (7, 1, 0, 1, 1),
                (7, 3, 1, 1, 1),
                (9, 4, 0, 1, 1),
                (8, 5, 1, 0, 1),
                (7, 6, 1, 1, 1),
            ],
        ),
        # Seen rows are known but stay, repeated ones leave all the same.
        (
            [7, 9],
            False,
            [
                (7, 1, 0, 1, 0),
                (7, 3, 1, 1, 1),
                (9, 4, 0, 1, 0),
                (8, 5, 1, 0, 1),
                (7, 6, 1, 1, 1),
            ],
        ),
    ],
)
def test_what_leaves_a_list(seen, drop_seen, expected):
    known = None if seen is None else pairs_of({"q": seen, "p": [8]})
    found = find_removed(LISTS, known, drop_seen=drop_seen).sort("rank").collect()
    assert found.columns == ["query_id", "item_id", "rank", "repeated", "seen", "removed"]
    assert found.drop("query_id").rows() == expected


def test_lists_of_which_nothing_leaves():
    assert find_removed(lists_of({"q": [1, 2]}), None, drop_seen=True).collect().is_empty()


# Hits.


@pytest.mark.parametrize(
    ("seen", "drop_seen", "expected"),
    [
        # Delivered 7 8 7 9 8 7 5; prepared 7 8 9 5.
        ([], True, [(8, 2, 2.0, 1), (9, 3, 1.0, 2), (5, 4, 0.5, 3)]),
        # Prepared 8 9 5.
        ([7], True, [(8, 1, 2.0, 1), (9, 2, 1.0, 2), (5, 3, 0.5, 3)]),
        # Prepared 7 5: what was seen is no hit, even if the truth still has it.
        ([8, 9], True, [(5, 2, 0.5, 1)]),
        ([8, 9], False, [(8, 2, 2.0, 1), (9, 3, 1.0, 2), (5, 4, 0.5, 3)]),
    ],
)
def test_hits_have_the_rank_that_is_left(seen, drop_seen, expected):
    removed = find_removed(LISTS, pairs_of({"q": seen}), drop_seen=drop_seen)
    truth = truth_of({"q": {8: 2.0, 9: 1.0, 5: 0.5, 6: 1.0}, "p": {7: 1.0}})
    hits = find_hits(LISTS, truth, removed).collect()
    assert hits.select("item_id", "rank", "gain", "hit_number").rows() == expected
    assert hits.schema["rank"] == hits.schema["hit_number"] == pl.Int64


def prepared(items: Sequence[int], gone: Sequence[int]) -> list[int]:
    """The plain way: the first of each item, without what is gone."""
    return [item for item in dict.fromkeys(items) if item not in gone]


SMALL = st.lists(st.integers(0, 7), max_size=10)


@settings(max_examples=60)
@given(
    lists=st.dictionaries(st.sampled_from("abc"), SMALL),
    seen=st.dictionaries(st.sampled_from("abc"), SMALL),
    truth=st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, 7)), min_size=1),
    drop_seen=st.booleans(),
)
def test_delivered_rank_less_what_left_is_the_rank_in_the_prepared_list(
    lists, seen, truth, drop_seen
):
    gone = {query: (seen.get(query, []) if drop_seen else []) for query in "abcd"}
    gains = {query: {item: 1.0 + item for item in items} for query, items in truth.items()}
    frame, known = lists_of(lists), pairs_of(seen).unique()
    removed = find_removed(frame, known, drop_seen=drop_seen)
    hits = find_hits(frame, truth_of(gains), removed).collect()
    expected = []
    for query in sorted(lists):
        ranks = enumerate(prepared(lists[query], gone[query]), 1)
        found = [(item, rank) for rank, item in ranks if item in gains.get(query, {})]
        expected += [
            (query, item, rank, 1.0 + item, number) for number, (item, rank) in enumerate(found, 1)
        ]
    assert hits.select("query_id", "item_id", "rank", "gain", "hit_number").rows() == expected

    asked = measures(["coverage"], [])
    queries = pl.LazyFrame({"query_id": list("abcd"), "user_id": list("abcd")})
    rows = scored(frame, truth_of(gains), known, drop_seen=drop_seen, queries=queries, asked=asked)
    assert rows.select("query_id", "relevant", "delivered", "returned").rows() == [
        (
            query,
            len(truth.get(query, ())),
            len(lists.get(query, ())),
            len(prepared(lists.get(query, []), gone[query])),
        )
        for query in "abcd"
    ]


# One row a query.


def test_queries_keep_their_order_and_those_without_a_list_stay():
    queries = pl.LazyFrame({"query_id": ["q2", "q9", "q1"], "user_id": [5, 5, 3]})
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
    queries = pl.LazyFrame({"query_id": ["q"], "user_id": ["u"]})
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
        "lists": lists.collect(),
        "truth": truth_of(truth).join(seen, on=["query_id", "item_id"], how="anti").collect(),
        "seen": seen.collect(),
        "queries": pl.DataFrame({"query_id": queries, "user_id": [n % 100 for n in range(300)]}),
    }


def of(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    return scored(**{name: frame.lazy() for name, frame in tables.items()})


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_no_bit(big, seed):
    shuffled = {
        name: frame.sample(fraction=1, shuffle=True, seed=seed)
        for name, frame in big.items()
        if name != "queries"
    }
    assert_frame_equal(of(big | shuffled), of(big), check_exact=True)


def test_chunks_change_no_bit(big):
    chunked = {
        name: pl.concat([frame.slice(n, 97) for n in range(0, frame.height, 97)], rechunk=False)
        for name, frame in big.items()
    }
    assert chunked["lists"].n_chunks() > 1
    assert_frame_equal(of(chunked), of(big), check_exact=True)


def test_blocks_of_queries_change_no_bit(big):
    parts = []
    for start in range(0, 300, 70):
        queries = big["queries"].slice(start, 70)
        block = {
            name: frame.filter(pl.col("query_id").is_in(queries["query_id"].implode()))
            for name, frame in big.items()
        }
        parts.append(of(block))
    assert_frame_equal(pl.concat(parts), of(big), check_exact=True)


def test_the_streaming_engine_changes_no_bit(big, tmp_path):
    for name, frame in big.items():
        frame.write_parquet(tmp_path / f"{name}.parquet", row_group_size=500)
    files = {name: pl.read_parquet(tmp_path / f"{name}.parquet") for name in big}
    lists = pl.scan_parquet(tmp_path / "lists.parquet")
    seen = files["seen"].lazy()
    removed = find_removed(lists, seen, drop_seen=True).collect(engine="streaming").lazy()
    hits = find_hits(lists, files["truth"].lazy(), removed).collect(engine="streaming").lazy()
    sums = sum_truth(files["truth"].lazy(), EVERYTHING)
    lengths = sum_lists(lists, EVERYTHING).collect(engine="streaming").lazy()
    queries = files["queries"].lazy()
    lost = find_lost(files["truth"].lazy(), hits, removed, None)
    facts = join_lists(queries, lengths, removed, EVERYTHING)
    found = score_queries(facts, sums, hits, lost, measures=EVERYTHING)
    assert_frame_equal(found.collect(engine="streaming"), of(big), check_exact=True)
