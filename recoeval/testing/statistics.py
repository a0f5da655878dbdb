"""Quantiles, intervals and bucket labels, from docs/definitions.md, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

__all__ = [
    "bucket_labels",
    "interval",
    "mean",
    "over_folds",
    "popularity_labels",
    "quantile",
    "quantile_cuts",
    "student_t",
]

_Key = TypeVar("_Key", bound=Hashable)


def mean(values: Sequence[float]) -> float:
    """Returns the mean, its sum rounded once."""
    return math.fsum(values) / len(values)


def quantile(values: Iterable[float], share: Fraction) -> float:
    """Returns the quantile with linear interpolation between the two nearest values.

    Example:
        >>> quantile([4.0, 1.0, 2.0], Fraction(3, 4))
        3.0
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low, beyond = ordered[math.floor(place)], place - math.floor(place)
    return low + float(beyond) * (ordered[math.ceil(place)] - low)


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Returns the two-sided Student t interval of the mean, None for fewer than two values."""
    if len(values) < 2:
        return None
    middle, degrees = mean(values), len(values) - 1
    variance = math.fsum((value - middle) ** 2 for value in values) / degrees
    half = student_t(confidence, degrees) * math.sqrt(variance / len(values))
    return middle - half, middle + half


@lru_cache
def student_t(confidence: float, degrees: int) -> float:
    """Returns the t with P(-t < T < t) = confidence.

    Args:
        confidence: between 0 and 1.
        degrees: degrees of freedom, >= 1.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.

    Example:
        >>> round(student_t(0.95, 10), 3)
        2.228
    """
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _inside(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(middle)


def _inside(angle: float, degrees: int) -> float:
    """Returns P(-t < T < t) for t = sqrt(degrees) tan(angle): a finite series of cosines."""
    odd = degrees % 2
    cosine = math.cos(angle)
    terms, term = [], cosine if odd else 1.0
    for step in range(2 + odd, degrees, 2):
        terms.append(term)
        term *= cosine * cosine * (step - 1) / step
    terms.append(term if degrees > 1 else 0.0)
    series = math.sin(angle) * math.fsum(terms)
    return (angle + series) * 2 / math.pi if odd else series


def over_folds(values: Iterable[float | None]) -> dict[str, float | None]:
    """Returns the number of folds with a value, and mean, sd, min and max over them.

    Args:
        values: one a fold; None: the fold has no value. sd (of a sample) needs two.

    Example:
        >>> over_folds([1.0, 3.0])["mean"]
        2.0
    """
    known = [value for value in values if value is not None]
    if not known:
        return {"folds": 0, "mean": None, "sd": None, "min": None, "max": None}
    middle = mean(known)
    squares = math.fsum((value - middle) ** 2 for value in known)
    spread = math.sqrt(squares / (len(known) - 1)) if len(known) > 1 else None
    return {"folds": len(known), "mean": middle, "sd": spread, "min": min(known), "max": max(known)}


def quantile_cuts(values: Iterable[float], shares: Iterable[Fraction]) -> list[float]:
    """Returns where quantile buckets begin: the value with index floor(q m) of m in order.

    Args:
        values: one a user, item or distinct count.
        shares: between 0 and 1, ascending.

    Example:
        >>> quantile_cuts([5, 1, 2, 2], [Fraction(1, 2)])
        [2]
    """
    ordered = sorted(values)
    return [ordered[math.floor(share * len(ordered))] for share in shares]


def popularity_labels(
    train_users: Mapping[_Key, int], items: Iterable[_Key], shares: Sequence[Fraction]
) -> dict[_Key, str]:
    """Returns the label of each item: tail, torso, head, or "0" without a train row.

    Args:
        train_users: item -> distinct users with a train row; quantiles are taken over these.
        items: what to label.
        shares: one quantile (tail, head), or two.

    Example:
        >>> popularity_labels({"a": 1, "b": 9}, ["a", "b", "c"], [Fraction(1, 2)])
        {'a': 'tail', 'b': 'head', 'c': '0'}
    """
    cuts = quantile_cuts(train_users.values(), shares)
    names = ["tail", "torso", "head"] if len(cuts) == 2 else ["tail", "head"]
    return {
        item: names[sum(train_users[item] >= cut for cut in cuts)] if item in train_users else "0"
        for item in items
    }


def bucket_labels(
    values: Mapping[_Key, float | None], edges: Sequence[float], *, history: bool = False
) -> dict[_Key, str]:
    """Returns the label of each key's bucket: "[1,5)", "[-inf,2)", "0" or "missing".

    Args:
        values: key -> value; None: missing in the table.
        edges: where buckets begin, ascending.
        history: values are train_interactions: no history is a bucket of its own, "0", and
            the first of the others starts at 1.

    Example:
        >>> bucket_labels({"a": 0, "b": 3, "c": 50}, [10, 50], history=True)
        {'a': '0', 'b': '[1,10)', 'c': '[50,inf)'}
    """
    first = 1.0 if history else -math.inf
    cuts: list[float] = [first, *(edge for edge in edges if edge > first)]
    ends = [*cuts[1:], math.inf]

    def label(value: float | None) -> str:
        if value is None:
            return "missing"
        if history and value == 0:
            return "0"
        low, high = next((a, b) for a, b in zip(cuts, ends, strict=True) if a <= value < b)
        return f"[{_plain(low)},{_plain(high)})"

    return {key: label(value) for key, value in values.items()}


def _plain(edge: float) -> str:
    return str(int(edge)) if math.isfinite(edge) and edge == int(edge) else str(edge)
