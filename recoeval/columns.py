"""Names and dtypes of the tables: the one place where they stand."""

from typing import Final

import polars as pl

__all__ = ["CAUSE_DTYPE", "TIMESTAMP_DTYPE"]

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

# Merged lists: the generator that gave an item, and its rank there.
CHANNEL: Final = "channel"
CHANNEL_RANK: Final = "channel_rank"

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

# A user's own depth, which `@quota` reads.
QUOTA: Final = "quota"

# On which sides of a split a user or an item has rows, and when an item's first row was.
TRAINED: Final = "trained"
TESTED: Final = "tested"
FIRST: Final = "first"

# Facts about an item: distinct users with a train row of it, and when it can be listed.
TRAIN_USERS: Final = "train_users"
CREATED_AT: Final = "created_at"
AVAILABLE: Final = "available"

# Parts of the truth: their label, and the two splits whose names are ours.
LABEL: Final = "label"
POSITIVES: Final = "positives"
COLDNESS: Final = "coldness"

# LOST and LOSS: why a relevant item was not found.
CAUSE: Final = "cause"
HIT: Final = "hit"
BELOW_K: Final = "below_k"
FILTERED: Final = "filtered"
UNAVAILABLE: Final = "unavailable"
COLD_ITEM: Final = "cold_item"
COLD_USER: Final = "cold_user"
NOT_RETRIEVED: Final = "not_retrieved"
CAUSES: Final = (HIT, BELOW_K, FILTERED, UNAVAILABLE, COLD_ITEM, COLD_USER, NOT_RETRIEVED)

CAUSE_DTYPE: Final = pl.Enum(CAUSES)

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

LOSS_SCHEMA: Final = {
    FOLD: pl.Int64,
    GENERATOR: pl.String,
    BUCKET_BY: pl.String,
    BUCKET: pl.String,
    K: pl.Int64,
    RELEVANT: pl.Int64,
    **dict.fromkeys(CAUSES, pl.Int64),
}

# CHANNELS, OVERLAP and WHAT_IF: what a channel adds to a merge, or to a group of generators.
MERGE: Final = "merge"
OTHER: Final = "other"
OTHER_K: Final = "other_k"
HITS: Final = "hits"
EXCLUSIVE_HITS: Final = "exclusive_hits"
SLOTS: Final = "slots"
RECALL: Final = "recall"
UNION_RECALL: Final = "union_recall"
LEAVE_ONE_OUT: Final = "leave_one_out"
SHAPLEY: Final = "shapley"
SERVED_USERS: Final = "served_users"
RECALL_SERVED: Final = "recall_served"
JACCARD: Final = "jaccard"
CHANGE: Final = "change"
DELTA: Final = "delta"

CHANNELS_SCHEMA: Final = {
    FOLD: pl.Int64,
    MERGE: pl.String,
    GENERATOR: pl.String,
    BUCKET_BY: pl.String,
    BUCKET: pl.String,
    K: pl.Int64,
    QUERIES: pl.Int64,
    USERS: pl.Int64,
    HITS: pl.Int64,
    EXCLUSIVE_HITS: pl.Int64,
    SLOTS: pl.Int64,
    RECALL: pl.Float64,
    UNION_RECALL: pl.Float64,
    LEAVE_ONE_OUT: pl.Float64,
    SHAPLEY: pl.Float64,
    SERVED_USERS: pl.Int64,
    RECALL_SERVED: pl.Float64,
}

OVERLAP_SCHEMA: Final = {
    FOLD: pl.Int64,
    MERGE: pl.String,
    GENERATOR: pl.String,
    OTHER: pl.String,
    BUCKET_BY: pl.String,
    BUCKET: pl.String,
    K: pl.Int64,
    OTHER_K: pl.Int64,
    JACCARD: pl.Float64,
    QUERIES: pl.Int64,
}

WHAT_IF_SCHEMA: Final = {
    FOLD: pl.Int64,
    MERGE: pl.String,
    GENERATOR: pl.String,
    CHANGE: pl.String,
    BUCKET_BY: pl.String,
    BUCKET: pl.String,
    QUERIES: pl.Int64,
    USERS: pl.Int64,
    SLOTS: pl.Float64,
    HITS: pl.Int64,
    RECALL: pl.Float64,
    DELTA: pl.Float64,
}

# FUNNEL and FUNNEL_LOST: what becomes of relevant pairs from one stage to the next.
STAGE: Final = "stage"
SURVIVED: Final = "survived"
HIT_SURVIVAL: Final = "hit_survival"
LOST: Final = "lost"
INSERTED: Final = "inserted"
PRECISION: Final = "precision"
CANDIDATES: Final = "candidates"
KEPT: Final = "kept"
EXPOSED: Final = "exposed"

FUNNEL_SCHEMA: Final = {
    FOLD: pl.Int64,
    STAGE: pl.String,
    GENERATOR: pl.String,
    K: pl.Int64,
    CHANNEL: pl.String,
    BUCKET_BY: pl.String,
    BUCKET: pl.String,
    QUERIES: pl.Int64,
    USERS: pl.Int64,
    RELEVANT: pl.Int64,
    SURVIVED: pl.Int64,
    RECALL: pl.Float64,
    HIT_SURVIVAL: pl.Float64,
    LOST: pl.Int64,
    INSERTED: pl.Int64,
    PRECISION: pl.Float64,
    CANDIDATES: pl.Int64,
    KEPT: pl.Float64,
    EXPOSED: pl.Float64,
}
