"""Vectors of users and items: how they are fitted, ranked and scored, whatever they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.data import rowkeys
from recoeval.errors import EngineError
from recoeval.generators.base import Generator, Train
from recoeval.generators.blocks import (
    Ints,
    Positions,
    Seen,
    distinct,
    pair_weights,
    ranked_lists,
    seen_items,
)

__all__ = ["Factors", "fit_factors"]

_SPARE = 16  # candidates beyond k, so that rounding cannot decide who is among the k
_CHUNK = 1 << 23  # numbers held at once


def fit_factors(
    kind: Callable[..., Any], generator: Generator, train: Train, *, remedy: str
) -> Factors:
    """Returns the vectors that a model of implicit learns; BLAS has one thread.

    Args:
        kind: class of the model.
        generator: its options are those of the model beside what `train` gives.
        train: what there is to learn from.
        remedy: what to do when the fit diverges.

    Raises:
        DataError: no train rows.
        EngineError: factors are NaN or infinite.
    """
    from implicit.recommender_base import ModelFitError
    from threadpoolctl import threadpool_limits

    users, items = distinct(train.rows, c.USER_ID), distinct(train.rows, c.ITEM_ID)
    weights = pair_weights(train.rows, users, items)
    options = generator.model_dump(exclude={"type"})
    with threadpool_limits(1, "blas"), np.errstate(over="ignore", invalid="ignore"):
        model = kind(
            **options, dtype=np.float32, num_threads=train.threads, random_state=train.seed
        )
        try:
            model.fit(weights, show_progress=False)
            failed = not (
                np.isfinite(model.user_factors).all() and np.isfinite(model.item_factors).all()
            )
        except ModelFitError:
            failed = True
    if failed:
        numbers = ((name, value) for name, value in options.items() if not isinstance(value, bool))
        said = ", ".join(f"{name}={value:g}" for name, value in numbers)
        raise EngineError(
            f"the fit diverged: factors are NaN or infinite with {said} and pair weights "
            f"up to {weights.max():g}. {remedy}"
        )
    return Factors(users, items, model, seen_items(train.seen, items))


class _Row(NamedTuple):
    indices: Positions


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Seen items of a block, row by row, as implicit asks for them."""

    seen: Positions
    ends: Ints

    def __getitem__(self, row: int) -> _Row:
        return _Row(self.seen[self.ends[row - 1] if row else 0 : self.ends[row]])


@dataclass(frozen=True, slots=True)
class Factors:
    """A fitted model that scores a pair by the product of two vectors.

    Args:
        users: with a train row, ascending.
        items: with a train row, ascending.
        model: a fitted one of implicit: user_factors, item_factors (float32), num_threads.
        seen: what the lists leave out.
    """

    users: pl.Series
    items: pl.Series
    model: Any
    seen: Seen

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the lists of the users that have a train row."""
        users = rowkeys.positions(queries[c.USER_ID], self.users)
        queries = queries.filter(pl.Series(users >= 0))
        users = users[users >= 0]
        _, seen, counts = self.seen.of(queries[c.USER_ID])
        width = min(k, len(self.items))
        unseen = len(self.items) - counts
        with np.errstate(over="ignore", invalid="ignore"):
            positions, scores = self._best(users, seen, unseen, width)
        if not np.isfinite(scores[np.arange(width) < unseen[:, None]]).all():
            raise EngineError("scores are infinite: lower alpha, learning_rate or training.weight")
        lengths = np.minimum(width, unseen)
        return ranked_lists(queries[c.QUERY_ID], self.items, positions, scores, lengths)

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the products of the vectors, null for users and items without a train row."""
        users = rowkeys.positions(pairs[c.USER_ID], self.users)
        items = rowkeys.positions(pairs[c.ITEM_ID], self.items)
        known = (users >= 0) & (items >= 0)
        scores = np.full(len(known), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            scores[known] = self._scores(users[known], items[known][:, None])[:, 0]
        if not np.isfinite(scores[known]).all():
            raise EngineError("scores are infinite: lower alpha, learning_rate or training.weight")
        return pl.Series(c.SCORE, scores, nan_to_null=True)

    def _best(
        self, users: Ints, seen: Positions, unseen: Ints, width: int
    ) -> tuple[Ints, NDArray[np.float64]]:
        """Returns positions and scores, score descending, then item id ascending.

        implicit scores by matrix products, whose last bits depend on the size of the block, and
        breaks ties by neither end of the ids. It picks the candidates; a sum in fixed order
        ranks them; where a tie may reach beyond the candidates, all items are scored.
        """
        wide = min(width + _SPARE, len(self.items))
        ends = np.cumsum(len(self.items) - unseen)
        positions = self._candidates(users, seen, ends, wide)
        positions[np.arange(wide) >= unseen[:, None]] = len(self.items)
        positions.sort(axis=1)
        scores = self._scores(users, positions)
        order = np.argsort(-scores, axis=1, kind="stable")
        positions = np.take_along_axis(positions, order, axis=1)
        scores = np.take_along_axis(scores, order, axis=1)

        longest = np.linalg.norm(self.model.item_factors, axis=1).max()
        lengths = np.linalg.norm(self.model.user_factors[users], axis=1)
        rounding = 8 * np.finfo(np.float32).eps * lengths * longest
        close = scores[:, width - 1] <= scores[:, wide - 1] + rounding
        for row in np.flatnonzero(close & (unseen > wide)):
            mine = seen[ends[row] - (len(self.items) - unseen[row]) : ends[row]]
            every = self._scores(users[row : row + 1], np.arange(len(self.items))[None])[0]
            every[mine] = -np.inf
            best = np.argsort(-every, kind="stable")[:width]
            positions[row, :width], scores[row, :width] = best, every[best]
        return positions[:, :width], scores[:, :width].astype(np.float64)

    def _candidates(self, users: Ints, seen: Positions, ends: Ints, wide: int) -> Ints:
        """Returns the items that implicit puts first, then whatever it fills the rows with."""
        from implicit.cpu.topk import topk
        from threadpoolctl import threadpool_limits

        # What model.recommend calls, without a sparse matrix: its slices cost a fifth of the time.
        with threadpool_limits(1, "blas"):
            positions, _ = topk(
                self.model.item_factors,
                self.model.user_factors[users],
                wide,
                filter_query_items=_LeftOut(seen, ends),
                num_threads=self.model.num_threads,
            )
        return np.asarray(positions, dtype=np.int64)

    def _scores(self, users: Ints, positions: Ints) -> NDArray[np.float32]:
        """Returns the scores of the items at these positions; -inf at positions beyond the last."""
        scores = np.empty(positions.shape, dtype=np.float32)
        last = len(self.items) - 1
        vectors, factors = self.model.user_factors, self.model.item_factors
        step = max(1, _CHUNK // (positions.shape[1] * factors.shape[1]))
        for start in range(0, len(users), step):
            chunk = slice(start, start + step)
            listed = factors[np.minimum(positions[chunk], last)]
            scores[chunk] = np.einsum("qif,qf->qi", listed, vectors[users[chunk]], optimize=False)
        scores[positions > last] = -np.inf
        return scores
