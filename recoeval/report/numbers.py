"""Tables of metrics: generators x metrics, overall and by bucket; lists and catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from recoeval.analysis.summary import ALL, FEW_NON_ZERO, FEW_USERS, SERVED
from recoeval.analysis.verdict import Verdict
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CI_HIGH,
    CI_LOW,
    COLDNESS,
    GENERATOR,
    METRIC,
    POSITIVES,
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
    "Shown",
    "all_shown",
    "bucket_tables",
    "catalogue_tables",
    "is_marked",
    "leading_measure",
    "list_quality",
    "metric_table",
    "names_of_users",
    "shown_ends",
    "size_of",
    "some_shown",
    "value_of",
]

FEW_NOTE: Final = (
    f"{MARK}  too few users: fewer than {FEW_USERS}, or fewer than {FEW_NON_ZERO} with a value "
    "other than 0"
)

PART_NOTE: Final = "each over the users with such a relevant item: a user may stand in several rows"

_TITLES: Final[Mapping[str, str]] = {
    COLDNESS: "Metrics on cold and warm pairs",
    POSITIVES: "Metrics by kind of positives",
    SERVED: "Metrics over the users with a list",
}
"""Of the buckets that are always there."""

FEW_METRICS: Final = 3
"""Metrics beside the leading one, where not all are shown."""

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


@dataclass(frozen=True, slots=True)
class Shown:
    """Which measures stand in a table.

    Args:
        lead: the first, with its interval.
        others: those behind it.
        interval: whether there is one; a mean over folds has none.
        left_out: how many more there are.
    """

    lead: Measure
    others: tuple[Measure, ...]
    interval: bool = True
    left_out: int = 0

    def columns(self) -> list[Column]:
        """Returns their headings."""
        ends = [Column("95% interval")] if self.interval else []
        return [Column(self.lead.label), *ends, *(Column(each.label) for each in self.others)]

    def cells(self, rows: pl.DataFrame, statistic: str = "macro") -> tuple[Cell, ...]:
        """Returns the values of one generator in one bucket: its rows of SUMMARY."""
        found = _by_label(rows, statistic)
        row = found.get(self.lead.label, {})
        ends = [shown_ends(row.get(CI_LOW), row.get(CI_HIGH), self.lead)] if self.interval else []
        others = (found.get(each.label, {}) for each in self.others)
        return value_of(row.get(VALUE), row), *ends, *(value_of(r.get(VALUE), r) for r in others)


def all_shown(measures: Sequence[Measure], lead: Measure, *, interval: bool = True) -> Shown:
    """Returns every measure that is averaged over users, the leading one first."""
    return Shown(lead, tuple(each for each in _averaged(measures) if each != lead), interval)


def some_shown(
    measures: Sequence[Measure], lead: Measure, verdict: Verdict, *, full: bool
) -> Shown:
    """Returns each metric at the K of the constraints, or at its largest K where it has none.

    Args:
        measures: what was computed, in order.
        lead: the measure that comes first.
        verdict: its constraints.
        full: all metrics; else the first few, those that are constrained before the others.
    """
    constrained = {check.metric for check in verdict.checks}
    depths = {measure.k for measure in measures if measure.label in constrained} or {lead.k}
    by_name: dict[str, list[Measure]] = {}
    for measure in _averaged(measures):
        by_name.setdefault(measure.metric.name, []).append(measure)
    chosen: list[Measure] = []
    for same in by_name.values():
        at_depths = [measure for measure in same if measure.k in depths]
        chosen += at_depths or [max(same, key=lambda measure: measure.depth)]
    others = [measure for measure in chosen if measure != lead]
    ranked = sorted(others, key=lambda measure: measure.label not in constrained)
    kept = others if full else [each for each in others if each in ranked[:FEW_METRICS]]
    return Shown(lead, tuple(kept), left_out=len(others) - len(kept))


def metric_table(summary: pl.DataFrame, shown: Shown, *, folds: int = 1) -> Table:
    """Returns generators x metrics over all evaluated users.

    Args:
        summary: SUMMARY of one fold, or means over folds in its form.
        shown: the measures of the table.
        folds: over how many the values are means.
    """
    overall = summary.filter(pl.col(BUCKET_BY) == ALL)
    rows: list[Row] = []
    for own in overall.partition_by(GENERATOR, maintain_order=True):
        name = str(own[GENERATOR][0])
        by_user = shown.cells(own)
        rows.append((name, *by_user))
        by_query = shown.cells(own, "macro_query")
        if _differ(by_query, by_user):
            rows.append((f"{name}, by query", *by_query))
    users, queries = overall.select(pl.col(USERS, QUERIES).max()).row(0)
    few = users < FEW_USERS and folds == 1
    title = f"Metrics, means over {users:,} users" + (MARK if few else "")
    if users != queries:
        title += f" with {queries:,} queries"
    if folds > 1:
        title = f"Metrics, means over {folds} folds"
    keys = (Column("generator", key=True, right=False),)
    table = _table(title, keys, rows, shown, few=few)
    return replace(table, notes=(*table.notes, *_narrower(overall, shown)))


def _narrower(overall: pl.DataFrame, shown: Shown) -> list[str]:
    """Returns for the metrics that look at a part of the truth over how many users they are."""
    users = dict(overall.filter(pl.col(STATISTIC) == "macro").select(METRIC, USERS).iter_rows())
    most = max(users.values(), default=0)
    fewer = {
        measure.metric.name: users[measure.label]
        for measure in (shown.lead, *shown.others)
        if users.get(measure.label, most) < most
    }
    return [f"{name}: over the {n:,} users with such a relevant item" for name, n in fewer.items()]


def _differ(by_query: Sequence[Cell], by_user: Sequence[Cell]) -> bool:
    """Returns whether means over queries exist and are not those over users."""
    pairs = zip(by_query, by_user, strict=True)
    return any(
        isinstance(one, Rate) and one.value is not None and one != other for one, other in pairs
    )


def bucket_tables(summary: pl.DataFrame, shown: Shown, *, full: bool) -> list[Table]:
    """Returns one table a bucket name: generators x buckets with users and metrics.

    Args:
        summary: SUMMARY of one fold, or means over folds in its form.
        shown: the measures of the tables.
        full: all of them also for those that nobody asked for; else the leading one.
    """
    averaged = summary.filter(pl.col(STATISTIC) == "macro", pl.col(BUCKET_BY) != ALL)
    users_split = names_of_users(summary)
    tables = []
    for part in averaged.partition_by(BUCKET_BY, maintain_order=True):
        name = part[BUCKET_BY][0]
        populated = part.filter(pl.col(USERS) > 0)[BUCKET].n_unique()
        if name in (COLDNESS, POSITIVES) and populated < 2:
            continue  # all pairs are alike: these are the overall numbers
        own = shown if full or name not in _TITLES else replace(shown, others=())
        tables.append(_bucket_table(part, own, of_users=name in users_split))
    return tables


def names_of_users(summary: pl.DataFrame) -> list[str]:
    """Returns the bucket names that put each evaluated query into one bucket.

    The others split the truth: a query counts in each part where it has relevant items.
    """
    sizes = (
        summary.filter(pl.col(STATISTIC) == "macro", pl.col(GENERATOR) == pl.col(GENERATOR).first())
        .group_by(BUCKET_BY, BUCKET, maintain_order=True)
        .agg(pl.col(QUERIES).max())
        .group_by(BUCKET_BY, maintain_order=True)
        .agg(pl.col(QUERIES).sum())
    )
    total = sizes.filter(pl.col(BUCKET_BY) == ALL)[QUERIES].sum()
    named = sizes.filter(pl.col(QUERIES) == total)[BUCKET_BY]
    return [name for name in named if name not in (ALL, *_TITLES)]


def _bucket_table(part: pl.DataFrame, shown: Shown, *, of_users: bool) -> Table:
    name = str(part[BUCKET_BY][0])
    several = not part[QUERIES].equals(part[USERS])
    rows: list[Row] = []
    for own in part.partition_by(GENERATOR, BUCKET, maintain_order=True):
        # Metrics that look at a part of the truth have fewer users than the others.
        users, queries = own.select(pl.col(USERS, QUERIES).max()).row(0)
        label = [] if name == SERVED else [own[BUCKET][0]]
        sizes: list[Cell] = [size_of(users), *([queries] if several else [])]
        rows.append((own[GENERATOR][0], *label, *sizes, *shown.cells(own)))
    keys = [Column("generator", key=True, right=False)]
    keys += [] if name == SERVED else [Column("bucket", key=True, right=False)]
    keys += [Column("users", key=True), *([Column("queries", key=True)] if several else [])]
    table = _table(_TITLES.get(name, f"Metrics by {name}"), keys, rows, shown)
    notes = list(table.notes)
    notes += [] if of_users or name == SERVED else [PART_NOTE]
    if shown.left_out and name not in _TITLES:
        notes.append(f"{shown.left_out} more metrics: -v shows them")
    return replace(table, notes=tuple(notes))


def list_quality(summary: pl.DataFrame, measures: Sequence[Measure]) -> Table | None:
    """Returns generators x list-quality metrics, None if none was asked for.

    Args:
        summary: SUMMARY of one fold, or means over folds in its form.
        measures: what was computed, in order.
    """
    asked = [measure for measure in measures if measure.metric.kind == "lists"]
    overall = summary.filter(pl.col(BUCKET_BY) == ALL)
    said = "-  no value: no lists, or none with scores"
    return _pooled_table("Quality of the lists as delivered", overall, asked, said)


def catalogue_tables(
    summary: pl.DataFrame, measures: Sequence[Measure], *, full: bool
) -> list[Table]:
    """Returns generators x catalogue metrics; none if none was asked for.

    Args:
        summary: SUMMARY of one fold, or means over folds in its form.
        measures: what was computed, in order.
        full: by bucket, too.
    """
    asked = [measure for measure in measures if measure.metric.kind == "catalogue"]
    rows = summary.filter(pl.col(METRIC).is_in([measure.label for measure in asked]))
    tables = []
    for part in rows.partition_by(BUCKET_BY, maintain_order=True):
        name = part[BUCKET_BY][0]
        if name != ALL and not full:
            continue
        title = "Items in the lists" + ("" if name == ALL else f" by {name}")
        tables.append(_pooled_table(title, part, asked, "-  no value: nothing is listed"))
    return [table for table in tables if table is not None]


def _pooled_table(
    title: str, part: pl.DataFrame, asked: Sequence[Measure], without_value: str
) -> Table | None:
    """Returns generators, and buckets where there are several, x metrics without intervals."""
    if not asked or part.is_empty():
        return None
    by_bucket = part[BUCKET_BY][0] != ALL
    rows: list[Row] = []
    for own in part.partition_by(GENERATOR, BUCKET, maintain_order=True):
        found = _by_label(own, "micro")
        # Without the mark: it is about intervals, and these have none.
        values = (Rate(found.get(measure.label, {}).get(VALUE)) for measure in asked)
        bucket = [own[BUCKET][0]] if by_bucket else []
        rows.append((str(own[GENERATOR][0]), *bucket, *values))
    columns = [Column("generator", key=True, right=False)]
    columns += [Column("bucket", key=True, right=False)] if by_bucket else []
    columns += [Column(measure.label) for measure in asked]
    notes = [without_value] if _without_value(rows) else []
    return Table(title, tuple(columns), (Group(None, tuple(rows)),), tuple(notes))


def _by_label(rows: pl.DataFrame, statistic: str) -> dict[str, dict[str, Any]]:
    found = rows.filter(pl.col(STATISTIC) == statistic)
    return {row[METRIC]: row for row in found.iter_rows(named=True)}


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
    title: str, keys: Sequence[Column], rows: Sequence[Row], shown: Shown, *, few: bool = False
) -> Table:
    columns = [*keys, *shown.columns()]
    marked = few or any(is_marked(cell) for row in rows for cell in row)
    notes = [FEW_NOTE] if marked else []
    if _without_value(rows):
        notes.append("-  no value: no users")
    elif any(cell is None for row in rows for cell in row):
        notes.append("-  no interval: one user, or a mean over queries")
    return Table(title, tuple(columns), (Group(None, tuple(rows)),), tuple(notes))
