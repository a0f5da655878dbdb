"""stdout and stderr as a process finds them: closed, full, narrow, or left by their reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from recoeval.errors import ConfigError, DataError, EngineError, Problem, RecoevalError
from recoeval.report.values import printable

__all__ = ["mend_streams", "tell_error", "write_err", "write_out"]


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


def tell_error(error: BaseException) -> int:
    """Says on stderr what went wrong, and returns the exit code for it.

    Args:
        error: any; the traceback is shown under RECOEVAL_DEBUG=1.
    """
    if os.environ.get("RECOEVAL_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, RecoevalError):
        write_err(str(error))
        return error.exit_code
    if hasattr(error, "format_message"):  # typer's usage errors, of all its versions
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "recoeval"
        text = error.format_message()
        # Without any argument the message is the help itself.
        help_itself = text.startswith("Usage:")
        write_err(text if help_itself else f"{command}: {text}\nTry '{command} --help'.")
        return ConfigError.exit_code
    what = " ".join(str(error).split("\n\n", maxsplit=1)[0].split())
    write_err(
        f"internal error: {type(error).__name__}: {what}. This should not happen: please report "
        "it, with the traceback that RECOEVAL_DEBUG=1 shows"
    )
    return EngineError.exit_code
