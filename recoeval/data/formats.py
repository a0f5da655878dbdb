"""Files: any format by its ending, one file, a glob or a folder, as one lazy frame."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import polars as pl

from recoeval.data.failures import UNREADABLE, unreadable
from recoeval.data.textfiles import SEPARATORS, FileScan, Format, format_path, scan_json, scan_text
from recoeval.errors import ConfigError, DataError, Problem, some

__all__ = ["Format", "Opened", "open_table", "scan"]

_KINDS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "ipc",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    **dict.fromkeys(SEPARATORS, "text"),
}
_COMPRESSIBLE: Final = {"text", "ndjson"}
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
        path: a file, a glob or a folder; "~" is expanded. Folders named key=value give the
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
    path: str | Path, form: Format | None, *, said: str, ids: Iterable[str] = ()
) -> Opened:
    """Returns the table that a path names, as `scan` does.

    Args:
        path: a file, a glob or a folder.
        form: how text files are written.
        said: where the user named the path, for errors: "interactions.path".
        ids: columns of text files (names in the file) which are read as text.
    """
    files, depth = _find(path, said)
    kind = _kind(files[0])
    if kind != "text" and form is not None:
        raise ConfigError(
            Problem(f"format is for text files, and {files[0]} is {kind}", format_path(said))
        )
    partitions = _partitions(files, depth, said)
    if kind == "text":
        scanned = scan_text(files, form or Format(), frozenset(ids), said)
        frame = _scan_parts(scanned, files, partitions, said)
    elif kind == "ndjson":
        frame = _scan_parts(scan_json(files, said), files, partitions, said)
    else:
        frame = _scan_typed(files, str(kind), partitions, said)
    return Opened(frame, text=kind == "text")


def find_files(path: str | Path, *, said: str) -> list[str]:
    """Returns the data files that a path, glob or folder names, in order of name.

    Raises:
        DataError: there are none, or they are of several formats.
    """
    return _find(path, said)[0]


def _find(path: str | Path, said: str) -> tuple[list[str], int]:
    """Returns the data files, and how many parts of their paths the user gave as they are."""
    if not str(path).strip():
        raise DataError(Problem("the path is empty; the current folder is written .", said))
    wanted = Path(path).expanduser()
    text = str(wanted)
    fixed = len(wanted.parts)
    if wanted.is_file():
        found = [text]
    elif wanted.is_dir():
        found = _walk(wanted)
    elif glob.has_magic(text):
        fixed = next(index for index, part in enumerate(wanted.parts) if glob.has_magic(part))
        found = _matches(text, fixed)
    else:
        raise DataError(Problem(f"no such file or folder: {text}", said))
    endings = ", ".join(_KINDS)
    if not found:
        what = "has no data files in it" if wanted.is_dir() else "matches no data files"
        raise DataError(Problem(f"{text} {what} ({endings})", said))
    by_kind = {_kind(file): file for file in reversed(found)}
    if None in by_kind:
        raise DataError(
            Problem(f"{by_kind[None]}: unknown ending; expected one of {endings}", said)
        )
    if len(by_kind) > 1:
        raise DataError(
            Problem(f"{text} has files of several formats: {some(sorted(by_kind.values()))}", said)
        )
    return found, fixed


def _matches(pattern: str, fixed: int) -> list[str]:
    """Returns the files that a glob matches, and those in the folders that it matches."""
    found: list[str] = []
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207 (absolute ones too)
        path = Path(match)
        if not any(_skipped(part) for part in path.parts[fixed:]):
            found += _walk(path) if path.is_dir() else [match]
    # "**" gives a folder and what is in it.
    return list(dict.fromkeys(found))


def _walk(folder: Path) -> list[str]:
    """Returns the data files in and below a folder, in order of name."""
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _skipped(name))
        found += [
            str(Path(root, name))
            for name in sorted(files)
            if not _skipped(name) and _kind(name) is not None
        ]
    return found


def _skipped(name: str) -> bool:
    return name.startswith((".", "_"))


def _kind(file: str) -> str | None:
    """Returns the format of a file by its ending."""
    name = Path(file).name.lower()
    plain = name.removesuffix(".gz")
    kind = _KINDS.get(Path(plain).suffix)
    return None if name != plain and kind not in _COMPRESSIBLE else kind


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
    parquet = kind == "parquet"
    first: dict[str, pl.DataType] = {}
    for file in files:
        try:
            schema = dict(_parquet_schema(file) if parquet else pl.read_ipc_schema(file))
        except UNREADABLE as error:
            raise unreadable(file, kind, error, said) from error
        first = first or schema
        if difference := _difference(first, schema):
            raise DataError(Problem(f"{files[0]} and {file} differ: {difference}", said))
    hive = _partition_schema(partitions)
    _check_keys(hive, first, files[0], said)
    scanner = pl.scan_parquet if parquet else pl.scan_ipc
    keys = {part.split("=", 1)[0] for part in Path(files[0]).parts[:-1] if "=" in part}
    if hive and keys == set(hive):
        # polars takes all folders of a path, and leaves files of other folders unread.
        return scanner(list(files), glob=False, hive_partitioning=True, hive_schema=hive)

    def scan_files(which: Sequence[int]) -> pl.LazyFrame:
        return scanner([files[index] for index in which], glob=False, hive_partitioning=False)

    return _scan_parts(scan_files, files, partitions, said)


def _parquet_schema(file: str) -> pl.Schema:
    """Returns the schema of one file; polars' own function takes a name for a glob."""
    return pl.scan_parquet(file, glob=False, hive_partitioning=False).collect_schema()


def _difference(first: dict[str, pl.DataType], other: dict[str, pl.DataType]) -> str:
    """Returns the first difference between two schemas, or ""."""
    for name in first | other:
        one, two = first.get(name), other.get(name)
        if one != two:
            return f"column {name!r} is {one or 'missing'} and {two or 'missing'}"
    return ""
