"""Tables of metrics: generators x metrics, overall and by bucket; quality of the lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from recoeval.analysis.summary import ALL, FEW_NON_ZERO, FEW_USERS
from recoeval.analysis.verdict import Verdict
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CI_HIGH,
    CI_LOW,
    GENERATOR,
    METRIC,
    QUERIES,
    STATISTIC,
    TOO_FEW_USERS,
    USERS,
    VALUE,
)
from recoeval.metrics import Measure
from recoeval.report.values import MARK, Cell, Column, Count, Group, Interval, Rate, Row, Table

__all__ = [
    "FEW_NOTE",
    "bucket_tables",
    "is_marked",
    "leading_measure",
    "list_quality",
    "metric_table",
    "shown_ends",
    "size_of",
    "value_of",
]

FEW_NOTE: Final = (
    f"{MARK}  too few users: fewer than {FEW_USERS}, or fewer than {FEW_NON_ZERO} with a value "
    "other than 0"
)

_COUNTS: Final = frozenset({"hits"})
"""Metrics whose values may exceed 1."""


def leading_measure(measures: Sequence[Measure], verdict: Verdict) -> Measure | None:
    """Returns the measure that is shown with its interval.

    It is the first one that a constraint names, else the first metric at its largest K; None
    where nothing is averaged over users.
    """
    averaged = {measure.label: measure for measure in _averaged(measures)}
    for check in verdict.checks:
        if check.metric in averaged:
            return averaged[check.metric]
    if not averaged:
        return None
    name = next(iter(averaged.values())).metric.name
    same = [measure for measure in averaged.values() if measure.metric.name == name]
    return max(same, key=lambda measure: measure.depth)


def _averaged(measures: Iterable[Measure]) -> list[Measure]:
    return [measure for measure in measures if measure.metric.statistic == "macro"]


def metric_table(summary: pl.DataFrame, measures: Sequence[Measure], lead: Measure) -> Table:
    """Returns generators x metrics over all evaluated users.

    Args:
        summary: SUMMARY.
        measures: what was computed, in order.
        lead: the measure that comes first, with its interval.
    """
    others = [measure for measure in _averaged(measures) if measure != lead]
    overall = summary.filter(pl.col(BUCKET_BY) == ALL)
    rows: list[Row] = []
    for own in overall.partition_by(GENERATOR, maintain_order=True):
        name = str(own[GENERATOR][0])
        by_user = _cells(own, "macro", lead, others)
        rows.append((name, *by_user))
        by_query = _cells(own, "macro_query", lead, others)
        if _differ(by_query, by_user):
            rows.append((f"{name}, by query", *by_query))
    users, queries = overall.select(pl.col(USERS, QUERIES).max()).row(0)
    few = users < FEW_USERS
    title = f"Metrics, means over {users:,} users" + (MARK if few else "")
    if users != queries:
        title += f" with {queries:,} queries"
    keys = (Column("generator", key=True, right=False),)
    return _table(title, keys, rows, lead, others, few=few)


def _differ(by_query: Sequence[Cell], by_user: Sequence[Cell]) -> bool:
    """Returns whether means over queries exist and are not those over users."""
    pairs = zip(by_query, by_user, strict=True)
    return any(
        isinstance(one, Rate) and one.value is not None and one != other for one, other in pairs
    )


def bucket_tables(
    summary: pl.DataFrame, measures: Sequence[Measure], lead: Measure, verdict: Verdict
) -> list[Table]:
    """Returns one table a bucket name: generators x buckets with users and metrics.

    Args:
        summary: SUMMARY.
        measures: what was computed, in order.
        lead: the measure that comes first, with its interval.
        verdict: the K of its constraints are shown; else each metric's largest K.
    """
    others = _at_constrained_depths(measures, lead, verdict)
    keys = (
        Column("generator", key=True, right=False),
        Column("bucket", key=True, right=False),
        Column("users", key=True),
    )
    tables = []
    for name in summary[BUCKET_BY].unique(maintain_order=True):
        if name == ALL:
            continue
        rows: list[Row] = []
        part = summary.filter(pl.col(BUCKET_BY) == name)
        for own in part.partition_by(GENERATOR, BUCKET, maintain_order=True):
            generator, bucket, users = own.select(GENERATOR, BUCKET, USERS).row(0)
            rows.append((generator, bucket, size_of(users), *_cells(own, "macro", lead, others)))
        tables.append(_table(f"Metrics by {name}", keys, rows, lead, others))
    return tables


def _at_constrained_depths(
    measures: Sequence[Measure], lead: Measure, verdict: Verdict
) -> list[Measure]:
    """Returns each metric at the K of the constraints, or at its largest K where it has none."""
    constrained = {check.metric for check in verdict.checks}
    depths = {measure.k for measure in measures if measure.label in constrained} or {lead.k}
    by_name: dict[str, list[Measure]] = {}
    for measure in _averaged(measures):
        by_name.setdefault(measure.metric.name, []).append(measure)
    chosen: list[Measure] = []
    for same in by_name.values():
        at_depths = [measure for measure in same if measure.k in depths]
        chosen += at_depths or [max(same, key=lambda measure: measure.depth)]
    return [measure for measure in chosen if measure != lead]


def list_quality(summary: pl.DataFrame, measures: Sequence[Measure]) -> Table | None:
    """Returns generators x list-quality metrics, None if none was asked for.

    Args:
        summary: SUMMARY.
        measures: what was computed, in order.
    """
    asked = [measure for measure in measures if measure.metric.statistic == "micro"]
    if not asked:
        return None
    overall = summary.filter(pl.col(BUCKET_BY) == ALL)
    rows: list[Row] = []
    for own in overall.partition_by(GENERATOR, maintain_order=True):
        found = _by_label(own, "micro")
        # Without the mark: it is about intervals, and these have none.
        values = (Rate(found[measure.label][VALUE]) for measure in asked)
        rows.append((str(own[GENERATOR][0]), *values))
    columns = (Column("generator", key=True, right=False), *(Column(m.label) for m in asked))
    notes = ["-  no value: no lists, or none with scores"] if _without_value(rows) else []
    title = "Quality of the lists as delivered"
    return Table(title, columns, (Group(None, tuple(rows)),), tuple(notes))


def _by_label(rows: pl.DataFrame, statistic: str) -> dict[str, dict[str, Any]]:
    found = rows.filter(pl.col(STATISTIC) == statistic)
    return {row[METRIC]: row for row in found.iter_rows(named=True)}


def _cells(
    rows: pl.DataFrame, statistic: str, lead: Measure, others: Sequence[Measure]
) -> tuple[Cell, ...]:
    """Returns the cells of one generator in one bucket: lead, its interval, the others."""
    found = _by_label(rows, statistic)
    ends = found.get(lead.label, {})
    return (
        value_of(ends.get(VALUE), ends),
        shown_ends(ends.get(CI_LOW), ends.get(CI_HIGH), lead),
        *(value_of(row.get(VALUE), row) for row in (found.get(m.label, {}) for m in others)),
    )


def shown_ends(low: float | None, high: float | None, measure: Measure | None) -> Interval | None:
    """Returns an interval as it is shown: within [0, 1] if the metric is; None without ends.

    Args:
        low: lower end, of a normal approximation that knows no limits.
        high: upper end.
        measure: what was measured; None if that is not known.
    """
    if low is None or high is None:
        return None
    if measure is None or measure.metric.title in _COUNTS:
        return Interval(low, high)
    return Interval(max(low, 0.0), min(high, 1.0))


def value_of(value: float | None, row: Mapping[str, Any]) -> Rate:
    """Returns a value; below 500 users the mark stands at their number, not at each value.

    Args:
        value: the number.
        row: its row of SUMMARY; empty if it has none.
    """
    return Rate(value, bool(row.get(TOO_FEW_USERS)) and row[USERS] >= FEW_USERS)


def size_of(users: int) -> Count:
    """Returns a number of users, marked where it is small."""
    return Count(users, few=users < FEW_USERS)


def is_marked(cell: Cell) -> bool:
    """Returns whether a cell bears the mark of too few users."""
    return isinstance(cell, Rate | Count) and cell.few


def _without_value(rows: Iterable[Row]) -> bool:
    return any(isinstance(cell, Rate) and cell.value is None for row in rows for cell in row)


def _table(
    title: str,
    keys: Sequence[Column],
    rows: Sequence[Row],
    lead: Measure,
    others: Sequence[Measure],
    *,
    few: bool = False,
) -> Table:
    columns = [*keys, Column(lead.label), Column("95% interval")]
    columns += [Column(measure.label) for measure in others]
    marked = few or any(is_marked(cell) for row in rows for cell in row)
    notes = [FEW_NOTE] if marked else []
    if _without_value(rows):
        notes.append("-  no value: no users")
    elif any(cell is None for row in rows for cell in row):
        notes.append("-  no interval: one user, or a mean over queries")
    return Table(title, tuple(columns), (Group(None, tuple(rows)),), tuple(notes))
