"""A LensKit pipeline as a generator of recoeval: the file that docs/plugins.md shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl
from pydantic import Field

from recoeval.errors import DataError
from recoeval.generators import Fitted, Generator, Train

if TYPE_CHECKING:
    from lenskit.pipeline import Pipeline


class LensKitALS(Generator):
    """Implicit matrix factorisation of LensKit."""

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False
    block: ClassVar[int | None] = 1_000  # all scores of a block are held at once

    type: Literal["lenskit_als"] = "lenskit_als"
    factors: int = Field(64, ge=1)
    """Length of the embeddings."""
    epochs: int = Field(10, ge=1)
    """Rounds of training."""

    def fit(self, train: Train) -> Fitted:
        """Returns the trained pipeline."""
        from lenskit.als import ImplicitMFScorer
        from lenskit.data import from_interactions_df
        from lenskit.pipeline import topn_pipeline
        from lenskit.training import TrainingOptions

        # Sorted, so that the order of the log changes nothing.
        pairs = (
            train.rows.select("user_id", "item_id").unique().sort("user_id", "item_id").collect()
        )
        if pairs.is_empty():
            raise DataError("no train rows to learn from")
        data = from_interactions_df(pairs.to_pandas(), user_col="user_id", item_col="item_id")
        scorer = ImplicitMFScorer(embedding_size=self.factors, epochs=self.epochs)
        pipeline = topn_pipeline(scorer)
        pipeline.train(data, TrainingOptions(rng=train.seed))
        seen = None if train.seen is None else train.seen.collect()
        return _Trained(pipeline, pairs["user_id"].unique(), pairs["item_id"].unique().sort(), seen)


@dataclass(frozen=True, slots=True)
class _Trained:
    pipeline: Pipeline
    users: pl.Series
    items: pl.Series
    seen: pl.DataFrame | None

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the best k items of each user that LensKit knows, seen ones left out."""
        known = queries.filter(pl.col("user_id").is_in(self.users.implode()))
        rows = pl.concat([self._scores(known[:0]), *map(self._scores, known.iter_slices(1))])
        if self.seen is not None:
            rows = rows.join(self.seen, on=["user_id", "item_id"], how="anti")
        # Our order: ties go to the lower id.
        best = rows.sort("query_id", "score", "item_id", descending=[False, True, False])
        rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("query_id").alias("rank")
        lists = best.with_columns(rank).filter(pl.col("rank") <= k)
        return lists.lazy().select("query_id", "item_id", "rank", "score")

    def _scores(self, query: pl.DataFrame) -> pl.DataFrame:
        """Returns query_id, user_id, item_id, score of all items for one query, or for none."""
        from lenskit.operations import score

        rows = query.join(self.items.alias("item_id").to_frame(), how="cross")
        if query.is_empty():
            return rows.with_columns(pl.lit(0.0).alias("score"))
        found = score(self.pipeline, query["user_id"][0], self.items.to_list())
        scores = pl.Series("score", found.scores("numpy"), pl.Float64)
        return rows.with_columns(scores).drop_nans("score")
