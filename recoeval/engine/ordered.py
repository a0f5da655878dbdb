"""Sums in row order: the same rows give the same bits, however they are cut into blocks.

A plain group_by adds floats in an order that depends on threads and on the rows around a
group. `bincount` adds the rows of each group one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["mean_runs", "number_runs", "runs_of", "sum_runs"]


def _runs(rows: pl.DataFrame, keys: Sequence[str]) -> tuple[np.ndarray, pl.DataFrame]:
    """Returns the number of the run of each row, and the keys of each run."""
    heads, lengths = runs_of(rows, keys)
    return np.repeat(np.arange(len(lengths)), lengths), heads


def _starts(rows: pl.DataFrame, keys: Sequence[str]) -> NDArray[np.int64]:
    """Returns where the runs start."""
    changed = [pl.col(key).ne_missing(pl.col(key).shift()) for key in keys]
    first = pl.int_range(pl.len()) == 0
    return np.flatnonzero(rows.select(pl.any_horizontal(*changed, first)).to_series().to_numpy())


def runs_of(rows: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Returns the keys of each run of equal keys, and how many rows it has.

    Args:
        rows: sorted, so that equal keys stand together.
        keys: columns that name a run.
    """
    starts = _starts(rows, keys)
    heads = rows.select(pl.col(keys).gather(starts))
    return heads, np.diff(np.append(starts, rows.height))


def number_runs(rows: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """Returns the place of each row within its run of equal keys, from 1 (Int64).

    Args:
        rows: sorted, so that equal keys stand together.
        keys: columns that name a run.

    Example:
        >>> number_runs(pl.DataFrame({"q": ["a", "a", "b"]}), ["q"]).to_list()
        [1, 2, 1]
    """
    starts = _starts(rows, keys)
    lengths = np.diff(np.append(starts, rows.height))
    return pl.Series(np.arange(1, rows.height + 1) - np.repeat(starts, lengths))


def sum_runs(rows: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Returns the sums of the columns within runs of equal keys.

    Args:
        rows: sorted, so that equal keys stand together; columns without null.
        keys: columns that name a run.
        columns: integers (sums below 2^53) or floats.

    Returns:
        The keys, one row a run in order, and the sums with the dtypes of the columns.

    Example:
        >>> rows = pl.DataFrame({"q": ["a", "a", "b"], "x": [0.1, 0.2, 0.5]})
        >>> sum_runs(rows, ["q"], ["x"])["x"].round(6).to_list()
        [0.3, 0.5]
    """
    run, heads = _runs(rows, keys)
    sums = [
        pl.Series(name, np.bincount(run, weights=rows[name].to_numpy(), minlength=heads.height))
        for name in columns
    ]
    return heads.with_columns(each.cast(rows.schema[each.name]) for each in sums)


def mean_runs(rows: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Returns the means of the columns within runs of equal keys; null values do not count.

    Args:
        rows: sorted, so that equal keys stand together.
        keys: columns that name a run.
        columns: numbers.

    Returns:
        The keys, one row a run in order, and the means (Float64; null where all are null).
    """
    run, heads = _runs(rows, keys)
    means = []
    for name in columns:
        values = rows[name].cast(pl.Float64)
        totals = np.bincount(run, weights=values.fill_null(0.0).to_numpy(), minlength=heads.height)
        known = values.is_not_null().cast(pl.Float64).to_numpy()
        counts = np.bincount(run, weights=known, minlength=heads.height)
        mean = np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0)
        means.append(pl.Series(name, mean, nan_to_null=True))
    return heads.with_columns(means)
