"""How many rows files have, from their footers or their beginnings; nothing is read whole."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from recoeval.data.files import find_files, kind_of

__all__ = ["count_rows"]

HEAD: Final = 2**18
"""Bytes of a text file that tell how long its lines are."""


def count_rows(path: str, *, said: str, items: bool = False) -> int | None:
    """Returns how many rows the files of a path have: exact, or about that for text files.

    Args:
        path: a file, a glob or a folder.
        said: where the user said so, for errors.
        items: rows with list columns count once for each item of a list.

    Returns:
        None where the headers do not tell: files elsewhere, or damaged ones.

    Raises:
        DataError: there are no such files.
    """
    files = find_files(path, said=said)
    if any("://" in file for file in files):
        return None
    kind = kind_of(files[0])
    try:
        if kind == "parquet":
            rows: int = _length(pl.scan_parquet(files, glob=False, hive_partitioning=False))
            return round(rows * _items_a_row(files[0])) if items else rows
        if kind == "ipc":
            return _length(pl.scan_ipc(files, glob=False))
        return _lines(files)
    except (OSError, ValueError, zlib.error, pl.exceptions.PolarsError):
        return None


def _length(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect().item())


def _items_a_row(file: str) -> float:
    """Returns how many items a row of a parquet file holds; 1 without list columns."""
    schema = pl.read_parquet_schema(file)
    if not any(isinstance(dtype, pl.List | pl.Array) for dtype in schema.values()):
        return 1.0
    import pyarrow.parquet as pq

    facts = pq.read_metadata(file)
    groups = [facts.row_group(number) for number in range(facts.num_row_groups)]
    longest = max(
        sum(group.column(column).num_values for group in groups)
        for column in range(facts.num_columns)
    )
    return float(longest / max(facts.num_rows, 1))


def _lines(files: Sequence[str]) -> int:
    """Returns about how many lines text files have: their bytes by those of the first lines."""
    size = sum(Path(file).stat().st_size for file in files)
    with Path(files[0]).open("rb") as file:
        head = file.read(HEAD)
    text = head
    if files[0].lower().endswith(".gz"):
        text = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head)
    return round(size / max(len(head), 1) * text.count(b"\n"))
