"""Configuration files as plain data with positions: extends, --set, environment, dates."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from recoeval.documents.rewriting import (
    Sets,
    Unusable,
    Words,
    apply_sets,
    default_type,
    expand,
    type_of,
    value_of,
    write_out_short_forms,
    write_out_types,
)
from recoeval.documents.validation import Document, Written, locate, validate
from recoeval.documents.yamlfile import read_yaml
from recoeval.documents.yamlvalues import Location, Quoted, Value, dump_yaml, printable
from recoeval.errors import ConfigError, Problem

__all__ = [
    "Document",
    "document_of",
    "load_document",
    "locate",
    "redacted",
    "redacted_yaml",
    "validate",
]

_CHAIN: Final = 20


def load_document(
    path: str | os.PathLike[str],
    *,
    sets: Sets = (),
    date: datetime.date | None = None,
    environ: Mapping[str, str] | None = None,
) -> Document:
    """Returns what a configuration file says, complete and explicit, with positions.

    Args:
        path: the YAML file; positions show this text.
        sets: "a.b.c=value" texts, the value in YAML; or dotted paths with typed values.
        date: what {date} in a path stands for.
        environ: environment variables; those of the process by default.

    Raises:
        ConfigError: a file cannot be read or is no YAML, an `extends` goes in a circle, a
            variable is not set, a set or a {...} is malformed; all that can be told.
    """
    environ = os.environ if environ is None else environ
    try:
        file = Path(path).expanduser()
        os.path.realpath(file)
    except (OSError, ValueError, RuntimeError):
        shown = printable(os.fspath(path))
        raise ConfigError(Problem("this is not the path of a file", "", shown)) from None
    shown = os.fspath(file if os.fspath(path).startswith("~") else path)
    tree = _Files(environ).load(file, printable(shown))
    return _document(tree, sets, date, environ)


def document_of(
    mapping: Mapping[str, Any],
    *,
    sets: Sets = (),
    date: datetime.date | None = None,
    environ: Mapping[str, str] | None = None,
) -> Document:
    """Returns the same for a mapping of Python values, in which text never becomes a number.

    Args:
        mapping: the configuration; `extends` is relative to the current folder.
        sets: as in `load_document`.
        date: as in `load_document`.
        environ: as in `load_document`.

    Raises:
        ConfigError: as in `load_document`; or the mapping holds keys that are not text.
    """
    environ = os.environ if environ is None else environ
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"expected a mapping, got {mapping!r}")
    tree = _Files(environ).resolve(write_out_short_forms(value_of(mapping)), Path())
    return _document(tree, sets, date, environ)


def redacted(document: Document, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns data that may be stored: values of the environment as written, "${SALT}".

    Args:
        document: says which values came from the environment.
        data: data of the same shape, e.g. the validated model's; default: the document's.
    """
    return dict(_redact(document.data if data is None else data, (), document, str))


def redacted_yaml(document: Document, data: Mapping[str, Any] | None = None) -> str:
    """Returns `redacted` as YAML text that loads to the same document again."""
    return dump_yaml(_redact(document.data if data is None else data, (), document, Quoted))


def _redact(node: Any, location: Location, document: Document, quoted: type[str]) -> Any:
    written = document.written.get(location)
    if written is not None:
        return written.text if written.plain else quoted(written.text)
    if isinstance(node, Mapping):
        return {k: _redact(v, (*location, k), document, quoted) for k, v in node.items()}
    if isinstance(node, list | tuple):
        return [_redact(v, (*location, i), document, quoted) for i, v in enumerate(node)]
    return node


def _document(
    tree: Value, sets: Sets, date: datetime.date | None, environ: Mapping[str, str]
) -> Document:
    tree = write_out_short_forms(apply_sets(tree, sets))
    tree, undated = expand(tree, Words(environ, date))
    tree = write_out_types(write_out_short_forms(tree))
    flat = dict(_flatten(tree, ()))
    return Document(
        data=_plain(tree),
        origins={place: value.origin for place, value in flat.items() if value.origin},
        written={
            place: Written(value.written, value.plain, value.variables)
            for place, value in flat.items()
            if value.written is not None
        },
        hidden={place: value.written or "..." for place, value in flat.items() if value.secret},
        undated=undated,
    )


def _flatten(value: Value, location: Location) -> Iterator[tuple[Location, Value]]:
    yield location, value
    if isinstance(value.content, dict):
        for name, item in value.content.items():
            yield from _flatten(item, (*location, name))
    elif isinstance(value.content, list):
        for index, item in enumerate(value.content):
            yield from _flatten(item, (*location, index))


def _plain(value: Value) -> Any:
    if isinstance(value.content, dict):
        return {name: _plain(item) for name, item in value.content.items()}
    if isinstance(value.content, list):
        return [_plain(item) for item in value.content]
    return value.content


@dataclass(frozen=True)
class _Files:
    """Reads files and what they extend."""

    environ: Mapping[str, str]
    chain: tuple[tuple[Path, str], ...] = ()
    cache: dict[Path, Value] = field(default_factory=dict)

    def load(self, path: Path, source: str) -> Value:
        """Returns a file merged over all that it extends."""
        real = Path(os.path.realpath(path))
        if real not in self.cache:
            inner = replace(self, chain=(*self.chain, (real, source)))
            self.cache[real] = inner.resolve(
                write_out_short_forms(read_yaml(path, source)), path.parent
            )
        return self.cache[real]

    def resolve(self, tree: Value, folder: Path) -> Value:
        """Returns the mapping merged over its `extends`, which is removed."""
        if "extends" not in tree.content:
            return tree
        content = {name: value for name, value in tree.content.items() if name != "extends"}
        listed = tree.content["extends"]
        entries = listed.content if isinstance(listed.content, list) else [listed]
        merged: Value | None = None
        problems: list[Problem] = []
        for entry in entries:
            try:
                base = None if entry.content is None else self._base(entry, folder)
            except ConfigError as error:
                problems.extend(error.problems)
                continue
            if base is not None:
                merged = base if merged is None else _merge(merged, base, ())
        if problems:
            raise ConfigError(*problems)
        own = replace(tree, content=content)
        return own if merged is None else _merge(merged, own, ())

    def _base(self, entry: Value, folder: Path) -> Value:
        def refused(message: str) -> ConfigError:
            return ConfigError(Problem(message, "extends", str(entry.origin or "")))

        if not isinstance(entry.content, str):
            raise refused(f"expected the path of a file, got {_plain(entry)!r}")
        try:
            words = Words(self.environ, None)
            name = Path(words.expand(entry.content, dates=False)[0]).expanduser()
            path = folder / name
            real = Path(os.path.realpath(path))
            missing = not path.is_file()
        except Unusable as error:
            raise refused(str(error)) from None
        except (OSError, ValueError, RuntimeError):
            raise refused(f"not a path: {entry.content!r}") from None
        beside = Path(self.chain[-1][1]).parent if self.chain else Path()
        shown = printable(os.path.normpath(beside / name))
        if missing:
            raise refused(f"no such file: {shown}")
        if real in [known for known, _ in self.chain]:
            circle = " -> ".join([*(source for _, source in self.chain), shown])
            raise refused(f"goes in a circle: {circle}")
        if len(self.chain) >= _CHAIN:
            raise refused(f"more than {_CHAIN} files in a chain")
        return self.load(path, shown)


def _merge(base: Value, top: Value, location: Location) -> Value:
    """Returns the top over the base: mappings merge, everything else is replaced.

    A mapping of another `type` replaces as well: the base's options are not its options.
    """
    if not isinstance(base.content, dict) or not isinstance(top.content, dict):
        return top
    wanted, had = type_of(top, location), type_of(base, location)
    if wanted is not None and wanted != (had or default_type(location)):
        return top
    content = dict(base.content)
    for name, value in top.content.items():
        inherited = content.get(name)
        content[name] = (
            _merge(inherited, value, (*location, name)) if inherited is not None else value
        )
    return replace(top, content=content)
