"""Constraints and the verdict: what was asked, what was found, and what it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import polars as pl

from recoeval.analysis.summary import ALL
from recoeval.analysis.verdict import Check, Verdict
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CI_HIGH,
    CI_LOW,
    FOLD,
    GENERATOR,
    METRIC,
    STATISTIC,
)
from recoeval.metrics import Measure
from recoeval.report.numbers import FEW_NOTE, is_marked, shown_ends, size_of, value_of
from recoeval.report.values import Cell, Column, Count, Group, Row, Table, Tone, Word

__all__ = ["constraint_table", "verdict_lines"]

ANY_BUCKET: Final = "any bucket"

_TONES: Final[Mapping[str, Tone]] = {
    "pass": "good",
    "fail": "bad",
    "suspicious": "bad",
    "partial": "bad",
    "inconclusive": "doubt",
}
_IN_ANY: Final[Mapping[str, Word]] = {
    # One bucket decides nothing here: small letters, and no alarm.
    "pass": Word("keeps it", "good"),
    "fail": Word("breaks it", "plain"),
    "inconclusive": Word("inconclusive", "doubt"),
}


def constraint_table(
    verdict: Verdict, summary: pl.DataFrame, measures: Sequence[Measure]
) -> Table | None:
    """Returns one group a constraint: generators and buckets with value, bounds, outcome.

    Under `match: any` the rows say which buckets keep the bound, and a row of its own says
    what follows.

    Args:
        verdict: checks and outcomes.
        summary: SUMMARY with the numbers that were checked.
        measures: what was computed.
    """
    if not verdict.checks:
        return None
    keys = _keys(verdict.checks)
    numbers = _Numbers(summary, measures)
    combined = {
        (text, severity, name): outcome for text, severity, name, outcome in verdict.outcomes
    }
    groups: list[Group] = []
    for (text, severity), checks in groupby(verdict.checks, lambda c: (c.constraint, c.severity)):
        rows: list[Row] = []
        for name, own in groupby(checks, lambda check: check.generator):
            several = list(own)
            rows += [_row(check, numbers, keys) for check in several]
            if _is_any(several[0]):
                outcome = _outcome(combined[text, severity, name], severity)
                said = {GENERATOR: name, BUCKET: ANY_BUCKET}
                rows.append((*(said.get(key, "") for key in keys), "", "", "", outcome, ""))
        title = text if severity == "error" else f"{text} ({severity})"
        groups.append(Group(Word(title, "strong"), tuple(rows)))
    columns = [Column(key, key=True, right=key == FOLD) for key in keys]
    columns += [Column(title) for title in ("users", "value", "one-sided bounds")]
    columns += [Column("outcome", right=False), Column("users needed")]
    cells = [cell for group in groups for row in group.rows for cell in row]
    notes = [FEW_NOTE] if any(map(is_marked, cells)) else []
    if any(cell is None for cell in cells):
        notes.append("-  no bounds: the value decides, or there are fewer than 2 users")
    return Table("Constraints", tuple(columns), tuple(groups), tuple(notes))


def _keys(checks: Sequence[Check]) -> list[str]:
    """Returns what tells the rows apart."""
    keys = [GENERATOR]
    keys += [FOLD] if len({check.fold for check in checks}) > 1 else []
    return keys + ([BUCKET] if any(check.bucket_by != ALL for check in checks) else [])


class _Numbers:
    """The rows of SUMMARY that checks are about."""

    def __init__(self, summary: pl.DataFrame, measures: Sequence[Measure]) -> None:
        self._measures = {measure.label: measure for measure in measures}
        keys = (FOLD, GENERATOR, BUCKET_BY, BUCKET, METRIC)
        read = summary.filter(pl.col(STATISTIC).is_in(["macro", "micro"]))
        self._rows = {
            (*(row[key] for key in keys), row[STATISTIC]): row for row in read.iter_rows(named=True)
        }

    def measure(self, check: Check) -> Measure | None:
        return self._measures.get(check.metric)

    def row(self, check: Check) -> Mapping[str, Any]:
        measure = self.measure(check)
        statistic = "macro" if measure is None else measure.metric.statistic
        place = (check.fold, check.generator, check.bucket_by, check.bucket, check.metric)
        return self._rows.get((*place, statistic), {})


def _row(check: Check, numbers: _Numbers, keys: Sequence[str]) -> Row:
    measure, found = numbers.measure(check), numbers.row(check)
    pooled = measure is not None and measure.metric.statistic == "micro"
    # The mark is about intervals, and pooled ratios have none.
    users: Cell = Count(check.users) if pooled else size_of(check.users)
    bounds: Cell = None
    # Equal ends are bounds only where the interval is a point as well: all users are alike.
    alike = found.get(CI_LOW) is not None and found[CI_LOW] == found[CI_HIGH]
    if check.low != check.high or alike:
        bounds = shown_ends(check.low, check.high, measure)
    row: list[Cell] = [str(getattr(check, key)) for key in keys]
    outcome = _IN_ANY[check.outcome] if _is_any(check) else _outcome(check.outcome, check.severity)
    row += [users, value_of(check.value, found), bounds, outcome, _needed(check)]
    return tuple(row)


def _is_any(check: Check) -> bool:
    """Returns whether one bucket that keeps the bound is enough."""
    return check.constraint.endswith(f" in any bucket of {check.bucket_by}")


def _outcome(outcome: str, severity: str) -> Word:
    if outcome == "fail" and severity == "warn":
        return Word("fail", "doubt")
    return Word("FAIL" if outcome == "fail" else outcome, _TONES[outcome])


def _needed(check: Check) -> str:
    """Returns the users that would decide, or why there is no such number."""
    users = check.users_needed
    if users is None:
        return f"n = {check.users}" if check.outcome == "inconclusive" else ""
    return f"{users:,}" if users < 1_000_000 else f"{users / 1e6:,.3g} M"


def verdict_lines(verdict: Verdict) -> tuple[Word, ...]:
    """Returns the verdict in a line, then each constraint and generator that did not pass.

    Example:
        >>> for line in verdict_lines(Verdict("pass", (), (("x@5 >= 1", "warn", "als", "fail"),))):
        ...     print(line.text)
        Verdict: pass (exit code 0); 0 of 1 pass, 1 warning
          warning: als: x@5 >= 1
    """
    if not verdict.outcomes and not verdict.suspicions and not verdict.failures:
        return (Word("Verdict: none, there are no constraints", "plain"),)
    kinds = Counter(_kind(severity, outcome) for _, severity, _, outcome in verdict.outcomes)
    said = [f"{kinds['pass']} of {len(verdict.outcomes)} pass"]
    if not verdict.outcomes:
        said = ["there are no constraints"]
    for kind, words in (("fail", "fail"), ("warning", "warning"), ("inconclusive", "inconclusive")):
        if kinds[kind]:
            plural = "s" if kind == "warning" and kinds[kind] > 1 else ""
            said.append(f"{kinds[kind]} {words}{plural}")
    outcome = verdict.outcome.upper() if verdict.exit_code else verdict.outcome
    first = f"Verdict: {outcome} (exit code {verdict.exit_code}); {', '.join(said)}"
    lines = [Word(first, _TONES[verdict.outcome])]
    for failure in verdict.failures:
        lines.append(Word(f"  failed: {failure.generator} (its constraints are not judged)", "bad"))
        lines += [Word(f"    {message}", "bad") for message in failure.messages]
    for generator, reason in verdict.suspicions:
        lines.append(Word(f"  suspicious: {generator}: {reason}", "bad"))
    for text, severity, generator, found in verdict.outcomes:
        if found != "pass":
            kind = _kind(severity, found)
            tone: Tone = "bad" if kind == "fail" else "doubt"
            lines.append(Word(f"  {kind}: {generator}: {text}", tone))
    return tuple(lines)


def _kind(severity: str, outcome: str) -> str:
    return "warning" if severity == "warn" and outcome == "fail" else outcome
