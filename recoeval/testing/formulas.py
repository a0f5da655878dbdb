"""Formulas of one query and of a pool of lists, from docs/definitions.md."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from recoeval.errors import ConfigError, DataError, did_you_mean

__all__ = ["Answer", "Id", "Metric", "Row", "harmonic", "parse", "parts", "pooled", "value"]

Id = int | str
Row = Mapping[str, Any]

_OPTIONS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "precision": {"denominator": ("k", "returned")},
    "recall": {"gain": ("binary", "linear")},
    "map": {"denominator": ("capped", "relevant")},
    "ndcg": {"gain": ("linear", "exponential", "binary")},
}
_WITHOUT_K: Final = ("coverage", "duplicate_share")
_TAKE_ALL: Final = ("hits", "recall", "capped_recall", "hit_rate", "mrr", "map", "ndcg")
_MAX_EXPONENT: Final = 50


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of the result.

    Args:
        label: "ndcg(gain=exponential)@10".
        name: "ndcg".
        options: {"gain": "exponential"}.
        k: depth, items; None for "@all" and for metrics without K.
    """

    label: str
    name: str
    options: Mapping[str, str]
    k: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One generator's list for one evaluated query, and what it is held against.

    Args:
        user: the user of the query.
        delivered: item, rank and score in delivered order, nothing removed.
        prepared: the items that count, best first.
        truth: relevant item -> gain; empty under zero_relevant zero and one.
        seen: items that the user has seen; None when nothing says so.
    """

    user: Id
    delivered: tuple[Row, ...]
    prepared: tuple[Id, ...]
    truth: Mapping[Id, float]
    seen: Collection[Id] | None


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


def parse(text: str, depths: Sequence[int]) -> list[Metric]:
    """Returns the metrics that a text such as "recall" or "ndcg(gain=binary)@10" asks for.

    Args:
        text: name, options in brackets, "@K" or "@all".
        depths: depths of a metric that names none, items.

    Raises:
        ConfigError: unknown name, option, value or depth.
    """
    match = re.fullmatch(r"(\w+)(?:\(([^()]*)\))?(?:@(\w+))?", text)
    if match is None or match[1] not in _FORMULAS | _POOLED:
        raise ConfigError(f"unknown metric {text!r}.{did_you_mean(text, _FORMULAS | _POOLED)}")
    name, inside, depth = match.groups()
    stem = text.partition("@")[0]
    pairs = [part.split("=") for part in (inside or "").split(",") if part.strip()]
    options = {pair[0].strip(): pair[-1].strip() for pair in pairs}
    for key, choice in options.items():
        if choice not in _OPTIONS.get(name, {}).get(key, ()):
            raise ConfigError(f"metric {text!r}: unknown option or value {key}={choice}")
    if name in _WITHOUT_K and depth is None:
        return [Metric(stem, name, options, None)]
    if depth == "all" and name in _TAKE_ALL:
        return [Metric(text, name, options, None)]
    wanted = depths if depth is None else [int(depth) if depth.isdecimal() else 0]
    if name in _WITHOUT_K or min(wanted, default=0) < 1:
        raise ConfigError(f"metric {text!r}: needs a depth >= 1 if it takes one")
    return [Metric(f"{stem}@{k}", name, options, k) for k in wanted]


def value(answer: Answer, metric: Metric, empty: str) -> float:
    """Returns the metric of one query.

    Args:
        answer: the query, its list and its truth.
        metric: not a list-quality metric.
        empty: the zero_relevant policy, for a query without relevant items.
    """
    if not answer.truth:
        return 1.0 if empty == "one" and metric.name in ("recall", "capped_recall") else 0.0
    return _FORMULAS[metric.name](_cut(answer, metric))


def parts(answer: Answer, metric: Metric) -> tuple[float, float]:
    """Returns numerator and denominator of a precision, recall or capped_recall of one query."""
    return _RATIOS[metric.name](_cut(answer, metric))


def pooled(answers: Sequence[Answer], metric: Metric) -> tuple[float, float] | None:
    """Returns numerator and denominator of a list-quality metric, None for other metrics."""
    count = _POOLED.get(metric.name)
    return None if count is None else count(answers, metric.k or 0)


def harmonic(a: float, b: float) -> float:
    """Returns the harmonic mean, 0 if both are 0."""
    return 2 * a * b / (a + b) if a + b else 0.0


def _cut(answer: Answer, metric: Metric) -> _Cut:
    found = [
        (rank, answer.truth[item])
        for rank, item in enumerate(answer.prepared[: metric.k], 1)
        if item in answer.truth
    ]
    return _Cut(
        ranks=tuple(rank for rank, _ in found),
        gained=tuple(gain for _, gain in found),
        returned=len(answer.prepared),
        gains=tuple(answer.truth.values()),
        k=math.inf if metric.k is None else metric.k,
        options=metric.options,
    )


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


def _map(cut: _Cut) -> float:
    relevant = cut.options.get("denominator") == "relevant"
    total = math.fsum(hit / rank for hit, rank in enumerate(cut.ranks, 1))
    return total / (len(cut.gains) if relevant else cut.capped)


def _ndcg(cut: _Cut) -> float:
    kind = cut.options.get("gain", "linear")

    def dcg(pairs: Iterable[tuple[int, float]]) -> float:
        return math.fsum(_worth(gain, kind) / math.log2(rank + 1) for rank, gain in pairs)

    ideal = sorted(cut.gains, reverse=True)[: int(cut.capped)]
    return dcg(zip(cut.ranks, cut.gained, strict=True)) / dcg(enumerate(ideal, 1))


def _worth(gain: float, kind: str) -> float:
    if kind == "exponential" and gain > _MAX_EXPONENT:
        raise DataError(f"gain {gain!r} is above {_MAX_EXPONENT}, too large for gain=exponential")
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
    "ndcg": _ndcg,
}


def _coverage(answers: Sequence[Answer], k: int) -> tuple[float, float]:
    return sum(1 for answer in answers if answer.delivered), len(answers)


def _list_fill(answers: Sequence[Answer], k: int) -> tuple[float, float]:
    return sum(min(k, len(answer.delivered)) for answer in answers), k * len(answers)


def _duplicate_share(answers: Sequence[Answer], k: int) -> tuple[float, float]:
    rows = sum(len(answer.delivered) for answer in answers)
    return rows - sum(len({row["item"] for row in one.delivered}) for one in answers), rows


def _seen_share(answers: Sequence[Answer], k: int) -> tuple[float, float]:
    marks = [
        row["item"] in answer.seen
        for answer in answers
        if answer.seen is not None
        for row in answer.delivered[:k]
    ]
    return sum(marks), len(marks)


def _tie_share(answers: Sequence[Answer], k: int) -> tuple[float, float]:
    served = [answer.delivered for answer in answers if answer.delivered]
    tied = [
        rows[k - 1]["score"] is not None and rows[k - 1]["score"] == rows[k]["score"]
        for rows in served
        if len(rows) > k
    ]
    return sum(tied), len(served)


_POOLED: Final[dict[str, Callable[[Sequence[Answer], int], tuple[float, float]]]] = {
    "coverage": _coverage,
    "duplicate_share": _duplicate_share,
    "list_fill": _list_fill,
    "seen_share": _seen_share,
    "tie_share": _tie_share,
}
