"""What train rows say of items, counted plainly."""

import polars as pl


def count_train_users(rows: pl.LazyFrame) -> tuple[pl.DataFrame, int]:
    """Returns item_id and train_users (distinct users), sorted by item, and all distinct users."""
    pairs = rows.select("user_id", "item_id").unique().collect()
    counts = pairs.group_by("item_id").agg(pl.len().cast(pl.Int64).alias("train_users"))
    return counts.sort("item_id"), pairs["user_id"].n_unique()
