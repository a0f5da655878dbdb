import numpy as np
import polars as pl
import pytest

from recoeval.generators.blocks import (
    best,
    distinct_pairs,
    pair_weights,
    ranked_lists,
    seen_items,
)

ITEMS = pl.Series([50, 20, 40, 30])  # in the order of a ranking, not of the ids
PAIRS = [(7, 30), (3, 20), (7, 50), (7, 30), (3, 99), (5, 99), (3, 50), (7, 20), (7, 30)]


def frame(text: bool) -> pl.LazyFrame:
    pairs = pl.LazyFrame(PAIRS, schema=["user_id", "item_id"], orient="row")
    return pairs.select(pl.all().cast(pl.String)) if text else pairs


@pytest.mark.parametrize("text", [False, True])
def test_pairs_are_distinct_and_ascend_by_position(text):
    users, items = pl.Series([7, 3, 5]), ITEMS
    if text:
        users, items = users.cast(pl.String), items.cast(pl.String)
    owners, positions = distinct_pairs(frame(text), users, items)
    found = list(zip(owners.tolist(), positions.tolist(), strict=True))
    assert found == [(0, 0), (0, 1), (0, 3), (1, 0), (1, 1)]


@pytest.mark.parametrize("text", [False, True])
def test_seen_items_of_a_block(text):
    asked = pl.Series([7, 1, 3, 7, 5, 9])
    items = ITEMS.cast(pl.String) if text else ITEMS
    seen = seen_items(frame(text), items)
    rows, positions, counts = seen.of(asked.cast(pl.String) if text else asked)
    # Strangers, and a user who saw nothing that can be listed, have none.
    assert counts.tolist() == [3, 0, 2, 3, 0, 0]
    assert rows.tolist() == [0, 0, 0, 2, 2, 3, 3, 3]
    assert positions.tolist() == [0, 1, 3, 0, 1, 0, 1, 3]
    assert seen.counts(asked.cast(pl.String) if text else asked).tolist() == counts.tolist()


def test_seen_items_take_four_bytes_each():
    seen = seen_items(frame(text=True), ITEMS.cast(pl.String))
    assert seen.items.dtype == np.int32
    assert len(seen.items) == 5
    assert seen.starts.tolist() == [0, 2, 2, 5]


def test_many_seen_items():
    random = np.random.default_rng(3)
    users, items = random.integers(0, 40, 5000), random.integers(0, 300, 5000)
    pairs = pl.LazyFrame({"user_id": users, "item_id": items})
    ranking = pl.Series(random.permutation(250))
    seen = seen_items(pairs, ranking)
    place = {item: at for at, item in enumerate(ranking.to_list())}
    expected = {(user, place[item]) for user, item in zip(users, items, strict=True) if item < 250}
    rows, positions, _ = seen.of(pl.Series(range(40)))
    assert list(zip(rows.tolist(), positions.tolist(), strict=True)) == sorted(expected)


def test_nothing_seen():
    for none in (None, frame(text=False).clear()):
        rows, positions, counts = seen_items(none, ITEMS).of(pl.Series([3, 7]))
        assert (len(rows), len(positions), counts.tolist()) == (0, 0, [0, 0])


def test_lists_of_several_lengths():
    lists = ranked_lists(
        pl.Series(["a", "b", "c"]),
        ITEMS,
        np.array([[3, 0], [9, 9], [1, 9]]),
        np.array([[2.5, 1.5], [0.0, 0.0], [7.0, 0.0]]),
        np.array([2, 0, 1]),
    ).collect()
    assert lists.columns == ["query_id", "item_id", "rank", "score"]
    assert lists.rows() == [("a", 30, 1, 2.5), ("a", 50, 2, 1.5), ("c", 20, 1, 7.0)]


def test_best_entries_of_rows():
    rows = np.array([2, 0, 2, 0, 2, 0])
    positions = np.array([4, 9, 1, 3, 0, 5])
    scores = np.array([1.0, 0.5, 1.0, 0.5, -2.0, 0.5])
    listed, known, lengths = best(rows, positions, scores, (4, 2))
    # Row 1 has none, and neither has the last one; equal scores go by position.
    assert lengths.tolist() == [2, 0, 2, 0]
    assert listed.tolist() == [[3, 5], [0, 0], [1, 4], [0, 0]]
    assert known.tolist() == [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_best_entries_where_there_are_fewer_than_asked_for():
    listed, known, lengths = best(np.array([0]), np.array([7]), np.array([-1.0]), (1, 3))
    assert (listed.tolist(), known.tolist(), lengths.tolist()) == ([[7, 0, 0]], [[-1.0, 0, 0]], [1])


def test_weights_of_pairs_are_summed_and_in_order():
    rows = pl.LazyFrame(
        {"user_id": [2, 1, 2, 2], "item_id": [5, 6, 6, 5], "weight": [1.0, 4.0, 0.5, 2.0]}
    )
    weights = pair_weights(rows, pl.Series([1, 2]), pl.Series([5, 6]))
    assert weights.toarray().tolist() == [[0.0, 4.0], [3.0, 0.5]]
    assert weights.has_sorted_indices
    assert weights.dtype == np.float32
