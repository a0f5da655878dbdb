"""What every generator promises, whatever it learns. A new type is tested by being registered."""

from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.errors import DataError
from recoeval.generators import GENERATORS, Generator

K = 20
# Read lists made elsewhere: neither trained, nor filtered, nor cut here.
FILES = {"precomputed"}
TRAINED = sorted(set(GENERATORS) - FILES)


@pytest.fixture(params=TRAINED)
def generator(request: pytest.FixtureRequest) -> Generator:
    return GENERATORS[request.param]()


@pytest.fixture(params=sorted(GENERATORS))
def any_generator(request: pytest.FixtureRequest, tmp_path: Path, toy) -> Generator:
    if request.param not in FILES:
        return GENERATORS[request.param]()
    lists = toy.queries.select("query_id").join(
        pl.DataFrame({"item_id": [2003, 2001, 2002], "rank": [1, 2, 3], "score": [3.0, 2.0, 1.0]}),
        how="cross",
    )
    lists.write_parquet(tmp_path / "lists.parquet")
    return GENERATORS[request.param](path=str(tmp_path / "lists.parquet"))


def served(generator: Generator, toy) -> pl.DataFrame:
    """Returns the queries that the generator's flags promise a list."""
    if generator.serves_cold_users:
        return toy.queries
    known = toy.train.rows.select("user_id").unique().collect()
    return toy.queries.join(known, on="user_id", how="semi")


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_registered_under_its_type(name):
    assert GENERATORS[name].model_fields["type"].default == name


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_every_option_is_explained(name):
    fields = GENERATORS[name].model_fields
    assert [field for field, info in fields.items() if not info.description] in ([], ["type"])


def test_frozen_and_strict(any_generator):
    with pytest.raises(ValidationError):
        any_generator.type = "other"
    with pytest.raises(ValidationError):
        type(any_generator).model_validate({**any_generator.model_dump(), "factrs": 3})


def test_schema(any_generator, toy):
    lists = any_generator.fit(toy.train).recommend(toy.queries, K)
    assert dict(lists.collect_schema()) == {
        "query_id": pl.Int64,
        "item_id": pl.Int64,
        "rank": pl.Int64,
        "score": pl.Float64,
    }


def test_text_ids_stay_text(generator, toy_of_texts):
    lists = generator.fit(toy_of_texts.train).recommend(toy_of_texts.queries, K).collect()
    assert lists.schema["query_id"] == lists.schema["item_id"] == pl.String
    assert lists.height > 0


def test_same_seed_same_lists(generator, toy, recommend, equal):
    first = recommend(generator.fit(toy.train), toy.queries, K)
    equal(first, recommend(generator.fit(toy.train), toy.queries, K))


@pytest.mark.parametrize("k", [1, K, 1000])
def test_blocks_do_not_matter(any_generator, toy, recommend, equal, k):
    fitted = any_generator.fit(toy.train)
    whole = recommend(fitted, toy.queries, k)
    parts = [recommend(fitted, toy.queries[start::7], k) for start in range(7)]
    equal(whole, pl.concat(parts).sort("query_id", "rank"))
    single = [recommend(fitted, toy.queries[row], k) for row in range(toy.queries.height)]
    equal(whole, pl.concat(single).sort("query_id", "rank"))


def test_order_of_queries_does_not_matter(any_generator, toy, recommend, equal):
    fitted = any_generator.fit(toy.train)
    equal(
        recommend(fitted, toy.queries, K),
        recommend(fitted, toy.queries.sample(fraction=1, shuffle=True, seed=5), K),
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_order_of_train_rows_does_not_matter(generator, toy, recommend, equal, seed):
    def shuffled(frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.collect().sample(fraction=1, shuffle=True, seed=seed).lazy()

    other = toy.with_train(rows=shuffled(toy.train.rows), seen=shuffled(toy.train.seen))
    equal(
        recommend(generator.fit(toy.train), toy.queries, K),
        recommend(generator.fit(other.train), toy.queries, K),
    )


def test_integer_and_text_ids_give_the_same_lists(generator, toy, toy_of_texts, recommend, equal):
    numbers = recommend(generator.fit(toy.train), toy.queries, K)
    texts = recommend(generator.fit(toy_of_texts.train), toy_of_texts.queries, K)
    equal(numbers.with_columns(pl.col("query_id", "item_id").cast(pl.String)), texts)


@pytest.mark.parametrize("k", [1, K, 59, 60, 61, 1000])
def test_lists_are_unseen_distinct_and_full(generator, toy, recommend, k):
    lists = recommend(generator.fit(toy.train), toy.queries, k)
    by_query = {key[0]: part for key, part in lists.partition_by("query_id", as_dict=True).items()}
    assert set(by_query) <= set(served(generator, toy)["query_id"])
    for query, user in served(generator, toy).iter_rows():
        unseen = toy.catalogue - toy.seen_by(user)
        part = by_query.get(query, lists.clear())
        assert part["rank"].to_list() == list(range(1, min(k, len(unseen)) + 1))
        assert part["item_id"].is_unique().all()
        assert set(part["item_id"]) <= unseen
        assert part["score"].is_sorted(descending=True)


@pytest.mark.parametrize("k", [K, 1000])
def test_equal_scores_are_ordered_by_item(generator, toy, recommend, k):
    lists = recommend(generator.fit(toy.train), toy.queries, k)
    ordered = lists.sort("query_id", "score", "item_id", descending=[False, True, False])
    assert ordered["item_id"].to_list() == lists["item_id"].to_list()


def test_without_seen_pairs_train_items_come_again(generator, toy, recommend, equal):
    never = toy.with_train(seen=None)
    lists = recommend(generator.fit(never.train), toy.queries, 1000)
    lengths = lists.group_by("query_id").len()
    assert set(lengths["query_id"]) == set(served(generator, toy)["query_id"])
    assert set(lengths["len"]) == {len(toy.catalogue)}
    empty = toy.with_train(seen=toy.train.seen.clear())
    equal(lists, recommend(generator.fit(empty.train), toy.queries, 1000))


def test_seen_pairs_may_repeat(generator, toy, recommend, equal):
    twice = toy.with_train(seen=pl.concat([toy.train.seen, toy.train.seen]))
    equal(
        recommend(generator.fit(toy.train), toy.queries, K),
        recommend(generator.fit(twice.train), toy.queries, K),
    )


def test_users_of_the_train_rows_that_nobody_asks_for(generator, toy, recommend, equal):
    fitted = generator.fit(toy.train)
    some = toy.queries.filter(pl.col("user_id").is_in([1003, 1030]))
    whole = recommend(fitted, toy.queries, K)
    equal(recommend(fitted, some, K), whole.filter(pl.col("query_id").is_in([1003, 1030])))


def test_several_queries_of_a_user(generator, toy, recommend):
    queries = pl.DataFrame({"query_id": ["a", "b", "c"], "user_id": [1020, 1021, 1020]})
    lists = recommend(generator.fit(toy.train), queries, K)
    assert set(lists["query_id"]) == {"a", "b", "c"}
    for query, user in queries.iter_rows():
        listed = lists.filter(pl.col("query_id") == query)
        assert listed.height == K
        assert not set(listed["item_id"]) & toy.seen_by(user)


@pytest.mark.parametrize("users", [[], [5001, 5002]])
def test_nobody_or_only_strangers(generator, toy, recommend, users):
    queries = pl.DataFrame(
        {"query_id": users, "user_id": users}, schema={"query_id": pl.Int64, "user_id": pl.Int64}
    )
    lists = recommend(generator.fit(toy.train), queries, K)
    assert lists.height == (len(users) * K if generator.serves_cold_users else 0)
    assert lists.schema["item_id"] == pl.Int64


def test_no_train_rows(generator, toy):
    with pytest.raises(DataError, match=r"no train rows to learn from: .*training\.where"):
        generator.fit(toy.with_train(rows=toy.train.rows.clear()).train)


def test_one_train_row(generator, toy, recommend):
    row = toy.train.rows.head(1)
    lists = recommend(generator.fit(toy.with_train(rows=row, seen=None).train), toy.queries, K)
    assert set(lists["item_id"]) == set(row.collect()["item_id"])
    assert set(lists["rank"]) == {1}


def test_no_times(generator, toy, recommend, equal):
    timeless = toy.with_train(rows=toy.train.rows.drop("timestamp"), end=None)
    equal(
        recommend(generator.fit(toy.train), toy.queries, K),
        recommend(generator.fit(timeless.train), toy.queries, K),
    )


def test_inputs_stay_as_they_were(any_generator, toy, equal):
    rows, seen = toy.train.rows.collect(), toy.train.seen.collect()
    queries = toy.queries.clone()
    fitted = any_generator.fit(toy.with_train(rows=rows.lazy(), seen=seen.lazy()).train)
    fitted.recommend(queries, K).collect()
    equal(rows, toy.train.rows.collect())
    equal(seen, toy.train.seen.collect())
    equal(queries, toy.queries)


def test_recommend_twice(any_generator, toy, recommend, equal):
    fitted = any_generator.fit(toy.train)
    equal(recommend(fitted, toy.queries, K), recommend(fitted, toy.queries, K))


def test_flags(any_generator):
    assert isinstance(any_generator.serves_cold_users, bool)
    assert isinstance(any_generator.serves_cold_items, bool)
    assert any_generator.block is None or any_generator.block >= 1
