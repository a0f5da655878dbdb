"""Paths of a configuration: relative to the place where they were written."""

from __future__ import annotations

import copy
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from recoeval.workflow.validation import Document

__all__ = ["absolute_paths", "resolve_paths"]

PATH = "path"
_ELSEWHERE = re.compile(r"~|[a-z][a-z0-9+]+://")


def resolve_paths(document: Document) -> Document:
    """Returns the document with paths that can be opened from the current folder.

    A path in a file is relative to the folder of that file; one of --set or of a Python
    mapping to the current folder. "~", absolute paths and URLs stay as they are.

    Args:
        document: with explicit forms: every path is the value of a key "path".
    """
    data = copy.deepcopy(document.data)
    for location, origin in document.origins.items():
        if location[-1:] != (PATH,) or not origin.line:
            continue
        parent = data
        for key in location[:-1]:
            parent = parent[key]  # type: ignore[index]
        text = parent[PATH]
        if isinstance(text, str) and text and not _ELSEWHERE.match(text):
            parent[PATH] = os.path.normpath(Path(origin.source).parent / text)
    return replace(document, data=data)


def absolute_paths(data: Any) -> Any:
    """Returns the same data with every path absolute, so that it can be stored anywhere."""
    if isinstance(data, dict):
        return {
            key: str(Path(value).absolute())
            if key == PATH and isinstance(value, str) and not _ELSEWHERE.match(value)
            else absolute_paths(value)
            for key, value in data.items()
        }
    return [absolute_paths(value) for value in data] if isinstance(data, list) else data
