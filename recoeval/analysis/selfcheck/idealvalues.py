"""What each metric gives for R itself as the list: the laws of the definitions, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from recoeval.metrics.base import Measure

__all__ = ["ideal_value"]


@dataclass(frozen=True, slots=True)
class _Ideal:
    """R as the list.

    Args:
        gains: of the relevant items, descending.
        returned: length of the list; more than `gains` where a smallest gain is asked for.
        depth: K; infinite for @all and metrics without K.
        options: of the metric, by name.
    """

    gains: Sequence[float]
    returned: int
    depth: float
    options: Mapping[str, object]

    @property
    def size(self) -> int:
        return len(self.gains)

    @property
    def hits(self) -> float:
        return min(self.depth, self.size)


def _recall(ideal: _Ideal) -> float:
    if ideal.options.get("gain") == "linear":
        return math.fsum(ideal.gains[: int(ideal.hits)]) / math.fsum(ideal.gains)
    return ideal.hits / ideal.size


def _precision(ideal: _Ideal) -> float:
    if ideal.options.get("denominator") == "returned":
        return ideal.hits / min(ideal.depth, ideal.returned)
    return ideal.hits / ideal.depth


def _map(ideal: _Ideal) -> float:
    return ideal.hits / ideal.size if ideal.options.get("denominator") == "relevant" else 1.0


def _ndcg(ideal: _Ideal) -> float:
    if ideal.options.get("ideal") != "k":
        return 1.0
    return _discounts(int(ideal.hits)) / _discounts(int(ideal.depth))


@lru_cache(maxsize=4096)
def _discounts(depth: int) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank in range(1, depth + 1))


_VALUES: Final[Mapping[str, Callable[[_Ideal], float]]] = {
    "hits": lambda ideal: float(ideal.hits),
    "precision": _precision,
    "recall": _recall,
    "capped_recall": lambda ideal: 1.0,
    "f1": lambda ideal: 2 * ideal.hits / (ideal.depth + ideal.size),
    "hit_rate": lambda ideal: 1.0,
    "mrr": lambda ideal: 1.0,
    "map": _map,
    "auprc": lambda ideal: ideal.hits / ideal.size,
    "ndcg": _ndcg,
    "r_precision": lambda ideal: 1.0,
}


def ideal_value(measure: Measure, gains: Sequence[float], quota: int | None = None) -> float | None:
    """Returns the value of R, gains descending, as the list of one query.

    Args:
        measure: what is asked for.
        gains: of the query's relevant items, descending, at least one.
        quota: the query's own K, for @quota.

    Returns:
        The value; None for metrics without such a law, and for queries that `rel=` leaves out.

    Source:
        definitions.md, section 4: laws.

    Example:
        >>> from recoeval.metrics import measures
        >>> recall, precision = measures(["recall", "precision"], [2])
        >>> ideal_value(recall, [1.0, 1.0, 1.0]) == 2 / 3, ideal_value(precision, [1.0])
        (True, 0.5)
    """
    metric = measure.metric
    rel = measure.rel or 0.0
    kept = [gain for gain in gains if gain >= rel]
    if metric.title not in _VALUES or not kept:
        return None
    depth: float = math.inf if measure.k is None else measure.k
    if measure.cut is not None and measure.cut.at == "quota":
        if quota is None:
            return None
        depth = quota
    options = {name: getattr(metric, name) for name in metric.option_names()}
    return float(_VALUES[metric.title](_Ideal(kept, len(gains), depth, options)))
