"""Which relevant pairs a generator can find at all: the item can be listed, nothing is cold."""

from __future__ import annotations

from typing import Final

import numpy as np
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
from recoeval.data.ordering import starts_of

__all__ = ["COLDNESS_LABELS", "find_reach", "label_coldness"]

COLDNESS_LABELS = ("cold", "warm")
_LABEL: Final = pl.Enum(COLDNESS_LABELS)


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
    facts = _of_queries(pairs[QUERY_ID], queries, background.activity)
    items, nothing = pairs[ITEM_ID], pl.repeat(False, pairs.height, dtype=pl.Boolean, eager=True)
    cold_item = unavailable = nothing
    if background.popularity is not None:
        cold_item = ~items.is_in(background.popularity[ITEM_ID].implode())
    if background.items is not None:
        listed = background.items.lazy().select(ITEM_ID, CREATED_AT, AVAILABLE)
        rows = pl.LazyFrame([items, facts[QUERY_TIME]])
        joined = rows.join(listed, on=ITEM_ID, how="left", maintain_order="left")
        # An item that is not in the table has no `available`.
        listable = can_be_listed(pl.col(QUERY_TIME)).fill_null(False)
        unavailable = joined.select(~listable).collect(engine="streaming").to_series()
    return pairs.select(
        QUERY_ID,
        ITEM_ID,
        unavailable.alias(UNAVAILABLE),
        cold_item.alias(COLD_ITEM),
        facts[COLD_USER],
    )


def label_coldness(reach: pl.DataFrame) -> pl.DataFrame:
    """Returns the label of each pair: cold when its item or its user has no train row.

    Args:
        reach: result of `find_reach`.

    Returns:
        query_id, item_id, label (Enum: "cold" or "warm").
    """
    warm = pl.lit(COLDNESS_LABELS[1], _LABEL)
    label = pl.when(pl.col(COLD_ITEM) | pl.col(COLD_USER)).then(pl.lit(COLDNESS_LABELS[0], _LABEL))
    return reach.select(QUERY_ID, ITEM_ID, label.otherwise(warm).alias(LABEL))


def _of_queries(
    asked: pl.Series, queries: pl.DataFrame, activity: pl.LazyFrame | None
) -> pl.DataFrame:
    """Returns query_time (null if it is not known) and cold_user of each row.

    Args:
        asked: query_id of each row; those of a query together are the fastest.
        queries: query_id, user_id and, if known, query_time.
        activity: user_id, train_rows; None: nobody is known to be cold.
    """
    time = pl.col(QUERY_TIME) if QUERY_TIME in queries.columns else pl.lit(None, TIMESTAMP_DTYPE)
    cold = pl.lit(False)
    if activity is not None:
        trained = activity.filter(pl.col(TRAIN_ROWS) > 0).select(USER_ID).collect()
        cold = ~pl.col(USER_ID).is_in(trained[USER_ID].implode())
    facts = queries.select(QUERY_ID, time.alias(QUERY_TIME), cold.alias(COLD_USER))
    starts = starts_of(asked)
    heads = asked.gather(starts).alias(QUERY_ID).to_frame()
    joined = heads.join(facts, on=QUERY_ID, how="left", maintain_order="left")
    # A query without a user has no train row either.
    found = joined.select(QUERY_TIME, pl.col(COLD_USER).fill_null(activity is not None))
    return found[np.repeat(np.arange(len(starts)), np.diff(starts, append=len(asked)))]
