"""A report on the terminal: plain aligned columns that read well in a pipe, too.

Names come from data and configurations: nothing in them is markup, and what does not print is
shown as an escape.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Final

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from recoeval.report.values import (
    Cell,
    Column,
    Interval,
    Paragraph,
    Rate,
    Row,
    Section,
    Table,
    Tone,
    Word,
)

__all__ = ["cell_text", "open_console", "printable", "write_report"]

STYLES: Final[dict[Tone, str]] = {
    "plain": "",
    "strong": "bold",
    "good": "green",
    "bad": "bold red",
    "doubt": "yellow",
}
GAP: Final = 2
NARROWEST: Final = 8
WIDEST_TITLE: Final = 14
MARK: Final = "*"


def open_console(file: IO[str], *, width: int | None = None) -> Console:
    """Returns a console on a stream: colours on terminals alone, none under NO_COLOR.

    Args:
        file: where the text goes.
        width: columns, >= 1; default: those of the terminal, or 80.
    """
    return Console(
        file=file, width=width, markup=False, emoji=False, highlight=False, legacy_windows=False
    )


def printable(text: str) -> str:
    r"""Returns the text with everything that does not print as an escape.

    Example:
        >>> printable("red\x1b[31m")
        'red\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def write_report(sections: Iterable[Section], console: Console) -> None:
    """Writes the sections, an empty line between them.

    Args:
        sections: what to show, in order.
        console: where to.
    """
    for number, section in enumerate(sections):
        if number:
            console.print()
        if section.title:
            console.print(Text(printable(section.title), STYLES["strong"]))
        if isinstance(section, Paragraph):
            for line in section.lines:
                _print_line(console, line, indent=2 if section.title else 0)
        else:
            _print_table(console, section)


def _print_line(console: Console, line: Word, *, indent: int = 0) -> None:
    text = printable(line.text)
    own = len(text) - len(text.lstrip())
    body = Text(text.lstrip(), STYLES[line.tone], overflow="fold")
    console.print(Padding(body, (0, 0, 0, indent + own), expand=False))


def cell_text(cell: Cell) -> str:
    """Returns a cell as text: 4 decimals for values, separators of thousands, "-" for nothing.

    Example:
        >>> [cell_text(cell) for cell in (Rate(0.12345), 1234567, Rate(None), Rate(0.00001))]
        ['0.1235', '1,234,567', '-', '<0.0001']
    """
    match cell:
        case None:
            return "-"
        case Rate(value, few):
            return _decimals(value) + (MARK if few and value is not None else "")
        case Interval(low, high):
            return f"[{_decimals(low)}, {_decimals(high)}]"
        case Word(text, _):
            return printable(text)
        case int():
            return f"{cell:,}"
        case str():
            return printable(cell)


def _decimals(value: float | None) -> str:
    if value is None:
        return "-"
    shown = f"{value:.4f}"
    return "<0.0001" if value > 0 and float(shown) == 0 else shown


@dataclass(frozen=True, slots=True)
class _Strip:
    """A column laid out: its heading in lines, its cells, the width that they need."""

    column: Column
    heading: tuple[str, ...]
    cells: tuple[Text, ...]
    width: int

    @property
    def folds(self) -> bool:
        """Whether it may be narrower than its cells: running text, and names."""
        return self.column.key or not self.column.right


def _strip(column: Column, cells: Sequence[Cell]) -> _Strip:
    texts = [cell_text(cell) for cell in cells]
    if any(text.endswith(MARK) for text in texts):
        texts = [text if text.endswith(MARK) else f"{text} " for text in texts]
    width = max(map(cell_len, texts), default=0)
    heading = tuple(_heading(printable(column.title), width))
    tones = (cell.tone if isinstance(cell, Word) else "plain" for cell in cells)
    styled = tuple(Text(text, STYLES[tone]) for text, tone in zip(texts, tones, strict=True))
    return _Strip(column, heading, styled, max([width, *map(cell_len, heading)]))


def _heading(title: str, width: int) -> Iterator[str]:
    """Yields the lines of a heading: metrics break at their K, words at spaces."""
    for part in filter(None, re.split(r"(?=@)", title)):
        if cell_len(part) > max(width, WIDEST_TITLE):
            for piece in re.split(r"(?=\()", part):
                longest = max(map(len, piece.split()), default=1)
                yield from textwrap.wrap(piece, max(width, longest), break_long_words=False)
        else:
            yield part


def _print_table(console: Console, table: Table) -> None:
    rows = table.rows
    strips = [
        _strip(column, [row[number] for row in rows]) for number, column in enumerate(table.columns)
    ]
    for number, part in enumerate(_parts(strips, console.width - GAP)):
        if number:
            console.print()
        start = 0
        for group in table.groups:
            if group.title is not None:
                _print_line(console, group.title, indent=GAP)
            end = start + len(group.rows)
            first_key = [row[0] for row in rows[start:end]]
            grid = _grid(part, start, end, first_key, heading=start == 0)
            console.print(Padding(grid, (0, 0, 0, GAP), expand=False))
            start = end
    for note in table.notes:
        _print_line(console, Word(note, "plain"), indent=GAP)


def _parts(strips: Sequence[_Strip], width: int) -> Iterator[list[_Strip]]:
    """Yields the columns that fit side by side; the keys begin each part."""
    keys = [strip for strip in strips if strip.column.key]
    keys = [_narrowed(key, width // (len(keys) + 1)) for key in keys]
    taken = _width(keys)
    part = list(keys)
    for strip in (strip for strip in strips if not strip.column.key):
        room = width - _width(part) - GAP
        fitted = strip
        if strip.width > room and strip.folds and room >= min(strip.width, 2 * NARROWEST):
            fitted = _narrowed(strip, room)
        if fitted.width > room and len(part) > len(keys):
            yield part
            part, fitted = list(keys), _narrowed(strip, width - taken - GAP)
        part.append(fitted)
    yield part


def _narrowed(strip: _Strip, width: int) -> _Strip:
    if strip.width <= width or not strip.folds:
        return strip
    return _Strip(strip.column, strip.heading, strip.cells, max(width, NARROWEST))


def _width(strips: Sequence[_Strip]) -> int:
    return sum(strip.width + GAP for strip in strips) - GAP if strips else 0


def _grid(
    part: Sequence[_Strip], start: int, end: int, first: Sequence[Cell], *, heading: bool
) -> Grid:
    """Returns rows `start` to `end` as a grid; a first key that repeats is shown once."""
    grid = Grid.grid(padding=(0, GAP, 0, 0))
    for strip in part:
        justify = "right" if strip.column.right else "left"
        grid.add_column(width=strip.width, justify=justify, overflow="fold")
    if heading:
        height = max(len(strip.heading) for strip in part)
        titles = [("",) * (height - len(strip.heading)) + strip.heading for strip in part]
        grid.add_row(*("\n".join(lines) for lines in titles), style=STYLES["strong"])
        grid.add_row(*("-" * strip.width for strip in part))
    several_keys = sum(strip.column.key for strip in part) > 1
    for number in range(start, end):
        cells = [strip.cells[number] for strip in part]
        offset = number - start
        if several_keys and offset and first[offset] == first[offset - 1]:
            cells[0] = Text()
        grid.add_row(*cells)
    return grid
