"""The options that decide what the numbers mean."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from recoeval.data.buckets import Bucket
from recoeval.data.sampling import sample_definition
from recoeval.data.scales import Edges
from recoeval.data.truth import GroundTruth
from recoeval.workflow.config import Config
from recoeval.workflow.preparation import Prepared

__all__ = ["definitions_of", "rules_of"]

# Where rows come from is no rule: the files of a run are its inputs.
_PLACES: Final = {
    *("path", "table", "columns", "format", "user_id_type", "item_id_type"),
    *("timestamp_unit", "timezone"),
}


def rules_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the rules of a configuration; those of roles only where they are given.

    Args:
        settings: the configuration as plain values, without those that are None.
    """
    truth, training, seen = (settings[name] for name in ("ground_truth", "training", "seen"))
    split = settings["split"]
    if split["type"] == "files":
        split = {"type": "files"}
    relevant = _relevant(truth)
    trained = training.get("where")
    if trained is None:
        trained = GroundTruth.model_validate(truth).rule or "TRUE"
    return {
        "query": settings["query"],
        "split": split,
        **relevant,
        "train_rows": trained,
        "train_weight": training.get("weight", "1"),
        "seen": seen.get("where", "train rows"),
        "seen_window": seen.get("window"),
        **_of_roles(settings),
        **sample_definition(settings.get("sample_users"), settings["seed"]),
    }


def _relevant(truth: Mapping[str, Any]) -> dict[str, Any]:
    horizon = {"horizon": truth["horizon"]} if "horizon" in truth else {}
    if "positives" in truth:
        return {"positives": truth["positives"], **horizon}
    rule = {"relevant": truth.get("relevant", "TRUE"), "gain": str(truth.get("gain", "1"))}
    return {**rule, **horizon}


def _of_roles(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the rules of further tables: what is in them, and that they are there."""
    found: dict[str, Any] = {}
    for role in ("canonical_items", "users", "items", "exposures"):
        if role in settings:
            rules = {
                name: "given" if name == "exclude" else value
                for name, value in settings[role].items()
                if name not in _PLACES
            }
            found[role] = rules or "given"
    return found


def definitions_of(
    config: Config, prepared: Prepared, edges: Mapping[str, Edges]
) -> dict[str, Any]:
    """Returns the options that decide what the numbers mean, the policies left out.

    Args:
        config: the configuration.
        prepared: the fold.
        edges: for each bucket the edges in force.
    """
    rules = rules_of(config.model_dump(mode="json", exclude_none=True))
    first = {name: rules.pop(name) for name in ("query", "split")}
    found = {**first, "cutoff": prepared.split.test.start, **rules}
    splits = {
        name: _split_of(bucket, edges.get(name, ()))
        for name, bucket in config.buckets.items()
        if bucket.side == "item"
    }
    return {**found, "item_buckets": splits} if splits else found


def _split_of(bucket: Bucket, edges: Edges) -> dict[str, Any]:
    """Returns how relevant items are split; quantiles are told by the edges that they gave."""
    said = bucket.by if bucket.column is None else bucket.column
    cuts = [edge.isoformat() if isinstance(edge, datetime) else edge for edge in edges]
    return {"by": said, "edges": cuts}
