"""TREC files: qrels (qid iter docid grade) and runs (qid Q0 docid rank score tag)."""

from __future__ import annotations

import glob
import zlib
from pathlib import Path
from typing import Final, Literal

import polars as pl

from recoeval.columns import GAIN, GENERATOR, ITEM_ID, QUERY_ID, SCORE
from recoeval.data.cloud import is_remote, read_head, scan_options
from recoeval.data.failures import UNREADABLE, unreadable
from recoeval.data.files import kind_of, location
from recoeval.errors import DataError, Problem, some

__all__ = ["scan_qrels", "scan_run", "sniff"]

_FIELDS: Final = {"qrels": 4, "run": 6}
_LAYOUT: Final = {"qrels": "qid iter docid grade", "run": "qid Q0 docid rank score tag"}
_LINE: Final = "line"
_SHOWN: Final = 5
_HEAD: Final = 65536


def sniff(path: str | Path) -> Literal["qrels", "run"] | None:
    """Returns what kind of TREC file a path is by its first line that is not blank.

    Args:
        path: a file, here (.gz too) or in an S3 store. Anything else (a glob, a folder, a
            missing file) is None.

    Returns:
        "qrels" for 4 fields the last of which is a whole number, "run" for 6 fields the
        fifth of which is a number, else None.
    """
    file = location(path)
    head = _remote_head(file) if is_remote(file) else _local_head(Path(file))
    if head is None:
        return None
    line = next((line for line in head.splitlines() if line.strip()), b"")
    try:
        fields = line.decode("utf-8-sig").split()
    except UnicodeDecodeError:
        return None
    if len(fields) == 4 and _is_number(fields[3], int):
        return "qrels"
    if len(fields) == 6 and _is_number(fields[4], float):
        return "run"
    return None


def _local_head(file: Path) -> bytes | None:
    if not file.is_file():
        return None
    try:
        # A binary file may have no line end at all.
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
        # What is left of a file that was cut is of the same kind.
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return unpacker.decompress(head, _HEAD) if file.suffix == ".gz" else head
    except (OSError, zlib.error):
        return None


def _remote_head(file: str) -> bytes | None:
    """Returns the first bytes of a file in a store, unless its name says what it is."""
    if glob.has_magic(file) or file.endswith(("/", ".gz")) or kind_of(file) not in (None, "text"):
        return None
    return read_head(file, _HEAD)


def _is_number(text: str, kind: type[int] | type[float]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def scan_qrels(path: str | Path) -> pl.LazyFrame:
    """Returns the judgements of a qrels file, in the order of the file.

    Args:
        path: the file; fields are separated by any white space. Local ones may be packed (.gz).

    Returns:
        query_id, item_id (String), gain (Float64: the grade, which may be 0 or negative).
        A judgement that is there twice stays twice.

    Raises:
        DataError: unreadable, a line without 4 fields, a grade that is no whole number, or
            two grades for one document of a query.
    """
    rows = _read(path, "qrels").select(
        pl.col("0").alias(QUERY_ID),
        pl.col("2").alias(ITEM_ID),
        pl.col("3").alias("grade"),
        pl.col(_LINE),
    )
    rows = _numbers(rows, "grade", pl.Int64(), "a grade is a whole number", path)
    rows = rows.rename({"grade": GAIN}).with_columns(pl.col(GAIN).cast(pl.Float64))
    pairs = rows.group_by(QUERY_ID, ITEM_ID).agg(
        pl.col(GAIN).n_unique().alias("grades"), pl.col(_LINE).max()
    )
    twice = pairs.filter(pl.col("grades") > 1).sort(_LINE)
    if twice.height:
        raise DataError(
            Problem(
                f"{twice.height} (query, document) pairs have several grades, "
                f"e.g. {some(twice.select(QUERY_ID, ITEM_ID).head(_SHOWN + 1).rows())}",
                f"{location(path)}:{twice[_LINE][0]}",
            )
        )
    return rows.select(QUERY_ID, ITEM_ID, GAIN).lazy()


def scan_run(path: str | Path) -> pl.LazyFrame:
    """Returns the lists of a run file, in the order of the file; its ranks are ignored.

    Args:
        path: the file; fields are separated by any white space. Local ones may be packed (.gz).

    Returns:
        query_id, item_id (String), score (Float64, of 32 bits of precision, as trec_eval
        holds it), generator (String: the tag).

    Raises:
        DataError: unreadable, a line without 6 fields, or a score that is no finite number.
    """
    rows = _read(path, "run").select(
        pl.col("0").alias(QUERY_ID),
        pl.col("2").alias(ITEM_ID),
        pl.col("4").alias(SCORE),
        pl.col("5").alias(GENERATOR),
        pl.col(_LINE),
    )
    rows = _numbers(rows, SCORE, pl.Float64(), "a score is a finite number", path)
    # As trec_eval holds them, so that the same documents tie.
    held = pl.col(SCORE).cast(pl.Float32).cast(pl.Float64)
    return rows.drop(_LINE).with_columns(held).lazy()


def _read(path: str | Path, kind: Literal["qrels", "run"]) -> pl.DataFrame:
    """Returns the fields of all lines that are not blank: columns 0, 1, ... and line."""
    file = location(path)
    count = _FIELDS[kind]
    words = pl.col("text").str.replace_all(r"\s+", " ").str.strip_chars(" ")
    try:
        rows = (
            pl.scan_lines(
                file,
                name="text",
                row_index_name=_LINE,
                row_index_offset=1,
                glob=False,
                **scan_options(file),
            )
            # A byte-order mark is no part of the first query id.
            .with_columns(pl.col("text").str.strip_prefix("\ufeff"))
            .with_columns(words)
            .filter(pl.col("text") != "")
            .with_columns(pl.col("text").str.count_matches(" ", literal=True).alias("gaps"))
            .collect()
        )
    except UNREADABLE as error:
        raise unreadable(file, f"TREC {kind}", error, "") from error
    bad = rows.filter(pl.col("gaps") != count - 1)
    if bad.height:
        first = bad.row(0, named=True)
        raise DataError(
            Problem(
                f"expected {count} fields ({_LAYOUT[kind]}), got {first['gaps'] + 1}: "
                f"{first['text'][:80]!r}{_others(bad)}",
                f"{file}:{first[_LINE]}",
            )
        )
    if rows.is_empty():
        raise DataError(Problem("no lines", file))
    fields = pl.col("text").str.split_exact(" ", count - 1)
    fields = fields.struct.rename_fields([str(index) for index in range(count)])
    return rows.select(_LINE, fields.alias("fields")).unnest("fields")


def _others(bad: pl.DataFrame) -> str:
    """Returns how many more lines are bad, and which."""
    if bad.height == 1:
        return ""
    return f"; {bad.height} such lines: {some(bad[_LINE].head(_SHOWN + 1).to_list())}"


def _numbers(
    rows: pl.DataFrame, column: str, dtype: pl.DataType, law: str, path: str | Path
) -> pl.DataFrame:
    """Returns the rows with a column of text as finite numbers."""
    value = pl.col(column).cast(dtype, strict=False)
    good = value.is_finite() if dtype.is_float() else value.is_not_null()
    bad = rows.filter(~good.fill_null(False))
    if bad.height:
        raise DataError(
            Problem(
                f"{law}, got {bad[column][0]!r}{_others(bad)}",
                f"{location(path)}:{bad[_LINE][0]}",
            )
        )
    return rows.with_columns(value)
