"""Measurements as one Markdown table, with ratios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from scripts.bench_lib.contenders import Case, Contender
from scripts.bench_lib.processes import Usage

__all__ = ["Median", "markdown", "medians", "ratio", "table_of"]

HEAD = (
    *("size", "ids", "rows", "contender", "wall, s", "CPU, s", "memory, GB", "process, s"),
    *("wall / recoeval", "wall / scan", "memory / recoeval"),
)


@dataclass(frozen=True, slots=True)
class Median:
    """The medians of the rounds.

    Args:
        wall, cpu, process: seconds, as in `Usage`.
        memory: bytes.
    """

    wall: float
    cpu: float
    process: float
    memory: float


Medians = Mapping[tuple[Case, str], Median]
"""By data and contender."""


def medians(used: Mapping[tuple[Case, str], Sequence[Usage]]) -> dict[tuple[Case, str], Median]:
    """Returns medians over the rounds."""
    return {
        key: Median(
            median(each.wall for each in rounds),
            median(each.cpu for each in rounds),
            median(each.process for each in rounds),
            median(each.memory for each in rounds),
        )
        for key, rounds in used.items()
    }


def table_of(found: Medians, contenders: Iterable[Contender], failed: Mapping[object, str]) -> str:
    """Returns the table: one row a contender and case.

    Args:
        found: medians.
        contenders: in the order of the rows of a case.
        failed: why, by data and contender.
    """
    listed = list(contenders)
    cases = list(dict.fromkeys(case for case, _ in [*found, *failed]))
    rows = []
    for case in cases:
        ours, scan = found.get((case, "ours")), found.get((case, "scan"))
        for contender in listed:
            start = [case.size, case.ids, case.rows, contender.title]
            each = found.get((case, contender.name))
            if each is not None:
                rows.append([*start, *_numbers(each, ours, scan)])
            elif (case, contender.name) in failed:
                rows.append([*start, "failed", *[""] * 6])
    return markdown(HEAD, rows, texts=4)


def _numbers(each: Median, ours: Median | None, scan: Median | None) -> list[str]:
    return [
        seconds(each.wall),
        seconds(each.cpu),
        gigabytes(each.memory),
        seconds(each.process),
        ratio(each.wall, ours and ours.wall),
        ratio(each.wall, scan and scan.wall),
        ratio(each.memory, ours and ours.memory),
    ]


def seconds(value: float) -> str:
    """Returns seconds with three digits that count, at most two decimals."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def gigabytes(value: float) -> str:
    """Returns bytes as gigabytes of 10^9 bytes."""
    return f"{value / 1e9:.2f}"


def ratio(value: float, base: float | None) -> str:
    """Returns how many times the base it is, empty without a base.

    Example:
        >>> ratio(4.0, 2.0), ratio(300.0, 2.0), ratio(1.0, None)
        ('2.00', '150', '')
    """
    return seconds(value / base) if base else ""


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """Returns a Markdown table.

    Args:
        head: titles of the columns.
        rows: of texts.
        texts: how many columns are aligned left; the others hold numbers.
    """
    rule = ["---" if place < texts else "--:" for place in range(len(head))]
    lines = [head, rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
