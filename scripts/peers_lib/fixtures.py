"""Fixtures of the tests: the small cases, and each peer's values with what of ours equals them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from data import RECORDED, all_cases
from environments import Peer
from matching import NO_ORDER, Match
from reasons import reasons_of

__all__ = ["write_cases", "write_peer"]


def write_cases(folder: Path) -> None:
    """Writes the cases that are recorded, one line each."""
    cases = {name: case for name, case in all_cases().items() if name in RECORDED}
    _write(folder / "cases.json", cases)


def write_peer(
    folder: Path,
    peer: Peer,
    found: Mapping[str, Any],
    matches: Sequence[Match],
    ties: Mapping[str, Sequence[str]],
) -> None:
    """Writes the recorded values of a peer, one line a metric.

    Args:
        folder: where the fixtures are.
        peer: whose values they are.
        found: version, python and values.
        matches: one a metric.
        ties: metrics by order of equal scores.
    """
    users = {name: [str(user) for user in case["users"]] for name, case in all_cases().items()}
    reasons = reasons_of(peer.name)
    text: dict[str, Any] = {key: found[key] for key in ("version", "python")}
    text |= {"tolerance": peer.tolerance, "ties": ties}
    for match in matches:
        record = {key: value for key, value in asdict(match).items() if key != "metric"}
        record["nearest"] = None if match.equal else reasons[match.metric].nearest
        # Of a metric that differs, the examples; equal scores where their order is known.
        kept = [case for case in RECORDED if case != "ties" or NO_ORDER not in ties]
        kept = kept if match.equal else ["tiny"]
        record["values"] = [
            _compact(row, users[row["case"]], peer.tolerance)
            for row in found["values"]
            if row["metric"] == match.metric and row["case"] in kept
        ]
        text[f"metric {match.metric}"] = record
    _write(folder / f"{peer.name}.json", text)


def _compact(row: Mapping[str, Any], users: Sequence[str], tolerance: float) -> dict[str, Any]:
    """Returns the values in the order of the case's users, without digits that say nothing."""
    digits = 9 if tolerance > 1e-9 else 14
    short = {"case": row["case"], "k": row["k"], "mean": _round(row["mean"], digits)}
    if row["users"] is not None:
        short["users"] = [_round(row["users"].get(user), digits) for user in users]
    return short


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _write(path: Path, text: Mapping[str, Any]) -> None:
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in text.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
