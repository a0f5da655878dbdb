"""Tiny lists scored by the engine itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from recoeval.engine.local import Scorer
from recoeval.metrics import measures

Lists = Mapping[str, Sequence[str]]


def per_query(
    lists: Lists,
    truth: Mapping[str, Mapping[str, float]],
    metrics: Sequence[str],
    *,
    scores: Mapping[str, Sequence[float | None]] | None = None,
    seen: Lists | None = None,
    drop_seen: bool = False,
    queries: Sequence[str] | None = None,
    without_relevant: str = "zero",
    facts: Mapping[str, Sequence[Any]] | None = None,
    **roles: Any,
) -> pl.DataFrame:
    """Returns what the engine says of lists by query, best first."""
    asked = measures(metrics, [])
    rows = [
        (query, item, rank, (scores or {}).get(query, [None] * len(items))[rank - 1])
        for query, items in lists.items()
        for rank, item in enumerate(items, 1)
    ]
    delivered = pl.LazyFrame(
        rows,
        schema={"query_id": pl.String, "item_id": pl.String, "rank": pl.Int64, "score": pl.Float64},
        orient="row",
    )
    pairs = pl.LazyFrame(
        [(query, item, gain) for query, gains in truth.items() for item, gain in gains.items()],
        schema={"query_id": pl.String, "item_id": pl.String, "gain": pl.Float64},
        orient="row",
    )
    known = None
    if seen is not None:
        known = pl.LazyFrame(
            [(query, item) for query, items in seen.items() for item in items],
            schema={"query_id": pl.String, "item_id": pl.String},
            orient="row",
        )
    names = list(queries or truth)
    scorer = Scorer.of(
        pl.DataFrame({"query_id": names, "user_id": names, **(facts or {})}),
        pairs.collect(),
        asked,
        seen=known,
        drop_seen=drop_seen,
        without_relevant=without_relevant,
        **roles,
    )
    return scorer.score(delivered).per_query


@pytest.fixture
def score() -> Callable[..., pl.DataFrame]:
    """Gives `per_query`: lists and truth in, one row a query out."""
    return per_query


@pytest.fixture
def value() -> Callable[..., Any]:
    """Gives the value of one metric for one list "q"."""

    def of(metric: str, items: Sequence[str], gains: Mapping[str, float], **more: Any) -> Any:
        found = per_query({"q": items}, {"q": gains}, [metric], queries=["q"], **more)
        return found[metric].item()

    return of
