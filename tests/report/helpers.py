"""Tables of results, made by hand."""

import polars as pl

from recoeval.columns import (
    CHANNELS_SCHEMA,
    FUNNEL_SCHEMA,
    LOSS_SCHEMA,
    OVERLAP_SCHEMA,
    SUMMARY_SCHEMA,
    WHAT_IF_SCHEMA,
)


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


def channels_of(
    *rows: tuple[str, str, str, str, int, int, int, int, int | None, float, float, float, float],
    users: int = 600,
    served: int = 600,
) -> pl.DataFrame:
    """CHANNELS from (merge, generator, bucket_by, bucket, k, queries, hits, exclusive_hits, slots,
    recall, union_recall, leave_one_out, shapley)."""
    full = [(0, *row[:6], users, *row[6:], served, row[9] * users / served) for row in rows]
    return pl.DataFrame(full, schema=CHANNELS_SCHEMA, orient="row")


def overlap_of(*rows: tuple[str, str, str, int, int, float | None]) -> pl.DataFrame:
    """OVERLAP from (merge, generator, other, k, other_k, jaccard)."""
    full = [
        (0, merge, one, other, "all", "all", k, other_k, jaccard, 600)
        for merge, one, other, k, other_k, jaccard in rows
    ]
    return pl.DataFrame(full, schema=OVERLAP_SCHEMA, orient="row")


def what_if_of(*rows: tuple[str, str, str, float, int, float, float]) -> pl.DataFrame:
    """WHAT_IF from (merge, generator, change, slots, hits, recall, delta)."""
    full = [(0, *row[:3], "all", "all", 600, 600, *row[3:]) for row in rows]
    return pl.DataFrame(full, schema=WHAT_IF_SCHEMA, orient="row")


def funnel_of(
    *rows: tuple[str, str, int, str, str, str, int, int, float, float | None, int, int],
    precision: float | None = 0.25,
    candidates: tuple[int | None, float | None, float | None] = (6000, 0.25, None),
) -> pl.DataFrame:
    """FUNNEL from (stage, generator, k, channel, bucket_by, bucket, relevant, survived, recall,
    hit_survival, lost, inserted)."""
    full = [(0, *row[:6], 600, 600, *row[6:], precision, *candidates) for row in rows]
    return pl.DataFrame(full, schema=FUNNEL_SCHEMA, orient="row")
