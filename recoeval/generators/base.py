"""What a candidate generator is: a configuration that is fitted and then recommends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol, Self, runtime_checkable

import polars as pl

from recoeval.component import Component

__all__ = ["Counting", "Fitted", "Generator", "Others", "Scoring", "Train"]


class Others(Protocol):
    """The other generators of a run, as a merge or a rerank reads them."""

    def lists(self, name: str, queries: pl.DataFrame) -> pl.DataFrame:
        """Returns the prepared lists of a generator for a block of queries.

        Args:
            name: one of the generators that `Generator.reads` names.
            queries: query_id, user_id; one row a query.

        Returns:
            query_id, item_id, rank (Int64, 1..n without gaps), score (Float64, null where the
            lists have none); sorted by query and rank, items distinct within a query.
        """
        ...

    def score(self, name: str, pairs: pl.DataFrame) -> pl.Series:
        """Returns what a generator thinks of (user, item) pairs.

        Args:
            name: one of the generators that `Generator.asks` names.
            pairs: query_id, user_id, item_id.

        Returns:
            Float64, one a row, higher is better; null where the generator has no score.
        """
        ...


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
        others: the generators that this one reads; None: it reads none.
        users: user_id and attributes, one row a user; None: there is no users table.
    """

    rows: pl.LazyFrame
    seen: pl.LazyFrame | None
    end: datetime | None
    seed: int
    threads: int
    aliases: pl.DataFrame | None = None
    popularity: pl.DataFrame | None = None
    others: Others | None = None
    users: pl.DataFrame | None = None


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


@runtime_checkable
class Scoring(Protocol):
    """A fitted generator that scores any pair, listed or not: what a rerank asks for."""

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the scores of pairs, the same numbers that the lists have.

        Args:
            pairs: query_id, user_id, item_id, in any order; ids that nobody knows too.

        Returns:
            Float64, one a row, higher is better; null where it has none (a user or an item
            without a train row).
        """
        ...


@runtime_checkable
class Counting(Protocol):
    """A fitted generator that counts what a reader of its lists should know."""

    def counted(self, queries: pl.DataFrame, k: int) -> tuple[pl.LazyFrame, Mapping[str, int]]:
        """Returns what `recommend` does, and counts by name; those of blocks add up.

        Args:
            queries: query_id, user_id; one row a query.
            k: length of the lists, items, >= 1.
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

    def reads(self, k: int) -> Mapping[str, int]:
        """Returns the generators whose lists this one reads, and how deep.

        Args:
            k: length of its own lists, items, >= 1.

        Returns:
            Length of the lists that are read, by name of the generator; most read none.
        """
        return {}

    @property
    def asks(self) -> tuple[str, ...]:
        """The generators whose scores this one asks for; most ask for none."""
        return ()

    @property
    def places(self) -> Mapping[str, str]:
        """Where its options name other generators: {"channels.als": "als"}; most name none."""
        return {}

    def in_fold(self, number: int) -> Self:
        """Returns the generator as it is in a fold: paths may name it.

        Args:
            number: of the fold, from 0.
        """
        return self
