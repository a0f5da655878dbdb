"""Truth health by rows of the test window: events, dwell, days, durations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import Any, Final

import polars as pl

from recoeval.analysis.audit.view import AuditView
from recoeval.columns import ITEM_ID, TIMESTAMP, USER_ID
from recoeval.data.idkeys import key_of
from recoeval.data.truth import relevance_rule, relevant_mark

__all__ = ["by_day", "by_duration", "dwell_quantiles", "event_mix", "mark_relevant"]

Record = dict[str, Any]

MARK: Final = "__relevant"
LOG: Final = "the log"
FEW_VALUES: Final = 10
"""A column of integers with so few values tells events apart (is_click); with more it measures."""
MOST_VALUES: Final = 20
"""Values of a column that are shown; the rest is one record."""
MOST_DAYS: Final = 400
"""Test windows longer than this are shown without the days that have no rows."""
QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
BANDS: Final = (0.2, 0.4, 0.6, 0.8)
OTHERS: Final = "(others)"
NULL: Final = "(null)"
DAY_COUNTS: Final = ("rows", "relevant_rows", "pairs", "users")


def mark_relevant(view: AuditView) -> pl.LazyFrame:
    """Returns the test rows with a Boolean column, true for those that a rule calls relevant.

    Where windows are split by time, a rule with a horizon marks rows of [cutoff, cutoff +
    horizon); by user, the rule alone decides.
    """
    schema = view.test.collect_schema()
    cutoff = view.windows.cutoff if view.windows else None
    mark = relevant_mark(view.ground_truth, schema, source=LOG, cutoff=cutoff)
    return view.test.with_columns(mark.alias(MARK))


def named_columns(view: AuditView) -> tuple[list[str], list[str]]:
    """Returns the columns that the rules name: those of events, and those that measure."""
    schema = view.test.collect_schema()
    named = relevance_rule(view.ground_truth, schema, source=LOG).meta.root_names()
    names = [name for name in dict.fromkeys(named) if name not in (USER_ID, ITEM_ID, TIMESTAMP)]
    whole = [name for name in names if schema[name].is_integer()]
    few: set[str] = set()
    if whole:
        distinct = view.test.select(pl.col(whole).n_unique()).collect(engine="streaming")
        few = {name for name in whole if distinct[name][0] <= FEW_VALUES}
    texts = (pl.String, pl.Boolean, pl.Categorical, pl.Enum)
    events = [name for name in names if name in few or schema[name] in texts]
    return events, [name for name in names if schema[name].is_numeric() and name not in few]


def event_mix(view: AuditView, rows: pl.LazyFrame) -> list[Record]:
    """Returns how many rows, and how many relevant ones, have each value of the event columns."""
    return [record for name in named_columns(view)[0] for record in _mix(rows, name)]


def _mix(rows: pl.LazyFrame, name: str) -> Iterator[Record]:
    value = pl.col(name).cast(pl.String).fill_null(NULL).alias("value")
    counts = (
        rows.group_by(value)
        .agg(pl.len().alias("rows"), pl.col(MARK).sum().alias("relevant"))
        .sort("rows", "value", descending=[True, False])
        .collect(engine="streaming")
    )
    total, relevant = counts["rows"].sum(), counts["relevant"].sum()
    shown = list(counts.head(MOST_VALUES).iter_rows())
    if counts.height > MOST_VALUES:
        rest = counts.slice(MOST_VALUES)
        shown.append((OTHERS, rest["rows"].sum(), rest["relevant"].sum()))
    for label, amount, chosen in shown:
        yield {
            "column": name,
            "value": label,
            "rows": amount,
            "share": amount / total,
            "relevant_rows": chosen,
            "share_of_relevant": chosen / relevant if relevant else 0.0,
        }


def dwell_quantiles(view: AuditView, rows: pl.LazyFrame) -> list[Record]:
    """Returns quantiles of what the rules measure, of all test rows and of the relevant ones."""
    found = []
    for name in named_columns(view)[1]:
        column = pl.col(name)
        # The value of a row, never one between two: no rounding, the same bits everywhere.
        cuts = [column.quantile(q, "lower").alias(f"p{100 * q:.0f}") for q in QUANTILES]
        sizes = (pl.len().alias("rows"), column.null_count().alias("nulls"))
        # Sorted once for all quantiles.
        known = rows.select(name, MARK).collect(engine="streaming")
        for of, side in (("test rows", known), ("relevant rows", known.filter(MARK))):
            values = side[name].sort().to_frame().select(*sizes, *cuts).row(0, named=True)
            found.append({"column": name, "of": of, **values})
    return found


def by_day(view: AuditView, rows: pl.LazyFrame) -> list[Record]:
    """Returns what each UTC day of the test window holds; nothing for a log without times."""
    if not view.timed:
        return []
    # Hashes stand for texts: half of the CPU (6 M rows).
    ids = (key_of(USER_ID, view.users[USER_ID]), key_of(ITEM_ID, view.items[ITEM_ID]))
    day = pl.col(TIMESTAMP).dt.date().alias("day")
    dated = rows.select(day, *ids, MARK).collect(engine="streaming")
    counts = dated.group_by("day").agg(
        pl.len().alias("rows"),
        pl.col(MARK).sum().cast(pl.Int64).alias("relevant_rows"),
        pl.col(USER_ID).n_unique().alias("users"),
    )
    pairs = dated.filter(MARK).select("day", USER_ID, ITEM_ID).unique()
    distinct = pairs.group_by("day").agg(pl.len().alias("pairs"))
    days = counts.join(distinct, on="day", how="left").select("day", *DAY_COUNTS)
    hours = _hours(view)
    known = {day: values for day, *values in days.sort("day").fill_null(0).iter_rows()}
    return [
        {
            "day": day.isoformat(),
            **({"hours": hours[day]} if hours else {}),
            **dict(zip(DAY_COUNTS, known.get(day, [0] * 4), strict=True)),
        }
        for day in (sorted(hours) if hours else known)
    ]


def _hours(view: AuditView) -> dict[Any, float]:
    """Returns the days of the test window with the hours of each that it holds."""
    if view.windows is None:
        return {}
    start, end = view.windows.cutoff, view.windows.test_end
    if view.log_end is not None:
        end = min(end, view.log_end + timedelta(microseconds=1))
    if not timedelta(0) < end - start <= timedelta(days=MOST_DAYS):
        return {}
    found = {}
    day = start.date()
    while (midnight := datetime.combine(day, time(), UTC)) < end:
        held = min(end, midnight + timedelta(days=1)) - max(start, midnight)
        found[day] = round(held / timedelta(hours=1), 2)
        day += timedelta(days=1)
    return found


def by_duration(rows: pl.LazyFrame) -> list[Record]:
    """Returns the rate of relevant rows in fifths of the test rows by each duration column."""
    names = [
        name
        for name, dtype in rows.collect_schema().items()
        if "duration" in name.lower() and dtype.is_numeric()
    ]
    return [record for name in names for record in _fifths(rows, name)]


def _fifths(rows: pl.LazyFrame, name: str) -> Iterator[Record]:
    column = pl.col(name)
    cuts = rows.select(column.quantile(q, "lower").alias(str(q)) for q in BANDS)
    edges = sorted({cut for cut in cuts.collect(engine="streaming").row(0) if cut is not None})
    band = pl.sum_horizontal((column >= edge).cast(pl.Int64) for edge in edges) if edges else column
    counts = (
        rows.select(pl.when(column.is_not_null()).then(band).alias("band"), MARK)
        .group_by("band")
        .agg(pl.len().alias("rows"), pl.col(MARK).sum().cast(pl.Int64))
        .sort("band", nulls_last=True)
        .collect(engine="streaming")
    )
    labels = range_labels(edges)
    for index, amount, relevant in counts.iter_rows():
        yield {
            "column": name,
            "band": "missing" if index is None else labels[int(index)],
            "rows": amount,
            "relevant_rows": relevant,
            "relevant_share": relevant / amount,
        }


def range_labels(edges: Sequence[float]) -> list[str]:
    """Returns the names of the half-open ranges between edges.

    Example:
        >>> range_labels([1, 2.5])
        ['[-inf,1)', '[1,2.5)', '[2.5,inf)']
    """
    ends = ["-inf", *(f"{edge:.15g}" for edge in edges), "inf"]
    return [f"[{low},{high})" for low, high in pairwise(ends)]
