"""Paths of a configuration: relative to the place where they were written."""

from __future__ import annotations

import copy
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from recoeval.documents.validation import Document

__all__ = ["absolute_paths", "resolve_paths"]

PATH = "path"
_TABLES = (("users", "table"), ("users", "exclude"), ("items", "table"))
_ELSEWHERE = re.compile(r"~|[a-z][a-z0-9+]+://")


def resolve_paths(document: Document) -> Document:
    """Returns the document with paths that can be opened from the current folder.

    A path in a file is relative to the folder of that file; one of --set or of a Python
    mapping to the current folder. "~", absolute paths and URLs stay as they are.

    Args:
        document: with explicit forms: every path is the value of a key "path", or names a
            table of users or items.
    """
    data, written = copy.deepcopy(document.data), dict(document.written)
    for location, origin in document.origins.items():
        if not _is_path(location):
            continue
        parent = data
        for key in location[:-1]:
            parent = parent[key]  # type: ignore[index]
        name = str(location[-1])
        text = parent[name]
        if not isinstance(text, str) or not text or _ELSEWHERE.match(text):
            continue
        folder = Path(origin.source).parent if origin.line else Path()
        if origin.line:
            parent[name] = os.path.normpath(folder / text)
        if location in written and not Path(text).is_absolute():
            # What is stored with the run is relative to the same folder.
            own = written[location]
            text = f"{folder.absolute()}/{own.text}"
            written[location] = replace(own, text=text, plain=False)
    return replace(document, data=data, written=written)


def absolute_paths(data: Any, location: tuple[str | int, ...] = ()) -> Any:
    """Returns the same data with every path absolute, so that it can be stored anywhere."""
    if isinstance(data, dict):
        return {key: absolute_paths(value, (*location, key)) for key, value in data.items()}
    is_file = isinstance(data, str) and _is_path(location) and not _ELSEWHERE.match(data)
    return str(Path(data).absolute()) if is_file else data


def _is_path(location: tuple[str | int, ...]) -> bool:
    """Returns whether a place holds a path: a column may have the name as well."""
    if location in _TABLES:
        return True
    of_generator = location[:1] == ("generators",) and len(location) == 3
    of_columns = location[-2:-1] in (("columns",), ("derive",)) and not of_generator
    return location[-1:] == (PATH,) and not of_columns
