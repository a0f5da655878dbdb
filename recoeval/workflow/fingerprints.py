"""What the inputs of a run were: their files, their sizes, and what tells them from others."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from recoeval.data.cloud import fingerprints, is_remote
from recoeval.data.files import find_files, location
from recoeval.generators.base import Generator
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config
from recoeval.workflow.logs import FRAME, Log
from recoeval.workflow.systems import in_each_fold, key_of

__all__ = ["list_inputs", "log_inputs"]

_AT_ONCE: Final = 2
"""Files that are hashed at a time."""


def log_inputs(config: Config, log: Log) -> list[dict[str, Any]]:
    """Returns role, path, bytes and fingerprint of the files of the log and the tables beside it.

    The fingerprint of a local file is the `sha256` of its content, that of one in an S3 store
    the `etag` that the store gives it: it is not read for that. A frame has none.

    Raises:
        DataError: a file is there no more, or the store refuses.
    """
    paths = {role: path for role, path in log.sources.items() if path != FRAME}
    return _inputs([*paths.items(), *_tables(config).items()])


def list_inputs(config: Config, *, failed: Collection[str] = ()) -> list[dict[str, Any]]:
    """Returns what `log_inputs` does of the files of lists.

    Args:
        config: the configuration.
        failed: generators that failed: their files may be the reason, and nothing is theirs.

    Raises:
        DataError: a file is there no more, or the store refuses.
    """
    roles = []
    left = {name: each for name, each in config.generators.items() if name not in failed}
    for name, generator in left.items():
        # The systems of an entry have the same files.
        role = f"generators.{key_of(name)}"
        roles += [
            (role, path) for each in in_each_fold(config, generator) if (path := _path_of(each))
        ]
    return _inputs(roles)


def _inputs(roles: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    once = dict.fromkeys(roles)
    return [{"role": role, **facts} for role, path in once for facts in _files(path, role)]


def _path_of(generator: Generator) -> str:
    """Returns the path of a generator's files, or ""."""
    path = getattr(generator, "path", "")
    if isinstance(generator, Precomputed):
        return str(path)
    # Of a plug-in it may be anything: a folder of a model, or none of this machine.
    return path if isinstance(path, str) and Path(location(path)).is_file() else ""


def _tables(config: Config) -> dict[str, str]:
    """Returns the paths of the tables beside the log."""
    users = config.users
    paths = {
        "canonical_items": config.canonical_items and config.canonical_items.path,
        "users": users and users.table,
        "users.exclude": users and users.exclude,
        "items": config.items and config.items.table,
    }
    return {role: path for role, path in paths.items() if path}


def _files(path: str, role: str) -> Iterator[dict[str, Any]]:
    """Yields what is known of each file of a path."""
    files = find_files(path, said=role)
    if is_remote(files[0]):
        for file, (size, etag) in zip(files, fingerprints(files, role), strict=True):
            yield {"path": file, "bytes": size, "etag": etag}
        return
    # Files are read and hashed without the lock of the interpreter.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for file, digest in zip(files, pool.map(_digest, files), strict=True):
            yield {"path": file, "bytes": Path(file).stat().st_size, "sha256": digest}


def _digest(file: str) -> str:
    with Path(file).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
