"""The sections of a report, in reading order: result tables in, rows to show out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from recoeval.analysis.results import Evaluation
from recoeval.analysis.summary import ALL
from recoeval.analysis.verdict import Verdict
from recoeval.columns import BUCKET_BY, FOLD, GENERATOR, METRIC, RELEVANT, STATISTIC, VALUE
from recoeval.metrics import Measure
from recoeval.report.channels import DUPLICATES, channel_sections, duplicate_table
from recoeval.report.findings import finding_table, findings_line
from recoeval.report.folds import fold_tables, means_over_folds
from recoeval.report.health import health_tables
from recoeval.report.losses import leading_depth, loss_table, loss_tables_by_bucket, miss_section
from recoeval.report.numbers import (
    all_shown,
    bucket_tables,
    catalogue_tables,
    leading_measure,
    list_quality,
    metric_table,
    names_of_users,
    some_shown,
)
from recoeval.report.values import Cell, Column, Group, Paragraph, Row, Section, Table, Word
from recoeval.report.verdicts import constraint_table, verdict_lines

__all__ = ["Results", "relevant_items", "report_sections"]

SIZES: Final = (("1", 1, 1), ("2", 2, 2), ("3-5", 3, 5), ("6-10", 6, 10), (">10", 11, None))
"""Groups of queries by number of relevant items: label, least, most."""

_TRUTH_STEPS: Final = (
    ("test_rows", "rows in the test window"),
    ("truth_rows", "rows of truth"),
    ("rule_was_null", "rows on which the rule is null: not relevant"),
    ("grades_not_relevant", "rows graded 0 or less: not relevant"),
    ("outside_horizon", "rows that pass the rule outside the horizon: not relevant"),
    ("relevant_rows", "relevant rows"),
    ("repeated_truth_rows", "rows that repeat a pair"),
    ("relevant_pairs", "relevant pairs of query and item"),
    ("users_to_sample", "users to take a sample of"),
    ("sampled_users", "users in the sample: all that follows is theirs alone"),
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

CEILING: Final = "recall_ceiling"


@dataclass(frozen=True, slots=True)
class Results:
    """What a report tells.

    Args:
        evaluation: the result tables.
        verdict: outcome of the constraints.
        facts: what the manifest holds; without a run, the part of it that is known.
        given: what was asked for, by name: {"config": "nightly.yaml"}, {"recs": ..., "truth": ...}.
        place: where the run was written, "" if nowhere.
        misses: a sample of lost pairs, if one was asked for.
    """

    evaluation: Evaluation
    verdict: Verdict
    facts: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    misses: pl.DataFrame | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What the tables of metrics show: the ceiling stands in the table of losses."""
        whole = self.evaluation.measures
        rest = tuple(each for each in whole if each.metric.title != CEILING)
        return whole if self.evaluation.loss.is_empty() else rest

    @property
    def lead(self) -> Measure | None:
        """The measure that everything else is about."""
        return leading_measure(self.measures, self.verdict)

    @property
    def depth(self) -> int | None:
        """The K at which lost pairs are told; None is the whole list."""
        k = None if self.lead is None else self.lead.k
        return leading_depth(self.evaluation.loss, k)


def report_sections(results: Results, *, full: bool = False) -> tuple[Section, ...]:
    """Returns the sections of a report in reading order; what has no content is left out.

    What decides comes first, then whom and what it is about, then how it came about.

    Args:
        results: what to tell.
        full: everything that is known; else what a reader acts on.
    """
    facts = results.facts
    definitions = facts.get("definitions", {})
    parts: list[Section | None] = [
        _heading(results),
        _verdict(results),
        *_numbers(results, full=full),
        _data(facts),
        _truth(facts.get("truth", {}), definitions.get("policies", {})),
        _lists(facts.get("lists", {})),
        duplicate_table(facts.get("lists", {})),
        _sizes(results.evaluation.per_query),
        *health_tables(facts.get("health", {}), full=full),
        _paragraph("Definitions in force", _definition_lines(definitions)),
        _paragraph("Notes", map(str, facts.get("notes", ()))),
        _end(results),
    ]
    return tuple(part for part in parts if part is not None)


def _numbers(results: Results, *, full: bool) -> Iterator[Section | None]:
    """Yields the tables of metrics, what was held against them, and what became of the truth."""
    evaluation, verdict, lead = results.evaluation, results.verdict, results.lead
    measures, folds = results.measures, evaluation.folds
    summary, count = evaluation.summary, evaluation.summary[FOLD].n_unique()
    if count > 1:
        summary = means_over_folds(summary, folds)
    if lead is not None:
        yield metric_table(summary, all_shown(measures, lead, interval=count == 1), folds=count)
    yield constraint_table(verdict, evaluation.summary, measures)
    yield finding_table(results.facts.get("audit", ()), full=full)
    if not evaluation.loss.is_empty():
        yield from _losses(results, summary, full=full)
    if results.misses is not None:
        yield miss_section(results.misses, results.depth)
    names = _by_importance(results, summary)
    yield from channel_sections(evaluation, names if full else names[:1], lead, full=full)
    if lead is not None:
        some = some_shown(measures, lead, verdict, full=full)
        by_bucket = replace(some, interval=count == 1)
        yield from bucket_tables(summary, by_bucket, full=full)
        yield from fold_tables(evaluation.summary, folds, some)
    yield list_quality(summary, measures)
    yield from catalogue_tables(summary, measures, full=full)


def _losses(results: Results, summary: pl.DataFrame, *, full: bool) -> Iterator[Section]:
    """Yields where the lost recall went, overall and by the bucket that matters most."""
    loss, k = results.evaluation.loss, results.depth
    rows = summary.filter(
        pl.col(METRIC) == CEILING, pl.col(BUCKET_BY) == ALL, pl.col(STATISTIC) == "macro"
    )
    yield loss_table(loss, k, dict(rows.select(GENERATOR, VALUE).iter_rows()))
    names = _by_importance(results, summary)
    yield from loss_tables_by_bucket(loss, k, names if full else names[:1], full=full)


def _by_importance(results: Results, summary: pl.DataFrame) -> list[str]:
    """Returns the names of the buckets of queries, those with a constraint first."""
    constrained = [check.bucket_by for check in results.verdict.checks]
    return sorted(names_of_users(summary), key=lambda name: name not in constrained)


def _verdict(results: Results) -> Paragraph | None:
    """Returns the verdict with its reasons, and how much the audit found."""
    lines: list[Word] = []
    if _is_judged(results):
        lines += verdict_lines(results.verdict)
    if "audit" in results.facts:
        lines.append(findings_line(results.facts["audit"]))
    return Paragraph("", tuple(lines)) if lines else None


def _is_judged(results: Results) -> bool:
    """Returns whether anybody asked for a verdict: a run, or constraints."""
    verdict = results.verdict
    return bool(
        verdict.outcomes or verdict.suspicions or verdict.failures or "run_id" in results.facts
    )


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
    lines += _sample_line(facts.get("truth", {}))
    return Paragraph("", tuple(lines))


def _sample_line(counts: Mapping[str, int]) -> list[Word]:
    """Returns that the numbers are those of a sample, if they are."""
    if "sampled_users" not in counts:
        return []
    chosen, whole = counts["sampled_users"], counts["users_to_sample"]
    text = f"A sample of the users: {chosen:,} of {whole:,}; all numbers are theirs alone"
    return [Word(text, "doubt")]


def _data(facts: Mapping[str, Any]) -> Table | None:
    """Returns rows, users and items of each side; below them the windows, to the microsecond."""
    splits = facts.get("splits", ())
    if not splits:
        return None
    several = len(splits) > 1
    rows: list[Row] = []
    notes: list[str] = []
    for split in splits:
        fold: list[Cell] = [str(split["fold"])] if several else []
        for name in ("train", "test"):
            side = split[name]
            rows.append((*fold, name, side["rows"], side["users"], side["items"]))
        notes += _window_lines(split, several=several)
    for name, log in facts.get("log", {}).items():
        notes.append(f"{name}: {log['rows']:,} rows, {log['exact_duplicates']:,} exact duplicates")
    notes += _role_lines(facts)
    if "train_rows" in facts.get("truth", {}):
        notes.append(f"train rows, which generators learn from: {facts['truth']['train_rows']:,}")
    columns = (
        *([Column("fold", key=True, right=False)] if several else []),
        Column("window", key=True, right=False),
        *(Column(title) for title in ("rows", "users", "items")),
    )
    return Table("Data", columns, (Group(None, tuple(rows)),), tuple(notes))


def _role_lines(facts: Mapping[str, Any]) -> list[str]:
    """Returns what the other tables hold, and what of it did not count; zeros are left out."""
    told = dict(facts.get("roles", {}))
    truth = facts.get("truth", {})
    told["exposures"] = {
        name.removeprefix("exposure_"): truth[name]
        for name in ("exposure_rows", "exposure_was_null", "exposed_pairs")
        if name in truth
    }
    return [
        f"{role}: "
        + ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items() if n)
        for role, counts in told.items()
        if any(counts.values())
    ]


def _window_lines(split: Mapping[str, Any], *, several: bool) -> list[str]:
    """Returns the windows of a split, and what neither side uses; of one of several in a line."""
    lines = []
    for name in ("train", "test"):
        side = split[name]
        if side["end"] is not None:
            start = "" if side["start"] is None else f"from {side['start']}, "
            lines.append(f"{name}: {start}before {side['end']}")
    if lines:
        earlier = split.get("earlier_rows", 0)
        before = f"{earlier:,} rows before the train window, " if earlier else ""
        gap, later = split["gap_rows"], split["later_rows"]
        unused = f"{before}{gap:,} rows in the gap, {later:,} after the test"
        lines.append(f"used by neither side: {unused}")
    if split.get("users_too_short"):
        users = f"{split['users_too_short']:,}"
        lines.append(f"users with too few relevant rows for a test row: {users}")
    if several and lines:
        return [f"fold {split['fold']}: {'; '.join(lines)}"]
    return lines


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
            rows += _of_kinds(counts, name, words)
    columns = (Column("count", key=True), Column("what", right=False))
    return Table("Ground truth", columns, (Group(None, tuple(rows)),))


def _of_kinds(counts: Mapping[str, Any], name: str, words: str) -> list[Row]:
    """Returns the same count for each kind of positives, where there are several."""
    own = [(key, count) for key, count in counts.items() if key.startswith(f"{name}[")]
    return [(count, f"  {words}: {key[len(name) + 1 : -1]}") for key, count in own]


def _lists(lists: Mapping[str, Mapping[str, int | None]]) -> Table | None:
    """Returns what was found in each generator's lists; for lists made here, their rows."""
    known = dict.fromkeys(name for counts in lists.values() for name in counts)
    # What merges passed over has a table of its own.
    names = tuple(name for name in known if not name.startswith(DUPLICATES))
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
    # Again, without its reasons: the end is what stays on a terminal.
    lines = list(verdict_lines(results.verdict)[:1]) if _is_judged(results) else []
    if "seconds" in facts:
        memory = facts.get("peak_memory_mb")
        peak = "" if memory is None else f", {memory:,.0f} MB of memory at the peak"
        lines.append(Word(f"Took {facts['seconds']:,.1f} s{peak}", "plain"))
    if results.place:
        lines.append(Word(f"Written to {results.place}", "plain"))
    return Paragraph("", tuple(lines)) if lines else None
