"""Audit of the log as it was read: times without a zone, rows that repeat or contradict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recoeval.analysis.audit.view import AuditedSource, number, percent
from recoeval.analysis.findings import Finding, Severity
from recoeval.columns import ITEM_ID, TIMESTAMP, USER_ID
from recoeval.data.logcheck import count_conflicts

__all__ = ["find_conflicts", "find_duplicates", "find_naive_times"]

MANY_REPEATS: Final = 0.01
"""Above this share of rows, repeats move counts, popularity and weights by as much as the
differences that are looked for."""


def find_naive_times(source: AuditedSource, path: str) -> Iterator[Finding]:
    """Yields whether times without a zone are taken for something that nobody said."""
    if not source.naive_times:
        return
    counts = {"rows": source.naive_times}
    said = f"{path}: {number(source.naive_times, 'time')} without a time zone"
    if source.timezone is not None:
        text = f"{said}, read as {source.timezone} as the configuration says"
        yield Finding("info", "naive_times", text, counts)
        return
    text = (
        f"{said}, read as UTC: if they are local, every window is off. Set {path}.timezone to "
        "their zone, e.g. Asia/Shanghai, or to UTC if they are UTC"
    )
    yield Finding("warn", "naive_times", text, counts)


def find_duplicates(source: AuditedSource, path: str) -> Iterator[Finding]:
    """Yields how many rows repeat another in every column."""
    repeats, rows = source.facts.exact_duplicates, source.facts.rows
    if not repeats:
        return
    counts = {"rows": repeats, "share": repeats / rows}
    verb = "repeats" if repeats == 1 else "repeat"
    said = f"{path}: {number(repeats, 'row')} ({percent(repeats, rows)}) {verb} another in full"
    if source.duplicates == "drop":
        yield Finding("info", "duplicate_rows", f"{said}; they were dropped", counts)
        return
    text = f"{said}; they count again in activity and weights. duplicates: drop leaves them out"
    yield Finding(_by_share(repeats / rows), "duplicate_rows", text, counts)


def find_conflicts(source: AuditedSource, path: str) -> Iterator[Finding]:
    """Yields how many events the log tells in several ways: one user, item and time."""
    keys = [USER_ID, ITEM_ID, TIMESTAMP]
    names = source.rows.collect_schema().names()
    if TIMESTAMP not in names or set(names) == set(keys):
        return
    known = source.conflicts or count_conflicts(source.rows)
    events, rows = known.events, known.rows
    if not events:
        return
    text = (
        f"{path}: {number(events, 'event')} of one user, item and time told in several ways "
        f"({number(rows, 'row')}): any row that passes a rule decides, the largest gain counts"
    )
    total = source.facts.rows
    severity = _by_share(rows / total)
    counts = {"events": events, "rows": rows, "share": rows / total}
    yield Finding(severity, "conflicting_rows", text, counts)


def _by_share(share: float) -> Severity:
    return "warn" if share > MANY_REPEATS else "info"
