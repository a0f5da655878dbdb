"""What a candidate generator is: a configuration that is fitted and then recommends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol

import polars as pl

from recoeval.component import Component

__all__ = ["Fitted", "Generator", "Train"]


@dataclass(frozen=True, slots=True)
class Train:
    """What a generator may learn from.

    Args:
        rows: train rows: user_id, item_id (Int64 or String), weight (Float64 > 0) and,
            unless the log has no times, timestamp (Datetime[us], UTC).
        seen: distinct (user_id, item_id) pairs that lists must not contain, of the users who get
            lists; None when repeats are included.
        end: end of the train window (excluded), UTC; None when the log has no times.
        seed: seed of everything random.
        threads: worker threads, >= 1.
        aliases: alias, item_id: other ids of items, which are replaced in lists from elsewhere;
            the train rows have none of them. None: no item has several ids.
        popularity: item_id, train_users (Int64 >= 1), ascending by item: distinct users with a
            train row, of every item that has one; None: not counted yet.
    """

    rows: pl.LazyFrame
    seen: pl.LazyFrame | None
    end: datetime | None
    seed: int
    threads: int
    aliases: pl.DataFrame | None = None
    popularity: pl.DataFrame | None = None


class Fitted(Protocol):
    """A generator that has learned."""

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the lists of a block of queries.

        Args:
            queries: query_id, user_id; one row a query.
            k: length of the lists, items, >= 1.

        Returns:
            query_id, item_id, rank (Int64, 1 is best), score (Float64); at most k rows a
            query, in any row order. Seen items are left out before the cut.
        """
        ...


class Generator(Component, ABC):
    """Base of all generators. A subclass sets `type: Literal["its_name"] = "its_name"`."""

    serves_cold_users: ClassVar[bool]
    """Whether a user without a train row can get a list."""
    serves_cold_items: ClassVar[bool]
    """Whether an item without a train row can be listed."""
    block: ClassVar[int | None] = 10_000
    """Queries recommended at once; None: all, the lists are read in a stream."""

    type: str

    @abstractmethod
    def fit(self, train: Train) -> Fitted:
        """Returns the fitted generator.

        Raises:
            ConfigError: an option that the log cannot serve (a window, but no times); its
                path is relative to this generator.
            DataError: the train rows do not suffice.
        """
