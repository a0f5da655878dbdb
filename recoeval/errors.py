"""Typed errors, each with the exit code that the command line returns for it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

__all__ = ["ConfigError", "DataError", "EngineError", "Problem", "RecoevalError"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where.

    Args:
        message: what is wrong, with the value, and what to do.
        path: dotted path in the configuration ("generators.als.factors"), or the place in
            the data ("lists[als].item_id"); empty when there is none.
        origin: where the path was written: "nightly.yaml:14:5" or "--set a.b=1".
    """

    message: str
    path: str = ""
    origin: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.origin, self.path, self.message) if part)


class RecoevalError(Exception):
    """Base of all errors that are meant for the user: printed without a traceback.

    Args:
        problems: texts or `Problem` values, all of them shown, one a line.
    """

    exit_code: ClassVar[int] = 4

    def __init__(self, *problems: Problem | str) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            problem if isinstance(problem, Problem) else Problem(problem) for problem in problems
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def located(self, locate: Callable[[str], str]) -> RecoevalError:
        """Returns the same error with an origin for each problem that has none yet.

        Args:
            locate: gives the origin of a dotted path, or "".
        """
        return type(self)(
            *(
                replace(problem, origin=problem.origin or locate(problem.path))
                for problem in self.problems
            )
        )


class ConfigError(RecoevalError):
    """The configuration or the usage is wrong: unknown key, bad value, bad rule."""

    exit_code: ClassVar[int] = 2


class DataError(RecoevalError):
    """The data is missing, unreadable, wrong or empty."""

    exit_code: ClassVar[int] = 3


class EngineError(RecoevalError):
    """A generator or the engine failed."""

    exit_code: ClassVar[int] = 4


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Returns " Did you mean 'x'?" for the closest of the choices, or "".

    Example:
        >>> did_you_mean("factrs", ["factors", "alpha"])
        " Did you mean 'factors'?"
    """
    by_lower = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def some(values: Iterable[object], limit: int = 5) -> str:
    """Returns the first values as text, "..." after the last one shown if there are more.

    Control characters of the data are escaped, so that an id cannot write to the terminal.

    Example:
        >>> some([1, "a", 3], limit=2)
        "1, 'a', ..."
    """
    shown = list(values)
    text = ", ".join(repr(value) for value in shown[:limit])
    return f"{text}, ..." if len(shown) > limit else text
