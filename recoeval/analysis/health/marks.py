"""Rows of marked ids, told by a small table of hashes that a cache holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.data.idkeys import seed_of

__all__ = ["Marks"]

_ROOM: Final = 2
"""Bits of a slot beyond those that number the ids: one id in twenty shares its slot with one that
is marked otherwise. With more room the table leaves the cache."""
_MOST_BITS: Final = 26
_UNMARKED: Final = np.uint8(1)
_MARKED: Final = np.uint8(2)


@dataclass(frozen=True, slots=True)
class Marks:
    """Which of some ids are marked, looked up by hash.

    A join with a million ids misses the cache at every row: reading rows and counting their marks
    takes seven tenths of the CPU (42 M rows).

    Args:
        seed: of a hash that no two of the ids share.
        shift: what is left of a hash is its slot.
        slots: whether those of a slot are all unmarked (1), all marked (2) or both (3).
        shared: hashes of the marked ids in slots that have both, ascending.
    """

    seed: int
    shift: np.uint64
    slots: NDArray[np.uint8]
    shared: NDArray[np.uint64]

    @classmethod
    def of(cls, ids: pl.Series, marked: pl.Series) -> Marks:
        """Returns the marks of ids.

        Args:
            ids: distinct, without null.
            marked: whether each of them is marked.
        """
        seed = seed_of(ids)
        hashes, chosen = ids.hash(seed).to_numpy(), marked.to_numpy()
        bits = min(len(ids).bit_length() + _ROOM, _MOST_BITS)
        shift = np.uint64(64 - bits)
        slots = np.zeros(1 << bits, np.uint8)
        slots[hashes[~chosen] >> shift] = _UNMARKED
        slots[hashes[chosen] >> shift] |= _MARKED
        own = hashes[chosen]
        return cls(seed, shift, slots, np.sort(own[slots[own >> shift] > _MARKED]))

    def holds(self, column: str) -> pl.Expr:
        """Returns whether the id of a row is marked.

        Args:
            column: of ids that all have a mark or none here.
        """
        hashes = pl.col(column).hash(self.seed)
        return hashes.map_batches(self._find, return_dtype=pl.Boolean, is_elementwise=True)

    def _find(self, column: pl.Series) -> pl.Series:
        """Returns whether ids of these hashes are marked."""
        hashes = column.to_numpy()
        found: NDArray[Any] = self.slots[(hashes >> self.shift).view(np.int64)]
        both = np.flatnonzero(found > _MARKED)
        marked = found == _MARKED
        if len(both):
            wanted = hashes[both]
            at = np.minimum(np.searchsorted(self.shared, wanted), len(self.shared) - 1)
            marked[both] = self.shared[at] == wanted
        return pl.Series(column.name, marked)
