"""The configuration: its sections in the order of the flow."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import AfterValidator, BeforeValidator, Field, Strict, model_validator

from recoeval.analysis.constraints import Constraint, constrained_measures
from recoeval.analysis.summary import SERVED
from recoeval.columns import COLDNESS, POSITIVES, QUOTA
from recoeval.component import Component, Count, Flag
from recoeval.data.aliases import CanonicalItems
from recoeval.data.buckets import Bucket
from recoeval.data.exposures import Exposures
from recoeval.data.folds import LeaveLast, Rolling
from recoeval.data.items import Items
from recoeval.data.sampling import SampleShare, Seed
from recoeval.data.sources import Source
from recoeval.data.splits import FileSplit, TimeSplit
from recoeval.data.truth import GroundTruth, SeenRule, TrainingRule
from recoeval.data.users import Users
from recoeval.documents.loading import (
    Document,
    document_of,
    load_document,
    locate,
    redacted,
    redacted_yaml,
    validate,
)
from recoeval.engine.checks import refuse_missing_roles
from recoeval.errors import ConfigError, Problem, RecoevalError, did_you_mean
from recoeval.generators import GENERATORS
from recoeval.generators.base import Generator
from recoeval.generators.ordering import order_of
from recoeval.metrics import Measure, measures, parse_metric
from recoeval.workflow.damage import naming_damage
from recoeval.workflow.funnelstages import FunnelStage, stage_constraints, stage_problems
from recoeval.workflow.paths import absolute_paths, resolve_paths
from recoeval.workflow.plugins import loadable_plugins, plugins_for, with_types
from recoeval.workflow.stages import StageName, with_preset
from recoeval.workflow.suitability import unsuited_generators
from recoeval.workflow.systems import expand_systems
from recoeval.workflow.zones import in_one_zone

__all__ = [
    "Config",
    "Engine",
    "Loaded",
    "Output",
    "json_schema",
    "list_depth",
    "load_config",
    "wanted_measures",
]

if TYPE_CHECKING:
    AnyGenerator = Generator
else:
    # A union of a computed tuple has no other spelling.
    AnyGenerator = Annotated[Union[tuple(GENERATORS.values())], Field(discriminator="type")]  # noqa: UP007


def _safe_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", name):
        raise ValueError(f"expected a name of letters, digits, '_', '-', '+' and '.', got {name!r}")
    return name


def _known_metric(text: str) -> str:
    try:
        parse_metric(text)
    except ConfigError as error:
        raise ValueError(error.problems[0].message) from None
    return text


def _one_or_many(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


Name = Annotated[str, AfterValidator(_safe_name)]
MetricText = Annotated[str, AfterValidator(_known_metric)]


class Output(Component):
    """Where results go."""

    path: str = "runs"
    """Folder of all runs: a run is written to <path>/<name>/<run id>."""
    recommendations: Flag = False
    """Whether the lists that are made here are stored as well; trained generators with the same
    settings and data are then not trained again."""


class Engine(Component):
    """What computes."""

    type: Literal["local"] = "local"
    threads: Annotated[int, Strict(), Field(ge=1, le=256)] | None = None
    """Threads of trained generators; default: all cores. One makes als, bpr and lmf
    reproducible to the bit."""


class Config(Component):
    """One evaluation, from the log to the verdict."""

    name: Name = "recoeval"
    """Name of the run's folder."""
    seed: Seed = 7
    """Seed of everything random."""
    stage: StageName | None = None
    """What the lists are for: gives `metrics` and `k` where they are absent, and notes."""
    interactions: Source | None = None
    """The log."""
    canonical_items: CanonicalItems | None = None
    """Other ids of items: replaced before anything else."""
    users: Users | None = None
    """What is known of users, and who is left out."""
    items: Items | None = None
    """The catalogue, and since when its items can be listed."""
    query: Literal["user"] = "user"
    """Who asks for a list: each user once, at the cutoff."""
    split: Annotated[TimeSplit | FileSplit | LeaveLast | Rolling, Field(discriminator="type")]
    """How train and test are told apart."""
    training: TrainingRule = TrainingRule()
    """What generators learn from."""
    ground_truth: GroundTruth = GroundTruth()
    """What counts as relevant."""
    seen: SeenRule = SeenRule()
    """What a list may not contain again."""
    exposures: Exposures | None = None
    """What was shown in the test window."""
    sample_users: SampleShare | None = None
    """Share of the users that is evaluated, by hash; training uses everyone. Default: all."""
    generators: Annotated[dict[Name, AnyGenerator], Field(min_length=1)]
    """What produces lists, by name."""
    baselines: tuple[str, ...] = ()
    """Generators that only constraints which name them bind."""
    metrics: Annotated[tuple[MetricText, ...], Field(min_length=1)] = (
        "recall",
        "precision",
        "hit_rate",
    )
    """What is computed: recall, or ndcg(gain=exponential)@10."""
    k: Annotated[tuple[Count, ...], BeforeValidator(_one_or_many)] = (10, 100)
    """Depths for metrics that name none."""
    buckets: dict[Name, Bucket] = Field(default_factory=dict)
    """Groups of queries whose numbers are shown apart."""
    constraints: tuple[Constraint, ...] = ()
    """What must hold for the exit code to be 0."""
    what_if: tuple[Count, ...] = (100,)
    """Slots that a channel of a merge is given beyond its quota, one try each; leaving it out is
    always tried. Default: [100]."""
    funnel: tuple[FunnelStage, ...] = ()
    """Stages that lists go through, in order; what each of them loses is told."""
    engine: Engine = Engine()
    output: Output = Output()

    @property
    def bounds(self) -> tuple[Constraint, ...]:
        """The constraints, and those that the stages of the funnel have to keep."""
        return (*self.constraints, *stage_constraints(self.funnel))

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, settings: Any) -> Any:
        return with_preset(settings) if isinstance(settings, Mapping) else settings


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema of a configuration file, short forms and plug-ins included."""
    schema = with_types(Config, loadable_plugins()).model_json_schema()
    fields = schema["properties"]
    extends = {"type": ["string", "array"], "items": {"type": "string"}}
    fields["extends"] = {**extends, "description": "Files whose settings this one changes."}
    fields["split"].pop("discriminator", None)
    choices = fields["generators"].pop("additionalProperties")
    choices.pop("discriminator", None)
    short: list[dict[str, Any]] = [{"type": "null"}, {"const": False}]
    fields["generators"]["additionalProperties"] = {"anyOf": [*choices["oneOf"], *short]}
    text = {"type": "string"}
    for name in ("interactions", "canonical_items"):
        fields[name]["anyOf"].append(text)
    fields["constraints"]["items"] = {"anyOf": [fields["constraints"]["items"], text]}
    about = fields["k"].pop("description")
    one = {"type": "integer", "minimum": 1}
    fields["k"] = {"anyOf": [fields["k"], one], "description": about}
    sides = schema["$defs"]["FileSplit"]["properties"]
    sides.update({name: {"anyOf": [sides[name], text]} for name in ("train", "test")})
    return schema


def wanted_measures(config: Config) -> tuple[Measure, ...]:
    """Returns what to compute: the metrics, and what constraints, losses and the audit read.

    Raises:
        ConfigError: a metric without K when there is none, or a K beyond the limit.
    """
    asked = measures(config.metrics, config.k)
    extra = constrained_measures(config.bounds) + measures(["recall_ceiling"], ())
    if config.exposures is not None:
        extra += measures(["judged"], config.k)
    return tuple({measure.label: measure for measure in (*asked, *extra)}.values())


def list_depth(config: Config, measured: Sequence[Measure]) -> int:
    """Returns where the lists of trained generators end, by the configuration: the largest K.

    Quotas, and the largest |R| for r_precision, can make them longer: the data says so.
    """
    return max((measure.depth for measure in measured), default=0) or max(config.k, default=1)


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
            yield Problem(
                f"unknown generator {name!r}.{did_you_mean(name, config.generators)}"
                f" Generators: {', '.join(config.generators)}",
                f"{place}.{index}",
            )


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
