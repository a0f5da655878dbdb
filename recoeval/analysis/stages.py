"""The stages of a funnel."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Stage"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A step from many items to few.

    Args:
        name: what it is called: "recall", "rank".
        generator: whose lists it hands on.
        k: how many items of each, >= 1.
    """

    name: str
    generator: str
    k: int
