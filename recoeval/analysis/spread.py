"""Several folds: the mean of each number over them, and how far they are apart."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    FOLD,
    GENERATOR,
    METRIC,
    NAME,
    STATISTIC,
    VALUE,
    K,
)

__all__ = ["SPREAD_SCHEMA", "spread_over_folds"]

KEYS: Final = (GENERATOR, BUCKET_BY, BUCKET, METRIC, NAME, K, STATISTIC)

SPREAD_SCHEMA: Final = {
    **dict.fromkeys(KEYS, pl.String),
    K: pl.Int64,
    "folds": pl.Int64,
    "mean": pl.Float64,
    "sd": pl.Float64,
    "min": pl.Float64,
    "max": pl.Float64,
}


def spread_over_folds(summary: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean of each number over the folds, with its spread.

    Args:
        summary: SUMMARY.

    Returns:
        generator, bucket_by, bucket, metric, name, k, statistic; folds (Int64: those in which
        the number has a value), mean, sd (between folds, divided by folds - 1; null below two
        folds), min, max (Float64). No rows where the summary has one fold.

    Example:
        >>> row = {"generator": "als", "bucket_by": "all", "bucket": "all", "metric": "mrr@5",
        ...        "name": "mrr", "k": 5, "statistic": "macro"}
        >>> summary = pl.DataFrame([row | {"fold": 0, "value": 0.25},
        ...                         row | {"fold": 1, "value": 0.75}])
        >>> spread_over_folds(summary).select("folds", "mean", "min", "max").row(0)
        (2, 0.5, 0.25, 0.75)
    """
    if summary[FOLD].n_unique() < 2:
        return pl.DataFrame(schema=SPREAD_SCHEMA)
    # In the order of the folds: a sum of floats depends on the order of its terms.
    by_fold = _with_query_means(summary).sort(FOLD, maintain_order=True)
    grouped = by_fold.group_by(KEYS, maintain_order=True).agg(pl.col(VALUE).drop_nulls())
    rows = [(*keys, *_spread(np.array(values))) for *keys, values in grouped.iter_rows()]
    return pl.DataFrame(rows, schema=SPREAD_SCHEMA, orient="row")


def _with_query_means(summary: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the mean over queries in every fold, where any fold has one.

    A fold without one has a query a user: there it is the mean over users.
    """
    own = [FOLD, *(key for key in KEYS if key != STATISTIC)]
    over_queries = summary.filter(pl.col(STATISTIC) == "macro_query")
    wanted = over_queries.select(own[1:]).unique()
    missing = (
        summary.filter(pl.col(STATISTIC) == "macro")
        .join(wanted, on=own[1:], how="semi", nulls_equal=True)
        .join(over_queries, on=own, how="anti", nulls_equal=True)
        .with_columns(pl.lit("macro_query").alias(STATISTIC))
    )
    return pl.concat([summary, missing])


def _spread(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[int, float | None, float | None, float | None, float | None]:
    """Returns count, mean, sd, min and max."""
    if not len(values):
        return 0, None, None, None, None
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    ends = float(values.min()), float(values.max())
    return len(values), float(values.mean()), deviation, *ends
