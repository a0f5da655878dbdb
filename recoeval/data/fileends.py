"""The ends of text files: whether the last line was written to its end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from recoeval.data.cloud import is_remote
from recoeval.errors import DataError, Problem

__all__ = ["check_ends"]

_TAIL: Final = 2**16
_REMEDY: Final = "was it written to its end? If so, end its last line"


def check_ends(files: Sequence[str], separator: str, fields: int, said: str) -> None:
    """Raises if a file ends within a line: the rest of it is missing as well.

    A last line without a line end is one that was cut if it has too few fields, or if other files
    of the same writer end their lines. Packed files say themselves where they end, and of files
    in a store the end is not read.

    Args:
        files: text files of one table.
        separator: between fields.
        fields: of a line.
        said: where the user named them, for errors.
    """
    looked_at = [file for file in files if not is_remote(file) and not file.lower().endswith(".gz")]
    open_ends = {file: last for file in looked_at if (last := _open_end(file))}
    for file, last in open_ends.items():
        found = last.count(separator.encode()) + 1
        # A quoted text may hold separators.
        if found < fields and b'"' not in last:
            text = f"{file} ends within a line, {found} of {fields} fields: {_REMEDY}"
            raise DataError(Problem(text, said))
    if open_ends and len(open_ends) < len(looked_at):
        first = next(iter(open_ends))
        other = next(file for file in looked_at if file not in open_ends)
        text = f"{first} ends within a line, and {other} does not: {_REMEDY}"
        raise DataError(Problem(text, said))


def _open_end(file: str) -> bytes:
    """Returns the last line of a file if nothing ends it, else nothing."""
    with Path(file).open("rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - _TAIL))
        return content.read().rpartition(b"\n")[2].strip()
