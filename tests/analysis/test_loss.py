import hashlib

import polars as pl
import pytest

from recoeval.analysis.loss import attribute_loss, count_causes, sample_misses
from recoeval.columns import CAUSES, LOSS_SCHEMA

HITS = pl.DataFrame(
    {
        "query_id": ["a", "a", "b"],
        "item_id": [1, 2, 1],
        "rank": [1, 11, 10],
        "gain": [1.0, 2.0, 1.0],
    }
)
LOST = pl.DataFrame(
    {
        "query_id": ["a", "a", "b", "b", "c", "c"],
        "item_id": [3, 4, 5, 6, 7, 8],
        "gain": [1.0, 1.0, 1.0, 1.0, 3.0, 1.0],
        "cause": [
            "filtered",
            "unavailable",
            "cold_item",
            "not_retrieved",
            "cold_user",
            "not_retrieved",
        ],
    }
)
USERS = pl.DataFrame({"query_id": ["a", "b", "c"], "label": ["new", "old", "old"]})
# A pair may have two labels, or none.
KINDS = pl.DataFrame(
    {
        "query_id": ["a", "a", "b", "c"],
        "item_id": [1, 1, 6, 7],
        "label": ["buy", "view", "buy", "view"],
    }
)


def counts(loss: pl.DataFrame, bucket: str, k: int | None) -> tuple[int, ...]:
    found = loss.filter(pl.col("bucket") == bucket, pl.col("k").eq_missing(k))
    return found.select("relevant", *CAUSES).row(0)


def test_causes_by_bucket_and_depth():
    loss = attribute_loss(
        HITS,
        LOST,
        [10, 1, None],
        {"age": USERS, "positives": KINDS},
        {"age": ("old", "new", "missing"), "positives": ("view", "buy")},
        generator="als",
        fold=2,
    )
    assert loss.schema == LOSS_SCHEMA
    keys = loss.select("fold", "generator", "bucket_by", "bucket").unique(maintain_order=True)
    assert keys.rows() == [
        (2, "als", "all", "all"),
        (2, "als", "age", "old"),
        (2, "als", "age", "new"),
        (2, "als", "age", "missing"),
        (2, "als", "positives", "view"),
        (2, "als", "positives", "buy"),
    ]
    assert loss["k"].to_list() == [10, 1, None] * 6
    # relevant; hit, below_k, filtered, unavailable, cold_item, cold_user, not_retrieved.
    assert counts(loss, "all", 10) == (9, 2, 1, 1, 1, 1, 1, 2)
    assert counts(loss, "all", 1) == (9, 1, 2, 1, 1, 1, 1, 2)
    # In the whole list nothing is below K.
    assert counts(loss, "all", None) == (9, 3, 0, 1, 1, 1, 1, 2)
    assert counts(loss, "new", 10) == (4, 1, 1, 1, 1, 0, 0, 0)
    assert counts(loss, "old", 10) == (5, 1, 0, 0, 0, 1, 1, 2)
    assert counts(loss, "missing", 10) == (0,) * 8
    assert counts(loss, "view", 10) == (2, 1, 0, 0, 0, 0, 1, 0)
    assert counts(loss, "buy", 1) == (2, 1, 0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize("empty", ["hits", "lost"])
def test_all_found_and_nothing_found(empty):
    hits, lost = (HITS.clear(), LOST) if empty == "hits" else (HITS, LOST.clear())
    loss = attribute_loss(hits, lost, [10], {}, {}, generator="als")
    row = loss.row(0, named=True)
    assert row["relevant"] == hits.height + lost.height == sum(row[cause] for cause in CAUSES)
    assert row["hit"] == (0 if empty == "hits" else 2)


def test_the_order_of_rows_does_not_matter():
    loss = [
        attribute_loss(
            HITS.sample(fraction=1, shuffle=True, seed=seed),
            LOST.sample(fraction=1, shuffle=True, seed=seed),
            [10],
            {"age": USERS},
            {"age": ("new", "old")},
            generator="als",
        )
        for seed in range(3)
    ]
    assert loss[0].equals(loss[1])
    assert loss[0].equals(loss[2])


def test_causes_of_each_query():
    counted = count_causes(HITS, LOST, 10)
    assert counted.columns == ["query_id", "relevant", *CAUSES]
    assert counted.rows() == [
        ("a", 4, 1, 1, 1, 1, 0, 0, 0),
        ("b", 3, 1, 0, 0, 0, 1, 0, 1),
        ("c", 2, 0, 0, 0, 0, 0, 1, 1),
    ]


# Samples of misses.


def test_a_sample_is_in_the_order_of_the_hashes():
    missed = [("a", 2), ("a", 3), ("a", 4), ("b", 5), ("b", 6), ("c", 7), ("c", 8)]

    def key(pair: tuple[str, int]) -> bytes:
        return hashlib.sha256(f"7:{pair[0]}:{pair[1]}".encode()).digest()[:8]

    found = sample_misses(HITS, LOST, k=10, count=5, seed=7)
    assert found.columns == ["query_id", "item_id", "gain", "rank", "cause"]
    assert found.select("query_id", "item_id").rows() == sorted(missed, key=key)[:5]


def test_a_sample_says_why():
    found = sample_misses(HITS, LOST, k=10, count=100, seed=7)
    assert found.height == 7
    below = found.filter(item_id=2).row(0)
    assert below == ("a", 2, 2.0, 11, "below_k")
    assert found.filter(item_id=7).row(0) == ("c", 7, 3.0, None, "cold_user")
    # In the whole list the deep one is a hit.
    assert sample_misses(HITS, LOST, k=None, count=100, seed=7).height == 6


def test_a_sample_depends_on_ids_and_seed_alone():
    first = sample_misses(HITS, LOST, k=10, count=3, seed=1)
    assert first.equals(sample_misses(HITS[::-1], LOST[::-1], k=10, count=3, seed=1))
    assert first.equals(sample_misses(HITS, LOST, k=10, count=6, seed=1).head(3))
    others = [sample_misses(HITS, LOST, k=10, count=3, seed=seed) for seed in range(2, 6)]
    assert any(not first.equals(other) for other in others)
    assert sample_misses(HITS, LOST, k=10, count=0, seed=1).is_empty()
