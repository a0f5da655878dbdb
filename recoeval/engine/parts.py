"""The truth as a whole and by parts: gains from some size on, labels of pairs.

A part is averaged over the queries where it is not empty, which depends on the truth alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from recoeval.columns import GAIN, ITEM_ID, LABEL, QUERY_ID, QUOTA
from recoeval.engine import kernel
from recoeval.engine.sums import sum_truth
from recoeval.metrics.base import Measure

__all__ = ["Part"]

PAIR = (QUERY_ID, ITEM_ID)


@dataclass(frozen=True, slots=True)
class Part:
    """The truth, whole or by the labels of its pairs, and what the measures read of it.

    Args:
        keys: query_id, after the label if there is one.
        labels: query_id, item_id, label; None for the whole truth.
        measures: what is computed over it, by the smallest gain that counts (None: all).
        truth_sums: `sum_truth` for each of them.
    """

    keys: tuple[str, ...]
    labels: pl.DataFrame | None
    measures: Mapping[float | None, tuple[Measure, ...]]
    truth_sums: Mapping[float | None, pl.DataFrame]

    @classmethod
    def of(
        cls,
        truth: pl.LazyFrame,
        measures: Sequence[Measure],
        *,
        labels: pl.DataFrame | None = None,
        queries: pl.LazyFrame,
    ) -> Part:
        """Returns the truth with its sums.

        Args:
            truth: query_id, item_id, gain; distinct pairs.
            measures: what is asked for.
            labels: query_id, item_id, label; a pair may have several. Pairs without one are in
                no part. None: the whole truth.
            queries: query_id, quota if a measure is cut there.
        """
        keys = (QUERY_ID,) if labels is None else (LABEL, QUERY_ID)
        if QUOTA in queries.collect_schema():
            truth = truth.join(queries.select(QUERY_ID, QUOTA), on=QUERY_ID)
        grouped: dict[float | None, tuple[Measure, ...]] = {None: ()}
        for measure in measures:
            if labels is None or measure.metric.kind == "accuracy":
                grouped[measure.rel] = (*grouped.get(measure.rel, ()), measure)
        pairs = _labelled(truth, labels)
        sums = {
            rel: sum_truth(_from(pairs, rel), own, keys=keys).collect()
            for rel, own in grouped.items()
        }
        return cls(keys, labels, grouped, sums)

    def score(
        self,
        lists: pl.LazyFrame,
        hits: pl.LazyFrame,
        lost: pl.LazyFrame,
        without_relevant: Literal["zero", "one"] = "zero",
    ) -> pl.DataFrame:
        """Returns PER_QUERY: for the whole truth of every query, else by label.

        Args:
            lists: result of `kernel.join_lists`.
            hits: result of `kernel.find_hits`.
            lost: result of `kernel.find_lost`.
            without_relevant: value of queries without relevant items.

        Returns:
            See `kernel.score_queries`. A measure with a smallest gain is null where no relevant
            item has it; the numerator and denominator of its micro average stand beside it.
        """
        found, gone = _labelled(hits, self.labels), _labelled(lost, self.labels)
        rows = self._score(None, lists, found, gone, without_relevant)
        for rel in self.measures:
            if rel is not None:
                part = self._score(rel, lists, _from(found, rel), _from(gone, rel), "zero")
                rows = _joined(rows, part, self.measures[rel], self.keys)
        return rows.collect()

    def _score(
        self,
        rel: float | None,
        lists: pl.LazyFrame,
        hits: pl.LazyFrame,
        lost: pl.LazyFrame,
        without_relevant: Literal["zero", "one"],
    ) -> pl.LazyFrame:
        return kernel.score_queries(
            lists,
            self.truth_sums[rel].lazy(),
            hits,
            lost,
            measures=self.measures[rel],
            keys=self.keys,
            everyone=rel is None and self.labels is None,
            without_relevant=without_relevant,
        )


def _labelled(pairs: pl.LazyFrame, labels: pl.DataFrame | None) -> pl.LazyFrame:
    """Returns the pairs once for each of their labels."""
    if labels is None:
        return pairs
    return pairs.join(labels.lazy().select(*PAIR, LABEL), on=PAIR)


def _from(pairs: pl.LazyFrame, rel: float | None) -> pl.LazyFrame:
    """Returns the pairs whose gain counts."""
    return pairs if rel is None else pairs.filter(pl.col(GAIN) >= rel)


def _joined(
    rows: pl.LazyFrame, part: pl.LazyFrame, measures: Iterable[Measure], keys: Sequence[str]
) -> pl.LazyFrame:
    """Returns the rows with the values of the measures, and what their micro averages read."""
    columns = []
    ratios = {}
    for measure in measures:
        columns.append(pl.col(measure.label))
        ratio = measure.metric.pooled(measure.place)
        if ratio is not None:
            names = (f"above {measure.label}", f"below {measure.label}")
            ratios.update(dict.fromkeys(names, 0))
            columns += [expr.alias(name) for expr, name in zip(ratio, names, strict=True)]
    own = part.select(*keys, *columns)
    joined = rows.join(own, on=keys, how="left", maintain_order="left")
    return joined.with_columns(pl.col(name).fill_null(value) for name, value in ratios.items())
