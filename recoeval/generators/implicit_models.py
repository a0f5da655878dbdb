"""Models of the library implicit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from recoeval import columns as c
from recoeval.component import Count, Number
from recoeval.data import rowkeys
from recoeval.errors import EngineError
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import (
    PAIR,
    Ints,
    Positions,
    Seen,
    distinct,
    encode_pairs,
    first_of_equals,
    ranked_lists,
    seen_items,
    unpack,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["ALS"]

_SPARE = 16  # candidates beyond k, so that rounding cannot decide who is among the k
_CHUNK = 1 << 23  # numbers held at once


class ALS(Generator):
    """Matrix factorisation of implicit feedback by alternating least squares.

    The confidence of a (user, item) pair is alpha x the sum of the weights of its train rows.
    Users without a train row get no list.

    The same seed and one thread give the same lists, bit by bit, whatever the order of the rows
    and the block of queries. With several threads the factors, and with them the lists, are not
    bit-reproducible: keep the lists, or set `engine.threads: 1`.

    Source: Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets;
        AlternatingLeastSquares of implicit 0.7, on the CPU, in float32.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["als"] = "als"
    factors: Count = 64
    """Length of the vectors of users and items. Default 64; time and memory grow with it."""
    iterations: Count = 15
    """Rounds of alternating fits. Default 15; more change little."""
    regularization: Annotated[Number, Field(ge=0)] = 0.01
    """Penalty on the length of the vectors. Default 0.01; raise it for sparse logs."""
    alpha: Annotated[Number, Field(gt=0)] = 1.0
    """Confidence of a train row of weight 1, where no interaction counts as 1. Default 1.0."""

    def fit(self, train: Train) -> Fitted:
        """Returns the factors.

        Raises:
            DataError: no train rows.
            EngineError: the fit diverged, or implicit refused.
        """
        users = distinct(train.rows, c.USER_ID)
        items = distinct(train.rows, c.ITEM_ID)
        model = self._fit_model(_pair_weights(train.rows, users, items), train)
        return _Factors(users, items, model, seen_items(train.seen, items))

    def _fit_model(self, weights: csr_matrix, train: Train) -> Any:
        from implicit.cpu.als import AlternatingLeastSquares
        from implicit.recommender_base import ModelFitError
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, "blas"), np.errstate(over="ignore", invalid="ignore"):
            model = AlternatingLeastSquares(
                factors=self.factors,
                iterations=self.iterations,
                regularization=self.regularization,
                alpha=self.alpha,
                dtype=np.float32,
                num_threads=train.threads,
                random_state=train.seed,
            )
            try:
                model.fit(weights, show_progress=False)
                failed = not (
                    np.isfinite(model.user_factors).all() and np.isfinite(model.item_factors).all()
                )
            except ModelFitError:
                failed = True
        if failed:
            raise EngineError(
                f"the fit diverged: factors are NaN or infinite with factors={self.factors}, "
                f"regularization={self.regularization:g}, alpha={self.alpha:g} and pair weights "
                f"up to {weights.max():g}. Lower alpha or training.weight, or raise regularization"
            )
        return model


def _pair_weights(rows: pl.LazyFrame, users: pl.Series, items: pl.Series) -> csr_matrix:
    """Returns the sum of weights of each pair, users x items, float32."""
    from scipy.sparse import csr_matrix

    coded = encode_pairs(rows.select(c.USER_ID, c.ITEM_ID, c.WEIGHT), users, items)
    # Sorted by weight as well: a float sum depends on its order, the result may not. In memory,
    # where the sort costs a third of a streamed one.
    pairs = coded.collect(engine="streaming").sort(PAIR, c.WEIGHT)
    keys = pairs[PAIR].to_numpy()
    first = np.flatnonzero(first_of_equals(keys))
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(pairs[c.WEIGHT].to_numpy(), first).astype(np.float32)
    owners, positions = unpack(keys[first])
    starts = np.searchsorted(owners, np.arange(len(users) + 1, dtype=np.uint32))
    return csr_matrix((sums, positions, starts), shape=(len(users), len(items)))


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
class _Factors:
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
            raise EngineError("scores are infinite: lower alpha or training.weight")
        lengths = np.minimum(width, unseen)
        return ranked_lists(queries[c.QUERY_ID], self.items, positions, scores, lengths)

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
