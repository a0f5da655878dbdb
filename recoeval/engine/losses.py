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
            query_id (number), item_id (number of the pair), gain, cause: filtered, unavailable,
            cold_item, cold_user or not_retrieved, the first that holds; in order of the pairs.
        """
        missed = np.zeros(self.numbering.pairs.height, dtype=bool)
        missed[self.numbering.index.of_lists(numbers)[1]] = True
        missed[found.hits[ITEM_ID].to_numpy()] = False
        pairs = np.flatnonzero(missed)
        rows = self.numbering.pairs[pairs]
        cause = pl.when(pl.col(ITEM_ID).is_in(found.filtered[ITEM_ID].implode()))
        causes = [cause.then(pl.lit(FILTERED))] if found.filtered.height else []
        if self.reach is not None:
            reach = self.reach[pairs]
            causes += [pl.when(reach[name]).then(pl.lit(name)) for name in self.names]
        known = pl.coalesce(*causes, pl.lit(NOT_RETRIEVED))
        return rows.with_columns(known.cast(CAUSE_DTYPE).alias(CAUSE))
