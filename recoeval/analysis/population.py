"""Who is counted where relevant pairs are told by number: queries, their users, and buckets.

A bucket of queries counts the queries that are in it and have a relevant pair. A part of the
truth counts those that have a relevant pair in it, and only such pairs are theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.analysis.groups import Groups
from recoeval.analysis.loss import Codes, Split
from recoeval.analysis.summary import ALL
from recoeval.columns import QUERY_ID, USER_ID
from recoeval.data.rowkeys import Ints
from recoeval.engine.numbering import Numbering

__all__ = ["Part", "Population", "Sums"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Part:
    """What one bucket counts.

    Args:
        bucket_by: name of the bucket.
        bucket: its label.
        queries: numbers of the counted queries, ascending.
        sizes: relevant pairs of each, >= 1.
        users: for each its user's place among the users of the part.
        user_count: how many users the part has.
        pairs: whether a relevant pair belongs to it, by number of the pair; None: all those of
            its queries do.
    """

    bucket_by: str
    bucket: str
    queries: Ints
    sizes: Ints
    users: Ints
    user_count: int
    pairs: Bools | None

    def mean(self, values: NDArray[Any]) -> float | None:
        """Returns the mean within a user's queries, then over users; None without queries.

        Args:
            values: one a query, in the order of `queries`.
        """
        if not len(values):
            return None
        # The sums go by user id and query id: no order of the input changes a bit.
        if self.user_count == len(values):
            ordered = np.empty(len(values))
            ordered[self.users] = values
            return float(ordered.mean())
        totals = np.bincount(self.users, values, self.user_count)
        return float((totals / np.bincount(self.users, minlength=self.user_count)).mean())

    def slots(self, returned: Ints, k: int) -> int | None:
        """Returns the sum of min(returned, K); None for a part of the truth, as lists have none.

        Args:
            returned: length of the prepared list by query number.
            k: depth, items, >= 1.
        """
        if self.pairs is not None:
            return None
        return int(np.minimum(returned[self.queries], k).sum())

    def within(self, chosen: Bools) -> Part:
        """Returns the part with some of its queries alone.

        Args:
            chosen: one a query, in the order of `queries`.
        """
        users, count = _places(self.users[chosen])
        own = (self.queries[chosen], self.sizes[chosen], users, count)
        return Part(self.bucket_by, self.bucket, *own, self.pairs)


@dataclass(frozen=True)
class Population:
    """The evaluated queries, and the buckets that they and their relevant pairs are in.

    Args:
        numbering: the numbers of queries (with user_id) and of relevant pairs.
        of_queries: labels of the queries by number, for each bucket of queries.
        of_pairs: labels of relevant pairs, for each split of the truth.
    """

    numbering: Numbering
    of_queries: Mapping[str, Split]
    of_pairs: Mapping[str, Split]

    @classmethod
    def of(cls, numbering: Numbering, groups: Groups, splits: Mapping[str, Split]) -> Population:
        """Returns the population of an evaluator.

        Args:
            numbering: of its scorer.
            groups: the buckets of queries.
            splits: those of the evaluator; buckets of queries among them are not read.
        """
        numbers = numbering.numbers(groups.queries[QUERY_ID])
        of_queries = {}
        for name, labels in groups.buckets.labels.items():
            own = Split.of(labels, groups.order[name])
            codes = np.full(numbering.queries.height, len(own.labels), own.codes.dtype)
            codes[numbers] = own.codes
            of_queries[name] = Split(own.labels, codes)
        of_pairs = {name: each for name, each in splits.items() if name not in of_queries}
        return cls(numbering, of_queries, of_pairs)

    @cached_property
    def sizes(self) -> Ints:
        """|R| by query number."""
        return np.diff(self.numbering.index.starts)

    @cached_property
    def query_of(self) -> NDArray[np.uint32]:
        """Number of the query by number of the pair."""
        return self.numbering.pairs[QUERY_ID].to_numpy()

    @cached_property
    def users(self) -> Ints:
        """Place of each query's user among all users by id, by query number."""
        return self.numbering.queries[USER_ID].rank("dense").to_numpy().astype(np.int64) - 1

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Overall, then each label of each split in order, with queries or not."""
        parts = [self._part(ALL, ALL, self.sizes)]
        for name, split in self.of_queries.items():
            for code, label in enumerate(split.labels):
                parts.append(self._part(name, label, self.sizes * (split.codes == code)))
        for name, split in self.of_pairs.items():
            for code, label in enumerate(split.labels):
                own = np.zeros(len(self.query_of), np.bool_)
                rows = split.codes == code
                own[rows if split.pairs is None else split.pairs.to_numpy()[rows]] = True
                sizes = np.bincount(self.query_of[own], minlength=len(self.sizes))
                parts.append(self._part(name, label, sizes, own))
        return tuple(parts)

    @property
    def buckets(self) -> Mapping[str, tuple[tuple[str, ...], Codes]]:
        """Labels, and their places by query number, overall and of each bucket of queries."""
        whole = Split((ALL,), np.zeros(len(self.sizes), np.uint8))
        named = {ALL: whole, **self.of_queries}
        return {name: (split.labels, split.codes) for name, split in named.items()}

    def _part(self, name: str, label: str, sizes: Ints, pairs: Bools | None = None) -> Part:
        queries = np.flatnonzero(sizes)
        users, count = _places(self.users[queries])
        return Part(name, label, queries, sizes[queries], users, count, pairs)

    def sums(self, pairs: NDArray[Any], weights: Floats | None = None) -> Sums:
        """Returns how many of some relevant pairs each query has, or the sum of their weights.

        Args:
            pairs: distinct numbers of pairs, in any order.
            weights: of the pairs; None: each counts 1.
        """
        order = np.argsort(pairs, kind="stable")
        return Sums(self, pairs[order], None if weights is None else weights[order])

    def by_query(self, rows: pl.DataFrame, column: str) -> Ints:
        """Returns a column of integers by query number, 0 where no row is.

        Args:
            rows: query_id, distinct, and the column; those of other queries are not read.
            column: which one.
        """
        numbers = self.numbering.numbers(rows[QUERY_ID])
        values = np.zeros(len(self.sizes), np.int64)
        values[numbers[numbers >= 0]] = rows[column].to_numpy()[numbers >= 0]
        return values


class Sums:
    """Relevant pairs added up by query, for any part.

    Args:
        population: whose numbers they are.
        pairs: distinct numbers of pairs, ascending.
        weights: of the pairs; None: each counts 1.
    """

    def __init__(self, population: Population, pairs: NDArray[Any], weights: Floats | None) -> None:
        self._population, self._pairs, self._weights = population, pairs, weights
        self._whole = self._sum(None)

    def of(self, part: Part) -> NDArray[Any]:
        """Returns the sums of the queries of a part, in their order; integers without weights."""
        whole = self._whole if part.pairs is None else self._sum(part.pairs[self._pairs])
        return whole[part.queries]

    def recall(self, part: Part) -> float | None:
        """Returns the macro mean of the sums over |R|."""
        return part.mean(self.of(part) / part.sizes)

    def _sum(self, own: Bools | None) -> NDArray[Any]:
        pairs, weights = self._pairs, self._weights
        if own is not None:
            pairs, weights = pairs[own], None if weights is None else weights[own]
        queries = self._population.query_of[pairs]
        return np.bincount(queries, weights, len(self._population.sizes))


def _places(users: Ints) -> tuple[Ints, int]:
    """Returns the place of each user among those that occur, and how many these are."""
    if not len(users):
        return users, 0
    known = np.zeros(int(users.max()) + 1, np.int64)
    known[users] = 1
    places = np.cumsum(known)
    return places[users] - 1, int(places[-1])
