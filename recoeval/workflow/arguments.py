"""Texts of the command line as values, and errors that name the option."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from recoeval.errors import ConfigError, Problem

__all__ = ["naming_options", "parse_date", "parse_pairs", "split_depths", "split_metrics"]


def parse_date(text: str | None) -> datetime.date | None:
    """Returns the day of a text such as "2026-11-29", None for None.

    Raises:
        ConfigError: another text.
    """
    if text is None:
        return None
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        day = None
    # ISO 8601 knows weeks and days without hyphens as well; paths do not.
    if day is None or day.isoformat() != text:
        raise ConfigError(Problem("expected a day such as 2026-11-29", origin=f"--date {text}"))
    return day


def split_metrics(text: str) -> list[str]:
    """Returns the metrics of a text; commas within parentheses belong to a metric.

    Example:
        >>> split_metrics("ndcg(gain=exponential, ideal=k)@10, recall")
        ['ndcg(gain=exponential, ideal=k)@10', 'recall']
    """
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def split_depths(text: str) -> list[int]:
    """Returns the depths of a text such as "10,100".

    Raises:
        ConfigError: a part is no integer.
    """
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ConfigError(Problem("expected integers >= 1 with commas between", "k")) from None


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Returns texts such as "repeats=include" as a mapping.

    Args:
        texts: what was given.
        option: the option that took them, for errors.

    Raises:
        ConfigError: a text without a name or without "=", or a name that is given twice.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or name in pairs:
            said = "given twice" if name in pairs else "expected name=value"
            raise ConfigError(Problem(said, origin=f"{option} {text}"))
        pairs[name] = value
    return pairs


@contextmanager
def naming_options(said: Mapping[str, str]) -> Iterator[None]:
    """Returns a context whose configuration errors begin with the option that was given.

    Args:
        said: for each path of an error, or a part of it before a dot, the option as written.

    Raises:
        ConfigError: the error of the block, with origins.
    """
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*(_named(problem, said) for problem in error.problems)) from error


def _named(problem: Problem, said: Mapping[str, str]) -> Problem:
    """Returns the problem with the option in place of the path, which nobody wrote."""
    path = problem.path
    places = [place for place in said if path == place or path.startswith(f"{place}.")]
    if not places:
        return problem
    return Problem(problem.message, origin=said[max(places, key=len)])
