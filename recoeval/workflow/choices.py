"""What there is to choose from, for `recoeval list`: read from the registries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from recoeval.component import format_duration
from recoeval.data.buckets import Bucket
from recoeval.data.failures import printable
from recoeval.data.truth import Policies, Positive
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.generators import GENERATORS
from recoeval.metrics import METRICS
from recoeval.metrics.base import Metric
from recoeval.metrics.cuts import Cut
from recoeval.workflow.config import Config
from recoeval.workflow.plugins import Refused, find_plugins
from recoeval.workflow.stages import PRESETS

__all__ = ["CHOICES", "Choice", "choices_of", "explain", "kinds"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that a configuration can name.

    Args:
        name: the word to write.
        options: what it takes, with defaults: "gain=linear".
        text: what it is, in one line.
        lines: all that is known of it.
        group: choices of the same group stand together; "" for none.
    """

    name: str
    options: str
    text: str
    lines: tuple[str, ...]
    group: str = ""


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
    lines = _paragraphs(model)
    lines += [_option(key, field) for key, field in options.items()]
    said = ", ".join(f"{key}={_values(field)}" for key, field in options.items())
    return Choice(name, said, _one_line(model.__doc__), tuple(lines))


def _paragraphs(model: type[BaseModel]) -> list[str]:
    return [" ".join(part.split()) for part in (model.__doc__ or "").split("\n\n")]


_GROUPS: Final = {
    "accuracy": "Accuracy: what the lists found of each query's truth",
    "lists": "Lists: their quality as delivered",
    "catalogue": "Catalogue: the items of all lists together, after preparation",
}


def _metric(name: str, metric: type[Metric]) -> Choice:
    """Returns a metric with all that is known of it, in the order in which one asks."""
    options = {key: metric.model_fields[key] for key in metric.option_names()}
    said = ", ".join(f"{key}={_values(field)}" for key, field in options.items())
    parts = {
        "": _paragraphs(metric),
        "Formula": [metric.formula] if getattr(metric, "formula", "") else [],
        "Written": [_written(metric)],
        "Options": [_option(key, field) for key, field in options.items()],
        "Needs": _needs(metric),
        "Edge cases": list(metric.edge_cases),
        "Elsewhere under this name": list(metric.peers),
        "Summary": [_STATISTICS[metric.statistic]],
        "Source": [metric.source] if getattr(metric, "source", "") else [],
    }
    lines: list[str] = []
    for title, told in parts.items():
        if not told:
            continue
        lines += told if not title else ["", title, *(f"  {line}" for line in told)]
    return Choice(name, said, _one_line(metric.__doc__), tuple(lines), _GROUPS[metric.kind])


_STATISTICS: Final = {
    "macro": "mean over users (macro), with a 95% interval; constraints are judged by it",
    "micro": "one number over all lists (micro), without an interval: constraints are judged by "
    "the value",
}


def _written(metric: type[Metric]) -> str:
    """Returns how it is asked for at each kind of cut."""
    if not metric.takes_k:
        return f"{metric.title} (no K)"
    cuts = [str(cut) for cut in (Cut(10), Cut("all"), Cut("quota")) if not metric().refuses(cut)]
    return ", ".join(f"{metric.title}@{cut}" for cut in cuts)


def _needs(metric: type[Metric]) -> list[str]:
    known = {
        "train data, which tells what users had seen": metric.needs_seen,
        "exposures: what users were shown": metric.needs_exposures,
        "a catalogue: an items table, or train data": metric.needs_catalogue,
    }
    return [text for text, needed in known.items() if needed]


def _plugins() -> Iterator[Choice]:
    """Yields the generators of other packages, each with where it is from or why it is unusable."""
    for name, plugin in find_plugins().items():
        try:
            found = _component(name, plugin.load())
        except Refused as error:
            said = str(error)
            yield Choice(name, "", f"cannot be used: {said}", (said,), "Of other packages")
        else:
            lines = (*found.lines, f"From {plugin}")
            yield replace(found, text=printable(found.text), lines=lines, group="Of other packages")


def _fields(model: type[BaseModel]) -> list[Choice]:
    found = []
    for name, field in model.model_fields.items():
        text = _one_line(field.description)
        found.append(Choice(name, _values(field), text, (f"{_values(field)}: {text}",)))
    return found


def _buckets() -> list[Choice]:
    """Returns what a bucket can be by, as the description of the option tells it."""
    by = Bucket.model_fields["by"]
    options = {name: field for name, field in _options(Bucket).items() if name != "by"}
    lines = tuple(_option(name, field) for name, field in options.items())
    names = "|".join(get_args(by.annotation))
    found = []
    for sentence in _one_line(by.description).split(". "):
        side = re.match(r"Of (\w+) ", sentence)
        pieces = re.split(rf"\b({names}): ", sentence)
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
            said = text.strip(" ,.")
            group = f"Of {side[1]}" if side else "Of both"
            found.append(Choice(name, "|".join(options), said, (said, "", *lines), group))
    return found


def _inputs() -> list[Choice]:
    """Returns the tables that a configuration can name, each with its options."""
    found = []
    for name in ("interactions", "canonical_items", "users", "items", "exposures"):
        field = Config.model_fields[name]
        model = get_args(field.annotation)[0]
        found.append(replace(_component(name, model), text=_one_line(field.description)))
    return found


def _splits() -> list[Choice]:
    """Returns each type of split that a configuration can have."""
    union = get_args(Config.model_fields["split"].annotation)
    return [_component(model.model_fields["type"].default, model) for model in union]


def _stages() -> list[Choice]:
    found = []
    for name, preset in PRESETS.items():
        metrics, depths = ", ".join(preset.metrics), ", ".join(map(str, preset.k))
        unfit = [f"{metric} does not fit: {reason}" for metric, reason in preset.unfit.items()]
        low, high = preset.depths
        usual = f"usual K: {low:,} to {high:,} items"
        lines = (f"metrics: {metrics}", f"k: {depths}", usual, *unfit)
        found.append(Choice(name, "", f"{metrics} at {depths}", lines))
    return found


CHOICES: Final[Mapping[str, Callable[[], list[Choice]]]] = {
    "inputs": _inputs,
    "metrics": lambda: sorted(
        (_metric(name, metric) for name, metric in METRICS.items()),
        key=lambda choice: list(_GROUPS.values()).index(choice.group),
    ),
    "generators": lambda: [*(_component(*made) for made in GENERATORS.items()), *_plugins()],
    "policies": lambda: _fields(Policies),
    "positives": lambda: _fields(Positive),
    "splits": _splits,
    "buckets": _buckets,
    "stages": _stages,
    "formats": lambda: [Choice(name, "", text, (text,)) for name, text in _FORMATS.items()],
}
"""What can be listed, by the word that asks for it."""


_KINDS: Final = {
    "inputs": "the tables that can be given: log, users, items, what was shown",
    "metrics": "what can be computed, and the options of each",
    "generators": "what can produce lists: trained here, or read from files",
    "policies": "who and what is counted: repeats, cold users and items, empty truths",
    "positives": "what a kind of positives can say, where clicks and purchases both count",
    "splits": "how train and test can be told apart",
    "buckets": "what users, queries or items can be grouped by",
    "stages": "which metrics and K fit which stage of a recommender",
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
    return CHOICES[_plural(kind)]()


def _plural(kind: str) -> str:
    """Returns the kind that is meant by a word: "policies" for "policy"."""
    for name in (kind, f"{kind}s", f"{kind.removesuffix('y')}ies"):
        if name in CHOICES:
            return name
    hint = did_you_mean(kind, CHOICES)
    raise ConfigError(Problem(f"unknown kind {kind!r}.{hint} Kinds: {', '.join(CHOICES)}"))


def explain(kind: str, name: str) -> Choice:
    """Returns one choice of a kind.

    Raises:
        ConfigError: there is no such kind, or it has no such choice.
    """
    # Of one name the first: a type of ours hides a plug-in's.
    known = {choice.name: choice for choice in reversed(choices_of(kind))}
    known = dict(reversed(known.items()))
    if name not in known:
        hint = did_you_mean(name, known)
        one = re.sub(r"s$", "", re.sub(r"ies$", "y", _plural(kind)))
        raise ConfigError(Problem(f"unknown {one} {name!r}.{hint} Choices: {', '.join(known)}"))
    return known[name]
