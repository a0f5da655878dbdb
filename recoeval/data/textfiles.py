"""Text and JSON files: separators of any length, types inferred over whole files."""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

import polars as pl
from pydantic import model_validator

from recoeval.component import Component, Flag
from recoeval.data.cloud import for_each, is_remote, read_whole, scan_options
from recoeval.data.failures import UNREADABLE, unreadable
from recoeval.data.fileends import check_ends
from recoeval.data.files import SEPARATORS
from recoeval.errors import ConfigError, DataError, Problem, some

__all__ = ["Format"]

# Stands for a separator of several different characters while a file is read.
_STAND_IN: Final = "\x1f"

# How polars calls a column whose name is there already.
_SECOND: Final = "_duplicated_"

FileScan = Callable[[Sequence[int]], pl.LazyFrame]
"""Scans some of the files, by their position."""


class Format(Component):
    """How text files (csv, tsv, txt, dat) are written."""

    separator: str | None = None
    """Between fields, any length; default by ending: a tab in .tsv, else a comma.
    Texts are quoted (") only where it is one ASCII character."""
    header: Flag = True
    """Whether the first line of each file names the columns."""
    names: tuple[str, ...] | None = None
    """Names of the columns, in order, where the files do not have them (header: false)."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.separator is not None and (
            not self.separator or set(self.separator) & set('\r\n"')
        ):
            raise ValueError(
                f"separator: got {self.separator!r}; it has one character or more, "
                "none of them a quote or the end of a line"
            )
        if self.header and self.names is not None:
            raise ValueError("names are for files without a header: add header: false")
        if not self.header and not self.names:
            raise ValueError("header: false needs names: [user_id, item_id, ...]")
        if self.names and (twice := [n for n in self.names if self.names.count(n) > 1]):
            raise ValueError(f"names: {twice[0]!r} is there twice")
        return self


@dataclass(frozen=True, slots=True)
class _Text:
    """Text files of one format, ready to be scanned.

    Args:
        files: their names, for errors.
        sources: what polars reads for each.
        separator: as the user gave it.
        options: how polars reads them.
        said: where the user named them, for errors.
    """

    files: Sequence[str]
    sources: list[Any]
    separator: str
    options: dict[str, Any]
    said: str


def scan_text(files: Sequence[str], form: Format, ids: Collection[str], said: str) -> FileScan:
    """Returns a scan of text files, the columns named in `ids` read as text."""
    text = _prepare(files, form, said)
    raw, columns = _columns(text, form)
    check_ends(files, text.separator, len(raw), said)
    kept = dict(zip(raw, columns, strict=True))
    as_text = [old for old, new in kept.items() if new in ids]
    schema = _infer(text, raw, as_text)
    # Of a column without values nothing is known, so it fits whatever it is used for.
    void = {name for name, dtype in schema.items() if dtype == pl.Null}
    schema |= dict.fromkeys(void, pl.String())

    def scan_files(which: Sequence[int]) -> pl.LazyFrame:
        sources = [text.sources[index] for index in which]
        frame = pl.scan_csv(sources, schema=schema, **text.options)
        if not void and columns == raw:
            return frame
        return frame.select(
            (pl.col(old).cast(pl.Null) if old in void else pl.col(old)).alias(new)
            for old, new in kept.items()
        )

    return scan_files


def format_path(said: str) -> str:
    """Returns the place of `format` in the configuration, which stands beside the path."""
    return f"{said.removesuffix('.path').removesuffix('.table')}.format"


def _prepare(files: Sequence[str], form: Format, said: str) -> _Text:
    ending = Path(files[0].lower().removesuffix(".gz")).suffix
    separator = form.separator or SEPARATORS[ending]
    # polars separates at one character; more are replaced by one that texts do not have.
    same = len(separator) == 1 and separator.isascii()
    return _Text(
        files=files,
        sources=list(files) if same else [_stood_in(file, separator, said) for file in files],
        separator=separator,
        options={
            "separator": separator if same else _STAND_IN,
            # The stand-in would get into quoted texts.
            "quote_char": '"' if same else None,
            "has_header": form.header,
            "glob": False,
            **(scan_options(files[0]) if same else {}),
        },
        said=said,
    )


def _stood_in(file: str, separator: str, said: str) -> bytes:
    """Returns a file's text with a separator of one character, in memory."""
    content = read_whole(file, said) if is_remote(file) else _read_local(file, said)
    if _STAND_IN.encode() in content:
        raise DataError(
            Problem(f"{file} has the control character 0x1f in it: use another separator", said)
        )
    return content.replace(separator.encode(), _STAND_IN.encode())


def _read_local(file: str, said: str) -> bytes:
    try:
        with (gzip.open if file.endswith(".gz") else open)(file, "rb") as stream:
            content: bytes = stream.read()
            return content
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file, "text", error, said) from error


def _columns(text: _Text, form: Format) -> tuple[list[str], list[str]]:
    """Returns polars' names of all columns, and the names of the fields."""
    places = range(len(text.files))
    # What was read into memory needs no waiting.
    remote = is_remote(str(text.sources[0]))
    seen = list(for_each(partial(_header, text), places, remote=remote))
    for file, names in zip(text.files, seen, strict=True):
        if form.header and names != seen[0]:
            raise DataError(
                Problem(
                    f"{text.files[0]} and {file} differ in their columns: "
                    f"{some(seen[0], 20)} and {some(names, 20)}",
                    text.said,
                )
            )
        if form.names is not None and len(names) != len(form.names):
            raise ConfigError(
                Problem(
                    f"{len(form.names)} names, but {file} has {len(names)} fields with the "
                    f"separator {text.separator!r}",
                    format_path(text.said) + ".names",
                )
            )
    raw = seen[0]
    return raw, list(form.names) if form.names is not None else raw


def _header(text: _Text, index: int) -> list[str]:
    """Returns polars' names of the columns of a file."""
    try:
        frame = pl.scan_csv(text.sources[index], infer_schema_length=0, **text.options)
        names = frame.collect_schema().names()
    except UNREADABLE as error:
        raise unreadable(text.files[index], "text", error, text.said) from error
    if any("\0" in name for name in names):
        raise DataError(Problem(f"{text.files[index]} is not a text file", text.said))
    if text.options["has_header"] and any(_SECOND in name for name in names):
        _check_twice(text, index)
    return names


def _check_twice(text: _Text, index: int) -> None:
    """Raises if a header has a name twice; polars names the second one in its own way."""
    options = {**text.options, "has_header": False}
    line = pl.scan_csv(text.sources[index], infer_schema_length=0, n_rows=1, **options).collect()
    names = [name for name in line.row(0) if name]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            Problem(
                f"{text.files[index]}: the header has {some(twice)} twice; "
                "rename one of the columns",
                text.said,
            )
        )


def _infer(text: _Text, raw: Sequence[str], as_text: Collection[str]) -> dict[str, pl.DataType]:
    """Returns the dtypes of all columns, from all rows of all files; Null without a value.

    Raises:
        DataError: unreadable, lines with more fields than columns, another separator.
    """
    found: dict[str, pl.DataType] = {}
    for file, source in zip(text.files, text.sources, strict=True):
        options = {"schema_overrides": dict.fromkeys(as_text, pl.String), **text.options}
        try:
            frame = pl.scan_csv(source, infer_schema_length=None, **options)
            schema = frame.collect_schema()
            if len(schema) > len(raw):
                raise _ragged(text, file)
            # A scan of some columns ignores fields that are too many, so all are read once.
            counts = frame.select(pl.all().count()).collect(engine="streaming")
        except UNREADABLE as error:
            raise _unreadable_text(text, file, error) from error
        values = counts.row(0, named=True)
        for name, dtype in schema.items():
            known = dtype if values[name] or name in as_text else pl.Null()
            found[name] = _supertype(found.get(name, known), known) or pl.String()
    return found


def _unreadable_text(text: _Text, file: str, error: BaseException) -> DataError:
    """Returns what is wrong with the lines of a file."""
    if "more fields" not in str(error):
        return unreadable(file, "text", error, text.said)
    return _ragged(text, file)


def _ragged(text: _Text, file: str) -> DataError:
    quoted = "and are texts quoted?"
    if text.options["quote_char"] is None:
        quoted = "which no text may hold? (quotes are signs like others beside it)"
    return DataError(
        Problem(
            f"{file}: some lines have more fields than the first; is the separator "
            f"{text.separator!r}, {quoted}",
            text.said,
        )
    )


def scan_json(files: Sequence[str], said: str) -> FileScan:
    """Returns a scan of ndjson files; a key that is missing in a line is null."""
    options = scan_options(files[0])
    schema: dict[str, pl.DataType] = {}
    origin: dict[str, str] = {}
    for file in files:
        try:
            frame = pl.scan_ndjson(_named(file, said), infer_schema_length=None, **options)
            found = frame.collect_schema()
        except UNREADABLE as error:
            raise unreadable(file, "ndjson", error, said) from error
        for name, dtype in found.items():
            both = _supertype(schema.get(name, dtype), dtype)
            if both is None:
                raise DataError(
                    Problem(
                        f"{origin[name]} and {file} differ: "
                        f"column {name!r} is {schema[name]} and {dtype}",
                        said,
                    )
                )
            schema[name] = both
            origin.setdefault(name, file)

    def scan_files(which: Sequence[int]) -> pl.LazyFrame:
        names = [_named(files[index], said) for index in which]
        return pl.scan_ndjson(names, schema=schema, **options)

    return scan_files


def _named(file: str, said: str) -> str:
    """Returns how the ndjson scan of polars, which knows globs only, is told of a file.

    Raises:
        DataError: a name with special characters in an S3 store, where none can be escaped.
    """
    if is_remote(file) and glob.has_magic(file):
        raise DataError(
            Problem(f"{file}: ndjson files in S3 have no *, ? or [ in their names", said)
        )
    return file if is_remote(file) else glob.escape(file)


def _supertype(one: pl.DataType, two: pl.DataType) -> pl.DataType | None:
    """Returns the dtype that holds both: whole numbers and fractions go together."""
    if two in (one, pl.Null):
        return one
    if one == pl.Null:
        return two
    if one.is_numeric() and two.is_numeric():
        return pl.Float64() if one.is_float() or two.is_float() else pl.Int128()
    return None
