"""Generators of other packages: entry points of the group `recoeval.plugins`.

They are looked for when a configuration names a type that is not built in, and imported when it
is theirs. docs/plugins.md tells how one is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from pydantic import Field, create_model

from recoeval.component import Component
from recoeval.data.failures import gist, printable
from recoeval.documents.validation import Document, locate
from recoeval.errors import ConfigError, Problem
from recoeval.generators import GENERATORS
from recoeval.generators.base import Generator

__all__ = [
    "GROUP",
    "Plugin",
    "Refused",
    "find_plugins",
    "loadable_plugins",
    "origin_of",
    "plugin_of",
    "plugins_for",
    "with_types",
]

GROUP: Final = "recoeval.plugins"
"""The group of entry points; the name of one is the `type` of its generator."""

Model = TypeVar("Model", bound=Component)


class Refused(Exception):  # noqa: N818 - told as a problem of the configuration that names it
    """A plug-in that cannot be used; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What offers a type of generator.

    Args:
        name: of its entry point: the `type` of its generator.
        points: the entry points of that name; more than one is an error where it is used.
    """

    name: str
    points: tuple[EntryPoint, ...]

    @property
    def distributions(self) -> dict[str, str]:
        """Versions of the distributions that offer it, by name; those without a name left out."""
        found = [dist.metadata for point in self.points if (dist := point.dist) is not None]
        return {each["Name"]: each["Version"] for each in found if "Name" in each}

    def __str__(self) -> str:
        """Says what it is called and where it comes from."""
        of = " and ".join(f"{name} {version}" for name, version in self.distributions.items())
        return printable(f"plug-in {self.name!r} of {of}" if of else f"plug-in {self.name!r}")

    def load(self) -> type[Generator]:
        """Returns its class.

        Raises:
            Refused: it cannot be imported, is no generator, or has another type.
        """
        if self.name in GENERATORS:
            raise Refused(f"{self}: recoeval itself has a generator {self.name!r}")
        if len(self.points) > 1:
            raise Refused(f"{self}: several packages offer it; uninstall all but one")
        try:
            found = self.points[0].load()
        except (Exception, SystemExit) as error:  # anybody's code: it must not end the program
            text = f"{type(error).__name__}: {gist(str(error))}"
            raise Refused(f"{self} cannot be imported: {text}") from error
        if reason := _unfit(found, self.name):
            raise Refused(f"{self}: {reason}")
        made: type[Generator] = found
        return made


def _unfit(found: Any, name: str) -> str:
    """Returns why an object is no generator of a type, or ""."""
    if not (isinstance(found, type) and issubclass(found, Generator)):
        return f"{found!r:.80} is no subclass of recoeval.generators.Generator"
    own = found.model_fields["type"]
    if get_origin(own.annotation) is not Literal or get_args(own.annotation) != (own.default,):
        return f'{found.__name__} has no type: Literal["{name}"] = "{name}"'
    if own.default != name:
        return f"the type of {found.__name__} is {own.default!r}: give both one name"
    if isabstract(found):
        return f"{found.__name__} lacks {', '.join(sorted(found.__abstractmethods__))}"
    flags = ("serves_cold_users", "serves_cold_items")
    lacking = [flag for flag in flags if not isinstance(getattr(found, flag, None), bool)]
    if lacking:
        return f"{found.__name__} does not say {' and '.join(lacking)}"
    try:
        found.model_json_schema()
    except Exception as error:  # noqa: BLE001 - whatever pydantic has against its fields
        return f"{found.__name__} has no JSON Schema: {gist(str(error))}"
    return ""


def find_plugins() -> dict[str, Plugin]:
    """Returns the plug-ins that are installed, by type, in order; nothing is imported."""
    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        # Other names cannot stand in a configuration.
        if point.name.isprintable():
            points.setdefault(point.name, []).append(point)
    return {name: Plugin(name, tuple(points[name])) for name in sorted(points)}


def loadable_plugins() -> tuple[type[Generator], ...]:
    """Returns the classes of all plug-ins that can be used, imported."""
    found = []
    for plugin in find_plugins().values():
        try:
            found.append(plugin.load())
        except Refused:
            continue
    return tuple(found)


def plugin_of(generator: Generator) -> Plugin | None:
    """Returns the plug-in that offers a generator; None for one of recoeval's own."""
    return None if generator.type in GENERATORS else find_plugins().get(generator.type)


def origin_of(generator: Generator) -> str:
    """Returns where a generator of another package comes from, to be said behind its failures.

    Returns:
        " (plug-in 'newest' of recoeval-example 0.1.0)"; "" for one of recoeval's own.
    """
    plugin = plugin_of(generator)
    return "" if plugin is None else f" ({plugin})"


def plugins_for(document: Document) -> tuple[type[Generator], ...]:
    """Returns the classes of other packages that a configuration uses.

    A type that nobody has adds the names of all plug-ins, so that the error lists them.

    Raises:
        ConfigError: a plug-in that it uses cannot be used.
    """
    asked = dict(_types(document.data))
    others = {place: name for place, name in asked.items() if name not in GENERATORS}
    if not others:
        return ()
    known, found, problems = find_plugins(), {}, []
    for place, name in others.items():
        try:
            if name in known:
                found[name] = known[name].load()
        except Refused as error:
            path = f"generators.{place}.type"
            problems.append(Problem(str(error), path, locate(document, path)))
    if problems:
        raise ConfigError(*problems)
    if not set(others.values()) <= set(known):
        found |= {name: _named(name) for name in known if name not in {*found, *GENERATORS}}
    return tuple(found.values())


def _types(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields name and type of each entry of `generators` that has one."""
    entries = data.get("generators")
    for name, entry in entries.items() if isinstance(entries, Mapping) else ():
        kind = entry.get("type") if isinstance(entry, Mapping) else None
        if isinstance(kind, str):
            yield name, kind


def _named(name: str) -> type[Any]:
    """Returns a stand-in for a class that is not imported: it has the type and nothing else."""
    kind: Any = Literal[name]
    return create_model(name, __base__=Component, type=(kind, name))


def with_types(model: type[Model], more: Sequence[type[Generator]]) -> type[Model]:
    """Returns the model of a configuration that knows more types of generators.

    Args:
        model: with a field `generators`, a mapping of names to the types of `GENERATORS`.
        more: classes beside those, each of another type.
    """
    return _extended(model, tuple(more)) if more else model


@cache
def _extended(model: type[Model], more: tuple[type[Generator], ...]) -> type[Model]:
    own = model.model_fields["generators"]
    name: Any = get_args(own.annotation)[0]
    # A union of a computed tuple has no other spelling.
    known: Any = Union[(*GENERATORS.values(), *more)]
    entries: Any = dict[name, Annotated[known, Field(discriminator="type")]]
    about = Field(min_length=1, description=own.description)
    fields: Any = {"generators": (Annotated[entries, about], ...)}
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **fields)
