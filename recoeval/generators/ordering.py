"""The order of generators that read one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.generators.base import Generator

__all__ = ["order_of", "serves", "unknown_generator"]


def order_of(generators: Mapping[str, Generator]) -> tuple[str, ...]:
    """Returns the names so that each comes after those whose lists or scores it needs.

    Names that need nothing of one another stay in the order in which they came.

    Args:
        generators: by name, as configured.

    Raises:
        ConfigError: names that do not exist, and cycles; one problem each, its path from the top
            of the configuration.
    """
    needs = {name: _needs(generator) for name, generator in generators.items()}
    problems = list(_unknown(generators, needs))
    waiting = {
        name: [other for other in others if other in generators] for name, others in needs.items()
    }
    ordered: list[str] = []
    while ready := [name for name, others in waiting.items() if set(others) <= set(ordered)]:
        ordered += ready
        waiting = {name: others for name, others in waiting.items() if name not in ready}
    problems += [_broken(cycle, needs) for cycle in _cycles(waiting)]
    if problems:
        raise ConfigError(*problems)
    return tuple(ordered)


def serves(generators: Mapping[str, Generator], name: str) -> tuple[bool, bool]:
    """Returns whether a generator can serve cold users, and whether it can list cold items.

    One that reads lists of others can do what any of these can.

    Args:
        generators: by name; what each reads is among them, without a cycle.
        name: of the generator.
    """
    flags: dict[str, tuple[bool, bool]] = {}
    for each in order_of(generators):
        generator = generators[each]
        own = [(generator.serves_cold_users, generator.serves_cold_items)]
        read = [flags[other] for other in generator.reads(1)] or own
        flags[each] = any(users for users, _ in read), any(items for _, items in read)
    return flags[name]


def unknown_generator(name: str, generators: Iterable[str]) -> str:
    """Returns what to say of a name that no generator has.

    Args:
        name: as written.
        generators: the names that there are.

    Example:
        >>> unknown_generator("asl", ["als"])
        "unknown generator 'asl'. Did you mean 'als'? Generators: als"
        >>> unknown_generator("night", ["night/a", "night/b", "als"])
        "'night' stands for its systems: name each of them. Generators: night/a, night/b, als"
    """
    known = list(generators)
    if any(each.startswith(f"{name}/") for each in known):
        said = f"{name!r} stands for its systems: name each of them."
    else:
        said = f"unknown generator {name!r}.{did_you_mean(name, known)}"
    return f"{said} Generators: {', '.join(known)}"


def _needs(generator: Generator) -> dict[str, str]:
    """Returns what a generator does with each other one that it needs."""
    return {**dict.fromkeys(generator.asks, "asks"), **dict.fromkeys(generator.reads(1), "reads")}


def _unknown(
    generators: Mapping[str, Generator], needs: Mapping[str, Mapping[str, str]]
) -> Iterator[Problem]:
    for name, others in needs.items():
        places = list(generators[name].places.items())
        named = {other for _, other in places}
        for place, other in [*places, *(("", other) for other in others if other not in named)]:
            if other not in generators:
                text = unknown_generator(other, generators)
                yield Problem(text, f"generators.{name}.{place}".rstrip("."))


def _cycles(waiting: Mapping[str, list[str]]) -> list[tuple[str, ...]]:
    """Returns the cycles that keep generators waiting, each from its first name on.

    Args:
        waiting: each name with those that it needs; one of these is waiting as well.
    """
    numbers = {name: number for number, name in enumerate(waiting)}
    found: dict[tuple[str, ...], None] = {}
    for name in waiting:
        path: dict[str, None] = {}
        while name not in path:
            path[name] = None
            name = next(other for other in waiting[name] if other in waiting)  # noqa: PLW2901
        walked = list(path)
        cycle = walked[walked.index(name) :]
        first = cycle.index(min(cycle, key=numbers.__getitem__))
        found[tuple(cycle[first:] + cycle[:first])] = None
    return list(found)


def _broken(cycle: tuple[str, ...], needs: Mapping[str, Mapping[str, str]]) -> Problem:
    """Returns what is wrong with a cycle: a reads b, which reads a."""
    following = [*cycle[1:], cycle[0]]
    steps = [
        f"{needs[name][other]} {other if len(cycle) > 1 else 'itself'}"
        for name, other in zip(cycle, following, strict=True)
    ]
    text = f"{cycle[0]} {', which '.join(steps)}: break the cycle"
    return Problem(text, f"generators.{cycle[0]}")
