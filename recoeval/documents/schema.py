"""What a pydantic model expects at a place: types, bounds and choices, in words."""

from __future__ import annotations

import datetime
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from recoeval.documents.yamlvalues import Location

__all__ = ["Choice", "Place", "Slot", "fields_of", "models_of", "phrase_of", "tags_of", "trace"]

_PHRASES: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text",
    datetime.timedelta: "a duration such as 3d, 12h, 30m or 45s",
    datetime.datetime: "a time such as 2022-05-05T16:00:00Z",
}
_KINDS: Final = (
    ("bool", "true or false"),
    ("int", "an integer"),
    ("float", "a number"),
    ("finite", "a number"),
    ("string", "text"),
    ("list", "a list"),
    ("tuple", "a list"),
    ("set", "a list"),
    ("dict", "a mapping"),
    ("mapping", "a mapping"),
    ("model", "a mapping"),
    ("none", "null"),
    ("path", "the path of a file"),
)
_BOUNDS: Final = (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))


Choice = tuple[Location, int, str]
"""A union on the way: its location, its level (unions within unions), the member's label."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A type that a model has at some place.

    Args:
        type: the annotation, `Annotated` and `None` taken off.
        metadata: what the annotation carried: bounds, validators.
        description: docstring of the field.
    """

    type: Any
    metadata: tuple[Any, ...] = ()
    description: str = ""

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of a `Literal`; none for other types."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an error of pydantic belongs.

    Args:
        location: keys and indices as they are in the document; labels of unions taken out.
        slots: what the model has there.
        owners: what the model has one level up.
        choices: the member chosen at each union on the way.
        of_key: the error is about the key, not about its value.
    """

    location: Location
    slots: tuple[Slot, ...]
    owners: tuple[Slot, ...]
    choices: tuple[Choice, ...]
    of_key: bool


def trace(model: type[BaseModel], loc: Sequence[str | int], data: object) -> Place:
    """Returns where a location of pydantic lies in the document and in the model.

    Args:
        model: the model at the top.
        loc: pydantic's location, with labels of union members and "[key]" in it.
        data: the document. Where a validator has made a list or a mapping of a scalar, the
            location ends at the scalar.
    """
    slots: tuple[Slot, ...] = (Slot(model),)
    owners = slots
    location: Location = ()
    choices: list[Choice] = []
    node, inside = data, True
    for part in loc:
        if part == "[key]":
            return Place(location, slots, owners, tuple(choices), of_key=True)
        members = [member for slot in slots for member in members_of(slot)]
        if len(members) > len(slots):
            level = sum(location == known for known, _, _ in choices)
            choices.append((location, level, str(part)))
            fitting = [member for member in members if _fits(member, str(part))]
            slots = tuple(fitting or members)
            continue
        owners = tuple(members)
        slots = tuple(child for slot in owners for child in _children(slot, part))
        if isinstance(node, Mapping) and isinstance(part, str):
            node = node.get(part)
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
        else:
            inside = False
        location = (*location, part) if inside else location
    return Place(location, slots, owners, tuple(choices), of_key=False)


def _bare(slot: Slot) -> Slot:
    """Returns the slot without `Annotated` and aliases around its type."""
    kind = slot.type
    if get_origin(kind) is Annotated:
        inner, *metadata = get_args(kind)
        for each in metadata:
            own = each.metadata if isinstance(each, FieldInfo) else [each]
            slot = replace(slot, metadata=(*slot.metadata, *own))
        return _bare(replace(slot, type=inner))
    if hasattr(kind, "__value__"):
        return _bare(replace(slot, type=kind.__value__))
    return slot


def members_of(slot: Slot) -> tuple[Slot, ...]:
    """Returns the members of a union, one level down and without None; else the slot."""
    slot = _bare(slot)
    if get_origin(slot.type) not in (Union, types.UnionType):
        return (slot,)
    members = [each for each in get_args(slot.type) if each is not type(None)]
    if len(members) == 1:
        return members_of(replace(slot, type=members[0]))
    return tuple(_bare(replace(slot, type=each)) for each in members)


def _leaves(slots: Iterable[Slot]) -> list[Slot]:
    """Returns the slots with unions opened down to the last level."""
    leaves = []
    for slot in slots:
        members = members_of(slot)
        leaves += list(members) if len(members) == 1 else _leaves(members)
    return leaves


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _tag(kind: Any) -> tuple[Any, ...]:
    field = kind.model_fields.get("type") if _is_model(kind) else None
    return _bare(Slot(field.annotation)).choices if field else ()


def _fits(slot: Slot, label: str) -> bool:
    """Whether a slot is the union member that pydantic calls so."""
    if label in _tag(slot.type):
        return True
    if len(members_of(slot)) > 1:
        return "union[" in label
    if slot.choices:
        return label.startswith("literal")
    name = getattr(get_origin(slot.type) or slot.type, "__name__", "")
    return re.search(rf"(^|\W){re.escape(name)}(\W|$)", label) is not None


def _children(slot: Slot, part: str | int) -> list[Slot]:
    """Returns what a slot has under a key or an index."""
    kind, args = slot.type, get_args(slot.type)
    if _is_model(kind):
        found = kind.model_fields.get(part)
        if found is None:
            return []
        return [Slot(found.annotation, tuple(found.metadata), found.description or "")]
    if isinstance(part, str):
        return [Slot(args[1])] if len(args) == 2 and _is_mapping(kind) else []
    if not args or _is_mapping(kind) or slot.choices:
        return []
    fixed = get_origin(kind) is tuple and Ellipsis not in args
    if not fixed:
        return [Slot(args[0])]
    return [Slot(args[part])] if part < len(args) else []


def _is_mapping(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)


def models_of(slots: Iterable[Slot]) -> list[type[BaseModel]]:
    """Returns the models among the slots, unions opened."""
    return [slot.type for slot in _leaves(slots) if _is_model(slot.type)]


def fields_of(slots: Iterable[Slot]) -> list[str]:
    """Returns the keys that a mapping can have at the slots."""
    return list(dict.fromkeys(name for model in models_of(slots) for name in model.model_fields))


def tags_of(slots: Iterable[Slot]) -> list[str]:
    """Returns the values that `type` can have at the slots."""
    return [str(tag) for model in models_of(slots) for tag in _tag(model)]


def phrase_of(slots: Sequence[Slot], kind: str, context: Mapping[str, Any]) -> str:
    """Returns what is expected: "an integer >= 1", "one of keep, drop".

    Args:
        slots: what the model has there; may be empty where a validator hides it.
        kind: pydantic's kind of error, used where the slots say nothing.
        context: pydantic's context, likewise.
    """
    phrases = [phrase for slot in _leaves(slots) if (phrase := _phrase(slot))]
    if not phrases:
        known = next((words for start, words in _KINDS if kind.startswith(start)), "a value")
        phrases = [known + _bounds([context.get(name) for name, _ in _BOUNDS])]
    text = " or ".join(dict.fromkeys(phrases))
    return text.replace("a number", "a finite number", 1) if kind == "finite_number" else text


def _phrase(slot: Slot) -> str:
    kind = slot.type
    if slot.choices:
        words = [str(c).lower() if isinstance(c, bool) else str(c) for c in slot.choices]
        return words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    if _is_model(kind) or _is_mapping(kind):
        return "a mapping"
    if get_origin(kind) in (list, tuple, set, frozenset, Sequence):
        return "a list"
    limits = [
        next(
            (found for each in slot.metadata if (found := getattr(each, name, None)) is not None),
            None,
        )
        for name, _ in _BOUNDS
    ]
    return _PHRASES[kind] + _bounds(limits) if kind in _PHRASES else ""


def _bounds(limits: Sequence[Any]) -> str:
    texts = [
        f"{sign} {limit}"
        for (_, sign), limit in zip(_BOUNDS, limits, strict=True)
        if limit is not None
    ]
    return f" {' and '.join(texts)}" if texts else ""
