"""Times of the stages of a run, told to a progress display as they pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from recoeval.workflow.progress import Progress

__all__ = ["Record"]


@dataclass(frozen=True, slots=True)
class Record:
    """Times of the stages of a run, told to a progress display as they pass."""

    progress: Progress
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    stages: list[dict[str, Any]] = field(default_factory=list)
    prefix: str = ""

    def within(self, prefix: str) -> Record:
        """Returns the same record, which names its stages after a part of the run."""
        return replace(self, prefix=prefix)

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Times a stage; yields a function that advances its progress by n of `total`."""
        begin, name = perf_counter(), self.prefix + name
        with self.progress.stage(name, total) as advance:
            yield advance
        self.stages.append({"stage": name, "seconds": round(perf_counter() - begin, 3)})
