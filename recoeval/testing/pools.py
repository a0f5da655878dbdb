"""Formulas of many lists: what was delivered, and how the lists use the catalogue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from recoeval.errors import ConfigError
from recoeval.testing.facts import Facts
from recoeval.testing.formulas import Answer, Id, depth_of
from recoeval.testing.grammar import Metric

__all__ = ["of_catalogue", "of_delivered"]


def of_delivered(answers: Sequence[Answer], metric: Metric, facts: Facts) -> float | None:
    """Returns a metric of the delivered lists of one generator, None where it is 0/0."""
    part, whole = _DELIVERED[metric.name](answers, metric, facts)
    return part / whole if whole else None


def of_catalogue(
    answers: Sequence[Answer],
    metric: Metric,
    facts: Facts,
    items: Collection[Id] | None = None,
) -> float | None:
    """Returns a metric of the prepared lists of one generator, None where nothing is listed.

    Args:
        answers: evaluated queries.
        metric: a catalogue metric.
        facts: train rows and items.
        items: only these, of the lists and of the catalogue, as of an item-side bucket.
    """
    if facts.catalogue is None:
        raise ConfigError(f"{metric.label} needs train data or items")
    if metric.name in ("novelty", "mean_popularity") and facts.train_users is None:
        raise ConfigError(f"{metric.label} needs train data")
    listed = Counter(
        item
        for answer in answers
        for rank, item in enumerate(answer.prepared, 1)
        if rank <= depth_of(answer, metric) and (items is None or item in items)
    )
    catalogue = [item for item in facts.catalogue if items is None or item in items]
    return _CATALOGUE[metric.name](listed, catalogue, facts)


Ratio = tuple[float, float]


def _first(answer: Answer, metric: Metric) -> list[Id]:
    k = depth_of(answer, metric)
    return [row["item"] for rank, row in enumerate(answer.delivered, 1) if rank <= k]


def _coverage(answers: Sequence[Answer], metric: Metric, facts: Facts) -> Ratio:
    return sum(1 for answer in answers if answer.delivered), len(answers)


def _list_fill(answers: Sequence[Answer], metric: Metric, facts: Facts) -> Ratio:
    shares = [len(_first(answer, metric)) / depth_of(answer, metric) for answer in answers]
    return math.fsum(shares), len(answers)


def _duplicate_share(answers: Sequence[Answer], metric: Metric, facts: Facts) -> Ratio:
    rows = sum(len(answer.delivered) for answer in answers)
    return rows - sum(len({row["item"] for row in one.delivered}) for one in answers), rows


def _seen_share(answers: Sequence[Answer], metric: Metric, facts: Facts) -> Ratio:
    marks = [
        item in answer.seen
        for answer in answers
        if answer.seen is not None
        for item in _first(answer, metric)
    ]
    return sum(marks), len(marks)


def _judged(answers: Sequence[Answer], metric: Metric, facts: Facts) -> Ratio:
    if facts.exposed is None:
        raise ConfigError(f"{metric.label} needs exposures")
    marks = [item in (one.exposed or ()) for one in answers for item in _first(one, metric)]
    return sum(marks), len(marks)


def _unknown_item_share(answers: Sequence[Answer], metric: Metric, facts: Facts) -> Ratio:
    if facts.catalogue is None:
        raise ConfigError(f"{metric.label} needs train data or items")
    marks = [item not in facts.catalogue for one in answers for item in _first(one, metric)]
    return sum(marks), len(marks)


def _tie_share(answers: Sequence[Answer], metric: Metric, facts: Facts) -> Ratio:
    served = [answer for answer in answers if answer.delivered]
    return sum(_is_tied(answer, int(depth_of(answer, metric))) for answer in served), len(served)


def _is_tied(answer: Answer, k: int) -> bool:
    if len(answer.delivered) <= k:
        return False
    last, following = (row["score"] for row in answer.delivered[k - 1 : k + 1])
    return last is not None and bool(last == following)


def _item_coverage(listed: Mapping[Id, int], catalogue: Sequence[Id], facts: Facts) -> float | None:
    found = sum(1 for item in catalogue if listed.get(item))
    return found / len(catalogue) if catalogue else None


def _gini(listed: Mapping[Id, int], catalogue: Sequence[Id], facts: Facts) -> float | None:
    """Returns the mean difference between two items, relative to twice the mean."""
    counts = [listed.get(item, 0) for item in catalogue]
    if not sum(counts):
        return None
    differences = sum(abs(one - other) for one in counts for other in counts)
    return differences / (2 * len(counts) * sum(counts))


def _entropy(listed: Mapping[Id, int], catalogue: Sequence[Id], facts: Facts) -> float | None:
    whole = sum(listed.values())
    if not whole:
        return None
    return math.fsum(-count / whole * math.log2(count / whole) for count in listed.values())


def _novelty(listed: Mapping[Id, int], catalogue: Sequence[Id], facts: Facts) -> float | None:
    users = len(facts.warm_users or ())
    return _mean_of_rows(
        listed, lambda item: -math.log2((_popularity(facts, item) + 1) / (users + 1))
    )


def _mean_popularity(
    listed: Mapping[Id, int], catalogue: Sequence[Id], facts: Facts
) -> float | None:
    return _mean_of_rows(listed, lambda item: _popularity(facts, item))


def _popularity(facts: Facts, item: Id) -> int:
    return (facts.train_users or {}).get(item, 0)


def _mean_of_rows(listed: Mapping[Id, int], worth: Callable[[Id], float]) -> float | None:
    whole = sum(listed.values())
    return math.fsum(n * worth(item) for item, n in listed.items()) / whole if whole else None


_DELIVERED: Final[dict[str, Callable[[Sequence[Answer], Metric, Facts], Ratio]]] = {
    "coverage": _coverage,
    "duplicate_share": _duplicate_share,
    "judged": _judged,
    "list_fill": _list_fill,
    "seen_share": _seen_share,
    "tie_share": _tie_share,
    "unknown_item_share": _unknown_item_share,
}
_CATALOGUE: Final[dict[str, Callable[[Mapping[Id, int], Sequence[Id], Facts], float | None]]] = {
    "entropy": _entropy,
    "gini": _gini,
    "item_coverage": _item_coverage,
    "mean_popularity": _mean_popularity,
    "novelty": _novelty,
}
