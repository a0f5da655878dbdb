"""Rows in order of their ids: the plain sort of two columns, where packed numbers are not faster.

Sorting 64-bit numbers costs about a quarter of sorting two columns of integers, with text half of
it (10 M rows), so both ids and the place of a row are put into one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["in_order", "is_in_order", "sort_pairs", "starts_of"]

Ints = NDArray[np.int64]
UInts = NDArray[np.uint64]


def starts_of(ids: pl.Series) -> Ints:
    """Returns where the runs of equal ids start.

    Example:
        >>> starts_of(pl.Series([7, 7, 8])).tolist()
        [0, 2]
    """
    if ids.dtype.is_integer() and not ids.null_count():
        values = ids.to_numpy()
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        return np.concatenate((np.zeros(min(1, len(values)), np.int64), changes))
    one, other = ids.slice(1), ids.slice(0, max(0, len(ids) - 1))
    changed = one != other
    if ids.null_count():
        # Only then: it is an expression for a pool of threads, and takes four times the CPU.
        changed = changed.fill_null(True)
    first = np.zeros(min(1, len(ids)), np.int64)
    return np.concatenate((first, changed.arg_true().to_numpy().astype(np.int64) + 1))


def is_in_order(rows: pl.DataFrame, *keys: str) -> bool:
    """Returns whether rows are sorted by their keys, and no two have the same ones.

    Args:
        rows: a table.
        keys: columns without null.
    """
    rising, same = pl.lit(False), pl.lit(True)
    for key in map(pl.col, keys):
        rising |= same & (key > key.shift())
        same &= key == key.shift()
    return bool(rows.select(rising.fill_null(True).all()).item())


def in_order(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Returns rows sorted by their keys; those that are so already are left where they are.

    Args:
        rows: a table without two rows of one key.
        keys: columns without null.
    """
    return rows if is_in_order(rows, *keys) else rows.sort(keys)


def sort_pairs(rows: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Returns rows sorted by two ids.

    Args:
        rows: two columns of integers or text without null, and any others.
        first: the id that decides.
        second: the id that decides where the first is the same.

    Example:
        >>> rows = pl.DataFrame({"u": ["b", "a", "b"], "i": [2, 3, 1]})
        >>> sort_pairs(rows, "u", "i").rows()
        [('a', 3), ('b', 1), ('b', 2)]
    """
    if not rows.height:
        return rows
    left, right = _code(rows[first]), _code(rows[second])
    others = rows.drop(first, second)
    alike = {name: each[0] for name, each in others.to_dict().items() if each.min() == each.max()}
    # Where all rows have the same values, their places need not be known.
    place = 0 if len(alike) == others.width else rows.height.bit_length()
    if left is None or right is None or left.bits + right.bits + place > 64:
        return rows.sort(first, second)
    keys = (left.codes << np.uint64(right.bits + place)) | (right.codes << np.uint64(place))
    if place:
        keys |= np.arange(rows.height, dtype=np.uint64)
    keys.sort()
    if place:
        others = others.select(pl.all().gather(keys & _mask(place)))
        keys >>= np.uint64(place)
    ids = {
        first: left.decode(keys >> np.uint64(right.bits)),
        second: right.decode(keys & _mask(right.bits)),
    }
    return pl.DataFrame(
        [ids[name].alias(name) if name in ids else others[name] for name in rows.columns]
    )


@dataclass(frozen=True, slots=True)
class _Coded:
    """Ids as small numbers in the order of the ids.

    Args:
        codes: one an id.
        bits: how many bits they take.
        least: the smallest id, where a code is what an id is above it.
        ids: the ids by code, where they are text.
    """

    codes: UInts
    bits: int
    least: int = 0
    ids: pl.Series | None = None

    def decode(self, codes: UInts) -> pl.Series:
        """Returns the ids of codes."""
        if self.ids is not None:
            return self.ids.gather(codes)
        return pl.Series(codes.view(np.int64) + self.least)


def _code(ids: pl.Series) -> _Coded | None:
    """Returns ids as codes, None where that does not pay."""
    if ids.dtype == pl.Int64:
        least, most = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
        bits = (most - least).bit_length()
        return None if bits > 62 else _Coded((ids.to_numpy() - least).view(np.uint64), bits, least)
    return _code_text(ids) if ids.dtype == pl.String else None


def _code_text(ids: pl.Series) -> _Coded | None:
    """Returns text as the places of its distinct values, found by their hashes."""
    hashes = ids.hash().to_numpy()
    order = _order_of(hashes)
    sorted_hashes = hashes[order]
    new = np.append(True, sorted_hashes[1:] != sorted_hashes[:-1])
    names = ids.gather(order[new])
    by_name = names.arg_sort().to_numpy()
    place = np.empty(len(names), np.uint64)
    place[by_name] = np.arange(len(names), dtype=np.uint64)
    codes = np.empty(len(ids), np.uint64)
    codes[order] = place[np.cumsum(new) - 1]
    names = names.gather(by_name)
    # Equal hashes of different texts: once in millions of tables.
    same = bool((names.gather(codes) == ids).all())
    return _Coded(codes, len(names).bit_length(), ids=names) if same else None


def _order_of(hashes: UInts) -> Ints:
    """Returns the places of hashes in their order."""
    bits = np.uint64(len(hashes).bit_length())
    keys = (hashes >> bits) << bits
    keys |= np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    order = (keys & _mask(int(bits))).view(np.int64)
    keys >>= bits
    found = hashes[order]
    # Where the place took the bits that tell hashes apart, they are put in order by themselves.
    torn = keys[1:][(keys[1:] == keys[:-1]) & (found[1:] != found[:-1])]
    if len(torn):
        rows = np.flatnonzero(np.isin(keys, torn))
        order[rows] = order[rows][np.argsort(found[rows], kind="stable")]
    return order


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)
