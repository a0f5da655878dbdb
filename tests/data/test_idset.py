"""Ids met so far: each once, whatever stands in the slots and whoever adds to them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recoeval.data import idset
from recoeval.data.idset import IdSet

BATCHES = st.lists(st.lists(st.integers(-9, 30), max_size=20), min_size=1, max_size=6)


def series(values: list[int], *, text: bool) -> pl.Series:
    ids = pl.Series(values, dtype=pl.Int64)
    return ids.cast(pl.String) + "é" if text else ids


def make_small(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    """Makes slots rare, so that most ids find theirs taken, and few ids are held twice."""
    monkeypatch.setattr(idset, "_BITS", bits)
    monkeypatch.setattr(idset, "_SHIFTS", (64 - bits, 64 - 2 * bits))
    monkeypatch.setattr(idset, "_AT_LEAST", 3)


@pytest.mark.parametrize("bits", [1, 3, 20])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(batches=BATCHES, text=st.booleans(), hashed=st.booleans())
def test_each_id_once(monkeypatch, bits, batches, text, hashed):
    make_small(monkeypatch, bits)
    found = IdSet()
    for batch in batches:
        ids = series(batch, text=text)
        found.add(ids, ids.hash().to_numpy() if hashed else None)
    values = found.values()
    assert values.dtype == ids.dtype
    assert len(values) == values.n_unique()
    assert set(values) == {each for batch in batches for each in series(batch, text=text)}


@pytest.mark.parametrize("number", [0, 1, 2**64 - 1])
def test_hashes_that_mark_empty_slots(number):
    # Whatever the hash is, its id is not taken for one that was met.
    found = IdSet()
    assert found._unknown(np.array([number], np.uint64)).tolist() == [0]


@pytest.mark.parametrize("bits", [2, 20])
def test_threads_add_at_a_time(monkeypatch, bits):
    make_small(monkeypatch, bits)
    rng = np.random.default_rng(0)
    batches = [series(rng.integers(0, 500, 2_000).tolist(), text=True) for _ in range(20)]
    found, again = IdSet(), IdSet()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(found.add, batches))
    for batch in reversed(batches):
        again.add(batch)
    assert set(found.values()) == set(pl.concat(batches))
    # Nor does their order depend on that of the calls.
    assert found.values().equals(again.values())


def test_ids_that_came_before_are_not_held_again():
    found, ids = IdSet(), series(list(range(1_000)), text=True)
    for _ in range(5):
        found.add(ids)
    assert sum(map(len, found._parts)) < 1_100
