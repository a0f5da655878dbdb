"""What a run would do, from the configuration and the headers of its inputs alone."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recoeval.analysis.constraints import constrained_measures
from recoeval.component import Component
from recoeval.data.failures import dtype_name
from recoeval.data.truth import Policies
from recoeval.errors import ConfigError
from recoeval.generators.merge import Merge
from recoeval.generators.ordering import order_of
from recoeval.generators.precomputed import Precomputed
from recoeval.metrics import Measure
from recoeval.workflow.config import Config, list_depth, wanted_measures
from recoeval.workflow.definitions import rules_of
from recoeval.workflow.depths import depths_of
from recoeval.workflow.estimates import Estimate, estimate
from recoeval.workflow.headers import find_misfits, read_headers
from recoeval.workflow.loaded import load_config
from recoeval.workflow.logs import sources_of
from recoeval.workflow.stages import stage_notes

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
        depths: of those that merges, reranks or a funnel read deeper, the length, items.
        estimate: about what the run takes.
        notes: what does not fit the stage, as far as the configuration alone tells.
    """

    config: Config
    settings: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, Any]]
    measures: tuple[str, ...]
    depth: int
    depths: Mapping[str, int]
    estimate: Estimate
    notes: tuple[str, ...] = ()

    @property
    def _merges(self) -> bool:
        return any(isinstance(each, Merge) for each in self.config.generators.values())

    def as_dict(self) -> dict[str, Any]:
        """Returns the plan as plain values: name, inputs, rules, generators and so on."""
        shown = self.settings
        return {
            "name": self.config.name,
            "inputs": self.inputs,
            "rules": {
                **rules_of(shown),
                "policies": {name: shown["ground_truth"][name] for name in Policies.model_fields},
            },
            "generators": {name: _told(each) for name, each in shown["generators"].items()},
            "depth": self.depth,
            "depths": dict(self.depths),
            "metrics": self.measures,
            "buckets": shown["buckets"],
            "constraints": _constraints(self.config),
            "baselines": self.config.baselines,
            "what_if": self.config.what_if if self._merges else None,
            "funnel": [
                {"stage": each.stage, "generator": each.generator, "k": each.k}
                for each in self.config.funnel
            ],
            "estimate": self.estimate.as_dict(),
            "notes": self.notes,
            "output": str(Path(shown["output"]["path"], self.config.name, "<run id>")),
        }


def _told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that say something."""
    return {name: value for name, value in settings.items() if value not in ({}, [], "auto")}


def _constraints(config: Config) -> list[dict[str, Any]]:
    """Returns each constraint with whom it binds and what decides it; null: the value."""
    bound = [name for name in config.generators if name not in config.baselines]
    measured = constrained_measures(config.bounds)
    return [
        {
            "constraint": each.text,
            "generators": each.generators or bound,
            "severity": each.severity,
            "confidence": each.confidence if measure.metric.statistic == "macro" else None,
        }
        for each, measure in zip(config.bounds, measured, strict=True)
    ]


def plan(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    set: Sequence[str] | Mapping[str, Any] = (),  # noqa: A002 - as --set on the command line
    date: datetime.date | None = None,
) -> Plan:
    """Returns what a run would do; no rows are read but the first ones of text files.

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
        schemas, problems = read_headers(loaded.config)
        problems += find_misfits(loaded.config, schemas)
        if problems:
            raise ConfigError(*problems)
    measured = wanted_measures(loaded.config)
    read = _how_read(loaded.config)
    depth = list_depth(loaded.config, measured)
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
        depth,
        _deeper(loaded.config, depth),
        estimate(loaded.config, schemas),
        _notes(loaded.config, measured),
    )


def _deeper(config: Config, depth: int) -> dict[str, int]:
    """Returns the length of the lists that others read deeper than K."""
    found = depths_of(config, order_of(config.generators), depth)
    return {
        name: found[name].made
        for name, generator in config.generators.items()
        if not isinstance(generator, Precomputed) and found[name].made > depth
    }


def _notes(config: Config, measured: Sequence[Measure]) -> tuple[str, ...]:
    """Returns what does not fit the stage; how large the catalogue is, the data will say."""
    return () if config.stage is None else stage_notes(config.stage, measured, None)


def _how_read(config: Config) -> dict[str, dict[str, Any]]:
    """Returns how each input but the lists is read, defaults left out."""
    inputs: dict[str, Component | None] = {**sources_of(config), "users": config.users}
    inputs |= {"canonical_items": config.canonical_items, "items": config.items}
    read = {
        name: each.model_dump(mode="json", exclude_defaults=True)
        for name, each in inputs.items()
        if each is not None
    }
    users = read.get("users", {})
    users.pop("max_rows_per_day", None)
    if "exclude" in users:
        read["users.exclude"] = {"path": users.pop("exclude")}
    return read


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
