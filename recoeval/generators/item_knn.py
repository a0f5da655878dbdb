"""Item-item neighbours: items like those that the user interacted with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from recoeval import columns as c
from recoeval.component import Count, Number
from recoeval.data import rowkeys
from recoeval.errors import EngineError
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import (
    Ints,
    Positions,
    Seen,
    best,
    distinct,
    pair_weights,
    ranked_lists,
    seen_items,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["ItemKNN"]

Floats = NDArray[np.float64]

_CHUNK = 1 << 23  # products held at once


class ItemKNN(Generator):
    """Items by their similarity to the items of the user: item-item collaborative filtering.

    The score of an item is the sum of its similarity to each item of the user, times the weight
    of that pair; only the nearest neighbours of an item count. An item without evidence is not
    listed: lists end there, and may be shorter than K. Users without a train row get no list.

    The same lists, bit by bit, whatever the order of the rows, the block of queries and the
    number of threads; equal similarities go to the lower item id. Nothing is random.

    Source: Sarwar et al. (2001), Item-based collaborative filtering recommendation algorithms;
        CosineRecommender, TFIDFRecommender and BM25Recommender of implicit 0.7, in float64.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["item_knn"] = "item_knn"
    similarity: Literal["cosine", "tf-idf", "bm25"] = "cosine"
    """Of two items, from the weights of their users. Default cosine. tf-idf: the same of the
    square roots of the weights, where users with many items count less. bm25: a product, where
    many rows of a user and popular items count less as well."""
    neighbours: Count = 20
    """Nearest items that count for each item, itself among them: K of implicit. Default 20."""
    k1: Annotated[Number, Field(ge=0)] = 1.2
    """Of bm25: how much further rows of a pair add; 0: nothing. Default 1.2."""
    b: Annotated[Number, Field(ge=0, le=1)] = 0.75
    """Of bm25: how much popular items are held down, 0 to 1. Default 0.75."""

    @model_validator(mode="after")
    def _no_idle_options(self) -> Self:
        if self.similarity != "bm25":
            for name in ("k1", "b"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"{name} is an option of similarity: bm25 alone; leave it out")
        return self

    def fit(self, train: Train) -> Fitted:
        """Returns the nearest neighbours of each item.

        Raises:
            DataError: no train rows.
            EngineError: the weights of a pair are infinite.
        """
        users, items = distinct(train.rows, c.USER_ID), distinct(train.rows, c.ITEM_ID)
        pairs = pair_weights(train.rows, users, items).astype(np.float64)
        if not np.isfinite(pairs.data).all():
            raise EngineError("weights of a pair add up to infinity: lower training.weight")
        nearest = _nearest(self._weighted(pairs), self.neighbours)
        return _Neighbours(users, items, pairs, nearest, seen_items(train.seen, items))

    def _weighted(self, pairs: csr_matrix) -> csr_matrix:
        """Returns what similarities are products of: users x items."""
        weighted = pairs.copy()
        if self.similarity != "cosine":
            # The terms are users, the documents items.
            own = np.diff(pairs.indptr)
            # One logarithm: two would leave a rounding error where it is 0.
            rarity = np.repeat(np.log(pairs.shape[1] / (1 + own)), own)
        if self.similarity == "bm25":
            of_item = np.bincount(pairs.indices, pairs.data, minlength=pairs.shape[1])
            length = 1 - self.b + self.b * of_item / of_item.mean()
            saturated = self.k1 * length[pairs.indices] + pairs.data
            weighted.data = pairs.data * (self.k1 + 1) / saturated * rarity
            return weighted
        if self.similarity == "tf-idf":
            weighted.data = np.sqrt(pairs.data) * rarity
        norms = np.sqrt(np.bincount(pairs.indices, weighted.data**2, minlength=pairs.shape[1]))
        # An item of users who have all but one item weighs nothing: no similarity, not NaN.
        weighted.data /= np.where(norms > 0, norms, 1)[pairs.indices]
        return weighted


def _nearest(weighted: csr_matrix, neighbours: int) -> csr_matrix:
    """Returns the similarities of each item to its nearest items: items x items, > 0.

    Args:
        weighted: users x items.
        neighbours: to keep of each item, itself among them; of equals the first.
    """
    from scipy.sparse import csr_matrix

    of_items = weighted.T.tocsr()
    size = of_items.shape[0]
    data, indices, lengths = [], [], []
    for _, products in _products(of_items, weighted):
        listed, known, counts = _best_of_sparse(products, min(neighbours, size))
        real = np.arange(listed.shape[1]) < counts[:, None]
        data.append(known[real])
        indices.append(listed[real])
        lengths.append(counts)
    starts = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
    nearest = csr_matrix(
        (np.concatenate(data), np.concatenate(indices), starts), shape=(size, size)
    )
    nearest.sort_indices()
    return nearest


def _products(left: csr_matrix, right: csr_matrix) -> Iterator[tuple[slice, csr_matrix]]:
    """Yields left x right in parts of rows that are worked on at once."""
    costs = np.asarray(left.astype(bool).astype(np.int64) @ np.diff(right.indptr))
    steps = np.cumsum(np.minimum(costs, right.shape[1])) // _CHUNK
    for step in range(int(steps[-1]) + 1) if len(steps) else ():
        first, last = np.searchsorted(steps, (step, step + 1))
        if first < last:
            chunk = slice(int(first), int(last))
            yield chunk, left[chunk] @ right


def _best_of_sparse(products: csr_matrix, width: int) -> tuple[Ints, Floats, Ints]:
    """Returns the best entries above zero of each row, as `best` does."""
    data, starts = products.data, products.indptr
    keep = data > 0
    # Most entries are far from the best: what is left to be sorted is a row's best, with ties.
    for row in np.flatnonzero(np.diff(starts) > width):
        own = slice(starts[row], starts[row + 1])
        keep[own] &= data[own] >= np.partition(data[own], -width)[-width]
    rows = np.repeat(np.arange(products.shape[0]), np.diff(starts))[keep]
    shape = products.shape[0], width
    return best(rows, products.indices[keep].astype(np.int64), data[keep], shape)


@dataclass(frozen=True, slots=True)
class _Neighbours:
    users: pl.Series
    items: pl.Series
    pairs: csr_matrix
    nearest: csr_matrix
    seen: Seen

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the lists of the users that have a train row."""
        users = rowkeys.positions(queries[c.USER_ID], self.users)
        queries = queries.filter(pl.Series(users >= 0))
        width = min(k, len(self.items))
        parts = []
        for chunk, scores in _products(self.pairs[users[users >= 0]], self.nearest):
            own = queries[chunk]
            rows, seen, _ = self.seen.of(own[c.USER_ID])
            listed, known, lengths = _best_of_sparse(_without(scores, rows, seen), width)
            parts.append(ranked_lists(own[c.QUERY_ID], self.items, listed, known, lengths))
        if not parts:
            nothing = np.zeros((0, width))
            parts = [
                ranked_lists(
                    queries[c.QUERY_ID],
                    self.items,
                    nothing.astype(np.int64),
                    nothing,
                    np.zeros(0, np.int64),
                )
            ]
        return pl.concat(parts)

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the scores of pairs: 0 without evidence, null without a train row."""
        users = rowkeys.positions(pairs[c.USER_ID], self.users)
        items = rowkeys.positions(pairs[c.ITEM_ID], self.items)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        scores = np.full(len(users), np.nan)
        asked, rows = np.unique(users[known], return_inverse=True)
        order = np.argsort(rows, kind="stable")
        known, rows = known[order], rows[order]
        for chunk, products in _products(self.pairs[asked], self.nearest):
            mine = slice(*np.searchsorted(rows, (chunk.start, chunk.stop)))
            at = rows[mine] - chunk.start, items[known[mine]]
            scores[known[mine]] = np.asarray(products[at]).ravel()
        return pl.Series(c.SCORE, scores, nan_to_null=True)


def _without(scores: csr_matrix, rows: Ints, items: Positions) -> csr_matrix:
    """Returns the scores with zeros at seen items; `rows` and `items` are theirs, ascending."""
    size = scores.shape[1]
    seen = rows * size + items
    own = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr)) * size + scores.indices
    at = np.minimum(np.searchsorted(seen, own), max(len(seen) - 1, 0))
    if len(seen):
        scores.data[seen[at] == own] = 0
    return scores
