"""What a run would do, and what there is to choose from: sections for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recoeval.report.values import Column, Group, Paragraph, Section, Table, Word

__all__ = ["choice_table", "plan_sections"]


def plan_sections(plan: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns the sections of a plan; empty parts are left out.

    Args:
        plan: config (its path), inputs (for each "name: dtype" of its columns), generators
            (for each its settings), depth (items of a trained list), metrics, buckets,
            constraints, baselines (texts).
    """
    inputs = [(name, ", ".join(columns)) for name, columns in plan["inputs"].items()]
    settings = [
        (name, ", ".join(f"{key} {value}" for key, value in options.items()))
        for name, options in plan["generators"].items()
    ]
    lines = {
        "Metrics": [", ".join(plan["metrics"])],
        "Lists": [f"trained generators give {plan['depth']:,} items a query"],
        **{name.capitalize(): plan[name] for name in ("buckets", "constraints", "baselines")},
    }
    return (
        Paragraph("", (Word(f"{plan['config']}: ok", "strong"),)),
        choice_table("Inputs", ("input", "columns"), inputs),
        choice_table("Generators", ("generator", "settings"), settings),
        *(
            Paragraph(title, tuple(Word(line, "plain") for line in texts))
            for title, texts in lines.items()
            if texts
        ),
    )


def choice_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Returns a table of words: names first, what they mean behind them."""
    columns = [
        Column(heading, key=index + 1 < len(headings), right=False)
        for index, heading in enumerate(headings)
    ]
    return Table(title, tuple(columns), (Group(None, tuple(tuple(row) for row in rows)),))
