"""Laws of the metrics, and the evaluation against the oracle, on random lists."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recoeval.testing import OracleResult, bucket_labels, oracle
from tests.strategies import (
    DEPTHS,
    ITEMS,
    LIST_METRICS,
    PER_QUERY_METRICS,
    Case,
    cases,
    evaluate,
    gains,
    per_query,
    per_user,
    shuffled,
    summary,
)

TOLERANCE = 1e-12
BOUNDED = [name for name in PER_QUERY_METRICS if name != "hits"]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

Values = dict[tuple[str, Any], dict[str, Any]]


def examples(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=SLOW)


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=0, abs=TOLERANCE)


def by_oracle(case: Case) -> Values:
    result = oracle(**case.arguments())
    return {
        key: values | {"relevant": len(result.answers[key].truth)}
        for key, values in result.per_query.items()
    }


def by_evaluate(case: Case) -> Values:
    return per_query(evaluate(case))


ENGINES = pytest.mark.parametrize("engine", [by_oracle, by_evaluate])


def measured(case: Case) -> Case:
    """Returns the case without the metrics that its data cannot have.

    seen_share needs train data, tie_share needs scores.
    """
    without = {"seen_share"} if case.train is None else set()
    without |= set() if "score" in case.recs[0] else {"tie_share"}
    return replace(case, metrics=[name for name in case.metrics if name not in without])


# Laws of docs/definitions.md.


@ENGINES
@examples(40)
@given(data=st.data())
def test_laws_of_one_list(engine: Callable[[Case], Values], data: st.DataObject) -> None:
    case = data.draw(cases(zero_relevant=("skip",)))
    case = replace(case, metrics=PER_QUERY_METRICS, k=DEPTHS)
    for values in engine(case).values():
        size = values["relevant"]
        for k in DEPTHS:
            assert values[f"recall@{k}"] == near(values[f"precision@{k}"] * k / size)
            assert values[f"recall@{k}"] == near(values[f"hits@{k}"] / size)
            assert values[f"capped_recall@{k}"] == near(values[f"hits@{k}"] / min(k, size))
            assert values[f"hit_rate@{k}"] == float(values[f"hits@{k}"] > 0)
            for name in BOUNDED:
                assert 0 <= values[f"{name}@{k}"] <= 1 + TOLERANCE
            if size == 1:
                assert values[f"hit_rate@{k}"] == values[f"recall@{k}"]
        for low, high in pairwise(DEPTHS):
            for name in ("recall", "hits", "hit_rate"):
                assert values[f"{name}@{low}"] <= values[f"{name}@{high}"]


@ENGINES
@examples(40)
@given(data=st.data())
def test_truth_as_its_own_list(engine: Callable[[Case], Values], data: st.DataObject) -> None:
    relevant = data.draw(st.sampled_from(list(ITEMS)).flatmap(lambda kind: gains(kind, min_size=1)))
    best = sorted(relevant, key=lambda item: -relevant[item])
    size = len(best)
    ranked = [{"user_id": 1, "item_id": item, "rank": rank} for rank, item in enumerate(best, 1)]
    truth = [{"user_id": 1, "item_id": item, "gain": gain} for item, gain in relevant.items()]
    values = engine(Case(ranked, truth, PER_QUERY_METRICS, DEPTHS))["recs", 1]
    for k in DEPTHS:
        for name in PER_QUERY_METRICS:
            if name in ("hit_rate", "mrr", "map", "capped_recall") or name.startswith("ndcg"):
                assert values[f"{name}@{k}"] == near(1), name
        found = min(k, size)
        assert values[f"hits@{k}"] == found
        assert values[f"recall@{k}"] == near(found / size)
        assert values[f"map(denominator=relevant)@{k}"] == near(found / size)
        assert values[f"precision@{k}"] == near(found / k)
        assert values[f"precision(denominator=returned)@{k}"] == near(1)
        assert values[f"f1@{k}"] == near(2 * found / (k + size))
        largest = math.fsum(relevant[item] for item in best[:k])
        assert values[f"recall(gain=linear)@{k}"] == near(largest / math.fsum(relevant.values()))


# The evaluation against the oracle.


@examples(100)
@given(case=cases().map(measured))
def test_evaluation_is_the_oracle(case: Case) -> None:
    assert_agrees(evaluate(case), oracle(**case.arguments()))


def assert_agrees(evaluation: Any, result: OracleResult) -> None:
    labels = {metric.label for metric in result.metrics if metric.name not in LIST_METRICS}
    found = per_query(evaluation)
    assert found.keys() == result.per_query.keys()
    for key, values in result.per_query.items():
        answer, row = result.answers[key], found[key]
        assert row["user_id"] == answer.user
        assert (row["relevant"], row["returned"]) == (len(answer.truth), len(answer.prepared))
        assert labels <= row.keys()
        for label, value in values.items():
            assert row[label] == near(value), (key, label)
    users = per_user(evaluation)
    assert users.keys() == result.per_user.keys()
    for key, values in result.per_user.items():
        for label, value in values.items():
            assert users[key][label] == near(value), (key, label)
    assert_same_summary(summary(evaluation), result)


def assert_same_summary(found: dict[tuple[str, str, str], Any], result: OracleResult) -> None:
    for key, row in found.items():
        generator, label, statistic = key
        assert key in result.summary, key
        assert row["value"] == near(result.summary[key]), key
        answers = {q: answer for (name, q), answer in result.answers.items() if name == generator}
        assert row["queries"] == len(answers)
        assert row["users"] == len({answer.user for answer in answers.values()})
        bounds = result.ci.get((generator, label)) if statistic == "macro" else None
        low, high = bounds or (None, None)
        # Student's t is computed in another way there.
        assert row["ci_low"] == (None if low is None else pytest.approx(low, abs=1e-9)), key
        assert row["ci_high"] == (None if high is None else pytest.approx(high, abs=1e-9)), key
        if statistic == "macro":
            assert row["too_few_users"] == result.too_few_users[generator, label]
    for generator, label, statistic in result.summary.keys() - found.keys():
        # Shown where it differs from macro.
        assert statistic == "macro_query", (label, statistic)
        value = result.summary[generator, label, statistic]
        assert value == near(result.summary[generator, label, "macro"])


@examples(30)
@given(data=st.data())
def test_buckets_are_the_oracle(data: st.DataObject) -> None:
    case = measured(data.draw(cases(trained=True)))
    edges = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(sorted))
    rules = {
        "activity": {"by": "train_interactions", "edges": edges},
        "size": {"by": "relevant_items", "edges": edges},
    }
    evaluation = evaluate(case, buckets=rules)
    result = oracle(**case.arguments())
    rows = [row["user_id"] for row in case.train or ()]
    answers = {query: answer for (_, query), answer in result.answers.items()}
    counts = {
        "activity": {query: rows.count(answer.user) for query, answer in answers.items()},
        "size": {query: len(answer.truth) for query, answer in answers.items()},
    }
    shown = set(evaluation.summary.select("bucket_by", "bucket").rows()) - {("all", "all")}
    for name, values in counts.items():
        labels = bucket_labels(values, edges, history=name == "activity")
        assert {(name, label) for label in labels.values()} <= shown
        for label in {label for by, label in shown if by == name}:
            inside = [query for query in labels if labels[query] == label]
            found = summary(evaluation, name, label)
            if inside:
                assert_same_summary(found, result.restrict(inside))
            else:
                assert {(row["users"], row["value"]) for row in found.values()} == {(0, None)}


@examples(30)
@given(case=cases().map(measured))
def test_hits_have_the_ranks_of_the_prepared_lists(case: Case) -> None:
    hits = evaluate(case).hits
    deepest = max(case.k)
    found = {
        (row["generator"], row["query_id"], row["item_id"]): (row["rank"], row["gain"])
        for row in hits.iter_rows(named=True)
    }
    assert len(found) == hits.height
    result = oracle(**case.arguments())
    expected = {
        (generator, query, item): (rank, answer.truth[item])
        for (generator, query), answer in result.answers.items()
        for rank, item in enumerate(answer.prepared, 1)
        if item in answer.truth
    }
    exclude = (case.policies or {}).get("repeats", "exclude") == "exclude"
    for (generator, query), answer in result.answers.items():
        for item, rank in ranks_by_counting(answer, exclude=exclude).items():
            assert expected[generator, query, item] == (rank, answer.truth[item])
    assert found.items() <= expected.items()
    within = {key for key, (rank, _) in expected.items() if rank <= deepest}
    assert within <= found.keys()


def test_micro_of_a_bucket_without_relevant_items() -> None:
    """Pooled recall is 0/0 there, and so is the f1 that is made of it."""
    case = Case(
        recs=[{"user_id": user, "item_id": user, "rank": 1} for user in (1, 2)],
        truth=[{"user_id": 1, "item_id": 1}],
        metrics=["recall", "capped_recall", "precision", "f1"],
        k=[1],
        users=[1, 2],
        policies={"zero_relevant": "zero"},
    )
    evaluation = evaluate(case, buckets={"size": {"by": "relevant_items", "edges": [1]}})
    found = summary(evaluation, "size", "[-inf,1)")
    values = [found["recs", f"{name}@1", "micro"]["value"] for name in case.metrics]
    assert values == [None, None, 0, None]
    assert_same_summary(found, oracle(**case.arguments()).restrict([2]))


def ranks_by_counting(answer: Any, *, exclude: bool) -> dict[Any, int]:
    """Returns the rank of each hit as its delivered rank minus the removed rows before it."""
    ranks: dict[Any, int] = {}
    before, removed = set(), 0
    for place, row in enumerate(answer.delivered, 1):
        item = row["item"]
        if item in before or (exclude and item in (answer.seen or ())):
            removed += 1
        elif item in answer.truth:
            ranks[item] = place - removed
        before.add(item)
    return ranks


# What must not matter: == on every bit.


@examples(40)
@given(data=st.data())
def test_row_order_changes_nothing(data: st.DataObject) -> None:
    case = measured(data.draw(cases()))
    one, two = evaluate(case), evaluate(shuffled(data.draw, case))
    assert one.summary.equals(two.summary)
    assert one.per_query.equals(two.per_query)
    assert one.per_user.equals(two.per_user)
    assert one.hits.equals(two.hits)


@examples(20)
@given(data=st.data())
def test_depths_and_metrics_do_not_depend_on_one_another(data: st.DataObject) -> None:
    case = measured(data.draw(cases()))
    label = data.draw(st.sampled_from(PER_QUERY_METRICS))
    depth = data.draw(st.sampled_from(list(case.k)))
    together = evaluate(case).per_query
    alone = evaluate(replace(case, metrics=[f"{label}@{depth}"], k=[1])).per_query
    assert alone.columns[-1] == f"{label}@{depth}"
    assert alone.equals(together.select(alone.columns))


@examples(20)
@given(case=cases().map(measured))
def test_generators_do_not_depend_on_one_another(case: Case) -> None:
    together = evaluate(case)
    for generator in {row["generator"] for row in case.recs}:
        only = [row for row in case.recs if row["generator"] == generator]
        alone = evaluate(replace(case, recs=only))
        for whole, part in (
            (together.summary, alone.summary),
            (together.per_query, alone.per_query),
            (together.hits, alone.hits),
        ):
            assert whole.filter(whole["generator"] == generator).equals(part)


@examples(30)
@given(case=cases(kind="int").map(measured))
def test_integer_ids_are_padded_text_ids(case: Case) -> None:
    def text(row: Any) -> Any:
        if not isinstance(row, dict):
            return pad(row)
        ids = {name: pad(row[name]) for name in ("query_id", "user_id", "item_id") if name in row}
        return row | ids

    def pad(value: Any) -> Any:
        # Shifted, because the text of a negative number sorts elsewhere.
        return f"{value + 10:020d}" if isinstance(value, int) else value

    def each(rows: Any) -> Any:
        return None if rows is None else [text(row) for row in rows]

    as_text = replace(
        case,
        recs=each(case.recs),
        truth=each(case.truth),
        train=each(case.train),
        users=each(case.users),
    )
    one, two = evaluate(case), evaluate(as_text)
    assert one.summary.equals(two.summary)
    values = one.per_query.drop("query_id", "user_id")
    assert values.equals(two.per_query.drop("query_id", "user_id"))


@examples(20)
@given(case=cases().map(measured))
def test_inputs_are_left_as_they_were(case: Case) -> None:
    before = repr(case)
    first = evaluate(case)
    assert evaluate(case).summary.equals(first.summary)
    assert repr(case) == before


def test_many_users() -> None:
    """Sums of thousands of values, and a mark that goes away with enough users."""
    users = range(700)
    recs = [
        {"user_id": user, "item_id": (user * 7 + place * place) % 50, "rank": place}
        for user in users
        for place in range(1, 9)
    ]
    truth = [
        {"user_id": user, "item_id": (user * 3 + n * 11) % 50, "gain": 1 + n / 3}
        for user in users
        for n in range(user % 9 + 1)
    ]
    case = Case(recs, truth, [*PER_QUERY_METRICS, *LIST_METRICS[:3]], (1, 3, 8))
    evaluation = evaluate(case)
    assert_agrees(evaluation, oracle(**case.arguments()))
    marks = {row["too_few_users"] for row in summary(evaluation).values()}
    assert False in marks
