"""Which lists of some queries have an item: one bit a list, to compare all of them at once.

Sorting one number a row (query, item, list) takes a twentieth of the CPU of a group_by (18 M
rows).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.columns import ITEM_ID, QUERY_ID, RANK
from recoeval.data.ordering import starts_of
from recoeval.data.rowkeys import Ints
from recoeval.engine.numbering import Numbering
from recoeval.errors import ConfigError, Problem

__all__ = ["Cut", "Lists", "Marked", "in_parts", "mark_items", "number_lists", "queries_of"]

UInts = NDArray[np.uint64]

Cut = tuple[str, int]
"""Name of a generator, and the depth to which its lists count."""

Lists = Mapping[str, pl.DataFrame]
"""By generator: query_id, item_id, rank (prepared), the rows of a query one after the other."""

MOST: Final = 64
_AT_ONCE: Final = 500
"""Queries whose lists are compared at a time: half of the CPU of 10,000 (6 lists of 300)."""
_WIDEST: Final = 1 << 32
"""Integer ids further apart are coded by their text."""


@dataclass(frozen=True, slots=True)
class Marked:
    """The items of some lists by query, each once.

    Args:
        queries: numbers of the queries that have any, ascending.
        rows: for each item the place of its query, ascending.
        bits: the i-th is set where the i-th list has the item.
    """

    queries: Ints
    rows: Ints
    bits: UInts

    @property
    def shared(self) -> Marked:
        """The items that more than one list has."""
        several = (self.bits & (self.bits - np.uint64(1))) > 0
        return Marked(self.queries, self.rows[several], self.bits[several])

    def count(self, *places: int) -> Ints:
        """Returns how many items each query has that are in all of these lists."""
        mask = np.uint64(sum(1 << place for place in set(places)))
        rows = self.rows[(self.bits & mask) == mask]
        return np.bincount(rows, minlength=len(self.queries))


def number_lists(lists: pl.DataFrame, numbering: Numbering) -> pl.DataFrame:
    """Returns the lists of evaluated queries, their numbers (Int64) for ids.

    Args:
        lists: query_id and other columns; the rows of a query stand together.
        numbering: of the evaluated queries.
    """
    # An id is looked up once a list, not once a row.
    starts = starts_of(lists[QUERY_ID])
    numbers = numbering.numbers(lists[QUERY_ID].gather(starts))
    own = pl.Series(QUERY_ID, np.repeat(numbers, np.diff(starts, append=lists.height)), pl.Int64)
    rows = lists.with_columns(own)
    return rows if (numbers >= 0).all() else rows.filter(own >= 0)


def in_parts(lists: Lists, at_once: int = _AT_ONCE) -> Iterator[Lists]:
    """Yields the lists of some queries after the other, in the order of their ids.

    Lists that are not sorted by query_id are yielded as they are.

    Args:
        lists: by generator: query_id and other columns.
        at_once: queries of a part, >= 1.
    """
    own = {name: each for name, each in lists.items() if each.height}
    if not own or not all(each[QUERY_ID].is_sorted() for each in own.values()):
        yield lists
        return
    heads = [each[QUERY_ID].gather(starts_of(each[QUERY_ID])) for each in own.values()]
    firsts = pl.concat(heads).unique().sort().gather_every(at_once)
    bounds = {
        name: [*each[QUERY_ID].search_sorted(firsts).to_list(), each.height]
        for name, each in own.items()
    }
    for place in range(len(firsts)):
        yield {
            name: each.slice(bounds[name][place], bounds[name][place + 1] - bounds[name][place])
            for name, each in own.items()
        }


def queries_of(lists: Iterable[pl.DataFrame], numbering: Numbering) -> Ints:
    """Returns the numbers of the evaluated queries that any of the lists is of, ascending.

    Args:
        lists: query_id and other columns; the rows of a query stand together.
        numbering: of the evaluated queries.
    """
    ids = [each[QUERY_ID].gather(starts_of(each[QUERY_ID])) for each in lists]
    numbers = np.unique(np.concatenate([np.zeros(0, np.int64), *map(numbering.numbers, ids)]))
    return numbers[numbers >= 0]


def mark_items(
    lists: Lists,
    cuts: Sequence[Cut],
    numbering: Numbering,
    *,
    others: Sequence[pl.DataFrame] = (),
) -> Marked:
    """Returns which of some lists have each item that any of them has.

    Args:
        lists: of a block of queries; a generator that is not among them has empty lists.
        cuts: which lists, and how deep.
        numbering: of the evaluated queries.
        others: query_id (number, Int64), item_id, distinct pairs: further sets of items, whose
            bits stand after those of the cuts.

    Raises:
        ConfigError: more than 64 lists and sets.
    """
    count = len(cuts) + len(others)
    if count > MOST:
        text = f"at most {MOST} lists can be compared, got {count}"
        raise ConfigError(Problem(text, "generators"))
    columns = (QUERY_ID, ITEM_ID)
    known = {
        name: number_lists(lists[name].select(*columns, RANK), numbering)
        for name in dict.fromkeys(name for name, _ in cuts)
        if name in lists
    }
    sets = [
        (place, known[name].filter(pl.col(RANK) <= k).select(columns))
        for place, (name, k) in enumerate(cuts)
        if name in known
    ]
    sets += [(place, rows.select(columns)) for place, rows in enumerate(others, len(cuts))]
    sets = [(place, rows) for place, rows in sets if rows.height]
    if not sets:
        return Marked(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint64))
    rows = pl.concat([own for _, own in sets])
    places = np.repeat([place for place, _ in sets], [own.height for _, own in sets])
    return _union(rows, places.astype(np.uint64))


def _union(rows: pl.DataFrame, places: UInts) -> Marked:
    """Returns each item of a query once, with the bits of the sets that have it.

    Args:
        rows: query_id (number), item_id, not empty; distinct within a set.
        places: set of each row.
    """
    numbers = rows[QUERY_ID].to_numpy()
    occurs = np.zeros(int(numbers.max()) + 1, np.bool_)
    occurs[numbers] = True
    local = (np.cumsum(occurs) - 1)[numbers].astype(np.uint64)
    codes = _codes(rows[ITEM_ID])
    width = np.uint64(int(codes.max()).bit_length())
    low = np.uint64(MOST.bit_length() - 1)
    keys = ((local << width) | codes) << low | places
    keys.sort()
    items = keys >> low
    starts = np.flatnonzero(np.append(True, items[1:] != items[:-1]))
    bits = np.bitwise_or.reduceat(np.uint64(1) << (keys & np.uint64(MOST - 1)), starts)
    own: Any = items[starts] >> width
    return Marked(np.flatnonzero(occurs), own.astype(np.int64), bits)


def _codes(items: pl.Series) -> UInts:
    """Returns a number below 2^32 for each item, the same for equal ones."""
    if items.dtype == pl.Int64:
        values = items.to_numpy()
        least = int(values.min())
        if int(values.max()) - least < _WIDEST:
            return (values - least).astype(np.uint64)
    categories = items.cast(pl.String).cast(pl.Categorical)
    return categories.to_physical().to_numpy().astype(np.uint64)
