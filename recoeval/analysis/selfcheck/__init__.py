"""Self-check: whether the engine's numbers keep the laws of the definitions, on this very data.

The cheap part runs with every evaluation. The deep part scores lists that it makes itself.
A finding is always severe: numbers that break a law decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from recoeval.analysis.audit.view import number
from recoeval.analysis.findings import Finding
from recoeval.analysis.results import Evaluation, by_generator
from recoeval.analysis.selfcheck.idealvalues import ideal_value
from recoeval.analysis.selfcheck.pairs import find_unlike_truth
from recoeval.analysis.selfcheck.probes import chosen, find_random_scores, find_unstable_scores
from recoeval.columns import (
    FOLD,
    GAIN,
    GENERATOR,
    ITEM_ID,
    METRIC,
    NAME,
    QUERY_ID,
    QUOTA,
    RANK,
    RELEVANT,
    SCORE,
    VALUE,
)
from recoeval.data.ordering import starts_of
from recoeval.engine.local import Scorer
from recoeval.errors import some
from recoeval.metrics.base import Measure

__all__ = ["SelfCheck", "self_check"]

SAMPLE: Final = 2_000
"""Queries whose truth is scored as its own list: a broken law breaks on far fewer."""
CLOSE: Final = 1e-9
"""Far above rounding, far below any difference that somebody would act on."""
HIGH_SCORE: Final = 1e300
"""Above every min_score."""
LAWS: Final = ("wrong_ideal_value", "random_is_not_random", "unstable_results")
"""Codes of the laws that are tried with lists made here."""
LAWS_OF_TABLES: Final = ("value_out_of_range", "value_falls_with_k", "loss_does_not_add_up")
"""Codes of the laws that result tables keep."""
UNBOUNDED: Final = ("hits", "entropy", "novelty", "mean_popularity")
"""Metrics that are at least 0."""
SHARES: Final = (
    *("precision", "recall", "capped_recall", "f1", "hit_rate", "r_precision", "recall_ceiling"),
    *("mrr", "map", "auprc", "ndcg", "coverage", "list_fill", "duplicate_share", "seen_share"),
    *("unknown_item_share", "tie_share", "judged", "item_coverage", "gini"),
)
"""Metrics that are in [0, 1]. Those of others may be anything but NaN and infinite."""
RISING: Final = ("hits", "recall", "hit_rate")
"""Metrics that never fall with K."""


def self_check(
    scorer: Scorer,
    evaluation: Evaluation | None,
    *,
    deep: bool = False,
    seed: int = 7,
    fold: int = 0,
) -> tuple[Finding, ...]:
    """Returns a severe finding for each law that the engine's numbers break.

    Args:
        scorer: the engine with its truth.
        evaluation: result tables of this fold; None where nothing was evaluated.
        deep: whether to score random, permuted and cut lists too.
        seed: of everything random.
        fold: number of the fold.
    """
    found = list(_broken_ideal(scorer, seed))
    if evaluation is not None:
        found += _broken_values(evaluation)
    if deep:
        found += find_random_scores(scorer, seed)
        found += find_unstable_scores(scorer, seed)
    return tuple(
        Finding("severe", code, text, {"cases": cases}, generator, fold)
        for code, text, cases, generator in found
    )


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """How much was tried, and what came of it.

    Args:
        laws: how many were tried; those of result tables need lists.
        broken: how many of them do not hold.
        queries: whose truth was scored as its own list, over all folds.
        measures: what was computed.
    """

    laws: int
    broken: int
    queries: int
    measures: int

    @classmethod
    def of(
        cls,
        findings: Iterable[Finding],
        *,
        queries: Iterable[int],
        measures: int,
        listed: bool,
    ) -> SelfCheck:
        """Returns what a deep self-check did.

        Args:
            findings: all that were found, others too.
            queries: of each fold those with relevant items.
            measures: how many were computed.
            listed: whether there were result tables to look at.
        """
        broken = {each.code for each in findings} & {*LAWS, *LAWS_OF_TABLES}
        return cls(
            laws=len(LAWS) + len(LAWS_OF_TABLES) * listed,
            broken=len(broken),
            queries=sum(min(size, SAMPLE) for size in queries),
            measures=measures,
        )


Broken = tuple[str, str, int, str | None]
"""Code, sentence, how many cases, generator."""


def _broken_ideal(scorer: Scorer, seed: int) -> Iterator[Broken]:
    """Yields the measures that R itself as the list does not give the value of the law."""
    ids = scorer.truth[QUERY_ID]
    sample = chosen(ids.gather(starts_of(ids)), SAMPLE, seed)
    queries = scorer.queries.filter(pl.col(QUERY_ID).is_in(sample.implode()))
    truth = scorer.truth.filter(pl.col(QUERY_ID).is_in(sample.implode()))
    ordered = truth.sort(QUERY_ID, GAIN, ITEM_ID, descending=[False, True, False])
    lists = ordered.select(
        QUERY_ID,
        ITEM_ID,
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(QUERY_ID).alias(RANK),
        pl.lit(HIGH_SCORE).alias(SCORE),
    )
    values = scorer.score(lists.lazy(), queries).per_query.sort(QUERY_ID)
    gains = ordered.group_by(QUERY_ID, maintain_order=True).agg(GAIN)[GAIN].to_list()
    by_query = queries.sort(QUERY_ID)
    quotas = by_query[QUOTA].to_list() if QUOTA in by_query.columns else [None] * len(gains)
    for measure in scorer.measures:
        if measure.metric.kind != "accuracy":
            continue
        expected = [
            ideal_value(measure, of_query, quota)
            for of_query, quota in zip(gains, quotas, strict=True)
        ]
        wrong = [
            (query, value, due)
            for query, value, due in zip(
                values[QUERY_ID], values[measure.label], expected, strict=True
            )
            if due is not None and (value is None or not abs(value - due) <= CLOSE * max(1.0, due))
        ]
        if wrong:
            query, value, due = wrong[0]
            text = (
                f"{measure.label} of the truth as its own list is wrong for "
                f"{number(len(wrong), 'query', 'queries')} of {len(gains):,}: for query {query!r} "
                f"it is {value!r}, not {due!r}"
            )
            yield "wrong_ideal_value", text, len(wrong), None


def _broken_values(evaluation: Evaluation) -> Iterator[Broken]:
    """Yields what is out of range, falls with K, or does not add up in the result tables."""
    for generator, rows in by_generator(evaluation.per_query):
        for measure in evaluation.measures:
            if measure.metric.kind == "accuracy":
                yield from _out_of_range(rows, measure, generator)
        yield from _falling(rows, evaluation, generator)
        yield from _not_adding_up(rows, evaluation, generator)
    yield from _summary_out_of_range(evaluation)


def _possible(value: pl.Expr, title: pl.Expr) -> pl.Expr:
    """Returns whether the values of metrics are possible, by their names."""
    at_least_0 = ~title.is_in((*SHARES, *UNBOUNDED)) | (value >= -CLOSE)
    at_most_1 = ~title.is_in(SHARES) | (value <= 1 + CLOSE)
    return value.is_finite() & at_least_0 & at_most_1


def _out_of_range(rows: pl.DataFrame, measure: Measure, generator: str) -> Iterator[Broken]:
    label, title = measure.label, measure.metric.title
    value = pl.col(label)
    # A null is a query that the metric leaves out.
    fine = value.is_null() | _possible(value, pl.lit(title))
    if title == "hits":
        fine &= value <= pl.col(RELEVANT)
    wrong = rows.filter(~fine)
    if wrong.height:
        text = (
            f"{label} is out of range for {number(wrong.height, 'query', 'queries')}, "
            f"e.g. {some(wrong.sort(QUERY_ID)[label])}"
        )
        yield "value_out_of_range", text, wrong.height, generator


def _falling(rows: pl.DataFrame, evaluation: Evaluation, generator: str) -> Iterator[Broken]:
    last: dict[str, str] = {}
    cut = [each for each in evaluation.measures if each.k is not None]
    for measure in sorted(cut, key=lambda each: each.depth):
        if measure.metric.title not in RISING:
            continue
        before = last.get(measure.metric.name)
        last[measure.metric.name] = measure.label
        if before is None:
            continue
        fallen = rows.filter(pl.col(measure.label) < pl.col(before) - CLOSE).height
        if fallen:
            text = (
                f"{measure.label} is below {before} for {number(fallen, 'query', 'queries')}, "
                "though it counts the same items and more"
            )
            yield "value_falls_with_k", text, fallen, generator


def _not_adding_up(rows: pl.DataFrame, evaluation: Evaluation, generator: str) -> Iterator[Broken]:
    """Yields whether hits and lost pairs are not exactly the truth."""
    if GENERATOR not in evaluation.lost_pairs.collect_schema():
        return
    # Of one generator at a time, and no more than is looked at: most pairs are lost.
    found, lost = (
        table.filter(pl.col(GENERATOR) == generator).select(FOLD, QUERY_ID, ITEM_ID).collect()
        for table in (evaluation.hits.lazy(), evaluation.lost_pairs)
    )
    queries = rows.select(FOLD, QUERY_ID, RELEVANT)
    wrong = find_unlike_truth(queries, pl.concat([found, lost], rechunk=True))
    if len(wrong):
        text = (
            f"hits and lost pairs are not the truth for {number(len(wrong), 'query', 'queries')},"
            f" e.g. {some(wrong.sort())}"
        )
        yield "loss_does_not_add_up", text, len(wrong), generator


def _summary_out_of_range(evaluation: Evaluation) -> Iterator[Broken]:
    value, title = pl.col(VALUE), pl.col(NAME).str.extract(r"^(\w+)")
    wrong = evaluation.summary.filter(value.is_not_null() & ~_possible(value, title))
    for (name, label), rows in wrong.group_by([GENERATOR, METRIC], maintain_order=True):
        text = f"{label} is out of range in the summary, e.g. {some(rows[VALUE])}"
        yield "value_out_of_range", text, rows.height, str(name)
