"""What the oracle returns: values of queries and users, summaries, causes of losses."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from recoeval.testing.facts import Facts
from recoeval.testing.formulas import Answer, Id, harmonic, lost_to, parts, relevant, value
from recoeval.testing.grammar import Metric
from recoeval.testing.pools import of_catalogue, of_delivered
from recoeval.testing.statistics import interval, mean, quantile

__all__ = ["Answers", "OracleResult", "summarise"]

_QUANTILES: Final = {"p10": Fraction(1, 10), "p50": Fraction(1, 2), "p90": Fraction(9, 10)}
_FEW_USERS, _FEW_NON_ZERO = 500, 30

Answers = dict[tuple[str, Id], Answer]
Pairs = Collection[tuple[Id, Id]]


@dataclass(frozen=True, slots=True)
class OracleResult:
    """Every number of one evaluation.

    Args:
        per_query: (generator, query) -> metric label -> value; evaluated queries only. None
            where the query is not among those that the metric averages: it has no item of
            the gain that `rel` asks for, or nothing relevant for recall_ceiling.
        per_user: (generator, user) -> metric label -> mean over the user's queries.
        summary: (generator, label, statistic) -> value, None where it is 0/0. Statistics:
            macro, macro_query, micro (of precision, recall, capped_recall, f1 and
            recall_ceiling), p10, p50, p90; metrics of lists and of the catalogue have micro alone.
        ci: (generator, label) -> two-sided 95% Student t interval of macro, None below two
            users.
        too_few_users: (generator, label) -> fewer than 500 users, or than 30 with a value
            other than 0.
        counted: (generator, label) -> queries and users behind the value.
        answers: (generator, query) -> the list that was measured, and the truth.
        metrics: what was measured.
        empty: the zero_relevant policy.
        facts: what is known of users and items.
    """

    per_query: dict[tuple[str, Id], dict[str, float | None]]
    per_user: dict[tuple[str, Id], dict[str, float | None]]
    summary: dict[tuple[str, str, str], float | None]
    ci: dict[tuple[str, str], tuple[float, float] | None]
    too_few_users: dict[tuple[str, str], bool]
    counted: dict[tuple[str, str], tuple[int, int]]
    answers: Answers = field(repr=False)
    metrics: tuple[Metric, ...] = field(repr=False)
    empty: str = field(repr=False)
    facts: Facts = field(repr=False)

    def restrict(self, queries: Iterable[Id]) -> OracleResult:
        """Returns the result over these queries alone, as of a bucket.

        Args:
            queries: query ids; those that are not evaluated are ignored.
        """
        kept = set(queries)
        answers = {key: answer for key, answer in self.answers.items() if key[1] in kept}
        return summarise(answers, self.metrics, self.empty, self.facts)

    def served(self, generator: str) -> OracleResult:
        """Returns the result of one generator over the queries that it has a list for."""
        answers = {k: one for k, one in self.answers.items() if k[0] == generator and one.delivered}
        return summarise(answers, self.metrics, self.empty, self.facts)

    def among(self, pairs: Pairs) -> OracleResult:
        """Returns the accuracy metrics of a part of the truth, as of one kind of positives.

        Args:
            pairs: (query, item); those that are not relevant are ignored. Queries without one
                are not averaged.
        """
        accuracy = tuple(metric for metric in self.metrics if metric.kind == "accuracy")
        parts_of_truth = {
            (generator, query): {
                item: gain for item, gain in answer.truth.items() if (query, item) in pairs
            }
            for (generator, query), answer in self.answers.items()
        }
        answers = {
            key: replace(self.answers[key], truth=gains)
            for key, gains in parts_of_truth.items()
            if gains
        }
        return summarise(answers, accuracy, self.empty, self.facts)

    def among_items(self, items: Collection[Id]) -> dict[tuple[str, str], float | None]:
        """Returns (generator, label) -> value of the catalogue metrics over these items alone."""
        return {
            (generator, metric.label): of_catalogue(
                list(own.values()), metric, self.facts, items=items
            )
            for generator, own in _by_generator(self.answers).items()
            for metric in self.metrics
            if metric.kind == "catalogue"
        }

    def coldness(self) -> dict[str, set[tuple[Id, Id]]]:
        """Returns the relevant (query, item) pairs that are cold, and those that are warm."""
        labels: dict[str, set[tuple[Id, Id]]] = {"cold": set(), "warm": set()}
        for (_, query), answer in self.answers.items():
            for item in answer.truth:
                cold = self.facts.is_cold(answer.user, item)
                labels["cold" if cold else "warm"].add((query, item))
        return labels

    def loss(self, k: int | None) -> dict[tuple[str, Id], Counter[str]]:
        """Returns (generator, query) -> cause -> relevant items; the causes add up to |R|.

        Args:
            k: depth, items; None: the whole list.
        """
        depth = math.inf if k is None else k
        return {
            key: Counter(lost_to(answer, item, depth) for item in answer.truth)
            for key, answer in self.answers.items()
            if answer.truth
        }


def summarise(
    answers: Answers, metrics: tuple[Metric, ...], empty: str, facts: Facts
) -> OracleResult:
    """Returns the result over these queries.

    Args:
        answers: (generator, query) -> list and truth.
        metrics: what to measure.
        empty: the zero_relevant policy.
        facts: what is known of users and items.
    """
    result = OracleResult({}, {}, {}, {}, {}, {}, answers, metrics, empty, facts)
    for generator, own in _by_generator(answers).items():
        for metric in metrics:
            if metric.kind == "accuracy":
                _summarise_accuracy(result, generator, own, metric)
                continue
            of_lists = of_delivered if metric.kind == "delivered" else of_catalogue
            number = of_lists(list(own.values()), metric, facts)
            result.summary[generator, metric.label, "micro"] = number
            users = {answer.user for answer in own.values()}
            result.counted[generator, metric.label] = len(own), len(users)
    return result


def _by_generator(answers: Answers) -> dict[str, dict[Id, Answer]]:
    grouped: dict[str, dict[Id, Answer]] = {}
    for (generator, query), answer in answers.items():
        grouped.setdefault(generator, {})[query] = answer
    return grouped


def _summarise_accuracy(
    result: OracleResult, generator: str, own: Mapping[Id, Answer], metric: Metric
) -> None:
    by_user: dict[Id, list[float]] = defaultdict(list)
    for query, answer in own.items():
        number = value(answer, metric, result.empty)
        result.per_query.setdefault((generator, query), {})[metric.label] = number
        of_user = by_user[answer.user]
        if number is not None:
            of_user.append(number)
    of_users = {user: mean(numbers) if numbers else None for user, numbers in by_user.items()}
    for user, middle in of_users.items():
        result.per_user.setdefault((generator, user), {})[metric.label] = middle

    key, values = (generator, metric.label), [one for one in of_users.values() if one is not None]
    every = [number for numbers in by_user.values() for number in numbers]
    result.counted[key] = len(every), len(values)
    result.summary[*key, "macro"] = mean(values) if values else None
    result.summary[*key, "macro_query"] = mean(every) if every else None
    for name, share in _QUANTILES.items():
        result.summary[*key, name] = quantile(values, share) if values else None
    if metric.name in ("precision", "recall", "capped_recall", "f1", "recall_ceiling"):
        result.summary[*key, "micro"] = _micro(own.values(), metric)
    result.ci[key] = interval(values)
    few = len(values) < _FEW_USERS or sum(one != 0 for one in values) < _FEW_NON_ZERO
    result.too_few_users[key] = few


def _micro(answers: Iterable[Answer], metric: Metric) -> float | None:
    if metric.name == "f1":
        both = [_micro(answers, replace(metric, name=name)) for name in ("precision", "recall")]
        return None if both[0] is None or both[1] is None else harmonic(both[0], both[1])
    counted = [answer for answer in answers if not metric.rel or relevant(answer, metric)]
    pairs = [parts(answer, metric) for answer in counted]
    whole = math.fsum(pair[1] for pair in pairs)
    return math.fsum(pair[0] for pair in pairs) / whole if whole else None
