"""Formulas of one query, from docs/definitions.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from recoeval.errors import ConfigError, DataError
from recoeval.testing.grammar import Metric

__all__ = ["Answer", "Id", "Row", "depth_of", "harmonic", "lost_to", "parts", "relevant", "value"]

Id = int | str
Row = Mapping[str, Any]

_FULL_WITHOUT_RELEVANT: Final = ("recall", "capped_recall", "r_precision", "auprc")
_EXPONENTS: Final = (0.001, 50)
_DEEPEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """One generator's list for one evaluated query, and what it is held against.

    Args:
        user: the user of the query.
        delivered: item, rank and score in delivered order, nothing removed.
        prepared: the items that count, best first.
        truth: relevant item -> gain; empty under zero_relevant zero and one.
        seen: items that the user has seen; None when nothing says so.
        exposed: items that were shown to the user in the test window; None when nothing says so.
        beyond: relevant item -> unavailable, cold_item or cold_user, the first that holds, for
            items that the generator could not have listed.
        quota: the query's own depth, items; None where there is none.
    """

    user: Id
    delivered: tuple[Row, ...]
    prepared: tuple[Id, ...]
    truth: Mapping[Id, float]
    seen: Collection[Id] | None = None
    exposed: Collection[Id] | None = None
    beyond: Mapping[Id, str] | None = None
    quota: int | None = None


@dataclass(frozen=True, slots=True)
class _Cut:
    """A prepared list cut at K: ranks and gains of the hits."""

    ranks: tuple[int, ...]
    gained: tuple[float, ...]
    returned: int
    gains: tuple[float, ...]
    k: float
    options: Mapping[str, str]

    @property
    def capped(self) -> float:
        return min(self.k, len(self.gains))


def relevant(answer: Answer, metric: Metric) -> dict[Id, float]:
    """Returns the items that count as relevant for the metric, with their gains."""
    return {item: gain for item, gain in answer.truth.items() if gain >= metric.rel}


def value(answer: Answer, metric: Metric, empty: str) -> float | None:
    """Returns the metric of one query, None where the query is not among those it averages.

    Args:
        answer: the query, its list and its truth.
        metric: an accuracy metric.
        empty: the zero_relevant policy, for a query without relevant items.
    """
    if metric.name == "recall_ceiling":
        reached, whole = _within_reach(answer, metric)
        return reached / whole if whole else None
    if not relevant(answer, metric):
        if metric.rel:
            return None
        return 1.0 if empty == "one" and _is_full_without_relevant(metric) else 0.0
    return _FORMULAS[metric.name](_cut(answer, metric))


def _is_full_without_relevant(metric: Metric) -> bool:
    auprc = metric.name == "map" and metric.options.get("denominator") == "relevant"
    return auprc or metric.name in _FULL_WITHOUT_RELEVANT


def parts(answer: Answer, metric: Metric) -> tuple[float, float]:
    """Returns numerator and denominator of a precision, recall or capped_recall of one query.

    Those of recall_ceiling are the relevant items within reach, and all of them.
    """
    if metric.name == "recall_ceiling":
        return _within_reach(answer, metric)
    return _RATIOS[metric.name](_cut(answer, metric))


def lost_to(answer: Answer, item: Id, k: float) -> str:
    """Returns where a relevant item went: hit, or the first cause that holds.

    Args:
        answer: the query, its list and its truth.
        item: a relevant item.
        k: depth, items.
    """
    if item in answer.prepared:
        return "hit" if answer.prepared.index(item) < k else "below_k"
    if any(row["item"] == item for row in answer.delivered):
        return "filtered"
    return (answer.beyond or {}).get(item, "not_retrieved")


def harmonic(a: float, b: float) -> float:
    """Returns the harmonic mean, 0 if both are 0."""
    return 2 * a * b / (a + b) if a + b else 0.0


def depth_of(answer: Answer, metric: Metric) -> float:
    """Returns where the lists of this query end for the metric: items, or infinity."""
    if metric.k == "quota":
        if answer.quota is None or not 1 <= answer.quota <= _DEEPEST:
            raise DataError(f"{metric.label}: quota {answer.quota!r} of user {answer.user!r}")
        return answer.quota
    return metric.k if isinstance(metric.k, int) else math.inf


def _cut(answer: Answer, metric: Metric) -> _Cut:
    k, truth = depth_of(answer, metric), relevant(answer, metric)
    found = [
        (rank, truth[item])
        for rank, item in enumerate(answer.prepared, 1)
        if rank <= k and item in truth and _scores_enough(answer, item, metric)
    ]
    return _Cut(
        ranks=tuple(rank for rank, _ in found),
        gained=tuple(gain for _, gain in found),
        returned=len(answer.prepared),
        gains=tuple(truth.values()),
        k=k,
        options=metric.options,
    )


def _scores_enough(answer: Answer, item: Id, metric: Metric) -> bool:
    if "min_score" not in metric.options:
        return True
    score = next(row["score"] for row in answer.delivered if row["item"] == item)
    if score is None or not math.isfinite(score):
        raise DataError(f"{metric.label}: score {score!r} of item {item!r}")
    return float(score) >= float(metric.options["min_score"])


def _within_reach(answer: Answer, metric: Metric) -> tuple[float, float]:
    causes = [lost_to(answer, item, math.inf) for item in relevant(answer, metric)]
    lost = sum(cause in ("unavailable", "cold_item", "cold_user") for cause in causes)
    return len(causes) - lost, len(causes)


def _precision(cut: _Cut) -> tuple[float, float]:
    returned = cut.options.get("denominator") == "returned"
    return len(cut.ranks), min(cut.k, cut.returned) if returned else cut.k


def _recall(cut: _Cut) -> tuple[float, float]:
    if cut.options.get("gain") == "linear":
        return math.fsum(cut.gained), math.fsum(cut.gains)
    return len(cut.ranks), len(cut.gains)


_RATIOS: Final[dict[str, Callable[[_Cut], tuple[float, float]]]] = {
    "precision": _precision,
    "recall": _recall,
    "capped_recall": lambda cut: (len(cut.ranks), cut.capped),
}


def _divide(pair: tuple[float, float]) -> float:
    return pair[0] / pair[1] if pair[1] else 0.0


def _sum_of_precisions(cut: _Cut) -> float:
    return math.fsum(hit / rank for hit, rank in enumerate(cut.ranks, 1))


def _map(cut: _Cut) -> float:
    whole = cut.options.get("denominator") == "relevant"
    return _sum_of_precisions(cut) / (len(cut.gains) if whole else cut.capped)


def _ndcg(cut: _Cut) -> float:
    kind = cut.options.get("gain", "linear")

    def dcg(pairs: Iterable[tuple[int, float]]) -> float:
        return math.fsum(_worth(gain, kind) / math.log2(rank + 1) for rank, gain in pairs)

    ideal = sorted(cut.gains, reverse=True)[: int(cut.capped)]
    if cut.options.get("ideal") == "k":
        if kind != "binary" and set(cut.gains) != {1.0}:
            raise DataError("ndcg(ideal=k) takes binary gains: write ndcg(gain=binary, ideal=k)")
        if not math.isfinite(cut.k):
            raise ConfigError("ndcg(ideal=k) needs a depth")
        ideal = [1.0] * int(cut.k)
    return dcg(zip(cut.ranks, cut.gained, strict=True)) / dcg(enumerate(ideal, 1))


def _worth(gain: float, kind: str) -> float:
    low, high = _EXPONENTS
    if kind == "exponential" and not low <= gain <= high:
        raise DataError(f"gain {gain!r} is not from {low} to {high}, for gain=exponential")
    return {"linear": gain, "exponential": math.exp2(gain) - 1, "binary": 1.0}[kind]


_FORMULAS: Final[dict[str, Callable[[_Cut], float]]] = {
    "hits": lambda cut: float(len(cut.ranks)),
    "precision": lambda cut: _divide(_precision(cut)),
    "recall": lambda cut: _divide(_recall(cut)),
    "capped_recall": lambda cut: len(cut.ranks) / cut.capped,
    "f1": lambda cut: harmonic(_divide(_precision(cut)), _divide(_recall(cut))),
    "hit_rate": lambda cut: 1.0 if cut.ranks else 0.0,
    "mrr": lambda cut: 1 / cut.ranks[0] if cut.ranks else 0.0,
    "map": _map,
    "auprc": lambda cut: _sum_of_precisions(cut) / len(cut.gains),
    "ndcg": _ndcg,
    "r_precision": lambda cut: sum(rank <= len(cut.gains) for rank in cut.ranks) / len(cut.gains),
}
