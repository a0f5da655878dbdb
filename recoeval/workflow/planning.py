"""What a run would do, from the configuration and the headers of its inputs alone."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from recoeval.analysis.constraints import constrained_measures
from recoeval.data.failures import dtype_name
from recoeval.data.rules import compile_rule
from recoeval.data.sources import Source, scan_interactions
from recoeval.data.splits import FileSplit
from recoeval.data.truth import Policies
from recoeval.errors import ConfigError, Problem, RecoevalError
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config, list_depth, load_config, wanted_measures
from recoeval.workflow.preparation import require_times, side_source

__all__ = ["Plan", "plan", "type_in_words"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do.

    Args:
        config: the configuration, checked.
        settings: the same as plain values that may be shown: secrets as they were written.
        inputs: for each input how it is read, defaults left out, and under "columns_found"
            its columns with their types in words.
        measures: labels of what would be computed.
        depth: length of the lists that trained generators would give, items.
    """

    config: Config
    settings: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, Any]]
    measures: tuple[str, ...]
    depth: int

    def as_dict(self) -> dict[str, Any]:
        """Returns the plan as plain values: name, inputs, rules, generators and so on."""
        shown = self.settings
        return {
            "name": self.config.name,
            "inputs": self.inputs,
            "rules": _rules(shown),
            "generators": {name: _told(each) for name, each in shown["generators"].items()},
            "depth": self.depth,
            "metrics": self.measures,
            "buckets": shown["buckets"],
            "constraints": _constraints(self.config),
            "baselines": self.config.baselines,
            "output": str(Path(shown["output"]["path"], self.config.name, "<run id>")),
        }


def _told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that say something."""
    return {name: value for name, value in settings.items() if value not in ({}, [], "auto")}


def _rules(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what decides the numbers, under the names that the report gives it."""
    truth, training, seen = shown["ground_truth"], shown["training"], shown["seen"]
    split = shown["split"]
    if split["type"] == "files":
        split = {"type": "files"}  # the files are inputs
    return {
        "query": shown["query"],
        "split": split,
        "relevant": truth.get("relevant", "TRUE"),
        "gain": truth.get("gain", "1"),
        "train_rows": training.get("where", truth.get("relevant", "TRUE")),
        "train_weight": training.get("weight", "1"),
        "seen": seen.get("where", "train rows"),
        "seen_window": seen.get("window"),
        "policies": {name: truth[name] for name in Policies.model_fields},
    }


def _constraints(config: Config) -> list[dict[str, Any]]:
    """Returns each constraint with whom it binds and what decides it; null: the value."""
    bound = [name for name in config.generators if name not in config.baselines]
    measured = constrained_measures(config.constraints)
    return [
        {
            "constraint": each.text,
            "generators": each.generators or bound,
            "severity": each.severity,
            "confidence": each.confidence if measure.metric.statistic == "macro" else None,
        }
        for each, measure in zip(config.constraints, measured, strict=True)
    ]


def plan(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    set: Sequence[str] | Mapping[str, Any] = (),  # noqa: A002 - as --set on the command line
    date: datetime.date | None = None,
) -> Plan:
    """Returns what a run would do; no rows are read but those that tell the types of text files.

    Args:
        config: path of the YAML file, or its content as a mapping.
        set: changes, as in `run`.
        date: what {date} in a path stands for.

    Raises:
        ConfigError: the configuration is wrong, or does not fit the headers.
        DataError: an input is missing, unreadable, or has no such columns.
    """
    loaded = load_config(config, sets=set, date=date)
    with loaded.locating_errors():
        schemas, problems = _schemas(loaded.config)
        problems += _rule_problems(loaded.config, schemas)
        if problems:
            raise ConfigError(*problems)
    measured = wanted_measures(loaded.config)
    sources = _sources(loaded.config)
    read = {
        name: source.model_dump(mode="json", exclude_defaults=True)
        for name, source in sources.items()
    }
    found = {
        name: {column: type_in_words(dtype) for column, dtype in schema.items()}
        for name, schema in schemas.items()
    }
    return Plan(
        loaded.config,
        loaded.masked(loaded.config.model_dump(mode="json", exclude_none=True)),
        {
            name: {**loaded.masked(read.get(name, {})), "columns_found": columns}
            for name, columns in found.items()
        },
        tuple(measure.label for measure in measured),
        list_depth(loaded.config, measured),
    )


def type_in_words(dtype: pl.DataType) -> str:
    """Returns what a column holds.

    Example:
        >>> [type_in_words(dtype) for dtype in (pl.Int8(), pl.Datetime("us", "UTC"))]
        ['integer', 'time (UTC)']
    """
    if isinstance(dtype, pl.Datetime):
        return f"time ({dtype.time_zone})" if dtype.time_zone else "time"
    if isinstance(dtype, pl.List | pl.Array):
        return f"list of {type_in_words(pl.Series(dtype=dtype.inner).dtype)}"
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    words = {pl.Boolean(): "true or false", pl.Date(): "date", pl.Null(): "nothing but nulls"}
    return words.get(dtype, dtype_name(dtype).lower())


def _sources(config: Config) -> dict[str, Source]:
    split = config.split
    if isinstance(split, FileSplit):
        return {
            "split.train": side_source(config, split.train),
            "split.test": side_source(config, split.test),
        }
    return {"interactions": config.interactions or Source()}


def _schemas(config: Config) -> tuple[dict[str, pl.Schema], list[Problem]]:
    """Returns the columns of each input, and what is wrong with the headers."""
    schemas: dict[str, pl.Schema] = {}
    problems: list[Problem] = []
    for path, source in _sources(config).items():
        try:
            schemas[path] = scan_interactions(source, path=path).collect_schema()
        except ConfigError as error:
            problems += error.problems
    for name, generator in config.generators.items():
        if isinstance(generator, Precomputed):
            what = f"lists[{name}]"
            try:
                schemas[what] = generator.read(what).collect_schema()
            except ConfigError as error:
                problems += [
                    Problem(each.message, f"generators.{name}.{each.path}")
                    for each in error.problems
                ]
    if "interactions" in schemas:
        require_times(schemas["interactions"])
    return schemas, problems


def _rule_problems(config: Config, schemas: Mapping[str, pl.Schema]) -> list[Problem]:
    """Returns what is wrong with the rules over the columns of the log."""
    both = ("interactions", "interactions")
    train, test = ("split.train", "split.test") if config.split.type == "files" else both
    kind: Literal["boolean", "numeric"]
    problems: list[Problem] = []
    # Without a rule of its own, training goes by the ground truth.
    by_truth = config.ground_truth.relevant if config.training.where is None else None
    for path, text, side in (
        ("ground_truth.relevant", config.ground_truth.relevant, test),
        ("ground_truth.relevant", by_truth if train != test else None, train),
        ("ground_truth.gain", config.ground_truth.gain, test),
        ("training.where", config.training.where, train),
        ("training.weight", config.training.weight, train),
        ("seen.where", config.seen.where, train),
    ):
        if text is None or side not in schemas:
            continue
        kind = "numeric" if path.endswith(("gain", "weight")) else "boolean"
        source = _sources(config)[side].path or side
        try:
            compile_rule(text, schemas[side], path=path, kind=kind, source=source)
        except RecoevalError as error:
            problems += error.problems
    return problems
