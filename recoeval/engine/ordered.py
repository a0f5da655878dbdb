"""Sums in row order: the same rows give the same bits, however they are cut into blocks.

A plain group_by adds floats in an order that depends on threads and on the rows around a
group. `bincount` adds the rows of each group one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recoeval.data.rowkeys import Ints

__all__ = ["PLACE", "mean_runs", "number_places", "places_of", "sum_places"]

PLACE = "place"
"""Column of rows that are summed: the row of the result that they go to (Int64)."""


def places_of(numbers: Ints, size: int = 0) -> Ints:
    """Returns where each number stands, -1 where it does not.

    Args:
        numbers: distinct numbers from 0.
        size: rows of the result, if the largest number does not tell.

    Example:
        >>> places_of(np.array([2, 0])).tolist()
        [1, -1, 0]
    """
    known = int(numbers.max()) + 1 if len(numbers) else 0
    places = np.full(max(size, known), -1, dtype=np.int64)
    places[numbers] = np.arange(len(numbers))
    return places


def number_places(places: Ints, size: int) -> Ints:
    """Returns the number of each row among those of its place, from 1.

    Args:
        places: row of the result that each row goes to, ascending.
        size: how many rows the result has.

    Example:
        >>> number_places(np.array([0, 0, 2]), 3).tolist()
        [1, 2, 1]
    """
    counts = np.bincount(places, minlength=size)
    before = np.cumsum(counts) - counts
    numbers: Ints = np.arange(1, len(places) + 1) - np.repeat(before, counts)
    return numbers


def sum_places(rows: pl.DataFrame, size: int) -> list[pl.Series]:
    """Returns the sums of the columns, one row a place, 0 where no row goes.

    Args:
        rows: place, and columns without null: integers (sums below 2^53) or floats.
        size: how many rows the result has.

    Returns:
        The sums with the names and dtypes of the columns.

    Example:
        >>> rows = pl.DataFrame({"place": [0, 2, 0], "x": [0.1, 0.5, 0.2]})
        >>> sum_places(rows, 3)[0].round(6).to_list()
        [0.3, 0.0, 0.5]
    """
    places = rows[PLACE].to_numpy()
    return [
        pl.Series(each.name, np.bincount(places, each.to_numpy(), size)).cast(each.dtype)
        for each in rows.drop(PLACE)
    ]


def mean_runs(rows: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Returns the means of the columns within runs of equal keys; null values do not count.

    Args:
        rows: sorted, so that equal keys stand together.
        keys: columns that name a run.
        columns: numbers.

    Returns:
        The keys, one row a run in order, and the means (Float64; null where all are null).
    """
    changed = [pl.col(key).ne_missing(pl.col(key).shift()) for key in keys]
    first = pl.int_range(pl.len()) == 0
    starts = np.flatnonzero(rows.select(pl.any_horizontal(*changed, first)).to_series().to_numpy())
    if len(starts) == rows.height:
        # Nothing to add up: the most frequent case, a query a user.
        return rows.select(*keys, pl.col(columns).cast(pl.Float64).fill_nan(None))
    heads = rows.select(pl.col(keys).gather(starts))
    run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows.height)))
    means = []
    for name in columns:
        values = rows[name].cast(pl.Float64)
        totals = np.bincount(run, weights=values.fill_null(0.0).to_numpy(), minlength=heads.height)
        known = values.is_not_null().cast(pl.Float64).to_numpy()
        counts = np.bincount(run, weights=known, minlength=heads.height)
        mean = np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0)
        means.append(pl.Series(name, mean, nan_to_null=True))
    return heads.with_columns(means)
