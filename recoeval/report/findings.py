"""What the audit found: the severe first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recoeval.report.values import Column, Group, Row, Table, Tone, Word

__all__ = ["finding_table", "findings_line"]

SEVERITIES: Final[Mapping[str, tuple[str, Tone]]] = {
    "severe": ("SEVERE", "bad"),
    "warn": ("warning", "doubt"),
    "info": ("info", "plain"),
}
"""By severity, the worst first: the word that stands in the table, and how."""


def findings_line(findings: Sequence[Mapping[str, Any]]) -> Word:
    """Returns how many findings there are of each severity.

    Example:
        >>> findings_line([{"severity": "info"}, {"severity": "severe"}]).text
        'Audit: 1 severe, 0 warnings, 1 for information'
    """
    counts = Counter(each["severity"] for each in findings)
    warnings = f"{counts['warn']} warning" + ("" if counts["warn"] == 1 else "s")
    tone: Tone = "bad" if counts["severe"] else "doubt" if counts["warn"] else "good"
    said = f"{counts['severe']} severe, {warnings}, {counts['info']} for information"
    return Word(f"Audit: {said}", tone)


def finding_table(findings: Sequence[Mapping[str, Any]], *, full: bool) -> Table | None:
    """Returns one row a finding, whose text tells the counts; None where there is nothing to say.

    Args:
        findings: severity, code, text, generator (None: the data), fold.
        full: those for information, too, each fold apart, and their codes; else they are
            counted, and what several folds have in common is told once.
    """
    ranked = sorted(findings, key=lambda each: list(SEVERITIES).index(each["severity"]))
    shown = [each for each in ranked if full or each["severity"] != "info"]
    left_out = len(ranked) - len(shown)
    if not shown:
        return None
    several = len({each.get("fold", 0) for each in findings}) > 1
    rows: list[Row] = []
    alike: dict[Any, list[Mapping[str, Any]]] = {}
    for number, each in enumerate(shown):
        alike.setdefault(number if full else _alike(each), []).append(each)
    for first, *others in alike.values():
        word, tone = SEVERITIES[first["severity"]]
        folds = ", ".join(str(each.get("fold", 0)) for each in (first, *others))
        about = first.get("generator") or "data"
        said = f"{first['code']}: {first['text']}" if full else str(first["text"])
        rows.append((Word(word, tone), about, *([folds] if several else []), said))
    columns = [Column("severity", key=True, right=False), Column("about", key=True, right=False)]
    columns += [Column("fold", key=True, right=False)] if several else []
    columns.append(Column("finding", right=False))
    notes = [f"{left_out} more for information: -v shows them"] if left_out else []
    if len(alike) < len(shown):
        notes.insert(0, "numbers are those of the first fold that is named; -v shows each")
    return Table("Audit", tuple(columns), (Group(None, tuple(rows)),), tuple(notes))


def _alike(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns what findings of several folds have in common: all but numbers and fold."""
    text = re.sub(r"(?<![@\w])\d[\d,.]*", "#", str(finding["text"]))
    return finding["severity"], finding["code"], finding.get("generator"), text
