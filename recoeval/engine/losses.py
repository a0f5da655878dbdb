"""Which relevant pairs are in no prepared list, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from recoeval.columns import (
    CAUSE,
    CAUSE_DTYPE,
    COLD_ITEM,
    COLD_USER,
    FILTERED,
    ITEM_ID,
    NOT_RETRIEVED,
    UNAVAILABLE,
)
from recoeval.data.rowkeys import Ints
from recoeval.engine.finding import Found
from recoeval.engine.numbering import Numbering

__all__ = ["Causes"]


@dataclass(frozen=True, slots=True)
class Causes:
    """What keeps generators from finding relevant pairs.

    Args:
        numbering: the pairs.
        reach: one row a pair: unavailable, cold_item, cold_user (Boolean); None: nothing is known.
        names: the causes that can hold, in order: the first that does is named.
    """

    numbering: Numbering
    reach: pl.DataFrame | None
    names: tuple[str, ...] = (UNAVAILABLE,)

    @classmethod
    def of(cls, numbering: Numbering, reach: pl.DataFrame | None) -> Causes:
        """Returns the causes.

        Args:
            numbering: the pairs.
            reach: query_id, item_id, unavailable, cold_item, cold_user (Boolean, distinct pairs);
                None: nothing is known.
        """
        if reach is None:
            return cls(numbering, None)
        flags = [pl.col(name).fill_null(False) for name in (UNAVAILABLE, COLD_ITEM, COLD_USER)]
        known = numbering.number_pairs(reach).select(ITEM_ID, *flags)
        pairs = numbering.pairs.select(ITEM_ID)
        if known[ITEM_ID].equals(pairs[ITEM_ID]):
            return cls(numbering, known)
        return cls(numbering, pairs.join(known, on=ITEM_ID, how="left", maintain_order="left"))

    def of_generator(self, *, cold_users: bool, cold_items: bool) -> Causes:
        """Returns the causes that can hold for a generator.

        Args:
            cold_users: whether it can serve users without a train row.
            cold_items: whether it can list items without one.
        """
        colds = [*([] if cold_items else [COLD_ITEM]), *([] if cold_users else [COLD_USER])]
        return replace(self, names=(UNAVAILABLE, *colds))

    def lost(self, numbers: Ints, found: Found) -> pl.DataFrame:
        """Returns the relevant pairs that are in no prepared list, each with its cause.

        Args:
            numbers: the queries.
            found: what is found in their lists.

        Returns:
            item_id (number of the pair, UInt32), cause: filtered, unavailable, cold_item,
            cold_user or not_retrieved, the first that holds; in order of the pairs.
        """
        index = self.numbering.index
        asked = np.zeros(len(index.starts) - 1, dtype=bool)
        asked[numbers] = True
        missed = np.repeat(asked, np.diff(index.starts))
        missed[found.hits[ITEM_ID].to_numpy()] = False
        pairs = pl.Series(ITEM_ID, np.flatnonzero(missed)).cast(pl.UInt32)
        cause = _named(NOT_RETRIEVED)
        if self.reach is not None:
            for name in reversed(self.names):
                holds = self.reach[name].gather(pairs)
                cause = pl.when(holds).then(_named(name)).otherwise(cause)
        if found.filtered.height:
            filtered = np.zeros(len(missed), dtype=bool)
            filtered[found.filtered[ITEM_ID].to_numpy()] = True
            holds = pl.Series(filtered[missed])
            cause = pl.when(holds).then(_named(FILTERED)).otherwise(cause)
        return pairs.to_frame().with_columns(cause.alias(CAUSE))


def _named(cause: str) -> pl.Expr:
    return pl.lit(cause, CAUSE_DTYPE)
