"""A configuration as it is read: checked, with the places where its parts were written."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from recoeval.documents.loading import (
    Document,
    document_of,
    load_document,
    locate,
    redacted,
    redacted_yaml,
    validate,
)
from recoeval.errors import ConfigError, Problem, RecoevalError
from recoeval.workflow.config import Config
from recoeval.workflow.consistency import config_problems
from recoeval.workflow.damage import naming_damage
from recoeval.workflow.paths import absolute_paths, resolve_paths
from recoeval.workflow.plugins import plugins_for, with_types
from recoeval.workflow.systems import expand_systems
from recoeval.workflow.zones import in_one_zone

__all__ = ["Loaded", "load_config"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration with the places where it was written.

    Args:
        config: with one generator for each system of lists.
        document: what was written, and where.
        written: the configuration before its systems were looked for.
    """

    config: Config
    document: Document
    written: Config

    def redacted(self) -> dict[str, Any]:
        """Returns the resolved configuration, values of the environment as written."""
        return redacted(self.document, self.written.model_dump(mode="json", exclude_none=True))

    def stored_yaml(self) -> str:
        """Returns `redacted` as YAML that loads to the same from any folder."""
        data = self.written.model_dump(mode="json", exclude_none=True)
        return redacted_yaml(self.document, absolute_paths(data))

    def masked(self, data: Any) -> Any:
        """Returns the same data, texts that nobody should see as they were written."""
        written = {}
        for location, text in self.document.hidden.items():
            value: Any = self.document.data
            for key in location:
                value = value[key]
            written[value if isinstance(value, str) else text] = text

        def mask(node: Any) -> Any:
            if isinstance(node, Mapping):
                return {key: mask(item) for key, item in node.items()}
            if isinstance(node, list):
                return [mask(item) for item in node]
            return written.get(node, node) if isinstance(node, str) else node

        return mask(data)

    def located(self, error: RecoevalError) -> RecoevalError:
        """Returns an error with the place where the path of each problem was written."""
        told = naming_damage(error, self.config)
        return told.located(partial(_locate, self.document))

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Gives each problem that is raised inside the place where its path was written."""
        try:
            yield
        except RecoevalError as error:
            raise self.located(error) from error


def load_config(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    sets: Sequence[str] | Mapping[str, Any] = (),
    date: datetime.date | str | None = None,
    framed: bool = False,
) -> Loaded:
    """Returns a configuration, checked.

    Args:
        config: path of the YAML file, or its content as a mapping.
        sets: changes: {"generators.als.factors": 128}, or texts "generators.als.factors=128".
        date: what {date} in a path stands for.
        framed: the log is a frame, and has no path.

    Raises:
        ConfigError: all that is wrong with it, each problem with its place.
    """
    day = _day(date)
    if isinstance(config, Mapping):
        document = document_of(config, sets=sets, date=day)
    else:
        document = load_document(config, sets=sets, date=day)
    document = resolve_paths(document)
    written = in_one_zone(validate(document, with_types(Config, plugins_for(document))))
    loaded = Loaded(written, document, written)
    with loaded.locating_errors():
        loaded = replace(loaded, config=expand_systems(written))
        problems = config_problems(loaded.config, framed=framed)
        if problems:
            raise ConfigError(*problems)
    return loaded


def _locate(document: Document, path: str) -> str:
    """Returns the origin of a path; a system is written where the entry of its lists is."""
    return locate(document, re.sub(r"^(generators\.[^./]+)/.*", r"\1", path))


def _day(date: datetime.date | str | None) -> datetime.date | None:
    if not isinstance(date, str):
        return date
    try:
        return datetime.date.fromisoformat(date)
    except ValueError:
        raise ConfigError(
            Problem(f"expected a day such as 2026-11-29, got {date!r}", "date")
        ) from None
