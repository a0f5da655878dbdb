"""The rules of a configuration that say what is relevant, learned from, and seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field, Strict, model_validator

from recoeval.component import Component, Duration
from recoeval.data.policies import Policies

__all__ = ["GroundTruth", "Kind", "Positive", "SeenRule", "TrainingRule"]

Worth = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
"""A finite number > 0."""


def _free_label(name: str) -> str:
    if not name.strip() or name in ("all", "any"):
        raise ValueError(f"{name!r} cannot be the name of a kind of positives: choose another one")
    return name


Label = Annotated[str, AfterValidator(_free_label)]
"""The name of a kind of positives."""


class Positive(Component):
    """One kind of positives: which rows are, what they are worth, and how long they count."""

    where: str
    """SQL rule over the log's columns; a null result is not relevant, and counted."""
    gain: str | Worth | None = None
    """A number > 0, or an SQL expression of it. Default 1."""
    horizon: Duration | None = None
    """Only rows in [query time, query time + horizon), also those after the test window."""


class GroundTruth(Policies):
    """Which rows of the test window are relevant, and what they are worth."""

    relevant: str | None = None
    """SQL rule over the log's columns; a null result is not relevant, and counted."""
    gain: str | Worth | None = None
    """A number > 0, or an SQL expression of it; a pair has the largest of its rows. Default 1."""
    positives: Annotated[dict[Label, Positive], Field(min_length=1)] | None = None
    """Several kinds by name instead of relevant and gain: {buy: {where: ..., gain: 5}}. The truth
    is their union, a pair has the largest gain, and every kind is also shown apart."""
    horizon: Duration | None = None
    """Only rows in [query time, query time + horizon), also those after the test window."""

    @model_validator(mode="after")
    def _one_rule(self) -> GroundTruth:
        if self.positives is not None and (self.relevant is not None or self.gain is not None):
            raise ValueError("positives stand alone: move relevant and gain into one of them")
        return self

    @property
    def rule(self) -> str | None:
        """The text of the rule, of several kinds joined by OR; None: every row is relevant."""
        if self.positives is None:
            return self.relevant
        texts = [kind.where for kind in self.positives.values()]
        return texts[0] if len(texts) == 1 else " OR ".join(f"({text})" for text in texts)

    @property
    def looks_ahead(self) -> bool:
        """Whether a horizon may reach beyond the test window."""
        return any(kind.horizon is not None for kind in self.kinds("").values())

    def kinds(self, path: str) -> dict[str, Kind]:
        """Returns the kinds of positives by name; a rule alone is one kind, named "".

        Args:
            path: of these rules in the configuration.
        """
        if self.positives is None:
            places = (f"{path}.relevant", f"{path}.gain")
            return {"": Kind(self.relevant, self.gain, self.horizon, *places)}
        return {
            name: Kind(
                kind.where,
                kind.gain,
                self.horizon if kind.horizon is None else kind.horizon,
                f"{path}.positives.{name}.where",
                f"{path}.positives.{name}.gain",
            )
            for name, kind in self.positives.items()
        }


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of positives with its places in the configuration.

    Args:
        where: SQL rule; None: every row.
        gain: a number, an SQL expression, or None for 1.
        horizon: how long after the query time rows count; None: in the test window.
        path: of the rule, for errors.
        gain_path: of the gain, for errors.
    """

    where: str | None
    gain: str | float | None
    horizon: timedelta | None
    path: str
    gain_path: str


class TrainingRule(Component):
    """Which rows of the train window are train rows."""

    where: str | None = None
    """SQL rule; default: the ground-truth rule, so that a mere impression is no positive."""
    weight: str | None = None
    """SQL expression > 0, the weight of a row. Default 1."""


class SeenRule(Component):
    """Which pairs a list may not contain again; default: pairs with a train row."""

    where: str | None = None
    """SQL rule over rows of the train window; default: train rows."""
    window: Duration | None = None
    """Only rows in [train end - window, train end); for leave_last up to the user's cutoff."""
