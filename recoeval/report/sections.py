"""The sections of a report, in reading order: result tables in, rows to show out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from recoeval.analysis.verdict import Verdict
from recoeval.columns import GENERATOR, RELEVANT
from recoeval.metrics import Measure
from recoeval.report.numbers import bucket_tables, leading_measure, list_quality, metric_table
from recoeval.report.values import Cell, Column, Group, Paragraph, Row, Section, Table, Word
from recoeval.report.verdicts import constraint_table, verdict_lines

__all__ = ["Results", "relevant_items", "report_sections", "verdict_lines"]

SIZES: Final = (("1", 1, 1), ("2", 2, 2), ("3-5", 3, 5), ("6-10", 6, 10), (">10", 11, None))
"""Groups of queries by number of relevant items: label, least, most."""

_TRUTH_STEPS: Final = (
    ("test_rows", "rows in the test window"),
    ("truth_rows", "rows of truth"),
    ("rule_was_null", "rows on which the rule is null: not relevant"),
    ("grades_not_relevant", "rows graded 0 or less: not relevant"),
    ("relevant_rows", "relevant rows"),
    ("repeated_truth_rows", "rows that repeat a pair"),
    ("relevant_pairs", "relevant pairs of query and item"),
    ("dropped_repeats", "pairs dropped: seen before"),
    ("dropped_cold_users", "pairs dropped: user without a train row"),
    ("dropped_cold_items", "pairs dropped: item without a train row"),
    ("truth_pairs", "pairs left"),
    ("zero_relevant_queries", "queries without a relevant item"),
    ("evaluated_queries", "queries evaluated"),
    ("evaluated_users", "users evaluated"),
)
_POLICY_OF: Final = {
    "dropped_repeats": "repeats",
    "dropped_cold_users": "cold_users",
    "dropped_cold_items": "cold_items",
    "zero_relevant_queries": "zero_relevant",
}


@dataclass(frozen=True, slots=True)
class Results:
    """What a report tells.

    Args:
        summary: SUMMARY.
        per_query: PER_QUERY.
        measures: what was computed, in order.
        verdict: outcome of the constraints.
        facts: what the manifest holds; without a run, the part of it that is known.
        given: what was asked for, by name: {"config": "nightly.yaml"}, {"recs": ..., "truth": ...}.
        place: where the run was written, "" if nowhere.
    """

    summary: pl.DataFrame
    per_query: pl.DataFrame
    measures: tuple[Measure, ...]
    verdict: Verdict
    facts: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    place: str = ""


def report_sections(results: Results) -> tuple[Section, ...]:
    """Returns the sections of a report in reading order; what has no content is left out."""
    facts, verdict = results.facts, results.verdict
    definitions = facts.get("definitions", {})
    lead = leading_measure(results.measures, verdict)
    shown = (results.summary, results.measures)
    parts: list[Section | None] = [
        _heading(results),
        _data(facts),
        _truth(facts.get("truth", {}), definitions.get("policies", {})),
        _lists(facts.get("lists", {})),
        _sizes(results.per_query),
        metric_table(*shown, lead) if lead else None,
        *(bucket_tables(*shown, lead, verdict) if lead else ()),
        list_quality(*shown),
        constraint_table(verdict, *shown),
        _paragraph("Definitions in force", _definition_lines(definitions)),
        _paragraph("Notes", map(str, facts.get("notes", ()))),
        _end(results),
    ]
    return tuple(part for part in parts if part is not None)


def _paragraph(title: str, lines: Iterable[str]) -> Paragraph | None:
    words = tuple(Word(line, "plain") for line in lines)
    return Paragraph(title, words) if words else None


def _heading(results: Results) -> Paragraph:
    facts = results.facts
    version = facts.get("recoeval")
    named = [f"recoeval {version}" if version else "recoeval"]
    named += [str(facts[key]) for key in ("name", "run_id") if key in facts]
    lines = [Word("  ".join(named), "strong")]
    width = max(map(len, results.given), default=0)
    lines += [Word(f"{key:<{width}}  {said}", "plain") for key, said in results.given.items()]
    return Paragraph("", tuple(lines))


def _data(facts: Mapping[str, Any]) -> Table | None:
    """Returns rows, users and items of each side; below them the windows, to the microsecond."""
    split = facts.get("split")
    if split is None:
        return None
    rows: list[Row] = []
    notes = []
    for name in ("train", "test"):
        side = split[name]
        rows.append((name, side["rows"], side["users"], side["items"]))
        if side["end"] is not None:
            start = "" if side["start"] is None else f"from {side['start']}, "
            notes.append(f"{name}: {start}before {side['end']}")
    columns = (
        Column("window", key=True, right=False),
        *(Column(title) for title in ("rows", "users", "items")),
    )
    if notes:
        gap, later = split["gap_rows"], split["later_rows"]
        notes.append(f"used by neither side: {gap:,} rows in the gap, {later:,} after the test")
    for name, log in facts.get("log", {}).items():
        notes.append(f"{name}: {log['rows']:,} rows, {log['exact_duplicates']:,} exact duplicates")
    if "train_rows" in facts.get("truth", {}):
        notes.append(f"train rows, which generators learn from: {facts['truth']['train_rows']:,}")
    return Table("Data", columns, (Group(None, tuple(rows)),), tuple(notes))


def _truth(counts: Mapping[str, Any], policies: Mapping[str, str]) -> Table | None:
    """Returns how the evaluated queries came about: every policy with its count, zeros too."""
    if not counts:
        return None
    rows: list[Row] = []
    for name, words in _TRUTH_STEPS:
        policy = _POLICY_OF.get(name, "")
        if policy in policies:
            said = policies[policy]
            known: int | None = None if said == "not applied" else 0
            if policy == "zero_relevant" and name not in counts:
                known, said = None, f"{said}; not known without users"
            rows.append((counts.get(name, known), f"{words} ({policy}: {said})"))
        elif name in counts:
            rows.append((counts[name], words))
    columns = (Column("count", key=True), Column("what", right=False))
    return Table("Ground truth", columns, (Group(None, tuple(rows)),))


def _lists(lists: Mapping[str, Mapping[str, int | None]]) -> Table | None:
    """Returns what was found in each generator's lists; for lists made here, their rows."""
    names = tuple(dict.fromkeys(name for counts in lists.values() for name in counts))
    if not names:
        return None
    rows: list[Row] = [
        (generator, *(counts.get(name) for name in names)) for generator, counts in lists.items()
    ]
    columns = [Column("generator", key=True, right=False)]
    columns += [Column(name.replace("_", " ")) for name in names]
    made_here = any(cell is None for row in rows for cell in row)
    notes = ("-  nothing to check: these lists were made here",) if made_here else ()
    return Table("Lists", tuple(columns), (Group(None, tuple(rows)),), notes)


def relevant_items(per_query: pl.DataFrame) -> dict[str, Any]:
    """Returns how |R| is distributed over the evaluated queries.

    Args:
        per_query: PER_QUERY; its queries are the same for every generator.

    Returns:
        queries, mean, median, max; shares: of the queries with 1, 2, 3-5, 6-10 and more
        relevant items, and with 0 where a policy evaluates such queries.

    Example:
        >>> table = pl.DataFrame({"generator": ["a"] * 4, "relevant": [1, 1, 2, 12]})
        >>> relevant_items(table)["shares"]
        {'1': 0.5, '2': 0.25, '3-5': 0.0, '6-10': 0.0, '>10': 0.25}
    """
    sizes = per_query.filter(pl.col(GENERATOR) == pl.col(GENERATOR).first())[RELEVANT]
    groups: tuple[tuple[str, int, int | None], ...] = SIZES
    if (sizes == 0).any():
        groups = (("0", 0, 0), *SIZES)
    counts = {
        label: int(((sizes >= least) if most is None else sizes.is_between(least, most)).sum())
        for label, least, most in groups
    }
    queries = sizes.len()
    return {
        "queries": queries,
        "mean": sizes.mean(),
        "median": sizes.median(),
        "max": sizes.max(),
        "shares": {label: count / queries for label, count in counts.items() if queries},
    }


def _sizes(per_query: pl.DataFrame) -> Table | None:
    found = relevant_items(per_query)
    if not found["queries"]:
        return None
    columns = [Column("items", right=False), *(Column(label) for label in found["shares"])]
    columns += [Column(name) for name in ("mean", "median", "max")]
    cells: list[Cell] = ["queries"]
    cells += [f"{share:.1%}" for share in found["shares"].values()]
    cells += [f"{found['mean']:.2f}", f"{found['median']:g}", found["max"]]
    title = "Relevant items of a query, |R|"
    return Table(title, tuple(columns), (Group(None, (tuple(cells),)),))


def _definition_lines(definitions: Mapping[str, Any]) -> list[str]:
    """Returns one line a group of options."""
    return [f"{name}: {_said(value)}" for name, value in definitions.items()]


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return _said([f"{key} {_said(each)}" for key, each in value.items()])
    if isinstance(value, list | tuple):
        return ", ".join(map(_said, value)) or "none"
    return "none" if value is None else str(value)


def _end(results: Results) -> Paragraph | None:
    facts = results.facts
    # Without a run and without constraints nobody asked for a verdict.
    asked = results.verdict.outcomes or "run_id" in facts
    lines = list(verdict_lines(results.verdict)) if asked else []
    if "seconds" in facts:
        memory = facts.get("peak_memory_mb")
        peak = "" if memory is None else f", {memory:,.0f} MB of memory at the peak"
        lines.append(Word(f"Took {facts['seconds']:,.1f} s{peak}", "plain"))
    if results.place:
        lines.append(Word(f"Written to {results.place}", "plain"))
    return Paragraph("", tuple(lines)) if lines else None
