from dataclasses import replace

import polars as pl
import pytest

import recoeval as rv
from recoeval.analysis.constraints import Constraint
from recoeval.analysis.results import by_generator, merge_folds
from recoeval.errors import ConfigError

TRUTH = pl.DataFrame({"user_id": [1, 1, 2, 3], "item_id": [7, 8, 7, 9]})
RECS = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [8, 5, 7], "rank": [1, 2, 1]})
NAMED = pl.concat(
    [
        RECS.with_columns(generator=pl.lit("pop")),
        RECS.filter(user_id=1).with_columns(generator=pl.lit("als")),
    ]
)
BUCKETS = {
    "size": {"by": "relevant_items", "edges": [2, 9]},
    "again": {"by": "relevant_items", "edges": [2]},
}


@pytest.mark.parametrize("names", ["", "a", "bba", "abab"])
def test_each_generator_comes_with_its_rows(names: str) -> None:
    table = pl.DataFrame({"generator": list(names), "row": range(len(names))}).cast(
        {"generator": pl.String}
    )
    found = {name: rows["row"].to_list() for name, rows in by_generator(table)}
    assert list(found) == list(dict.fromkeys(names))
    assert found == {
        name: [row for row, each in enumerate(names) if each == name] for name in names
    }


@pytest.fixture(scope="module")
def one() -> rv.Evaluation:
    return rv.evaluate(RECS, TRUTH, metrics=["recall", "coverage"], k=[1, 2], buckets=BUCKETS)


@pytest.fixture(scope="module")
def two() -> rv.Evaluation:
    return rv.evaluate(NAMED, TRUTH, metrics=["recall", "coverage"], k=[1])


def text_of(call, *arguments, **options) -> str:
    with pytest.raises(ConfigError) as error:
        call(*arguments, **options)
    assert error.value.exit_code == 2
    return str(error.value)


# Single numbers.


def test_one_generator_needs_no_name(one):
    # 1/2, 1/1 and 0/1.
    assert one.value("recall@1") == one.value("recall@1", "recs") == pytest.approx(1.5 / 3)
    assert one.value(" recall @ 2 ") == one.value("recall@2")
    assert isinstance(one.value("recall@1"), float)


def test_list_quality_is_the_ratio(one):
    assert one.value("coverage") == 2 / 3


def test_several_generators_need_one(two):
    assert two.value("recall@1", generator="als") == pytest.approx(0.5 / 3)
    assert two.value("recall@1", "pop") == pytest.approx(1.5 / 3)
    assert text_of(two.value, "recall@1") == "generator: which one? Choices: als, pop"
    assert two.generators == ("als", "pop")


def test_buckets_by_label_or_by_name_and_label(one):
    assert one.value("recall@1", bucket="[2,9)") == 0.5
    assert one.value("recall@1", bucket="size:[2,9)") == 0.5
    assert one.value("recall@1", bucket="again:[-inf,2)") == 0.5
    assert one.value("coverage", bucket="again:[-inf,2)") == 0.5
    assert one.value("recall@1", bucket="all") == one.value("recall@1")
    assert one.value("recall@1", bucket="all:all") == one.value("recall@1")


def test_an_empty_bucket_has_no_value(one):
    assert one.value("recall@1", bucket="[9,inf)") is None
    assert one.value("coverage", bucket="size:[9,inf)") is None


COMPUTED = "Choices: recall@1, recall@2, coverage"
# User 3 has no list, so that those with one are shown too.
PLACES = (
    "all:all, size:[-inf,2), size:[2,9), size:[9,inf), again:[-inf,2), again:[2,inf), served:served"
)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"metric": "recall@5"},
            f"metric: unknown metric 'recall@5'. Did you mean 'recall@2'? {COMPUTED}",
        ),
        (
            {"metric": "ndcg@2"},
            f"metric: unknown metric 'ndcg@2'. {COMPUTED}",
        ),
        (
            {"metric": "recall"},
            f"metric: unknown metric 'recall'. Did you mean 'recall@2'? {COMPUTED}",
        ),
        (
            {"metric": "recall@1", "generator": "rec"},
            "generator: unknown generator 'rec'. Did you mean 'recs'? Choices: recs",
        ),
        (
            {"metric": "recall@1", "bucket": "[-inf,2)"},
            "bucket: which one? Choices: size:[-inf,2), again:[-inf,2)",
        ),
        (
            {"metric": "recall@1", "bucket": "size:[2,8)"},
            f"bucket: unknown bucket 'size:[2,8)'. Did you mean 'size:[2,9)'? Choices: {PLACES}",
        ),
        (
            {"metric": "recall@1", "bucket": "heavy"},
            f"bucket: unknown bucket 'heavy'. Choices: {PLACES}",
        ),
    ],
)
def test_names_that_do_not_exist(one, arguments, text):
    assert text_of(one.value, **arguments) == text


PLACED = pl.DataFrame(
    {"user_id": [1, 2, 3], "c": ["y:z", "y:z", "q"], "d": ["w", "z", "w"], "e": ["d:w", "k", "k"]}
)


def placed(**columns: str) -> rv.Evaluation:
    buckets = {name: {"by": "column", "column": column} for name, column in columns.items()}
    return rv.evaluate(RECS, TRUTH, metrics=["recall"], k=[1], users=PLACED, buckets=buckets)


def test_a_text_that_two_buckets_have():
    found = placed(**{"x": "c", "x:y": "d"})
    # x and y:z is written as x:y and z is.
    assert text_of(found.value, "recall@1", bucket="x:y:z") == "bucket: which one? Choices: y:z, z"
    assert found.value("recall@1", bucket="y:z") == pytest.approx(1.5 / 2)
    assert found.value("recall@1", bucket="z") == 1
    assert found.value("recall@1", bucket="x:q") == found.value("recall@1", bucket="q") == 0


def test_a_label_that_is_the_text_of_another_bucket():
    found = placed(d="d", e="e")
    assert text_of(found.value, "recall@1", bucket="d:w") == "bucket: which one? Choices: w, e:d:w"
    assert found.value("recall@1", bucket="e:d:w") == 0.5
    assert found.value("recall@1", bucket="w") == 0.25


def test_a_bucket_without_a_text_of_its_own():
    found = placed(**{"x": "c", "x:y": "d", "y": "d"})
    assert text_of(found.value, "recall@1", bucket="x:y:z") == (
        "bucket: which one? Choices: 'y:z' of 'x' (in summary only), 'z' of 'x:y' (in summary only)"
    )
    assert found.value("recall@1", bucket="y:w") == 0.25


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"metric": 5}, "metric: expected text such as recall@10, got 5"),
        ({"metric": None}, "metric: expected text such as recall@10, got None"),
        ({"metric": "recall@1", "bucket": 5}, "bucket: expected text, got 5"),
        ({"metric": "recall@1", "bucket": ["all"]}, "bucket: expected text, got ['all']"),
        ({"metric": "recall@1", "generator": 5}, "generator: expected text, got 5"),
        ({"metric": "recall@1", "generator": ["recs"]}, "generator: expected text, got ['recs']"),
        ({"metric": "recall@1", "fold": 7}, "fold: unknown fold 7. Choices: 0"),
        ({"metric": "recall@1", "fold": [0]}, "fold: unknown fold [0]. Choices: 0"),
        ({"metric": "recall@1", "fold": False}, "fold: unknown fold False. Choices: 0"),
    ],
)
def test_names_that_are_no_texts(one, arguments, text):
    assert text_of(one.value, **arguments) == text


def test_a_text_that_is_no_metric(one):
    assert text_of(one.value, "recal@1").startswith("metric: unknown metric 'recal'.")


# Constraints.


@pytest.mark.parametrize(
    "constraint",
    [
        "recall@1 <= 0.9",
        {"metric": "recall@1", "max": 0.9},
        Constraint(metric="recall@1", max=0.9),
    ],
)
def test_constraints_in_any_form(one, constraint):
    for given in ([constraint], constraint, (constraint,)):
        (found,) = one.check(given).checks
        assert (found.constraint, found.generator) == ("recall@1 <= 0.9", "recs")


def test_verdicts_of_an_evaluation(one):
    assert one.check([]).outcome == "none"
    point = {"metric": "recall@1", "min": 0.5, "confidence": None}
    assert one.check([point, "coverage >= 0.5"]).outcome == "pass"
    # Three users tell little.
    assert one.check(["recall@1 >= 0.5"]).outcome == "inconclusive"
    verdict = one.check(["coverage >= 0.9"])
    assert (verdict.outcome, verdict.exit_code) == ("fail", 1)


def test_a_declared_bucket_without_users_is_inconclusive(one):
    constraint = {
        "metric": "recall@1",
        "bucket": "size",
        "match": "[9,inf)",
        "min": 0.0,
        "confidence": None,
    }
    (found,) = one.check([constraint]).checks
    assert (found.outcome, found.users, found.value) == ("inconclusive", 0, None)


def test_a_constraint_on_what_was_not_computed(one):
    assert text_of(one.check, ["coverage >= 0.5", "recall@5 >= 0.1"]) == (
        f"constraints.1.metric: recall@5 was not computed here. {COMPUTED}"
    )


def test_bad_constraints_name_their_place(one):
    text = text_of(one.check, ["coverage >= 0.5", {"metric": "recall@1"}, "recall@1 > 0.5"])
    places = [line.partition(": ")[0] for line in text.splitlines()]
    assert places == ["constraints.1", "constraints.2"]


@pytest.mark.parametrize("constraints", [None, 5, True, [5], [None]])
def test_constraints_that_are_none(one, constraints):
    (given,) = constraints if isinstance(constraints, list) else [constraints]
    shown = {None: "null", True: "true", 5: "5"}[given]
    assert text_of(one.check, constraints) == (f"constraints.0: expected a mapping, got {shown}")


def test_baselines_are_not_bound(two):
    bound = pl.DataFrame(two.summary)
    evaluation = rv.Evaluation(
        bound,
        two.per_query,
        two.hits,
        two.counts,
        two.definitions,
        two.measures,
        baselines=("als",),
    )
    verdict = evaluation.check(["coverage >= 0.5"])
    assert [found.generator for found in verdict.checks] == ["pop"]
    assert verdict.outcome == "pass"
    assert two.check(["coverage >= 0.5"]).outcome == "fail"


# Tables.


def test_per_user_is_the_mean_of_per_query(two):
    found = two.per_user
    keys = ["fold", "generator", "user_id", "relevant", "returned"]
    assert found.columns == [*keys, "recall@1", "coverage"]
    assert found.filter(generator="pop").select("user_id", "recall@1").rows() == [
        (1, 0.5),
        (2, 1.0),
        (3, 0.0),
    ]


# Several folds.


@pytest.fixture(scope="module")
def folds(one) -> rv.Evaluation:
    """Fold 0 as it was; fold 1 in which user 1 finds nothing, so that recall falls by 1 / 6."""
    other = rv.evaluate(
        RECS.filter(pl.col("item_id") != 8),
        TRUTH,
        metrics=["recall", "coverage"],
        k=[1, 2],
        buckets=BUCKETS,
    )
    later = pl.lit(1, pl.Int64).alias("fold")
    tables = ("summary", "per_query", "hits", "lost_pairs", "loss")
    moved = {name: getattr(other, name).with_columns(later) for name in tables}
    return merge_folds([one, replace(other, **moved, definitions={"cutoff": "later"})])


def test_several_folds_are_one_evaluation(one, folds):
    for name in ("summary", "per_query", "hits", "lost", "loss"):
        table = getattr(folds, name)
        assert table["fold"].unique().sort().to_list() == [0, 1]
        assert table.filter(fold=0).equals(getattr(one, name))
    assert folds.generators == ("recs",)
    assert folds.buckets == one.buckets
    assert folds.per_user.height == 6
    # What differs between folds is a list; counts are summed, and kept for each fold.
    assert folds.definitions["cutoff"] == [None, "later"]
    assert folds.counts["truth"]["truth_pairs"] == 8
    assert folds.counts["lists"]["recs"]["rows"] == 3 + 2
    assert [each["lists"]["recs"]["rows"] for each in folds.counts["folds"]] == [3, 2]


@pytest.mark.parametrize("name", ["channels", "overlap", "what_if", "funnel"])
def test_tables_of_channels_are_those_of_all_folds(one, name):
    table = getattr(one, name)
    assert table.is_empty()
    row = pl.DataFrame([{"fold": 0}], schema=table.schema)
    later = row.with_columns(fold=pl.lit(1, pl.Int64))
    parts = [replace(one, **{name: each}) for each in (row, later)]
    assert getattr(merge_folds(parts), name)["fold"].to_list() == [0, 1]


def test_no_fold_at_all():
    assert text_of(merge_folds, []) == "folds: expected the results of at least one fold"


def test_one_fold_is_that_fold(one):
    assert merge_folds([one]) is one
    assert one.folds.is_empty()


def test_values_are_the_mean_over_folds_unless_one_is_named(folds):
    assert folds.value("recall@1", fold=0) == pytest.approx(1.5 / 3)
    assert folds.value("recall@1", fold=1) == pytest.approx(1 / 3)
    assert folds.value("recall@1") == pytest.approx(2.5 / 6)
    assert folds.value("recall@1", bucket="size:[9,inf)") is None
    assert folds.value("recall@1", bucket="size:[2,9)") == 0.25
    assert text_of(folds.value, "recall@1", fold=2) == "fold: unknown fold 2. Choices: 0, 1"
    row = folds.folds.filter(metric="recall@1", bucket_by="all", statistic="macro").row(
        0, named=True
    )
    assert (row["folds"], row["min"], row["max"]) == (2, 1 / 3, 0.5)
    assert row["mean"] == folds.value("recall@1")
    assert row["sd"] == pytest.approx((1 / 6) / 2**0.5)


def test_a_constraint_holds_in_every_fold(folds):
    verdict = folds.check({"metric": "recall@1", "min": 0.4, "confidence": None})
    assert [(check.fold, check.outcome) for check in verdict.checks] == [(0, "pass"), (1, "fail")]
    assert verdict.outcome == "fail"
    assert len(verdict.outcomes) == 1
    kept = folds.check({"metric": "recall@1", "min": 0.3, "confidence": None})
    assert kept.outcome == "pass"


def test_labels_of_all_folds_are_known(one):
    other = replace(one, buckets={"size": ("[-inf,2)", "[2,3)"), "more": ("x",)})
    found = merge_folds([one, other]).buckets
    assert found["size"] == ("[-inf,2)", "[2,9)", "[9,inf)", "[2,3)")
    assert found["more"] == ("x",)


# Constraints on what is shown apart.


def test_a_bound_on_served_users(one):
    bound = {"metric": "recall@1", "bucket": "served", "min": 0.7, "confidence": None}
    # Users 1 and 2 have a list: (1/2 + 1) / 2.
    assert one.check(bound).checks[0].value == 0.75
    assert one.check(bound).outcome == "pass"
    everyone = rv.evaluate(RECS, TRUTH.filter(pl.col("user_id") < 3), metrics=["recall"], k=1)
    check = everyone.check(bound).checks[0]
    assert (check.bucket, check.value, check.users) == ("served", 0.75, 2)


def test_list_quality_is_not_split_by_what_is_relevant(one):
    bound = {"metric": "coverage", "bucket": "served", "min": 0.5}
    assert text_of(one.check, bound) == (
        "constraints.0.bucket: coverage is not split by served: choose a metric of relevant items"
    )
