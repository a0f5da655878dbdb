import hashlib
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

from recoeval.generators import Random, Train
from recoeval.generators.random_items import _first_draws, _stream, query_seeds


def train_of(items: int, seen=None, seed: int = 1) -> Train:
    rows = pl.DataFrame({"user_id": [0] * items, "item_id": range(items), "weight": [1.0] * items})
    if seen is not None:
        seen = pl.DataFrame(seen, schema=["user_id", "item_id"], orient="row").lazy()
    return Train(rows.lazy(), seen, None, seed=seed, threads=1)


def lists_of(train: Train, users: int, k: int) -> np.ndarray:
    queries = pl.DataFrame({"query_id": range(users), "user_id": range(users)})
    lists = Random().fit(train).recommend(queries, k).collect().sort("query_id", "rank")
    return lists["item_id"].to_numpy().reshape(users, -1)


def test_seed_of_a_query():
    seeds = query_seeds(7, pl.Series(["u1", "é"]))
    digests = [hashlib.sha256(text.encode()).digest() for text in ("7:u1", "7:é")]
    assert seeds.tolist() == [int.from_bytes(digest[:8], "big") for digest in digests]
    assert query_seeds(7, pl.Series([12])).tolist() == query_seeds(7, pl.Series(["12"])).tolist()
    assert query_seeds(7, pl.Series(dtype=pl.Int64)).tolist() == []


def test_stream_is_splitmix64():
    # The first numbers of the published generator from seed 1234567.
    first = _stream(np.array([1234567], dtype=np.uint64), 3)[0].tolist()
    assert first == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_all_orders_are_equally_likely():
    lists = lists_of(train_of(3), 6000, 3)
    counts = [int((lists == order).all(axis=1).sum()) for order in permutations(range(3))]
    assert sum(counts) == 6000
    assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("items", [40, 1000])  # shuffled, and drawn
def test_items_are_equally_likely_at_every_rank(items):
    lists = lists_of(train_of(items), 20_000, 10)
    for rank in (0, 4, 9):
        counts = np.bincount(lists[:, rank], minlength=items)
        assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("items", [40, 1000])
def test_unseen_items_are_equally_likely(items):
    seen = [(user, item) for user in range(5000) for item in range(8)]
    lists = lists_of(train_of(items, seen), 5000, 10)
    counts = np.bincount(lists.ravel(), minlength=items)
    assert counts[:8].sum() == 0
    assert chisquare(counts[8:]).pvalue > 0.001


def test_other_seeds_and_other_queries_other_lists():
    first, second = lists_of(train_of(1000), 50, 10), lists_of(train_of(1000, seed=2), 50, 10)
    assert not (first == second).all(axis=1).any()
    assert len(np.unique(first, axis=0)) == 50


def test_seen_items_leave_and_the_others_move_up():
    free = lists_of(train_of(1000), 1, 10)[0].tolist()
    seen = [(0, free[0]), (0, free[3])]
    filtered = lists_of(train_of(1000, seen), 1, 8)[0].tolist()
    assert filtered == [item for item in free if item not in (free[0], free[3])]


def test_seen_and_repeated_draws_are_no_first_draws():
    draws = np.array([[3, 3, 5, 7], [7, 1, 7, 1]])
    fresh = _first_draws(draws, np.array([0, 1]), np.array([7, 2]), 10)
    assert fresh.tolist() == [[True, False, True, False], [True, True, False, False]]


def test_draws_go_on_until_the_list_is_full(monkeypatch):
    # 24 of 100 items are seen or listed; a short first batch must be made up by later ones.
    from recoeval.generators import random_items

    expected = lists_of(train_of(2000, [(0, item) for item in range(300)]), 3, 190)
    stream, asked = random_items._stream, []

    def short(seeds, length):
        asked.append(length)
        return stream(seeds, length - 200 if len(asked) == 1 else length)

    monkeypatch.setattr(random_items, "_stream", short)
    again = lists_of(train_of(2000, [(0, item) for item in range(300)]), 3, 190)
    assert len(asked) > 1
    assert again.tolist() == expected.tolist()


def test_score_falls_with_rank():
    queries = pl.DataFrame({"query_id": [1], "user_id": [1]})
    lists = Random().fit(train_of(9)).recommend(queries, 3).collect().sort("rank")
    assert lists["score"].to_list() == [1.0, 1 / 2, 1 / 3]
