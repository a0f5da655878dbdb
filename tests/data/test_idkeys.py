"""Keys of ids: hashes that no two of them share."""

import polars as pl
import pytest

from recoeval.data.idkeys import key_of, seed_of


def test_text_is_joined_by_a_hash_that_no_two_ids_share(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = pl.Series("user_id", ["a", "b", "c"])
    real = pl.Series.hash

    def crowded(series: pl.Series, seed: int = 0, *more: int) -> pl.Series:
        """Returns hashes that the first two seeds let collide."""
        hashes = real(series, seed, *more)
        return hashes // 2**63 if seed < 2 else hashes

    monkeypatch.setattr(pl.Series, "hash", crowded)
    key = ids.to_frame().select(key_of("user_id", ids)).to_series()
    assert seed_of(ids) == 2
    assert key.equals(real(ids, 2))
    numbers = pl.Series("user_id", [3, 1])
    assert numbers.to_frame().select(key_of("user_id", numbers)).to_series().equals(numbers)
