"""What recoeval promises of every generator, held against this one."""

from datetime import timedelta

import polars as pl
import pytest
from recoeval_example import Newest

from recoeval.errors import DataError
from recoeval.testing.contracts import GeneratorContract
from recoeval.testing.toy import ToyLog, make_log


class TestNewest(GeneratorContract):
    @pytest.fixture
    def generator(self) -> Newest:
        return Newest()


def lists(generator: Newest, toy: ToyLog, k: int = 1000) -> pl.DataFrame:
    return generator.fit(toy.train).recommend(toy.queries, k).collect()


def test_the_newest_comes_first() -> None:
    toy = make_log().with_train(seen=None)
    first = toy.train.rows.group_by("item_id").agg(pl.col("timestamp").min()).collect()
    ordered = first.sort("timestamp", "item_id", descending=[True, False])["item_id"].to_list()
    found = lists(Newest(), toy)
    for query in toy.queries["query_id"]:
        own = found.filter(pl.col("query_id") == query).sort("rank")
        assert own["item_id"].to_list() == ordered


def test_old_items_are_left_out() -> None:
    toy = make_log()
    first = toy.train.rows.group_by("item_id").agg(pl.col("timestamp").min()).collect()
    latest = first["timestamp"].max()
    assert toy.train.end is not None
    age = toy.train.end - latest
    found = lists(Newest(max_age=age + timedelta(microseconds=1)), toy)
    young = set(first.filter(pl.col("timestamp") == latest)["item_id"])
    assert set(found["item_id"]) <= young
    with pytest.raises(DataError, match="no items to list"):
        lists(Newest(max_age=timedelta(microseconds=1)), toy)
