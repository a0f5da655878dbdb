"""What a run would do, and what there is to choose from: sections for the terminal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from recoeval.report.findings import finding_table, findings_line
from recoeval.report.health import health_tables
from recoeval.report.values import Column, Group, Paragraph, Section, Table, Tone, Word

__all__ = [
    "choice_section",
    "choice_table",
    "deep_sections",
    "flow",
    "plan_sections",
    "settings_line",
]

_PLAIN: Final = re.compile(r"[\w./~$][\w ./*?~$=+-]*")
"""Texts that need no quotes within a list or a mapping."""

FOUND: Final = "columns_found"
WORDS: Final = {FOUND: "columns", "columns": "renamed"}
CONSTRAINT_HEADS: Final = ("constraint", "generators", "severity", "decided by")


def plan_sections(plan: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns the sections of a plan; empty parts are left out.

    Args:
        plan: config (its path); inputs (for each how it is read, and columns_found); rules,
            generators, buckets (settings by name); constraints (constraint, generators,
            severity, confidence); estimate (see `estimate_table`); metrics, baselines, notes
            (texts); depth (items of a trained list), depths (of those that others read deeper);
            what_if (slots that are tried; null: no merges); funnel (stage, generator, k); output
            (the folder of the run).
    """
    inputs = [
        (_bare(name), WORDS.get(key, key), _pairs(value) if key == FOUND else flow(value, top=True))
        for name, options in plan["inputs"].items()
        for key, value in options.items()
    ]
    constraints = [
        (each["constraint"], ", ".join(each["generators"]), each["severity"], _decider(each))
        for each in plan["constraints"]
    ]
    named = {
        "Rules": ("rule", "in force"),
        "Generators": ("generator", "settings"),
        "Buckets": ("bucket", "settings"),
    }
    tables = [
        choice_table("Inputs", ("input", "setting", "value"), inputs),
        *(choice_table(title, heads, _rows(plan[title.lower()])) for title, heads in named.items()),
        choice_table("Constraints", CONSTRAINT_HEADS, constraints),
    ]
    lines = {
        "Metrics": ", ".join(plan["metrics"]),
        "Baselines": ", ".join(plan["baselines"]),
        "Lists": _depths(plan["depth"], plan["depths"]),
        "What if": _tries(plan["what_if"]),
        "Funnel": ", then ".join(
            f"{each['stage']}: the first {each['k']:,} of {each['generator']}"
            for each in plan["funnel"]
        ),
        "Output": plan["output"],
    }
    notes = tuple(Word(note, "doubt") for note in plan["notes"])
    return (
        Paragraph("", (Word(f"{plan['config']}: ok", "strong"),)),
        *(table for table in tables if table.rows),
        *(Paragraph(title, (Word(text, "plain"),)) for title, text in lines.items() if text),
        estimate_table(plan["estimate"]),
        *([Paragraph("Notes", notes)] if notes else []),
    )


def _depths(depth: int, deeper: Mapping[str, int]) -> str:
    """Returns how long lists are.

    Example:
        >>> _depths(100, {"als": 500})
        'trained generators give 100 items a query; what others read of them goes deeper: als 500'
    """
    text = f"trained generators give {depth:,} items a query"
    if not deeper:
        return text
    named = ", ".join(f"{name} {items:,}" for name, items in deeper.items())
    return f"{text}; what others read of them goes deeper: {named}"


def _tries(slots: Sequence[int] | None) -> str:
    """Returns what is tried with the channels of merges; None: there are no merges.

    Example:
        >>> _tries([50, 1000])
        'merges without each channel, and with 50, 1,000 more slots for it'
        >>> _tries([]), _tries(None)
        ('merges without each channel', '')
    """
    if slots is None:
        return ""
    more = ", ".join(f"{each:,}" for each in slots)
    return "merges without each channel" + (f", and with {more} more slots for it" if slots else "")


def estimate_table(found: Mapping[str, Any]) -> Table:
    """Returns about what a run takes, stage by stage; two digits, since it is no measurement.

    Args:
        found: stages (stage, rows, seconds, memory_mb; null: not known); seconds,
            peak_memory_mb; whole (whether all is known); queries_from. A stage with measured
            false is of a generator that is taken for popularity.
    """
    rows = [
        (each["stage"], each["rows"], *_about(each["seconds"], each["memory_mb"]))
        for each in found["stages"]
    ]
    whole = _about(found["seconds"], found["peak_memory_mb"])
    rows.append(("the run" if found["whole"] else "the run, at least", None, *whole))
    columns = (
        Column("stage", key=True, right=False),
        *(Column(title) for title in ("rows", "seconds", "MB")),
    )
    guessed = [each["stage"] for each in found["stages"] if not each.get("measured", True)]
    notes = [
        "an estimate for two cores, as if no rule left rows out",
        f"queries: about {found['queries_from']}",
    ]
    if guessed:
        notes.append(f"not known, taken for popularity: {', '.join(guessed)}")
    return Table("About what it takes", columns, (Group(None, tuple(rows)),), tuple(notes))


def _about(*values: float | None) -> list[str | None]:
    """Returns numbers with two digits that count, from 1 on.

    Example:
        >>> _about(0.21, 7.6, 1234.0, None)
        ['<1', '8', '1,200', None]
    """
    return [None if value is None else _two_digits(value) for value in values]


def _two_digits(value: float) -> str:
    if value < 1:
        return "<1"
    return f"{round(value, min(0, 1 - math.floor(math.log10(value)))):,.0f}"


def deep_sections(found: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns all that a deep check found.

    Args:
        found: audit (findings: severity, code, text, counts, generator, fold); health (name of
            a table -> flat records); self_check (laws, broken, queries, measures: how many).
    """
    table = finding_table(found["audit"], full=True)
    return (
        *health_tables(found["health"], full=True),
        *(() if table is None else (table,)),
        Paragraph("", (findings_line(found["audit"]), _tried(found["self_check"]))),
    )


def _tried(self_check: Mapping[str, int]) -> Word:
    """Returns what became of the laws of the engine."""
    laws, broken = self_check["laws"], self_check["broken"]
    said = f"{broken} of {laws} laws broken" if broken else f"all {laws} laws hold"
    queries, measures = (
        f"{self_check[name]:,} {one if self_check[name] == 1 else many}"
        for name, one, many in (
            ("queries", "query", "queries"),
            ("measures", "measure", "measures"),
        )
    )
    tone: Tone = "bad" if broken else "good"
    return Word(f"Self-check: {said}, tried with {queries} and {measures}", tone)


def _bare(name: str) -> str:
    """Returns the name of an input; lists bear that of their generator."""
    return name.removeprefix("lists[").removesuffix("]") if name.startswith("lists[") else name


def _decider(constraint: Mapping[str, Any]) -> str:
    confidence = constraint["confidence"]
    return "the value" if confidence is None else f"{confidence * 100:.12g}% bound"


def _pairs(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {words}" for name, words in columns.items())


def _rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, settings_line(value)) for name, value in settings.items()]


def settings_line(value: Any) -> str:
    """Returns settings in a line.

    Example:
        >>> settings_line({"type": "als", "factors": 64, "columns": {"rank": "pos"}})
        'type als, factors 64, columns {rank: pos}'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {flow(each, top=True)}" for key, each in value.items())
    return flow(value, top=True)


def flow(value: Any, *, top: bool = False) -> str:
    """Returns a value as YAML in one line.

    Args:
        value: plain data.
        top: text stands alone and needs no quotes; null is "none".

    Example:
        >>> flow({"separator": ",", "header": True, "names": ["a", "b c"], "rate": 2.0})
        '{separator: ",", header: true, names: [a, b c], rate: 2}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return value if top or _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if value is None and top:
        return "none"
    return f"{value:.12g}" if isinstance(value, float) else json.dumps(value)


def choice_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Returns a table of words: names first, what they mean behind them."""
    columns = [
        Column(heading, key=index + 1 < len(headings), right=False)
        for index, heading in enumerate(headings)
    ]
    return Table(title, tuple(columns), (Group(None, tuple(tuple(row) for row in rows)),))


def choice_section(headings: Sequence[str], rows: Iterable[tuple[str, str, str]]) -> Table:
    """Returns a table of what there is to choose from, those of one group together.

    Args:
        headings: of the name, and of what it means.
        rows: group ("" for none), name, meaning.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for group, name, text in rows:
        groups.setdefault(group, []).append((name, text))
    parts = tuple(
        Group(Word(title, "strong") if title else None, tuple(own)) for title, own in groups.items()
    )
    return replace(choice_table("", headings, ()), groups=parts)
