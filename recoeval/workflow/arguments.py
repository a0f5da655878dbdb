"""Texts of the command line as values, and errors that name the option."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from recoeval.errors import ConfigError, Problem, RecoevalError

__all__ = [
    "naming_options",
    "parse_columns",
    "parse_date",
    "parse_pairs",
    "split_depths",
    "split_metrics",
    "table_path",
]

_OPTIONS: Final = (
    (re.compile(r"\bgive (train|users|items|exposures)="), r"give --\1"),
    (re.compile(r"\bneeds exposures$"), "needs exposures: give --exposures"),
    (
        re.compile(r"\bneeds a catalogue: an items table, or train data$"),
        "needs a catalogue: give --items, or --train",
    ),
    (re.compile(r"\bcolumns: \{(\w+): ([^{}]*)\}"), r"--columns \1=\2"),
    (
        re.compile(r'\bRename (it|one), e\.g\. \.rename\(\{"\w+": "(\w+)"\}\)'),
        r"Name \1: --columns \2=...",
    ),
    (
        re.compile(r"^(no column (\w+)(?: or \w+)?\. Columns: (?!.*\bName (?:it|one): ).*)$"),
        r"\1. Name it: --columns \2=...",
    ),
)
"""What messages call arguments of Python and keys of YAML, and the options for them."""


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

    Raises:
        ConfigError: there is none.
    """
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    named = [part.strip() for part in parts if part.strip()]
    if not named:
        raise ConfigError(Problem("name at least one metric, e.g. recall,ndcg@10", "metrics"))
    return named


def split_depths(text: str) -> list[int]:
    """Returns the depths of a text such as "10,100".

    Raises:
        ConfigError: a part is no integer, or there is none.
    """
    try:
        depths = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        depths = []
    if not depths:
        raise ConfigError(Problem("expected integers >= 1 with commas between", "k"))
    return depths


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


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Returns texts such as "user_id=uid,item_id=vid" as a mapping: our name, theirs.

    Raises:
        ConfigError: as `parse_pairs`.
    """
    pairs = [part for text in texts for part in text.split(",") if part.strip()]
    return parse_pairs(pairs, "--columns")


def table_path(text: str, option: str) -> Path:
    """Returns the path of a parquet file that can be written.

    Args:
        text: what was given.
        option: the option that took it, for errors.

    Raises:
        ConfigError: another ending, or a folder that does not exist.
    """
    path = Path(text)
    origin = f"{option} {text}"
    if path.suffix not in (".parquet", ".pq"):
        raise ConfigError(Problem("parquet is written: name it .parquet or .pq", origin=origin))
    if not path.parent.is_dir():
        raise ConfigError(Problem(f"no such folder: {path.parent}; make it first", origin=origin))
    return path


@contextmanager
def naming_options(said: Mapping[str, str]) -> Iterator[None]:
    """Returns a context whose errors speak of options.

    Args:
        said: for each path of an error, or a part of it before a dot, the option as written.

    Raises:
        RecoevalError: the error of the block, of its own class, with origins.
    """
    try:
        yield
    except RecoevalError as error:
        raise type(error)(*(_named(problem, said) for problem in error.problems)) from error


def _named(problem: Problem, said: Mapping[str, str]) -> Problem:
    """Returns the problem with the option in place of the path, which nobody wrote."""
    message = problem.message
    for pattern, option in _OPTIONS:
        message = pattern.sub(option, message)
    path = problem.path
    places = [place for place in said if path == place or path.startswith(f"{place}.")]
    if not places:
        return Problem(message, path, problem.origin)
    return Problem(message, origin=said[max(places, key=len)])
