"""The results as one JSON document, for machines: stable keys, exact numbers, no NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from recoeval.report.sections import Results, relevant_items

__all__ = ["json_text", "results_document"]

FACTS: Final = (
    "recoeval",
    "name",
    "run_id",
    "started",
    "finished",
    "seconds",
    "peak_memory_mb",
    "config_sha256",
)


def results_document(results: Results) -> dict[str, Any]:
    """Returns what a report tells, as plain values.

    Args:
        results: tables, verdict and facts.

    Returns:
        recoeval, name, run_id, path and times (null where there are none); given, splits, roles,
        truth, lists, relevant_items; measures, summary (one object a number), folds (spread over
        several), loss (counts by cause), channels, overlap, what_if, funnel (one object a row),
        buckets; verdict (outcome, exit_code, constraints, checks); audit (one object a finding),
        health (records by table); definitions, notes; misses if a sample was asked for.
    """
    facts, evaluation = results.facts, results.evaluation
    verdict = {"exit_code": results.verdict.exit_code, **results.verdict.as_dict()}
    return {
        **{name: facts.get(name) for name in FACTS},
        "path": results.place or None,
        "given": results.given,
        "splits": list(facts.get("splits", ())),
        "roles": facts.get("roles", {}),
        "truth": facts.get("truth", {}),
        "lists": facts.get("lists", {}),
        "relevant_items": relevant_items(evaluation.per_query),
        "buckets": facts.get("buckets", {}),
        "measures": [measure.label for measure in evaluation.measures],
        "summary": evaluation.summary.to_dicts(),
        "folds": evaluation.folds.to_dicts(),
        "loss": evaluation.loss.to_dicts(),
        "channels": evaluation.channels.to_dicts(),
        "overlap": evaluation.overlap.to_dicts(),
        "what_if": evaluation.what_if.to_dicts(),
        "funnel": evaluation.funnel.to_dicts(),
        "verdict": verdict,
        "audit": list(facts.get("audit", ())),
        "health": facts.get("health", {}),
        "definitions": facts.get("definitions", {}),
        "notes": list(facts.get("notes", ())),
        **({} if results.misses is None else {"misses": results.misses.to_dicts()}),
    }


def json_text(document: Mapping[str, Any] | list[Any]) -> str:
    r"""Returns a document as JSON text; times in ISO 8601, infinite numbers and NaN as null.

    Example:
        >>> json_text({"value": float("nan")})
        '{\n  "value": null\n}'
    """
    return json.dumps(_plain(document), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Returns a value that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | str) else str(value)
