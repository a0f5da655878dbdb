"""Newest: a generator of the package recoeval-example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl

from recoeval.component import Duration
from recoeval.errors import ConfigError, DataError
from recoeval.generators import Fitted, Generator, Train

__all__ = ["Newest"]


class Newest(Generator):
    """Items that came last: by the time of their first train row, ties by item id ascending."""

    serves_cold_users: ClassVar[bool] = True
    serves_cold_items: ClassVar[bool] = False

    type: Literal["newest"] = "newest"
    max_age: Duration | None = None
    """Items that came earlier than this before the end of the train window are not listed.
    Default: all items are."""

    def fit(self, train: Train) -> Fitted:
        """Returns the items, the newest first.

        Raises:
            ConfigError: the log has no times.
            DataError: no train rows, or none young enough.
        """
        if train.end is None or "timestamp" not in train.rows.collect_schema():
            raise ConfigError("newest needs the times of interactions: interactions.columns")
        first = train.rows.group_by("item_id").agg(pl.col("timestamp").min()).collect()
        if self.max_age is not None:
            first = first.filter(pl.col("timestamp") >= train.end - self.max_age)
        if first.is_empty():
            raise DataError("no items to list: widen the train window, or max_age")
        score = (pl.col("timestamp").dt.epoch("us") / 1e6).alias("score")
        ranking = first.select("item_id", score).sort("score", "item_id", descending=[True, False])
        seen = None if train.seen is None else train.seen.unique().collect()
        return _Ranking(ranking, seen)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """What was learned.

    Args:
        items: item_id, score; best first.
        seen: user_id, item_id, distinct; None: nothing is left out.
    """

    items: pl.DataFrame
    seen: pl.DataFrame | None

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the first k items that the user has not seen."""
        # The first k + n items hold k unseen ones for whoever has seen n.
        own = None if self.seen is None else self.seen.join(queries, on="user_id", how="semi")
        most = 0 if own is None else max(own.group_by("user_id").len()["len"], default=0)
        rows = queries.lazy().join(self.items.head(k + most).lazy(), how="cross")
        if own is not None:
            rows = rows.join(own.lazy(), on=["user_id", "item_id"], how="anti")
        best = rows.sort("query_id", "score", "item_id", descending=[False, True, False])
        rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("query_id").alias("rank")
        lists = best.with_columns(rank).filter(pl.col("rank") <= k)
        return lists.select("query_id", "item_id", "rank", pl.col("score").cast(pl.Float64))
