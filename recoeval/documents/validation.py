"""Documents checked against a model: what pydantic finds, in our words and with positions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from recoeval.documents.schema import Choice, Slot, fields_of, phrase_of, tags_of, trace
from recoeval.documents.yamlvalues import Location, Origin, dotted
from recoeval.errors import ConfigError, Problem, did_you_mean

__all__ = ["Document", "Written", "locate", "validate"]

M = TypeVar("M", bound=BaseModel)

_SHOWN: Final = 80
_BITS: Final = 4096
_SHORTEST_SECRET: Final = 3
_AT_KEY: Final = frozenset(
    {"extra_forbidden", "missing", "union_tag_invalid", "union_tag_not_found"}
)
_LATE: Final = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Written:
    """What stood in the file where the environment, or an escape, made another value of it.

    Args:
        text: the text as written, dates replaced.
        plain: it is one unquoted variable, and may have become a number.
        variables: the environment variables in it.
    """

    text: str
    plain: bool = False
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A configuration as plain data, complete and explicit.

    Args:
        data: mappings, lists and scalars; no `extends`, short forms written out.
        origins: where values were written; nothing for what no file and no option wrote.
        written: texts as written, for values that came from the environment.
        hidden: what errors show for values that nobody should see.
        undated: a problem for each path that needs a date; told with those of `validate`.
    """

    data: dict[str, Any]
    origins: Mapping[Location, Origin] = field(default_factory=dict)
    written: Mapping[Location, Written] = field(default_factory=dict)
    hidden: Mapping[Location, str] = field(default_factory=dict)
    undated: tuple[Problem, ...] = ()

    @property
    def secrets(self) -> frozenset[Location]:
        """Where values of the environment stand."""
        return frozenset(place for place, text in self.written.items() if text.variables)


@dataclass(frozen=True, slots=True)
class _Finding:
    """One error of pydantic, placed."""

    kind: str
    at_key: bool
    location: Location
    slots: tuple[Slot, ...]
    owners: tuple[Slot, ...]
    choices: tuple[Choice, ...]
    context: Mapping[str, Any]
    message: str


def locate(document: Document, dotted_path: str) -> str:
    """Returns the origin of a dotted path, or of its closest parent that has one, or "".

    Args:
        document: the configuration.
        dotted_path: "constraints.0.metric"; "constraints[0].metric" is the same.
    """
    origins = {dotted(place): origin for place, origin in document.origins.items() if place}
    path = re.sub(r"\[(\d+)\]", r".\1", dotted_path)
    while path and path not in origins:
        path = path.rpartition(".")[0]
    return str(origins.get(path, ""))


def validate(document: Document, model: type[M]) -> M:
    """Returns the model of the document.

    Args:
        document: the configuration.
        model: what it has to fit.

    Raises:
        ConfigError: all problems of the document, in the order of their positions.
    """
    if unnamed := list(_unnamed(document.data, ())):
        raise ConfigError(*unnamed)
    try:
        checked = model.model_validate(document.data)
        if not document.undated:
            return checked
        findings = []
    except ConfigError as error:
        raise error.located(lambda path: locate(document, path)) from None
    except ValidationError as error:
        findings = [_finding(document, model, entry) for entry in error.errors(include_url=False)]
    real = [each for each in findings if not _is_length_of_errors(document, each)]
    origins = {str(origin): origin for origin in document.origins.values()}
    found = [_problem(document, group) for group in _groups(_relevant(real))]
    found += [(origins.get(each.origin), each) for each in document.undated]
    found.sort(key=lambda pair: _order(document, pair[0]))
    raise ConfigError(*dict.fromkeys(problem for _, problem in found))


def _unnamed(value: object, place: Location) -> Iterator[Problem]:
    """Yields a problem for each key that is no text, which no file can have."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                text = f"a key has to be text, got {key!r}: names are texts, write {str(key)!r}"
                yield Problem(text, dotted(place))
    pairs = value.items() if isinstance(value, Mapping) else []
    for key, part in enumerate(value) if isinstance(value, list) else pairs:
        yield from _unnamed(part, (*place, key))


def _finding(document: Document, model: type[BaseModel], entry: Mapping[str, Any]) -> _Finding:
    place = trace(model, entry["loc"], document.data)
    kind = entry["type"]
    if place.of_key and _MAKERS.get(kind) is not _own_words:
        kind = "invalid_key"
    return _Finding(
        kind=kind,
        at_key=place.of_key or kind in _AT_KEY,
        location=place.location,
        slots=place.slots,
        owners=place.owners,
        choices=place.choices,
        context=entry.get("ctx", {}),
        message=entry["msg"],
    )


_MISFIT = re.compile(
    r".*_(type|parsing|parsing_size)|int_from_float|literal_error|enum|none_required"
    r"|(greater|less)_than(_equal)?|finite_number|is_instance_of"
)
"""Kinds of errors that say: not the value that stands in the annotation."""


def _is_misfit(finding: _Finding) -> bool:
    return _MISFIT.fullmatch(finding.kind) is not None


def _relevant(findings: Sequence[_Finding]) -> list[_Finding]:
    """Returns the findings without what only says that another choice of a union was meant."""
    deep = [each for each in findings if not _is_misfit(each)]
    counts: Counter[Choice] = Counter()
    for each in findings:
        counts.update(each.choices)
    # Among the mappings that a value could be, the one with the fewest errors was meant.
    best: dict[tuple[Location, int], Choice] = {}
    for choice in counts:
        place, level, _ = choice
        serious = any(
            choice in each.choices and (each.location != place or each in deep) for each in findings
        )
        rival = best.get((place, level))
        if serious and (rival is None or counts[choice] < counts[rival]):
            best[place, level] = choice
    kept = [
        each
        for each in findings
        if all(best.get(choice[:2], choice) == choice for choice in each.choices)
    ]
    return [each for each in kept if not _is_renamed(each, kept)]


def _is_length_of_errors(document: Document, finding: _Finding) -> bool:
    """Whether a list is called too short only because pydantic leaves out its bad entries."""
    value = _at(document.data, finding.location)
    least = finding.context.get("min_length", 0)
    return finding.kind == "too_short" and isinstance(value, list | dict) and len(value) >= least


def _is_renamed(finding: _Finding, findings: Iterable[_Finding]) -> bool:
    """Whether a key is missing only because it is written with a typing error."""
    if finding.kind != "missing":
        return False
    return any(
        other.kind == "extra_forbidden"
        and other.location[:-1] == finding.location[:-1]
        and repr(finding.location[-1])
        in did_you_mean(str(other.location[-1]), fields_of(other.owners))
        for other in findings
    )


def _groups(findings: Sequence[_Finding]) -> Iterator[list[_Finding]]:
    """Yields findings that make one problem: all misfits of a place, others one by one."""
    misfits: dict[Location, list[_Finding]] = {}
    for finding in findings:
        if _is_misfit(finding):
            misfits.setdefault(finding.location, []).append(finding)
        else:
            yield [finding]
    yield from misfits.values()


def _problem(document: Document, group: Sequence[_Finding]) -> tuple[Origin | None, Problem]:
    """Returns the problem of a group, and its position to sort by."""
    first = group[0]
    location = first.location
    named = first.kind == "union_tag_invalid" and (*location, "type") in document.origins
    if named or first.kind == "union_tag_not_found":
        location = (*location, "type")
    known = location
    while known and known not in document.origins:
        known = known[:-1]
    origin = document.origins.get(known)
    if origin is not None and not known:
        origin = Origin(origin.source)
    elif origin is not None and first.at_key and not named:
        origin = origin.at_key()
    message = _mask(document, _message(document, group))
    path = dotted(location)
    if origin is not None and origin.sets == path:
        path = ""
    return origin, Problem(message, path, str(origin or ""))


def _order(document: Document, origin: Origin | None) -> tuple[bool, bool, str, int, int]:
    """Returns the sort key of a position: this file, the files it extends, --set texts."""
    if origin is None:
        return (True, True, _LATE, 0, 0)
    top = document.origins.get(())
    other = top is None or top.source != origin.source
    return (bool(origin.sets), other, origin.source, origin.line, origin.column)


def _message(document: Document, group: Sequence[_Finding]) -> str:
    finding = group[0]
    shown = _shown(document, finding.location)
    maker = _MAKERS.get(finding.kind)
    if maker is not None:
        return maker(finding, _at(document.data, finding.location), shown)
    if not _is_misfit(finding):
        said = finding.message.removeprefix("Input should be ")
        return said if said == finding.message else f"expected {said}, got {shown}"
    phrases = [phrase_of(each.slots, each.kind, each.context) for each in group]
    expected = " or ".join(dict.fromkeys(phrases))
    value = _at(document.data, finding.location)
    if isinstance(value, list) and expected == "a mapping" and finding.location:
        names = [f"{item}: " for item in value if isinstance(item, str)] or ["name: {...}"]
        form = f"{finding.location[-1]}: {{{', '.join(names)}}}"
        return f"expected a mapping, got a list: write {form}"
    words = [str(choice) for each in group for slot in each.slots for choice in slot.choices]
    hint = did_you_mean(value, words) if isinstance(value, str) else ""
    if expected == "text" and isinstance(value, bool | int | float):
        hint = " Put it in quotes"
    return f"expected {expected}, got {shown}{'.' if hint else ''}{hint}"


def _unknown_key(finding: _Finding, _value: object, _text: str) -> str:
    name, choices = str(finding.location[-1]), fields_of(finding.owners)
    hint = did_you_mean(name, choices) or (f" Keys: {', '.join(choices)}" if choices else "")
    return f"unknown key {_show(name)}{'.' if hint else ''}{hint}"


def _missing(finding: _Finding, _value: object, _text: str) -> str:
    expected = phrase_of(finding.slots, finding.kind, finding.context)
    about = " ".join(next((slot.description for slot in finding.slots), "").split())
    sentence = re.split(r"(?<=[^.])[.:;](?= |$)", about)[0]
    return f"missing; expected {expected}{f' ({sentence})' if sentence else ''}"


def _unknown_type(finding: _Finding, value: object, _text: str) -> str:
    kind = value.get("type") if isinstance(value, Mapping) else value
    section = str(finding.location[0]) if finding.location else ""
    noun = section.removesuffix("s") if len(finding.location) > 1 else f"{section} type"
    choices = tags_of(finding.slots)
    hint = did_you_mean(kind, choices) if isinstance(kind, str) else ""
    other = ""
    if not hint and len(finding.location) > 1 and kind == finding.location[-1]:
        other = f"; a name of its own needs a type: {kind}: {{type: {choices[0]}}}"
    return f"unknown {noun} {_show(kind)}.{hint} Choices: {', '.join(choices)}{other}"


def _no_type(finding: _Finding, _value: object, _text: str) -> str:
    return f"missing; expected one of {', '.join(tags_of(finding.slots))}"


def _own_words(finding: _Finding, _value: object, _text: str) -> str:
    return str(finding.context["error"])


def _bad_key(finding: _Finding, _value: object, _text: str) -> str:
    pattern = finding.context.get("pattern")
    expected = f"text that matches {pattern}" if pattern else "another one"
    return f"the key {_show(finding.location[-1])} does not fit: expected {expected}"


def _length(finding: _Finding, _value: object, text: str) -> str:
    context = finding.context
    least, most = context.get("min_length"), context.get("max_length")
    number = least if least is not None else most
    thing = "characters" if finding.kind.startswith("string") else "entries"
    thing = {"characters": "character", "entries": "entry"}[thing] if number == 1 else thing
    side = "least" if least is not None else "most"
    return f"expected at {side} {number} {thing}, got {text}"


def _pattern(finding: _Finding, _value: object, text: str) -> str:
    return f"expected text that matches {finding.context['pattern']}, got {text}"


_MAKERS: Final[Mapping[str, Callable[[_Finding, object, str], str]]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "union_tag_invalid": _unknown_type,
    "union_tag_not_found": _no_type,
    "value_error": _own_words,
    "assertion_error": _own_words,
    "invalid_key": _bad_key,
    "too_short": _length,
    "too_long": _length,
    "string_too_short": _length,
    "string_too_long": _length,
    "string_pattern_mismatch": _pattern,
}


def _at(data: Any, location: Location) -> Any:
    """Returns the value at a location, None where there is none."""
    for part in location:
        present = part in data if isinstance(data, Mapping) else isinstance(data, list)
        data = data[part] if present else None
    return data


def _show(value: object) -> str:
    """Returns a value as YAML would have it, cut to a readable length."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > _BITS:
        return f"a number of {value.bit_length()} bits"
    text = repr(value[:_SHOWN] if isinstance(value, str) else value)
    long = len(text) > _SHOWN or (isinstance(value, str) and len(value) > _SHOWN)
    return f"{text[:_SHOWN]}..." if long else text


def _shown(document: Document, location: Location) -> str:
    """Returns the value at a location as text; values of secrets as they were written."""
    text = _show(_veiled(_at(document.data, location), location, document.hidden))
    written = document.written.get(location)
    if written is None or location in document.hidden or not written.variables:
        return text
    return f"{text} from {written.text}"


def _veiled(value: Any, location: Location, hidden: Mapping[Location, str]) -> Any:
    if location in hidden:
        return hidden[location]
    if isinstance(value, Mapping):
        return {k: _veiled(v, (*location, k), hidden) for k, v in value.items()}
    if isinstance(value, list):
        return [_veiled(v, (*location, i), hidden) for i, v in enumerate(value)]
    return value


def _mask(document: Document, message: str) -> str:
    """Returns the message with values of secrets, which validators may have put in, hidden."""
    for place, text in document.hidden.items():
        value = _at(document.data, place)
        if not isinstance(value, bool | None) and len(str(value)) >= _SHORTEST_SECRET:
            message = message.replace(repr(value), repr(text)).replace(str(value), text)
    return message
