"""Truth health: what the ground truth is made of, and whom it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from recoeval.columns import FOLD
from recoeval.report.values import Cell, Column, Group, Row, Share, Table

__all__ = ["health_tables"]

Records = Sequence[Mapping[str, Any]]

TITLES: Final[Mapping[str, str]] = {
    "representative": "Evaluated users against all users of the log",
    "by_popularity": "Truth by popularity of the item",
    "by_duration": "Relevant rows by duration",
    "by_age": "Truth by age of the item",
    "by_day": "Test window by day",
    "events": "Test rows by event",
    "dwell": "Quantiles of what the rules measure",
    "repeats": "Relevant pairs that are known from before",
    "truth_size": "Sizes of the truth",
    "relevant_items": "Queries by number of relevant items",
}
"""Names of the tables that are known, in the order in which they are shown."""

LEADING: Final = ("representative", "by_popularity", "by_duration")
"""Those that stand in every report: they say what the numbers are biased towards."""

MOST_ROWS: Final = 8
"""Of a table that is not shown in full."""


def health_tables(health: Mapping[str, Records], *, full: bool) -> list[Table]:
    """Returns the tables of truth health.

    Args:
        health: name of a table -> flat records.
        full: all of them and all their rows; else those that a reader acts on.
    """
    names = [name for name in TITLES if name in health]
    names += [name for name in health if name not in TITLES]
    return [
        _table(TITLES.get(name, name.replace("_", " ")), health[name], full=full)
        for name in names
        if health[name] and (full or name in LEADING)
    ]


def _table(title: str, records: Records, *, full: bool) -> Table:
    notes = []
    if not full:
        # The last of several folds is the one that is most like what comes.
        last = records[-1].get(FOLD)
        others = sum(record.get(FOLD) != last for record in records)
        if others:
            notes.append(f"fold {last}; -v shows the others")
        own = [each for each in records if each.get(FOLD) == last]
        records = [{name: each[name] for name in each if name != FOLD} for each in own]
        if more := len(records[MOST_ROWS:]):
            notes.append(f"{more} more row{'s' if more > 1 else ''}: -v shows the whole table")
        records = records[:MOST_ROWS]
    names = list(dict.fromkeys(name for record in records for name in record))
    texts = [name for name in names if any(isinstance(each.get(name), str) for each in records)]
    # The first words say what a row is about.
    keys = [name for place, name in enumerate(names) if names[: place + 1] == texts[: place + 1]]
    columns = tuple(
        Column(name.replace("_", " "), key=name in keys, right=name not in texts) for name in names
    )
    rows = tuple(_row(record, names) for record in records)
    return Table(title, columns, (Group(None, rows),), tuple(notes))


def _row(record: Mapping[str, Any], names: Sequence[str]) -> Row:
    """Returns the cells of a record; a fact that is a share makes all its numbers shares."""
    is_share = any(isinstance(each, str) and each.startswith("share ") for each in record.values())
    return tuple(_cell(record.get(name), share=is_share or "share" in name) for name in names)


def _cell(value: Any, *, share: bool) -> Cell:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and share:
        return Share(value)
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return value if value is None or isinstance(value, int) else str(value)
