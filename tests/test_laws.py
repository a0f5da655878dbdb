"""Laws of the metrics, and the evaluation against the oracle, on random lists."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from recoeval.testing import oracle
from tests.agreement import (
    ENGINES,
    TOLERANCE,
    Values,
    assert_agrees,
    assert_same_summary,
    examples,
    measured,
    near,
)
from tests.strategies import (
    DEPTHS,
    ITEM_METRICS,
    ITEMS,
    LIST_METRICS,
    PER_QUERY_METRICS,
    WHOLE,
    WITHOUT_K,
    Case,
    at_level,
    cases,
    evaluate,
    gains,
    known_cases,
    shuffled,
    summary,
)

BOUNDED = [name for name in PER_QUERY_METRICS if name != "hits"]
ONE_OF_ITS_OWN = ("hit_rate", "mrr", "map", "capped_recall", "ndcg", "ndcg(gain=exponential)")
EVERYTHING = (
    *PER_QUERY_METRICS,
    *WHOLE,
    *WITHOUT_K,
    *LIST_METRICS,
    *ITEM_METRICS,
    *map(at_level, ("recall", "ndcg", "f1@quota", "r_precision")),
    *("judged", "unknown_item_share", "recall_ceiling", "ndcg@quota", "recall(min_score=1)@all"),
)


# Laws of docs/definitions.md.


@ENGINES
@examples(25)
@given(data=st.data())
def test_laws_of_one_list(engine: Callable[[Case], Values], data: st.DataObject) -> None:
    case = data.draw(cases(zero_relevant=("skip",)))
    case = replace(case, metrics=[*PER_QUERY_METRICS, *WHOLE, *WITHOUT_K], k=DEPTHS)
    for values in engine(case).values():
        size = values["relevant"]
        # No list and no truth is longer than the last depth.
        for name in WHOLE:
            assert values[name] == near(values[f"{name.removesuffix('@all')}@{DEPTHS[-1]}"]), name
        if size in DEPTHS:
            assert values["r_precision"] == near(values[f"precision@{size}"])
        for k in DEPTHS:
            assert values[f"recall@{k}"] == near(values[f"precision@{k}"] * k / size)
            assert values[f"recall@{k}"] == near(values[f"hits@{k}"] / size)
            assert values[f"capped_recall@{k}"] == near(values[f"hits@{k}"] / min(k, size))
            assert values[f"hit_rate@{k}"] == float(values[f"hits@{k}"] > 0)
            assert values[f"auprc@{k}"] == near(values[f"map(denominator=relevant)@{k}"])
            assert values[f"auprc@{k}"] * size == near(values[f"map@{k}"] * min(k, size))
            binary = values[f"ndcg(gain=binary)@{k}"]
            assert values[f"ndcg(gain=binary, ideal=k)@{k}"] <= binary + TOLERANCE
            if size >= k:
                assert values[f"ndcg(gain=binary, ideal=k)@{k}"] == near(binary)
            for name in BOUNDED:
                assert 0 <= values[f"{name}@{k}"] <= 1 + TOLERANCE
            if size == 1:
                assert values[f"hit_rate@{k}"] == values[f"recall@{k}"]
        for low, high in pairwise(DEPTHS):
            for name in ("recall", "hits", "hit_rate"):
                assert values[f"{name}@{low}"] <= values[f"{name}@{high}"]


@ENGINES
@examples(25)
@given(data=st.data())
def test_truth_as_its_own_list(engine: Callable[[Case], Values], data: st.DataObject) -> None:
    relevant = data.draw(st.sampled_from(list(ITEMS)).flatmap(lambda kind: gains(kind, min_size=1)))
    best = sorted(relevant, key=lambda item: -relevant[item])
    size = len(best)
    ranked = [{"user_id": 1, "item_id": item, "rank": rank} for rank, item in enumerate(best, 1)]
    truth = [{"user_id": 1, "item_id": item, "gain": gain} for item, gain in relevant.items()]
    metrics = [*PER_QUERY_METRICS, *WHOLE, *WITHOUT_K]
    values = engine(Case(ranked, truth, metrics, DEPTHS))["recs", 1]
    assert values["r_precision"] == 1
    assert values["hits@all"] == size
    for name in set(WHOLE) - {"hits@all"}:
        assert values[name] == near(1), name
    for k in DEPTHS:
        for name in (*ONE_OF_ITS_OWN, "ndcg(gain=binary)"):
            assert values[f"{name}@{k}"] == near(1), name
        found = min(k, size)
        assert values[f"auprc@{k}"] == near(found / size)
        weights = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
        ideal = math.fsum(weights[:found]) / math.fsum(weights)
        assert values[f"ndcg(gain=binary, ideal=k)@{k}"] == near(ideal)
        assert values[f"hits@{k}"] == found
        assert values[f"recall@{k}"] == near(found / size)
        assert values[f"map(denominator=relevant)@{k}"] == near(found / size)
        assert values[f"precision@{k}"] == near(found / k)
        assert values[f"precision(denominator=returned)@{k}"] == near(1)
        assert values[f"f1@{k}"] == near(2 * found / (k + size))
        largest = math.fsum(relevant[item] for item in best[:k])
        assert values[f"recall(gain=linear)@{k}"] == near(largest / math.fsum(relevant.values()))


@ENGINES
@examples(12)
@given(data=st.data())
def test_a_level_below_every_gain_changes_nothing(
    engine: Callable[[Case], Values], data: st.DataObject
) -> None:
    names = (*(f"{name}@3" for name in PER_QUERY_METRICS), *WHOLE, *WITHOUT_K)
    levels = [at_level(name, "0.5") for name in names]
    case = replace(data.draw(cases(zero_relevant=("skip",))), metrics=[*names, *levels])
    for values in engine(case).values():
        for name, level in zip(names, levels, strict=True):
            assert values[level] == values[name], name


@ENGINES
@examples(12)
@given(data=st.data())
def test_a_quota_of_k_is_k(engine: Callable[[Case], Values], data: st.DataObject) -> None:
    case, k = data.draw(known_cases()), data.draw(st.sampled_from(DEPTHS))
    users = [row | {"quota": k} for row in case.users or ()]
    metrics = [f"{name}@{at}" for name in PER_QUERY_METRICS for at in (k, "quota")]
    for values in engine(replace(case, users=users, metrics=metrics)).values():
        for name in PER_QUERY_METRICS:
            assert values[f"{name}@quota"] == values[f"{name}@{k}"], name


@ENGINES
@examples(15)
@given(data=st.data())
def test_the_lower_the_score_the_more_is_found(
    engine: Callable[[Case], Values], data: st.DataObject
) -> None:
    case = data.draw(cases(mode=data.draw(st.sampled_from(("score", "both")))))
    cuts = [f"recall(min_score={score})@3" for score in ("9", "2.5", "0.5", "0", "-9")]
    for values in engine(replace(case, metrics=[*cuts, "recall@3"])).values():
        if values["relevant"]:
            found = [values[label] for label in cuts]
            assert found == sorted(found)
            assert (found[0], found[-1]) == (0, values["recall@3"])


# Prepared lists.


@examples(25)
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


@examples(30)
@given(data=st.data())
def test_row_order_changes_nothing(data: st.DataObject) -> None:
    case = data.draw(st.one_of(cases(), known_cases()))
    attributes = bool(case.items)
    texts = EVERYTHING if attributes else [name for name in EVERYTHING if "quota" not in name]
    case = measured(replace(case, metrics=texts))
    one, two = evaluate(case), evaluate(shuffled(data.draw, case))
    for name in ("summary", "per_query", "per_user", "hits", "lost", "loss"):
        assert getattr(one, name).equals(getattr(two, name)), name


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
        # "served" is shown for all generators where one of them has no list for somebody.
        whole, part = (
            one.summary.filter(pl.col("bucket_by") != "served") for one in (together, alone)
        )
        for every, own in (
            (whole, part),
            (together.per_query, alone.per_query),
            (together.hits, alone.hits),
        ):
            assert every.filter(every["generator"] == generator).equals(own)


@examples(20)
@given(case=st.one_of(cases(kind="int"), known_cases(kind="int")).map(measured))
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
        items=each(case.items),
        exposures=each(case.exposures),
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
