"""The oracle: lists and truth in, every number out, one query at a time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from recoeval.errors import ConfigError, DataError, some
from recoeval.testing.formulas import Answer, Id, Metric, Row, harmonic, parse, parts, pooled, value
from recoeval.testing.statistics import interval, mean, quantile

__all__ = ["OracleResult", "oracle"]

_POLICIES: Final = {
    "zero_relevant": ("skip", "zero", "one", "error"),
    "repeats": ("exclude", "include"),
    "cold_users": ("keep", "drop"),
    "cold_items": ("keep", "drop"),
}
_QUANTILES: Final = {"p10": Fraction(1, 10), "p50": Fraction(1, 2), "p90": Fraction(9, 10)}
_FEW_USERS, _FEW_NON_ZERO = 500, 30

Answers = dict[tuple[str, Id], Answer]


@dataclass(frozen=True, slots=True)
class OracleResult:
    """Every number of one evaluation.

    Args:
        per_query: (generator, query) -> metric label -> value; evaluated queries only.
        per_user: (generator, user) -> metric label -> mean over the user's queries.
        summary: (generator, label, statistic) -> value, None where it is 0/0. Statistics:
            macro, macro_query, micro (of precision, recall, capped_recall and f1), p10, p50,
            p90; the list-quality metrics have micro alone.
        ci: (generator, label) -> two-sided 95% Student t interval of macro, None below two
            users.
        too_few_users: (generator, label) -> fewer than 500 users, or than 30 with a value
            other than 0.
        answers: (generator, query) -> the list that was measured, and the truth.
        metrics: what was measured.
        empty: the zero_relevant policy.
    """

    per_query: dict[tuple[str, Id], dict[str, float]]
    per_user: dict[tuple[str, Id], dict[str, float]]
    summary: dict[tuple[str, str, str], float | None]
    ci: dict[tuple[str, str], tuple[float, float] | None]
    too_few_users: dict[tuple[str, str], bool]
    answers: Answers = field(repr=False)
    metrics: tuple[Metric, ...] = field(repr=False)
    empty: str = field(repr=False)

    def restrict(self, queries: Iterable[Id]) -> OracleResult:
        """Returns the result over these queries alone, as of a bucket.

        Args:
            queries: query ids; those that are not evaluated are ignored.
        """
        kept = set(queries)
        answers = {key: answer for key, answer in self.answers.items() if key[1] in kept}
        return _summarise(answers, self.metrics, self.empty)


def oracle(
    recs: Iterable[Row],
    truth: Iterable[Row],
    *,
    metrics: Sequence[str],
    k: Sequence[int] = (),
    train: Iterable[Row] | None = None,
    seen: Iterable[Row] | None = None,
    users: Iterable[Id | Row] | None = None,
    policies: Mapping[str, str] | None = None,
    tie: str = "ascending",
) -> OracleResult:
    """Returns all values of docs/definitions.md, computed by brute force.

    Args:
        recs: rows with query_id and/or user_id, item_id, rank and/or score, and generator
            ("recs" where it is missing). Other keys are ignored.
        truth: rows with query_id and/or user_id, item_id, gain (1 where it is missing, > 0).
        metrics: names with options, with or without "@K": "recall", "ndcg(gain=binary)@10".
        k: depths of the metrics that name none, items, >= 1.
        train: rows with user_id, item_id: who and what is warm, and the seen pairs.
        seen: rows with user_id, item_id that replace the seen pairs of `train`.
        users: the universe of zero_relevant: user ids (all their queries in the truth; without
            any, the user is the query), or rows with query_id and user_id.
        policies: zero_relevant, repeats, cold_users, cold_items.
        tie: order of item ids at equal scores; "descending" as in TREC files.

    Raises:
        ConfigError: unknown metric, option or policy; a policy that needs `users`.
        DataError: rows that definitions.md calls an error.

    Example:
        >>> oracle([{"user_id": 1, "item_id": 7, "rank": 2}], [{"user_id": 1, "item_id": 7}],
        ...        metrics=["mrr"], k=[5]).per_query
        {('recs', 1): {'mrr@5': 1.0}}
    """
    recs, truth, universe = list(recs), list(truth), list(users or ())
    chosen = {name: values[0] for name, values in _POLICIES.items()} | dict(policies or {})
    _check_policies(chosen, users is not None)
    wanted = tuple(metric for text in metrics for metric in parse(text, k))
    owners = _owners([*truth, *recs, *(row for row in universe if isinstance(row, Mapping))])
    warm = None if train is None else [(row["user_id"], row["item_id"]) for row in train]
    known = warm if seen is None else [(row["user_id"], row["item_id"]) for row in seen]
    seen_by = None if known is None else _group(known)
    asked = {_query(row) for row in truth}

    relevant = _apply(_truth(truth), owners, warm, seen_by, chosen)
    evaluated = dict(relevant)
    if chosen["zero_relevant"] != "skip":
        for query in _universe(universe, owners, asked):
            evaluated.setdefault(query, {})
    if chosen["zero_relevant"] == "error" and len(evaluated) > len(relevant):
        without = [query for query, gains in evaluated.items() if not gains]
        raise DataError(f"{len(without)} queries have no relevant item, e.g. {some(without)}")

    exclude = chosen["repeats"] == "exclude"
    answers = _answers(_orders(recs, tie), evaluated, owners, seen_by, exclude=exclude)
    return _summarise(answers, wanted, chosen["zero_relevant"])


def _answers(
    orders: Mapping[str, Mapping[Id, tuple[Row, ...]]],
    evaluated: Mapping[Id, Mapping[Id, float]],
    owners: Mapping[Id, Id],
    seen_by: Mapping[Id, frozenset[Id]] | None,
    *,
    exclude: bool,
) -> Answers:
    """Returns every generator's list for every evaluated query: the first of each item counts."""
    answers: Answers = {}
    for generator, by_query in orders.items():
        for query, gains in evaluated.items():
            user, delivered = owners.get(query, query), by_query.get(query, ())
            seen = None if seen_by is None else seen_by.get(user, frozenset())
            gone = seen if seen is not None and exclude else ()
            prepared = tuple(dict.fromkeys(r["item"] for r in delivered if r["item"] not in gone))
            answers[generator, query] = Answer(user, delivered, prepared, gains, seen)
    return answers


def _check_policies(chosen: Mapping[str, str], universe: bool) -> None:
    for name, choice in chosen.items():
        if choice not in _POLICIES.get(name, ()):
            raise ConfigError(f"policies.{name}: unknown policy or value {choice!r}")
    if chosen["zero_relevant"] != "skip" and not universe:
        raise ConfigError(f"policies.zero_relevant: {chosen['zero_relevant']!r} needs users=")


def _query(row: Row) -> Id:
    query: Id = row["query_id"] if "query_id" in row else row["user_id"]
    return query


def _owners(rows: Iterable[Row]) -> dict[Id, Id]:
    owners: dict[Id, Id] = {}
    for row in rows:
        query = _query(row)
        if "user_id" in row and owners.setdefault(query, row["user_id"]) != row["user_id"]:
            raise DataError(f"query {query!r} has two users: {owners[query]!r}, {row['user_id']!r}")
    return owners


def _group(pairs: Iterable[tuple[Id, Id]]) -> dict[Id, frozenset[Id]]:
    grouped: dict[Id, set[Id]] = defaultdict(set)
    for user, item in pairs:
        grouped[user].add(item)
    return {user: frozenset(items) for user, items in grouped.items()}


def _truth(rows: Iterable[Row]) -> dict[Id, dict[Id, float]]:
    relevant: dict[Id, dict[Id, float]] = {}
    for row in rows:
        gain = row.get("gain", 1.0)
        if gain is None or not 0 < gain < math.inf:
            raise DataError(f"gain {gain!r} of {_query(row)!r}, {row['item_id']!r}: expected > 0")
        gains = relevant.setdefault(_query(row), {})
        gains[row["item_id"]] = max(float(gain), gains.get(row["item_id"], 0.0))
    return relevant


def _apply(
    relevant: Mapping[Id, Mapping[Id, float]],
    owners: Mapping[Id, Id],
    warm: Collection[tuple[Id, Id]] | None,
    seen_by: Mapping[Id, frozenset[Id]] | None,
    chosen: Mapping[str, str],
) -> dict[Id, dict[Id, float]]:
    """Returns the truth after the policies, without the queries that have nothing left."""
    users = None if warm is None else {user for user, _ in warm}
    items = None if warm is None else {item for _, item in warm}

    def stays(user: Id, item: Id) -> bool:
        if chosen["repeats"] == "exclude" and seen_by is not None and item in seen_by.get(user, ()):
            return False
        if chosen["cold_users"] == "drop" and users is not None and user not in users:
            return False
        return not (chosen["cold_items"] == "drop" and items is not None and item not in items)

    kept = {
        query: {item: gain for item, gain in gains.items() if stays(owners.get(query, query), item)}
        for query, gains in relevant.items()
    }
    return {query: gains for query, gains in kept.items() if gains}


def _universe(
    users: Iterable[Id | Row], owners: Mapping[Id, Id], asked: Collection[Id]
) -> Iterator[Id]:
    for one in users:
        if isinstance(one, Mapping) and "query_id" in one:
            yield one["query_id"]
        else:
            user: Id = one["user_id"] if isinstance(one, Mapping) else one
            yield from [q for q in asked if owners.get(q, q) == user] or [user]


def _orders(recs: Iterable[Row], tie: str) -> dict[str, dict[Id, tuple[Row, ...]]]:
    rows: dict[str, dict[Id, list[Row]]] = {}
    for row in recs:
        named = {"item": row["item_id"], "rank": row.get("rank"), "score": row.get("score")}
        rows.setdefault(row.get("generator", "recs"), {}).setdefault(_query(row), []).append(named)
    return {
        generator: {query: _deliver(listed, tie) for query, listed in by_query.items()}
        for generator, by_query in rows.items()
    }


def _deliver(rows: Sequence[Row], tie: str) -> tuple[Row, ...]:
    """Returns one list in delivered order: by rank where ranks are given, else by score."""
    if any(row["rank"] is not None for row in rows):
        at: dict[int, Id] = {}
        for row in rows:
            rank = row["rank"]
            if rank is None or rank < 1 or at.setdefault(rank, row["item"]) != row["item"]:
                raise DataError(f"rank {rank!r}: null, below 1, or of two items of one list")
        return tuple(sorted(rows, key=lambda row: int(row["rank"])))
    if not all(row["score"] is not None and math.isfinite(row["score"]) for row in rows):
        raise DataError("a score is null, NaN or infinite, and no rank decides")
    by_item = sorted(rows, key=lambda row: row["item"], reverse=tie == "descending")
    return tuple(sorted(by_item, key=lambda row: -float(row["score"])))


def _summarise(answers: Answers, metrics: tuple[Metric, ...], empty: str) -> OracleResult:
    result = OracleResult({}, {}, {}, {}, {}, answers, metrics, empty)
    for generator in dict.fromkeys(generator for generator, _ in answers):
        own = {query: answer for (name, query), answer in answers.items() if name == generator}
        for metric in metrics:
            _summarise_metric(result, generator, own, metric)
    return result


def _summarise_metric(
    result: OracleResult, generator: str, own: Mapping[Id, Answer], metric: Metric
) -> None:
    def put(statistic: str, number: float | None) -> None:
        result.summary[generator, metric.label, statistic] = number

    pool = pooled(list(own.values()), metric)
    if pool is not None:
        put("micro", pool[0] / pool[1] if pool[1] else None)
        return
    by_user: dict[Id, list[float]] = defaultdict(list)
    for query, answer in own.items():
        number = value(answer, metric, result.empty)
        result.per_query.setdefault((generator, query), {})[metric.label] = number
        by_user[answer.user].append(number)
    of_users = {user: mean(numbers) for user, numbers in by_user.items()}
    for user, number in of_users.items():
        result.per_user.setdefault((generator, user), {})[metric.label] = number

    values = list(of_users.values())
    put("macro", mean(values))
    put("macro_query", mean([number for numbers in by_user.values() for number in numbers]))
    for name, share in _QUANTILES.items():
        put(name, quantile(values, share))
    if metric.name in ("precision", "recall", "capped_recall", "f1"):
        put("micro", _micro(own.values(), metric))
    result.ci[generator, metric.label] = interval(values)
    few = len(values) < _FEW_USERS or sum(number != 0 for number in values) < _FEW_NON_ZERO
    result.too_few_users[generator, metric.label] = few


def _micro(answers: Iterable[Answer], metric: Metric) -> float | None:
    if metric.name == "f1":
        both = [_micro(answers, _renamed(metric, name)) for name in ("precision", "recall")]
        return None if both[0] is None or both[1] is None else harmonic(both[0], both[1])
    pairs = [parts(answer, metric) for answer in answers]
    whole = math.fsum(pair[1] for pair in pairs)
    return math.fsum(pair[0] for pair in pairs) / whole if whole else None


def _renamed(metric: Metric, name: str) -> Metric:
    return Metric(metric.label, name, {}, metric.k)
