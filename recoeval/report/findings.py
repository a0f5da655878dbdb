"""What the audit found: the severe first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recoeval.report.values import Column, Group, Row, Table, Tone, Word

__all__ = ["finding_table", "findings_line"]

SEVERITIES: Final[Mapping[str, tuple[str, Tone]]] = {
    "severe": ("severe", "bad"),
    "warn": ("warning", "doubt"),
    "info": ("information", "plain"),
}
"""By severity, the worst first: the word for it wherever people read, and how it stands."""

Findings = Sequence[Mapping[str, Any]]


def findings_line(findings: Findings) -> Word:
    """Returns how many findings there are of each severity, alike ones of several folds once.

    Example:
        >>> found = {"severity": "warn", "code": "stale_lists", "text": "3 lists are old"}
        >>> findings_line([found, {**found, "fold": 1, "text": "5 lists are old"}]).text
        'Audit: 0 severe, 1 warning, 0 for information; what folds have in common counts once'
    """
    alike = _alike(findings)
    counts = Counter(first["severity"] for first, *_ in alike)
    warnings = f"{counts['warn']} warning" + ("" if counts["warn"] == 1 else "s")
    tone: Tone = "bad" if counts["severe"] else "doubt" if counts["warn"] else "good"
    said = f"{counts['severe']} severe, {warnings}, {counts['info']} for information"
    if len(alike) < len(findings):
        said += "; what folds have in common counts once"
    return Word(f"Audit: {said}", tone)


def finding_table(findings: Findings, *, full: bool) -> Table | None:
    """Returns one row a finding, whose text tells the counts; None where there is nothing to say.

    Args:
        findings: severity, code, text, generator (None: the data), fold.
        full: those for information, too, each fold apart, and their codes; else they are
            counted, and what several folds have in common is told once.
    """
    ranked = sorted(findings, key=lambda each: list(SEVERITIES).index(each["severity"]))
    groups = [(each,) for each in ranked] if full else _alike(ranked)
    shown = [group for group in groups if full or group[0]["severity"] != "info"]
    left_out = len(groups) - len(shown)
    if not shown:
        return None
    several = len({each.get("fold", 0) for each in findings}) > 1
    rows: list[Row] = []
    for first, *others in shown:
        word, tone = SEVERITIES[first["severity"]]
        folds = ", ".join(str(each.get("fold", 0)) for each in (first, *others))
        about = first.get("generator") or "data"
        said = f"{first['code']}: {first['text']}" if full else str(first["text"])
        rows.append((Word(word, tone), about, *([folds] if several else []), said))
    columns = [Column("severity", key=True, right=False), Column("about", key=True, right=False)]
    columns += [Column("fold", key=True, right=False)] if several else []
    columns.append(Column("finding", right=False))
    notes = [f"{left_out} more for information: -v shows them"] if left_out else []
    if any(len(group) > 1 for group in shown):
        notes.insert(0, "numbers are those of the first fold that is named; -v shows each")
    return Table("Audit", tuple(columns), (Group(None, tuple(rows)),), tuple(notes))


def _alike(findings: Findings) -> list[tuple[Mapping[str, Any], ...]]:
    """Returns the findings in groups that differ in fold and numbers alone, a fold once each."""
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    before = Counter[Any]()
    for each in findings:
        text = re.sub(r"(?<![@\w])\d[\d,.]*", "#", str(each["text"]))
        key = (each["severity"], each["code"], each.get("generator"), text)
        fold = (each.get("fold", 0), key)
        groups.setdefault((before[fold], key), []).append(each)
        before[fold] += 1
    return [tuple(group) for group in groups.values()]
