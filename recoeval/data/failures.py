"""What polars says when it cannot read something, put into our words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl

from recoeval.columns import TIMESTAMP
from recoeval.data.cloud import is_remote
from recoeval.data.cloudfailures import cloud_cause, cloud_place, is_cloud_failure
from recoeval.errors import DataError, Problem

__all__ = ["UnreadableError", "reading"]

# Not the errors that a mistake in our own code makes, such as ColumnNotFoundError.
UNREADABLE: Final = (
    pl.exceptions.ComputeError,
    pl.exceptions.DuplicateError,
    pl.exceptions.InvalidOperationError,
    pl.exceptions.NoDataError,
    pl.exceptions.OutOfBoundsError,
    pl.exceptions.SchemaError,
    pl.exceptions.ShapeError,
    pl.exceptions.PanicException,
    OSError,
)
_CONVERSION: Final = re.compile(
    r"conversion from `[^`]*` to `([^`]*)` failed in column '(.*?)' "
    r"for (\d+) out of \d+ values: \[(.*?)\](?:\n|$)",
    re.DOTALL,
)
_LOCAL_TIME: Final = re.compile(
    r"datetime '([^']*)' is (ambiguous|non-existent) in time zone '([^']*)'"
)
_DAMAGED: Final = "cannot be read: "
_KINDS: Final = {"i64": "whole number", "f64": "number", "datetime": "ISO 8601 time"}


class UnreadableError(DataError):
    """Bytes that are not what the file's format says; which file it is, is not known yet."""


@contextmanager
def reading(what: str, *, time: str = TIMESTAMP) -> Iterator[None]:
    """Returns a context in which unreadable data raise a `DataError`.

    Args:
        what: what is being read, as the user knows it: "interactions", "lists[als]".
        time: the column of times.

    Raises:
        DataError: a file ends too early or has another format, a value cannot be read as
            its column's type. Errors of the program itself (a column that the code asked
            for in vain) pass through.

    Example:
        >>> with reading("log"):
        ...     pl.DataFrame({"n": ["x"]}).select(pl.col("n").cast(pl.Int64))
        Traceback (most recent call last):
        recoeval.errors.DataError: log.n: at least 1 value is no whole number, e.g. "x"
    """
    try:
        yield
    except UNREADABLE as error:
        problem = _explain(str(error), what, time)
        known = not problem.message.startswith(_DAMAGED)
        raise (DataError if known else UnreadableError)(problem) from error


def unreadable(file: str, kind: str, error: BaseException, path: str) -> DataError:
    """Returns the error of a file that is not what its ending says, or that is not to be had."""
    if is_cloud_failure(str(error)):
        return DataError(Problem(f"{file}: {gist(str(error))}", path))
    if is_empty(file):
        return empty(file, path)
    return DataError(Problem(f"{file} is not a readable {kind} file: {gist(str(error))}", path))


def is_empty(file: str) -> bool:
    """Returns whether a file of this machine has no bytes at all."""
    return not is_remote(file) and Path(file).is_file() and Path(file).stat().st_size == 0


def empty(file: str, path: str) -> DataError:
    """Returns the error of a file that was made and not written."""
    return DataError(Problem(f"{file} is empty: it has 0 bytes", path))


def listed(columns: Iterable[str], limit: int = 30) -> str:
    """Returns column names as a list in an error, cut after 30."""
    names = [printable(name) for name in columns]
    return ", ".join(names[:limit]) + (", ..." if len(names) > limit else "")


def printable(text: str) -> str:
    """Returns text with its control characters escaped."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def dtype_name(dtype: pl.DataType) -> str:
    """Returns the name of a dtype, without the parameters that say nothing to a user."""
    plain = isinstance(dtype, pl.Datetime | pl.Duration | pl.Decimal | pl.Enum)
    return type(dtype).__name__ if plain else str(dtype)


def gist(text: str) -> str:
    """Returns the message of a polars error before its hints, on one line."""
    if is_cloud_failure(text):
        return cloud_cause(text)
    return printable(" ".join(text.split("\n\n", maxsplit=1)[0].split()))


def _explain(text: str, what: str, time: str) -> Problem:
    """Returns the problem that a message of polars means."""
    if found := _CONVERSION.search(text):
        column, count = found[2], int(found[3])
        kind = next((word for key, word in _KINDS.items() if found[1].startswith(key)), found[1])
        if column == time and found[1] == "i64":
            kind = "time"
        said = f"1 value is no {kind}" if count == 1 else f"{count} values are no {kind}s"
        return Problem(f"at least {said}, e.g. {printable(found[4])}", f"{what}.{column}")
    if found := _LOCAL_TIME.search(text):
        return Problem(
            f"the local time {found[1]} is {found[2]} in {found[3]}, where the clock changes; "
            "write the times with an offset, in UTC or as epoch",
            f"{what}.{time}",
        )
    if is_cloud_failure(text) and (place := cloud_place(text)):
        return Problem(f"{place} cannot be read: {gist(text)}", what)
    return Problem(f"{_DAMAGED}{gist(text)}", what)
