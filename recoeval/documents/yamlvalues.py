"""Values that know where they were written, and what YAML 1.2 makes of unquoted text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

__all__ = ["Location", "Origin", "Quoted", "Value", "dotted", "dump_yaml", "resolve_scalar"]

Location = tuple[str | int, ...]
"""Keys and list indices from the top of the document."""

Scalar = str | int | float | bool | None

TAG: Final = "tag:yaml.org,2002:"
TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    f"{TAG}null": (type(None),),
    f"{TAG}bool": (bool,),
    f"{TAG}int": (int,),
    f"{TAG}float": (float, int),
}
UNUSABLE: Final = re.compile("[\0\ud800-\udfff]")
"""What no text of a configuration may contain: NUL, and halves of surrogate pairs."""

_LONGEST_INT: Final = 100
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONSTANTS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written; its text is "nightly.yaml:14:5" or "--set a.b=1".

    Args:
        source: the file's path as the user gave it, or the text of the --set option.
        line: line of the value, from 1; 0 when the source has no lines.
        column: column of the value, from 1.
        key: line and column of the value's key, if it has one.
        sets: dotted path that a --set option names.
    """

    source: str
    line: int = 0
    column: int = 0
    key: tuple[int, int] | None = None
    sets: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source

    def at_key(self) -> Origin:
        """Returns the origin of the key; of the value itself where it has no key."""
        return Origin(self.source, *self.key, self.key, self.sets) if self.key else self


@dataclass(frozen=True, slots=True)
class Value:
    """A piece of a document.

    Args:
        content: a scalar, a dict of text to `Value`, or a list of `Value`.
        origin: where it was written; None for what no file and no option wrote.
        plain: it is an unquoted scalar.
        written: the text as written, where the environment or an escape changed it.
        variables: names of the environment variables that are part of the value.
        secret: it holds a variable, and a name says that nobody should see it.
    """

    content: Any
    origin: Origin | None = None
    plain: bool = False
    written: str | None = None
    variables: tuple[str, ...] = ()
    secret: bool = False


def printable(text: str) -> str:
    """Returns the text without anything that could write to the terminal or break a line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def dotted(location: Location) -> str:
    """Returns the location as text: "generators.als.factors"; control characters escaped."""
    return printable(".".join(str(part) for part in location))


def resolve_scalar(text: str) -> Scalar:
    """Returns what unquoted text means in YAML 1.2 (core schema).

    Integers of more than 100 digits stay text.

    Example:
        >>> [resolve_scalar(text) for text in ("1e-3", "0x1F", "NO", "12:30:00", "~")]
        [0.001, 31, 'NO', '12:30:00', None]
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) <= _LONGEST_INT else text
    if _BASED.fullmatch(text) and len(text) <= _LONGEST_INT:
        return int(text, 0)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    return float(text) if _FLOAT.fullmatch(text) else text


def tag_of(kind: type[yaml.Node], text: str, implicit: tuple[bool, bool]) -> str:
    """Returns the tag of a node that was written without one."""
    if kind is not yaml.ScalarNode:
        return f"{TAG}seq" if kind is yaml.SequenceNode else f"{TAG}map"
    value = resolve_scalar(text) if implicit[0] else text
    return next((tag for tag, types in TYPES.items() if type(value) in types), f"{TAG}str")


class Quoted(str):
    """Text that `dump_yaml` puts in quotes, so that its ${X} is read back as text."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Quotes what would not be read back as the same text under 1.2 rules."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return f"{TAG}merge" if value == "<<" and implicit[0] else tag_of(kind, value, implicit)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML takes these for line breaks or marks unless they are escaped, as in "\x85".
    quoted = isinstance(text, Quoted) or any(sign in text for sign in "\x85\u2028\u2029\ufeff")
    return dumper.represent_scalar(f"{TAG}str", str(text), style='"' if quoted else None)


_Dumper.add_representer(Quoted, _represent_text)
_Dumper.add_representer(str, _represent_text)


def dump_yaml(data: Mapping[str, Any]) -> str:
    r"""Returns YAML text that `parse_yaml` reads back as equal data, keys in their order.

    Example:
        >>> dump_yaml({"country": "NO", "rate": "1e-3"})
        "country: NO\nrate: '1e-3'\n"
    """
    return str(
        yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31)
    )
