"""Names and dtypes of the tables: the one place where they stand."""

from typing import Final

import polars as pl

__all__ = ["TIMESTAMP_DTYPE"]

USER_ID: Final = "user_id"
ITEM_ID: Final = "item_id"
QUERY_ID: Final = "query_id"
QUERY_TIME: Final = "query_time"
TIMESTAMP: Final = "timestamp"
WEIGHT: Final = "weight"
GAIN: Final = "gain"
RANK: Final = "rank"
SCORE: Final = "score"
FOLD: Final = "fold"
GENERATOR: Final = "generator"

# PER_QUERY and PER_USER: |R| and the length of the prepared list.
RELEVANT: Final = "relevant"
RETURNED: Final = "returned"

# SUMMARY
BUCKET_BY: Final = "bucket_by"
BUCKET: Final = "bucket"
METRIC: Final = "metric"
NAME: Final = "name"
K: Final = "k"
STATISTIC: Final = "statistic"
QUERIES: Final = "queries"
USERS: Final = "users"
VALUE: Final = "value"
CI_LOW: Final = "ci_low"
CI_HIGH: Final = "ci_high"
TOO_FEW_USERS: Final = "too_few_users"

# Facts about a user in the train window, used by buckets.
TRAIN_INTERACTIONS: Final = "train_interactions"
TRAIN_ROWS: Final = "train_rows"

TIMESTAMP_DTYPE: Final = pl.Datetime("us", "UTC")

# Ids are Int64 or String everywhere behind the edge.
ID_DTYPES: Final = (pl.Int64, pl.String)

SUMMARY_SCHEMA: Final = {
    FOLD: pl.Int64,
    GENERATOR: pl.String,
    BUCKET_BY: pl.String,
    BUCKET: pl.String,
    METRIC: pl.String,
    NAME: pl.String,
    K: pl.Int64,
    STATISTIC: pl.String,
    QUERIES: pl.Int64,
    USERS: pl.Int64,
    VALUE: pl.Float64,
    CI_LOW: pl.Float64,
    CI_HIGH: pl.Float64,
    TOO_FEW_USERS: pl.Boolean,
}
