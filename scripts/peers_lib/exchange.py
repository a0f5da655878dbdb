"""What the programs run_*.py share: reading the cases, writing values. Standard library only."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Recorder", "read_cases"]


def read_cases() -> dict[str, Any]:
    """Returns the cases of the file that the first argument names, with users as integers."""
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for case in cases.values():
        for table in ("lists", "truth", "judged", "train"):
            case[table] = {int(user): rows for user, rows in case[table].items()}
    return cases


class Recorder:
    """Collects what a peer computes, and writes it to the file of the second argument."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.values: list[dict[str, Any]] = []

    def add(
        self,
        case: str,
        metric: str,
        k: int | None,
        *,
        users: Mapping[Any, Any] | None = None,
        mean: Any = None,
    ) -> None:
        """Adds the values of a metric.

        Args:
            case: name of the case.
            metric: as one writes it in the peer, with the letter K for the depth.
            k: the depth, or None.
            users: one value a user, where the peer has them.
            mean: the peer's own value over all.
        """
        each = None
        if users is not None:
            each = {str(user): plain(value) for user, value in users.items()}
        row = {"case": case, "metric": metric, "k": k, "users": each, "mean": plain(mean)}
        self.values.append(row)

    def write(self, notes: Iterable[str] = ()) -> None:
        """Writes version and values."""
        python = ".".join(map(str, sys.version_info[:3]))
        text = {"version": version(self.package), "python": python, "notes": list(notes)}
        result = json.dumps({**text, "values": self.values}, indent=None)
        Path(sys.argv[2]).write_text(result, encoding="utf-8")


def plain(value: Any) -> float | None:
    """Returns a number of any library as a float; None for NaN and for nothing."""
    if value is None or math.isnan(float(value)):
        return None
    return float(value)
