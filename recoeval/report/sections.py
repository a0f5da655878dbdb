"""The sections of a report, in reading order: result tables in, rows to show out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from recoeval.analysis.constraints import Check, Verdict
from recoeval.analysis.summary import ALL, FEW_NON_ZERO, FEW_USERS
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    CI_HIGH,
    CI_LOW,
    GENERATOR,
    METRIC,
    QUERIES,
    RELEVANT,
    STATISTIC,
    TOO_FEW_USERS,
    USERS,
    VALUE,
)
from recoeval.metrics import Measure
from recoeval.report.values import (
    Cell,
    Column,
    Group,
    Interval,
    Paragraph,
    Rate,
    Section,
    Table,
    Tone,
    Word,
)

__all__ = ["Results", "relevant_items", "sections"]

SIZES: Final = (("1", 1, 1), ("2", 2, 2), ("3-5", 3, 5), ("6-10", 6, 10), (">10", 11, None))
"""Groups of queries by number of relevant items: label, least, most."""

_TRUTH_STEPS: Final = (
    ("test_rows", "rows in the test window"),
    ("truth_rows", "rows in the truth"),
    ("rule_was_null", "rows on which the rule is null: not relevant"),
    ("grades_not_relevant", "grades of 0 or less: not relevant"),
    ("relevant_rows", "relevant rows"),
    ("repeated_truth_rows", "rows that repeat a pair"),
    ("relevant_pairs", "relevant (query, item) pairs"),
    ("dropped_repeats", "pairs dropped: seen before"),
    ("dropped_cold_users", "pairs dropped: the user has no train row"),
    ("dropped_cold_items", "pairs dropped: the item has no train row"),
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
_LIST_COUNTS: Final = {
    "rows": "rows",
    "queries_left_out": "queries without truth: left out",
    "identical_rows": "identical rows: dropped",
    "repeated_items": "repeated items: dropped",
    "rank_gaps": "lists with rank gaps: closed",
    "disagreements": "lists whose rank and score disagree",
}
_TONES: Final[Mapping[str, Tone]] = {"pass": "good", "fail": "bad", "inconclusive": "doubt"}


@dataclass(frozen=True, slots=True)
class Results:
    """What a report tells.

    Args:
        summary: SUMMARY.
        per_query: PER_QUERY.
        measures: what was computed, in order.
        verdict: outcome of the constraints.
        facts: what the manifest holds; for an evaluation without a run, a part of it.
        place: where the run was written, "" if nowhere.
        config: the configuration's path as given, "" if there is none.
    """

    summary: pl.DataFrame
    per_query: pl.DataFrame
    measures: tuple[Measure, ...]
    verdict: Verdict
    facts: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    config: str = ""


def sections(results: Results) -> tuple[Section, ...]:
    """Returns the sections of a report in reading order, those without content left out."""
    facts = results.facts
    parts: list[Section | None] = [
        _heading(results),
        _data(facts.get("split")),
        _truth(facts.get("truth", {}), facts.get("definitions", {}).get("policies", {})),
        _lists(facts.get("lists", {})),
        _sizes(results.per_query),
        _metrics(results),
        *_by_bucket(results),
        _list_quality(results),
        _constraints(results.verdict),
        _paragraph("Definitions in force", _definitions(facts.get("definitions", {}))),
        _paragraph("Notes", map(str, facts.get("notes", ()))),
        _end(results),
    ]
    return tuple(part for part in parts if part is not None)


def _paragraph(title: str, lines: Iterable[str]) -> Paragraph | None:
    words = tuple(Word(line, "plain") for line in lines)
    return Paragraph(title, words) if words else None


def _heading(results: Results) -> Paragraph:
    facts = results.facts
    named = [f"recoeval {facts['recoeval']}"] if "recoeval" in facts else ["recoeval"]
    named += [str(facts[key]) for key in ("name", "run_id") if key in facts]
    lines = [Word("  ".join(named), "strong")]
    config = results.config
    if "config_sha256" in facts:
        config += f"  (sha256 {str(facts['config_sha256'])[:12]})"
    if config:
        lines.append(Word(f"config  {config.strip()}", "plain"))
    return Paragraph("", tuple(lines))


def _moment(text: str | None) -> str | None:
    """Returns a time to the second; the manifest has it to the microsecond."""
    return None if text is None else text[:19] + ("Z" if text.endswith("Z") else text[26:])


def _data(split: Mapping[str, Any] | None) -> Table | None:
    if split is None:
        return None
    columns = (
        Column("window", key=True, right=False),
        Column("from", right=False),
        Column("before", right=False),
        *(Column(title) for title in ("rows", "users", "items")),
    )
    rows: list[tuple[Cell, ...]] = []
    for name in ("train", "test"):
        side = split[name]
        sizes = (side["rows"], side["users"], side["items"])
        rows.append((name, _moment(side["start"]), _moment(side["end"]), *sizes))
    notes = []
    if split["test"]["end"] is not None:
        notes = [
            f"{split['gap_rows']:,} rows in the gap and {split['later_rows']:,} after the test "
            "window are used by neither side."
        ]
        rows[0] = (rows[0][0], "start of the log", *rows[0][2:])
    return Table("Data", columns, (Group(None, tuple(rows)),), tuple(notes))


def _truth(counts: Mapping[str, Any], policies: Mapping[str, str]) -> Table | None:
    """Returns how the evaluated queries came about: every policy's count, zeros too."""
    rows: list[tuple[Cell, ...]] = []
    for name, words in _TRUTH_STEPS:
        policy = _POLICY_OF.get(name)
        if policy in policies:
            said = policies[policy]
            shown = counts.get(name, None if said == "not applied" else 0)
            rows.append((shown, f"{words} ({policy}: {said})"))
        elif name in counts:
            rows.append((counts[name], words))
    if not counts:
        return None
    columns = (Column("count"), Column("what", right=False))
    return Table("Ground truth", columns, (Group(None, tuple(rows)),))


def _lists(lists: Mapping[str, Mapping[str, int | None]]) -> Table | None:
    names = list(dict.fromkeys(name for counts in lists.values() for name in counts))
    if not names:
        return None
    columns = [Column("generator", key=True, right=False)]
    columns += [Column(_LIST_COUNTS.get(name, name.replace("_", " "))) for name in names]
    rows = [
        (generator, *(counts.get(name) for name in names)) for generator, counts in lists.items()
    ]
    notes = ["-  not applicable: these lists were made here"] if _has_none(rows) else []
    return Table("Lists", tuple(columns), (Group(None, tuple(rows)),), tuple(notes))


def _has_none(rows: Iterable[Sequence[Cell]]) -> bool:
    return any(cell is None for row in rows for cell in row)


def relevant_items(per_query: pl.DataFrame) -> dict[str, Any]:
    """Returns how |R| is distributed over the evaluated queries.

    Args:
        per_query: PER_QUERY; the queries are the same for every generator.

    Returns:
        queries, mean, median, max; shares: of the queries with 1, 2, 3-5, 6-10 and more
        relevant items, and with 0 where a policy evaluates such queries.
    """
    first = per_query.filter(pl.col(GENERATOR) == per_query[GENERATOR].first())
    sizes = first[RELEVANT]
    groups = [("0", 0, 0)] if (sizes == 0).any() else []
    shares = {
        label: float(((sizes >= least) & (sizes <= (sizes.max() if most is None else most))).sum())
        / max(sizes.len(), 1)
        for label, least, most in (*groups, *SIZES)
    }
    return {
        "queries": sizes.len(),
        "mean": sizes.mean(),
        "median": sizes.median(),
        "max": sizes.max(),
        "shares": shares,
    }


def _sizes(per_query: pl.DataFrame) -> Table | None:
    found = relevant_items(per_query)
    if not found["queries"]:
        return None
    columns = [Column("relevant items", right=False), *(Column(label) for label in found["shares"])]
    columns += [Column(name) for name in ("mean", "median", "max")]
    cells: list[Cell] = ["share of queries"]
    cells += [f"{share:.1%}" for share in found["shares"].values()]
    cells += [f"{found['mean']:.2f}", f"{found['median']:g}", found["max"]]
    return Table("Relevant items of a query", tuple(columns), (Group(None, (tuple(cells),)),))


def _leading(results: Results) -> Measure | None:
    """Returns the measure shown with an interval: what is constrained first, or the first
    metric at its largest K."""
    macro = {m.label: m for m in results.measures if m.metric.statistic == "macro"}
    for check in results.verdict.checks:
        if check.metric in macro:
            return macro[check.metric]
    if not macro:
        return None
    name = next(iter(macro.values())).metric.name
    return max((m for m in macro.values() if m.metric.name == name), key=lambda m: m.depth)


def _metrics(results: Results) -> Table | None:
    """Returns generators x metrics over all evaluated users."""
    lead = _leading(results)
    if lead is None:
        return None
    others = [m for m in results.measures if m.metric.statistic == "macro" and m != lead]
    overall = results.summary.filter(pl.col(BUCKET_BY) == ALL)
    keys = (Column("generator", key=True, right=False),)
    rows: list[tuple[Cell, ...]] = []
    for name in overall[GENERATOR].unique(maintain_order=True):
        own = overall.filter(pl.col(GENERATOR) == name)
        rows.append((name, *_values(own, lead, others, "macro")))
        by_query = _values(own, lead, others, "macro_query")
        if _has_value(by_query) and by_query[0] != rows[-1][1]:
            rows.append((f"{name}, by query", *by_query))
    users, queries = overall[USERS].max(), overall[QUERIES].max()
    title = f"Metrics: means over {users:,} users"
    if users != queries:
        title += f" ({queries:,} queries; by query: means over queries)"
    return _numbers(title, keys, rows, lead, others)


def _has_value(cells: Iterable[Cell]) -> bool:
    return any(isinstance(cell, Rate) and cell.value is not None for cell in cells)


def _values(
    rows: pl.DataFrame, lead: Measure, others: Sequence[Measure], statistic: str
) -> tuple[Cell, ...]:
    """Returns the cells of one generator in one bucket: lead, its interval, the others."""
    found = {row[METRIC]: row for row in rows.iter_rows(named=True) if row[STATISTIC] == statistic}
    cells: list[Cell] = [_rate(found.get(lead.label))]
    if lead.metric.statistic == "macro":
        ends = found.get(lead.label, {})
        cells.append(Interval(ends.get(CI_LOW), ends.get(CI_HIGH)))
    return (*cells, *(_rate(found.get(measure.label)) for measure in others))


def _rate(row: Mapping[str, Any] | None) -> Rate:
    return Rate(None) if row is None else Rate(row[VALUE], bool(row[TOO_FEW_USERS]))


def _numbers(
    title: str,
    keys: Sequence[Column],
    rows: Sequence[tuple[Cell, ...]],
    lead: Measure,
    others: Sequence[Measure],
) -> Table:
    columns = [*keys, Column(lead.label), Column("95% interval")]
    columns += [Column(measure.label) for measure in others]
    rates = [cell for row in rows for cell in row if isinstance(cell, Rate)]
    notes = []
    if any(rate.few and rate.value is not None for rate in rates):
        notes.append(
            f"*  too few users: below {FEW_USERS}, or below {FEW_NON_ZERO} whose value is not 0; "
            "intervals are not to be trusted"
        )
    if any(rate.value is None for rate in rates):
        notes.append("-  no value: no users in this bucket")
    return Table(title, tuple(columns), (Group(None, tuple(rows)),), tuple(notes))


def _at_constrained_depths(results: Results, lead: Measure) -> list[Measure]:
    """Returns each metric at the K of the constraints, or at its largest K."""
    constrained = {check.metric for check in results.verdict.checks}
    depths = {m.k for m in results.measures if m.label in constrained} or {lead.k}
    by_name: dict[str, list[Measure]] = {}
    for measure in results.measures:
        if measure.metric.statistic == "macro":
            by_name.setdefault(measure.metric.name, []).append(measure)
    chosen: list[Measure] = []
    for same in by_name.values():
        at_depths = [measure for measure in same if measure.k in depths]
        chosen += at_depths or [max(same, key=lambda measure: measure.depth)]
    return [measure for measure in chosen if measure != lead]


def _by_bucket(results: Results) -> list[Table]:
    """Returns one table a bucket name: generators x buckets, with the number of users."""
    lead = _leading(results)
    if lead is None:
        return []
    others = _at_constrained_depths(results, lead)
    keys = [Column(title, key=True, right=False) for title in ("generator", "bucket")]
    keys.append(Column("users", key=True))
    tables = []
    for name in results.summary[BUCKET_BY].unique(maintain_order=True):
        if name == ALL:
            continue
        rows: list[tuple[Cell, ...]] = []
        part = results.summary.filter(pl.col(BUCKET_BY) == name)
        for own in part.partition_by(GENERATOR, BUCKET, maintain_order=True):
            about = own.select(GENERATOR, BUCKET, USERS).row(0)
            rows.append((*about, *_values(own, lead, others, "macro")))
        tables.append(_numbers(f"Metrics by {name}", keys, rows, lead, others))
    return tables


def _list_quality(results: Results) -> Table | None:
    """Returns generators x list-quality metrics."""
    asked = [m for m in results.measures if m.metric.statistic == "micro"]
    if not asked:
        return None
    overall = results.summary.filter(pl.col(BUCKET_BY) == ALL)
    rows = [
        (str(own[GENERATOR][0]), *_values(own, asked[0], asked[1:], "micro"))
        for own in overall.partition_by(GENERATOR, maintain_order=True)
    ]
    # The mark is about intervals, and these have none.
    plain = tuple(
        tuple(Rate(cell.value) if isinstance(cell, Rate) else cell for cell in row) for row in rows
    )
    columns = (Column("generator", key=True, right=False), *(Column(m.label) for m in asked))
    notes = []
    if any(isinstance(cell, Rate) and cell.value is None for row in plain for cell in row):
        notes.append("-  no value: no lists, or none with the scores that it needs")
    return Table("Quality of the delivered lists", columns, (Group(None, plain),), tuple(notes))


def _constraints(verdict: Verdict) -> Table | None:
    """Returns one group a constraint: generators and buckets with value, bounds and outcome."""
    if not verdict.outcomes:
        return None
    with_bucket = any(check.bucket_by != ALL for check in verdict.checks)
    columns = [Column("generator", key=True, right=False)]
    columns += [Column("bucket", key=True, right=False)] if with_bucket else []
    columns += [Column("users"), Column("value"), Column("one-sided bounds")]
    columns += [Column("outcome", right=False)]
    groups: dict[tuple[str, str], list[tuple[Cell, ...]]] = {}
    for check in verdict.checks:
        cells: list[Cell] = [check.generator]
        cells += [None if check.bucket_by == ALL else check.bucket] if with_bucket else []
        bounds = Interval(check.low, check.high) if check.low != check.high else None
        cells += [check.users, Rate(check.value), bounds, _outcome(check)]
        groups.setdefault((check.constraint, check.severity), []).append(tuple(cells))
    parts = []
    for (text, severity), rows in groups.items():
        parts.append(Group(Word(f"{text}  ({severity})", "strong"), tuple(rows)))
    notes = ["-  no bounds: the value itself decides, or fewer than 2 users"]
    return Table("Constraints", tuple(columns), tuple(parts), tuple(notes) if any(
        check.low == check.high for check in verdict.checks) else ())


def _outcome(check: Check) -> Word:
    text = check.outcome.upper() if check.outcome == "fail" else check.outcome
    if check.outcome == "inconclusive":
        needed = check.users_needed
        reason = f"n = {check.users}" if needed is None else f"needs about {needed:,} users"
        text += f" ({reason})"
    tone = _TONES[check.outcome]
    return Word(text, "doubt" if tone == "bad" and check.severity == "warn" else tone)


def _definitions(definitions: Mapping[str, Any]) -> list[str]:
    """Returns one line a group of options."""
    lines = []
    for name, value in definitions.items():
        if isinstance(value, Mapping):
            inner = ", ".join(f"{key} {_said(each)}" for key, each in value.items())
            lines.append(f"{name}: {inner or 'none'}")
        else:
            lines.append(f"{name}: {_said(value)}")
    return lines


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_said, value)) or "none"
    return "none" if value is None else str(value)


def _end(results: Results) -> Paragraph:
    verdict, facts = results.verdict, results.facts
    lines = [Word(verdict_text(verdict), _TONES[verdict.outcome])]
    if not verdict.outcomes:
        lines = [Word("Verdict: none, there are no constraints", "plain")]
    if "seconds" in facts:
        memory = facts.get("peak_memory_mb")
        peak = f", {memory:,.0f} MB at most" if memory is not None else ""
        lines.append(Word(f"Took {facts['seconds']:,.1f} s{peak}", "plain"))
    if results.place:
        lines.append(Word(f"Written to {results.place}", "plain"))
    return Paragraph("", tuple(lines))


def verdict_text(verdict: Verdict) -> str:
    """Returns the verdict in one line, with what was broken and what could not be decided.

    Example:
        >>> verdict_text(Verdict("pass", (), (("recall@5 >= 0.1", "warn", "als", "fail"),)))
        'Verdict: pass (exit code 0); of 1 outcomes 1 warns: als: recall@5 >= 0.1'
    """
    raise NotImplementedError
