"""What is wrong between the sections of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recoeval.analysis.summary import ALL, SERVED
from recoeval.columns import COLDNESS, POSITIVES, QUOTA
from recoeval.engine.checks import refuse_missing_roles
from recoeval.errors import ConfigError, Problem, did_you_mean
from recoeval.generators.ordering import order_of, unknown_generator
from recoeval.metrics import Measure
from recoeval.workflow.config import Config, wanted_measures
from recoeval.workflow.funnelstages import stage_problems
from recoeval.workflow.suitability import unsuited_generators

__all__ = ["config_problems"]


def config_problems(config: Config, *, framed: bool) -> list[Problem]:
    """Returns what is wrong between sections: names that do not exist, a missing log or rule."""
    problems = [*_data_problems(config, framed=framed), *_name_problems(config)]
    try:
        order_of(config.generators)
    except ConfigError as error:
        problems += error.problems
    problems += unsuited_generators(config)
    problems += [
        Problem("missing; the path of the lists", f"generators.{name}.path")
        for name, generator in config.generators.items()
        if getattr(generator, "path", None) == ""
    ]
    try:
        measured = wanted_measures(config)
        refuse_missing_roles(measured, exposures=config.exposures is not None, catalogue=True)
    except ConfigError as error:
        return [*problems, *error.problems]
    return [*problems, *_table_problems(config, measured)]


def _table_problems(config: Config, measured: Sequence[Measure]) -> Iterator[Problem]:
    """Yields what needs a table of users or items that is not there."""
    has_users = config.users is not None and config.users.table is not None
    for name, bucket in config.buckets.items():
        if bucket.column is not None or bucket.by == "item_age":
            there, table = has_users, "users"
            if bucket.side == "item":
                there, table = config.items is not None, "items"
            if not there:
                text = f"by: {bucket.by} needs a table of {table}: {table}: {{table: ...}}"
                yield Problem(text, f"buckets.{name}")
    asked = [measure.label for measure in measured if measure.place.at == QUOTA]
    if asked and not has_users:
        text = f"{asked[0]} needs a column {QUOTA} of the users: users: {{table: ...}}"
        yield Problem(text, "metrics")


def _data_problems(config: Config, *, framed: bool) -> Iterator[Problem]:
    log = config.interactions
    if framed and (config.split.type == "files" or (log is not None and log.path is not None)):
        yield Problem("the log is given as a frame: remove its path", "interactions")
    if config.split.type == "files":
        if log is not None and log.path is not None:
            text = "the rows come from split.train and split.test: remove path"
            yield Problem(text, "interactions.path")
        for side in ("train", "test"):
            if not getattr(config.split, side).path:
                yield Problem("missing; the path of the rows", f"split.{side}.path")
        if config.seen.window is not None:
            yield Problem("a window needs a split by time", "seen.window")
        if config.ground_truth.looks_ahead:
            yield Problem("a horizon needs a split by time", "ground_truth")
        return
    if not framed and (log is None or not log.path):
        yield Problem("missing; the path of the log", "interactions")
    if config.ground_truth.rule is None:
        yield Problem(
            "missing; say which rows count, e.g. \"event = 'click' AND dwell_seconds > 30\", "
            "or TRUE for all of them",
            "ground_truth.relevant",
        )


def _name_problems(config: Config) -> Iterator[Problem]:
    yield from stage_problems(config.funnel)
    if ALL in config.generators:
        yield Problem(
            f"{ALL!r} means all generators in reports: choose another name", "generators.all"
        )
    asked: list[tuple[str, int | str, str]] = [
        ("baselines", index, name) for index, name in enumerate(config.baselines)
    ]
    for number, constraint in enumerate(config.constraints):
        place = f"constraints.{number}"
        names = enumerate(constraint.generators or ())
        asked += [(f"{place}.generators", index, name) for index, name in names]
        bucket = constraint.bucket
        # What is told apart whatever the buckets are.
        own = [COLDNESS, SERVED] + [POSITIVES] * (len(config.ground_truth.positives or ()) > 1)
        if bucket is not None and bucket not in (*config.buckets, *own):
            yield Problem(
                f"unknown bucket {bucket!r}.{did_you_mean(bucket, [*config.buckets, *own])}"
                f" Buckets: {', '.join((*config.buckets, *own))}",
                f"{place}.bucket",
            )
    asked += [(f"funnel.{n}", "generator", each.generator) for n, each in enumerate(config.funnel)]
    for place, index, name in asked:
        if name not in config.generators:
            yield Problem(unknown_generator(name, config.generators), f"{place}.{index}")
