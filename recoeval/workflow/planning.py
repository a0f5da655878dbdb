"""What a run would do, from the configuration and the headers of its inputs alone."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from recoeval.columns import TIMESTAMP
from recoeval.data.rules import compile_rule
from recoeval.data.sources import Source, scan_interactions
from recoeval.data.splits import FileSplit
from recoeval.errors import ConfigError, DataError, Problem, RecoevalError
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config, list_depth, load_config, wanted_measures
from recoeval.workflow.preparation import side_source

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do.

    Args:
        config: the configuration, checked.
        columns: for each input "name: dtype" of its columns.
        measures: labels of what would be computed.
        generators: for each generator its settings.
        depth: length of the lists that trained generators would give, items.
    """

    config: Config
    columns: Mapping[str, tuple[str, ...]]
    measures: tuple[str, ...]
    generators: Mapping[str, Mapping[str, Any]]
    depth: int


def plan(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    set: Sequence[str] | Mapping[str, Any] = (),  # noqa: A002 - as --set on the command line
    date: datetime.date | str | None = None,
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
    return Plan(
        loaded.config,
        {
            name: tuple(f"{column}: {dtype}" for column, dtype in schema.items())
            for name, schema in schemas.items()
        },
        tuple(measure.label for measure in measured),
        loaded.redacted()["generators"],
        list_depth(loaded.config, measured),
    )


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
    log = schemas.get("interactions")
    if log is not None and TIMESTAMP not in log:
        text = "a split by time needs times. Name the column: columns: {timestamp: ...}"
        raise DataError(Problem(text, "interactions.timestamp"))
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
