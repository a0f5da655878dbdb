"""What there is to choose from, for `recoeval list`: read from the registries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from recoeval.component import format_duration
from recoeval.data.buckets import Bucket
from recoeval.data.splits import FileSplit, TimeSplit
from recoeval.data.truth import Policies
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.generators import GENERATORS
from recoeval.metrics import METRICS

__all__ = ["CHOICES", "Choice", "choices_of", "explain", "kinds"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that a configuration can name.

    Args:
        name: the word to write.
        options: what it takes, with defaults: "gain=linear".
        text: what it is, in one line.
        lines: all that is known of it.
    """

    name: str
    options: str
    text: str
    lines: tuple[str, ...]


_FORMATS: Final = {
    "parquet": ".parquet, .pq; a file, a glob, or a folder with partitions key=value",
    "text": ".csv, .tsv, .txt, .dat, each also with .gz; `format:` says separator and header",
    "ndjson": ".ndjson, .jsonl, each also with .gz: one JSON object a line",
    "ipc": ".arrow, .ipc, .feather: Arrow IPC",
    "trec": "qrels and run files, also with .gz: for `recoeval evaluate`; runs as "
    "precomputed lists as well",
}


def _one_line(text: str | None) -> str:
    """Returns the first paragraph of a docstring on one line."""
    return " ".join((text or "").strip().split("\n\n", maxsplit=1)[0].split())


def _values(field: FieldInfo) -> str:
    """Returns the values of an option, the default first: "capped|relevant"."""
    if get_origin(field.annotation) is Literal:
        others = [str(value) for value in get_args(field.annotation) if value != field.default]
        return "|".join([str(field.default), *others])
    if field.is_required():
        return "..."
    default = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, timedelta):
        return format_duration(default)
    return default if isinstance(default, str) else json.dumps(default)


def _options(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {name: field for name, field in model.model_fields.items() if name != "type"}


def _option(name: str, field: FieldInfo) -> str:
    """Returns what is known of an option, in one line."""
    said = f"{name} (required)" if field.is_required() else f"{name}={_values(field)}"
    return ": ".join(part for part in (said, _one_line(field.description)) if part)


def _component(name: str, model: type[BaseModel]) -> Choice:
    options = _options(model)
    lines = [" ".join(part.split()) for part in (model.__doc__ or "").split("\n\n")]
    lines += [_option(key, field) for key, field in options.items()]
    source = getattr(model, "source", None)
    lines += [f"Source: {source}"] if source else []
    said = ", ".join(f"{key}={_values(field)}" for key, field in options.items())
    return Choice(name, said, _one_line(model.__doc__), tuple(lines))


def _fields(model: type[BaseModel]) -> list[Choice]:
    found = []
    for name, field in model.model_fields.items():
        text = _one_line(field.description)
        found.append(Choice(name, _values(field), text, (f"{_values(field)}: {text}",)))
    return found


def _buckets() -> list[Choice]:
    said = _one_line(Bucket.model_fields["by"].description).removesuffix(".")
    texts = dict(part.split(": ", maxsplit=1) for part in said.split("; "))
    return [Choice(name, "edges|quantiles", text, (text,)) for name, text in texts.items()]


CHOICES: Final[Mapping[str, Callable[[], list[Choice]]]] = {
    "metrics": lambda: [_component(name, metric) for name, metric in METRICS.items()],
    "generators": lambda: [_component(name, made) for name, made in GENERATORS.items()],
    "policies": lambda: _fields(Policies),
    "splits": lambda: [_component("time", TimeSplit), _component("files", FileSplit)],
    "buckets": _buckets,
    "formats": lambda: [Choice(name, "", text, (text,)) for name, text in _FORMATS.items()],
}
"""What can be listed, by the word that asks for it."""


_KINDS: Final = {
    "metrics": "what can be computed, and the options of each",
    "generators": "what can produce lists: trained here, or read from files",
    "policies": "who and what is counted: repeats, cold users and items, empty truths",
    "splits": "how train and test can be told apart",
    "buckets": "what users or queries can be grouped by",
    "formats": "which files can be read",
}


def kinds() -> list[Choice]:
    """Returns the kinds that `choices_of` knows, each with what it is."""
    return [Choice(name, "", text, (text,)) for name, text in _KINDS.items()]


def choices_of(kind: str) -> list[Choice]:
    """Returns what there is of a kind: "metrics", or "metric".

    Raises:
        ConfigError: there is no such kind.

    Example:
        >>> [choice.name for choice in choices_of("policies")]
        ['zero_relevant', 'repeats', 'cold_users', 'cold_items']
    """
    for name in (kind, f"{kind}s", f"{kind.removesuffix('y')}ies"):
        if name in CHOICES:
            return CHOICES[name]()
    hint = did_you_mean(kind, CHOICES)
    raise ConfigError(Problem(f"unknown kind {kind!r}.{hint} Kinds: {', '.join(CHOICES)}"))


def explain(kind: str, name: str) -> Choice:
    """Returns one choice of a kind.

    Raises:
        ConfigError: there is no such kind, or it has no such choice.
    """
    known: dict[str, Any] = {choice.name: choice for choice in choices_of(kind)}
    if name not in known:
        hint = did_you_mean(name, known)
        raise ConfigError(Problem(f"unknown {kind} {name!r}.{hint} Choices: {', '.join(known)}"))
    found: Choice = known[name]
    return found
