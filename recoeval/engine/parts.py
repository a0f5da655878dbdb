"""The truth as a whole and by parts: gains from some size on, labels of pairs.

A part is averaged over the queries where it is not empty, which depends on the truth alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from recoeval.columns import (
    GAIN,
    ITEM_ID,
    LABEL,
    QUERY_ID,
    RELEVANT,
    RETURNED,
    USER_ID,
)
from recoeval.data.rowkeys import Ints
from recoeval.engine import kernel
from recoeval.engine.keys import Keys
from recoeval.engine.ordered import PLACE, places_of
from recoeval.engine.sums import sum_truth, terms_of
from recoeval.metrics.base import DELIVERED, Measure

__all__ = ["Part"]

KEYS_AT_ONCE = 50_000
"""Rows that are scored together: tables of one row a query are wide."""


@dataclass(frozen=True, slots=True)
class Part:
    """The truth, whole or by the labels of its pairs, and what the measures read of it.

    Args:
        keys: the queries, or the queries under each label.
        labels: query_id, item_id, label; None for the whole truth.
        gains: gain of each pair.
        measures: what is computed over it, by the smallest gain that counts (None: all).
        truth_sums: `sum_truth` for each of them, one row a key.
    """

    keys: Keys
    labels: pl.DataFrame | None
    gains: pl.Series
    measures: Mapping[float | None, tuple[Measure, ...]]
    truth_sums: Mapping[float | None, pl.DataFrame]

    @classmethod
    def of(
        cls,
        truth: pl.DataFrame,
        measures: Sequence[Measure],
        *,
        labels: pl.DataFrame | None = None,
        queries: pl.DataFrame,
    ) -> Part:
        """Returns the truth with its sums.

        Args:
            truth: query_id (number), gain; all pairs in order of their numbers.
            measures: what is asked for.
            labels: query_id, item_id (numbers), label; a pair may have several. Pairs without
                one are in no part. None: the whole truth.
            queries: one row a number; quota if a measure is cut there.
        """
        if labels is None:
            keys = Keys.of_queries(truth, queries.height)
        else:
            keys = Keys.of_labels(labels, truth.height)
        grouped: dict[float | None, tuple[Measure, ...]] = {None: ()}
        for measure in measures:
            if labels is None or measure.metric.kind == "accuracy":
                grouped[measure.rel] = (*grouped.get(measure.rel, ()), measure)
        rows = pl.DataFrame({PLACE: keys.rows, GAIN: keys.spread(truth[GAIN])})
        own = queries[keys.table[QUERY_ID]]
        sums = {rel: sum_truth(_from(rows, rel), each, own) for rel, each in grouped.items()}
        return cls(keys, labels, truth[GAIN], grouped, sums)

    def score(
        self,
        lists: pl.DataFrame,
        hits: pl.DataFrame,
        lost: pl.DataFrame,
        without_relevant: kernel.Empty = "zero",
        *,
        threads: int = 1,
    ) -> pl.DataFrame:
        """Returns PER_QUERY: for the whole truth of every query, else by label.

        Args:
            lists: result of `kernel.join_lists`.
            hits: item_id (number of the pair), rank, score; sorted by row of `lists` and rank.
            lost: item_id (number of the pair), cause.
            without_relevant: value of queries without relevant items.
            threads: blocks of rows that are worked on at a time.

        Returns:
            The label if there is one, and those columns of `kernel.score_queries` that are read
            later; in the order of `lists`, or by label and number of the query. A measure with
            a smallest gain is null where no relevant item has it; the numerator and denominator
            of its micro average stand beside it.
        """
        keys, rows = self._asked(lists[QUERY_ID].to_numpy())
        places = places_of(keys, self.keys.table.height)
        if not any(terms_of(own, "lost") for own in self.measures.values()):
            lost = lost.clear()
        hits, lost = self._placed(hits, places), self._placed(lost, places)

        def work(start: int) -> pl.DataFrame:
            end = start + KEYS_AT_ONCE
            found, gone = _between(hits, start, end), _between(lost, start, end)
            return self._block(
                keys[start:end], lists[rows[start:end]], found, gone, without_relevant
            )

        starts = range(0, max(len(keys), 1), KEYS_AT_ONCE)
        if len(starts) == 1:
            return work(0)
        with ThreadPoolExecutor(threads) as pool:
            return pl.concat(pool.map(work, starts))

    def _asked(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Returns the keys of queries, and where each of them stands among the queries."""
        if self.labels is None:
            return numbers, np.arange(len(numbers))
        queries = self.keys.table[QUERY_ID].to_numpy()
        rows = places_of(numbers, int(queries.max(initial=0)) + 1)[queries]
        keys = np.flatnonzero(rows >= 0)
        return keys, rows[keys]

    def _placed(self, pairs: pl.DataFrame, places: Ints) -> pl.DataFrame:
        """Returns pairs once for each of their keys with place and gain, sorted by place."""
        found, keys = self.keys.of_pairs(pairs)
        gains = self.gains.gather(found[ITEM_ID])
        found = found.with_columns(pl.Series(PLACE, places[keys]), gains)
        if found[PLACE].is_sorted():
            return found
        # Within a place they stay in their order.
        return found[np.argsort(found[PLACE], kind="stable")]

    def _block(
        self,
        keys: Ints,
        lists: pl.DataFrame,
        hits: pl.DataFrame,
        lost: pl.DataFrame,
        without_relevant: kernel.Empty,
    ) -> pl.DataFrame:
        """Returns the scores of some keys."""
        if self.labels is not None:
            lists = lists.with_columns(self.keys.table[LABEL].gather(keys))
        rows = lists
        for rel, measures in self.measures.items():
            scores = kernel.score_queries(
                lists,
                self.truth_sums[rel][keys],
                _from(hits, rel),
                _from(lost, rel),
                measures=measures,
                without_relevant=without_relevant if rel is None else "null",
            )
            rows = scores if rel is None else rows.hstack(scores.select(_restricted(measures)))
        kept = self._kept
        return rows.select(name for name in rows.columns if name in kept)

    @property
    def _kept(self) -> set[str]:
        """The columns of PER_QUERY, and what pooled averages read."""
        names = {LABEL, QUERY_ID, USER_ID, RELEVANT, RETURNED, DELIVERED}
        for measure in (each for own in self.measures.values() for each in own):
            sides = measure.pooled() or ()
            names |= {measure.label, *(name for side in sides for name in side.meta.root_names())}
        return names


def _from(pairs: pl.DataFrame, rel: float | None) -> pl.DataFrame:
    """Returns the pairs whose gain counts."""
    return pairs if rel is None else pairs.filter(pl.col(GAIN) >= rel)


def _between(pairs: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    """Returns the pairs of places from `start` up to `end`, which become places from 0."""
    first, last = np.searchsorted(pairs[PLACE].to_numpy(), [start, end])
    return pairs[first:last].with_columns(pl.col(PLACE) - start)


def _restricted(measures: Iterable[Measure]) -> list[pl.Expr]:
    """Returns the values of measures with a smallest gain, and what their micro averages read."""
    columns = []
    for measure in measures:
        columns.append(pl.col(measure.label))
        sides = measure.metric.pooled(measure.place)
        if sides is not None:
            for name, side in zip(("above", "below"), sides, strict=True):
                known = pl.when(pl.col(RELEVANT) > 0).then(side).otherwise(0)
                columns.append(known.alias(f"{name} {measure.label}"))
    return columns
