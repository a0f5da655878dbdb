"""Entries of `generators` that stand for several: lists of many systems, and of each fold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from recoeval.data.failures import printable
from recoeval.data.folds import Rolling
from recoeval.errors import ConfigError, DataError, Problem, RecoevalError, some
from recoeval.generators.base import Generator
from recoeval.generators.precomputed import Precomputed

if TYPE_CHECKING:
    from recoeval.workflow.config import Config

__all__ = ["expand_systems", "in_each_fold", "key_of"]

AnyGenerator = TypeVar("AnyGenerator", bound=Generator)

MOST: Final = 100
"""Systems of an entry: more are the values of another column than the one that was meant."""
LONGEST: Final = 100
"""Characters of a system's name."""


def expand_systems(config: Config) -> Config:
    """Returns the configuration with one generator a system, named KEY/SYSTEM, in order of name.

    Baselines and constraints that name KEY mean all of its systems afterwards.

    Raises:
        ConfigError: the column of systems does not exist.
        DataError: no files, names that are none, other systems in another fold.
    """
    generators: dict[str, Generator] = {}
    members: dict[str, tuple[str, ...]] = {}
    problems: list[RecoevalError] = []
    for key, each in config.generators.items():
        # An empty path is told with all that is wrong between sections.
        if not isinstance(each, Precomputed) or each.systems is None or not each.path:
            generators[key] = each
            continue
        try:
            own = {f"{key}/{name}": each.one_system(name) for name in _names(config, key, each)}
        except RecoevalError as error:
            problems.append(_placed(error, key))
            continue
        generators |= own
        members[key] = tuple(own)
    if problems:
        worst = min(problems, key=lambda error: error.exit_code)
        told = [problem for error in problems for problem in error.problems]
        raise type(worst)(*told)
    return config if not members else _with_members(config, generators, members)


def _with_members(
    config: Config, generators: Mapping[str, Generator], members: Mapping[str, tuple[str, ...]]
) -> Config:
    """Returns the configuration with the systems in the place of their key."""

    def named(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for name in names for one in members.get(name, (name,))))

    constraints = tuple(
        each
        if each.generators is None
        else each.model_copy(update={"generators": named(each.generators)})
        for each in config.constraints
    )
    return config.model_copy(
        update={
            "generators": dict(generators),
            "baselines": named(config.baselines),
            "constraints": constraints,
        }
    )


def key_of(name: str) -> str:
    """Returns the entry of `generators` that a generator stands in.

    Example:
        >>> key_of("exports/two_tower"), key_of("als")
        ('exports', 'als')
    """
    return name.partition("/")[0]


def in_each_fold(config: Config, generator: AnyGenerator) -> list[AnyGenerator]:
    """Returns a generator as it is in each fold; once if all are the same."""
    folds = config.split.folds if isinstance(config.split, Rolling) else 1
    each: list[AnyGenerator] = []
    for number in range(folds):
        own = generator.in_fold(number)
        if own not in each:
            each.append(own)
    return each


def _names(config: Config, key: str, generator: Precomputed) -> list[str]:
    """Returns the systems of an entry, the same ones in each fold."""
    what = f"lists[{key}]"
    names: list[str] | None = None
    for number, own in enumerate(in_each_fold(config, generator)):
        found = own.system_names(what)
        _check_names(found, what)
        first = found if names is None else names
        names = first
        if found != first:
            lacking = sorted({*first} - {*found})
            here = f"fold {number} has no {some(lacking)}, which fold 0 has"
            if not lacking:
                more = sorted({*found} - {*first})
                here = f"fold 0 has no {some(more)}, which fold {number} has"
            text = f"{here}; the systems have to be the same in each fold: {own.path}"
            raise DataError(Problem(text, what))
    return names or []


def _check_names(names: list[str], what: str) -> None:
    """Raises unless all names of systems can be shown, and there are a few of them."""
    if not names:
        raise DataError(Problem("no rows", what))
    if len(names) > MOST:
        text = f"{len(names)} systems, e.g. {some(names)}; at most {MOST}: is it another column?"
        raise DataError(Problem(text, what))
    bad = [name for name in names if not _is_name(name)]
    if bad:
        shown = some([f"{name[:40]}..." if len(name) > LONGEST else name for name in bad])
        text = (
            f"{len(bad)} system{'s' if len(bad) > 1 else ''} with a name that is none: {shown}; "
            f"it has 1 to {LONGEST} characters that can be shown, no / or \\, and no spaces around"
        )
        raise DataError(Problem(text, what))


def _is_name(name: str) -> bool:
    shown = name == printable(name) == name.strip() and 0 < len(name) <= LONGEST
    return shown and re.fullmatch(r"\.*", name) is None and not set(name) & set("/\\")


def _placed(error: RecoevalError, key: str) -> RecoevalError:
    """Returns an error of the configuration with the place of its entry."""
    if not isinstance(error, ConfigError):
        return error
    place = f"generators.{key}"
    return ConfigError(*(replace(each, path=f"{place}.{each.path}") for each in error.problems))
