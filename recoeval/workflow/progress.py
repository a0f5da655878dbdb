"""Progress of a run, told stage by stage: silently, as bars, or as lines of a log.

All of it goes to stderr; stdout belongs to the results.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from recoeval.report.streams import write_err

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

__all__ = ["Bars", "Lines", "Progress", "Silent", "progress_for"]

Advance = Callable[[int], None]
"""Says that n more of the stage's steps are done."""


class Progress(Protocol):
    """What a run tells about its stages."""

    def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """Returns a context that lasts as long as the stage, and gives its `advance`.

        Args:
            name: what is being done: "als: fit".
            total: number of steps, where it is known.
        """
        ...


class Silent(Progress):
    """Says nothing."""

    def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Advance]:
        return nullcontext(_ignore)


class Lines(Progress):
    """One line a stage when it is over, for logs: "12.3 s  als: fit"."""

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Advance]:
        started = time.perf_counter()
        yield _ignore
        seconds = time.perf_counter() - started
        write_err(f"{seconds:8.1f} s  {name}")


class Bars(Progress):
    """One bar a stage on the terminal; a finished run leaves nothing of them behind."""

    def __init__(self) -> None:
        self._bars: RichProgress | None = None
        self._open = 0

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Advance]:
        if self._bars is None:
            self._bars = _new_bars()
            self._bars.start()
        bars, self._open = self._bars, self._open + 1
        task = bars.add_task(name, total=total)
        try:
            yield lambda steps: bars.advance(task, steps)
        finally:
            bars.remove_task(task)
            self._open -= 1
            if self._open == 0:
                bars.stop()
                self._bars = None


def progress_for(*, verbose: bool = False) -> Progress:
    """Returns bars if stderr is a terminal, lines if they are asked for, else silence.

    Args:
        verbose: one line a stage, wherever stderr goes.
    """
    if verbose:
        return Lines()
    # A dumb terminal cannot go back to a line: each step of a bar would be a new one.
    dumb = os.environ.get("TERM", "") in ("", "dumb", "unknown")
    return Bars() if sys.stderr.isatty() and not dumb else Silent()


def _new_bars() -> RichProgress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as RichProgress

    return RichProgress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _ignore(steps: int) -> None:
    """Takes steps and says nothing."""
