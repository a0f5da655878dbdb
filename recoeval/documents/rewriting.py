"""Rewriting of configuration trees: --set, environment, dates, short forms."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from recoeval.documents.yamlfile import MAX_DEPTH, parse_yaml
from recoeval.documents.yamlvalues import (
    UNUSABLE,
    Location,
    Origin,
    Value,
    dotted,
    printable,
    resolve_scalar,
)
from recoeval.errors import ConfigError, Problem

__all__ = [
    "FOLD",
    "Unusable",
    "Words",
    "apply_sets",
    "expand",
    "type_of",
    "value_of",
    "write_out_short_forms",
    "write_out_types",
]

PATH_KEYS: Final = frozenset({"path", "train", "test", "table", "exclude", "canonical_items"})
"""Keys whose text names files: {date} is replaced there, and only there."""

FOLD: Final = "{fold}"
"""Stands in paths of generators for the number of the fold; whoever opens them replaces it."""

Sets = Sequence[str] | Mapping[str, Any]

_LONGEST_SET: Final = 120
_SECRET = re.compile(r"salt|passw|token|secret|key|credential", re.IGNORECASE)
_PLACE = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(
    r"(?P<escape>\$\$\{)"
    r"|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"(?::-(?P<default>(?:[^{}$]|\$(?!\{)|\{[^{}]*\})*))?\}"
    r"|(?P<broken>\$\{)"
    r"|(?P<place>\{[^{}]*\})"
)


class Unusable(Exception):  # noqa: N818 - a signal inside the loader, never shown as it is
    """A text or a path that cannot be used; the message is for the user."""


class Undated(Unusable):
    """A path whose {date} nobody gave: it stays as it is, and still is a path."""


@dataclass(frozen=True, slots=True)
class Words:
    """What ${NAME} and {date} stand for; with `folds` a path may have {fold} in it."""

    environ: Mapping[str, str]
    date: datetime.date | None
    folds: bool = False

    def expand(self, text: str, *, dates: bool) -> tuple[str, str, tuple[str, ...]]:
        """Returns the text expanded, the text that may be stored, and the variables in it.

        Args:
            text: with ${NAME}, ${NAME:-default}, $${ for a literal ${.
            dates: whether {date} is replaced.

        Raises:
            Unusable: a variable is not set, or a ${ or {...} is malformed.
        """
        value, written, names = "", "", []
        end = 0
        for match in _TOKEN.finditer(text):
            between = text[end : match.start()]
            new_value, new_written = self._token(match, dates=dates)
            value += between + new_value
            written += between + new_written
            end = match.end()
            names += [match["name"]] if match["name"] else []
        return value + text[end:], written + text[end:], tuple(names)

    def _token(self, match: re.Match[str], *, dates: bool) -> tuple[str, str]:
        if match["escape"]:
            return "${", "$${"
        if match["broken"]:
            raise Unusable("expected ${NAME} or ${NAME:-default}; a literal ${ is written $${")
        if match["place"]:
            place = self._dated(match["place"]) if dates else match["place"]
            return place, place
        name, default = match["name"], match["default"]
        value = self.environ.get(name)
        if value is None and default is None:
            said = f"the environment variable {name} is not set"
            raise Unusable(f"{said}: set it, or write ${{{name}:-default}}")
        written = match[0]
        if default is not None and dates:
            default = self._dated(default)
            written = f"${{{name}:-{default}}}"
        value = value or default or ""
        if UNUSABLE.search(value):
            raise Unusable(f"the environment variable {name} is not UTF-8 text")
        return self._dated(value) if dates else value, written

    def _dated(self, text: str) -> str:
        return _PLACE.sub(self._place, text)

    def _place(self, match: re.Match[str]) -> str:
        if self.folds and match[0] == FOLD:
            return FOLD
        if match[1] != "date":
            known = "{date} and {fold} exist" if self.folds else "{date} exists"
            raise Unusable(f"unknown {printable(match[0])} in a path: only {known}")
        if self.date is None:
            raise Undated("{date} needs a date: pass --date, e.g. --date 2026-11-29")
        return f"{self.date:%Y-%m-%d}"


def expand(tree: Value, words: Words) -> tuple[Value, tuple[Problem, ...]]:
    """Returns the tree with ${NAME} replaced in texts, and {date} in texts that name files.

    An unquoted text that is one variable and nothing else is read as YAML: ${F} is a number.

    Returns:
        The tree, and a problem for each path that needs a date when there is none.

    Raises:
        ConfigError: all texts that cannot be expanded, if one of them may not be text at all.
    """
    problems: list[tuple[Problem, Unusable]] = []
    tree = _expand(tree, (), words, problems)
    found = tuple(problem for problem, _ in problems)
    if not all(isinstance(reason, Undated) for _, reason in problems):
        raise ConfigError(*found)
    return tree, found


def _expand(
    value: Value, location: Location, words: Words, problems: list[tuple[Problem, Unusable]]
) -> Value:
    content = value.content
    if isinstance(content, dict):
        items = {k: _expand(v, (*location, k), words, problems) for k, v in content.items()}
        return replace(value, content=items)
    if isinstance(content, list):
        entries = [_expand(v, (*location, i), words, problems) for i, v in enumerate(content)]
        return replace(value, content=entries)
    if not isinstance(content, str) or "{" not in content:
        return value
    key = next((part for part in reversed(location) if isinstance(part, str)), "")
    try:
        own = replace(words, folds=location[:1] == ("generators",))
        text, written, names = own.expand(content, dates=key in PATH_KEYS)
    except Unusable as error:
        problems.append((_problem(str(error), location, value.origin), error))
        return value
    whole = _TOKEN.fullmatch(content)
    alone = value.plain and whole is not None and whole["name"] is not None
    return replace(
        value,
        content=resolve_scalar(text) if alone else text,
        plain=alone,
        written=written if names or written != text else None,
        variables=names,
        secret=value.secret or (bool(names) and any(map(_SECRET.search, (key, *names)))),
    )


def _problem(message: str, location: Location, origin: Origin | None) -> Problem:
    """Returns a problem; a --set text that names the very path is not followed by it."""
    path = dotted(location)
    return Problem(message, "" if origin and origin.sets == path else path, str(origin or ""))


def value_of(data: object, location: Location = (), origin: Origin | None = None) -> Value:
    """Returns Python data as a value; what is neither mapping nor list is a leaf.

    Raises:
        ConfigError: a key is not text, or the data is nested too deeply.
    """
    if len(location) > MAX_DEPTH:
        raise ConfigError(_problem(f"nested deeper than {MAX_DEPTH} levels", (), origin))
    if isinstance(data, Mapping):
        for name in data:
            if not isinstance(name, str) or UNUSABLE.search(name):
                raise ConfigError(_problem(f"a key has to be text, got {name!r}", location, origin))
        items = {name: value_of(item, (*location, name), origin) for name, item in data.items()}
        return Value(items, origin)
    if isinstance(data, list | tuple):
        entries = enumerate(data)
        return Value([value_of(item, (*location, i), origin) for i, item in entries], origin)
    data = os.fspath(data) if isinstance(data, os.PathLike) else data
    if isinstance(data, str) and UNUSABLE.search(data):
        said = f"text cannot contain {UNUSABLE.findall(data)[0]!r}"
        raise ConfigError(_problem(said, location, origin))
    return Value(data, origin)


def apply_sets(tree: Value, sets: Sets) -> Value:
    """Returns the tree with values set, in the order given.

    Args:
        tree: the top of a document.
        sets: "a.b.c=value" texts, the value in YAML; or dotted paths with typed values.

    Raises:
        ConfigError: all that are malformed or do not fit the tree.
    """
    problems: list[Problem] = []
    items = [sets] if isinstance(sets, str) else sets
    for item in items.items() if isinstance(items, Mapping) else items:
        name, sign, text = item.partition("=") if isinstance(item, str) else (item[0], "=", "")
        name = name.strip()
        origin = _set_origin(name, item)
        try:
            keys = _set_keys(name, sign)
            if isinstance(item, str):
                value = parse_yaml(text, "", origin=origin)
            else:
                value = value_of(item[1], (), origin)
            value = replace(value, secret=_is_secret_set(name))
            tree = _put(tree, keys, value, ())
        except Unusable as error:
            problems.append(Problem(str(error), "", str(origin)))
        except ConfigError as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigError(*problems)
    return tree


def _set_origin(name: str, item: str | tuple[str, Any]) -> Origin:
    """Returns the text of a set, cut to a readable length; a secret's value is not shown."""
    option, shown = ("--set", item) if isinstance(item, str) else ("set", f"{name}={item[1]!r}")
    if _is_secret_set(name):
        shown = f"{name}=..."
    if len(shown) > _LONGEST_SET:
        shown = f"{shown[:_LONGEST_SET]}..."
    return Origin(printable(f"{option} {shown}"), sets=name)


def _is_secret_set(name: str) -> bool:
    """Whether a set names a secret; a key that is called key names a column."""
    last = name.rpartition(".")[2]
    return last != "key" and _SECRET.search(last) is not None


def _set_keys(name: str, sign: str) -> list[str]:
    keys = name.split(".")
    if not sign or not all(keys) or len(keys) > MAX_DEPTH or UNUSABLE.search(name):
        raise Unusable("expected path=value, e.g. --set generators.als.factors=128")
    if keys[0] == "extends":
        raise Unusable("extends stands in files only")
    return keys


def _put(node: Value | None, keys: Sequence[str], new: Value, done: Location) -> Value:
    """Returns the node with a new value at a path; mappings on the way are made."""
    if not keys:
        return new
    key, rest = keys[0], keys[1:]
    node = node or Value(None, new.origin)
    content = node.content
    removed = content is False and done[:1] == ("generators",)
    if content is None or removed:
        content = [] if key == "0" else {}
    if isinstance(content, dict):
        inner = _put(content.get(key), rest, new, (*done, key))
        return replace(node, content={**content, key: inner}, plain=False)
    if not isinstance(content, list):
        raise Unusable(f"{dotted(done)} is {content!r}, not a mapping")
    if not re.fullmatch(r"[0-9]{1,6}", key) or int(key) > len(content):
        raise Unusable(
            f"{dotted(done)} is a list of {len(content)}: expected an index from 0 to "
            f"{len(content)}, got {key!r}"
        )
    index = int(key)
    old = content[index] if index < len(content) else None
    entry = _put(old, rest, new, (*done, index))
    return replace(node, content=[*content[:index], entry, *content[index + 1 :]])


_SPLITS: Final = {"folds": "rolling", "n": "leave_last", "train": "files"}
"""Keys that only splits of one type have."""


def type_of(value: Value, location: Location) -> object:
    """Returns the type that a mapping says it has, None when it does not say."""
    if "type" in value.content:
        return value.content["type"].content
    kinds = _SPLITS.items() if location == ("split",) else ()
    return next((kind for key, kind in kinds if key in value.content), None)


def default_type(location: Location) -> str | int | None:
    """Returns the type of a mapping that says none: a generator's name, a split by time."""
    if location == ("split",):
        return "time"
    return location[1] if len(location) == 2 and location[0] == "generators" else None


def write_out_short_forms(tree: Value) -> Value:
    """Returns the tree with short forms written out: texts that name files, empty generators."""

    def source(value: Value) -> Value:
        is_text = isinstance(value.content, str)
        return replace(value, content={"path": value}, plain=False) if is_text else value

    def filled(value: Value) -> Value:
        return replace(value, content={}, plain=False) if value.content is None else value

    content = dict(tree.content)
    for name in ("interactions", "canonical_items"):
        if name in content:
            content[name] = source(content[name])
    split = content.get("split")
    if split and isinstance(split.content, dict) and type_of(split, ("split",)) == "files":
        sides = {k: source(v) if k in ("train", "test") else v for k, v in split.content.items()}
        content["split"] = replace(split, content=sides)
    if "generators" in content:
        generators = filled(content["generators"])
        if isinstance(generators.content, dict):
            entries = {name: filled(value) for name, value in generators.content.items()}
            generators = replace(generators, content=entries)
        content["generators"] = generators
    return replace(tree, content=content)


def write_out_types(tree: Value) -> Value:
    """Returns the tree with types written out and removed generators gone."""

    def typed(value: Value, location: Location) -> Value:
        if not isinstance(value.content, dict) or "type" in value.content:
            return value
        kind = type_of(value, location) or default_type(location)
        return replace(value, content={"type": Value(kind), **value.content})

    content = dict(tree.content)
    if "split" in content:
        content["split"] = typed(content["split"], ("split",))
    generators = content.get("generators")
    if generators and isinstance(generators.content, dict):
        kept = {
            name: typed(value, ("generators", name))
            for name, value in generators.content.items()
            if value.content is not False
        }
        content["generators"] = replace(generators, content=kept)
    return replace(tree, content=content)
