"""Tables of results, made by hand."""

import polars as pl

from recoeval.columns import LOSS_SCHEMA, SUMMARY_SCHEMA


def loss_of(counts: dict[tuple[str, str, str], tuple[int, ...]], k: int | None) -> pl.DataFrame:
    """LOSS from (generator, bucket_by, bucket) -> hit, below_k, ..., not_retrieved."""
    rows = [(0, *keys, k, sum(causes), *causes) for keys, causes in counts.items()]
    return pl.DataFrame(rows, schema=LOSS_SCHEMA, orient="row")


def summary_of(*rows: tuple[int, str, str, str, str, str, int, float | None]) -> pl.DataFrame:
    """SUMMARY from (fold, generator, bucket_by, bucket, metric, statistic, users, value)."""
    full = [
        {
            "fold": fold,
            "generator": generator,
            "bucket_by": bucket_by,
            "bucket": bucket,
            "metric": metric,
            "name": metric.partition("@")[0],
            "k": None,
            "statistic": statistic,
            "queries": users,
            "users": users,
            "value": value,
            "ci_low": None if value is None else value - 0.125,
            "ci_high": None if value is None else value + 0.125,
            "too_few_users": False,
        }
        for fold, generator, bucket_by, bucket, metric, statistic, users, value in rows
    ]
    return pl.DataFrame(full, schema=SUMMARY_SCHEMA)
