"""Ids numbered as they come, held against a dictionary."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.data import numbering
from recoeval.data.numbering import Firsts, Numbering

IDS = st.integers(0, 60) | st.sampled_from([-1, 2**63 - 1, -(2**63)])
BATCHES = st.lists(st.lists(IDS, max_size=30), max_size=8)
HASH = pl.Series.hash


def crowded(divisor: int) -> Callable[..., pl.Series]:
    """Returns a hash of few values, by which ids stand at the end of the table."""
    return lambda ids, *seeds: HASH(ids, *seeds) % divisor + np.uint64(2**64 - divisor)


@pytest.mark.parametrize("divisor", [None, 1, 3, 40])
@given(batches=BATCHES, text=st.booleans())
def test_numbers_are_those_of_a_dictionary(
    batches: list[list[int]], text: bool, divisor: int | None
) -> None:
    found, expected = Numbering(), dict[Any, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "_FIRST_BITS", 2)
        if divisor is not None:
            patch.setattr(pl.Series, "hash", crowded(divisor))
        for batch in batches:
            ids = pl.Series(batch, dtype=pl.Int64)
            if text:
                ids = pl.select(pl.format("{}-of-many-things", ids)).to_series()
            numbers = found.number(ids).tolist()
            assert len(numbers) == len(batch)
            for each, number in zip(ids, numbers, strict=True):
                assert expected.setdefault(each, number) == number
    assert sorted(expected.values()) == list(range(len(expected))) == list(range(len(found)))
    assert {each: number for number, each in enumerate(found.ids())} == expected


def test_many_ids_make_the_table_larger():
    ids = pl.Series([f"id {number}" for number in range(200_000)])
    found = Numbering()
    parts = [found.number(ids.slice(start, 7_000)) for start in range(0, len(ids), 7_000)]
    numbers = np.concatenate(parts)
    assert sorted(numbers.tolist()) == list(range(len(ids)))
    assert found.ids().gather(numbers).equals(ids)
    assert found.number(ids.reverse()).tolist() == numbers[::-1].tolist()


def test_ids_in_their_order():
    found = Numbering()
    found.number(pl.Series(["c", "a"]))
    found.number(pl.Series(["d", "a", "b"]))
    every = found.sorted()
    assert every.ids.to_list() == ["a", "b", "c", "d"]
    assert every.ids.to_list() == found.ids().gather(every.numbers).to_list()
    assert every.ids.gather(every.places()).to_list() == found.ids().to_list()
    first = every.first(2)
    assert first.ids.to_list() == ["a", "c"]
    assert first.places().tolist() == [1, 0]


TIMES = st.lists(st.tuples(st.integers(0, 2_000), st.integers(-(10**15), 10**15)), min_size=1)


@given(st.lists(TIMES, min_size=1, max_size=4))
def test_first_times(batches: list[list[tuple[int, int]]]) -> None:
    dtype = pl.Datetime("us", "UTC")
    found, expected = Firsts(dtype), dict[int, int]()
    for batch in batches:
        numbers, times = zip(*batch, strict=True)
        found.see(np.array(numbers, np.int32), pl.Series(times).cast(dtype))
        for number, time in batch:
            expected[number] = min(time, expected.get(number, time))
    first = found.of(np.array(list(expected)))
    assert first.dtype == dtype
    assert first.to_physical().to_list() == list(expected.values())


def test_a_time_is_a_moment():
    found = Firsts(pl.Datetime("us", "UTC"))
    moments = [datetime(2026, 1, day, tzinfo=UTC) for day in (2, 1)]
    found.see(np.zeros(2, np.int32), pl.Series(moments))
    assert found.of(np.zeros(1, np.int64)).to_list() == [moments[1]]
