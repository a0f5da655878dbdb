"""Which files a path, a glob or a folder names, on this machine or in an S3 store."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recoeval.data.cloud import SCHEME, is_remote, list_files
from recoeval.data.failures import empty, is_empty
from recoeval.errors import DataError, Problem, some

__all__ = ["Found", "find", "find_files", "kind_of", "location", "stem_of"]

# Separators of text files by their ending.
SEPARATORS: Final = {".csv": ",", ".tsv": "\t", ".txt": ",", ".dat": ","}

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
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+]+:/")


@dataclass(frozen=True, slots=True)
class Found:
    """The data files that a path names.

    Args:
        files: in order of name, all of one format.
        fixed: how many parts of their paths the user gave as they are.
        kind: parquet, ipc, ndjson or text.
    """

    files: list[str]
    fixed: int
    kind: str


def location(path: str | Path) -> str:
    """Returns a path as it is opened: "~" expanded, URLs as they are.

    Example:
        >>> location(Path("s3://bucket/lists"))
        's3://bucket/lists'
    """
    text = str(path)
    if isinstance(path, Path) and text.startswith("s3:/"):
        # A Path makes one slash of two.
        return SCHEME + text.removeprefix("s3:").lstrip("/")
    return text if _URL.match(text) else str(Path(text).expanduser())


def find(path: str | Path, said: str, stem: str | None = None) -> Found:
    """Returns the data files that a path, glob or folder names.

    Args:
        path: a file, a glob or a folder.
        said: where the user named it, for errors.
        stem: only files of this name, endings left out; None: all of them.

    Raises:
        DataError: there are none, or they are of several formats.
    """
    found, fixed = _named(path, said)
    if stem is not None:
        found = [file for file in found if stem_of(file) == stem]
        if not found:
            raise DataError(Problem(f"{location(path)} has no file {stem!r} any more", said))
    endings = ", ".join(_KINDS)
    by_kind = {kind_of(file): file for file in reversed(found)}
    if None in by_kind and is_empty(by_kind[None]):
        raise empty(by_kind[None], said)
    if None in by_kind:
        raise DataError(
            Problem(f"{by_kind[None]}: unknown ending; expected one of {endings}", said)
        )
    if len(by_kind) > 1:
        several = some(sorted(by_kind.values()))
        raise DataError(Problem(f"{location(path)} has files of several formats: {several}", said))
    packed = next((file for file in found if is_remote(file) and _is_packed(file)), None)
    if packed is not None:
        # polars takes the packed bytes for text, and finds some rows in them.
        raise DataError(
            Problem(
                f"{packed}: packed files are not read from S3; unpack them, or write parquet. "
                f"From S3 are read: {endings}",
                said,
            )
        )
    (kind,) = by_kind
    return Found(found, fixed, str(kind))


def find_files(path: str | Path, *, said: str) -> list[str]:
    """Returns the files that a path, glob or folder names, in order of name.

    A single file may have any ending (TREC runs).

    Raises:
        DataError: there are none.
    """
    return _named(path, said)[0]


def kind_of(file: str) -> str | None:
    """Returns the format of a file by its ending."""
    name = Path(file).name.lower()
    plain = name.removesuffix(".gz")
    kind = _KINDS.get(Path(plain).suffix)
    return None if name != plain and kind not in _COMPRESSIBLE else kind


def stem_of(file: str) -> str:
    """Returns the name of a file without its folder and its endings.

    Example:
        >>> stem_of("exports/two_tower.v2.csv.gz")
        'two_tower.v2'
    """
    name = Path(file).name
    return Path(name[: -len(".gz")] if _is_packed(name) else name).stem


def _named(path: str | Path, said: str) -> tuple[list[str], int]:
    """Returns the files, and how many parts of their paths the user gave as they are."""
    if not str(path).strip():
        raise DataError(Problem("the path is empty; the current folder is written .", said))
    text = location(path)
    if is_remote(text):
        found, shape = list_files(text, _is_data, _is_hidden, said)
    else:
        found, shape = _local(text, said)
    if not found:
        what = "has no data files in it" if shape == "folder" else "matches no data files"
        raise DataError(Problem(f"{text} {what} ({', '.join(_KINDS)})", said))
    parts = Path(text).parts
    magic = (index for index, part in enumerate(parts) if glob.has_magic(part))
    return found, next(magic) if shape == "glob" else len(parts)


def _local(text: str, said: str) -> tuple[list[str], str]:
    """Returns the files of this machine, and what the path is: a file, a folder or a glob."""
    wanted = Path(text)
    if wanted.is_file():
        return [text], "file"
    if wanted.is_dir():
        return _walk(wanted), "folder"
    if glob.has_magic(text):
        return _matches(text), "glob"
    known = f"; of URLs, {SCHEME}bucket/key is read" if _URL.match(text) else ""
    raise DataError(Problem(f"no such file or folder: {text}{known}", said))


def _matches(pattern: str) -> list[str]:
    """Returns the files that a glob matches, and those in the folders that it matches."""
    parts = Path(pattern).parts
    fixed = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    found: list[str] = []
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207 (absolute ones too)
        path = Path(match)
        if not any(_is_hidden(part) for part in path.parts[fixed:]):
            found += _walk(path) if path.is_dir() else [match]
    # "**" gives a folder and what is in it.
    return list(dict.fromkeys(found))


def _walk(folder: Path) -> list[str]:
    """Returns the data files in and below a folder, in order of name."""
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        found += [
            str(Path(root, name))
            for name in sorted(files)
            if not _is_hidden(name) and _is_data(name)
        ]
    return found


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _is_data(name: str) -> bool:
    return kind_of(name) is not None


def _is_packed(file: str) -> bool:
    return file.lower().endswith(".gz")
