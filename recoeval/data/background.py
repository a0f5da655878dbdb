"""What is known of users and items besides the truth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from recoeval.columns import (
    AVAILABLE,
    CREATED_AT,
    ITEM_ID,
    TIMESTAMP_DTYPE,
)

__all__ = ["Background", "can_be_listed"]


@dataclass(frozen=True, slots=True)
class Background:
    """Facts that metrics, buckets and the loss of recall need; None where they are not known.

    Args:
        seen: user_id, item_id; distinct pairs that lists may not contain again, at least those of
            the users who are evaluated.
        activity: user_id, train_interactions, train_rows (Int64); one row a user.
        popularity: item_id, train_users (Int64 >= 1), sorted; every item with a train row.
        train_users: distinct users with a train row; 0 without train data.
        items: the items table: item_id, created_at (Datetime[us], UTC; null: always there),
            available (Boolean, never null), its own columns; one row an item.
        exposed: user_id, item_id; distinct pairs that were shown in the test window.
        users: user_id and attributes; one row a user.
    """

    seen: pl.LazyFrame | None = None
    activity: pl.LazyFrame | None = None
    popularity: pl.DataFrame | None = None
    train_users: int = 0
    items: pl.DataFrame | None = None
    exposed: pl.LazyFrame | None = None
    users: pl.DataFrame | None = None

    def catalogue(self, at: datetime | None) -> pl.Series | None:
        """Returns the ids of the items that can be listed, sorted; None if nothing is known.

        These are the items of the table that are available and were created at or before a
        moment; without a table, the items with a train row.

        Args:
            at: the moment, UTC; None: whenever they were created.

        Example:
            >>> items = pl.DataFrame({"item_id": [2, 1, 3], "created_at": [None] * 3,
            ...                       "available": [True, True, False]})
            >>> Background(items=items).catalogue(None).to_list()
            [1, 2]
        """
        if self.items is not None:
            return self.items.filter(can_be_listed(pl.lit(at, TIMESTAMP_DTYPE)))[ITEM_ID].sort()
        return None if self.popularity is None else self.popularity[ITEM_ID]


def can_be_listed(at: pl.Expr) -> pl.Expr:
    """Returns whether a row of the items table is in the catalogue at a moment; never null.

    Args:
        at: the moment (Datetime[us], UTC); null: whenever the item was created.
    """
    created = pl.col(CREATED_AT)
    return pl.col(AVAILABLE) & (created.is_null() | at.is_null() | (created <= at))
