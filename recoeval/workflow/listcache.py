"""Stored lists that are used again: those of the same generator on the same data."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, Final

import polars as pl

from recoeval.columns import FOLD, ITEM_ID, QUERY_ID, RANK, SCORE
from recoeval.data.failures import reading
from recoeval.generators.base import Generator
from recoeval.workflow.config import Config
from recoeval.workflow.disk import write_file
from recoeval.workflow.fingerprints import log_inputs
from recoeval.workflow.logs import FRAME, Log
from recoeval.workflow.record import Record
from recoeval.workflow.store import MANIFEST, RunDirectory

__all__ = ["CachedLists", "ListCache", "StoredLists", "open_cache"]

CACHE: Final = "cache"
PACKAGES: Final = ("recoeval", "polars", "numpy", "scipy", "implicit")
"""Whose versions may change what a generator lists."""

# Sections of a configuration that change no list of a trained generator, whatever they say.
_DOWNSTREAM: Final = {
    *("name", "stage", "generators", "baselines", "metrics", "k", "buckets", "constraints"),
    *("what_if", "funnel", "output", "exposures", "engine"),
}


@dataclass(frozen=True, slots=True)
class StoredLists:
    """Lists of a trained generator that an earlier run stored.

    Args:
        run: the directory of that run.
        files: their parts.
        fold: number of the fold.
    """

    run: Path
    files: tuple[Path, ...]
    fold: int

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the lists of a block of queries, as the generator gave them."""
        ids = queries[QUERY_ID]
        # Parts are sorted by query: the bounds spare reading those of others.
        near = pl.col(QUERY_ID).is_between(pl.lit(ids.min()), pl.lit(ids.max()))
        rows = pl.scan_parquet(list(self.files), hive_partitioning=False)
        own = rows.filter(near, pl.col(FOLD) == self.fold, pl.col(RANK) <= k)
        asked = queries.lazy().select(QUERY_ID)
        with reading(str(self.run)):
            found = own.join(asked, on=QUERY_ID, how="semi").collect()
        return found.lazy().select(QUERY_ID, ITEM_ID, RANK, SCORE)


@dataclass(slots=True)
class CachedLists:
    """The lists of a generator while they are stored.

    Args:
        fingerprint: of the generator, its data and its versions.
        files: that were written.
    """

    fingerprint: str
    files: list[Path] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ListCache:
    """Finds and stores lists by what they were made of.

    Args:
        config: the configuration.
        inputs: fingerprints of the log and of the tables beside it.
        directory: of the run.
        fresh: whether stored lists are ignored.
    """

    config: Config
    inputs: Sequence[Mapping[str, Any]]
    directory: RunDirectory
    fresh: bool = False

    def fingerprint(self, generator: Generator, *, fold: int, depth: int, threads: int) -> str:
        """Returns what tells these lists from all others, 64 hexadecimal digits.

        Args:
            generator: its settings count, its name does not.
            fold: number of the fold.
            depth: length of the lists, items.
            threads: of the fit: some models differ in their last bits with it.
        """
        settings = self.config.model_dump(mode="json", exclude=_DOWNSTREAM)
        content = [
            {key: value for key, value in each.items() if key != "path"} for each in self.inputs
        ]
        made_of = {
            "settings": settings,
            "generator": generator.model_dump(mode="json"),
            "code": _code(generator),
            "inputs": content,
            "fold": fold,
            "depth": depth,
            "threads": threads,
            "versions": {"python": platform.python_version(), **_versions(generator)},
        }
        text = json.dumps(made_of, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def find(self, fingerprint: str, fold: int) -> StoredLists | None:
        """Returns the latest stored lists of a fingerprint; None: there are none, or damaged ones.

        Args:
            fingerprint: of the lists.
            fold: number of the fold.
        """
        if self.fresh:
            return None
        root = self.directory.path.parent.parent
        notes = root.glob(f"*/*/{CACHE}/{fingerprint}.json")
        for note in sorted(notes, key=_written_at, reverse=True):
            run = note.parent.parent
            files = _whole_files(note) if (run / MANIFEST).is_file() else None
            if files is not None:
                return StoredLists(run, files, fold)
        return None

    def store(self, lists: CachedLists) -> None:
        """Notes lists that are stored whole; they count once the run is finished.

        Args:
            lists: their parts.
        """
        path = self.directory.path
        files = {str(file.relative_to(path)): file.stat().st_size for file in lists.files}
        text = json.dumps({"files": files}, indent=2) + "\n"
        note = path / CACHE / f"{lists.fingerprint}.json"
        write_file(note, lambda file: file.write(text.encode()))


def open_cache(
    config: Config, log: Log, directory: RunDirectory, record: Record, *, fresh: bool
) -> ListCache | None:
    """Returns the stored lists of a run; None where none are asked for, or the log is a frame.

    Args:
        config: the configuration.
        log: the log; a frame has no fingerprint, and so nothing tells its lists from others.
        directory: of the run.
        record: is told the stage.
        fresh: whether lists of earlier runs are ignored.

    Raises:
        DataError: an input is there no more.
    """
    if not config.output.recommendations or FRAME in log.sources.values():
        return None
    with record.stage("fingerprints"):
        return ListCache(config, log_inputs(config, log), directory, fresh)


def _written_at(note: Path) -> int:
    """Returns when a file was written, ns; 0 if somebody has just removed it."""
    try:
        return note.stat().st_mtime_ns
    except OSError:
        return 0


def _whole_files(note: Path) -> tuple[Path, ...] | None:
    """Returns the files that a note names; None if one of them is not what it was."""
    run = note.parent.parent
    try:
        sizes = json.loads(note.read_bytes())["files"]
        if not all((run / name).stat().st_size == size for name, size in sizes.items()):
            return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return tuple(run / name for name in sizes) or None


def _code(generator: Generator) -> list[str]:
    """Returns the names of a generator's class, and what its file holds if it is not ours.

    Who writes a generator changes it without a new version.
    """
    kind = type(generator)
    found = [kind.__module__, kind.__qualname__]
    if kind.__module__.partition(".")[0] == "recoeval":
        return found
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:
        file = None
    if file is None or not Path(file).is_file():
        return found
    return [*found, hashlib.sha256(Path(file).read_bytes()).hexdigest()]


def _versions(generator: Generator) -> dict[str, str]:
    """Returns the versions of the packages that make the lists."""
    package = type(generator).__module__.partition(".")[0]
    own = packages_distributions().get(package, []) if package != "recoeval" else []
    return {name: version(name) for name in (*PACKAGES, *own)}
