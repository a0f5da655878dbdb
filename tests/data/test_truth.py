from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.truth import (
    GroundTruth,
    Policies,
    SeenRule,
    TrainingRule,
    Truth,
    apply_policies,
    find_relevant,
    train_rows,
)
from recoeval.errors import ConfigError, DataError

LOG = pl.LazyFrame(
    {
        "user_id": [1, 1, 1, 2, 2, 3, 3],
        "item_id": [10, 10, 11, 10, 12, 11, 13],
        "event": ["click", "click", "view", "click", None, "view", "click"],
        "dwell": [40, 90, 500, 31, 99, 20, None],
        "likes": [0, 2, 0, 1, 0, 0, 0],
    }
)
CLICK = "event = 'click'"


def pairs_of(rows: pl.LazyFrame, **rule: Any) -> list[tuple[Any, ...]]:
    return sorted(find_relevant(rows, GroundTruth(**rule), source="log.csv").pairs.rows())


# Which rows are relevant.


def test_relevant_pairs_are_distinct_and_a_null_result_is_counted():
    relevant = find_relevant(LOG, GroundTruth(relevant=CLICK), source="log.csv")
    assert sorted(relevant.pairs.rows()) == [(1, 10, 1.0), (2, 10, 1.0), (3, 13, 1.0)]
    assert relevant.pairs.schema == {
        "user_id": pl.Int64,
        "item_id": pl.Int64,
        "gain": pl.Float64,
    }
    # Row 5 has no event: whether it is a click is not known, so it is no click.
    assert relevant.counts == {
        "test_rows": 7,
        "rule_was_null": 1,
        "relevant_rows": 4,
        "relevant_pairs": 3,
    }


@pytest.mark.parametrize(
    ("rule", "pairs", "nulls"),
    [
        # null AND true is null, null AND false is false.
        (f"{CLICK} AND dwell > 30", [(1, 10), (2, 10)], 2),
        (f"{CLICK} OR dwell > 90", [(1, 10), (1, 11), (2, 10), (2, 12), (3, 13)], 0),
        ("event IS NULL", [(2, 12)], 0),
        ("COALESCE(dwell, 0) >= 99", [(1, 11), (2, 12)], 0),
        ("TRUE", [(1, 10), (1, 11), (2, 10), (2, 12), (3, 11), (3, 13)], 0),
        (None, [(1, 10), (1, 11), (2, 10), (2, 12), (3, 11), (3, 13)], 0),
    ],
)
def test_rules(rule, pairs, nulls):
    relevant = find_relevant(LOG, GroundTruth(relevant=rule), source="log.csv")
    assert sorted(relevant.pairs.select("user_id", "item_id").rows()) == pairs
    assert relevant.counts["rule_was_null"] == nulls


def test_a_gain_is_the_largest_of_the_rows_that_are_relevant():
    # User 1 liked item 10 at the second click; his view of item 11 is not relevant at all.
    gain = "CASE WHEN likes > 0 THEN 1 + likes ELSE 1 END"
    assert pairs_of(LOG, relevant=CLICK, gain=gain) == [
        (1, 10, 3.0),
        (2, 10, 2.0),
        (3, 13, 1.0),
    ]
    # Only rows of 30 s and more: the smaller gain of row 1 is not looked at.
    assert pairs_of(LOG, relevant="dwell > 89", gain="dwell / 10.0") == [
        (1, 10, 9.0),
        (1, 11, 50.0),
        (2, 12, 9.9),
    ]


def test_a_gain_may_be_a_constant_or_a_column_of_the_same_name():
    assert pairs_of(LOG, relevant="likes = 2", gain="2") == [(1, 10, 2.0)]
    log = LOG.with_columns(gain=pl.col("likes") * 10, relevant=False, weight=7)
    assert pairs_of(log, relevant="likes > 0", gain="gain") == [(1, 10, 20.0), (2, 10, 10.0)]
    assert pairs_of(log, relevant="likes > 0") == [(1, 10, 1.0), (2, 10, 1.0)]


@pytest.mark.parametrize("bad", [None, 0.0, -1.0, float("nan"), float("inf"), -float("inf")])
def test_a_gain_that_is_no_number_above_zero(bad):
    log = pl.LazyFrame(
        {"user_id": ["b", "a", "c"], "item_id": [1, 2, 3], "worth": [bad, 1.0, bad], "ok": True}
    )
    with pytest.raises(DataError) as error:
        pairs_of(log, relevant="ok", gain="worth")
    assert str(error.value) == (
        "ground_truth.gain: 2 rows have a gain that is null, not positive or infinite, "
        f"e.g. ('b', 1, {bad}), ('c', 3, {bad}) as (user_id, item_id, gain); a gain is > 0"
    )
    assert error.value.exit_code == 3
    # Rows that are not relevant may have any gain.
    assert pairs_of(log, relevant="user_id = 'a'", gain="worth") == [("a", 2, 1.0)]


def test_many_bad_gains_show_five():
    log = pl.LazyFrame({"user_id": range(9), "item_id": [0] * 9, "g": [0] * 9})
    with pytest.raises(
        DataError, match=r"^ground_truth\.gain: 9 rows .* \(4, 0, 0\.0\), \.\.\. as"
    ):
        pairs_of(log, gain="g")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("event = 'buy'", "\"event = 'buy'\", for 1 it is null"),
        ("likes > 5", "'likes > 5'"),
        ("FALSE", "'FALSE'"),
    ],
)
def test_a_rule_that_no_row_passes(rule, text):
    with pytest.raises(DataError) as error:
        pairs_of(LOG, relevant=rule)
    assert str(error.value) == (
        f"ground_truth.relevant: none of the 7 rows of the test window passes {text}"
    )


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({"relevant": "dwel > 30"}, "ground_truth.relevant"),
        ({"relevant": "dwell"}, "ground_truth.relevant"),
        ({"gain": "event"}, "ground_truth.gain"),
        ({"gain": "dwel"}, "ground_truth.gain"),
    ],
)
def test_bad_rules_name_their_place(rule, path):
    with pytest.raises(ConfigError) as error:
        pairs_of(LOG, **rule)
    assert [problem.path for problem in error.value.problems] == [path]


def test_another_place_in_the_configuration():
    with pytest.raises(DataError, match=r"^positives\.buy\.relevant: none of the 7 rows"):
        find_relevant(LOG, GroundTruth(relevant="FALSE"), source="log", path="positives.buy")


# Train rows.


def trained(training: dict[str, Any], truth: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = train_rows(LOG, TrainingRule(**training), GroundTruth(**truth), source="log.csv")
    return rows.select("user_id", "item_id", "weight").collect().rows()


def test_train_rows_are_by_default_what_the_truth_counts():
    expected = [(1, 10, 1.0), (1, 10, 1.0), (2, 10, 1.0), (3, 13, 1.0)]
    assert trained({}, {"relevant": CLICK}) == expected
    assert trained({"where": CLICK}, {"relevant": "likes > 0"}) == expected


def test_without_any_rule_all_rows_are_train_rows():
    assert len(trained({}, {})) == 7


def test_train_rows_keep_the_columns_of_the_log():
    rows = train_rows(
        LOG.with_columns(weight=99.0), TrainingRule(), GroundTruth(), source="log.csv"
    ).collect()
    assert rows.columns == ["user_id", "item_id", "event", "dwell", "likes", "weight"]
    # A column of that name is no weight unless training.weight says so.
    assert rows["weight"].unique().to_list() == [1.0]


def test_a_row_has_the_weight_of_its_expression():
    assert trained({"where": CLICK, "weight": "1 + likes / 2.0"}, {}) == [
        (1, 10, 1.0),
        (1, 10, 2.0),
        (2, 10, 1.5),
        (3, 13, 1.0),
    ]


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        ("likes", "2 rows have a weight that is null, not positive or infinite, e.g. (1, 10, 0.0)"),
        ("dwell - 31", "2 rows have a weight that is null, not positive or infinite, e.g. (2, 10"),
        ("1 / likes", "2 rows have a weight that is null, not positive or infinite, e.g. (1, 10, "),
    ],
)
def test_a_weight_that_is_no_number_above_zero(weight, text):
    with pytest.raises(DataError) as error:
        trained({"where": CLICK, "weight": weight}, {})
    assert str(error.value).startswith(f"training.weight: {text}")
    assert str(error.value).endswith("as (user_id, item_id, weight); a weight is > 0")


@pytest.mark.parametrize(
    ("training", "truth", "path"),
    [
        ({"where": "nope = 1"}, {}, "training.where"),
        ({}, {"relevant": "nope = 1"}, "ground_truth.relevant"),
        ({"weight": "event"}, {}, "training.weight"),
    ],
)
def test_bad_training_rules_name_the_rule_that_was_used(training, truth, path):
    with pytest.raises(ConfigError) as error:
        trained(training, truth)
    assert [problem.path for problem in error.value.problems] == [path]


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
    assert truth.queries.columns == ["query_id", "user_id"]
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


# Configuration.


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (GroundTruth, {"zero_relevant": "none"}),
        (GroundTruth, {"repeats": True}),
        (GroundTruth, {"rule": "TRUE"}),
        (Policies, {"relevant": "TRUE"}),
        (Policies, {"cold_users": "exclude"}),
        (TrainingRule, {"relevant": "TRUE"}),
        (SeenRule, {"window": "0d"}),
    ],
)
def test_other_values_are_refused(model, values):
    with pytest.raises(ValidationError) as error:
        model.model_validate(values)
    assert [problem["loc"] for problem in error.value.errors()] == [tuple(values)]
