"""A report on the terminal: plain aligned columns that read well in a pipe, too.

Names come from data and configurations: nothing in them is markup, and what does not print is
shown as an escape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recoeval.report.layout import GAP, Strip, lay_out, strip_of
from recoeval.report.values import (
    MARK,
    Cell,
    Count,
    Interval,
    Paragraph,
    Rate,
    Section,
    Share,
    Table,
    Tone,
    Word,
    printable,
)

__all__ = ["cell_text", "open_console", "write_report"]

STYLES: Final[dict[Tone, str]] = {
    "plain": "",
    "strong": "bold",
    "good": "green",
    "bad": "bold red",
    "doubt": "yellow",
}
INDENT: Final = 2


def open_console(file: IO[str], *, width: int | None = None) -> Console:
    """Returns a console on a stream: colours on terminals alone, none under NO_COLOR.

    Args:
        file: where the text goes.
        width: columns, >= 1; default: those of the terminal, or 80.
    """
    return Console(
        file=file, width=width, markup=False, emoji=False, highlight=False, legacy_windows=False
    )


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
            _print_line(console, Word(section.title, "strong"))
        if isinstance(section, Paragraph):
            for line in section.lines:
                _print_line(console, line, indent=INDENT if section.title else 0)
        else:
            _print_table(console, section)


def _print_line(console: Console, line: Word, *, indent: int = 0) -> None:
    text = printable(line.text)
    space = " " * (indent + len(text) - len(text.lstrip()))
    body = Text(text.strip(), STYLES[line.tone])
    room = max(console.width - len(space), 1)
    for part in body.wrap(console, room, overflow="fold"):
        _emit(console, Text(space) + part)


def cell_text(cell: Cell) -> str:
    """Returns a cell as text: 4 decimals for values, separators of thousands, "-" for nothing.

    Example:
        >>> [cell_text(cell) for cell in (Rate(0.12345), 1234567, Rate(None), Share(0.123))]
        ['0.1235', '1,234,567', '-', '12.3%']
    """
    match cell:
        case None:
            return "-"
        case Rate(value, few):
            return _decimals(value) + (MARK if few and value is not None else "")
        case Share(value):
            return _percent(value)
        case Count(number, few):
            return f"{number:,}" + (MARK if few else "")
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


def _percent(share: float | None) -> str:
    """Returns percent with one decimal; neither nothing nor all where it is not."""
    if share is None:
        return "-"
    shown = f"{share:.1%}"
    if share > 0 and shown == "0.0%":
        return "<0.1%"
    return ">99.9%" if share < 1 and shown == "100.0%" else shown


def _print_table(console: Console, table: Table) -> None:
    rows = table.rows
    texts = [_column_texts([row[index] for row in rows]) for index in range(len(table.columns))]
    strips = [
        strip_of(
            index,
            printable(column.title),
            [text.plain for text in texts[index]],
            key=column.key,
            right=column.right,
            measure=cell_len,
        )
        for index, column in enumerate(table.columns)
    ]
    for number, part in enumerate(lay_out(strips, console.width - INDENT, cell_len)):
        if number:
            console.print()
        _print_heading(console, part)
        start = 0
        for group in table.groups:
            if group.title is not None:
                _print_line(console, group.title, indent=INDENT)
            end = start + len(group.rows)
            _print_rows(console, part, texts, range(start, end))
            start = end
    for note in table.notes:
        _print_line(console, Word(note, "plain"), indent=INDENT)


def _column_texts(cells: Sequence[Cell]) -> list[Text]:
    """Returns the cells of a column; where one has a mark, the digits of all stay aligned."""
    texts = [cell_text(cell) for cell in cells]
    marked = any(isinstance(cell, Rate | Count) and cell.few for cell in cells)
    if marked:
        texts = [text if text.endswith(MARK) else f"{text} " for text in texts]
    tones = [cell.tone if isinstance(cell, Word) else "plain" for cell in cells]
    return [Text(text, STYLES[tone]) for text, tone in zip(texts, tones, strict=True)]


def _print_heading(console: Console, part: Sequence[Strip]) -> None:
    height = max(len(strip.heading) for strip in part)
    if any(strip.above for strip in part):
        # A shared line stands over the first of its columns and runs on over the others.
        line, column, last = " " * INDENT, INDENT, ""
        for strip in part:
            if strip.above and strip.above != last:
                line += " " * (column - cell_len(line)) + strip.above
            last, column = strip.above, column + strip.width + GAP
        _emit(console, Text(line, STYLES["strong"]))
    for number in range(height):
        cells = []
        for strip in part:
            lines = ("",) * (height - len(strip.heading)) + strip.heading
            cells.append(Text(lines[number], STYLES["strong"]))
        _emit_cells(console, part, cells)
    _emit_cells(console, part, [Text("-" * strip.width) for strip in part])


def _print_rows(
    console: Console, part: Sequence[Strip], texts: Sequence[Sequence[Text]], rows: range
) -> None:
    """Prints rows; where several keys say what a row is, a first one that repeats is left out."""
    several_keys = sum(strip.key for strip in part) > 1
    for row in rows:
        cells = [texts[strip.index][row] for strip in part]
        first = texts[part[0].index]
        if several_keys and row > rows.start and first[row] == first[row - 1]:
            cells[0] = Text()
        _emit_cells(console, part, cells)


def _emit_cells(console: Console, part: Sequence[Strip], cells: Sequence[Text]) -> None:
    """Prints one row; a cell that is too wide goes on below itself."""
    folded = [
        cell.wrap(console, strip.width, overflow="fold")
        for strip, cell in zip(part, cells, strict=True)
    ]
    for number in range(max(map(len, folded))):
        line = Text(" " * INDENT)
        for position, (strip, lines) in enumerate(zip(part, folded, strict=True)):
            piece = lines[number].copy() if number < len(lines) else Text()
            space = " " * (strip.width - piece.cell_len)
            gap = " " * GAP if position else ""
            line.append(gap + space if strip.right else gap)
            line.append_text(piece)
            line.append("" if strip.right else space)
        _emit(console, line)


def _emit(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, no_wrap=True, overflow="ignore", crop=False)
