"""Columns side by side: how wide each is, and which ones continue below."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

__all__ = ["GAP", "Strip", "lay_out", "strip_of"]

GAP: Final = 2
"""Spaces between columns."""

_NARROWEST: Final = 12
"""Names and running text are not folded below this width."""

Measure = Callable[[str], int]
"""Columns that a text takes on the terminal."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A column of a table, laid out.

    Args:
        index: its position in the table.
        above: first line of its heading, shared with neighbours that have the same; "".
        heading: further lines of the heading.
        width: columns on the terminal.
        key: shown again in each part of a wide table.
        right: aligned at the right.
    """

    index: int
    above: str
    heading: tuple[str, ...]
    width: int
    key: bool
    right: bool


def strip_of(
    index: int, title: str, cells: Sequence[str], *, key: bool, right: bool, measure: Measure
) -> Strip:
    """Returns a column that is as wide as its cells and its heading need.

    A metric's K goes below its name, other headings are broken at spaces.

    Example:
        >>> strip_of(0, "recall@10", ["0.1000"], key=False, right=True, measure=len).heading
        ('@10',)
    """
    above, at, depth = title.rpartition("@")
    needed = max(map(measure, cells), default=0)
    if at and above:
        heading: tuple[str, ...] = (f"@{depth}",)
    else:
        above = ""
        longest = max(map(measure, title.split()), default=1)
        heading = tuple(textwrap.wrap(title, max(needed, longest), break_on_hyphens=False))
    width = max([needed, *map(measure, heading)])
    return Strip(index, above, heading, width, key, right)


def lay_out(strips: Sequence[Strip], width: int, measure: Measure) -> list[list[Strip]]:
    """Returns the parts of a table that fit into the width, each with all key columns.

    Names are folded rather than torn from their values. Metrics at several K stay together
    where they can.

    Args:
        strips: all columns, in order.
        width: columns of the terminal.
        measure: how wide a text is.
    """
    keys = [strip for strip in strips if strip.key]
    rest = [strip for strip in strips if not strip.key]
    runs = [_widened(list(run), measure) for _, run in groupby(rest, _shared)]
    excess = _width([*keys, *(strip for run in runs for strip in run)]) - width
    spare = sum(max(strip.width - _NARROWEST, 0) for strip in keys)
    if excess > spare:
        # The table goes on below; the less the names take, the fewer parts it has.
        excess = _width(keys) - width * 2 // 5
    keys = _narrowed(keys, max(excess, 0))
    parts: list[list[Strip]] = [list(keys)]
    for run in _fitting(runs, width - _width(keys) - GAP, measure):
        if _width([*parts[-1], *run]) > width and len(parts[-1]) > len(keys):
            parts.append(list(keys))
        parts[-1] += run
    return parts


def _shared(strip: Strip) -> str | int:
    return strip.above or strip.index


def _width(strips: Sequence[Strip]) -> int:
    return sum(strip.width for strip in strips) + GAP * (len(strips) - 1)


def _widened(run: list[Strip], measure: Measure) -> list[Strip]:
    """Returns columns below one heading, the first of them wide enough for all of it."""
    missing = measure(run[0].above) - _width(run)
    return [replace(run[0], width=run[0].width + missing), *run[1:]] if missing > 0 else run


def _narrowed(keys: list[Strip], excess: int) -> list[Strip]:
    """Returns the key columns, the widest of them folded by `excess` altogether."""
    for strip in sorted(keys, key=lambda strip: -strip.width):
        less = min(excess, max(strip.width - _NARROWEST, 0))
        keys = [replace(s, width=s.width - less) if s is strip else s for s in keys]
        excess -= less
    return keys


def _fitting(runs: list[list[Strip]], room: int, measure: Measure) -> Iterator[list[Strip]]:
    """Yields the runs; those wider than the room column by column, running text folded."""
    for run in runs:
        if _width(run) <= room:
            yield run
            continue
        for strip in run:
            single = _widened([strip], measure)[0] if len(run) > 1 else strip
            folded = max(min(single.width, room), _NARROWEST)
            yield [single if single.right else replace(single, width=folded)]
