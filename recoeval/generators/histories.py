"""The items of each user, newest first: what generators that go by time learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from recoeval import columns as c
from recoeval.data.rowkeys import expand, positions
from recoeval.errors import ConfigError, Problem
from recoeval.generators.base import Train
from recoeval.generators.blocks import PAIR, Ints, Positions, distinct, encode_pairs, unpack

__all__ = ["Histories", "find_histories", "newest_pairs", "require_times"]


def require_times(train: Train, *, path: str = "", said: str = "", remedy: str = "") -> None:
    """Checks that the train rows have times.

    Args:
        train: the train rows.
        path: of the option that needs them, relative to its generator.
        said: its value as written, with a space behind it.
        remedy: what else can be done, ending in ", or ".

    Raises:
        ConfigError: they have none.
    """
    if c.TIMESTAMP not in train.rows.collect_schema():
        text = (
            f"{said}needs times, and the interactions have none: {remedy}name the column in "
            "interactions.columns.timestamp"
        )
        raise ConfigError(Problem(text, path))


def newest_pairs(
    rows: pl.LazyFrame, users: pl.Series, items: pl.Series
) -> tuple[Ints, Positions, Ints]:
    """Returns the distinct pairs, ascending by user and item, with the time of their newest row.

    Args:
        rows: user_id, item_id, timestamp; repeats allowed.
        users: distinct ids, in any order, all that the rows have.
        items: distinct ids, in any order.

    Returns:
        position of the user, position of the item, microseconds since 1970.
    """
    time = pl.col(c.TIMESTAMP).cast(pl.Int64)
    coded = encode_pairs(rows.select(c.USER_ID, c.ITEM_ID, time), users, items)
    # In memory, where the sort costs a third of a streamed one.
    pairs = coded.collect(engine="streaming").sort(PAIR, c.TIMESTAMP)
    keys = pairs[PAIR].to_numpy()
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), np.bool_)))
    owners, places = unpack(keys[last])
    return owners.astype(np.int64), places, pairs[c.TIMESTAMP].to_numpy()[last]


@dataclass(frozen=True, slots=True)
class Histories:
    """The distinct items of each user, newest first, ties by item id.

    Args:
        users: users with a train row, ascending.
        items: items with a train row, ascending.
        starts: where the entries of a user start, one more than there are users.
        positions: of the item of each entry.
        times: of the newest row of each entry, microseconds since 1970.
    """

    users: pl.Series
    items: pl.Series
    starts: Ints
    positions: Positions
    times: Ints

    def of(self, user_ids: pl.Series) -> tuple[Ints, Ints]:
        """Returns the entries of a block of users: row of the block, ascending, and the entry.

        Args:
            user_ids: one a row of the block; known or not.
        """
        at = positions(user_ids, self.users)
        counts = np.where(at < 0, 0, self.starts[at + 1] - self.starts[at])
        return expand(self.starts[at], counts)


def find_histories(rows: pl.LazyFrame, most: int | None = None) -> Histories:
    """Returns the items of each user.

    Args:
        rows: user_id, item_id, timestamp; repeats allowed.
        most: newest items of a user that are kept, >= 1; None: all.

    Raises:
        DataError: there are no rows.
    """
    users, items = distinct(rows, c.USER_ID), distinct(rows, c.ITEM_ID)
    owners, places, times = newest_pairs(rows, users, items)
    table = pl.DataFrame({"user": owners, "item": places, "time": times})
    table = table.sort("user", "time", "item", descending=[False, True, False])
    if most is not None:
        counts = np.bincount(owners, minlength=len(users))
        place = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = table.filter(pl.Series(place < most))
    starts = np.searchsorted(table["user"].to_numpy(), np.arange(len(users) + 1))
    return Histories(users, items, starts, table["item"].to_numpy(), table["time"].to_numpy())
