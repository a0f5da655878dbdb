"""Popularity: the items that most users interacted with, for everyone or by group of users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.component import Duration, format_duration
from recoeval.data.failures import listed
from recoeval.data.rowkeys import positions
from recoeval.errors import ConfigError, DataError, Problem, did_you_mean
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import (
    Ints,
    Positions,
    Seen,
    distinct,
    distinct_pairs,
    first_of_equals,
    ranked_lists,
    seen_items,
)
from recoeval.generators.histories import newest_pairs, require_times

__all__ = ["Popularity", "group_problem"]

Floats = NDArray[np.float64]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)


class Popularity(Generator):
    """Items by the number of distinct users with a train row; ties by item id ascending.

    Weights are ignored. Every user gets a list, known or not; items that the user has seen are
    left out before the cut. The score is the number of users, in halves of `half_life`.

    With `per` the users of a group get the items that most users of the group interacted with,
    then all others in the order of the whole ranking; the score of these is minus their place in
    it. Users without a group (no row in the users table, or a null), and those of a group without
    train rows, get the whole ranking.
    """

    serves_cold_users: ClassVar[bool] = True
    serves_cold_items: ClassVar[bool] = False

    type: Literal["popularity"] = "popularity"
    window: Duration | None = None
    """Only train rows of the last days count, [train end - window, train end). Default: all.
    Items without a row in the window are not listed."""
    half_life: Duration | None = None
    """A user counts 2^-(age / half_life) for an item; age = train end - time of the pair's newest
    train row. Default: each counts 1."""
    per: str | None = None
    """A column of the users table, e.g. country: the ranking is that of the user's group. Default:
    one ranking for everyone."""

    def fit(self, train: Train) -> Fitted:
        """Returns the ranked items.

        Raises:
            ConfigError: a window or a half-life, but the log has no times; a column that the users
                table does not have.
            DataError: no train rows, or none in the window.
        """
        groups = None if self.per is None else _groups(train.users, self.per)
        known = train.popularity
        if known is not None and {self.window, self.half_life, self.per} == {None}:
            users_of = known[c.TRAIN_USERS].to_numpy()
            everyone = _Counted(np.arange(len(users_of)), users_of.astype(np.float64))
            return _ranking(known[c.ITEM_ID], everyone, train)
        items = distinct(train.rows, c.ITEM_ID)
        pairs = self._pairs(train, items)
        everyone = _count(pairs.places, pairs.ages)
        ranking = _ranking(items, everyone, train)
        return ranking if groups is None else _of_groups(ranking, items, groups, pairs)

    def _pairs(self, train: Train, items: pl.Series) -> _Pairs:
        """Returns the pairs that count."""
        end = self._end(train)
        rows = self._in_window(train.rows, end)
        users = rows.select(c.USER_ID).unique().collect(engine="streaming").to_series()
        if self.window is not None and users.is_empty():
            raise DataError(
                f"no train rows in the last {format_duration(self.window)} before {train.end}: "
                "widen window"
            )
        if self.half_life is None or end is None:
            owners, places = distinct_pairs(rows, users, items)
            return _Pairs(users, owners, places.astype(np.int64), None)
        newest, places, times = newest_pairs(rows, users, items)
        # What is later than the end is not older than it.
        ages = np.maximum((end - _EPOCH) // _MICRO - times, 0) / (self.half_life // _MICRO)
        return _Pairs(users, newest, places.astype(np.int64), ages)

    def _end(self, train: Train) -> datetime | None:
        """Returns from when ages and windows are counted back; None: nothing is."""
        for name, length in (("window", self.window), ("half_life", self.half_life)):
            if length is None:
                continue
            said = f"{format_duration(length)} "
            require_times(train, path=name, said=said, remedy=f"leave {name} out, or ")
            if train.end is None:
                text = f"{said}counts from the end of the train window, and files have none: "
                raise ConfigError(Problem(f"{text}leave {name} out, or split by time", name))
        return train.end

    def _in_window(self, rows: pl.LazyFrame, end: datetime | None) -> pl.LazyFrame:
        if self.window is None or end is None:
            return rows
        time = pl.col(c.TIMESTAMP)
        return rows.filter(time >= end - self.window, time < end)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The pairs that count.

    Args:
        users: distinct, in any order.
        owners: position of the user of each pair.
        places: position of its item among the items, ascending.
        ages: in half-lives; None: each pair counts 1.
    """

    users: pl.Series
    owners: NDArray[np.integer]
    places: Ints
    ages: Floats | None


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many users there are of each cell: of an item, or of a group and an item.

    Args:
        cells: ascending, distinct.
        users: > 0 but where decay leaves nothing that a Float64 holds.
    """

    cells: Ints
    users: Floats


def _count(cells: Ints, ages: Floats | None) -> _Counted:
    """Returns the users of each cell.

    Args:
        cells: one a pair.
        ages: in half-lives; None: each pair counts 1.

    Example:
        >>> _count(np.array([4, 4, 2]), np.array([1.0, 2.0, 0.0])).users.tolist()
        [1.0, 0.75]
    """
    if ages is None:
        cells = np.sort(cells)
        starts = np.flatnonzero(first_of_equals(cells))
        counts = np.diff(np.append(starts, len(cells)))
        return _Counted(cells[starts], counts.astype(np.float64))
    # A float sum depends on its order, the result may not: the oldest, and smallest, first.
    order = np.lexsort((-ages, cells))
    cells, ages = cells[order], ages[order]
    first = first_of_equals(cells)
    # bincount adds one after the other, on any machine.
    sums = np.bincount(np.cumsum(first) - 1, weights=np.exp2(-ages))
    return _Counted(cells[first], sums.astype(np.float64))


def _ranking(items: pl.Series, counted: _Counted, train: Train) -> _Ranking:
    # Cells are ascending, and a stable sort leaves ties so.
    order = np.argsort(-counted.users, kind="stable")
    items = items.gather(counted.cells[order])
    return _Ranking(items, counted.users[order], seen_items(train.seen, items))


@dataclass(frozen=True, slots=True)
class _Ranking:
    items: pl.Series
    scores: Floats
    seen: Seen

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the first k items of the ranking that the user has not seen."""
        width = min(k, len(self.items))
        rows, seen, counts = self.seen.of(queries[c.USER_ID])
        places = _unseen(rows, seen, counts, width)
        scores = self.scores.take(places, mode="clip")
        lengths = np.minimum(width, len(self.items) - counts)
        return ranked_lists(queries[c.QUERY_ID], self.items, places, scores, lengths)

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the scores of the items; null for those that are not ranked."""
        places = self.places(pairs[c.ITEM_ID])
        return _where(places >= 0, self.scores.take(places, mode="clip"))

    def places(self, item_ids: pl.Series) -> Ints:
        """Returns the place of each item in the ranking, from 0; -1 where it has none."""
        ranked = pl.DataFrame({c.ITEM_ID: self.items, "place": np.arange(len(self.items))})
        asked = item_ids.alias(c.ITEM_ID).to_frame()
        found = asked.join(ranked, on=c.ITEM_ID, how="left", maintain_order="left")
        return found["place"].fill_null(-1).to_numpy().astype(np.int64)


def _where(known: NDArray[np.bool_], scores: Floats) -> pl.Series:
    return pl.select(pl.when(pl.Series(known)).then(pl.Series(scores))).to_series()


def _unseen(rows: Ints, seen: Positions | Ints, counts: Ints, width: int) -> Ints:
    """Returns the positions of the first unseen items of each row, one row a list.

    A seen item with d unseen ones above it moves slot d and all later slots down by one: exact
    for any number of seen items, without a mask over the catalogue.
    """
    within = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    above = seen - within
    near = above < width
    moves = np.bincount(rows[near] * width + above[near], minlength=len(counts) * width)
    # In one place: a new array of a block costs as much as its numbers.
    places = moves.reshape(len(counts), width)
    np.cumsum(places, axis=1, out=places)
    places += np.arange(width)
    return places


def group_problem(column: str, schema: pl.Schema) -> str | None:
    """Returns why users cannot be grouped by a column, None if they can.

    Args:
        column: its name.
        schema: of the users table.
    """
    if column not in schema:
        hint = did_you_mean(column, schema.names())
        columns = listed(schema.names())
        return f"unknown column {column!r} in the users table.{hint} Columns: {columns}"
    dtype = schema[column]
    if dtype.is_float() or dtype.is_nested():
        return f"{dtype} in the users table: groups are of text, whole numbers, dates or booleans"
    return None


def _groups(users: pl.DataFrame | None, column: str) -> pl.DataFrame:
    """Returns user_id, ascending, and the group (Int64, from 0) of all users that have one.

    Raises:
        ConfigError: there is no users table, or no such column.
    """
    if users is None:
        raise ConfigError(Problem(f"{column} needs a table of users: users: {{table: ...}}", "per"))
    if problem := group_problem(column, users.schema):
        raise ConfigError(Problem(problem, "per"))
    known = users.filter(pl.col(column).is_not_null())
    group = pl.col(column).rank("dense").cast(pl.Int64) - 1
    return known.select(c.USER_ID, group.alias("group")).sort(c.USER_ID)


def _codes(users: pl.Series, groups: pl.DataFrame) -> Ints:
    """Returns the group of each user, -1 for those that have none."""
    at = positions(users, groups[c.USER_ID])
    codes = np.full(len(at), -1)
    codes[at >= 0] = groups["group"].to_numpy()[at[at >= 0]]
    return codes


def _of_groups(
    everyone: _Ranking, items: pl.Series, groups: pl.DataFrame, pairs: _Pairs
) -> _GroupRankings:
    """Returns the rankings of the groups.

    Args:
        everyone: the whole ranking.
        items: ascending.
        groups: user_id, group.
        pairs: those that count.
    """
    of_users = _codes(pairs.users, groups)
    group = of_users[pairs.owners]
    grouped = group >= 0
    cells = group[grouped] * len(items) + pairs.places[grouped]
    counted = _count(cells, None if pairs.ages is None else pairs.ages[grouped])
    of, item = np.divmod(counted.cells, len(items))
    order = np.lexsort((item, -counted.users, of))
    starts = np.searchsorted(of, np.arange(int(groups["group"].n_unique()) + 1))
    place = everyone.places(items)[item[order]]
    return _GroupRankings(everyone, groups, starts, place, counted.users[order])


@dataclass(frozen=True, slots=True)
class _GroupRankings:
    """The rankings of groups of users.

    Args:
        everyone: the whole ranking.
        groups: user_id, ascending, and group.
        starts: where the items of a group start, one more than there are groups.
        places: of the items of each group in the whole ranking, in the order of the group.
        scores: their users in the group.
    """

    everyone: _Ranking
    groups: pl.DataFrame
    starts: Ints
    places: Ints
    scores: Floats

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the first k unseen items of the ranking of the user's group."""
        size = len(self.everyone.items)
        width = min(k, size)
        listed = np.zeros((queries.height, width), np.int64)
        scores = np.zeros((queries.height, width))
        counts = self.everyone.seen.counts(queries[c.USER_ID])
        for rows, order, own in self._by_group(queries[c.USER_ID]):
            at, seen, many = self.everyone.seen.of(queries[c.USER_ID].gather(rows))
            # Seen items by their place in the ranking of the group.
            back = np.empty(size, np.int64)
            back[order] = np.arange(size)
            keys = np.sort(at * size + back[seen])
            slots = _unseen(at, keys - at * size, many, width)
            listed[rows] = order.take(slots, mode="clip")
            scores[rows] = own.take(slots, mode="clip")
        lengths = np.minimum(width, size - counts)
        return ranked_lists(queries[c.QUERY_ID], self.everyone.items, listed, scores, lengths)

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the scores of the items for the user's group; null for those not ranked."""
        places = self.everyone.places(pairs[c.ITEM_ID])
        scores = np.zeros(len(places))
        for rows, order, own in self._by_group(pairs[c.USER_ID]):
            of_place = np.empty(len(order))
            of_place[order] = own
            scores[rows] = of_place.take(places[rows], mode="clip")
        return _where(places >= 0, scores)

    def _by_group(self, user_ids: pl.Series) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yields for each group its rows, its ranking as places in the whole one, its scores."""
        groups = _codes(user_ids, self.groups)
        # The last one is that of users without a group.
        empty = np.append(np.diff(self.starts) == 0, [True])
        groups[empty[groups]] = -1
        order = np.argsort(groups, kind="stable")
        heads = np.flatnonzero(first_of_equals(groups[order]))
        for rows in np.split(order, heads[1:]):
            if len(rows):
                yield rows, *self._of(groups[rows[0]])

    def _of(self, group: int) -> tuple[Ints, Floats]:
        """Returns the ranking of a group, as places in the whole one, and its scores."""
        size = len(self.everyone.items)
        if group < 0:
            return np.arange(size), self.everyone.scores
        mine = slice(self.starts[group], self.starts[group + 1])
        beyond = np.ones(size, np.bool_)
        beyond[self.places[mine]] = False
        rest = np.flatnonzero(beyond)
        order = np.concatenate((self.places[mine], rest))
        return order, np.concatenate((self.scores[mine], -(rest + 1.0)))
