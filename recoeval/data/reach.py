"""Which relevant pairs a generator can find at all: the item can be listed, nothing is cold."""

from __future__ import annotations

import polars as pl

from recoeval.columns import (
    AVAILABLE,
    COLD_ITEM,
    COLD_USER,
    CREATED_AT,
    ITEM_ID,
    LABEL,
    QUERY_ID,
    QUERY_TIME,
    TIMESTAMP_DTYPE,
    TRAIN_ROWS,
    UNAVAILABLE,
    USER_ID,
)
from recoeval.data.background import Background, can_be_listed

__all__ = ["COLDNESS_LABELS", "find_reach", "label_coldness"]

COLDNESS_LABELS = ("cold", "warm")


def find_reach(
    pairs: pl.DataFrame, queries: pl.DataFrame, background: Background
) -> pl.DataFrame | None:
    """Returns for each relevant pair what may keep a generator from finding it.

    Args:
        pairs: query_id, item_id; distinct.
        queries: query_id, user_id and, if known, query_time (Datetime[us], UTC).
        background: train data and items table; None of them known: the result is None.

    Returns:
        query_id, item_id and, never null, unavailable (there is an items table, and the item
        cannot be listed at the query's time), cold_item and cold_user (without a train row;
        False without train data), in the order of the pairs.

    Example:
        >>> pairs = pl.DataFrame({"query_id": [1, 1], "item_id": [7, 8]})
        >>> queries = pl.DataFrame({"query_id": [1], "user_id": [1]})
        >>> known = Background(popularity=pl.DataFrame({"item_id": [7], "train_users": [3]}))
        >>> find_reach(pairs, queries, known)["cold_item"].to_list()
        [False, True]
    """
    if background.items is None and background.popularity is None:
        return None
    time = pl.col(QUERY_TIME) if QUERY_TIME in queries.columns else pl.lit(None, TIMESTAMP_DTYPE)
    asked = queries.lazy().select(QUERY_ID, USER_ID, time.alias(QUERY_TIME))
    rows = (
        pairs.lazy()
        .select(QUERY_ID, ITEM_ID)
        .join(asked, on=QUERY_ID, how="left", maintain_order="left")
    )
    cold_item = cold_user = unavailable = pl.lit(False)
    if background.popularity is not None:
        rows, cold_item = _without(rows, background.popularity.lazy(), ITEM_ID)
    if background.activity is not None:
        trained = background.activity.filter(pl.col(TRAIN_ROWS) > 0)
        rows, cold_user = _without(rows, trained, USER_ID)
    if background.items is not None:
        listed = background.items.lazy().select(ITEM_ID, CREATED_AT, AVAILABLE)
        rows = rows.join(listed, on=ITEM_ID, how="left", maintain_order="left")
        # An item that is not in the table has no `available`.
        unavailable = ~can_be_listed(pl.col(QUERY_TIME)).fill_null(False)
    return rows.select(
        QUERY_ID,
        ITEM_ID,
        unavailable.alias(UNAVAILABLE),
        cold_item.alias(COLD_ITEM),
        cold_user.alias(COLD_USER),
    ).collect(engine="streaming")


def label_coldness(reach: pl.DataFrame) -> pl.DataFrame:
    """Returns the label of each pair: cold when its item or its user has no train row.

    Args:
        reach: result of `find_reach`.

    Returns:
        query_id, item_id, label ("cold" or "warm").
    """
    cold, warm = COLDNESS_LABELS
    label = pl.when(pl.col(COLD_ITEM) | pl.col(COLD_USER)).then(pl.lit(cold))
    return reach.select(QUERY_ID, ITEM_ID, label.otherwise(pl.lit(warm)).alias(LABEL))


def _without(rows: pl.LazyFrame, known: pl.LazyFrame, key: str) -> tuple[pl.LazyFrame, pl.Expr]:
    """Returns the rows and whether another table lacks their id."""
    mark = f"/{key}"
    marked = known.select(key, pl.lit(True).alias(mark)).unique()
    joined = rows.join(marked, on=key, how="left", maintain_order="left")
    return joined, pl.col(mark).is_null()
