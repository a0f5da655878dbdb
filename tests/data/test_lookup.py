"""Integer ids in a table that spans them: as a search among them finds them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.data.lookup import Lookup, pick
from recoeval.data.rowkeys import positions

ENDS = st.sampled_from([-(2**63), -7, 0, 2**40, 2**63 - 60])


@given(
    least=ENDS,
    known=st.sets(st.integers(0, 50), min_size=4),
    values=st.lists(st.one_of(st.none(), st.integers(-60, 110)), max_size=12),
)
def test_ids_are_found_as_a_search_finds_them(least, known, values):
    ids = pl.Series([least + n for n in sorted(known)], dtype=pl.Int64)
    near = [None if n is None else min(max(least + n, -(2**63)), 2**63 - 1) for n in values]
    wanted = pl.Series([*near, -(2**63), 2**63 - 1], dtype=pl.Int64)
    lookup = Lookup.of(ids)
    assert lookup is not None
    found = lookup.find(wanted)
    assert found.dtype == np.int64
    assert found.tolist() == positions(wanted, ids).tolist()


@pytest.mark.parametrize(
    "ids",
    [
        pl.Series(["a", "b"]),
        pl.Series([], dtype=pl.Int64),
        pl.Series([0, 2**40]),
        pl.Series([-(2**63), 2**63 - 1]),
    ],
)
def test_other_ids_have_no_table(ids):
    assert Lookup.of(ids) is None


@pytest.mark.parametrize("ids", [pl.Series([5, -7, 2**60]), pl.Series(["b", "", "a"])])
def test_ids_at_places(ids):
    assert pick(ids, np.array([2, 0, 2])).to_list() == [ids[2], ids[0], ids[2]]
    assert pick(ids, np.zeros(0, np.int64)).dtype == ids.dtype
