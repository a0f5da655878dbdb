"""The configuration: its sections in the order of the flow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import AfterValidator, BeforeValidator, Field, Strict, model_validator

from recoeval.analysis.constraints import Constraint, constrained_measures
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
from recoeval.errors import ConfigError
from recoeval.generators import GENERATORS
from recoeval.generators.base import Generator
from recoeval.metrics import Measure, measures, parse_metric
from recoeval.workflow.funnelstages import FunnelStage, stage_constraints
from recoeval.workflow.plugins import loadable_plugins, with_types
from recoeval.workflow.stages import StageName, with_preset

__all__ = [
    "Config",
    "Engine",
    "Output",
    "json_schema",
    "list_depth",
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
    # What a file leaves out may stand in those that it extends.
    schema["if"], schema["else"] = (
        {"required": ["extends"]},
        {"required": schema.pop("required")},
    )
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
