"""What the stages of a run take, told to a progress display as they pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from recoeval.workflow.progress import Advance, Progress
from recoeval.workflow.resources import Meter

__all__ = ["Record", "Stage"]


@dataclass(slots=True)
class Stage:
    """A stage that is open; called with a number of steps, it says that these are done.

    Args:
        advance: is told the steps.
        rows: rows that the stage goes through, as soon as they are known; None: not known.
    """

    advance: Advance
    rows: int | None = None

    def __call__(self, steps: int) -> None:
        """Says that n more of the stage's steps are done."""
        self.advance(steps)


@dataclass(frozen=True, slots=True)
class Record:
    """What the stages of a run take, told to a progress display as they pass.

    Args:
        progress: is told of each stage.
        started: when the run began, UTC.
        stages: of those that are over: stage, seconds, cpu_seconds, peak_memory_mb, rows.
        prefix: what the names of stages begin with.
    """

    progress: Progress
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    stages: list[dict[str, Any]] = field(default_factory=list)
    prefix: str = ""

    def within(self, prefix: str) -> Record:
        """Returns the same record, which names its stages after a part of the run."""
        return replace(self, prefix=prefix)

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Stage]:
        """Measures a stage; yields it, to be called with n of its `total` steps as they are done.

        Args:
            name: what is being done: "als: fit".
            total: number of steps, where it is known.
        """
        name, meter = self.prefix + name, Meter()
        with self.progress.stage(name, total) as advance, meter:
            stage = Stage(advance)
            yield stage
        taken = {"stage": name, **meter.taken(), "rows": stage.rows}
        self.stages.append(taken)
        self.progress.over(taken)
