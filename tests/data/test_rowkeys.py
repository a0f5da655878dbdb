"""Rows by list and item: as a plain search finds them, whatever the hashes are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recoeval.data import rowkeys
from recoeval.data.rowkeys import Ints, PairIndex, expand, match_rows, positions

Hash = Callable[[pl.Series], np.ndarray]


def same_for_all(items: pl.Series) -> np.ndarray:
    return np.zeros(len(items), np.uint64)


def few(items: pl.Series) -> np.ndarray:
    return (items.hash().to_numpy() % 3) << np.uint64(60)


def all_bits(items: pl.Series) -> np.ndarray:
    return np.full(len(items), 2**64 - 1, np.uint64)


def some_bits(items: pl.Series) -> np.ndarray:
    """Hashes that are the largest number for some items."""
    return np.where(items.hash().to_numpy() % 2, np.uint64(2**64 - 1), np.uint64(5))


def low_bits(items: pl.Series) -> np.ndarray:
    """Hashes that differ only where the place stands."""
    return (items.hash().to_numpy() % 4) * np.uint64(2**32 + 1)


HASHED = [None, same_for_all, few, all_bits, some_bits, low_bits]
HASHES = pytest.mark.parametrize(
    "hashes", HASHED, ids=lambda each: "good" if each is None else each.__name__
)


@pytest.fixture
def hashed(hashes: Hash | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if hashes is not None:
        monkeypatch.setattr(rowkeys, "_hashes", hashes)


@pytest.fixture(params=["32 bits", "64 bits"])
def bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short keys, and those of long lists."""
    if request.param == "64 bits":
        monkeypatch.setattr(rowkeys, "_SHORT", 0)


def numbers(values: Any) -> Ints:
    return np.array(values, dtype=np.int64)


def items_of(values: Any, kind: str) -> pl.Series:
    if kind == "text":
        return pl.Series([f"{value}é" for value in values], dtype=pl.String)
    return pl.Series(values, dtype=pl.Int64)


def starts_by(lists: Ints) -> Ints:
    """Returns where lists start whose rows stand list by list; a list may have none."""
    size = int(lists.max(initial=-1)) + 1
    return np.searchsorted(lists, np.arange(max(size, 25) + 1))


def shared_plainly(lists: Ints, items: pl.Series) -> list[int]:
    rows = list(zip(lists.tolist(), items.to_list(), strict=True))
    return [at for at, row in enumerate(rows) if rows.count(row) > 1]


def found_plainly(
    lists: Ints, items: pl.Series, pair_lists: Ints, pair_items: pl.Series
) -> list[tuple[int, int]]:
    rows = list(zip(lists.tolist(), items.to_list(), strict=True))
    pairs = list(zip(pair_lists.tolist(), pair_items.to_list(), strict=True))
    return [(n, at) for n, pair in enumerate(pairs) for at, row in enumerate(rows) if row == pair]


Pairs = tuple[Ints, pl.Series]


def is_found(lists: Ints, items: pl.Series, *tables: Pairs) -> None:
    """Checks that rows are matched with each other and with pairs as a plain search does it."""
    matches = match_rows(starts_by(lists), items, tables)
    assert matches.shared.tolist() == shared_plainly(lists, items)
    assert matches.shared.dtype == np.int64
    for (pairs, rows), table in zip(matches.found, tables, strict=True):
        assert pairs.dtype == rows.dtype == np.int64
        found = sorted(zip(pairs.tolist(), rows.tolist(), strict=True))
        assert found == found_plainly(lists, items, *table)


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 6)), max_size=25)


@HASHES
@pytest.mark.parametrize("kind", ["int", "text"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, tables=st.lists(ROWS, max_size=3))
def test_rows_are_found_as_a_plain_search_finds_them(hashed, bits, kind, rows, tables):
    rows = sorted(rows, key=lambda row: row[0])
    # Pairs may be repeated, within a table and in others, and items within a list.
    own, *pairs = (
        (numbers([row[0] for row in each]), items_of([row[1] for row in each], kind))
        for each in (rows, *tables)
    )
    is_found(*own, *pairs)


@HASHES
def test_many_rows(hashed, bits):
    rng = np.random.default_rng(4)
    lists = np.sort(rng.integers(0, 20, 400))
    items = pl.Series(rng.integers(0, 15, 400))
    pairs = [(rng.integers(0, 25, n), pl.Series(rng.integers(0, 15, n))) for n in (120, 700)]
    is_found(lists, items, *pairs)


@HASHES
@pytest.mark.parametrize("kind", ["int", "text"])
def test_no_rows_or_no_pairs(hashed, bits, kind):
    nothing, none = numbers([]), items_of([], kind)
    some, pair = (numbers([0, 0]), items_of([5, 5], kind)), (numbers([0]), items_of([5], kind))
    is_found(nothing, none)
    is_found(nothing, none, (nothing, none), pair)
    is_found(*some)
    is_found(*some, (nothing, none))
    is_found(*some, (nothing, none), pair)


@HASHES
def test_lists_of_any_length(hashed, bits):
    rng = np.random.default_rng(5)
    lengths = np.array([1, 2, 3, 4, 5, 8, 9, 1, 0, 70, 33, 64, 65, 300])
    lists = np.repeat(np.arange(len(lengths)), lengths)
    items = pl.Series(rng.integers(0, 250, len(lists)))
    is_found(
        lists, items, (rng.integers(0, len(lengths), 400), pl.Series(rng.integers(0, 250, 400)))
    )


def test_a_list_of_more_than_two_thousand_rows():
    lists, items = numbers([0, *[1] * 3000]), pl.Series([7, *range(2999), 7])
    is_found(lists, items, (numbers([1, 0, 1]), pl.Series([7, 7, 2998])))


def test_one_row():
    is_found(numbers([3]), pl.Series([7]), (numbers([3, 3, 4, 3]), pl.Series([7, 8, 7, 7])))


def test_equal_items_of_other_lists_are_others():
    is_found(numbers([0, 1, 2]), pl.Series(["a", "a", "a"]), (numbers([1]), pl.Series(["a"])))


# Pairs by query.


def test_pairs_of_lists():
    index = PairIndex.of(numbers([0, 0, 2]), pl.Series(["a", "b", "c"]), 4)
    assert index.starts.tolist() == [0, 2, 2, 3, 3]
    lists, pairs = index.of_lists(numbers([2, -1, 0, 1, 3]))
    assert (lists.tolist(), pairs.tolist()) == ([0, 2, 2], [2, 0, 1])
    assert [each.tolist() for each in index.of_lists(numbers([]))] == [[], []]


def test_no_pairs_at_all():
    index = PairIndex.of(numbers([]), pl.Series([], dtype=pl.Int64), 2)
    assert [each.tolist() for each in index.of_lists(numbers([0, 1, -1]))] == [[], []]


# Places and ranges.


@given(st.data())
def test_positions_of_values(data):
    ids = data.draw(
        st.sampled_from([st.integers(-(2**63), 2**63 - 1), st.text(max_size=3)]), label="kind"
    )
    known = sorted(data.draw(st.lists(ids, unique=True, min_size=1, max_size=9)))
    values = data.draw(st.lists(st.one_of(st.sampled_from(known), ids), max_size=9))
    dtype = pl.String if isinstance(known[0], str) else pl.Int64
    found = positions(pl.Series(values, dtype=dtype), pl.Series(known, dtype=dtype))
    assert found.dtype == np.int64
    assert found.tolist() == [known.index(v) if v in known else -1 for v in values]


def test_positions_of_nothing():
    some = pl.Series(["b", "a"])
    assert positions(some, some.clear()).tolist() == [-1, -1]
    assert positions(some.clear(), some).tolist() == []
    known = pl.Series([5, 7])
    assert positions(pl.Series([None, 7]), known).tolist() == [-1, 1]
    assert positions(known, known).tolist() == [0, 1]
    assert positions(pl.Series([5, None]), known).tolist() == [0, -1]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), max_size=8))
def test_ranges_one_after_the_other(ranges):
    which, found = expand(
        numbers([start for start, _ in ranges]), numbers([count for _, count in ranges])
    )
    expected = [
        (index, start + n) for index, (start, count) in enumerate(ranges) for n in range(count)
    ]
    assert list(zip(which.tolist(), found.tolist(), strict=True)) == expected
