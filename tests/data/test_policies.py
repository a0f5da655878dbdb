from datetime import UTC, datetime

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.policies import Policies, Truth, apply_policies
from recoeval.errors import ConfigError, DataError

# Policies. Users a and b have a train row, c has none; items 10..12 are warm, 19 is cold.

PAIRS = pl.LazyFrame(
    {
        "query_id": ["a1", "a1", "a2", "b1", "c1", "c1"],
        "item_id": [10, 19, 10, 11, 12, 19],
        "gain": [1.0, 2.0, 1.0, 1.0, 3.0, 1.0],
    }
)
QUERIES = pl.DataFrame(
    {"query_id": ["a1", "a2", "b1", "c1", "d1"], "user_id": ["a", "a", "b", "c", "d"]}
)
SEEN = pl.LazyFrame({"user_id": ["a", "b", "b"], "item_id": [10, 11, 77]})
WARM_USERS = pl.LazyFrame({"user_id": ["a", "a", "b"]})
WARM_ITEMS = pl.LazyFrame({"item_id": [10, 11, 12, 12]})


def applied(universe: pl.DataFrame | None = QUERIES, *, train: bool = True, **policies) -> Truth:
    return apply_policies(
        PAIRS,
        QUERIES,
        Policies(**policies),
        universe=universe,
        seen=SEEN if train else None,
        warm_users=WARM_USERS if train else None,
        warm_items=WARM_ITEMS if train else None,
    )


def left(truth: Truth) -> list[tuple[str, int]]:
    return truth.pairs.select("query_id", "item_id").rows()


ALL = [("a1", 10), ("a1", 19), ("a2", 10), ("b1", 11), ("c1", 12), ("c1", 19)]


@pytest.mark.parametrize(
    ("policies", "pairs", "dropped"),
    [
        ({"repeats": "include"}, ALL, {}),
        # What user a has seen leaves both of his queries; b has nothing left.
        ({}, [("a1", 19), ("c1", 12), ("c1", 19)], {"dropped_repeats": 3}),
        (
            {"repeats": "include", "cold_users": "drop"},
            ALL[:4],
            {"dropped_cold_users": 2},
        ),
        (
            {"repeats": "include", "cold_items": "drop"},
            [("a1", 10), ("a2", 10), ("b1", 11), ("c1", 12)],
            {"dropped_cold_items": 2},
        ),
        # A pair counts where it left first: c1's 19 is of a cold user already.
        (
            {"repeats": "include", "cold_users": "drop", "cold_items": "drop"},
            [("a1", 10), ("a2", 10), ("b1", 11)],
            {"dropped_cold_users": 2, "dropped_cold_items": 1},
        ),
        (
            {"cold_users": "drop"},
            [("a1", 19)],
            {"dropped_repeats": 3, "dropped_cold_users": 2},
        ),
        (
            {"cold_items": "drop"},
            [("c1", 12)],
            {"dropped_repeats": 3, "dropped_cold_items": 2},
        ),
    ],
)
def test_what_the_policies_drop(policies, pairs, dropped):
    truth = applied(**policies)
    assert left(truth) == pairs
    counted = {name: count for name, count in truth.counts.items() if name.startswith("dropped")}
    assert counted == dropped
    queries = sorted({query for query, _ in pairs})
    assert truth.queries["query_id"].to_list() == queries
    assert truth.counts["pairs"] == 6
    assert truth.counts["queries_with_pairs"] == 4
    assert truth.counts["truth_pairs"] == len(pairs)
    assert truth.counts["truth_queries"] == truth.counts["evaluated_queries"] == len(queries)
    assert truth.counts["zero_relevant_queries"] == 5 - len(queries)
    assert truth.counts["evaluated_users"] == len({query[0] for query in queries})
    default = {"zero_relevant": "skip", "repeats": "exclude"}
    default |= {"cold_users": "keep", "cold_items": "keep"}
    assert truth.policies == default | policies


def test_truth_keeps_its_gains_and_its_order():
    truth = applied(repeats="include")
    assert truth.pairs.columns == ["query_id", "item_id", "gain"]
    assert truth.pairs["gain"].to_list() == [1.0, 2.0, 1.0, 1.0, 3.0, 1.0]
    assert truth.queries.columns == ["query_id", "user_id", "query_time"]
    assert truth.queries["query_time"].null_count() == truth.queries.height
    shuffled = apply_policies(
        PAIRS.reverse(),
        QUERIES.reverse(),
        Policies(repeats="include"),
        universe=None,
        seen=None,
        warm_users=None,
        warm_items=None,
    )
    assert shuffled.pairs.equals(truth.pairs)
    assert shuffled.queries.equals(truth.queries)


@pytest.mark.parametrize("policy", ["zero", "one"])
def test_zero_relevant_queries_are_evaluated_as_well(policy):
    truth = applied(zero_relevant=policy)
    # a2 and b1 lost what they had to the repeats, d1 never had anything.
    assert truth.queries["query_id"].to_list() == ["a1", "a2", "b1", "c1", "d1"]
    assert truth.counts["zero_relevant_queries"] == 3
    assert truth.counts["truth_queries"] == 2
    assert truth.counts["evaluated_queries"] == 5
    assert truth.counts["evaluated_users"] == 4
    assert truth.policies["zero_relevant"] == policy


def test_queries_outside_the_universe_count_when_they_have_truth():
    truth = applied(QUERIES.filter(query_id="d1"), zero_relevant="zero", repeats="include")
    assert truth.queries["query_id"].to_list() == ["a1", "a2", "b1", "c1", "d1"]
    assert truth.counts["zero_relevant_queries"] == 1


def test_zero_relevant_skip_counts_the_universe_it_knows():
    assert applied(zero_relevant="skip").counts["zero_relevant_queries"] == 3
    assert "zero_relevant_queries" not in applied(None).counts


def test_zero_relevant_error():
    with pytest.raises(DataError) as error:
        applied(zero_relevant="error")
    assert str(error.value) == (
        "ground_truth.zero_relevant: 3 queries have no relevant item, e.g. 'a2', 'b1', 'd1'; "
        "zero_relevant: skip leaves them out"
    )
    truth = applied(QUERIES.filter(pl.col("query_id") != "d1"), zero_relevant="error", train=False)
    assert truth.counts["zero_relevant_queries"] == 0
    assert truth.counts["evaluated_queries"] == 4


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_a_query_has_one_user(policy):
    # d1 has no relevant item, a1 loses one of its two.
    for query in ("d1", "a1"):
        other = pl.DataFrame({"query_id": [query], "user_id": ["z"]})
        with pytest.raises(DataError) as error:
            applied(pl.concat([QUERIES, other]), zero_relevant=policy)
        assert str(error.value) == (
            f"queries.query_id: 1 queries belong to several users, e.g. '{query}'; "
            "a query has one user"
        )


@pytest.mark.parametrize("policy", ["zero", "one", "error"])
def test_zero_relevant_needs_a_universe(policy):
    with pytest.raises(ConfigError) as error:
        applied(None, zero_relevant=policy)
    assert str(error.value) == (
        f"policies.zero_relevant: '{policy}' needs to know all users: give users="
    )
    assert error.value.exit_code == 2


@pytest.mark.parametrize("repeats", ["exclude", "include"])
@pytest.mark.parametrize("cold", ["keep", "drop"])
def test_without_train_data_no_policy_about_the_past_applies(repeats, cold):
    truth = applied(None, train=False, repeats=repeats, cold_users=cold, cold_items=cold)
    assert left(truth) == ALL
    assert not [name for name in truth.counts if name.startswith("dropped")]
    assert truth.policies == {
        "zero_relevant": "skip",
        "repeats": "not applied",
        "cold_users": "not applied",
        "cold_items": "not applied",
    }


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_nothing_left_is_an_error_that_says_what_left(policy):
    with pytest.raises(DataError) as error:
        apply_policies(
            PAIRS.filter(query_id="b1"),
            QUERIES,
            Policies(zero_relevant=policy, cold_items="drop"),
            universe=QUERIES,
            seen=SEEN,
            warm_users=WARM_USERS,
            warm_items=WARM_ITEMS,
        )
    assert str(error.value) == (
        "ground_truth: no relevant pair is left: pairs 1, queries_with_pairs 1, "
        "dropped_repeats 1, dropped_cold_items 0, zero_relevant_queries 5"
    )


# Times and kinds.

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_queries_keep_their_times(policy):
    times = pl.Series("query_time", [NOON.replace(hour=hour) for hour in range(5)])
    timed = QUERIES.with_columns(times)
    truth = apply_policies(
        PAIRS,
        timed,
        Policies(zero_relevant=policy),
        universe=timed,
        seen=SEEN,
        warm_users=None,
        warm_items=None,
    )
    assert truth.queries.schema["query_time"] == pl.Datetime("us", "UTC")
    kept = timed if policy == "zero" else timed.filter(pl.col("query_id").is_in(["a1", "c1"]))
    assert truth.queries.equals(kept)


def test_kinds_are_those_of_the_pairs_that_are_left():
    kinds = PAIRS.collect().select("query_id", "item_id", label=pl.lit("click"))
    kinds = pl.concat([kinds, kinds.head(2).with_columns(label=pl.lit("buy")), kinds.head(1)])
    truth = apply_policies(
        PAIRS,
        QUERIES,
        Policies(cold_users="drop"),
        universe=None,
        seen=SEEN,
        warm_users=WARM_USERS,
        warm_items=WARM_ITEMS,
        kinds=kinds,
    )
    assert left(truth) == [("a1", 19)]
    assert truth.kinds is not None
    assert truth.kinds.rows() == [("a1", 19, "buy"), ("a1", 19, "click")]
    assert applied().kinds is None
    assert applied().kind_labels == ()


def test_a_kind_without_a_pair_is_known_all_the_same():
    kinds = PAIRS.collect().select("query_id", "item_id", label=pl.lit("click"))
    given = {"universe": None, "seen": SEEN, "warm_users": None, "warm_items": None}
    truth = apply_policies(
        PAIRS, QUERIES, Policies(), kinds=kinds, kind_labels=("view", "click"), **given
    )
    assert truth.kind_labels == ("view", "click")
    lost = pl.concat([kinds, kinds.head(1).with_columns(label=pl.lit("buy"))])
    truth = apply_policies(PAIRS, QUERIES, Policies(), kinds=lost, **given)
    # The only buy was seen before.
    assert truth.kind_labels == ("buy", "click")
    assert truth.kinds is not None
    assert truth.kinds["label"].unique().to_list() == ["click"]


@pytest.mark.parametrize("values", [{"relevant": "TRUE"}, {"cold_users": "exclude"}])
def test_other_values_are_refused(values):
    with pytest.raises(ValidationError) as error:
        Policies.model_validate(values)
    assert [problem["loc"] for problem in error.value.errors()] == [tuple(values)]
