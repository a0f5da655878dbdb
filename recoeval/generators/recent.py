"""Recent: the user's own latest items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from recoeval import columns as c
from recoeval.data.rowkeys import positions
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import Seen, seen_items
from recoeval.generators.histories import Histories, find_histories, require_times
from recoeval.generators.shortlists import short_lists, unseen

__all__ = ["Recent"]


class Recent(Generator):
    """The items that a user has a train row with, newest first; ties by item id ascending.

    For logs where people come back to items: `ground_truth: {repeats: include}`. With
    `repeats: exclude` the default of `seen` leaves out all that it could list, which is an error.
    The score is the time of the newest train row of the pair, in seconds since 1970. Users without
    a train row get no list; a list ends with the user's items. Needs times.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["recent"] = "recent"

    def fit(self, train: Train) -> Fitted:
        """Returns the items of each user.

        Raises:
            ConfigError: the log has no times.
            DataError: no train rows.
        """
        require_times(train)
        histories = find_histories(train.rows)
        return _Latest(histories, seen_items(train.seen, histories.items))


@dataclass(frozen=True, slots=True)
class _Latest:
    histories: Histories
    seen: Seen

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the newest k unseen items of each user."""
        own, users = self.histories, queries[c.USER_ID]
        rows, entries = own.of(users)
        places = own.positions[entries].astype(np.int64)
        fresh = unseen(self.seen, users, rows, places)
        rows, places, seconds = rows[fresh], places[fresh], own.times[entries[fresh]] / 1e6
        return short_lists(queries[c.QUERY_ID], own.items, rows, places, seconds, k=k)

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns when the pair was last seen in the train rows; null where it never was."""
        own = self.histories
        users = pairs[c.USER_ID].unique().sort()
        rows, entries = own.of(users)
        known = pl.DataFrame(
            {
                "row": rows,
                "place": own.positions[entries].astype(np.int64),
                c.SCORE: own.times[entries] / 1e6,
            }
        )
        asked = pl.DataFrame(
            {
                "row": positions(pairs[c.USER_ID], users),
                "place": positions(pairs[c.ITEM_ID], own.items),
            }
        )
        found = asked.join(known, on=["row", "place"], how="left", maintain_order="left")
        return found[c.SCORE].cast(pl.Float64)
