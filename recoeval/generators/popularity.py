"""Popularity: the items that most users interacted with, the same for everyone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.component import Duration, format_duration
from recoeval.errors import ConfigError, DataError, Problem
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import (
    Ints,
    Positions,
    Seen,
    distinct,
    distinct_pairs,
    ranked_lists,
    seen_items,
)

__all__ = ["Popularity"]


class Popularity(Generator):
    """Items by the number of distinct users with a train row; ties by item id ascending.

    Weights are ignored. Every user gets a list, known or not; items that the user has seen are
    left out before the cut.
    """

    serves_cold_users: ClassVar[bool] = True
    serves_cold_items: ClassVar[bool] = False

    type: Literal["popularity"] = "popularity"
    window: Duration | None = None
    """Only train rows of the last days count, [train end - window, train end). Default: all.
    Items without a row in the window are not listed."""

    def fit(self, train: Train) -> Fitted:
        """Returns the ranked items.

        Raises:
            ConfigError: a window, but the log has no times.
            DataError: no train rows, or none in the window.
        """
        items, counts = self._users_of_items(train)
        # Items are ascending, and a stable sort leaves ties so.
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        if not len(order) and self.window is not None:
            raise DataError(
                f"no train rows in the last {format_duration(self.window)} before {train.end}: "
                "widen window"
            )
        items = items.gather(order)
        return _Ranking(items, counts[order].astype(np.float64), seen_items(train.seen, items))

    def _users_of_items(self, train: Train) -> tuple[pl.Series, Ints]:
        """Returns the items, ascending, and the distinct users of each."""
        known = train.popularity
        if known is not None and self.window is None:
            return known[c.ITEM_ID], known[c.TRAIN_USERS].to_numpy()
        items = distinct(train.rows, c.ITEM_ID)
        rows = self._recent(train)
        users = rows.select(c.USER_ID).unique().collect(engine="streaming").to_series()
        return items, np.bincount(distinct_pairs(rows, users, items)[1], minlength=len(items))

    def _recent(self, train: Train) -> pl.LazyFrame:
        if self.window is None:
            return train.rows
        if train.end is None or c.TIMESTAMP not in train.rows.collect_schema().names():
            raise ConfigError(
                Problem(
                    f"{format_duration(self.window)} needs times, and the interactions have none: "
                    "leave window out, or name the column in interactions.columns.timestamp",
                    path="window",
                )
            )
        time = pl.col(c.TIMESTAMP)
        return train.rows.filter(time >= train.end - self.window, time < train.end)


@dataclass(frozen=True, slots=True)
class _Ranking:
    items: pl.Series
    scores: NDArray[np.float64]
    seen: Seen

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the first k items of the ranking that the user has not seen."""
        width = min(k, len(self.items))
        rows, seen, counts = self.seen.of(queries[c.USER_ID])
        positions = _unseen(rows, seen, counts, width)
        scores = self.scores.take(positions, mode="clip")
        lengths = np.minimum(width, len(self.items) - counts)
        return ranked_lists(queries[c.QUERY_ID], self.items, positions, scores, lengths)


def _unseen(rows: Ints, seen: Positions, counts: Ints, width: int) -> Ints:
    """Returns the positions of the first unseen items of each row, one row a list.

    A seen item with d unseen ones above it moves slot d and all later slots down by one: exact
    for any number of seen items, without a mask over the catalogue.
    """
    within = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    above = seen - within
    near = above < width
    moves = np.bincount(rows[near] * width + above[near], minlength=len(counts) * width)
    # In one place: a new array of a block costs as much as its numbers.
    positions = moves.reshape(len(counts), width)
    np.cumsum(positions, axis=1, out=positions)
    positions += np.arange(width)
    return positions
