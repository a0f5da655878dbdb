"""EASE: a linear autoencoder of items, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from recoeval import columns as c
from recoeval.component import Number
from recoeval.data import rowkeys
from recoeval.errors import EngineError
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import (
    Ints,
    Seen,
    best,
    distinct,
    pair_weights,
    ranked_lists,
    seen_items,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["EASE"]

Floats = NDArray[np.float64]

_CHUNK: Final = 1 << 22  # numbers held at once
_MEMINFO: Final = Path("/proc/meminfo")
_CGROUP: Final = Path("/sys/fs/cgroup")
_CONTAINER: Final = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)
"""Limit, use and details of a container's memory, in both versions of cgroups."""


class EASE(Generator):
    """Embarrassingly shallow autoencoder: each item predicted from all others, in closed form.

    A pair is there or not: weights are ignored. The score of an item is the sum of what each item
    of the user says for it, and may be negative. Users without a train row get no list.

    One dense matrix of items x items in float64 is held: 0.75 GiB for 10,000 items, 3 GiB for
    20,000. What does not fit into the free memory is refused before it is made.

    The same lists, bit by bit, whatever the order of the rows and the block of queries. The number
    of threads may change the last bits. Nothing is random.

    Source: Steck (2019), Embarrassingly shallow autoencoders for sparse data, equation 8.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["ease"] = "ease"
    l2: Annotated[Number, Field(gt=0)] = 500.0
    """Penalty on what items say for one another, lambda of the paper, added to the diagonal.
    Default 500; raise it for many users, lower it for few."""

    def fit(self, train: Train) -> Fitted:
        """Returns what each item says for each other one.

        Raises:
            DataError: no train rows.
            EngineError: the matrix does not fit into the free memory, or l2 is too small.
        """
        users, items = distinct(train.rows, c.USER_ID), distinct(train.rows, c.ITEM_ID)
        _refuse_too_many(len(items))
        pairs = pair_weights(train.rows, users, items).astype(np.float64)
        pairs.data[:] = 1
        weights = _item_weights(pairs, self.l2, train.threads)
        return _Linear(users, items, pairs, weights, seen_items(train.seen, items))


def _refuse_too_many(items: int) -> None:
    # One matrix of float64, and what it and the lists are made from: 144 MB measured.
    needed, free = 8 * items**2 + 40 * _CHUNK, _free_memory()
    if free is not None and needed > free:
        raise EngineError(
            f"ease holds a matrix of items x items: {items:,} items take "
            f"{needed / 2**30:.2f} GiB, and {free / 2**30:.2f} GiB are free. Leave rare items out "
            "with a rule in training.where, or take item_knn"
        )


def _free_memory() -> int | None:
    """Returns the bytes that can still be used, of the machine and its container; None: unknown."""
    free = []
    machine = _fields(_MEMINFO)
    if "MemAvailable:" in machine:
        free.append(1024 * machine["MemAvailable:"])
    for most, used, stat in _CONTAINER:
        # A container without a limit says "max", or has a limit that no machine reaches.
        limit = (_CGROUP / most).read_text().strip() if (_CGROUP / most).is_file() else "max"
        if limit.isdecimal():
            taken = int((_CGROUP / used).read_text())
            # Files that were read count as taken, and are dropped as soon as room is needed.
            cached = _fields(_CGROUP / stat).get("inactive_file", 0)
            free.append(max(0, int(limit) - taken + cached))
    return min(free, default=None)


def _fields(path: Path) -> dict[str, int]:
    """Returns the numbers of a file of lines "name number ..."; none where there is no file."""
    if not path.is_file():
        return {}
    lines = (line.split() for line in path.read_text().splitlines())
    return {line[0]: int(line[1]) for line in lines}


def _item_weights(pairs: csr_matrix, l2: float, threads: int) -> Floats:
    """Returns B of the paper, items x items, with zeros on the diagonal.

    One matrix is worked on in place: the Gram matrix, its Cholesky factor, its inverse, B.

    Args:
        pairs: users x items, ones.
        l2: added to the diagonal.
        threads: of LAPACK.
    """
    from scipy.linalg.lapack import dpotrf, dpotri
    from threadpoolctl import threadpool_limits

    size = pairs.shape[1]
    matrix = np.empty((size, size))
    of_items, step = pairs.T.tocsr(), max(1, _CHUNK // size)
    for start in range(0, size, step):
        matrix[start : start + step] = (of_items[start : start + step] @ pairs).toarray()
    matrix[np.diag_indices(size)] += l2
    with threadpool_limits(threads, "blas"):
        # The transpose of a symmetric matrix is itself, in the order that LAPACK takes in place.
        factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            inverse, failed = dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise EngineError(f"the matrix of ease has no inverse in float64 with l2={l2:g}: raise l2")
    weights: Floats = inverse.T
    for start in range(0, size, step):
        stop = start + step
        weights[stop:, start:stop] = weights[start:stop, stop:].T
        square = weights[start:stop, start:stop]
        square[:] = np.triu(square) + np.triu(square, 1).T
    diagonal = weights.diagonal().copy()
    for start in range(0, size, step):
        weights[start : start + step] /= -diagonal
    weights[np.diag_indices(size)] = 0
    return weights


@dataclass(frozen=True, slots=True)
class _Linear:
    users: pl.Series
    items: pl.Series
    pairs: csr_matrix
    weights: Floats
    seen: Seen

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the lists of the users that have a train row."""
        users = rowkeys.positions(queries[c.USER_ID], self.users)
        queries = queries.filter(pl.Series(users >= 0))
        users = users[users >= 0]
        width = min(k, len(self.items))
        rows, seen, counts = self.seen.of(queries[c.USER_ID])
        listed = np.zeros((len(users), width), np.int64)
        known = np.zeros((len(users), width))
        for chunk, scores in self._scores(users):
            first, last = np.searchsorted(rows, (chunk.start, chunk.stop))
            scores[rows[first:last] - chunk.start, seen[first:last]] = -np.inf
            listed[chunk], known[chunk], _ = _best_of_dense(scores, width)
        lengths = np.minimum(width, len(self.items) - counts)
        return ranked_lists(queries[c.QUERY_ID], self.items, listed, known, lengths)

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the scores of pairs, null for users and items without a train row."""
        users = rowkeys.positions(pairs[c.USER_ID], self.users)
        items = rowkeys.positions(pairs[c.ITEM_ID], self.items)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        asked, rows = np.unique(users[known], return_inverse=True)
        order = np.argsort(rows, kind="stable")
        known, rows = known[order], rows[order]
        found = np.full(len(users), np.nan)
        for chunk, scores in self._scores(asked):
            mine = slice(*np.searchsorted(rows, (chunk.start, chunk.stop)))
            found[known[mine]] = scores[rows[mine] - chunk.start, items[known[mine]]]
        return pl.Series(c.SCORE, found, nan_to_null=True)

    def _scores(self, users: Ints) -> Iterator[tuple[slice, Floats]]:
        """Yields the scores of all items, some users at a time; each sum by ascending item."""
        step = max(1, _CHUNK // len(self.items))
        for start in range(0, len(users), step):
            chunk = slice(start, min(start + step, len(users)))
            yield chunk, self.pairs[users[chunk]] @ self.weights


def _best_of_dense(scores: Floats, width: int) -> tuple[Ints, Floats, Ints]:
    """Returns the best entries of each row, as `best` does; -inf is none."""
    keep = scores > -np.inf
    if width < scores.shape[1]:
        bounds = np.partition(scores, -width, axis=1)[:, -width]
        keep &= scores >= bounds[:, None]
    rows, positions = np.nonzero(keep)
    return best(rows, positions, scores[keep], (len(scores), width))
