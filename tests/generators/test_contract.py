"""What every generator promises, whatever it learns. A new type is tested by being registered."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from recoeval.errors import ConfigError, DataError
from recoeval.generators import GENERATORS, Fitted, Generator, Popularity, Train
from recoeval.testing.contracts import GeneratorContract, ListsContract
from recoeval.testing.toy import ToyLog

# Read lists made elsewhere: neither trained, nor filtered, nor cut here.
FILES = {"precomputed"}
# Read lists of other generators; their own tests hold them to the contract of lists.
OF_OTHERS = {"merge", "rerank"}
TRAINED = sorted(set(GENERATORS) - FILES - OF_OTHERS)
# Their lists end where the evidence ends.
SHORT = {"item_knn", "co_visitation"}
# Lists seen items alone: tested without a rule about them, beside its own tests.
REPEATING = {"recent"}


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_registered_under_its_type(name: str) -> None:
    assert GENERATORS[name].model_fields["type"].default == name


class TestTrained(GeneratorContract):
    @pytest.fixture(params=sorted(set(TRAINED) - SHORT - REPEATING))
    def generator(self, request: pytest.FixtureRequest) -> Generator:
        return GENERATORS[request.param]()


class TestTrainedWithShortLists(GeneratorContract):
    fills_lists: ClassVar[bool] = False

    @pytest.fixture(params=sorted(SHORT))
    def generator(self, request: pytest.FixtureRequest) -> Generator:
        return GENERATORS[request.param]()


@pytest.mark.parametrize("name", TRAINED)
def test_no_train_rows_name_the_rule_to_look_at(name: str, toy: ToyLog) -> None:
    rows = pl.LazyFrame(schema=toy.train.rows.collect_schema())
    with pytest.raises(DataError, match=r"no train rows to learn from: .*training\.where"):
        GENERATORS[name]().fit(toy.with_train(rows=rows).train)


class OfOthers(Popularity):
    """A generator that learns from times, and speaks in words of its own."""

    without_times: ClassVar[Exception] = ConfigError("needs a clock")
    without_rows: ClassVar[Exception] = DataError("nothing to eat")

    def fit(self, train: Train) -> Fitted:
        if "timestamp" not in train.rows.collect_schema():
            raise self.without_times
        if train.rows.collect().is_empty():
            raise self.without_rows
        return super().fit(train)


class Careless(OfOthers):
    """A generator that fails without a word, or in another way."""

    without_times = ValueError("needs a clock")
    without_rows = DataError("")


class Forgetful(Popularity):
    """A generator whose lists are others without times, though no option needs them."""

    def fit(self, train: Train) -> Fitted:
        rows = train.rows if "timestamp" in train.rows.collect_schema() else train.rows.head(3)
        return super().fit(replace(train, rows=rows))


def test_who_needs_times_may_say_so(toy: ToyLog) -> None:
    contract = GeneratorContract()
    contract.test_no_times(OfOthers(), toy)
    with pytest.raises(ValueError, match="clock"):
        contract.test_no_times(Careless(), toy)
    with pytest.raises(AssertionError):
        contract.test_no_times(Forgetful(), toy)


def test_no_train_rows_in_words_of_ones_own(toy: ToyLog) -> None:
    contract = GeneratorContract()
    contract.test_no_train_rows(OfOthers(), toy)
    with pytest.raises(AssertionError, match="without a message"):
        contract.test_no_train_rows(Careless(), toy)


class TestFromFiles(ListsContract):
    @pytest.fixture
    def generator(self, tmp_path: Path, toy) -> Generator:
        items = pl.DataFrame(
            {"item_id": [2003, 2001, 2002], "rank": [1, 2, 3], "score": [3.0, 2.0, 1.0]}
        )
        lists = toy.queries.select("query_id").join(items, how="cross")
        lists.write_parquet(tmp_path / "lists.parquet")
        return GENERATORS["precomputed"](path=str(tmp_path / "lists.parquet"))
