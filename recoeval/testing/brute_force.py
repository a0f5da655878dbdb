"""The oracle: lists and truth in, every number out, one query at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from recoeval.errors import ConfigError, DataError, some
from recoeval.testing.facts import Facts, gather
from recoeval.testing.formulas import Answer, Id, Row
from recoeval.testing.grammar import parse
from recoeval.testing.outcome import Answers, OracleResult, summarise
from recoeval.testing.preparation import (
    apply_policies,
    choose_policies,
    delivered_lists,
    is_sampled,
    owners_of,
    query_of,
    truth_of,
    universe_of,
)

__all__ = ["oracle"]


def oracle(
    recs: Iterable[Row],
    truth: Iterable[Row],
    *,
    metrics: Sequence[str],
    k: Sequence[int] = (),
    train: Iterable[Row] | None = None,
    seen: Iterable[Row] | None = None,
    users: Iterable[Id | Row] | None = None,
    items: Iterable[Row] | None = None,
    exposures: Iterable[Row] | None = None,
    at: datetime | None = None,
    unserved: Mapping[str, Collection[str]] | None = None,
    policies: Mapping[str, str] | None = None,
    tie: str = "ascending",
    sample_users: float = 1,
    seed: int = 7,
) -> OracleResult:
    """Returns all values of docs/definitions.md, computed by brute force.

    Args:
        recs: rows with query_id and/or user_id, item_id, rank and/or score, and generator
            ("recs" where it is missing). Other keys are ignored.
        truth: rows with query_id and/or user_id, item_id, gain (1 where it is missing, > 0). A
            pair that several kinds of positives name has a row each.
        metrics: names with options, with or without "@K": "recall", "ndcg(gain=binary)@10".
        k: depths of the metrics that name none, items, >= 1.
        train: rows with user_id, item_id: who and what is warm, and the seen pairs.
        seen: rows with user_id, item_id that replace the seen pairs of `train`.
        users: the universe of zero_relevant: user ids (all their queries in the truth; without
            any, the user is the query), or rows with query_id and/or user_id, and perhaps quota.
        items: the catalogue: rows with item_id, perhaps created_at and available.
        exposures: rows with user_id, item_id: what was shown in the test window.
        at: the time of all queries, for `created_at`; None: every item of the table exists.
        unserved: generator -> "cold_item" and "cold_user", as far as it cannot serve them.
        policies: zero_relevant, repeats, cold_users, cold_items.
        tie: order of item ids at equal scores; "descending" as in TREC files.
        sample_users: share of the users that is evaluated, by hash.
        seed: of the hash.

    Raises:
        ConfigError: unknown metric, option or policy; a policy that needs `users`; a metric
            that needs train data, items or exposures.
        DataError: rows that definitions.md calls an error.

    Example:
        >>> oracle([{"user_id": 1, "item_id": 7, "rank": 2}], [{"user_id": 1, "item_id": 7}],
        ...        metrics=["mrr"], k=[5]).per_query
        {('recs', 1): {'mrr@5': 1.0}}
    """
    recs, truth, universe = list(recs), list(truth), list(users or ())
    chosen = choose_policies(policies, universe=users is not None)
    wanted = tuple(metric for text in metrics for metric in parse(text, k))
    named = (row for row in universe if isinstance(row, Mapping) and "query_id" in row)
    owners = owners_of([*truth, *recs, *named])
    facts = gather(train=train, seen=seen, items=items, exposures=exposures, users=universe, at=at)

    if facts.catalogue is None and any(metric.name == "recall_ceiling" for metric in wanted):
        raise ConfigError("recall_ceiling needs train data or items")

    asked = {
        query: gains
        for query, gains in truth_of(truth).items()
        if is_sampled(owners.get(query, query), sample_users, seed)
    }
    relevant = apply_policies(asked, owners, facts, chosen)
    evaluated = dict(relevant)
    if chosen["zero_relevant"] != "skip":
        for query in universe_of(universe, owners, {query_of(row) for row in truth}):
            if is_sampled(owners.get(query, query), sample_users, seed):
                evaluated.setdefault(query, {})
    if chosen["zero_relevant"] == "error" and len(evaluated) > len(relevant):
        without = [query for query, gains in evaluated.items() if not gains]
        raise DataError(f"{len(without)} queries have no relevant item, e.g. {some(without)}")

    answers: Answers = {}
    for generator, lists in delivered_lists(recs, tie).items():
        for query, gains in evaluated.items():
            answer = Answer(owners.get(query, query), lists.get(query, ()), (), gains)
            answers[generator, query] = _complete(
                answer,
                query,
                facts,
                (unserved or {}).get(generator, ()),
                exclude=chosen["repeats"] == "exclude",
            )
    return summarise(answers, wanted, chosen["zero_relevant"], facts)


def _complete(
    answer: Answer, query: Id, facts: Facts, unserved: Collection[str], *, exclude: bool
) -> Answer:
    """Returns the answer with the list prepared (the first of each item counts) and its facts."""
    user = answer.user
    seen = None if facts.seen is None else facts.seen.get(user, frozenset())
    gone = seen if seen is not None and exclude else ()
    listed = (row["item"] for row in answer.delivered if row["item"] not in gone)
    beyond = {item: facts.beyond(user, item, unserved) for item in answer.truth}
    return replace(
        answer,
        prepared=tuple(dict.fromkeys(listed)),
        seen=seen,
        exposed=None if facts.exposed is None else facts.exposed.get(user, frozenset()),
        beyond={item: cause for item, cause in beyond.items() if cause is not None},
        quota=facts.quotas.get(("query", query), facts.quotas.get(("user", user))),
    )
