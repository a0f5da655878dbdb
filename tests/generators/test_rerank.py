from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.errors import EngineError
from recoeval.generators import Generator, Rerank
from recoeval.generators.rerank import Reranking
from recoeval.testing.contracts import ListsContract
from recoeval.testing.merging import rerank_of
from recoeval.testing.toy import ToyLog, make_log
from tests.generators.others import SCHEMA, Shelf, toy_shelf


class TestContract(ListsContract):
    @pytest.fixture(params=[500, 10])
    def generator(self, request: pytest.FixtureRequest) -> Generator:
        return Rerank(of="als", by="popular", depth=request.param)

    @pytest.fixture
    def toy(self) -> ToyLog:
        toy = make_log()
        shelf = toy_shelf(["als", "popular"], toy.queries)
        return replace(toy, train=replace(toy.train, others=shelf))


def rows_of(lists):
    rows = [
        (query, item, rank, 1.0 / rank)
        for query, items in lists.items()
        for rank, item in enumerate(items, 1)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def reranked(lists, scores, *, k=10, **options):
    rerank = Rerank(of="als", by="popular", **options)
    shelf = Shelf({"als": rows_of(lists)}, {"popular": scores})
    queries = pl.DataFrame({"query_id": list(lists), "user_id": list(lists)}, schema_overrides=IDS)
    return Reranking(rerank, shelf).reranked(queries, k)


IDS = {"query_id": pl.Int64, "user_id": pl.Int64}


def test_ordered_by_the_other_score_ties_by_rank_unscored_last():
    # 8 and 5 tie at 2.0 and stay in the order that they had; 9 and 7 have no score.
    new = reranked({1: [9, 8, 7, 5, 6]}, {8: 2.0, 5: 2.0, 6: 3.0})
    assert new.lists.rows() == [
        (1, 6, 1, 3.0),
        (1, 8, 2, 2.0),
        (1, 5, 3, 2.0),
        (1, 9, 4, None),
        (1, 7, 5, None),
    ]
    assert new.unscored == 2


def test_only_the_first_items_take_part_whatever_is_asked_for():
    lists, scores = {1: [4, 5, 6]}, {4: 1.0, 5: 2.0, 6: 3.0}
    assert reranked(lists, scores, depth=2).lists["item_id"].to_list() == [5, 4]
    assert reranked(lists, scores, k=1).lists["item_id"].to_list() == [6]
    assert reranked({1: [9, 4]}, scores, depth=1).unscored == 1


LISTS = st.dictionaries(
    st.integers(0, 4), st.lists(st.integers(0, 9), unique=True, max_size=8), min_size=1
)
SCORES = st.dictionaries(st.integers(0, 9), st.sampled_from([-1.0, 0.0, 0.5, 2.0]))


@given(LISTS, SCORES, st.integers(1, 9), st.integers(1, 9))
def test_equal_to_the_oracle(lists, scores, depth, k):
    new = reranked(lists, scores, depth=depth, k=k)
    expected = [
        (query, item, rank, score)
        for query, items in sorted(lists.items())
        for rank, (item, score) in enumerate(rerank_of(items, scores, depth, k), 1)
    ]
    assert new.lists.rows() == expected
    taking_part = [item for items in lists.values() for item in items[:depth]]
    assert new.unscored == sum(item not in scores for item in taking_part)


def test_the_user_of_a_query_is_asked_about():
    asked = []

    class Listening(Shelf):
        def score(self, name, pairs):
            asked.extend(pairs.select("query_id", "user_id", "item_id").rows())
            return pl.Series([1.0] * pairs.height)

    rows = rows_of({1: [5], 2: [6, 7]})
    queries = pl.DataFrame({"query_id": [2, 1], "user_id": ["v", "u"]})
    lists = Reranking(Rerank(of="a", by="b"), Listening({"a": rows})).recommend(queries, 9)
    assert lists.collect()["item_id"].to_list() == [5, 6, 7]
    assert sorted(asked) == [(1, "u", 5), (2, "v", 6), (2, "v", 7)]


def test_scores_that_are_no_numbers():
    scores = {5: float("nan"), 6: 1.0, 7: float("-inf")}
    with pytest.raises(EngineError) as caught:
        reranked({1: [5, 6, 7, 8]}, scores)
    assert str(caught.value) == (
        "generators.popular: 2 of 4 scores are NaN or infinite, e.g. (1, 5, nan), (1, 7, -inf): "
        "a generator without a score gives null"
    )


def test_as_many_scores_as_pairs():
    class Short(Shelf):
        def score(self, name, pairs):
            return pl.Series([1.0])

    queries = pl.DataFrame({"query_id": [1], "user_id": [1]})
    with pytest.raises(EngineError) as caught:
        Reranking(Rerank(of="a", by="b"), Short({"a": rows_of({1: [5, 6]})})).recommend(queries, 9)
    assert str(caught.value) == (
        "generators.b: 1 scores for 2 pairs: a generator scores each of them"
    )


def test_what_it_reads_and_asks():
    rerank = Rerank(of="merged", by="popular")
    assert rerank.reads(10) == rerank.reads(1000) == {"merged": 500}
    assert Rerank(of="merged", by="popular", depth=7).reads(10) == {"merged": 7}
    assert rerank.asks == ("popular",)
    assert rerank.places == {"of": "merged", "by": "popular"}


@pytest.mark.parametrize(
    "options", [{}, {"of": "a"}, {"of": "a", "by": 3}, {"of": "a", "by": "b", "depth": 10**7}]
)
def test_refused(options):
    with pytest.raises(ValidationError):
        Rerank.model_validate(options)


def test_without_others_it_cannot_be_fitted(toy):
    with pytest.raises(EngineError) as caught:
        Rerank(of="als", by="b").fit(toy.train)
    assert str(caught.value) == (
        "a rerank reads the lists of als and asks b for scores: give them as Train.others"
    )
