"""Sums in row order: the same rows give the same bits, however they are cut into blocks.

A plain group_by adds floats in an order that depends on threads and on the rows around a
group. `bincount` adds the rows of each group one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

__all__ = ["mean_runs", "sum_runs"]


def _runs(rows: pl.DataFrame, keys: Sequence[str]) -> tuple[np.ndarray, pl.DataFrame]:
    """Returns the number of the run of each row, and the keys of each run."""
    run = rows.select(pl.struct(keys).rle_id()).to_series()
    heads = rows.select(keys).filter(run.is_first_distinct())
    return run.to_numpy(), heads


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
