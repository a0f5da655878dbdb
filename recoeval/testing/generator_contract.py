"""What every generator promises, as tests that a generator's author inherits."""

from __future__ import annotations

from typing import ClassVar

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.errors import ConfigError, DataError
from recoeval.generators.base import Fitted, Generator, Scoring
from recoeval.testing.toy import ToyLog, make_log, require, same

__all__ = ["GeneratorContract", "ListsContract"]


def collected(fitted: Fitted, queries: pl.DataFrame, k: int) -> pl.DataFrame:
    """Returns the lists by query and rank."""
    return fitted.recommend(queries, k).collect().sort("query_id", "rank", maintain_order=True)


class ListsContract:
    """What holds for every generator, also one that reads lists from elsewhere.

    Subclass it in a test module and give the fixture `generator`.
    """

    k: ClassVar[int] = 20

    @pytest.fixture
    def generator(self) -> Generator:
        """The generator under test: override this fixture."""
        pytest.fail("give the fixture 'generator'")

    @pytest.fixture
    def toy(self) -> ToyLog:
        """Train data and queries with integer ids."""
        return make_log()

    def test_type_is_its_default(self, generator: Generator) -> None:
        """The type of the configuration is that of the class."""
        default = type(generator).model_fields["type"].default
        require(default == generator.type, f"type {generator.type!r}, by default {default!r}")

    def test_every_option_is_explained(self, generator: Generator) -> None:
        """Each field has a docstring, which the JSON Schema shows."""
        fields = type(generator).model_fields
        silent = [name for name, field in fields.items() if not field.description]
        require(silent in ([], ["type"]), f"fields without a docstring: {silent}")

    def test_frozen_and_strict(self, generator: Generator) -> None:
        """Options cannot be changed, and unknown ones are refused."""
        with pytest.raises(ValidationError):
            setattr(generator, "type", "other")  # noqa: B010 - mypy knows that it is frozen
        with pytest.raises(ValidationError):
            type(generator).model_validate({**generator.model_dump(), "factrs": 3})

    def test_schema(self, generator: Generator, toy: ToyLog) -> None:
        """Lists have the columns and dtypes of recommendations."""
        schema = generator.fit(toy.train).recommend(toy.queries, self.k).collect_schema()
        expected = {
            "query_id": pl.Int64(),
            "item_id": pl.Int64(),
            "rank": pl.Int64(),
            "score": pl.Float64(),
        }
        require(dict(schema) == expected, f"schema {dict(schema)}, expected {expected}")

    @pytest.mark.parametrize("k", [1, 20, 1000])
    def test_blocks_do_not_matter(self, generator: Generator, toy: ToyLog, k: int) -> None:
        """Queries get the same lists in blocks of any size."""
        fitted = generator.fit(toy.train)
        whole = collected(fitted, toy.queries, k)
        parts = [collected(fitted, toy.queries[start::7], k) for start in range(7)]
        same(whole, pl.concat(parts).sort("query_id", "rank"))
        single = [collected(fitted, toy.queries[row], k) for row in range(toy.queries.height)]
        same(whole, pl.concat(single).sort("query_id", "rank"))

    def test_order_of_queries_does_not_matter(self, generator: Generator, toy: ToyLog) -> None:
        """Shuffled queries get the same lists."""
        fitted = generator.fit(toy.train)
        mixed = toy.queries.sample(fraction=1, shuffle=True, seed=5)
        same(collected(fitted, toy.queries, self.k), collected(fitted, mixed, self.k))

    def test_inputs_stay_as_they_were(self, generator: Generator, toy: ToyLog) -> None:
        """Neither train data nor queries are changed."""
        rows, queries = toy.train.rows.collect(), toy.queries.clone()
        fitted = generator.fit(toy.with_train(rows=rows.lazy()).train)
        fitted.recommend(queries, self.k).collect()
        same(rows, toy.train.rows.collect())
        same(queries, toy.queries)

    def test_recommend_twice(self, generator: Generator, toy: ToyLog) -> None:
        """A fitted generator has no state that recommending changes."""
        fitted = generator.fit(toy.train)
        first = collected(fitted, toy.queries, self.k)
        same(first, collected(fitted, toy.queries, self.k))

    def test_flags(self, generator: Generator) -> None:
        """It says what it can serve, and how many queries at once."""
        flags = (generator.serves_cold_users, generator.serves_cold_items)
        require(all(isinstance(flag, bool) for flag in flags), f"flags {flags}")
        require(generator.block is None or generator.block >= 1, f"block {generator.block}")


class GeneratorContract(ListsContract):
    """What holds for every generator that learns from train rows.

    In a test module of the generator's author:

        class TestEASE(GeneratorContract):
            @pytest.fixture
            def generator(self):
                return EASE(l2=100)
    """

    fills_lists: ClassVar[bool] = True
    """Whether a list goes on as long as there are unseen items. False: it ends where the evidence
    for more items ends, and may be empty."""

    @pytest.fixture
    def toy_of_texts(self) -> ToyLog:
        """The same train data and queries with ids as texts."""
        return make_log(text=True)

    def lengths(self, lists: pl.DataFrame) -> dict[object, int]:
        """Returns the length of each query's list."""
        return dict(lists.group_by("query_id").len().iter_rows())

    def served(self, generator: Generator, toy: ToyLog) -> pl.DataFrame:
        """Returns the queries that the generator's flags promise a list."""
        if generator.serves_cold_users:
            return toy.queries
        known = toy.train.rows.select("user_id").unique().collect()
        return toy.queries.join(known, on="user_id", how="semi")

    def test_text_ids_stay_text(self, generator: Generator, toy_of_texts: ToyLog) -> None:
        """Ids of the lists have the dtype of the log."""
        lists = collected(generator.fit(toy_of_texts.train), toy_of_texts.queries, self.k)
        dtypes = lists.schema["query_id"], lists.schema["item_id"]
        require(dtypes == (pl.String(), pl.String()), f"dtypes of ids: {dtypes}")
        require(lists.height, "no list at all")

    def test_integer_and_text_ids_give_the_same_lists(
        self, generator: Generator, toy: ToyLog, toy_of_texts: ToyLog
    ) -> None:
        """Ids are names: their type changes no list."""
        numbers = collected(generator.fit(toy.train), toy.queries, self.k)
        texts = collected(generator.fit(toy_of_texts.train), toy_of_texts.queries, self.k)
        same(numbers.with_columns(pl.col("query_id", "item_id").cast(pl.String)), texts)

    def test_same_seed_same_lists(self, generator: Generator, toy: ToyLog) -> None:
        """Fitting twice gives the same lists."""
        first = collected(generator.fit(toy.train), toy.queries, self.k)
        same(first, collected(generator.fit(toy.train), toy.queries, self.k))

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_order_of_train_rows_does_not_matter(
        self, generator: Generator, toy: ToyLog, seed: int
    ) -> None:
        """Shuffled train rows give the same lists."""

        def shuffled(frame: pl.LazyFrame | None) -> pl.LazyFrame | None:
            if frame is None:
                return None
            return frame.collect().sample(fraction=1, shuffle=True, seed=seed).lazy()

        other = toy.with_train(rows=shuffled(toy.train.rows), seen=shuffled(toy.train.seen))
        first = collected(generator.fit(toy.train), toy.queries, self.k)
        same(first, collected(generator.fit(other.train), toy.queries, self.k))

    @pytest.mark.parametrize("k", [1, 20, 59, 60, 61, 1000])
    def test_lists_are_unseen_distinct_and_full(
        self, generator: Generator, toy: ToyLog, k: int
    ) -> None:
        """A list has what it can: ranks from 1, no seen item, none twice, best score first."""
        fitted = generator.fit(toy.train)
        lists = collected(fitted, toy.queries, k)
        longest = self.lengths(collected(fitted, toy.queries, 1000))
        by_query = {
            key[0]: own for key, own in lists.partition_by("query_id", as_dict=True).items()
        }
        served = self.served(generator, toy)
        require(set(by_query) <= set(served["query_id"]), "lists for users it cannot serve")
        for query, user in served.iter_rows():
            unseen = toy.catalogue - toy.seen_by(user)
            own = by_query.get(query, lists.clear())
            most = len(unseen) if self.fills_lists else longest.get(query, 0)
            ranks = list(range(1, min(k, most) + 1))
            require(own["rank"].to_list() == ranks, f"{query}: ranks {own['rank'].to_list()}")
            require(own["item_id"].is_unique().all(), f"{query}: an item twice")
            require(set(own["item_id"]) <= unseen, f"{query}: seen or unknown items")
            require(own["score"].is_sorted(descending=True), f"{query}: scores are not sorted")

    @pytest.mark.parametrize("k", [20, 1000])
    def test_equal_scores_are_ordered_by_item(
        self, generator: Generator, toy: ToyLog, k: int
    ) -> None:
        """Ties go to the lower id, so that the lists are the same everywhere."""
        lists = collected(generator.fit(toy.train), toy.queries, k)
        ordered = lists.sort("query_id", "score", "item_id", descending=[False, True, False])
        same(ordered, lists)

    def test_without_seen_pairs_train_items_come_again(
        self, generator: Generator, toy: ToyLog
    ) -> None:
        """Nothing is left out that the policy does not name."""
        never = toy.with_train(seen=None)
        lists = collected(generator.fit(never.train), toy.queries, 1000)
        lengths = self.lengths(lists)
        served = set(self.served(generator, toy)["query_id"])
        if self.fills_lists:
            require(set(lengths) == served, "not everybody has a list")
            require(set(lengths.values()) == {len(toy.catalogue)}, "not the whole catalogue")
        again = toy.train.rows.select("item_id", query_id="user_id").collect()
        require(lists.join(again, on=["query_id", "item_id"], how="semi").height, "no seen item")
        pairs = pl.LazyFrame(schema={"user_id": pl.Int64, "item_id": pl.Int64})
        empty = toy.with_train(seen=pairs)
        same(lists, collected(generator.fit(empty.train), toy.queries, 1000))

    def test_seen_pairs_may_repeat(self, generator: Generator, toy: ToyLog) -> None:
        """A pair that is named twice is left out once."""
        seen = toy.train.seen
        twice = toy.with_train(seen=None if seen is None else pl.concat([seen, seen]))
        first = collected(generator.fit(toy.train), toy.queries, self.k)
        same(first, collected(generator.fit(twice.train), toy.queries, self.k))

    def test_users_of_the_train_rows_that_nobody_asks_for(
        self, generator: Generator, toy: ToyLog
    ) -> None:
        """Only the queries get a list, and the same one as among others."""
        fitted = generator.fit(toy.train)
        some = toy.queries.filter(pl.col("user_id").is_in([1003, 1030]))
        whole = collected(fitted, toy.queries, self.k)
        own = whole.filter(pl.col("query_id").is_in([1003, 1030]))
        same(collected(fitted, some, self.k), own)

    def test_several_queries_of_a_user(self, generator: Generator, toy: ToyLog) -> None:
        """A query has a list of its own, without what its user has seen."""
        queries = pl.DataFrame({"query_id": ["a", "b", "c"], "user_id": [1020, 1021, 1020]})
        lists = collected(generator.fit(toy.train), queries, self.k)
        require(set(lists["query_id"]) == {"a", "b", "c"}, "a query without a list")
        for query, user in queries.iter_rows():
            listed = lists.filter(pl.col("query_id") == query)
            full = listed.height == self.k or not self.fills_lists
            require(full, f"{query}: {listed.height} rows")
            require(not set(listed["item_id"]) & toy.seen_by(user), f"{query}: seen items")

    def test_scores_of_pairs_are_those_of_the_lists(
        self, generator: Generator, toy: ToyLog
    ) -> None:
        """Who scores pairs gives the numbers of its lists, in any order and any block."""
        fitted = generator.fit(toy.train)
        if not isinstance(fitted, Scoring):
            return
        listed = collected(fitted, toy.queries, 1000).join(toy.queries, on="query_id")
        mixed = listed.sample(fraction=1, shuffle=True, seed=5)
        pairs = mixed.select("query_id", "user_id", "item_id")
        scores = fitted.score(pairs)
        require(scores.dtype == pl.Float64, f"dtype of scores: {scores.dtype}")
        same(mixed.select("score"), scores.alias("score").to_frame())
        single = [fitted.score(pairs[row])[0] for row in range(50)]
        require(single == scores.head(50).to_list(), "other scores one by one")
        require(len(fitted.score(pairs.clear())) == 0, "scores of no pairs")
        strange = pl.DataFrame({"query_id": [1020, 1], "user_id": [1020, 1], "item_id": [1, 2000]})
        item, user = fitted.score(strange)
        require(item is None, "a score of an item without a train row")
        require(
            generator.serves_cold_users or user is None, "a score of a user without a train row"
        )

    @pytest.mark.parametrize("users", [[], [5001, 5002]])
    def test_nobody_or_only_strangers(
        self, generator: Generator, toy: ToyLog, users: list[int]
    ) -> None:
        """No queries, and users without a train row, are no error."""
        ids = {"query_id": users, "user_id": users}
        queries = pl.DataFrame(ids, schema={"query_id": pl.Int64, "user_id": pl.Int64})
        lists = collected(generator.fit(toy.train), queries, self.k)
        rows = len(users) * self.k if generator.serves_cold_users else 0
        right = lists.height == rows or (lists.height < rows and not self.fills_lists)
        require(right, f"{lists.height} rows, expected {rows}")
        require(lists.schema["item_id"] == pl.Int64, f"item_id: {lists.schema['item_id']}")

    def test_no_train_rows(self, generator: Generator, toy: ToyLog) -> None:
        """Nothing to learn from is a DataError that says so in words of its own."""
        rows = pl.LazyFrame(schema=toy.train.rows.collect_schema())
        with pytest.raises(DataError) as caught:
            generator.fit(toy.with_train(rows=rows).train)
        require(str(caught.value).strip(), "a DataError without a message")

    def test_one_train_row(self, generator: Generator, toy: ToyLog) -> None:
        """The smallest log there is gives lists of one item, or none where lists may end."""
        row = toy.train.rows.head(1)
        fitted = generator.fit(toy.with_train(rows=row, seen=None).train)
        lists = collected(fitted, toy.queries, self.k)
        require(lists.height or not self.fills_lists, "no list at all")
        require(set(lists["item_id"]) <= set(row.collect()["item_id"]), "another item")
        require(set(lists["rank"]) <= {1}, "ranks other than 1")

    def test_no_times(self, generator: Generator, toy: ToyLog) -> None:
        """A log without times gives the same lists, unless an option needs them.

        Who needs them raises a ConfigError in `fit`.
        """
        timeless = toy.with_train(rows=toy.train.rows.drop("timestamp"), end=None)
        first = collected(generator.fit(toy.train), toy.queries, self.k)
        try:
            fitted = generator.fit(timeless.train)
        except ConfigError as error:
            require(str(error).strip(), "a ConfigError without a message")
            return
        same(first, collected(fitted, toy.queries, self.k))
