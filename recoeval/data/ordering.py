"""Rows in order of their ids: the plain sort of two columns, where packed numbers are not faster.

Sorting 64-bit numbers costs about a quarter of sorting two columns of integers, with text half of
it (10 M rows), so both ids and the place of a row are put into one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = [
    "distinct",
    "has_repeats",
    "in_order",
    "is_in_order",
    "order_of",
    "parts",
    "sort_pairs",
    "starts_of",
]

Ints = NDArray[np.int64]
UInts = NDArray[np.uint64]

_LONGEST: Final = 24
_APART: Final = 10
"""Bits that tell the second ids of a pair apart well enough to sort without the others."""
_AT_ONCE: Final = 1 << 18
"""Rows that are worked on at a time."""


def starts_of(ids: pl.Series) -> Ints:
    """Returns where the runs of equal ids start.

    Example:
        >>> starts_of(pl.Series([7, 7, 8])).tolist()
        [0, 2]
    """
    earlier, later = _neighbours(ids)
    changes = np.flatnonzero(_true(later != earlier)) + 1
    return np.concatenate((np.zeros(min(1, len(ids)), np.int64), changes))


def is_in_order(rows: pl.DataFrame, *keys: str) -> bool:
    """Returns whether rows are sorted by their keys, and no two have the same ones.

    Args:
        rows: a table.
        keys: columns without null.
    """
    *former, last = keys
    rising = np.zeros(max(rows.height - 1, 0), bool)
    for key in former:
        earlier, later = _neighbours(rows[key])
        if not (rising | _true(later >= earlier)).all():
            return False
        rising |= _true(later != earlier)
    earlier, later = _neighbours(rows[last])
    return bool((rising | _true(later > earlier)).all())


def has_repeats(rows: pl.DataFrame, first: str, second: str) -> bool:
    """Returns whether rows sorted by two ids have a pair twice.

    Args:
        rows: the two columns, sorted.
        first: an id without null.
        second: another one.
    """
    earlier, later = _neighbours(rows[second])
    same = np.flatnonzero(~_true(later != earlier))
    ids = rows[first]
    return bool((ids.gather(same) == ids.gather(same + 1)).any())


def _neighbours(ids: pl.Series) -> tuple[Any, Any]:
    """Returns the ids but the last one, and those but the first, to compare with each other."""
    # Integers are compared in a quarter of the time as an array.
    values = ids.to_numpy() if ids.dtype.is_integer() and not ids.null_count() else ids
    return values[:-1], values[1:]


def _true(compared: Any) -> NDArray[np.bool_]:
    """Returns a comparison of neighbours as an array; what is not known is true."""
    if isinstance(compared, pl.Series):
        # Only then: it is an expression for a pool of threads, and takes four times the CPU.
        known = compared.fill_null(True) if compared.null_count() else compared
        compared = known.to_numpy()
    return np.asarray(compared)


def in_order(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Returns rows sorted by their keys; those that are so already are left where they are.

    Args:
        rows: a table without two rows of one key.
        keys: columns without null.
    """
    return rows if is_in_order(rows, *keys) else rows.sort(keys)


def distinct(ids: pl.Series) -> pl.Series:
    """Returns each id once, in no order.

    Ids are told apart by their hashes of 64 bits, in a fifth of the CPU of `unique` (1 M texts).

    Example:
        >>> sorted(distinct(pl.Series(["b", "a", "b"])))
        ['a', 'b']
    """
    hashes = ids.hash().to_numpy()
    order = _order_of(hashes, 64)
    found = hashes[order]
    first = np.append(True, found[1:] != found[:-1])[: len(order)]
    return ids.gather(order[first])


def order_of(ids: pl.Series) -> Ints:
    """Returns the places of ids in their order, for short texts in an eighth of the CPU of a sort.

    Args:
        ids: without null; of equal ones any is first.

    Example:
        >>> order_of(pl.Series(["b", "c", "a"])).tolist()
        [2, 0, 1]
    """
    if ids.is_empty():
        return np.zeros(0, np.int64)
    # To find the places of long texts by their hashes takes longer than to sort them.
    code = _code_digits(ids) if ids.dtype == pl.String else _code(ids)
    if code is None:
        return ids.arg_sort().to_numpy().astype(np.int64)
    return _order_of(code.codes - _bits_of(code.least), code.bits)


def parts(size: int, at_once: int) -> Iterator[slice]:
    """Yields slices of rows: new memory for all of them would cost twice the work.

    Example:
        >>> [(each.start, each.stop) for each in parts(5, 3)]
        [(0, 3), (3, 6)]
    """
    for first in range(0, size, at_once):
        yield slice(first, first + at_once)


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
    rows = rows.rechunk()
    ids = [rows[first], rows[second]]
    others = rows.drop(first, second)
    if all(each.dtype == pl.Int64 for each in ids) and all(x.min() == x.max() for x in others):
        # Where all rows have the same values, their places need not be known.
        ids = _sorted_integers(*ids)
        return rows.with_columns(ids) if ids else rows.sort(first, second)
    order = _order_of_pairs(*ids)
    return rows.sort(first, second) if order is None else rows[order]


def _sorted_integers(first: pl.Series, second: pl.Series) -> list[pl.Series]:
    """Returns pairs of integers in order; nothing where they do not fit 64 bits."""
    coded = _code_pairs(first, second)
    if coded is None:
        return []
    left, right = coded
    keys = _packed(left, right)
    keys.sort()
    own = left.decode(keys >> np.uint64(right.bits))
    keys &= _mask(right.bits)
    return [own.alias(first.name), right.decode(keys).alias(second.name)]


def _order_of_pairs(first: pl.Series, second: pl.Series) -> Ints | None:
    """Returns the places of pairs in their order, None where codes do not pay or fit."""
    coded = _code_pairs(first, second)
    if coded is None:
        return None
    left, right = coded
    keys, bits = _packed(left, right), left.bits + right.bits
    # Some bits may be lacking, if few of the second ids are alike in those that are left.
    lacking = bits + len(keys).bit_length() - 64
    return _order_of(keys, bits) if lacking <= max(right.bits - _APART, 0) else np.argsort(keys)


def _code_pairs(first: pl.Series, second: pl.Series) -> tuple[_Coded, _Coded] | None:
    """Returns both ids as codes, None where that does not pay or 64 bits do not hold them."""
    left, right = _code(first), _code(second)
    if left is None or right is None or left.bits + right.bits > 64:
        return None
    return left, right


@dataclass(frozen=True, slots=True)
class _Coded:
    """Ids as small numbers in the order of the ids.

    Args:
        codes: one an id, too large by `least`; of numbers the memory of the ids.
        bits: how many bits they take without it.
        least: the smallest code.
        is_number: whether the codes are the ids.
    """

    codes: UInts
    bits: int
    least: int = 0
    is_number: bool = False

    def decode(self, codes: UInts) -> pl.Series:
        """Returns the ids of codes above `least`, which become the ids."""
        codes += _bits_of(self.least)
        return pl.Series(codes.view(np.int64))


def _packed(left: _Coded, right: _Coded) -> UInts:
    """Returns two codes as one, that of the first id above the other; uses the first one up."""
    keys = left.codes.copy() if left.is_number else left.codes
    keys <<= np.uint64(right.bits)
    keys += right.codes
    keys -= _bits_of((left.least << right.bits) + right.least)
    return keys


def _code(ids: pl.Series) -> _Coded | None:
    """Returns ids as codes, None where that does not pay."""
    if ids.dtype == pl.Int64:
        least, most = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
        return _Coded(ids.to_numpy().view(np.uint64), (most - least).bit_length(), least, True)
    if ids.dtype != pl.String:
        return None
    # 1 M texts of 10 bytes: a third of the time of hashes.
    return _code_digits(ids) or _code_hashes(ids)


def _code_digits(ids: pl.Series) -> _Coded | None:
    """Returns text as numbers whose digits are its pairs of bytes, None if they are too large."""
    sizes = ids.str.len_bytes()
    least, most = int(sizes.min()), int(sizes.max())  # type: ignore[arg-type]
    width = most + most % 2
    if not 0 < width <= _LONGEST:
        return None
    # Zeros behind a text do not change the order, if they are not of any text.
    if least < width and ids.str.ends_with("\0").any():
        return None
    present = np.zeros((width // 2, 2**16), bool)
    for part in parts(len(ids), _AT_ONCE):
        pairs = _byte_pairs(ids[part], width)
        if not len(pairs):
            return None
        for place, column in enumerate(pairs):
            present[place] |= np.bincount(column, minlength=2**16) > 0
    counts = [int(known.sum()) for known in present]
    if math.prod(counts) > 2**62:
        return None
    digits = [known.cumsum(dtype=np.uint16) - np.uint16(1) for known in present]
    codes = np.zeros(len(ids), np.uint64)
    for part in parts(len(ids), _AT_ONCE):
        own, pairs = codes[part], _byte_pairs(ids[part], width)
        for count, digit, column in zip(counts, digits, pairs, strict=True):
            if count > 1:
                own *= np.uint64(count)
                own += digit.take(column)
    return _Coded(codes, (math.prod(counts) - 1).bit_length())


def _byte_pairs(ids: pl.Series, width: int) -> NDArray[np.uint16]:
    """Returns the bytes of texts two by two, one row a place; no rows where that cannot be.

    Args:
        ids: texts of at most so many bytes.
        width: bytes, even.
    """
    if ids.str.len_bytes().min() != width:
        ids = ids.str.pad_end(width, "\0")
    dtype = pl.Array(pl.UInt16, width // 2)
    pairs = ids.cast(pl.Binary).bin.reinterpret(dtype=dtype, endianness="big")
    if pairs.null_count():
        return np.empty((0, len(ids)), np.uint16)
    # A row a place: a pass over a column of bytes would read all of them.
    return np.ascontiguousarray(pairs.to_numpy().T)


def _code_hashes(ids: pl.Series) -> _Coded | None:
    """Returns text as the places of its distinct values, found by their hashes."""
    hashes = ids.hash().to_numpy()
    order = _order_of(hashes, 64)
    sorted_hashes = hashes[order]
    new = np.append(True, sorted_hashes[1:] != sorted_hashes[:-1])
    names = ids.gather(order[new]).sort()
    # By hash they are in the order of the sorted hashes: sorting the places of text costs more.
    place = np.argsort(names.hash().to_numpy()).view(np.uint64)
    codes = np.empty(len(ids), np.uint64)
    codes[order] = place[np.cumsum(new) - 1]
    # Equal hashes of different texts: once in millions of tables.
    same = bool((names.gather(codes) == ids).all())
    return _Coded(codes, len(names).bit_length()) if same else None


def _order_of(keys: UInts, bits: int) -> Ints:
    """Returns the places of numbers of so many bits in their order."""
    place = len(keys).bit_length()
    lost = max(bits + place - 64, 0)
    placed = keys >> np.uint64(lost)
    placed <<= np.uint64(place)
    for part in parts(len(keys), _AT_ONCE):
        own = placed[part]
        own |= np.arange(part.start, part.start + len(own), dtype=np.uint64)
    placed.sort()
    if not lost:
        placed &= _mask(place)
        return placed.view(np.int64)
    order = (placed & _mask(place)).view(np.int64)
    placed >>= np.uint64(place)
    # Where the place took the bits that tell numbers apart, they are put in order by themselves.
    alike = np.zeros(len(keys) + 1, bool)
    alike[1:-1] = placed[1:] == placed[:-1]
    rows = np.flatnonzero(alike[1:] | alike[:-1])
    found, high = keys[order[rows]], placed[rows]
    torn = high[1:][(high[1:] == high[:-1]) & (found[1:] != found[:-1])]
    if len(torn):
        mixed = np.isin(high, torn)
        rows, found = rows[mixed], found[mixed]
        order[rows] = order[rows][np.argsort(found, kind="stable")]
    return order


def _bits_of(number: int) -> np.uint64:
    """Returns a number modulo 2^64."""
    return np.uint64(number % 2**64)


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)
