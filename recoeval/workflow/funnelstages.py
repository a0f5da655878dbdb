"""The stages of a funnel, as the configuration names them, and the bounds they have to keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field, Strict

from recoeval.analysis.constraints import Constraint
from recoeval.component import Component, Count
from recoeval.errors import Problem

__all__ = ["FunnelStage", "deepest_k", "stage_constraints", "stage_problems"]

Least = Annotated[float, Strict(), Field(ge=0, le=1)]


class FunnelStage(Component):
    """A stage: the first k items of a generator's lists go on to the next one."""

    stage: Annotated[str, Field(min_length=1, max_length=100)]
    """What the stage is called: recall, prerank, rank."""
    generator: str
    """Whose lists it shows."""
    k: Count
    """How many items of a list go on."""
    min_recall: Least | None = None
    """Smallest recall@k of its lists that is allowed: a constraint of severity error."""
    min_precision: Least | None = None
    """Smallest precision@k of its lists that is allowed: a constraint of severity error."""


def stage_constraints(stages: Sequence[FunnelStage]) -> tuple[Constraint, ...]:
    """Returns the constraints that the stages have to keep.

    Example:
        >>> stage = FunnelStage(stage="rank", generator="als", k=10, min_precision=0.01)
        >>> [constraint.text for constraint in stage_constraints([stage])]
        ['precision@10 >= 0.01']
    """
    return tuple(
        Constraint.model_validate(
            {"metric": f"{metric}@{stage.k}", "generators": [stage.generator], "min": least}
        )
        for stage in stages
        for metric, least in (("recall", stage.min_recall), ("precision", stage.min_precision))
        if least is not None
    )


def stage_problems(stages: Sequence[FunnelStage]) -> Iterator[Problem]:
    """Yields what is wrong between stages: equal names, and a stage that is wider than the last."""
    seen: dict[str, int] = {}
    for number, each in enumerate(stages):
        if each.stage in seen:
            text = f"{each.stage!r} is the name of funnel.{seen[each.stage]} too: choose another"
            yield Problem(text, f"funnel.{number}.stage")
        seen.setdefault(each.stage, number)
        if number and each.k > stages[number - 1].k:
            text = (
                f"{each.k} items, but the stage before it lets {stages[number - 1].k} through: "
                "a later stage has at most as many"
            )
            yield Problem(text, f"funnel.{number}.k")


def deepest_k(stages: Sequence[FunnelStage]) -> dict[str, int]:
    """Returns the deepest k of each generator of a funnel, by name."""
    deepest: dict[str, int] = {}
    for stage in stages:
        deepest[stage.generator] = max(stage.k, deepest.get(stage.generator, 0))
    return deepest
