"""Ids met so far, each once: told apart by their hashes of 64 bits."""

from __future__ import annotations

from threading import Lock
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.data.ordering import distinct

__all__ = ["IdSet"]

Ints = NDArray[np.int64]
UInts = NDArray[np.uint64]

_BITS: Final = 20
_SHIFTS: Final = (64 - _BITS, 64 - 2 * _BITS)
"""Which bits of a hash are its slot in each table: those that find it taken try the next one."""
_AT_LEAST: Final = 1_000_000
"""Ids up to which those that came twice are not looked for."""


class IdSet:
    """A set of ids that is added to; several threads may do so at a time.

    Most rows of lists are of items that were met before. Tables of hashes, a slot for each, tell
    so by one look: a fifth of the CPU of telling apart the items of each million rows by
    themselves (200,000 items).

    Example:
        >>> ids = IdSet()
        >>> ids.add(pl.Series(["b", "a", "b"]))
        >>> ids.add(pl.Series(["a", "c"]))
        >>> sorted(ids.values())
        ['a', 'b', 'c']
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._tables = [np.zeros(1 << _BITS, np.uint64) for _ in _SHIFTS]
        for table in self._tables:
            # A slot is empty if it holds a hash of another slot.
            table[0] = np.iinfo(np.uint64).max
        self._parts: list[pl.Series] = []
        self._held = self._kept = 0

    def add(self, ids: pl.Series, hashes: UInts | None = None) -> None:
        """Adds ids.

        Args:
            ids: without null; of one type in all calls.
            hashes: their hashes; None: not known yet.
        """
        if hashes is None:
            hashes = ids.hash().to_numpy()
        rows = self._unknown(hashes)
        if len(rows) or not self._parts:
            found = distinct(ids.gather(rows))
            with self._lock:
                self._keep(found)

    def values(self) -> pl.Series:
        """Returns the ids, each once, in no order that means anything; after a call of `add`."""
        with self._lock:
            return distinct(pl.concat(self._parts))

    def _unknown(self, hashes: UInts) -> Ints:
        """Returns the rows whose hashes are in no table; a few of them were met nevertheless."""
        rows: Ints | None = None
        for table, shift in zip(self._tables, _SHIFTS, strict=True):
            own = hashes if rows is None else hashes[rows]
            other = np.flatnonzero(table.take(_slots(own, shift)) != own)
            rows = other if rows is None else rows[other]
        return np.arange(len(hashes)) if rows is None else rows

    def _keep(self, ids: pl.Series) -> None:
        self._parts.append(ids)
        self._held += len(ids)
        if self._held > max(2 * self._kept, _AT_LEAST):
            self._parts = [distinct(pl.concat(self._parts))]
            self._held = self._kept = len(self._parts[0])
        # Last: whoever finds a hash here leaves its id out.
        hashes = ids.hash().to_numpy()
        for table, shift in zip(self._tables, _SHIFTS, strict=True):
            slots = _slots(hashes, shift)
            free = _slots(table[slots], shift) != slots
            table[slots[free]] = hashes[free]
            hashes = hashes[table[slots] != hashes]


def _slots(hashes: UInts, shift: int) -> Ints:
    """Returns the slot of each hash."""
    slots = hashes >> np.uint64(shift)
    slots &= np.uint64((1 << _BITS) - 1)
    return slots.view(np.int64)
