"""Frames at the edge: what is accepted, columns renamed, ids normalised."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID, USER_ID
from recoeval.data.failures import dtype_name, gist, listed, reading
from recoeval.data.formats import open_table
from recoeval.errors import ConfigError, DataError, Problem, did_you_mean

__all__ = ["IdType", "as_printed", "normalise_ids", "rename", "to_frame"]

IdType = Literal["auto", "int", "text"]

# A whole number that prints back as it was read: '0012', '+1' and '-0' are text.
CANONICAL_INTEGER: Final = r"^(0|-?[1-9]\d{0,18})$"

# The first integer that Float64 cannot tell from its neighbour.
FLOAT_LIMIT: Final = 2**53

_INDEX: Final = re.compile(r"__index_level_\d+__")


def to_frame(obj: object, *, what: str) -> pl.LazyFrame:
    """Returns a lazy frame of anything tabular; the object itself is never changed.

    Args:
        obj: polars DataFrame or LazyFrame, an object with the Arrow stream protocol
            (pandas, pyarrow, a duckdb relation), or the path or glob of files.
        what: name of the table in errors: "recs".

    Raises:
        ConfigError: any other object.
        DataError: the path names nothing, or nothing readable; a lazy frame that asks for what
            is not there; columns that Arrow refuses, or two of one name.

    Example:
        >>> to_frame(pl.DataFrame({"a": [1]}), what="recs").collect().item()
        1
    """
    if isinstance(obj, pl.LazyFrame):
        return _resolved(obj, what)
    if isinstance(obj, pl.DataFrame):
        return obj.lazy()
    if isinstance(obj, str | Path):
        return _from_files(obj, what)
    if not hasattr(obj, "__arrow_c_stream__"):
        raise ConfigError(
            Problem(
                f"got a {type(obj).__module__}.{type(obj).__qualname__}; accepted are a polars "
                "frame (lazy too), an object with the Arrow stream protocol (pandas, pyarrow, "
                "duckdb) and the path or glob of files",
                what,
            )
        )
    frame = _from_stream(obj, what)
    return frame.select(name for name in frame.columns if not _INDEX.fullmatch(name)).lazy()


def _resolved(frame: pl.LazyFrame, what: str) -> pl.LazyFrame:
    """Returns the frame, whose files are there and whose columns are known."""
    try:
        frame.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise DataError(Problem(f"cannot be read: {gist(str(error))}", what)) from error
    return frame


def _from_stream(obj: Any, what: str) -> pl.DataFrame:
    """Returns the table of another library, which may raise whatever it likes."""
    try:
        return pl.DataFrame(obj)
    except (Exception, pl.exceptions.PanicException) as error:
        shape = isinstance(error, ValueError | TypeError | pl.exceptions.DuplicateError)
        hint = "; a column has one type, and a name of its own" if shape else ""
        said = gist(str(error)).rstrip(".")
        raise DataError(Problem(f"cannot be read: {said}{hint}", what)) from error


def _from_files(path: str | Path, what: str) -> pl.LazyFrame:
    """Returns files as a frame, the ids of text files with their zeros."""
    ids = (USER_ID, QUERY_ID, ITEM_ID)
    opened = open_table(path, None, said=what, ids=ids)
    present = [name for name in opened.frame.collect_schema() if name in ids]
    if not opened.text or not present:
        return opened.frame
    return normalise_ids(opened.frame, present, what=what, text=True)


def rename(
    frame: pl.LazyFrame, columns: Mapping[str, str], *, path: str, said: str
) -> pl.LazyFrame:
    """Returns the frame with its columns under our names.

    Args:
        frame: the data.
        columns: our name -> the name in the data.
        path: dotted path of the mapping in the configuration, for errors.
        said: what the data are called in errors.

    Raises:
        ConfigError: a name that the data do not have, a column named twice, or a new name
            that another column has already.
    """
    present = frame.collect_schema().names()
    problems = [
        Problem(
            f"unknown column {old!r} in {said}.{did_you_mean(old, present)} "
            f"Columns: {listed(present)}",
            f"{path}.{new}",
        )
        for new, old in columns.items()
        if old not in present
    ]
    by_old: dict[str, str] = {}
    for new, old in columns.items():
        if old in by_old:
            problems.append(
                Problem(f"column {old!r} is already named {by_old[old]}", f"{path}.{new}")
            )
        by_old.setdefault(old, new)
    problems += [
        Problem(
            f"{said} has a column {new!r} already, so {old!r} cannot be named so; "
            f"name that one too: columns: {{other_{new}: {new}}}",
            f"{path}.{new}",
        )
        for old, new in by_old.items()
        if new != old and old in present and new in present and new not in by_old
    ]
    if problems:
        raise ConfigError(*problems)
    return frame.rename({old: new for new, old in columns.items() if new != old})


def normalise_ids(
    frame: pl.LazyFrame,
    columns: Sequence[str],
    types: Mapping[str, IdType] | None = None,
    *,
    what: str,
    text: bool = False,
) -> pl.LazyFrame:
    """Returns the frame with its id columns as Int64 or String.

    Args:
        frame: the data.
        columns: id columns, each present in the frame.
        types: for each column "auto" (default; integers -> Int64, text -> String), "int"
            or "text".
        what: name of the table in errors: "interactions".
        text: the columns were read as text from a text file; under "auto" a column then
            becomes Int64 if every id of it prints back as it was read ('0012' does not).
            This reads the columns once.

    Raises:
        DataError: a dtype that cannot be an id. Values that do not convert raise when the
            frame is collected (see `reading`).
    """
    types = types or {}
    schema = frame.collect_schema()
    auto = [name for name in columns if text and types.get(name, "auto") == "auto"]
    integers = _canonical(frame, auto, what) if auto else set()
    wanted: dict[str, IdType] = {
        name: "int" if name in integers else types.get(name, "auto") for name in columns
    }
    problems = [
        Problem(message, f"{what}.{name}")
        for name in columns
        if (message := _unfit(schema[name], wanted[name], name))
    ]
    if problems:
        raise DataError(*problems)
    casts = [
        cast for name in columns if (cast := _id(name, schema[name], wanted[name])) is not None
    ]
    return frame.with_columns(casts) if casts else frame


def _canonical(frame: pl.LazyFrame, columns: Sequence[str], what: str) -> set[str]:
    """Returns the text columns that hold integers only, at least one."""
    tests = [
        test.alias(f"{name}{suffix}")
        for name in columns
        for suffix, test in (
            ("", (pl.col(name).str.contains(CANONICAL_INTEGER) & _fits(name)).all()),
            ("/count", pl.col(name).count() > 0),
        )
    ]
    with reading(what):
        row = frame.select(tests).collect(engine="streaming").row(0, named=True)
    return {name for name in columns if row[name] and row[f"{name}/count"]}


def _fits(name: str) -> pl.Expr:
    """Returns whether text is null or an integer of 64 bits."""
    return pl.col(name).is_null() | pl.col(name).cast(pl.Int64, strict=False).is_not_null()


def _unfit(dtype: pl.DataType, wanted: IdType, name: str) -> str:
    """Returns why a dtype cannot be an id, or ""."""
    if dtype.is_float():
        if wanted == "int":
            return ""
        option = "item_id_type" if name == ITEM_ID else "user_id_type"
        return f"{dtype} ids lose digits: cast them in the data, or {option}: int"
    if dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return ""
    return f"{dtype_name(dtype)} cannot be an id; expected integers or text"


def _id(name: str, dtype: pl.DataType, wanted: IdType) -> pl.Expr | None:
    """Returns the cast of an id column, None if it is as it should be."""
    if wanted == "int" or (wanted == "auto" and dtype.is_integer()):
        return whole_numbers(name, dtype)
    return None if dtype == pl.String else pl.col(name).cast(pl.String)


def whole_numbers(name: str, dtype: pl.DataType) -> pl.Expr | None:
    """Returns the cast of a column to Int64, None if it is; other values raise when collected."""
    column = pl.col(name)
    if dtype == pl.Int64:
        return None
    if dtype.is_float():
        whole = column.is_finite() & (column == column.round()) & (column.abs() < FLOAT_LIMIT)
        exact = column.cast(pl.Int64, strict=False).cast(pl.String)
        # Through text, so that the error shows the value as it is in the data.
        column = pl.when(whole).then(exact).otherwise(column.cast(pl.String)).alias(name)
    elif dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    return column.cast(pl.Int64)


def as_printed(name: str, dtype: pl.DataType) -> pl.Expr:
    """Returns a column of numbers as Float64, narrow floats as they print.

    Args:
        name: the column.
        dtype: its dtype.
    """
    column = pl.col(name)
    if dtype.is_float() and dtype != pl.Float64:
        # Through text, so that 0.1 stays 0.1, and not 0.10000000149.
        column = column.cast(pl.String)
    return column.cast(pl.Float64)
