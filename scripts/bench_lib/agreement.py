"""Whether all contenders found the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scripts.bench_lib.table import markdown

__all__ = ["DIFFERENCES", "agreement_text", "differing"]

DIFFERENCES = (
    (
        "map",
        ("rectools", "rectools_each", "pytrec_eval", "ranx"),
        "divide by the number of relevant items, not by at most K: `auprc@K`, which does the same",
    ),
    (
        "mrr",
        ("pytrec_eval",),
        "knows whole lists alone: the value counts where it is at least 1 / K",
    ),
    (
        "ndcg",
        ("rectools", "rectools_each"),
        "its default holds every list against K hits: asked for `divide_by_achievable=True`",
    ),
    (
        "all",
        ("train",),
        "seen items leave lists and truth: its rounds are held against one another",
    ),
)
"""Metric, contenders whose definition differs, why and what is compared instead."""


def differing(
    found: Mapping[str, Sequence[Mapping[str, float]]],
    expected: Mapping[str, float],
    tolerances: Mapping[str, float | None],
) -> list[str]:
    """Returns one line for each value that is not what it should be.

    Args:
        found: means by label, one mapping a round, by contender.
        expected: means by label.
        tolerances: largest absolute difference by contender; None: its rounds are held against
            each other alone.
    """
    lines = []
    for name, rounds in found.items():
        tolerance = tolerances[name]
        against = expected if tolerance is not None else rounds[0]
        for number, values in enumerate(rounds, start=1):
            if tolerance is not None and not values:
                lines.append(f"{name}, round {number}: no values")
            for label, value in values.items():
                if label not in against:
                    lines.append(f"{name}, round {number}: {label} is not known")
                # Written so that NaN differs.
                elif not abs(value - against[label]) <= (tolerance or 0.0):
                    lines.append(
                        f"{name}, round {number}: {label} is {value!r}, not {against[label]!r}"
                    )
    return lines


def agreement_text(titles: Mapping[str, str]) -> str:
    """Returns what is said where all values agree; nothing where nobody was compared.

    Args:
        titles: of those who took part, by name.
    """
    if not titles.keys() - {"ours", "scan", "train"} or "ours" not in titles:
        return ""
    rows = [
        (metric, "; ".join(titles[name] for name in whose if name in titles), why)
        for metric, whose, why in DIFFERENCES
        if titles.keys() & set(whose)
    ]
    text = (
        "All found the same means, over all users and in every bucket: recoeval to the last bit,\n"
        "whatever the ids and the order of the rows, the others within 1e-9.\n"
    )
    head = ("metric", "whose", "definition, and what is compared")
    return f"{text}\nDefinitions differ:\n\n{markdown(head, rows, texts=3)}" if rows else text
