"""Rerank: the list of one generator, ordered anew by the scores of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import polars as pl
from pydantic import Field, Strict

from recoeval import columns as c
from recoeval.errors import EngineError, Problem, some
from recoeval.generators.base import Fitted, Generator, Others, Train

__all__ = ["Rerank", "Reranked", "Reranking"]


class Rerank(Generator):
    """The first items of a generator's list, ordered anew by another generator's scores.

    The list is read to one depth, whatever length is asked for: the first 10 of a list of 100
    are the list of 10. It has at most `depth` items. Items without a score come after all others
    in the order that they had; their score is null.
    """

    serves_cold_users: ClassVar[bool] = True
    serves_cold_items: ClassVar[bool] = True

    type: Literal["rerank"] = "rerank"
    of: str
    """Whose lists are ordered anew: the name of a generator."""
    by: str
    """Whose scores decide, highest first; ties by the rank before. The name of a generator."""
    depth: Annotated[int, Strict(), Field(ge=1, le=1_000_000)] = 500
    """How many items of each list take part, the first ones; default 500. Deeper ones are cut
    off."""

    def reads(self, k: int) -> Mapping[str, int]:
        return {self.of: self.depth}

    @property
    def asks(self) -> tuple[str, ...]:
        return (self.by,)

    @property
    def places(self) -> Mapping[str, str]:
        return {"of": self.of, "by": self.by}

    def fit(self, train: Train) -> Fitted:
        """Returns the rerank of the run's lists.

        Raises:
            EngineError: nobody gives the lists and the scores.
        """
        if train.others is None:
            raise EngineError(
                f"a rerank reads the lists of {self.of} and asks {self.by} for scores: give them "
                "as Train.others"
            )
        return Reranking(self, train.others)


@dataclass(frozen=True, slots=True)
class Reranked:
    """Lists in their new order.

    Args:
        lists: query_id, item_id, rank (Int64, 1..n), score (Float64, null where there is none);
            by query and rank.
        unscored: rows that took part without a score.
    """

    lists: pl.DataFrame
    unscored: int


@dataclass(frozen=True, slots=True)
class Reranking:
    """A rerank that can read the lists and ask for scores.

    Args:
        rerank: its options.
        others: who has the lists and the scores.
    """

    rerank: Rerank
    others: Others

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the lists in their new order; the score is null where `by` has none."""
        return self.counted(queries, k)[0]

    def counted(self, queries: pl.DataFrame, k: int) -> tuple[pl.LazyFrame, Mapping[str, int]]:
        """Returns the lists in their new order, and the rows that have no score."""
        found = self.reranked(queries, k)
        return found.lists.lazy(), {"unscored": found.unscored}

    def reranked(self, queries: pl.DataFrame, k: int) -> Reranked:
        """Returns the lists in their new order, and how many rows had no score.

        Args:
            queries: query_id, user_id; one row a query.
            k: length of the lists, items, >= 1.

        Raises:
            EngineError: a score is NaN or infinite, or there are fewer or more than rows.
        """
        rows = self.others.lists(self.rerank.of, queries)
        rows = rows.filter(pl.col(c.RANK) <= self.rerank.depth)
        users = queries.select(c.QUERY_ID, c.USER_ID)
        pairs = rows.select(c.QUERY_ID, c.ITEM_ID, c.RANK).join(users, on=c.QUERY_ID, how="inner")
        pairs = pairs.select(c.QUERY_ID, c.USER_ID, c.ITEM_ID, c.RANK)
        scores = self.others.score(self.rerank.by, pairs.drop(c.RANK)).cast(pl.Float64)
        _require_usable(self.rerank.by, pairs, scores)
        ordered = (
            pairs.drop(c.USER_ID)
            .with_columns(scores.alias(c.SCORE))
            .sort(
                [pl.col(c.QUERY_ID), 0.0 - pl.col(c.SCORE), pl.col(c.RANK)],
                nulls_last=[False, True, False],
            )
            .with_columns(_number().alias(c.RANK))
            .filter(pl.col(c.RANK) <= k)
        )
        lists = ordered.select(c.QUERY_ID, c.ITEM_ID, c.RANK, c.SCORE)
        return Reranked(lists, scores.null_count())


def _number() -> pl.Expr:
    """Returns the number of each row within the run of its query, from 1."""
    row = pl.int_range(pl.len(), dtype=pl.Int64)
    starts = pl.col(c.QUERY_ID).ne_missing(pl.col(c.QUERY_ID).shift(1)) | (row == 0)
    return row - pl.when(starts).then(row).forward_fill() + 1


def _require_usable(name: str, pairs: pl.DataFrame, scores: pl.Series) -> None:
    """Raises EngineError unless there is one score or null for each pair."""
    if len(scores) != pairs.height:
        text = f"{len(scores)} scores for {pairs.height} pairs: a generator scores each of them"
        raise EngineError(Problem(text, f"generators.{name}"))
    wrong = (~scores.is_finite()).fill_null(False)
    if wrong.any():
        bad = pairs.filter(wrong).with_columns(scores.filter(wrong).alias(c.SCORE))
        examples = some(bad.select(c.USER_ID, c.ITEM_ID, c.SCORE).head(6).rows())
        text = (
            f"{bad.height} of {pairs.height} scores are NaN or infinite, e.g. {examples}: a "
            "generator without a score gives null"
        )
        raise EngineError(Problem(text, f"generators.{name}"))
