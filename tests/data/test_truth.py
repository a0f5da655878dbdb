from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.truth import (
    GroundTruth,
    Relevant,
    SeenRule,
    TrainingRule,
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


# Gains that are numbers.


@pytest.mark.parametrize("gain", [2, 2.0, "2"])
def test_a_gain_may_be_a_number(gain):
    assert pairs_of(LOG, relevant=CLICK, gain=gain) == [(1, 10, 2.0), (2, 10, 2.0), (3, 13, 2.0)]


@pytest.mark.parametrize("gain", [0, -1, True, float("nan"), float("inf")])
def test_a_gain_that_is_a_number_is_above_zero(gain):
    with pytest.raises(ValidationError):
        GroundTruth(gain=gain)
    with pytest.raises(ValidationError):
        GroundTruth(positives={"buy": {"where": CLICK, "gain": gain}})


# Several kinds of positives.

KINDS = {
    "click": {"where": CLICK},
    "like": {"where": "likes > 0", "gain": "1 + likes"},
    "long": {"where": "dwell > 95", "gain": 2},
}


def found(rows: pl.LazyFrame = LOG, **rule: Any) -> Relevant:
    return find_relevant(rows, GroundTruth(**rule), source="log.csv")


def test_the_truth_is_the_union_of_the_kinds_and_the_gain_the_largest():
    relevant = found(positives=KINDS)
    # (1, 10) is clicked for 1 and liked for 3; (1, 11) and (2, 12) are long views.
    assert sorted(relevant.pairs.rows()) == [
        (1, 10, 3.0),
        (1, 11, 2.0),
        (2, 10, 2.0),
        (2, 12, 2.0),
        (3, 13, 1.0),
    ]
    assert relevant.kinds is not None
    assert sorted(relevant.kinds.rows()) == [
        (1, 10, "click"),
        (1, 10, "like"),
        (1, 11, "long"),
        (2, 10, "click"),
        (2, 10, "like"),
        (2, 12, "long"),
        (3, 13, "click"),
    ]
    assert relevant.kinds.columns == ["user_id", "item_id", "label"]
    # Row 5 is no click that we know of, but a long view; row 7 is a click of unknown length.
    assert relevant.counts == {
        "test_rows": 7,
        "rule_was_null": 0,
        "relevant_rows": 6,
        "relevant_pairs": 5,
        "relevant_rows[click]": 4,
        "relevant_pairs[click]": 3,
        "relevant_rows[like]": 2,
        "relevant_pairs[like]": 2,
        "relevant_rows[long]": 2,
        "relevant_pairs[long]": 2,
        "kinds_without_pairs": 0,
    }


def test_a_row_that_no_kind_knows_is_counted_as_null():
    # Row 5: the event is null and the likes are 0; row 7: a click, whatever its dwell.
    relevant = found(positives={"click": {"where": CLICK}, "like": {"where": "likes > 0"}})
    assert relevant.counts["rule_was_null"] == 1


def test_a_kind_without_pairs_is_counted():
    relevant = found(positives={"click": {"where": CLICK}, "buy": {"where": "event = 'buy'"}})
    assert relevant.counts["kinds_without_pairs"] == 1
    assert relevant.counts["relevant_pairs[buy]"] == 0
    assert relevant.kinds is not None
    assert relevant.kinds["label"].unique().to_list() == ["click"]


def test_one_kind_is_the_rule_alone_with_a_name():
    alone, named = found(relevant=CLICK), found(positives={"click": {"where": CLICK}})
    assert sorted(named.pairs.rows()) == sorted(alone.pairs.rows())
    assert alone.kinds is None
    assert named.kinds is not None
    assert named.kinds.height == named.pairs.height


def test_kinds_of_which_no_row_is():
    with pytest.raises(DataError) as error:
        found(positives={"buy": {"where": "event = 'buy'"}, "love": {"where": "likes > 9"}})
    assert str(error.value) == (
        "ground_truth.positives: none of the 7 rows of the test window passes "
        "\"(event = 'buy') OR (likes > 9)\", for 1 it is null"
    )


def test_bad_kinds_name_their_place():
    with pytest.raises(ConfigError, match=r"^ground_truth\.positives\.buy\.where: unknown column"):
        found(positives={"click": {"where": CLICK}, "buy": {"where": "evnt = 'buy'"}})
    with pytest.raises(ConfigError, match=r"^ground_truth\.positives\.buy\.where: expected true"):
        found(positives={"buy": {"where": "likes + 1"}})
    with pytest.raises(ConfigError, match=r"^ground_truth\.positives\.buy\.gain: expected a num"):
        found(positives={"buy": {"where": CLICK, "gain": "event"}})
    with pytest.raises(DataError) as error:
        found(positives={"click": {"where": CLICK}, "buy": {"where": "likes < 1", "gain": "likes"}})
    assert str(error.value) == (
        "ground_truth.positives.buy.gain: 5 rows have a gain that is null, not positive or "
        "infinite, e.g. (1, 10, 0.0), (1, 11, 0.0), (2, 12, 0.0), (3, 11, 0.0), (3, 13, 0.0) "
        "as (user_id, item_id, gain); a gain is > 0"
    )


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            {"positives": {"buy": {"where": CLICK}}, "relevant": CLICK},
            "positives stand alone: move relevant and gain into one of them",
        ),
        (
            {"positives": {"buy": {"where": CLICK}}, "gain": 2},
            "positives stand alone: move relevant and gain into one of them",
        ),
        ({"positives": {}}, "at least 1 item"),
        ({"positives": {"buy": {}}}, "Field required"),
        ({"positives": {"all": {"where": CLICK}}}, "'all' cannot be the name of a kind"),
        ({"positives": {"any": {"where": CLICK}}}, "'any' cannot be the name of a kind"),
        ({"positives": {" ": {"where": CLICK}}}, "' ' cannot be the name of a kind"),
        ({"horizon": "0d"}, "greater than 0"),
    ],
)
def test_kinds_that_are_refused(rule, text):
    with pytest.raises(ValidationError, match=text):
        GroundTruth(**rule)


def test_train_rows_are_by_default_what_any_kind_counts():
    kinds = {"like": {"where": "likes > 0"}, "long": {"where": "dwell > 95"}}
    # Row 7 has no dwell and no like: null, so no train row.
    assert [row[:2] for row in trained({}, {"positives": kinds})] == [
        (1, 10),
        (1, 11),
        (2, 10),
        (2, 12),
    ]
    assert trained({"where": "FALSE"}, {"positives": kinds}) == []


def test_the_text_of_the_rule():
    assert GroundTruth().rule is None
    assert GroundTruth(relevant="a").rule == "a"
    assert GroundTruth(positives={"x": {"where": "a"}}).rule == "a"
    both = GroundTruth(positives={"x": {"where": "a"}, "y": {"where": "b OR c"}})
    assert both.rule == "(a) OR (b OR c)"


# Horizons. Everybody asks at noon of the 5th; the test window ends before 18:00.

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
TIMED = pl.DataFrame(
    {
        "user_id": [1, 1, 1, 2, 2, 3],
        "item_id": [10, 11, 12, 10, 13, 14],
        "timestamp": [NOON + timedelta(hours=h) for h in (0, 1, 5, 2, 6, 7)],
        "event": ["click", "click", "click", "buy", "buy", "buy"],
    },
    schema_overrides={"timestamp": pl.Datetime("us", "UTC")},
).lazy()
INSIDE = TIMED.filter(pl.col("timestamp") < NOON + timedelta(hours=6))
LATER = TIMED.filter(pl.col("timestamp") >= NOON + timedelta(hours=6))


def within(query_time: Any = NOON, **rule: Any) -> Relevant:
    truth = GroundTruth(**rule)
    return find_relevant(INSIDE, truth, source="log", query_time=query_time, later=LATER)


@pytest.mark.parametrize(
    ("horizon", "expected", "outside"),
    [
        # Without a horizon the test window decides, and what comes later does not count.
        (None, [(1, 10), (1, 11), (1, 12), (2, 10)], None),
        # [query time, query time + horizon): a row at its end is outside.
        ("1h", [(1, 10)], 3),
        ("3h", [(1, 10), (1, 11), (2, 10)], 1),
        # Beyond the test window, where the log goes on.
        ("6h", [(1, 10), (1, 11), (1, 12), (2, 10)], 0),
        ("21601s", [(1, 10), (1, 11), (1, 12), (2, 10), (2, 13)], 0),
        ("7d", [(1, 10), (1, 11), (1, 12), (2, 10), (2, 13), (3, 14)], 0),
    ],
)
def test_a_horizon_counts_from_the_query(horizon, expected, outside):
    relevant = within(horizon=horizon)
    assert sorted(relevant.pairs.select("user_id", "item_id").rows()) == expected
    assert relevant.counts.get("outside_horizon") == outside
    assert relevant.counts["test_rows"] == 4


def test_each_kind_has_its_horizon_and_else_that_of_the_truth():
    kinds = {"click": {"where": CLICK}, "buy": {"where": "event = 'buy'", "horizon": "7d"}}
    relevant = within(positives=kinds, horizon="1h")
    assert relevant.kinds is not None
    assert sorted(relevant.kinds.rows()) == [
        (1, 10, "click"),
        (2, 10, "buy"),
        (2, 13, "buy"),
        (3, 14, "buy"),
    ]
    # The clicks of one hour and of five hours later.
    assert relevant.counts["outside_horizon"] == 2
    # Without a horizon of the truth clicks have the test window.
    assert within(positives=kinds).counts["relevant_rows[click]"] == 3


def test_users_ask_at_times_of_their_own():
    times = pl.DataFrame(
        {"user_id": [1, 2], "query_time": [NOON + timedelta(hours=1), NOON]},
        schema_overrides={"query_time": pl.Datetime("us", "UTC")},
    )
    relevant = within(times, horizon="4h")
    # User 1 asks at 13:00: the row of noon is before, that of 17:00 at the end.
    assert sorted(relevant.pairs.select("user_id", "item_id").rows()) == [(1, 11), (2, 10)]


def test_a_horizon_within_the_test_window():
    relevant = find_relevant(
        INSIDE, GroundTruth(horizon="3h"), source="log", query_time=NOON, later=None
    )
    assert sorted(relevant.pairs.select("user_id", "item_id").rows()) == [(1, 10), (1, 11), (2, 10)]


def test_a_horizon_needs_times():
    with pytest.raises(ConfigError) as error:
        within(None, horizon="1h")
    assert str(error.value) == "ground_truth.horizon: a horizon needs a split by time"
    with pytest.raises(ConfigError):
        find_relevant(LOG, GroundTruth(horizon="1h"), source="log", query_time=NOON)


def test_a_horizon_that_leaves_nothing():
    with pytest.raises(DataError) as error:
        within(NOON + timedelta(hours=3), relevant="event = 'buy'", horizon="1h")
    assert str(error.value) == (
        "ground_truth.relevant: none of the 4 rows of the test window passes \"event = 'buy'\", "
        "1 pass it outside the horizon"
    )


# Configuration.


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (GroundTruth, {"zero_relevant": "none"}),
        (GroundTruth, {"repeats": True}),
        (GroundTruth, {"rule": "TRUE"}),
        (TrainingRule, {"relevant": "TRUE"}),
        (SeenRule, {"window": "0d"}),
    ],
)
def test_other_values_are_refused(model, values):
    with pytest.raises(ValidationError) as error:
        model.model_validate(values)
    assert [problem["loc"] for problem in error.value.errors()] == [tuple(values)]
