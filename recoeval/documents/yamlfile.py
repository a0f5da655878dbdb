"""YAML text as values with positions: 1.2 rules, no tags, no surprises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml

from recoeval.documents.yamlvalues import (
    TAG,
    TYPES,
    UNUSABLE,
    Location,
    Origin,
    Scalar,
    Value,
    dotted,
    printable,
    resolve_scalar,
    tag_of,
)
from recoeval.errors import ConfigError, Problem

__all__ = ["parse_yaml", "read_yaml"]

MAX_BYTES: Final = 1_000_000
MAX_VALUES: Final = 100_000
MAX_DEPTH: Final = 50
_TOO_MANY: Final = (
    f"more than {MAX_VALUES:,} values (an alias counts with all that it stands for): "
    "keep data in data files"
)
_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# What PyYAML says -> what we say.
_WORDS: Final = (
    ("found character '\\t'", "a tab cannot stand here: use spaces"),
    ("found character", "unquoted text cannot start with {sign}: quote it"),
    ("expected alphabetic", "unquoted text cannot start with {sign}: quote it"),
    ("mapping values are not allowed", "a second ':' here: quote the text, or check the indent"),
    ("mapping keys are not allowed", "no key is expected here: check the indent"),
    ("sequence entries are not allowed", "no list entry is expected here: check the indent"),
    ("could not find expected ':'", "expected ':' after the key"),
    ("expected <block end>", "does not fit what stands before it: check indent and quotes"),
    ("expected ',' or ']'", "expected ',' or ']': quote the text, or close the list"),
    ("expected ',' or '}'", "expected ',' or '}': quote the text, or close the mapping"),
    ("expected the node content", "a value is missing here, or its text needs quotes"),
    ("found unexpected end of stream", "the quote that opens here is never closed"),
    ("found unexpected document separator", "the quote that opens here is never closed"),
    ("found unknown escape", "unknown escape \\{sign}: put text with \\ in single quotes"),
    ("expected escape sequence", "unknown escape: put text with \\ in single quotes"),
    ("found undefined alias", "this alias has no anchor: quote the text if it is none"),
    ("found duplicate anchor", "this anchor is defined twice"),
    ("but found another document", "a second document starts here: one file, one document"),
    ("expected '<document start>'", "expected nothing after the end of the document"),
    ("found incompatible YAML", "the YAML of this file is of another version than 1"),
    ("expected chomping", "text has to start on the line after | or >: quote it"),
    ("expected a comment or a line break", "text has to start on the line after | or >: quote it"),
)


class _Refused(yaml.MarkedYAMLError):
    """A limit is passed; the problem is already in our words."""


class _Limits:
    """How many values a text has, and how deep they are nested; aliases count in full."""

    def __init__(self) -> None:
        self._values = 0
        self._depth = 0

    def enter(self, mark: Any) -> None:
        """Counts a value that begins at a mark."""
        self._values += 1
        self._depth += 1
        if self._values > MAX_VALUES:
            raise _Refused(problem=_TOO_MANY, problem_mark=mark)
        if self._depth > MAX_DEPTH:
            raise _Refused(problem=_TOO_DEEP, problem_mark=mark)

    def leave(self) -> None:
        """Ends the value that was entered last."""
        self._depth -= 1


class _Loader(yaml.SafeLoader):
    """Composes nodes within the limits; values are built by `_Builder`, not by PyYAML."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._limits = _Limits()

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return tag_of(kind, value, implicit)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        mark: Any = event.start_mark
        self._limits.enter(mark)
        if isinstance(event, yaml.AliasEvent):
            anchored = self.anchors.get(event.anchor)
            if anchored is not None and anchored.end_mark is None:
                said = f"the alias *{event.anchor} stands inside its own anchor"
                raise _Refused(problem=said, problem_mark=mark)
        node = super().compose_node(parent, index)
        self._limits.leave()
        return node


class _Builder:
    """Turns the nodes of one text into values and gathers what is wrong with them."""

    def __init__(self, text: str, source: str, fixed: Origin | None) -> None:
        self.problems: list[Problem] = []
        self._text = text
        self._source = source
        self._fixed = fixed
        self._limits = _Limits()
        self._covered = 0

    def build(self, node: yaml.Node, location: Location, key: yaml.Node | None = None) -> Value:
        """Returns the value of a node and of everything below it."""
        self._limits.enter(node.start_mark)
        value = self._value(node, location, self._origin(node, key))
        self._limits.leave()
        return value

    def _value(self, node: yaml.Node, location: Location, origin: Origin) -> Value:
        if isinstance(node, yaml.ScalarNode):
            return Value(self._scalar(node, location), origin, plain=node.style is None)
        self._check_split(node, location)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{TAG}map":
            return Value(self._mapping(node, location), origin)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{TAG}seq":
            items = [self.build(item, (*location, i)) for i, item in enumerate(node.value)]
            return Value(items, origin)
        self._refuse(node, location, _unknown_tag(node.tag))
        return Value(None, origin)

    def _origin(self, node: yaml.Node, key: yaml.Node | None = None) -> Origin:
        """Returns where the node stands; blocks and empty values stand at their key."""
        if self._fixed is not None:
            return self._fixed
        at_key = _position(key) if key is not None else None
        block = isinstance(node, yaml.CollectionNode) and not node.flow_style
        position = at_key if at_key and (block or _is_empty(node)) else _position(node)
        return Origin(self._source, *position, at_key)

    def _refuse(self, node: yaml.Node, location: Location, message: str) -> None:
        origin = self._origin(node)
        path = "" if origin.sets else dotted(location)
        self.problems.append(Problem(message, path, str(origin)))

    def _scalar(self, node: yaml.ScalarNode, location: Location) -> Scalar:
        text: str = node.value
        unusable = UNUSABLE.search(text)
        if unusable:
            self._refuse(node, location, f"text cannot contain {unusable[0]!r}")
        elif node.tag in TYPES:
            value = resolve_scalar(text)
            if type(value) in TYPES[node.tag]:
                wanted = TYPES[node.tag][0]
                return float(text) if wanted is float and type(value) is int else value
            self._refuse(node, location, f"{text!r} does not fit its tag {_short(node.tag)}")
        elif node.tag != f"{TAG}str":
            self._refuse(node, location, _unknown_tag(node.tag))
        return text

    def _mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Value]:
        merged: dict[str, Value] = {}
        own: dict[str, Value] = {}
        first: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value
            if not isinstance(key, yaml.ScalarNode) or key.tag != f"{TAG}str":
                self._refuse(key, location, _bad_key(key))
            elif name in first:
                before = self._origin(first[name])
                said = "" if before.sets else f", first written at {before}"
                self._refuse(key, (*location, name), f"duplicate key {name!r}{said}")
            elif name == "<<" and key.style is None:
                first[name] = key
                merged = self._merged(value, location)
            else:
                first[name] = key
                self._scalar(key, location)
                own[name] = self.build(value, (*location, name), key)
        return {**merged, **own}

    def _merged(self, node: yaml.Node, location: Location) -> dict[str, Value]:
        """Returns the entries that `<<` brings in: the first mapping that has a key wins."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Value] = {}
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                self._refuse(source, location, "<< takes a mapping or a list of mappings")
                break
            merged = {**self.build(source, location).content, **merged}
        return merged

    def _check_split(self, node: yaml.Node, location: Location) -> None:
        """Refuses unquoted texts of a [...] or {...} that a comma has cut inside parentheses."""
        if not isinstance(node, yaml.CollectionNode) or not node.flow_style:
            return
        pairs = isinstance(node, yaml.MappingNode)
        entries = node.value if pairs else [(None, item) for item in node.value]
        for key, value in entries:
            word = key if key is not None and _is_empty(value) else value
            start = word.start_mark.index
            text = word.value if isinstance(word, yaml.ScalarNode) and word.style is None else ""
            if start < self._covered or not _unbalanced(text):
                continue
            ends = (entry[1].end_mark.index for entry in entries)
            spans = [self._text[start:end] for end in ends if end > start]
            whole = next((span for span in spans if not _unbalanced(span)), text)
            self._covered = start + len(whole)
            names = {str(part) for part in (*location, getattr(key, "value", ""))}
            thing = "metric" if names & {"metric", "metrics", "constraints"} else "text"
            quoted = f"'{whole}'" if '"' in whole else f'"{whole}"'
            said = f'unbalanced "{_unbalanced(text)}" in {text!r}: quote this {thing}: {quoted}'
            self._refuse(word, location, " ".join(said.split()))


def _unbalanced(text: str) -> str:
    """Returns the parenthesis that has no partner, or ""."""
    opened, closed = text.count("("), text.count(")")
    return "(" if opened > closed else ")" if closed > opened else ""


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _is_empty(node: yaml.Node) -> bool:
    """Whether the node is a value that nobody wrote, as in `als:`."""
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.value == ""


def _short(tag: str) -> str:
    return f"!!{tag.removeprefix(TAG)}" if tag.startswith(TAG) else tag


def _unknown_tag(tag: str) -> str:
    return f"unknown tag {printable(_short(tag))}: a configuration holds plain values only"


def _bad_key(key: yaml.Node) -> str:
    if not isinstance(key, yaml.ScalarNode):
        return "a key has to be text, not a list or a mapping"
    if key.tag not in TYPES:
        return _unknown_tag(key.tag)
    return f'the key {key.value} is not text: write "{key.value}"' if key.value else "empty key"


def _explain(error: yaml.MarkedYAMLError, text: str) -> tuple[str, int, int]:
    """Returns a syntax error in our words, with its line and column."""
    mark: Any = error.problem_mark or error.context_mark
    opened: Any = error.context_mark or mark
    said = f"{error.problem or ''} {error.context or ''}"
    variable = re.compile(r"\$\{[^}\n]*\}?").match(text, max(mark.index - 1, 0))
    if isinstance(error, _Refused):
        ours = str(error.problem)
    elif variable and said.startswith("expected"):
        ours = f'{variable[0]} inside [] or {{}} has to stand in quotes: "{variable[0]}"'
        return ours, mark.line + 1, mark.column
    else:
        ours = next((ours for theirs, ours in _WORDS if theirs in said), "")
        if ours.startswith("expected ','"):
            ours += f" (it opens at {opened.line + 1}:{opened.column + 1})"
        elif "opens here" in ours or "start with" in ours:
            mark = opened
        ours = ours.replace("{sign}", text[mark.index : mark.index + 1])
        ours = ours or f"not YAML: {error.problem}"
    return ours, mark.line + 1, mark.column + 1


def parse_yaml(text: str, source: str, *, origin: Origin | None = None) -> Value:
    """Returns the value of one YAML document.

    Args:
        text: YAML text.
        source: name of the text in positions, e.g. the path as the user gave it.
        origin: stands for all positions when the text has none of its own (--set).

    Raises:
        ConfigError: not YAML, or YAML that a configuration does not allow; all problems
            that can be told apart, each with its position.
    """

    def refused(message: str, line: int, column: int) -> ConfigError:
        return ConfigError(Problem(message, "", str(origin or Origin(source, line, column))))

    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        before = text[: forbidden.start()]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise refused(f"the character {forbidden[0]!r} is not allowed in YAML", line, column)
    loader = _Loader(text)
    builder = _Builder(text, source, origin)
    try:
        node = loader.get_single_node()
        value = Value(None, origin) if node is None else builder.build(node, ())
    except yaml.MarkedYAMLError as error:
        raise refused(*_explain(error, text)) from None
    except (ValueError, OverflowError):
        # What chr() and int() say about "\UFFFFFFFF" and the like.
        raise refused("this escape is no character", loader.line + 1, loader.column + 1) from None
    if builder.problems:
        raise ConfigError(*dict.fromkeys(builder.problems))
    return value


def read_yaml(path: Path, source: str) -> Value:
    """Returns the mapping that a YAML file holds.

    Args:
        path: the file.
        source: the path as the user gave it, for positions.

    Raises:
        ConfigError: the file cannot be read, is too large, is not UTF-8, or is not YAML
            with a mapping at the top.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "not a path"
        raise ConfigError(Problem(f"cannot read this file: {said}", "", source)) from None
    if len(data) > MAX_BYTES:
        said = f"larger than {MAX_BYTES:,} bytes: keep data in data files"
        raise ConfigError(Problem(said, "", source))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        said = f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        raise ConfigError(Problem(said, "", str(Origin(source, line, column)))) from None
    value = parse_yaml(text, source)
    if not isinstance(value.content, dict):
        empty = value.content is None
        said = "the file is empty" if empty else "expected a mapping at the top"
        where = str(Origin(source) if empty or not value.origin else value.origin)
        raise ConfigError(Problem(f"{said}: write e.g. interactions: logs.parquet", "", where))
    return value
