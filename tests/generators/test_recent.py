"""The user's own latest items, by hand, and the contract without a rule on seen ones."""

from datetime import timedelta

import polars as pl
import pytest

from recoeval.errors import ConfigError
from recoeval.generators import Recent, Scoring, Train
from recoeval.testing.contracts import GeneratorContract
from recoeval.testing.toy import ToyLog, make_log


class TestContract(GeneratorContract):
    fills_lists = False

    @pytest.fixture
    def generator(self):
        return Recent()

    @pytest.fixture
    def toy(self) -> ToyLog:
        return make_log().with_train(seen=None)

    @pytest.fixture
    def toy_of_texts(self) -> ToyLog:
        return make_log(text=True).with_train(seen=None)


def train_of(rows, *, seen=None) -> Train:
    frame = pl.DataFrame(
        rows,
        schema={
            "user_id": pl.Int64,
            "item_id": pl.Int64,
            "timestamp": pl.Datetime("us", "UTC"),
        },
        orient="row",
    ).with_columns(weight=1.0)
    if seen is not None:
        seen = pl.LazyFrame(seen, schema=["user_id", "item_id"], orient="row")
    return Train(frame.lazy(), seen, None, seed=0, threads=1)


def listed(train: Train, user: int, k: int = 10) -> list[tuple]:
    queries = pl.DataFrame({"query_id": [user], "user_id": [user]})
    lists = Recent().fit(train).recommend(queries, k).collect().sort("rank")
    return list(lists.select("item_id", "rank", "score").iter_rows())


def test_newest_first_each_item_once_ties_by_item(ago):
    rows = [(1, 30, ago(3)), (1, 7, ago(2)), (1, 30, ago(1)), (1, 9, ago(2)), (2, 5, ago(0))]
    seconds = [ago(day).timestamp() for day in (1, 2, 2)]
    expected = list(zip([30, 7, 9], [1, 2, 3], seconds, strict=True))
    assert listed(train_of(rows), 1) == expected
    assert listed(train_of(rows), 1, k=2) == expected[:2]
    assert listed(train_of(rows), 3) == []


def test_microseconds_tell_items_apart(ago):
    later = ago(1) + timedelta(microseconds=1)
    rows = [(1, 7, ago(1)), (1, 30, later)]
    first, second = listed(train_of(rows), 1)
    assert (first[0], second[0]) == (30, 7)
    assert first[2] > second[2]


def test_seen_items_leave_before_the_cut(ago):
    rows = [(1, item, ago(item)) for item in (1, 2, 3, 4)]
    train = train_of(rows, seen=[(1, 1), (1, 3), (1, 77), (2, 2)])
    assert [item for item, *_ in listed(train, 1, k=2)] == [2, 4]
    assert listed(train_of(rows, seen=[(1, item) for item in (1, 2, 3, 4)]), 1) == []


def test_scores_are_those_of_the_lists_and_null_for_other_pairs(ago):
    fitted = Recent().fit(train_of([(1, 30, ago(3)), (1, 30, ago(1)), (2, 7, ago(2))]))
    assert isinstance(fitted, Scoring)
    pairs = pl.DataFrame(
        {"query_id": [0, 1, 2, 3, 4], "user_id": [2, 1, 1, 9, 1], "item_id": [7, 30, 7, 7, 99]}
    )
    found = fitted.score(pairs)
    assert found.dtype == pl.Float64
    assert found.to_list() == [ago(2).timestamp(), ago(1).timestamp(), None, None, None]


def test_without_times():
    train = train_of([(1, 30, None)])
    rows = train.rows.drop("timestamp")
    with pytest.raises(
        ConfigError, match=r"^needs times, and the interactions have none: name the"
    ):
        Recent().fit(Train(rows, None, None, seed=0, threads=1))
