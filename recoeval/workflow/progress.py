"""Progress of a run, told stage by stage: silently, as bars, or as lines of a log.

All of it goes to stderr; stdout belongs to the results.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from recoeval.report.streams import write_err

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

__all__ = ["Advance", "Bars", "Lines", "Progress", "Silent", "progress_for"]

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

    def over(self, taken: Mapping[str, Any]) -> None:
        """Is told what a stage took that has not failed; the default says nothing.

        Args:
            taken: stage, seconds, cpu_seconds (of all threads), peak_memory_mb (of the process
                while it lasted), rows (None: not known).
        """
        return


class Silent(Progress):
    """Says nothing."""

    def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Advance]:
        return nullcontext(_ignore)


class Lines(Progress):
    """A table of what each stage took, a line when it is over, for logs."""

    def __init__(self) -> None:
        self._begun = False

    def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Advance]:
        return nullcontext(_ignore)

    def over(self, taken: Mapping[str, Any]) -> None:
        if not self._begun:
            write_err(f"{'wall':>8}    {'CPU':>8}    {'memory':>8}    {'rows':>13}  stage")
            self._begun = True
        rows = "-" if taken["rows"] is None else f"{taken['rows']:,}"
        write_err(
            f"{taken['seconds']:8.1f} s  {taken['cpu_seconds']:8.1f} s  "
            f"{taken['peak_memory_mb']:8,.0f} MB  {rows:>12}  {taken['stage']}"
        )


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
