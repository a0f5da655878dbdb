"""Audit of lists: when they were built, whom they cover, whether their ids are ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from recoeval.analysis.audit.suspicion import find_cold_hits
from recoeval.analysis.audit.view import AuditedLists, AuditView, count, number, percent
from recoeval.analysis.findings import Finding, Severity
from recoeval.columns import (
    BUCKET,
    GENERATOR,
    ITEM_ID,
    METRIC,
    NAME,
    QUERY_ID,
    QUERY_TIME,
    RETURNED,
    TIMESTAMP,
    TIMESTAMP_DTYPE,
    TRAIN_ROWS,
    VALUE,
)
from recoeval.component import format_duration
from recoeval.data.failures import reading

__all__ = [
    "find_build_times",
    "find_coverage",
    "find_foreign_ids",
    "find_impossible_hits",
    "find_unlike_judged",
]

LOW_COVERAGE: Final = 0.95
"""Queries without a list score 0: below this, coverage decides as much as quality does."""
MANY_STRANGERS: Final = 0.5
"""Lists of which more than half are items that the log never had are of another catalogue."""
JUDGED_APART: Final = 0.1
JUDGED_RATIO: Final = 2.0
"""Lists of which so much more was shown to users get more credit for the same quality."""

EARLIEST_YEAR: Final = 1990
"""Lists that are older were probably read with a wrong unit of time."""

_AS_OF: Final = "as_of"


def find_build_times(view: AuditView, name: str, lists: AuditedLists) -> Iterator[Finding]:
    """Yields which lists are from after their query, too old, without a date or long ago."""
    if lists.built is None:
        return
    built = lists.built.select(QUERY_ID, _AS_OF).join(_asked(view), on=QUERY_ID)
    age = pl.col(QUERY_TIME) - pl.col(_AS_OF)
    too_old = (age > lists.max_age) if lists.max_age else pl.lit(False)
    by_query = built.group_by(QUERY_ID).agg(
        pl.col(QUERY_TIME).is_null().any().alias("untimed"),
        (age <= pl.duration()).any().alias("late"),
        too_old.any().alias("stale"),
        pl.col(_AS_OF).is_null().any().alias("undated"),
        (pl.col(_AS_OF).dt.year() < EARLIEST_YEAR).any().alias("ancient"),
    )
    found = by_query.select(
        pl.len(), pl.col("late", "stale", "undated", "ancient").sum(), pl.col("untimed").sum()
    )
    with reading(f"lists[{name}]"):
        total, late, stale, undated, ancient, untimed = found.collect(engine="streaming").row(0)

    def said(lists_found: int) -> str:
        return f"{number(lists_found, 'list')} ({percent(lists_found, total)})"

    if late:
        text = f"{said(late)} built at or after the cutoff: they may know what is asked"
        counts = {"lists": late, "share": late / total}
        yield view.found("severe", "lists_after_cutoff", text, counts, generator=name)
    if stale:
        limit = format_duration(lists.max_age) if lists.max_age else ""
        text = f"{said(stale)} older than {limit} at the cutoff"
        counts = {"lists": stale, "share": stale / total}
        yield view.found("warn", "stale_lists", text, counts, generator=name)
    if undated:
        text = f"{said(undated)} without a build time: nobody knows whether they are too new"
        counts = {"lists": undated, "share": undated / total}
        yield view.found("warn", "lists_without_as_of", text, counts, generator=name)
    if ancient:
        text = f"{said(ancient)} built before {EARLIEST_YEAR}: is their timestamp_unit right?"
        counts = {"lists": ancient, "share": ancient / total}
        yield view.found("warn", "lists_of_long_ago", text, counts, generator=name)
    if untimed:
        text = f"{said(untimed)} with a build time but no time of the query to hold it against"
        counts = {"lists": untimed, "share": untimed / total}
        yield view.found("warn", "build_times_unchecked", text, counts, generator=name)


def _asked(view: AuditView) -> pl.LazyFrame:
    """Returns query_id and query_time; where there is none the time of the first test row."""
    asked = view.truth.queries.lazy().select(QUERY_ID, QUERY_TIME)
    if not view.truth.queries[QUERY_TIME].null_count():
        return asked
    if TIMESTAMP not in view.test.collect_schema():
        return asked
    with reading("interactions"):
        first = view.test.select(pl.col(TIMESTAMP).min()).collect(engine="streaming").item()
    return asked.with_columns(pl.col(QUERY_TIME).fill_null(pl.lit(first, TIMESTAMP_DTYPE)))


def find_foreign_ids(view: AuditView, name: str, lists: AuditedLists) -> Iterator[Finding]:
    """Yields how much of the lists the log never had, and how much of the truth no list holds."""
    if lists.rows is None:
        return
    items = _items(name, lists.rows) if lists.items is None else lists.items
    listed = items.alias(ITEM_ID).to_frame().lazy()
    known = view.items.lazy().select(ITEM_ID)
    total, strange = count(listed), count(listed.join(known, on=ITEM_ID, how="anti"))
    if strange:
        text = f"{number(strange, 'listed item')} ({percent(strange, total)}) never in the log"
        many = strange / total > MANY_STRANGERS
        counts = {"items": strange, "share": strange / total}
        text += ": is it another catalogue, or another kind of id?" if many else ""
        severity: Severity = "warn" if many else "info"
        yield view.found(severity, "items_not_in_log", text, counts, generator=name)
    pairs = view.truth.pairs.lazy().select(QUERY_ID, ITEM_ID)
    missing = count(pairs.join(listed, on=ITEM_ID, how="anti"))
    if missing:
        share = percent(missing, view.truth.pairs.height)
        text = f"{number(missing, 'relevant pair')} ({share}) on items that none of its lists holds"
        counts = {"pairs": missing, "share": missing / view.truth.pairs.height}
        yield view.found("info", "truth_not_listed", text, counts, generator=name)


def _items(name: str, rows: pl.LazyFrame) -> pl.Series:
    with reading(f"lists[{name}]"):
        return rows.select(ITEM_ID).unique().collect(engine="streaming")[ITEM_ID]


def find_coverage(view: AuditView, name: str, rows: pl.DataFrame) -> Iterator[Finding]:
    """Yields whether many queries have no list of a generator, or an empty one once prepared.

    Args:
        view: the fold.
        name: of the generator.
        rows: its own of PER_QUERY.
    """
    total, empty = rows.height, int((rows[RETURNED] == 0).sum())
    if total and (total - empty) / total < LOW_COVERAGE:
        text = (
            f"{number(empty, 'query', 'queries')} ({percent(empty, total)}) with an empty list or "
            "none: score 0"
        )
        counts = {"queries": empty, "share": empty / total}
        yield view.found("warn", "low_coverage", text, counts, generator=name)


def find_impossible_hits(
    view: AuditView, name: str, lists: AuditedLists, hits: pl.DataFrame
) -> Iterator[Finding]:
    """Yields hits that a generator cannot have."""
    own = hits.filter(pl.col(GENERATOR) == name)
    found = find_cold_hits(
        own,
        view.truth.queries,
        view.users.lazy().filter(pl.col(TRAIN_ROWS) > 0),
        view.warm_items,
        serves_cold_users=lists.serves_cold_users,
        serves_cold_items=lists.serves_cold_items,
    )
    if found:
        reason, hits_found = found
        yield view.found("severe", "cold_hits", reason, {"hits": hits_found}, generator=name)


def find_unlike_judged(view: AuditView, summary: pl.DataFrame) -> Iterator[Finding]:
    """Yields depths at which some generators' lists were shown far more than others'."""
    rows = summary.filter((pl.col(NAME) == "judged") & (pl.col(BUCKET) == "all"))
    rows = rows.drop_nulls(VALUE).unique([METRIC, GENERATOR], maintain_order=True)
    for (label,), group in rows.sort(VALUE, GENERATOR).group_by([METRIC], maintain_order=True):
        low, high = group.row(0, named=True), group.row(-1, named=True)
        apart = high[VALUE] - low[VALUE] > JUDGED_APART
        if apart or high[VALUE] > JUDGED_RATIO * low[VALUE]:
            text = (
                f"{label} is {low[VALUE]:.3g} for {low[GENERATOR]} and {high[VALUE]:.3g} for "
                f"{high[GENERATOR]}: what users never saw cannot be relevant, so a comparison "
                f"favours {high[GENERATOR]}"
            )
            counts = {"lowest": low[VALUE], "highest": high[VALUE]}
            yield view.found("warn", "unlike_judged", text, counts)
