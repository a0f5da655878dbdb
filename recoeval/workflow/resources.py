"""What a stretch of work takes: wall time, CPU time, memory."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Final

__all__ = ["Meter", "peak_memory_mb"]

EVERY: Final = 0.05
"""Seconds from one look at the memory to the next."""

_STATM: Final = Path("/proc/self/statm")


def peak_memory_mb() -> float:
    """Returns the most memory that the process has held so far, MiB, resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes on Linux, bytes on macOS.
    return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)


def _held_mb() -> float | None:
    """Returns the memory that the process holds, MiB, resident; None where nothing tells."""
    try:
        pages = int(_STATM.read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * resource.getpagesize() / 1024**2, 1)


class Meter:
    """Measures what is done while it is open.

    The peak of memory is the process's: exact if it is the highest so far, else the highest that
    was seen, looking every 50 ms; where the process cannot look at itself, the highest so far.
    Linux could set its own mark back to measure each stretch exactly, but then whoever waits for
    the process (`/usr/bin/time`) would be told that lower mark as well.

    Example:
        >>> with Meter() as meter:
        ...     _ = sum(range(100_000))
        >>> sorted(meter.taken())
        ['cpu_seconds', 'peak_memory_mb', 'seconds']
    """

    def __init__(self) -> None:
        self._seconds = self._cpu = self._peak = 0.0
        self._over = Event()
        self._watcher = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Meter:
        self._before = peak_memory_mb()
        self._held = _held_mb()
        self._seconds, self._cpu = -time.perf_counter(), -time.process_time()
        if self._held is not None:
            self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._seconds += time.perf_counter()
        self._cpu += time.process_time()
        self._peak = peak_memory_mb()
        if self._held is not None:
            self._over.set()
            self._watcher.join()
            self._look()
            if self._peak <= self._before:
                self._peak = self._held

    def taken(self) -> dict[str, float]:
        """Returns seconds, cpu_seconds (of all threads) and peak_memory_mb, once it is closed."""
        return {
            "seconds": round(self._seconds, 3),
            "cpu_seconds": round(self._cpu, 3),
            "peak_memory_mb": self._peak,
        }

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            self._look()

    def _look(self) -> None:
        self._held = max(self._held or 0.0, _held_mb() or 0.0)
