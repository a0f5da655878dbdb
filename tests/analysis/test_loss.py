import hashlib

import numpy as np
import polars as pl
import pytest

from recoeval.analysis.loss import Split, attribute_loss, sample_misses
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
# The same pairs by number: four of query a, three of b, two of c.
FOUND = pl.DataFrame({"item_id": [0, 1, 4], "rank": [1, 11, 10]})
MISSED = pl.DataFrame({"item_id": [2, 3, 5, 6, 7, 8], "cause": LOST["cause"]})
AGES = Split.of_queries(
    pl.Series(["old", "new", "old"]),
    ("old", "new", "missing"),
    np.array([2, 0, 1]),
    np.array([4, 3, 2]),
)
# A pair may have two labels, or none.
KINDS = Split.of(
    pl.Series(["buy", "view", "buy", "view"]),
    ("view", "buy"),
    pl.Series([0, 0, 6, 7], dtype=pl.UInt32),
)


def counts(loss: pl.DataFrame, bucket: str, k: int | None) -> tuple[int, ...]:
    found = loss.filter(pl.col("bucket") == bucket, pl.col("k").eq_missing(k))
    return found.select("relevant", *CAUSES).row(0)


def test_causes_by_bucket_and_depth():
    loss = attribute_loss(
        FOUND,
        MISSED,
        [10, 1, None],
        {"age": AGES, "positives": KINDS},
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


@pytest.mark.parametrize("empty", ["found", "missed"])
def test_all_found_and_nothing_found(empty):
    found = FOUND.clear() if empty == "found" else FOUND.with_columns(item_id=pl.Series([2, 0, 1]))
    missed = MISSED.clear() if empty == "missed" else MISSED.with_columns(item_id=pl.int_range(6))
    loss = attribute_loss(found, missed, [10], {}, generator="als")
    row = loss.row(0, named=True)
    assert row["relevant"] == found.height + missed.height == sum(row[cause] for cause in CAUSES)
    assert row["hit"] == (0 if empty == "found" else 2)


def test_the_order_of_rows_does_not_matter():
    loss = [
        attribute_loss(
            FOUND.sample(fraction=1, shuffle=True, seed=seed),
            MISSED.sample(fraction=1, shuffle=True, seed=seed),
            [10],
            {"age": AGES},
            generator="als",
        )
        for seed in range(3)
    ]
    assert loss[0].equals(loss[1])
    assert loss[0].equals(loss[2])


def test_labels_that_are_not_shown_are_left_out():
    split = Split.of(pl.Series(["x", "y", None, "x", "z", "x", "x", "x", "y"]), ("y", "x"))
    assert split.codes.tolist() == [1, 0, 2, 1, 2, 1, 1, 1, 0]
    loss = attribute_loss(FOUND, MISSED, [10], {"b": split}, generator="als")
    assert loss["bucket"].to_list() == ["all", "y", "x"]
    assert counts(loss, "y", 10) == (2, 0, 1, 0, 0, 0, 0, 1)
    assert counts(loss, "x", 10) == (5, 1, 0, 0, 1, 1, 1, 1)


def test_more_pairs_labels_and_depths_than_fit_a_byte_or_one_step():
    size = 70_000
    labels = pl.Series([f"{number % 300}" for number in range(size)])
    split = Split.of(labels, labels[:300].to_list())
    found = pl.DataFrame({"item_id": range(size), "rank": [1 + n // 300 for n in range(size)]})
    loss = attribute_loss(
        found, MISSED.clear(), range(1, 301), {"b": split}, generator="als"
    ).filter(bucket_by="b")
    for label, k in (("0", 1), ("99", 233), ("299", 150), ("100", 300)):
        relevant = (size - int(label) + 299) // 300
        assert counts(loss, label, k)[:3] == (relevant, min(k, relevant), max(0, relevant - k))


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
