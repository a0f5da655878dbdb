"""Reads reasons.toml: what the page says beside the numbers."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Reason", "means_of", "moving_from", "reasons_of"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why nothing of ours equals a metric of a peer.

    Args:
        nearest: the template of ours that the example shows.
        why: the reason.
    """

    nearest: str
    why: str


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def reasons_of(peer: str) -> dict[str, Reason]:
    """Returns the reason by metric of the peer."""
    return {name: Reason(**reason) for name, reason in _read()[peer].get("differs", {}).items()}


def means_of(peer: str) -> dict[str, str]:
    """Returns whom the mean of a metric is taken over, where no choice of ours gives it."""
    return dict(_read()[peer].get("means", {}))


def moving_from(peer: str) -> list[str]:
    """Returns three lines on moving over."""
    return list(_read()[peer]["moving"])
