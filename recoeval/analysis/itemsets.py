"""Which lists of some queries have an item: one bit a list, to compare all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

import numpy as np
import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID, RANK
from recoeval.data.ordering import starts_of
from recoeval.engine.numbering import Numbering
from recoeval.errors import ConfigError, Problem

__all__ = ["LISTS", "Cut", "Lists", "has", "mark_items", "number_lists"]

Cut = tuple[str, int]
"""Name of a generator, and the depth to which its lists count."""

Lists = Mapping[str, pl.DataFrame]
"""By generator: query_id, item_id, rank (prepared), the rows of a query one after the other."""

LISTS: Final = "lists"
"""Column of bits: the i-th is set where the i-th list has the item."""

_BITS: Final = 63


def number_lists(lists: pl.DataFrame, numbering: Numbering) -> pl.DataFrame:
    """Returns the lists of evaluated queries: query_id (number, UInt32), item_id, rank.

    Args:
        lists: query_id, item_id, rank; the rows of a query stand together.
        numbering: of the evaluated queries.
    """
    lists = lists.select(QUERY_ID, ITEM_ID, RANK)
    # An id is looked up once a list, not once a row.
    starts = starts_of(lists[QUERY_ID])
    numbers = numbering.numbers(lists[QUERY_ID].gather(starts))
    own = np.repeat(numbers, np.diff(starts, append=lists.height))
    rows = lists.with_columns(pl.Series(QUERY_ID, own))
    return rows.filter(pl.col(QUERY_ID) >= 0).cast({QUERY_ID: pl.UInt32})


def mark_items(
    lists: Lists,
    cuts: Sequence[Cut],
    numbering: Numbering,
    *,
    marked: Sequence[pl.DataFrame] = (),
) -> pl.DataFrame:
    """Returns which of the lists have each item that any of them has.

    Args:
        lists: of a block of queries; a generator without any is as one with empty lists.
        cuts: which lists, and how deep.
        numbering: of the evaluated queries.
        marked: query_id (number, UInt32), item_id, distinct: further sets of items, whose bits
            stand after those of the cuts; an item that is in these alone is left out.

    Returns:
        query_id (number, UInt32), item_id, lists (UInt64), one row an item of a query, in no
        order.

    Raises:
        ConfigError: more than 63 lists and sets.
    """
    if len(cuts) + len(marked) > _BITS:
        text = f"at most {_BITS} lists can be compared, got {len(cuts) + len(marked)}"
        raise ConfigError(Problem(text, "generators"))
    rows = []
    for name in dict.fromkeys(name for name, _ in cuts):
        if name in lists:
            bits = reduce(
                or_, (_bit(place, k) for place, (own, k) in enumerate(cuts) if own == name)
            )
            items = number_lists(lists[name], numbering)
            items = items.select(QUERY_ID, ITEM_ID, bits.alias(LISTS))
            rows.append(items.filter(pl.col(LISTS) > 0))
    if not rows:
        schema = {QUERY_ID: pl.UInt32, ITEM_ID: pl.Int64, LISTS: pl.UInt64}
        return pl.DataFrame(schema=schema)
    for place, items in enumerate(marked, len(cuts)):
        bit = pl.lit(1 << place, pl.UInt64).alias(LISTS)
        rows.append(items.select(QUERY_ID, ITEM_ID, bit))
    # A list has an item once, so that a sum is a union of bits.
    found = pl.concat(rows).group_by(QUERY_ID, ITEM_ID).agg(pl.col(LISTS).sum())
    return found.filter((pl.col(LISTS) & ((1 << len(cuts)) - 1)) > 0) if marked else found


def has(*places: int) -> pl.Expr:
    """Returns whether all lists at these places have the item."""
    mask = pl.lit(sum(1 << place for place in set(places)), pl.UInt64)
    return (pl.col(LISTS) & mask) == mask


def _bit(place: int, k: int) -> pl.Expr:
    set_, unset = pl.lit(1 << place, pl.UInt64), pl.lit(0, pl.UInt64)
    return pl.when(pl.col(RANK) <= k).then(set_).otherwise(unset)
