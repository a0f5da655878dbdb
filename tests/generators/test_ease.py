from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.errors import EngineError
from recoeval.generators import EASE, Train, ease

SEEN = {"schema": {"user_id": pl.Int64, "item_id": pl.Int64}}


def train_of(pairs: list[tuple[int, int]], weights: list[float] | None = None) -> Train:
    rows = pl.DataFrame(pairs, schema={"user_id": pl.Int64, "item_id": pl.Int64}, orient="row")
    rows = rows.with_columns(weight=pl.Series(weights or [1.0] * len(pairs), dtype=pl.Float64))
    return Train(rows.lazy(), None, None, seed=1, threads=1)


def queries_of(pairs: list[tuple[int, int]]) -> pl.DataFrame:
    users = sorted({user for user, _ in pairs})
    return pl.DataFrame({"query_id": users, "user_id": users})


def test_by_hand(recommend):
    # G + 1 on the diagonal is [[3, 1], [1, 2]]; its inverse is [[2, -1], [-1, 3]] / 5. Item 1 says
    # 1/3 for item 2 = -(-1/5) / (3/5), item 2 says 1/2 for item 1.
    train = train_of([(10, 1), (10, 2), (11, 1)])
    lists = recommend(EASE(l2=1.0).fit(train), queries_of([(10, 0), (11, 0)]), 2)
    found = list(lists.select("query_id", "item_id", "rank").iter_rows())
    assert found == [(10, 1, 1), (10, 2, 2), (11, 2, 1), (11, 1, 2)]
    expected = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 3), 0]
    assert lists["score"].to_list() == pytest.approx([float(value) for value in expected])


def test_weights_and_repeats_do_not_matter(recommend, equal):
    pairs = [(10, 1), (10, 2), (11, 1), (12, 3), (12, 1)]
    plain, heavy = train_of(pairs), train_of([*pairs, pairs[0]], [5.0, 0.1, 2.0, 9.0, 1.0, 3.0])
    equal(
        recommend(EASE().fit(plain), queries_of(pairs), 3),
        recommend(EASE().fit(heavy), queries_of(pairs), 3),
    )


@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 8)), min_size=1, max_size=40, unique=True
    ),
    l2=st.sampled_from([0.5, 3.0, 292.0]),
)
def test_every_item_is_the_best_guess_from_the_others(pairs, l2):
    """What EASE minimises, item by item: a ridge regression on all other items."""
    users, items = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
    there = np.array([[(user, item) in pairs for item in items] for user in users], dtype=float)
    expected = np.zeros((len(items), len(items)))
    for at in range(len(items)):
        others = np.delete(np.arange(len(items)), at)
        known = there[:, others]
        gram = known.T @ known + l2 * np.eye(len(others))
        expected[others, at] = np.linalg.solve(gram, known.T @ there[:, at])
    fitted = EASE(l2=l2).fit(train_of(pairs))
    lists = fitted.recommend(queries_of(pairs), len(items)).collect()
    scores = {(query, item): score for query, item, _, score in lists.iter_rows()}
    assert len(scores) == len(users) * len(items)
    for row, user in enumerate(users):
        for column, item in enumerate(items):
            value = there[row] @ expected[:, column]
            assert scores[user, item] == pytest.approx(value, abs=1e-9)


def test_parts_of_the_matrix_and_of_the_users(toy, recommend, equal, monkeypatch):
    whole = recommend(EASE().fit(toy.train), toy.queries, 60)
    monkeypatch.setattr(ease, "_CHUNK", 7 * 60)
    equal(whole, recommend(EASE().fit(toy.train), toy.queries, 60))
    monkeypatch.setattr(ease, "_CHUNK", 1)
    equal(whole, recommend(EASE().fit(toy.train), toy.queries, 60))


def test_threads_change_no_more_than_rounding(toy, recommend):
    one = recommend(EASE().fit(toy.train), toy.queries, 60)
    other = recommend(EASE().fit(toy.with_train(threads=2).train), toy.queries, 60)
    keys = ["query_id", "item_id"]
    both = one.join(other, on=keys)
    assert both.height == one.height == other.height
    assert (both["score"] - both["score_right"]).abs().max() < 1e-12


def test_too_many_items_for_the_memory(toy, monkeypatch):
    monkeypatch.setattr(ease, "_free_memory", lambda: 2**26)
    monkeypatch.setattr(ease, "distinct", lambda *_: pl.Series(range(20_000)))
    with pytest.raises(EngineError) as caught:
        EASE().fit(toy.train)
    assert str(caught.value) == (
        "ease holds a matrix of items x items: 20,000 items take 3.14 GiB, and 0.06 GiB are free. "
        "Leave rare items out with a rule in training.where, or take item_knn"
    )


def test_unknown_memory_refuses_nothing(toy, monkeypatch):
    monkeypatch.setattr(ease, "_free_memory", lambda: None)
    EASE().fit(toy.train)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A folder that stands for what the system says of its memory."""
    monkeypatch.setattr(ease, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(ease, "_CGROUP", tmp_path)
    return tmp_path


def test_free_memory(machine):
    assert ease._free_memory() is None
    (machine / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    7 kB\nHugePages: 0\n")
    assert ease._free_memory() == 7 * 1024
    (machine / "memory.max").write_text("max\n")
    assert ease._free_memory() == 7 * 1024
    (machine / "memory.max").write_text("5000\n")
    (machine / "memory.current").write_text("3000\n")
    assert ease._free_memory() == 2000
    (machine / "memory.stat").write_text("anon 2500\ninactive_file 500\n")
    assert ease._free_memory() == 2500
    (machine / "memory.current").write_text("9000\n")
    assert ease._free_memory() == 0


def test_free_memory_of_older_containers(machine):
    (machine / "memory").mkdir()
    (machine / "memory" / "memory.limit_in_bytes").write_text("5000\n")
    (machine / "memory" / "memory.usage_in_bytes").write_text("1000\n")
    assert ease._free_memory() == 4000


def test_a_penalty_below_rounding():
    # Two items that are the same to every user, and a penalty that vanishes beside them.
    pairs = [(user, item) for user in range(10) for item in (1, 2)]
    with pytest.raises(EngineError) as caught:
        EASE(l2=1e-300).fit(train_of(pairs))
    assert str(caught.value) == (
        "the matrix of ease has no inverse in float64 with l2=1e-300: raise l2"
    )


@pytest.mark.parametrize("l2", [0, -1.0, float("nan"), "500", True])
def test_options_out_of_range(l2):
    with pytest.raises(ValidationError):
        EASE(l2=l2)
