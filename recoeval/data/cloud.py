"""Files in an S3 store: which there are, what they are, and how polars reads them.

pyarrow lists and polars reads. Both take endpoint, region and credentials from the AWS_*
variables of the environment, so that none of them is in a configuration.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from recoeval.data.cloudfailures import NO_BUCKET, cloud_cause, endpoint_url
from recoeval.errors import DataError, Problem

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, S3FileSystem

__all__ = ["fingerprints", "for_each", "is_remote", "list_files", "read_head", "read_whole"]

SCHEME: Final = "s3://"

# Requests that wait at one time: a request takes tens of milliseconds, and no work.
_AT_ONCE: Final = 16
_CONNECT: Final = 5
_QUIET: Final = 10
_ATTEMPTS: Final = 2

# The clock of a request runs until its last byte came, and several share the line.
_READ: Final = "120s"
_LOOK: Final = "20s"

# What pyarrow says of an answer that is no more than its status.
_BARE: Final = "No response body"

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def is_remote(path: str) -> bool:
    """Returns whether a path is one of an S3 store."""
    return path.startswith(SCHEME)


def scan_options(path: str, *, header: bool = False) -> dict[str, Any]:
    """Returns what a scan of polars needs besides the path; nothing for a local file.

    Args:
        path: of one of the files.
        header: whether no more than a header is read, which is soon there.
    """
    if not is_remote(path):
        return {}
    options = {"connect_timeout": f"{_CONNECT}s", "timeout": _LOOK if header else _READ}
    if address := endpoint_url():
        options["aws_endpoint_url"] = address
    return {"storage_options": options}


def for_each(call: Callable[[_In], _Out], values: Iterable[_In], *, remote: bool) -> Iterator[_Out]:
    """Returns what a call gives for each value, in order.

    Args:
        call: what is done.
        values: what it is done for.
        remote: whether the call waits for a store more than it works: several then wait at
            one time.
    """
    if not remote:
        return map(call, values)
    # All of them at once: a pool that waits in a generator outlives errors.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return iter(list(pool.map(call, values)))


def list_files(
    path: str, keep: Callable[[str], bool], skip: Callable[[str], bool], said: str
) -> tuple[list[str], str]:
    """Returns the files that a path, a folder or a glob names, and what the path is.

    Args:
        path: s3://bucket/key, with or without special characters.
        keep: whether a file of a folder, by its name, is one of data.
        skip: whether a file or folder, by its name, is hidden.
        said: where the user named the path, for errors.

    Returns:
        the files, in order of name, and "file", "folder" or "glob".

    Raises:
        DataError: no such bucket, file or folder; the store cannot be reached, or refuses.
    """
    place = _key(path).strip("/")
    bucket = place.split("/", 1)[0]
    if not bucket or glob.has_magic(bucket):
        raise DataError(Problem(f"{path} names no bucket: {SCHEME}bucket/folder", said))
    with _asking(path, said):
        tree = _Tree(_client(), keep, skip)
        kind = tree.kind(place)
        if kind == "File":
            return _urls([place]), "file"
        if kind == "Directory":
            return _urls(tree.walk(place)), "folder"
        found = tree.matches(place) if glob.has_magic(place) else []
        if not found and tree.kind(bucket) == "NotFound":
            raise DataError(Problem(f"{path}: {cloud_cause(NO_BUCKET)}", said))
    if glob.has_magic(place):
        return _urls(found), "glob"
    raise DataError(Problem(f"no such file or folder: {path}", said))


def fingerprints(paths: Sequence[str], said: str) -> Iterator[tuple[int, str]]:
    """Yields for each file its size in bytes and its etag: another one for other content.

    Raises:
        DataError: the store cannot be reached, or refuses.
    """
    # With one each, the clients wait for one another.
    client = _client()

    def look(path: str) -> tuple[int, str]:
        with _asking(path, said), client.open_input_file(_key(path)) as file:
            etag: bytes = file.metadata().get("ETag", b"")
            return file.size(), etag.decode().strip('"')

    return for_each(look, paths, remote=True)


def read_head(path: str, size: int) -> bytes | None:
    """Returns the first bytes of a file; None if there is no such file, or it is not read."""
    try:
        with _client().open_input_file(_key(path)) as file:
            head: bytes = file.read(size)
            return head
    except OSError:
        return None


def read_whole(path: str, said: str) -> bytes:
    """Returns all bytes of a file.

    Raises:
        DataError: the store cannot be reached, or refuses.
    """
    with _asking(path, said), _client().open_input_file(_key(path)) as file:
        content: bytes = file.read()
        return content


def _client() -> S3FileSystem:
    """Returns pyarrow's view of the store; making one again costs half a millisecond."""
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    environ = os.environ
    return S3FileSystem(
        anonymous=environ.get("AWS_SKIP_SIGNATURE", "").lower() in ("1", "true"),
        region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"),
        endpoint_override=endpoint_url(),
        connect_timeout=_CONNECT,
        request_timeout=_QUIET,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


def _key(path: str) -> str:
    return path.removeprefix(SCHEME)


def _urls(keys: Iterable[str]) -> list[str]:
    return [SCHEME + key for key in keys]


@contextmanager
def _asking(path: str, said: str) -> Iterator[None]:
    """Makes what the store refuses an error that names the path."""
    try:
        yield
    except OSError as error:
        raise DataError(Problem(f"{path}: {cloud_cause(str(error))}", said)) from error


class _Tree:
    """Keys seen as a tree of folders, in which hidden ones are left out.

    Args:
        client: lists the keys.
        keep: whether a file, by its name, is one of data.
        skip: whether a file or folder, by its name, is hidden.
    """

    def __init__(
        self, client: S3FileSystem, keep: Callable[[str], bool], skip: Callable[[str], bool]
    ) -> None:
        self._client = client
        self._keep = keep
        self._skip = skip

    def kind(self, key: str) -> str:
        """Returns "File", "Directory" or "NotFound"."""
        try:
            name: str = self._client.get_file_info(key).type.name
        except OSError as error:
            if _BARE in str(error):
                # An answer to HEAD does not say why; one to a listing does.
                self._below(key, recursive=False)
            raise
        return name

    def walk(self, folder: str) -> list[str]:
        """Returns the data files in and below a folder, those of a folder before its folders."""
        below = (info for info in self._below(folder, recursive=True) if info.is_file)
        parts = [info.path[len(folder) + 1 :].split("/") for info in below]
        found = [each for each in parts if self._keep(each[-1]) and not any(map(self._skip, each))]
        found.sort(key=lambda each: [*((True, part) for part in each[:-1]), (False, each[-1])])
        return ["/".join((folder, *each)) for each in found]

    def matches(self, pattern: str) -> list[str]:
        """Returns the files that a glob matches, and those in the folders that it matches.

        One part after the other: what is beside the folders that fit is not listed.
        """
        parts = pattern.split("/")
        first = next(index for index, part in enumerate(parts) if glob.has_magic(part))
        folders, files = ["/".join(parts[:first])], set[str]()
        for index, part in enumerate(parts[first:], first + 1):
            deep = part == "**"
            fitting = list(self._inside(folders, part, deep=deep))
            files = {info.path for info in fitting if info.is_file}
            below = [info.path for info in fitting if not info.is_file]
            if not deep:
                folders = below
            elif index < len(parts):
                folders = list(dict.fromkeys([*folders, *below]))
        found: list[str] = []
        for key in sorted(files.union(folders)):
            found += [key] if key in files else self.walk(key)
        return list(dict.fromkeys(found))

    def _inside(self, folders: list[str], part: str, *, deep: bool) -> Iterator[FileInfo]:
        """Yields what in some folders fits a part of a glob; for "**" all that is below them."""
        listed = for_each(partial(self._below, recursive=deep), folders, remote=True)
        for folder, infos in zip(folders, listed, strict=True):
            for info in infos:
                names = info.path[len(folder) + 1 :].split("/")
                fits = deep or fnmatchcase(names[-1], part)
                if fits and not any(map(self._skip, names)):
                    yield info

    def _below(self, folder: str, *, recursive: bool) -> list[FileInfo]:
        from pyarrow.fs import FileSelector

        infos: list[FileInfo] = self._client.get_file_info(
            FileSelector(folder, recursive=recursive, allow_not_found=True)
        )
        return infos
