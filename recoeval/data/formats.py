"""Files: any format by its ending, one file, a glob or a folder, as one lazy frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import polars as pl

from recoeval.data.cloud import for_each, is_remote, scan_options
from recoeval.data.failures import UNREADABLE, unreadable
from recoeval.data.files import find
from recoeval.data.textfiles import FileScan, Format, format_path, scan_json, scan_text
from recoeval.errors import ConfigError, DataError, Problem, some

__all__ = ["Format", "Opened", "open_table", "scan"]

_SCANNERS: Final[Mapping[str, Callable[..., pl.LazyFrame]]] = {
    "parquet": pl.scan_parquet,
    "ipc": pl.scan_ipc,
}
_NULL_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_INTEGER: Final = re.compile(r"0|-?[1-9]\d{0,17}")


@dataclass(frozen=True, slots=True)
class Opened:
    """A table that was opened, not read.

    Args:
        frame: its rows.
        text: whether it is a text file, whose id columns came as text.
    """

    frame: pl.LazyFrame
    text: bool


def scan(path: str | Path, form: Format | None = None, *, where_said: str) -> pl.LazyFrame:
    """Returns a lazy frame of the files that a path names.

    Args:
        path: a file, a glob or a folder, here ("~" is expanded) or in an S3 store
            (s3://bucket/key). Folders named key=value give the
            column `key`, if they are below the folder, or match the glob from its first
            special character on. Hidden files and those that begin with "_" are skipped.
        form: how text files are written.
        where_said: where the user said so, for errors: "interactions.path".

    Raises:
        ConfigError: `format` for files that are no text, or names that do not fit.
        DataError: nothing is there, or a file is not what its ending says.
    """
    return open_table(path, form, said=where_said).frame


def open_table(
    path: str | Path,
    form: Format | None,
    *,
    said: str,
    ids: Iterable[str] = (),
    stem: str | None = None,
) -> Opened:
    """Returns the table that a path names, as `scan` does.

    Args:
        path: a file, a glob or a folder.
        form: how text files are written.
        said: where the user named the path, for errors: "interactions.path".
        ids: columns of text files (names in the file) which are read as text.
        stem: only files of this name, endings left out; None: all of them.
    """
    found = find(path, said, stem)
    files, kind = found.files, found.kind
    if kind != "text" and form is not None:
        raise ConfigError(
            Problem(f"format is for text files, and {files[0]} is {kind}", format_path(said))
        )
    partitions = _partitions(files, found.fixed, said)
    if kind == "text":
        scanned = scan_text(files, form or Format(), frozenset(ids), said)
        frame = _scan_parts(scanned, files, partitions, said)
    elif kind == "ndjson":
        frame = _scan_parts(scan_json(files, said), files, partitions, said)
    else:
        frame = _scan_typed(files, kind, partitions, said)
    return Opened(frame, text=kind == "text")


def _partitions(files: Sequence[str], depth: int, said: str) -> list[dict[str, str | None]]:
    """Returns the key=value folders of each file, from a depth of its path on."""
    found = []
    for file in files:
        pairs = [part.split("=", 1) for part in Path(file).parts[depth:-1] if "=" in part]
        found.append(
            {key: None if value == _NULL_PARTITION else unquote(value) for key, value in pairs}
        )
        if found[-1].keys() != found[0].keys():
            raise DataError(
                Problem(
                    f"{files[0]} and {file} differ in their partitions: "
                    f"{some(found[0]) or 'none'} and {some(found[-1]) or 'none'}",
                    said,
                )
            )
    return found


def _partition_schema(partitions: Sequence[dict[str, str | None]]) -> dict[str, pl.DataType]:
    """Returns the dtypes of partition columns: Int64, Date or String."""
    schema: dict[str, pl.DataType] = {}
    for key in partitions[0]:
        values = [value for part in partitions if (value := part[key]) is not None]
        if values and all(_INTEGER.fullmatch(value) for value in values):
            schema[key] = pl.Int64()
        elif values and all(_DAY.fullmatch(value) for value in values):
            schema[key] = pl.Date()
        else:
            schema[key] = pl.String()
    return schema


def _scan_parts(
    scan_files: FileScan,
    files: Sequence[str],
    partitions: Sequence[dict[str, str | None]],
    said: str,
) -> pl.LazyFrame:
    """Returns all files as one frame, with the partition columns."""
    schema = _partition_schema(partitions)
    if not schema:
        return scan_files(range(len(partitions)))
    _check_keys(schema, scan_files([0]).collect_schema(), files[0], said)
    groups = groupby(range(len(partitions)), key=lambda index: tuple(partitions[index].items()))
    return pl.concat(
        [
            scan_files(list(group)).with_columns(
                _literal(value, schema[key]).alias(key) for key, value in pairs
            )
            for pairs, group in groups
        ]
    )


def _check_keys(keys: Iterable[str], columns: Collection[str], file: str, said: str) -> None:
    """Raises if a folder and a column of the files have one name."""
    if twice := [key for key in keys if key in columns]:
        raise DataError(
            Problem(
                f"{file}: {twice[0]!r} is a folder ({twice[0]}=...) and a column of the file; "
                "leave the column out, or rename one of them",
                said,
            )
        )


def _literal(value: str | None, dtype: pl.DataType) -> pl.Expr:
    literal = pl.lit(value, dtype=pl.String)
    return literal.str.to_date("%Y-%m-%d") if dtype == pl.Date else literal.cast(dtype)


def _scan_typed(
    files: Sequence[str], kind: str, partitions: Sequence[dict[str, str | None]], said: str
) -> pl.LazyFrame:
    """Returns parquet or Arrow IPC files as one frame; every file's schema is looked at."""
    first: dict[str, pl.DataType] = {}
    schema_of = partial(_typed_schema, kind=kind, said=said)
    schemas = for_each(schema_of, files, remote=is_remote(files[0]))
    for file, schema in zip(files, schemas, strict=True):
        first = first or schema
        if difference := _difference(first, schema):
            raise DataError(Problem(f"{files[0]} and {file} differ: {difference}", said))
    hive = _partition_schema(partitions)
    _check_keys(hive, first, files[0], said)
    scanner = partial(_SCANNERS[kind], glob=False, **scan_options(files[0]))
    keys = {part.split("=", 1)[0] for part in Path(files[0]).parts[:-1] if "=" in part}
    if hive and keys == set(hive):
        # polars takes all folders of a path, and leaves files of other folders unread.
        return scanner(list(files), hive_partitioning=True, hive_schema=hive)

    def scan_files(which: Sequence[int]) -> pl.LazyFrame:
        return scanner([files[index] for index in which], hive_partitioning=False)

    return _scan_parts(scan_files, files, partitions, said)


def _typed_schema(file: str, *, kind: str, said: str) -> dict[str, pl.DataType]:
    """Returns the schema of one file; polars' own functions take a name for a glob."""
    options = scan_options(file, header=True)
    try:
        frame = _SCANNERS[kind](file, glob=False, hive_partitioning=False, **options)
        return dict(frame.collect_schema())
    except UNREADABLE as error:
        raise unreadable(file, kind, error, said) from error


def _difference(first: dict[str, pl.DataType], other: dict[str, pl.DataType]) -> str:
    """Returns the first difference between two schemas, or ""."""
    for name in first | other:
        one, two = first.get(name), other.get(name)
        if one != two:
            return f"column {name!r} is {one or 'missing'} and {two or 'missing'}"
    return ""
