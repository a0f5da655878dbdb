"""Merges and reranks again in plain Python: one query, one turn, one item at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recoeval.testing.formulas import Id

__all__ = ["MergeRules", "merge_of", "rerank_of"]

Scored = Sequence[tuple[Id, float | None]]
"""A list: item and score, best first."""

Row = tuple[Id, float, str, int]
"""Item, score of the merged list, the channel that gave it, its rank there."""


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How lists are merged.

    Args:
        method: quota, round_robin, weighted or rrf.
        channels: names in the order in which they are configured.
        quotas: of the channels that have one.
        weights: of the channels that have one, else 1.
        priorities: of the channels that have one.
        total: length of the merged list, if there is one.
        normalize: minmax or rank.
        constant: of rrf.
    """

    method: str
    channels: Sequence[str]
    quotas: Mapping[str, int]
    weights: Mapping[str, float]
    priorities: Mapping[str, int]
    total: int | None = None
    normalize: str = "minmax"
    constant: float = 60.0

    def length(self, k: int) -> int:
        """Returns how long the list may be."""
        if self.total is not None:
            return min(k, self.total)
        if all(name in self.quotas for name in self.channels):
            return min(k, sum(self.quotas[name] for name in self.channels))
        return k


def merge_of(
    lists: Mapping[str, Scored], rules: MergeRules, k: int
) -> tuple[list[Row], dict[str, int]]:
    """Returns the merged list of a query, and the duplicates of each channel.

    Args:
        lists: of each channel, items distinct; a channel without a list may be missing.
        rules: how.
        k: length that is asked for.
    """
    if rules.method in ("weighted", "rrf"):
        return _by_sum(lists, rules, k)
    return _by_turns(lists, rules, k)


def _by_turns(
    lists: Mapping[str, Scored], rules: MergeRules, k: int
) -> tuple[list[Row], dict[str, int]]:
    merged: list[Row] = []
    duplicates = dict.fromkeys(rules.channels, 0)
    at = dict.fromkeys(rules.channels, 0)
    for name in _turns(rules, sum(len(each) for each in lists.values())):
        given = sum(channel == name for _, _, channel, _ in merged)
        if given == rules.quotas.get(name, k) or len(merged) == rules.length(k):
            continue
        own = lists.get(name, [])
        while at[name] < len(own):
            item = own[at[name]][0]
            at[name] += 1
            if item not in [other for other, _, _, _ in merged]:
                merged.append((item, 1 / (len(merged) + 1), name, at[name]))
                break
            duplicates[name] += 1
    return merged, duplicates


def _turns(rules: MergeRules, rows: int) -> Iterator[str]:
    """Yields whose turn it is, more often than there are rows."""
    if rules.method == "quota":
        last = max(rules.priorities.values(), default=0) + 1
        order = sorted(rules.channels, key=lambda name: rules.priorities.get(name, last))
        for name in order:
            yield from [name] * (rows + 1)
        return
    for number in range(rows + 1):
        yield from rules.channels if number % 2 == 0 else reversed(rules.channels)


def _by_sum(
    lists: Mapping[str, Scored], rules: MergeRules, k: int
) -> tuple[list[Row], dict[str, int]]:
    sums: dict[Id, float] = {}
    givers: dict[Id, tuple[float, str, int]] = {}
    listed: list[tuple[str, Id]] = []
    for name in rules.channels:
        part = lists.get(name, [])[: rules.quotas.get(name, rules.total or 500)]
        for rank, (item, value) in enumerate(_values(part, rules), 1):
            added = rules.weights.get(name, 1.0) * value
            sums[item] = sums.get(item, 0.0) + added
            listed.append((name, item))
            if item not in givers or added > givers[item][0]:
                givers[item] = (added, name, rank)
    best = sorted(sums, key=lambda item: (-sums[item], item))[: rules.length(k)]
    merged = [(item, sums[item], *givers[item][1:]) for item in best]
    duplicates = dict.fromkeys(rules.channels, 0)
    for name, item in listed:
        duplicates[name] += item in best and givers[item][1] != name
    return merged, duplicates


def _values(part: Scored, rules: MergeRules) -> Iterator[tuple[Id, float]]:
    """Yields the items that take part, with what each adds before its weight."""
    scores = [score for _, score in part if score is not None]
    for rank, (item, _) in enumerate(part, 1):
        if rules.method == "rrf":
            yield item, 1 / (rules.constant + rank)
        elif rules.normalize == "rank":
            yield item, (len(part) - rank + 1) / len(part)
        elif max(scores) == min(scores):
            yield item, 1.0
        else:
            own = scores[rank - 1]
            yield item, (own - min(scores)) / (max(scores) - min(scores))


def rerank_of(
    items: Sequence[Id], scores: Mapping[Id, float], depth: int, k: int
) -> list[tuple[Id, float | None]]:
    """Returns a list in its new order, with its scores.

    Args:
        items: best first.
        scores: of the items that have one.
        depth: items that take part.
        k: length that is asked for.
    """
    part = list(items[:depth])
    known = sorted((item for item in part if item in scores), key=lambda item: -scores[item])
    unknown = [item for item in part if item not in scores]
    return [(item, scores.get(item)) for item in [*known, *unknown]][:k]
