"""Marks of ids: as a set has them."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.analysis.health import marks as module
from recoeval.analysis.health.marks import Marks


@pytest.mark.parametrize("dtype", [pl.Int64, pl.String])
@pytest.mark.parametrize("room", [2, -3])
@given(st.dictionaries(st.integers(-(2**40), 2**40), st.booleans(), min_size=1))
def test_rows_are_marked_as_a_set_has_them(
    dtype: type[pl.DataType], room: int, known: dict[int, bool]
) -> None:
    ids = pl.Series("id", list(known)).cast(dtype)
    with pytest.MonkeyPatch.context() as patch:
        # With less room than ids, most share their slot with others.
        patch.setattr(module, "_ROOM", max(room, 1 - len(known).bit_length()))
        marks = Marks.of(ids, pl.Series(list(known.values())))
    rows = pl.concat([ids, ids.reverse()]).to_frame()
    marked = rows.select(marks.holds("id"))["id"].to_list()
    assert marked == [*known.values(), *reversed(known.values())]
    lazy = rows.lazy().select(marks.holds("id")).collect(engine="streaming")
    assert lazy["id"].to_list() == marked


@pytest.mark.parametrize("marked", [False, True])
def test_all_alike(marked: bool) -> None:
    ids = pl.Series("id", range(1000))
    marks = Marks.of(ids, pl.repeat(marked, 1000, eager=True))
    assert ids.to_frame().select(marks.holds("id").sum()).item() == 1000 * marked


def test_no_rows() -> None:
    ids = pl.Series("id", ["a", "b"])
    marks = Marks.of(ids, pl.Series([True, False]))
    assert ids.clear().to_frame().select(marks.holds("id")).schema == {"id": pl.Boolean}


def test_no_two_ids_share_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = pl.Series.hash
    monkeypatch.setattr(
        pl.Series, "hash", lambda ids, seed: hashes(ids, seed) * (0 if seed < 2 else 1)
    )
    assert Marks.of(pl.Series("id", ["a", "b"]), pl.Series([True, False])).seed == 2
