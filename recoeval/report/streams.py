"""stdout and stderr as a process finds them: closed, full, narrow, or left by their reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from recoeval.errors import DataError, Problem
from recoeval.report.values import printable

__all__ = ["mend_streams", "write_err", "write_out"]


def mend_streams() -> None:
    """Makes both streams usable: closed ones swallow, and no character is an error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def write_out(write: Callable[[TextIO], object]) -> None:
    """Writes to stdout; a reader that has gone away is no error: the work is done.

    Raises:
        DataError: stdout cannot be written, for example because the disk is full.
    """
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except (OSError, SystemExit) as error:  # rich leaves by SystemExit when a pipe breaks
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            text = f"cannot be written: {error.strerror}"
            raise DataError(Problem(text, origin="stdout")) from error


def write_err(text: str) -> None:
    """Writes lines to stderr, what does not print as an escape; if nobody listens, so be it."""
    with suppress(OSError):
        sys.stderr.write("".join(f"{printable(line)}\n" for line in text.split("\n")))
        sys.stderr.flush()
