"""What a report is made of: plain, immutable values that every renderer can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "MARK",
    "Cell",
    "Column",
    "Count",
    "Group",
    "Interval",
    "Paragraph",
    "Rate",
    "Row",
    "Section",
    "Share",
    "Table",
    "Tone",
    "Word",
    "printable",
]

MARK: Final = "*"
"""Stands behind numbers of too few users."""

Tone = Literal["plain", "strong", "good", "bad", "doubt"]


@dataclass(frozen=True, slots=True)
class Rate:
    """The value of a metric, shown with 4 decimals.

    Args:
        value: the number; None where there is none.
        few: marked: too few users have a value that is not 0.
    """

    value: float | None
    few: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, shown in percent.

    Args:
        value: from 0 to 1; None where there is no whole.
    """

    value: float | None


@dataclass(frozen=True, slots=True)
class Count:
    """A number of users.

    Args:
        number: how many.
        few: marked: too few for any interval.
    """

    number: int
    few: bool = False


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of an interval; None for an end that is not known."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Word:
    """A text that matters more than others."""

    text: str
    tone: Tone


Cell = str | int | Count | Rate | Share | Interval | Word | None
"""Text, a count, a value of a metric, a share, an interval; None where nothing is to show."""

Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        title: its heading: words, or a metric such as "recall@10".
        key: says what a row is about; shown again where a wide table continues below.
        right: aligned at the right, as numbers are.
    """

    title: str
    key: bool = False
    right: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a table, below a heading of their own if there is one."""

    title: Word | None
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: groups of rows, one cell a column.

    Args:
        notes: what the reader has to know about the cells.
    """

    title: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for group in self.groups for row in group.rows)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of text below a title, "" for none."""

    title: str
    lines: tuple[Word, ...]


Section = Table | Paragraph


def printable(text: str) -> str:
    r"""Returns the text with everything that does not print as an escape.

    Example:
        >>> printable("red\x1b[31m")
        'red\\x1b[31m'
    """
    if text.isprintable():
        return text
    escaped = (char.encode("unicode_escape").decode("ascii") for char in text)
    return "".join(
        char if char.isprintable() else escape for char, escape in zip(text, escaped, strict=True)
    )
