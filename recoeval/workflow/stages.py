"""Stages of a recommender: the metrics and depths that fit each, and notes on what does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from recoeval.metrics import Measure

__all__ = ["PRESETS", "Preset", "StageName", "stage_notes", "with_preset"]

StageName = Literal["recall", "prerank", "rank", "rag"]

LARGEST_SHARE: Final = Fraction(1, 20)
"""Lists longer than this part of the catalogue find much by chance."""

_ORDER: Final = "the order of a list counts, and a later stage sorts it anew"
_WASTE: Final = "misses count, and a later stage throws them away"
_REORDERED: Final = dict.fromkeys(("ndcg", "mrr", "map", "auprc", "r_precision"), _ORDER)


@dataclass(frozen=True, slots=True)
class Preset:
    """What a stage is measured by.

    Args:
        metrics: computed where the configuration names none.
        k: depths where the configuration names none, items.
        depths: smallest and largest K that fit, items.
        unfit: metrics that do not fit, by name, and why.
    """

    metrics: tuple[str, ...]
    k: tuple[int, ...]
    depths: tuple[int, int]
    unfit: Mapping[str, str]


PRESETS: Final[Mapping[StageName, Preset]] = {
    "recall": Preset(
        ("recall", "hit_rate", "capped_recall"),
        (100, 500, 1000),
        (50, 10_000),
        {**_REORDERED, "precision": _WASTE, "f1": _WASTE},
    ),
    "prerank": Preset(
        ("recall", "hit_rate", "capped_recall", "precision"), (100, 500), (50, 1_000), _REORDERED
    ),
    "rank": Preset(("precision", "ndcg", "recall"), (10, 20, 100), (1, 100), {}),
    "rag": Preset(("recall", "hit_rate", "mrr", "ndcg"), (3, 5, 10), (1, 20), {}),
}


def with_preset(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Returns the settings of a configuration, with what their stage adds where they say nothing.

    Example:
        >>> with_preset({"stage": "rag", "k": 4})["k"], with_preset({"stage": "rag"})["k"]
        (4, (3, 5, 10))
    """
    stage = settings.get("stage")
    preset = PRESETS.get(stage) if isinstance(stage, str) else None  # type: ignore[call-overload]
    if preset is None:
        return settings
    return {"metrics": preset.metrics, "k": preset.k, **settings}


def stage_notes(
    stage: StageName, measured: Sequence[Measure], catalogue: int | None
) -> tuple[str, ...]:
    """Returns what does not fit a stage, a sentence each.

    Args:
        stage: which one.
        measured: what is computed.
        catalogue: how many items can be listed; None when that is not known.
    """
    preset = PRESETS[stage]
    notes = []
    reasons: dict[str, list[str]] = {}
    for measure in measured:
        if measure.metric.title in preset.unfit:
            reasons.setdefault(preset.unfit[measure.metric.title], []).append(measure.label)
    for reason, labels in reasons.items():
        fitting = ", ".join(preset.metrics)
        notes.append(f"{', '.join(labels)}: {reason}; {fitting} fit better")
    depths = sorted({measure.k for measure in measured if measure.k is not None})
    low, high = preset.depths
    if unfit := [str(k) for k in depths if not low <= k <= high]:
        usual = ", ".join(map(str, preset.k))
        notes.append(f"K = {', '.join(unfit)}: usual at this stage are {usual}")
    if deep := [str(k) for k in depths if catalogue and k > LARGEST_SHARE * catalogue]:
        notes.append(
            f"K = {', '.join(deep)}: more than 5% of the catalogue of {catalogue} items, "
            "so that lists drawn by chance find much"
        )
    return tuple(f"stage {stage}: {note}" for note in notes)
