"""What every generator promises, whatever it learns. A new type is tested by being registered."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

from recoeval.errors import ConfigError, DataError
from recoeval.generators import ALS, GENERATORS, Fitted, Generator, Popularity, Train
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


@dataclass(frozen=True)
class Cut:
    """The lists of another generator without some of its ranks."""

    fitted: Fitted
    kept: pl.Expr

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        return self.fitted.recommend(queries, k).filter(self.kept)


class Short(Popularity):
    """A generator whose lists end after five items."""

    kept: ClassVar[pl.Expr] = pl.col("rank") <= 5

    def fit(self, train: Train) -> Fitted:
        return Cut(super().fit(train), self.kept)


class Gaps(Short):
    """A generator that leaves items out after it has ranked them."""

    kept = pl.col("rank") != 2


@pytest.mark.parametrize("k", [1, 20, 1000])
def test_lists_may_end_early_where_the_contract_says_so(toy: ToyLog, k: int) -> None:
    class Ending(GeneratorContract):
        fills_lists = False

    Ending().test_lists_are_unseen_distinct_and_full(Short(), toy, k)
    Ending().test_without_seen_pairs_train_items_come_again(Short(), toy)
    Ending().test_several_queries_of_a_user(Short(), toy)
    Ending().test_nobody_or_only_strangers(Short(), toy, [5001, 5002])
    if k > 1:
        with pytest.raises(AssertionError, match="ranks"):
            GeneratorContract().test_lists_are_unseen_distinct_and_full(Short(), toy, k)
        with pytest.raises(AssertionError, match="ranks"):
            Ending().test_lists_are_unseen_distinct_and_full(Gaps(), toy, k)


def test_full_lists_are_asked_for_by_default(toy: ToyLog) -> None:
    contract = GeneratorContract()
    with pytest.raises(AssertionError, match="not the whole catalogue"):
        contract.test_without_seen_pairs_train_items_come_again(Short(), toy)
    with pytest.raises(AssertionError, match="rows"):
        contract.test_several_queries_of_a_user(Short(), toy)
    with pytest.raises(AssertionError, match="rows"):
        contract.test_nobody_or_only_strangers(Short(), toy, [5001, 5002])


@dataclass(frozen=True)
class OffBy:
    """Fitted ALS with other scores than its lists have."""

    fitted: Any
    error: float
    unknown: float | None

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        return self.fitted.recommend(queries, k)

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        scores = self.fitted.score(pairs) + self.error
        return scores if self.unknown is None else scores.fill_null(self.unknown)


class Inexact(ALS):
    """A generator whose scores are not those of its lists."""

    error: float = 1e-12
    """Of its scores."""
    unknown: float | None = None
    """Its score of what it does not know."""

    def fit(self, train: Train) -> Fitted:
        return OffBy(ALS().fit(train), self.error, self.unknown)


def test_scores_have_to_be_those_of_the_lists(toy: ToyLog) -> None:
    contract = GeneratorContract()
    contract.test_scores_of_pairs_are_those_of_the_lists(Popularity(), toy)
    contract.test_scores_of_pairs_are_those_of_the_lists(Inexact(error=0), toy)
    with pytest.raises(AssertionError):
        contract.test_scores_of_pairs_are_those_of_the_lists(Inexact(), toy)
    with pytest.raises(AssertionError, match="an item without a train row"):
        contract.test_scores_of_pairs_are_those_of_the_lists(Inexact(error=0, unknown=0), toy)


class TestFromFiles(ListsContract):
    @pytest.fixture
    def generator(self, tmp_path: Path, toy) -> Generator:
        items = pl.DataFrame(
            {"item_id": [2003, 2001, 2002], "rank": [1, 2, 3], "score": [3.0, 2.0, 1.0]}
        )
        lists = toy.queries.select("query_id").join(items, how="cross")
        lists.write_parquet(tmp_path / "lists.parquet")
        return GENERATORS["precomputed"](path=str(tmp_path / "lists.parquet"))
