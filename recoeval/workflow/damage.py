"""Which of many files it is that cannot be read: looked for when reading them has failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from recoeval.data.failures import UNREADABLE, UnreadableError, gist
from recoeval.data.files import find_files
from recoeval.data.formats import scan
from recoeval.errors import DataError, Problem, RecoevalError
from recoeval.workflow.systems import in_each_fold

if TYPE_CHECKING:
    from recoeval.workflow.config import Config

__all__ = ["naming_damage"]


def naming_damage(error: RecoevalError, config: Config) -> RecoevalError:
    """Returns the same error with the file in it, if it is one of bytes that cannot be read."""
    if not isinstance(error, UnreadableError):
        return error
    return DataError(*(_named(problem, config) for problem in error.problems))


def _named(problem: Problem, config: Config) -> Problem:
    for path in dict.fromkeys(_paths(problem.path, config)):
        try:
            files = find_files(path, said=problem.path)
        except DataError:
            continue
        for file in files:
            if reason := _damage(file):
                return replace(problem, message=f"{file} cannot be read: {reason}")
    return problem


def _paths(role: str, config: Config) -> Iterator[str]:
    """Yields the paths of an input: "interactions", "users", "lists[als]"."""
    # It is read with the configuration, which reads this module.
    from recoeval.workflow.logs import sources_of

    for name, source in sources_of(config).items():
        # Sides of a log are read as one.
        if role in (name, "interactions") and source.path:
            yield source.path
    for name, table in (("users", config.users), ("items", config.items)):
        if role == name and table is not None and table.table is not None:
            yield table.table
    for name, generator in config.generators.items():
        if role == f"lists[{name}]":
            for own in in_each_fold(config, generator):
                yield getattr(own, "source", "")


def _damage(file: str) -> str:
    """Returns why a typed file cannot be read, or "": every value of it is looked at."""
    try:
        frame = scan(file, where_said="")
        frame.select(pl.all().hash().sum()).collect(engine="streaming")
    except DataError:
        # Text files are read whole when they are opened, and name themselves.
        return ""
    except UNREADABLE as error:
        return gist(str(error))
    return ""
