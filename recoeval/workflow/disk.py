"""Files that are whole or absent, and names that lead nowhere else."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import quote

import polars as pl

from recoeval.errors import DataError, Problem

__all__ = ["folder_of", "write_file", "write_table"]


def folder_of(generator: str) -> str:
    """Returns the name of a generator's folder, which leads nowhere else.

    Example:
        >>> folder_of("two_tower/../x")
        'two_tower%2F..%2Fx'
    """
    name = quote(generator, safe=" +")
    return name if name.strip(".") else name.replace(".", "%2E")


def write_file(path: Path, write: Callable[[IO[bytes]], object], *, durable: bool = True) -> None:
    """Writes a file so that it is whole or absent: temporary name, fsync, rename, fsync.

    Args:
        path: the file; its folder is made.
        write: writes the content to an open binary file.
        durable: whether it has to outlive a crash of the machine: else it is not synced.

    Raises:
        DataError: the place cannot be written, or is no regular file (a device, a folder).
    """
    # A link stays a link: the file that it leads to is written.
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise DataError(Problem("cannot be written: this is no regular file", str(path)))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                write(file)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise DataError(Problem(f"cannot be written: {error.strerror}", str(path))) from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_table(path: Path, table: pl.DataFrame, *, durable: bool = True) -> None:
    """Writes a table as parquet; see `write_file`."""
    # The default level takes a quarter more CPU for files of about this size (2 M rows).
    write_file(path, lambda file: table.write_parquet(file, compression_level=1), durable=durable)
