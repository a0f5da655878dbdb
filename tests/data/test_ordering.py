"""Rows in order of their ids: as the plain sort has them, whatever the hashes are."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recoeval.data import ordering
from recoeval.data.ordering import (
    distinct,
    has_repeats,
    in_order,
    is_in_order,
    order_of,
    sort_pairs,
    starts_of,
)

INTS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
TEXTS = st.one_of(st.sampled_from(["", "0", "10", "9", "A", "a", "é", "\U0001f600"]), st.text())
DTYPES = {"int": pl.Int64, "text": pl.String}
IDS = {"int": INTS, "text": TEXTS}
PAIRS = pytest.mark.parametrize(
    ("first", "second"), [("int", "int"), ("int", "text"), ("text", "int"), ("text", "text")]
)


def table(rows: list[tuple[object, object]], first: str, second: str) -> pl.DataFrame:
    schema = {"query_id": DTYPES[first], "item_id": DTYPES[second]}
    frame = pl.DataFrame(rows, schema, orient="row")
    return frame.select("item_id", pl.int_range(pl.len()).alias("row"), "query_id")


def assert_sorted(frame: pl.DataFrame) -> None:
    expected = frame.sort("query_id", "item_id", maintain_order=True)
    found = sort_pairs(frame, "query_id", "item_id")
    assert found.schema == frame.schema
    assert found.equals(expected)


@PAIRS
@settings(max_examples=40)
@given(data=st.data())
def test_pairs_are_sorted_as_by_the_plain_sort(first, second, data):
    pairs = st.tuples(IDS[first], IDS[second])
    assert_sorted(table(data.draw(st.lists(pairs, unique=True, max_size=30)), first, second))


@pytest.mark.parametrize("kind", ["int", "text"])
@settings(max_examples=60)
@given(data=st.data())
def test_places_of_ids_in_their_order(kind, data):
    ids = pl.Series(data.draw(st.lists(IDS[kind], unique=True, max_size=30)), dtype=DTYPES[kind])
    assert ids.gather(order_of(ids)).equals(ids.sort())


@pytest.mark.parametrize("bits", [0, 1, 2, 5, 8, 60])
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(TEXTS, st.integers(0, 5)), unique=True, max_size=30))
def test_texts_whose_hashes_are_alike(monkeypatch, bits, pairs):
    hashes = pl.Series.hash
    few = np.uint64(2**bits)
    # Hashes that differ in their last bits alone, where the place of a row is put.
    monkeypatch.setattr(pl.Series, "hash", lambda ids: hashes(ids) % few)
    monkeypatch.setattr(ordering, "_LONGEST", 0)
    assert_sorted(table(pairs, "text", "int"))


@pytest.mark.parametrize("at_once", [2, 1000])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pairs=st.lists(
        st.tuples(st.text("\0a9é", max_size=30) | st.text("\0a", max_size=4), st.integers(0, 5)),
        unique=True,
        max_size=12,
    )
)
def test_texts_that_differ_in_length_zeros_and_bytes_a_letter(monkeypatch, at_once, pairs):
    monkeypatch.setattr(ordering, "_AT_ONCE", at_once)
    assert_sorted(table(pairs, "text", "int"))


@pytest.mark.parametrize("length", [1, 6, 9, 30])
def test_many_texts(length):
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"q": rng.integers(0, 2000, 9000), "i": rng.integers(0, 4000, 9000)})
    frame = frame.unique().select(
        query_id=pl.format("u{}", pl.col("q").cast(pl.String).str.zfill(length)),
        item_id=pl.format("{}x", pl.col("i").cast(pl.String).str.zfill(length)),
    )
    assert_sorted(frame.sample(fraction=1, shuffle=True, seed=1))
    # A column with other values: the place of a row has to be known.
    assert_sorted(frame.with_row_index().sample(fraction=1, shuffle=True, seed=1))


@PAIRS
def test_many_pairs(first, second):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"q": rng.integers(0, 900, 9000), "i": rng.integers(0, 400, 9000)}
    ).unique()
    frame = frame.select(
        query_id=pl.col("q").cast(DTYPES[first]), item_id=pl.col("i").cast(DTYPES[second])
    )
    assert_sorted(frame.sample(fraction=1, shuffle=True, seed=1))


@pytest.mark.parametrize("bits", [18, 29, 32, 40])
def test_pairs_that_leave_no_room_for_their_places(bits):
    # 24 bits of the query, 11 of the place: from 30 bits of the item on, some are lacking.
    rng = np.random.default_rng(3)
    size = 4_000
    query = rng.integers(0, 50, size) * (2**24 // 50)
    item = rng.integers(0, 8, size) * (2 ** (bits - 3)) + rng.integers(0, 4, size)
    frame = pl.DataFrame({"query_id": query, "item_id": item}).unique(maintain_order=True)
    frame = pl.concat([frame, pl.DataFrame({"query_id": [0], "item_id": [2**bits - 1]})])
    before = frame.with_row_index("row")
    assert_sorted(before)
    # Integers are packed in memory of their own.
    assert before.drop("row").equals(frame)


def test_texts_in_several_parts(monkeypatch):
    monkeypatch.setattr(ordering, "_AT_ONCE", 100)
    test_many_texts(6)
    test_many_texts(9)
    # Zeros end texts of one part, and fill up those of another.
    frame = pl.DataFrame({"query_id": [*["a\0"] * 100, *["a"] * 100], "item_id": range(200)})
    assert_sorted(frame.sample(fraction=1, shuffle=True, seed=1))
    assert_sorted(frame)
    # The first part has digits, another one has none.
    names = [f"u{number:03}" for number in range(900)]
    frame = pl.DataFrame({"query_id": [*names, "u\0", "ué"], "item_id": 7})
    assert_sorted(frame.sample(fraction=1, shuffle=True, seed=1))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6))
def test_whether_rows_are_in_order(pairs):
    frame = pl.DataFrame(pairs, {"a": pl.Int64, "b": pl.Int64}, orient="row")
    assert is_in_order(frame, "a", "b") == (pairs == sorted(set(pairs)))
    assert is_in_order(frame, "a") == ([a for a, _ in pairs] == sorted({a for a, _ in pairs}))
    distinct = frame.unique()
    assert in_order(distinct, "a", "b").equals(distinct.sort("a", "b"))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6))
def test_whether_a_pair_repeats(pairs):
    frame = pl.DataFrame(sorted(pairs), {"a": pl.Int64, "b": pl.Int64}, orient="row")
    for rows in (frame, frame.cast(pl.String)):
        assert has_repeats(rows, "a", "b") == (len(set(pairs)) < len(pairs))


def test_rows_in_order_stay_where_they_are():
    frame = pl.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 0]})
    assert in_order(frame, "a", "b") is frame


def test_where_runs_start():
    assert starts_of(pl.Series(["b", "b", "a", "b"])).tolist() == [0, 2, 3]
    assert starts_of(pl.Series([], dtype=pl.Int64)).tolist() == []
    # Rows without an id are no run.
    assert starts_of(pl.Series([None, None, 1])).tolist() == [0, 1, 2]


@given(values=st.lists(st.integers(-3, 9), max_size=30), text=st.booleans())
def test_each_id_once(values, text):
    ids = pl.Series(values, dtype=pl.Int64)
    if text:
        ids = ids.cast(pl.String) + "é"
    found = distinct(ids)
    assert found.dtype == ids.dtype
    assert sorted(found) == sorted(set(ids))
