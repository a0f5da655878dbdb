from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from recoeval.data.listcheck import check_lists
from recoeval.data.pieces import map_pieces
from recoeval.engine import local, parts
from recoeval.engine.local import Scorer
from recoeval.engine.scored import Scored
from recoeval.errors import DataError
from recoeval.metrics import measures
from tests.data.helpers import refused

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


def test_the_items_of_all_lists(monkeypatch):
    rows = pl.concat([LISTS, LISTS.with_columns(query_id=pl.lit("q0")).head(1)])
    for size in (2, 1_000_000):
        monkeypatch.setattr(local, "map_pieces", partial(map_pieces, size=size))
        scored = scorer().score(rows, with_items=True)
        assert scored.items is not None
        assert sorted(scored.items) == [5, 7, 8]
    assert scorer().score(LISTS).items is None


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


def test_the_row_after_the_end_only_tells_ties():
    # q1 is 5, 8, 8: at depth 2 it ends with the first 8, which is tied with what follows.
    cut = scorer().score(LISTS, depth=2)
    short = scorer().score(LISTS.filter(pl.col("rank") <= 2))
    assert cut.per_query["tie_share@2"].to_list() == [1.0, None, 0.0]
    assert short.per_query["tie_share@2"].to_list() == [0.0, None, 0.0]
    assert cut.per_query.select("delivered", "returned").rows() == [(2, 1), (0, 0), (1, 1)]
    changed = ("tie_share@2", "tied@2")
    assert cut.per_query.drop(changed).equals(short.per_query.drop(changed))
    assert cut.hits.equals(short.hits)
    assert cut.lost.equals(short.lost)
    assert cut.listed.equals(short.listed)
    # The hit at rank 2 is beyond the end.
    assert scorer().score(LISTS, depth=1).hits.rows() == [("q3", 7, 1, 4.0)]


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


# What was lost, and why.

WANTED = pl.DataFrame(
    {
        "query_id": ["q1"] * 6 + ["q3"],
        "item_id": [8, 1, 2, 3, 4, 5, 7],
        "gain": [1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 4.0],
    }
)
REACH = pl.DataFrame(
    {
        "query_id": ["q1"] * 5 + ["q3"],
        "item_id": [8, 1, 2, 3, 5, 7],
        "unavailable": [True, True, False, False, True, True],
        "cold_item": [True, True, True, False, True, True],
        "cold_user": [True, True, True, True, True, True],
    }
)


def lost(**options) -> dict[tuple[str, int], str]:
    flags = {name: options.pop(name) for name in list(options) if name.startswith("serves")}
    own = Scorer.of(
        QUERIES, WANTED, ASKED, **{"seen": SEEN, "drop_seen": True, "reach": REACH} | options
    )
    found = own.score(LISTS, **flags)
    assert found.lost.columns == ["query_id", "item_id", "gain", "cause"]
    # Hits and lost pairs are the truth, each pair once.
    both = pl.concat([found.lost.drop("cause"), found.hits.drop("rank")])
    keys = ["query_id", "item_id"]
    assert both.sort(keys).equals(WANTED.sort(keys))
    return {(query, item): cause for query, item, _, cause in found.lost.rows()}


def test_the_first_cause_that_holds():
    # 8 and 7 are hits, 5 was in the list and left it; 4 is not in reach.
    assert lost(serves_cold_users=False, serves_cold_items=False) == {
        ("q1", 1): "unavailable",
        ("q1", 2): "cold_item",
        ("q1", 3): "cold_user",
        ("q1", 4): "not_retrieved",
        ("q1", 5): "filtered",
    }


@pytest.mark.parametrize(
    ("flags", "of_2", "of_3"),
    [
        ({}, "not_retrieved", "not_retrieved"),
        ({"serves_cold_items": False}, "cold_item", "not_retrieved"),
        ({"serves_cold_users": False}, "cold_user", "cold_user"),
        ({"serves_cold_users": True, "serves_cold_items": True}, "not_retrieved", "not_retrieved"),
    ],
)
def test_cold_is_a_cause_only_for_those_who_cannot_serve_it(flags, of_2, of_3):
    found = lost(**flags)
    assert (found["q1", 2], found["q1", 3]) == (of_2, of_3)
    assert found["q1", 1] == "unavailable"


def test_without_knowledge_of_reach():
    found = lost(reach=None, serves_cold_users=False, serves_cold_items=False)
    assert found == {
        **{("q1", item): "not_retrieved" for item in (1, 2, 3, 4)},
        ("q1", 5): "filtered",
    }
    # What is not removed is a hit.
    assert ("q1", 5) not in lost(reach=None, drop_seen=False)


def test_a_repeated_row_that_left_is_no_cause():
    # 8 stands twice in the list of q1: the first row is a hit.
    assert ("q1", 8) not in lost()


def test_the_ceiling_is_what_is_left_without_unreachable_pairs():
    asked = measures(["recall@all", "recall_ceiling", "recall_ceiling(rel=2)"], [])
    own = Scorer.of(
        QUERIES,
        WANTED,
        asked,
        seen=SEEN,
        drop_seen=True,
        reach=REACH,
        catalogue=pl.Series("item_id", [1]),
    )
    found = own.score(LISTS, serves_cold_users=False, serves_cold_items=False).per_query
    # q1: 1, 2 and 3 of six are out of reach; 5 was filtered, 4 just not found.
    # With gains from 2 on: 1 of 1 and 5. The unavailable item 7 of q3 is a hit.
    assert found.select("recall@all", "recall_ceiling", "recall_ceiling(rel=2)").rows() == [
        (1 / 6, 3 / 6, 1 / 2),
        (0.0, None, None),
        (1.0, 1.0, 1.0),
    ]
    served = own.score(LISTS).per_query
    assert served["recall_ceiling"].to_list() == [5 / 6, None, 1.0]


def test_lost_pairs_of_a_block_are_those_of_its_queries():
    own = Scorer.of(QUERIES, WANTED, ASKED, seen=SEEN, drop_seen=True, reach=REACH)
    whole = own.score(LISTS).lost
    parts = [own.score(LISTS, QUERIES.slice(n, 1)).lost for n in range(3)]
    assert [part.height for part in parts] == [5, 0, 0]
    assert pl.concat(parts).equals(whole)


def test_no_truth_at_all():
    own = Scorer.of(QUERIES, WANTED.clear(), ASKED, seen=None, drop_seen=False)
    found = own.score(LISTS)
    assert found.lost.is_empty()
    assert found.hits.is_empty()
    assert found.per_query["recall@2"].to_list() == [0.0, 0.0, 0.0]


# How often items are listed.


def test_catalogue_metrics_read_counts_of_items():
    asked = measures(["gini@1", "entropy@quota", "recall@1"], [])
    own = Scorer.of(
        QUERIES.with_columns(quota=pl.Series([2, 1, 1])),
        TRUTH,
        asked,
        seen=SEEN,
        drop_seen=True,
        catalogue=pl.Series("item_id", [7, 8]),
        groups=pl.DataFrame({"query_id": ["q1", "q2", "q3"], "side": ["a", "a", "b"]}),
    )
    found = own.score(LISTS)
    # q1 has 8 left, q3 has 7; q9 is not evaluated.
    assert found.listed.columns == ["bucket_by", "bucket", "item_id", "@1", "@quota"]
    assert found.listed.rows() == [
        ("all", "all", 7, 1, 1),
        ("all", "all", 8, 1, 1),
        ("side", "a", 8, 1, 1),
        ("side", "b", 7, 1, 1),
    ]
    assert "gini@1" not in found.per_query.columns


def test_sizes_of_the_truth():
    assert scorer().relevant.rows() == [("q1", 1, 2), ("q2", 1, 0), ("q3", 2, 1)]
    assert scorer().relevant.columns == ["query_id", "user_id", "relevant"]


@pytest.mark.parametrize(
    ("metric", "gain", "reason"),
    [
        ("ndcg", 1e101, "above 1e+100, too large"),
        ("recall(gain=linear)", 1e308, "above 1e+100, too large"),
        ("ndcg(gain=exponential)", 0.00099, "below 0.001, too small"),
        ("ndcg(gain=exponential)", 0.001, None),
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


# Lists that are read piece by piece.

Pieces = Callable[[int], None]
TABLES = ("per_query", "hits", "lost", "sliced", "listed")
COUNTED = ("gini@quota", "entropy@5", "item_coverage@20")
EVERYTHING = measures(
    [
        *("recall", "recall(gain=linear)", "recall(min_score=-3)@all", "recall_ceiling"),
        *("ndcg(rel=2)", "map@all", "mrr@all", "r_precision", "hits@quota", "coverage"),
        *("list_fill@quota", "seen_share@quota", "tie_share", "tie_share@quota"),
        *("duplicate_share", "judged", "unknown_item_share", *COUNTED),
    ],
    [5],
)


@pytest.fixture(scope="module")
def many() -> Scorer:
    """A scorer of 80 queries of 50 users that knows all that can be known."""
    rng = np.random.default_rng(8)
    ids = [f"q{n:03}" for n in rng.permutation(80)]
    pairs = pl.DataFrame({"query_id": rng.choice(ids, 700), "item_id": rng.integers(0, 60, 700)})
    pairs = pairs.unique(maintain_order=True)
    queries = pl.DataFrame({"query_id": ids, "user_id": np.arange(80) % 50})
    truth = pairs.filter(pl.col("query_id") < "q070")
    truth = truth.with_columns(gain=pl.Series(rng.random(truth.height) * 3 + 0.01))
    other = pairs.with_columns(item_id=(pl.col("item_id") * 7 + 3) % 60).unique()
    flags = {
        name: rng.random(truth.height) < 0.3 for name in ("unavailable", "cold_item", "cold_user")
    }
    return Scorer.of(
        queries.with_columns(quota=pl.Series(rng.integers(1, 30, 80))),
        truth,
        EVERYTHING,
        seen=other.head(200).lazy(),
        drop_seen=True,
        exposed=other.tail(400).lazy(),
        catalogue=pl.Series("item_id", range(50)),
        slices={
            "worth": truth.select(
                "query_id", "item_id", label=pl.when(pl.col("gain") > 2).then(pl.lit("high"))
            ).drop_nulls(),
            "kind": truth.select(
                "query_id", "item_id", label=(pl.col("item_id") % 3).cast(pl.String)
            ),
        },
        groups=queries.select("query_id", side=(pl.col("user_id") % 3).cast(pl.String)),
        reach=truth.select("query_id", "item_id").with_columns(
            pl.Series(name, values) for name, values in flags.items()
        ),
    )


@pytest.fixture(scope="module")
def rows(many: Scorer) -> pl.DataFrame:
    """Lists of most queries and of strangers, with repeats, ties and rows without a score."""
    rng = np.random.default_rng(9)
    asked = [*many.queries["query_id"].sample(65, seed=1), *(f"z{n}" for n in range(15))]
    lists = [
        (query, int(item), rank, float(-(rank // 2)))
        for query in rng.permutation(asked).tolist()
        for rank, item in enumerate(rng.integers(0, 60, rng.integers(1, 40)), 1)
    ]
    return pl.DataFrame(lists, ["query_id", "item_id", "rank", "score"], orient="row")


@pytest.fixture(scope="module")
def whole(many: Scorer, rows: pl.DataFrame) -> Scored:
    return many.score(rows.lazy())


@pytest.fixture
def by_pieces(monkeypatch: pytest.MonkeyPatch) -> Pieces:
    """Reads lists so many rows at a time, and scores few queries together."""

    def read(size: int) -> None:
        monkeypatch.setattr(local, "map_pieces", partial(map_pieces, size=size))
        monkeypatch.setattr(parts, "KEYS_AT_ONCE", 30)

    return read


def tables(scored: Scored) -> dict[str, pl.DataFrame]:
    """Returns the tables in an order of their own; that of queries stays."""
    found = {name: getattr(scored, name) for name in TABLES}
    for name in ("hits", "lost", "sliced", "listed"):
        keys = ("bucket_by", "bucket", "query_id", "item_id")
        found[name] = found[name].sort([key for key in keys if key in found[name].columns])
    return found


def assert_same(scored: Scored, expected: Scored) -> None:
    for name, table in tables(scored).items():
        # Every bit: no tolerance.
        assert table.equals(tables(expected)[name]), name
    assert scored.counts == expected.counts


def ranked(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


def by_rank_alone(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop("score")


def by_score_alone(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop("rank")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 50, 400])
@pytest.mark.parametrize("mixed", [False, True])
def test_pieces_change_no_bit(many, rows, whole, by_pieces, mixed, size, threads):
    frame = rows.sample(fraction=1, shuffle=True, seed=size) if mixed else rows
    by_pieces(size if size > 1 or not mixed else 20)
    assert_same(many.score(frame.lazy(), threads=threads), whole)


@pytest.mark.parametrize("depth", [3, None])
@pytest.mark.parametrize("columns", [ranked, by_score_alone])
def test_pieces_change_no_bit_of_other_lists(many, rows, by_pieces, columns, depth):
    own = columns(rows)
    options: dict[str, Any] = {"depth": depth, "serves_cold_users": False}
    whole = many.score(own.lazy(), **options)
    by_pieces(60)
    assert_same(many.score(own.lazy(), **options), whole)
    mixed = own.sample(fraction=1, shuffle=True, seed=5)
    assert_same(many.score(mixed.lazy(), **options), whole)


def test_pieces_of_blocks_of_queries(many, rows, whole, by_pieces):
    by_pieces(100)
    turned = many.queries.sample(fraction=1, shuffle=True, seed=2)
    parts = [many.score(rows.lazy(), turned.slice(n, 30)) for n in range(0, 80, 30)]
    per_query = pl.concat([part.per_query for part in parts])
    assert per_query["query_id"].equals(turned["query_id"])
    assert per_query.sort("query_id").equals(whole.per_query.sort("query_id"))
    for name in ("hits", "lost"):
        keys = ["query_id", "item_id"]
        joined = pl.concat([getattr(part, name) for part in parts])
        assert joined.sort(keys).equals(getattr(whole, name).sort(keys))
    # What is in a file and what was asked for.
    assert {part.lists for part in parts} == {80}
    assert sum(80 - part.strangers for part in parts) == 65


def test_scores_of_pieces_are_looked_for_in_all_of_them(many, rows, by_pieces):
    missing = rows.with_columns(
        score=pl.when(pl.col("rank") < 3).then("score").otherwise(pl.lit(None))
    )
    own = missing.filter(~pl.col("query_id").str.starts_with("z"))
    bad = own["score"].null_count()
    said = f"{bad} of {own.height} rows have no score, and recall(min_score=-3)@all cuts lists by"
    expected = f"lists.score: {said} score"
    assert refused(many.score, missing.lazy()) == (expected, 3)
    by_pieces(50)
    assert refused(many.score, missing.lazy()) == (expected, 3)


# What was read.


def test_all_lists_are_counted():
    scored = scorer().score(LISTS)
    assert scored.counts == {
        "rows": 5,
        "identical_rows": 0,
        "repeated_items": 1,
        "rank_gaps": 0,
        "disagreements": 0,
        "lists": 3,
        "lists_without_query": 1,
    }
    assert scored.facts == check_lists(LISTS, what="recs")


def test_bad_rows_name_the_lists():
    bad = LISTS.with_columns(rank=pl.Series([1, 2, 2, 0, 1]))
    assert refused(scorer().score, bad, what="lists[als]") == (
        (
            "lists[als].rank: 1 row with a rank below 1, e.g. query_id, rank ('q3', 0); "
            "the best item has rank 1; is it counted from 0?"
        ),
        3,
    )


@pytest.mark.parametrize("column", ["rank", "score"])
def test_lists_that_come_as_they_like(column):
    rows = LISTS.with_columns(rank=pl.col("rank") * 3).select("query_id", "item_id", column)
    turned = rows.collect().reverse().lazy()
    assert_same(scorer().score(turned), scorer().score(rows))
    assert scorer().score(turned).hits["rank"].to_list() == [1, 1]


def test_ties_of_trec_are_broken_the_other_way_round():
    tied = pl.LazyFrame({"query_id": ["q3"] * 2, "item_id": ["7", "8"], "score": [1.0, 1.0]})
    truth = TRUTH.with_columns(pl.col("item_id").cast(pl.String))
    own = Scorer.of(QUERIES, truth, ASKED, seen=None, drop_seen=False)
    assert own.score(tied).hits["rank"].to_list() == [1]
    assert own.score(tied, tie="descending").hits["rank"].to_list() == [2]


def test_no_lists():
    scored = scorer().score(LISTS.filter(pl.col("rank") > 9))
    assert scored.counts["lists"] == scored.counts["rows"] == 0
    assert scored.per_query["delivered"].to_list() == [0, 0, 0]
    assert scored.hits.is_empty()
    assert scored.lost["cause"].to_list() == ["not_retrieved"] * 3


def test_lists_of_strangers_alone():
    scored = scorer().score(LISTS.filter(pl.col("query_id") == "q9"))
    assert (scored.lists, scored.strangers) == (1, 1)
    assert scored.per_query["delivered"].to_list() == [0, 0, 0]


def test_a_block_of_no_queries():
    scored = scorer().score(LISTS, QUERIES.clear())
    assert scored.per_query.is_empty()
    assert scored.per_query.schema == scorer().score(LISTS).per_query.schema
    assert scored.lost.is_empty()
    assert (scored.lists, scored.strangers) == (3, 3)
