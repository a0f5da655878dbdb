"""Audit of what the configuration says of items and of kinds of positives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from recoeval.analysis.audit.view import AuditView, number, percent
from recoeval.analysis.findings import Finding, Severity
from recoeval.columns import GENERATOR, ITEM_ID, LABEL, QUERY_ID, UNAVAILABLE
from recoeval.data.reach import find_reach
from recoeval.errors import some

__all__ = ["find_empty_kinds", "find_unavailable_hits", "find_unavailable_truth"]

MOSTLY_UNAVAILABLE: Final = 0.5
"""Users found more than half of what is relevant where the items table says it was not."""


def _unavailable_pairs(view: AuditView) -> pl.DataFrame | None:
    """Returns the relevant pairs whose item could not be listed; None without an items table."""
    if view.background.items is None:
        return None
    reach = find_reach(view.truth.pairs, view.truth.queries, view.background)
    return None if reach is None else reach.filter(UNAVAILABLE).select(QUERY_ID, ITEM_ID)


def find_unavailable_truth(view: AuditView) -> Iterator[Finding]:
    """Yields how much of the truth is on items that could not be listed at query time."""
    pairs = _unavailable_pairs(view)
    if pairs is None or pairs.is_empty():
        return
    total = view.truth.pairs.height
    text = (
        f"{number(pairs.height, 'relevant pair')} ({percent(pairs.height, total)}) on items that "
        "were not available when asked for, or are not in the items table"
    )
    many = pairs.height / total > MOSTLY_UNAVAILABLE
    text += ": does the table fit the log, and created_at the clock?" if many else ""
    counts = {"pairs": pairs.height, "share": pairs.height / total}
    severity: Severity = "warn" if many else "info"
    yield view.found(severity, "unavailable_truth", text, counts)


def find_unavailable_hits(view: AuditView, hits: pl.DataFrame) -> Iterator[Finding]:
    """Yields hits of generators on items that they could not have listed in service."""
    pairs = _unavailable_pairs(view)
    if pairs is None:
        return
    beyond = hits.join(pairs, on=[QUERY_ID, ITEM_ID], how="semi")
    for name in beyond[GENERATOR].unique(maintain_order=True):
        own = hits.filter(pl.col(GENERATOR) == name)
        found = beyond.filter(pl.col(GENERATOR) == name).height
        text = (
            f"{number(found, 'hit')} ({percent(found, own.height)}) on items that were not "
            "available: service could not have shown them"
        )
        counts = {"hits": found, "share": found / own.height}
        yield view.found("warn", "unavailable_hits", text, counts, generator=name)


def find_empty_kinds(view: AuditView) -> Iterator[Finding]:
    """Yields the kinds of positives of which the truth has no pair."""
    kinds = view.truth.kinds
    if kinds is None:
        return
    there = set(kinds[LABEL])
    empty = [label for label in view.truth.kind_labels if label not in there]
    if empty:
        text = f"no relevant pair of the kinds {some(empty)}: are their rules right?"
        yield view.found("warn", "empty_kinds", text, {"kinds": len(empty)})
