"""The self-check: silent on the engine as it is, loud on every bug that is planted."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from recoeval.analysis.results import Evaluation
from recoeval.analysis.selfcheck import SHARES, UNBOUNDED, probes, self_check
from recoeval.analysis.selfcheck.idealvalues import ideal_value
from recoeval.columns import CAUSE_DTYPE, SUMMARY_SCHEMA, UNAVAILABLE
from recoeval.engine.local import Scorer
from recoeval.engine.scored import Scored
from recoeval.metrics import METRICS, Cut, Measure, measures
from recoeval.metrics.accuracy import Recall
from recoeval.metrics.ranking import NDCG

TEXTS = [
    *("hits", "precision", "precision(denominator=returned)", "recall", "recall(gain=linear)"),
    *("recall(min_score=0.5)", "capped_recall", "f1", "hit_rate", "mrr", "map"),
    *("map(denominator=relevant)", "auprc", "ndcg", "ndcg(gain=exponential)"),
    *("ndcg(gain=binary, ideal=k)", "ndcg(rel=2)", "precision(rel=2)", "recall(rel=9)"),
    *("r_precision", "r_precision(rel=2)", "recall@all", "hits@all", "capped_recall@all"),
    *("hit_rate@all", "mrr@all", "map@all", "auprc@all", "ndcg@all", "coverage", "list_fill"),
    *("precision@quota", "recall@quota", "ndcg(gain=binary, ideal=k)@quota", "seen_share"),
]
MEASURES = measures(TEXTS, [2, 50])
FEW = measures(["recall", "ndcg"], [5])
USERS = 60


def scorer(measured: tuple[Measure, ...] = MEASURES, *, text_ids: bool = False) -> Scorer:
    """Returns a scorer of users with 1 to 9 relevant items of 40, and three seen ones."""
    rng = np.random.default_rng(1)
    truth, seen = [], []
    for user in range(USERS):
        drawn = rng.permutation(40)
        size = 1 + user % 9
        truth += [(user, int(item), float(1 + item % 3)) for item in drawn[:size]]
        seen += [(user, int(item)) for item in drawn[size : size + 3]]
    pairs = pl.DataFrame(truth, ["query_id", "item_id", "gain"], orient="row")
    known = pl.DataFrame(seen, ["query_id", "item_id"], orient="row")
    queries = pl.DataFrame({"query_id": range(USERS), "user_id": range(USERS)})
    queries = queries.with_columns(quota=1 + pl.col("user_id") % 4)
    if text_ids:
        ids = pl.col("query_id", "item_id").cast(pl.String)
        pairs, known = pairs.with_columns(ids), known.with_columns(ids)
        queries = queries.with_columns(pl.col("query_id").cast(pl.String))
    return Scorer.of(queries, pairs, measured, seen=known.lazy(), drop_seen=True)


def codes(found: Any) -> set[str]:
    assert all(each.severity == "severe" for each in found)
    return {each.code for each in found}


@pytest.mark.parametrize("text_ids", [False, True])
def test_the_engine_keeps_its_laws(text_ids: bool) -> None:
    assert self_check(scorer(text_ids=text_ids), None, deep=True) == ()


def test_every_metric_has_a_law_or_a_range() -> None:
    assert {*SHARES, *UNBOUNDED} == set(METRICS)
    without = set()
    for name, metric in METRICS.items():
        if metric.kind == "accuracy":
            cut = Cut(2) if metric.takes_k else None
            value = ideal_value(Measure(metric(), cut), [3.0, 2.0, 1.0])
            without |= {name} if value is None else set()
    assert without == {"recall_ceiling"}


@pytest.mark.parametrize(
    ("text", "gains", "value"),
    [
        ("precision@4", [1, 1], 0.5),
        ("precision(denominator=returned)@4", [1, 1], 1.0),
        ("precision(denominator=returned, rel=2)@4", [2, 1], 0.5),
        ("recall@2", [1, 1, 1, 1], 0.5),
        ("recall(gain=linear)@1", [3, 1], 0.75),
        ("capped_recall@2", [1, 1, 1, 1], 1.0),
        ("f1@4", [1, 1], 2 * 2 / 6),
        ("hits@2", [1, 1, 1], 2.0),
        ("hits@all", [1, 1, 1], 3.0),
        ("map(denominator=relevant)@2", [1, 1, 1, 1], 0.5),
        ("auprc@1", [1, 1], 0.5),
        ("auprc@all", [1, 1], 1.0),
        ("ndcg(gain=binary, ideal=k)@2", [1], 1 / (1 + 0.6309297535714575)),
        ("recall(rel=2)@1", [2, 2, 1], 0.5),
        ("recall(rel=5)@1", [2, 1], None),
        ("r_precision", [1, 1, 1], 1.0),
    ],
)
def test_values_of_the_truth_as_its_own_list(text: str, gains: list[int], value: float) -> None:
    (measure,) = measures([text], [])
    found = ideal_value(measure, [float(gain) for gain in gains])
    assert found == (None if value is None else pytest.approx(value, abs=1e-15))


def test_a_quota_is_the_depth() -> None:
    (measure,) = measures(["precision@quota"], [])
    assert ideal_value(measure, [1.0], 4) == 0.25
    assert ideal_value(measure, [1.0]) is None


class OneMore(Recall):
    """Recall with a wrong denominator."""

    title = "recall"

    def value(self, cut: Cut) -> pl.Expr:
        return super().value(cut) * pl.col("relevant") / (pl.col("relevant") + 1)


class Undefined(NDCG):
    """NDCG that is NaN for short truths."""

    title = "ndcg"

    def value(self, cut: Cut) -> pl.Expr:
        return pl.when(pl.col("relevant") < 3).then(float("nan")).otherwise(super().value(cut))


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (
            OneMore(),
            (
                "recall@9 of the truth as its own list is wrong for 60 queries of 60: "
                "for query 0 it is 0.5, not 1.0"
            ),
        ),
        (
            Undefined(),
            (
                "ndcg@9 of the truth as its own list is wrong for 14 queries of 60: "
                "for query 0 it is nan, not 1.0"
            ),
        ),
    ],
)
def test_a_metric_with_a_bug_is_found(metric: Any, text: str) -> None:
    (found,) = self_check(scorer((Measure(metric, Cut(9)),)), None, fold=2)
    assert (found.severity, found.code, found.fold) == ("severe", "wrong_ideal_value", 2)
    assert found.text == text


def test_at_most_a_sample_of_the_queries_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recoeval.analysis.selfcheck.SAMPLE", 7)
    (found,) = self_check(scorer((Measure(OneMore(), Cut(9)),)), None)
    assert "for 7 queries of 7" in found.text


def evaluation(values: dict[str, list[float | None]], **changes: Any) -> Evaluation:
    """Returns result tables of one generator and as many queries, each with two relevant items."""
    count = len(next(iter(values.values())))
    queries = pl.DataFrame({"fold": 0, "generator": "als", "query_id": range(count)})
    rows = queries.with_columns(relevant=pl.lit(2), **{k: pl.Series(v) for k, v in values.items()})
    pairs = queries.with_columns(item_id=pl.lit(10))
    lost = queries.with_columns(item_id=pl.lit(20))
    tables = {
        "summary": pl.DataFrame(schema=SUMMARY_SCHEMA),
        "hits": pairs,
        "lost_pairs": lost.lazy(),
    }
    return Evaluation(
        per_query=rows,
        counts={},
        definitions={},
        measures=measures(list(values), []),
        **{**tables, **changes},
    )


def check(results: Evaluation) -> list[tuple[str, str, str | None]]:
    found = self_check(scorer(()), results)
    assert all(each.severity == "severe" for each in found)
    return [(each.code, each.text, each.generator) for each in found]


def test_possible_values_give_nothing() -> None:
    values = {"recall@1": [0.0, 0.5, 1.0], "recall@5": [0.0, 0.5, 1.0], "hits@5": [0.0, 1.0, 2.0]}
    assert check(evaluation(values)) == []
    # Queries that a smallest gain leaves out.
    assert check(evaluation({"recall(rel=2)@5": [None, 1.0]})) == []


@pytest.mark.parametrize("value", [1.5, -0.5, float("nan"), float("inf")])
def test_a_value_out_of_range_is_found(value: float) -> None:
    (found,) = check(evaluation({"recall@5": [0.5, value]}))
    assert found == (
        "value_out_of_range",
        f"recall@5 is out of range for 1 query, e.g. {value!r}",
        "als",
    )


def test_more_hits_than_relevant_items_are_found() -> None:
    ((code, text, _),) = check(evaluation({"hits@5": [2.0, 3.0]}))
    assert (code, text) == ("value_out_of_range", "hits@5 is out of range for 1 query, e.g. 3.0")


def test_recall_that_falls_with_k_is_found() -> None:
    ((code, text, generator),) = check(
        evaluation({"recall@5": [0.5, 0.5], "recall@2": [0.5, 1.0], "mrr@1": [1.0, 1.0]})
    )
    assert (code, generator) == ("value_falls_with_k", "als")
    assert (
        text == "recall@5 is below recall@2 for 1 query, though it counts the same items and more"
    )


@pytest.mark.parametrize("name", ["hits", "lost"])
@pytest.mark.parametrize("fault", ["missing", "double", "foreign"])
def test_hits_and_lost_pairs_that_are_not_the_truth_are_found(name: str, fault: str) -> None:
    clean = evaluation({"recall@5": [0.5, 0.5]})
    table = getattr(clean, name)
    if fault == "missing":
        broken = table.head(1)
    elif fault == "double":
        # The number of pairs is right, but one of them stands twice.
        other = clean.hits if name == "lost" else clean.lost
        broken = pl.concat([table.head(1), other.tail(1)])
    else:
        broken = table.with_columns(query_id=pl.Series([0, 9]))
    changed = {"hits": broken} if name == "hits" else {"lost_pairs": broken.lazy()}
    (found, *more) = check(replace(clean, **changed))
    assert (found[0], found[2], more) == ("loss_does_not_add_up", "als", [])
    where = {
        "missing": "1 query, e.g. 1",
        "double": "1 query, e.g. 1",
        "foreign": "2 queries, e.g. 1, 9",
    }
    assert found[1] == f"hits and lost pairs are not the truth for {where[fault]}"


def test_a_summary_out_of_range_is_found() -> None:
    blank: dict[str, Any] = dict.fromkeys(SUMMARY_SCHEMA)
    values = {
        "gini": 1.5,
        "novelty": 7.0,
        "entropy": -1.0,
        "judged": 0.5,
        "of others": 9.0,
        "tie_share": None,
    }
    rows = [
        {**blank, "generator": "als", "metric": f"{name}@5", "name": name, "value": value}
        for name, value in values.items()
    ]
    summary = pl.DataFrame(rows, SUMMARY_SCHEMA)
    found = check(evaluation({"recall@5": [0.5]}, summary=summary))
    assert [text for _, text, _ in found] == [
        "gini@5 is out of range in the summary, e.g. 1.5",
        "entropy@5 is out of range in the summary, e.g. -1.0",
    ]


def test_a_chosen_sample_depends_on_ids_and_seed_alone() -> None:
    ids = pl.Series(range(100))
    found = probes.chosen(ids, 10, 7)
    assert found.equals(probes.chosen(ids.reverse(), 10, 7))
    assert found.equals(found.sort())
    assert not found.equals(probes.chosen(ids, 10, 8))
    assert probes.chosen(ids, 100, 7).equals(ids)


class Leaky(Scorer):
    """A scorer that puts the truth in front of every list."""

    def score(
        self, lists: pl.LazyFrame, queries: pl.DataFrame | None = None, **more: Any
    ) -> Scored:
        rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("query_id").alias("rank")
        known = self.truth.lazy().select("query_id", "item_id", rank, pl.lit(0.0).alias("score"))
        later = lists.with_columns(pl.col("rank") + 1000)
        return super().score(pl.concat([known, later]), queries, **more)


def disguised(plain: Scorer, kind: type[Scorer]) -> Scorer:
    """Returns the same scorer as another kind."""
    return kind(**{field.name: getattr(plain, field.name) for field in fields(plain)})


def test_random_lists_that_score_too_well_are_found() -> None:
    plain = scorer(measures(["recall"], [5]))
    (found,) = probes.find_random_scores(disguised(plain, Leaky), 7)
    assert found[0] == "random_is_not_random"
    assert found[1].startswith("random lists of 8 of 40 items reach a recall of 0.9")
    assert "on shuffled truth, where chance gives 0.2000 +- 0.0" in found[1]
    assert list(probes.find_random_scores(plain, 7)) == []


@pytest.mark.parametrize("seed", range(8))
def test_chance_stays_within_its_bound(seed: int) -> None:
    assert list(probes.find_random_scores(scorer(measures(["recall"], [5])), seed)) == []


Call = tuple[pl.DataFrame, pl.DataFrame]


def again(first: Call, call: Call, number: int) -> bool:
    return number == 2


def by_row_order(first: Call, call: Call, number: int) -> bool:
    return not call[0].equals(first[0])


def by_query_order(first: Call, call: Call, number: int) -> bool:
    return call[1].height == first[1].height and not call[1].equals(first[1])


def by_block(first: Call, call: Call, number: int) -> bool:
    return call[1].height < first[1].height


@pytest.mark.parametrize("column", ["recall@5", "rank", "cause"])
@pytest.mark.parametrize(
    ("when", "what"),
    [
        (again, ["the same lists again"]),
        (by_row_order, ["the rows of the lists in another order"]),
        (by_query_order, ["the queries in another order"]),
        (by_block, ["2 blocks of queries", "7 blocks of queries"]),
    ],
)
def test_results_that_are_not_stable_are_found(
    when: Callable[[Call, Call, int], bool], what: list[str], column: str
) -> None:
    calls: list[Call] = []

    class Unstable(Scorer):
        def score(
            self, lists: pl.LazyFrame, queries: pl.DataFrame | None = None, **more: Any
        ) -> Scored:
            scored = super().score(lists, queries, **more)
            if queries is None:
                return scored
            calls.append((lists.collect(), queries))
            if not when(calls[0], calls[-1], len(calls)):
                return scored
            other = pl.lit(UNAVAILABLE, CAUSE_DTYPE)
            change = other if column == "cause" else pl.col(column) + 1
            tables = {name: getattr(scored, name) for name in ("per_query", "found", "missed")}
            return replace(
                scored,
                **{
                    name: table.with_columns(change.alias(column))
                    for name, table in tables.items()
                    if column in table.columns
                },
            )

    found = list(probes.find_unstable_scores(disguised(scorer(FEW), Unstable), 7))
    assert {code for code, *_ in found} == {"unstable_results"}
    assert list(dict.fromkeys(text.split(" give ")[0] for _, text, *_ in found)) == what


def test_results_that_depend_on_the_order_of_the_truth_are_found() -> None:
    class LastLost(Scorer):
        @classmethod
        def of(cls, queries: pl.DataFrame, truth: pl.DataFrame, *rest: Any, **more: Any) -> Scorer:
            return super().of(queries, truth.head(-1), *rest, **more)

    found = list(probes.find_unstable_scores(disguised(scorer(FEW), LastLost), 7))
    assert found
    assert all(text.startswith("the rows of the truth in another order") for _, text, *_ in found)


def test_the_deep_part_runs_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    leaky = disguised(scorer(measures(["coverage"], [5])), Leaky)
    assert codes(self_check(leaky, None)) == set()
    assert "random_is_not_random" in codes(self_check(leaky, None, deep=True))


def test_a_truth_of_one_pair_is_checked_too() -> None:
    queries = pl.DataFrame({"query_id": ["q"], "user_id": [1]})
    truth = pl.DataFrame({"query_id": ["q"], "item_id": ["i"], "gain": [1.0]})
    tiny = Scorer.of(queries, truth, FEW, seen=None, drop_seen=False)
    assert self_check(tiny, None, deep=True) == ()
