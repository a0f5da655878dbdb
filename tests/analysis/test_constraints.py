import json
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError
from scipy import stats

from recoeval.analysis.constraints import Constraint, constrained_measures, read_constraints
from recoeval.analysis.verdict import Verdict, check_constraints
from recoeval.columns import SUMMARY_SCHEMA
from recoeval.errors import ConfigError


def row(
    value: float | None,
    error: float | None = 0.01,
    *,
    generator: str = "als",
    bucket: str = "all",
    metric: str = "recall@100",
    users: int = 100,
    statistic: str = "macro",
) -> dict[str, Any]:
    """Returns a row of SUMMARY; `error` is the standard error of the mean."""
    half = None
    if value is not None and error is not None:
        half = stats.t.ppf(0.975, users - 1) * error
    return {
        "fold": 0,
        "generator": generator,
        "bucket_by": "all" if bucket == "all" else "activity",
        "bucket": bucket,
        "metric": metric,
        "name": metric.partition("@")[0],
        "k": 100,
        "statistic": statistic,
        "queries": users,
        "users": users,
        "value": value,
        "ci_low": None if half is None else value - half,
        "ci_high": None if half is None else value + half,
        "too_few_users": False,
    }


def check(constraint: Any, *rows: dict[str, Any], **options: Any) -> Verdict:
    found = constraint if isinstance(constraint, list) else [constraint]
    summary = pl.DataFrame(rows, schema=SUMMARY_SCHEMA)
    return check_constraints(
        [Constraint.model_validate(each) for each in found], summary, **options
    )


def problems(constraint: Any, *rows: dict[str, Any], **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as error:
        check(constraint, *rows, **options)
    return str(error.value).splitlines()


# How constraints are written.


@pytest.mark.parametrize(
    ("text", "metric", "least", "most"),
    [
        ("recall@100 >= 0.15", "recall@100", 0.15, None),
        ("recall@100<=0.15", "recall@100", None, 0.15),
        ("  duplicate_share <= 0  ", "duplicate_share", None, 0.0),
        ("ndcg(gain=exponential)@10 >= 1e-3", "ndcg(gain=exponential)@10", 0.001, None),
        ("recall@100 >= -1", "recall@100", -1.0, None),
    ],
)
def test_a_constraint_is_a_text(text, metric, least, most):
    found = Constraint.model_validate(text)
    assert (found.metric, found.min, found.max) == (metric, least, most)
    assert (found.confidence, found.severity, found.match) == (0.95, "error", "all")
    assert (found.generators, found.bucket) == (None, None)


def test_a_constraint_is_a_mapping():
    found = Constraint.model_validate(
        {
            "metric": "recall@100",
            "generators": ["als"],
            "bucket": "activity",
            "match": "[1,50)",
            "min": 0.05,
            "max": 0.5,
            "confidence": None,
            "severity": "warn",
        }
    )
    assert found.generators == ("als",)
    assert found.text == "recall@100 >= 0.05 and <= 0.5 in [1,50) of activity, by its value"


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ("recall@100 >= 0.15", "recall@100 >= 0.15"),
        ("recall@100 <= 1", "recall@100 <= 1"),
        # Two bounds that are decided differently are two constraints.
        ({"metric": "mrr@5", "min": 0.1, "confidence": 0.9}, "mrr@5 >= 0.1, at 90%"),
        ({"metric": "mrr@5", "min": 0.1, "confidence": 0.95}, "mrr@5 >= 0.1"),
        (
            {"metric": "recall@100", "bucket": "activity", "min": 0.05},
            "recall@100 >= 0.05 in all buckets of activity",
        ),
        (
            {"metric": "recall@100", "bucket": "activity", "match": "any", "min": 0.05},
            "recall@100 >= 0.05 in any bucket of activity",
        ),
    ],
)
def test_a_constraint_in_words(constraint, text):
    assert Constraint.model_validate(constraint).text == text


@pytest.mark.parametrize(
    "written",
    [
        {"metric": "recall@100", "min": 0.15},
        {"confidence": None, "max": 0.2, "metric": "recall@100"},
        {"confidence": 0.95, "metric": "recall@100", "min": 0.15, "severity": "error"},
    ],
)
def test_a_constraint_is_written_with_what_was_given(written):
    # A confidence of null is not the same as none given.
    assert Constraint.model_validate(written).model_dump() == written


def test_constraints_are_read_all_at_once():
    single = read_constraints({"metric": "recall@100", "min": 0.15})
    assert single == read_constraints(["recall@100 >= 0.15"]) == read_constraints(single[0])
    assert read_constraints([]) == ()
    with pytest.raises(ConfigError) as error:
        read_constraints(["recall@100 > 1", "recall@100 >= 1", {"metrc": "recall@100", "min": 1}])
    assert str(error.value).splitlines() == [
        f"constraints.0: {FORM}'recall@100 > 1'",
        "constraints.2.metrc: unknown key 'metrc'. Did you mean 'metric'?",
    ]


FORM = "expected metric@K >= number or metric@K <= number, got "


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ("recall@100 > 0.15", f"{FORM}'recall@100 > 0.15'"),
        ("recall@100 == 0.15", f"{FORM}'recall@100 == 0.15'"),
        ("recall@100", f"{FORM}'recall@100'"),
        (">= 0.15", f"{FORM}'>= 0.15'"),
        ("recall@100 >=", f"{FORM}'recall@100 >='"),
        ("recall@100 >= 0.15 always", f"{FORM}'recall@100 >= 0.15 always'"),
        ("recall@100 >= 15%", "expected a number after >=, got '15%'"),
        ("recall@100 <= much", "expected a number after <=, got 'much'"),
        ({"metric": "recall@100"}, "expected a bound: min or max"),
        ({"metric": "recall@100", "min": None}, "expected a bound: min or max"),
        ({"metric": "recall@100", "min": 0.5, "max": 0.25}, "no value is >= 0.5 and <= 0.25"),
        (
            {"metric": "recall@100", "min": 0.5, "match": "any"},
            "match chooses among buckets: give bucket as well",
        ),
    ],
)
def test_constraints_that_say_nothing(constraint, text):
    with pytest.raises(ValidationError) as error:
        Constraint.model_validate(constraint)
    assert [str(each["ctx"]["error"]) for each in error.value.errors()] == [text]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("min", float("nan")),
        ("max", float("inf")),
        ("min", "0.1"),
        ("confidence", 0.5),
        ("confidence", 1),
        ("confidence", "0.95"),
        ("severity", "fatal"),
        ("generators", []),
        ("level", 0.1),
    ],
)
def test_values_that_are_refused(key, value):
    with pytest.raises(ValidationError) as error:
        Constraint.model_validate({"metric": "recall@100", "min": 0.1, "max": 0.2, key: value})
    assert {each["loc"][0] for each in error.value.errors()} == {key}


def test_a_text_with_a_bound_that_is_not_finite():
    with pytest.raises(ValidationError, match="finite"):
        Constraint.model_validate("recall@100 >= nan")


# Which metrics they need.


def test_metrics_of_constraints_in_order():
    found = constrained_measures(
        [
            Constraint.model_validate(text)
            for text in ("recall@100 >= 0", "coverage >= 1", "recall@5 >= 0", "recall@100 <= 1")
        ]
    )
    labels = [measure.label for measure in found]
    assert labels == ["recall@100", "coverage", "recall@5", "recall@100"]


def test_all_bad_metrics_of_constraints_are_named_at_once():
    texts = ["recal@5 >= 0", "coverage >= 1", "ndcg >= 0.1"]
    constraints: list[Any] = [Constraint.model_validate(text) for text in texts]
    constraints += [
        Constraint(metric=metric, max=0.0, confidence=0.9)
        for metric in ("duplicate_share", "seen_share@5")
    ]
    with pytest.raises(ConfigError) as error:
        constrained_measures(constraints)
    first, *others = str(error.value).splitlines()
    assert first.startswith("constraints.0.metric: unknown metric 'recal'. Did you mean 'recall'?")
    reason = "has no interval, its point value decides: remove confidence"
    assert others == [
        "constraints.2.metric: ndcg needs a K: write ndcg@10",
        f"constraints.3.confidence: duplicate_share {reason}",
        f"constraints.4.confidence: seen_share {reason}",
    ]


def test_the_point_value_may_be_asked_for_where_there_is_no_interval():
    constraint = Constraint(metric="coverage", min=1.0, confidence=None)
    assert [measure.label for measure in constrained_measures([constraint])] == ["coverage"]


# Decisions.


@pytest.mark.parametrize("confidence", [0.95, 0.9, 0.99])
def test_bounds_are_one_sided_at_the_confidence(confidence):
    constraint = {"metric": "recall@100", "min": 0.15, "confidence": confidence}
    (found,) = check(constraint, row(0.2, 0.01)).checks
    reach = stats.t.ppf(confidence, 99) * 0.01
    assert (found.low, found.high) == pytest.approx((0.2 - reach, 0.2 + reach), rel=0, abs=1e-12)
    assert (found.value, found.users) == (0.2, 100)


REACH = stats.t.ppf(0.95, 99) * 0.01
A_BIT = 1e-9


@pytest.mark.parametrize(
    ("bound", "value", "outcome"),
    [
        (">=", 0.15 + REACH + A_BIT, "pass"),
        (">=", 0.15 + REACH - A_BIT, "inconclusive"),
        (">=", 0.15, "inconclusive"),
        (">=", 0.15 - REACH + A_BIT, "inconclusive"),
        (">=", 0.15 - REACH - A_BIT, "fail"),
        ("<=", 0.15 - REACH - A_BIT, "pass"),
        ("<=", 0.15 - REACH + A_BIT, "inconclusive"),
        ("<=", 0.15 + REACH - A_BIT, "inconclusive"),
        ("<=", 0.15 + REACH + A_BIT, "fail"),
    ],
)
def test_the_interval_decides(bound, value, outcome):
    verdict = check(f"recall@100 {bound} 0.15", row(value))
    assert verdict.checks[0].outcome == verdict.outcome == outcome
    assert verdict.exit_code == (1 if outcome == "fail" else 0)


@pytest.mark.parametrize(
    ("constraint", "value", "outcome"),
    [
        ("recall@100 >= 0.15", 0.15, "pass"),
        ("recall@100 <= 0.15", 0.15, "pass"),
        ("recall@100 >= 0.15", 0.15 - A_BIT, "fail"),
        ("recall@100 <= 0.15", 0.15 + A_BIT, "fail"),
    ],
)
def test_without_variance_the_bound_itself_is_kept(constraint, value, outcome):
    assert check(constraint, row(value, 0.0)).outcome == outcome


@pytest.mark.parametrize(
    ("value", "outcome"), [(0.15, "pass"), (0.15 - A_BIT, "fail"), (0.2, "pass")]
)
def test_without_confidence_the_point_value_decides(value, outcome):
    constraint = {"metric": "recall@100", "min": 0.15, "confidence": None}
    (found,) = check(constraint, row(value, 0.05)).checks
    assert found.outcome == outcome
    assert found.low == found.high == value
    assert found.users_needed is None


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (0.2, "pass"),
        (0.3 - REACH / 2, "inconclusive"),
        (0.1 + REACH / 2, "inconclusive"),
        (0.1 - 2 * REACH, "fail"),
        (0.3 + 2 * REACH, "fail"),
    ],
)
def test_both_bounds(value, outcome):
    assert check({"metric": "recall@100", "min": 0.1, "max": 0.3}, row(value)).outcome == outcome


@pytest.mark.parametrize(("value", "outcome"), [(0.0, "pass"), (1e-6, "fail")])
def test_list_quality_is_judged_by_its_ratio(value, outcome):
    found = row(value, None, metric="duplicate_share", statistic="micro")
    # Not by the mean of a metric of the same name.
    other = row(0.5, metric="duplicate_share", statistic="macro")
    verdict = check("duplicate_share <= 0", other, found)
    assert verdict.outcome == outcome
    assert (verdict.checks[0].value, verdict.checks[0].low) == (value, value)


def test_the_mean_over_users_is_judged_not_the_ratio():
    micro, median = row(0.9, None, statistic="micro"), row(0.9, None, statistic="p50")
    assert check("recall@100 >= 0.5", micro, row(0.1), median).outcome == "fail"


@pytest.mark.parametrize(
    ("found", "users"),
    [
        (row(0.9, None, users=1), 1),
        (row(None, None, users=0), 0),
        (row(None, None, metric="tie_share@5", statistic="micro"), 100),
    ],
)
def test_what_cannot_be_told_is_inconclusive(found, users):
    (judged,) = check(f"{found['metric']} >= 0.5", found).checks
    assert (judged.outcome, judged.low, judged.high) == ("inconclusive", None, None)
    assert (judged.users, judged.users_needed) == (users, None)


def test_users_needed():
    # At 0.16 the interval has to shrink from REACH to 0.01, with the square of the users.
    (found,) = check("recall@100 >= 0.15", row(0.16)).checks
    ratio = REACH / 0.01
    assert found.outcome == "inconclusive"
    assert found.users_needed == 276
    assert 275 < 100 * ratio**2 <= 276


@pytest.mark.parametrize(
    ("constraint", "value", "needed"),
    [
        # Right at the bound no number of users decides.
        ("recall@100 >= 0.15", 0.15, None),
        # Decided already.
        ("recall@100 >= 0.15", 0.3, None),
        ("recall@100 >= 0.15", 0.01, None),
        # The nearest bound counts: 0.005 to max, not 0.015 to min.
        ({"metric": "recall@100", "min": 0.15, "max": 0.17}, 0.165, 1103),
    ],
)
def test_users_needed_at_the_edges(constraint, value, needed):
    assert check(constraint, row(value)).checks[0].users_needed == needed


# Buckets.


def bucketed(*values: float | None, error: float = 0.01) -> list[dict[str, Any]]:
    labels = ("0", "[1,50)", "[50,inf)")
    return [
        row(0.5),
        *(
            row(value, error, bucket=label, users=0 if value is None else 100)
            for label, value in zip(labels, values, strict=False)
        ),
    ]


def in_buckets(match: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "metric": "recall@100",
        "bucket": "activity",
        "min": 0.15,
        **({} if match is None else {"match": match}),
        **more,
    }


@pytest.mark.parametrize(
    ("match", "values", "outcome"),
    [
        (None, (0.3, 0.3, 0.3), "pass"),
        ("all", (0.3, 0.15, 0.3), "inconclusive"),
        ("all", (0.3, 0.15, 0.0), "fail"),
        ("any", (0.0, 0.0, 0.3), "pass"),
        ("any", (0.0, 0.15, 0.0), "inconclusive"),
        ("any", (0.0, 0.0, 0.0), "fail"),
        ("[1,50)", (0.0, 0.3, 0.0), "pass"),
        ("[1,50)", (0.3, 0.0, 0.3), "fail"),
        ("0", (0.15, 0.3, 0.3), "inconclusive"),
        # A declared bucket without users.
        ("all", (0.3, None, 0.3), "inconclusive"),
        ("all", (0.0, None, 0.3), "fail"),
        ("any", (0.0, None, 0.3), "pass"),
        ("any", (0.0, None, 0.0), "inconclusive"),
        ("[1,50)", (0.3, None, 0.3), "inconclusive"),
    ],
)
def test_buckets(match, values, outcome):
    verdict = check(in_buckets(match), *bucketed(*values))
    assert verdict.outcome == outcome
    assert [found[3] for found in verdict.outcomes] == [outcome]
    judged = ["0", "[1,50)", "[50,inf)"] if match in (None, "all", "any") else [match]
    assert [found.bucket for found in verdict.checks] == judged
    assert {found.bucket_by for found in verdict.checks} == {"activity"}


def test_overall_does_not_look_at_buckets():
    (found,) = check("recall@100 >= 0.15", *bucketed(0.0, 0.0, 0.0)).checks
    assert (found.bucket_by, found.bucket, found.outcome) == ("all", "all", "pass")


def test_all_buckets_are_each_at_the_level_and_any_is_corrected():
    # 0.167 is 1.70 errors above the bound: enough for 95% (1.66), not for 98.33% (2.16),
    # which is what the best of three buckets takes.
    values = bucketed(0.167, 0.167, 0.167)
    assert check(in_buckets("all"), *values).outcome == "pass"
    assert check(in_buckets("any"), *values).outcome == "inconclusive"
    (found, *_) = check(in_buckets("any"), *values).checks
    assert found.low == pytest.approx(0.167 - stats.t.ppf(1 - 0.05 / 3, 99) * 0.01, abs=1e-12)
    # 0.172 is 2.2 errors above it.
    assert check(in_buckets("any"), *bucketed(0.172, 0.0, 0.0)).outcome == "pass"
    assert check(in_buckets("any", confidence=0.99), *bucketed(0.172, 0.0, 0.0)).outcome == (
        "inconclusive"
    )


def test_a_bucket_that_breaks_its_bound_is_one_of_many():
    # 0.133 is 1.70 errors below the bound: one bucket alone fails at 95% (1.66), but that
    # some bucket of three fails takes 98.33% (2.16).
    assert check(in_buckets("[1,50)"), *bucketed(0.3, 0.133, 0.3)).outcome == "fail"
    verdict = check(in_buckets("all"), *bucketed(0.3, 0.133, 0.3))
    assert verdict.outcome == "inconclusive"
    found = verdict.checks[1]
    # The value lies below the bound, so the interval shown is the one that would break it.
    reach = stats.t.ppf(1 - 0.05 / 3, 99) * 0.01
    assert (found.low, found.high) == pytest.approx((0.133 - reach, 0.133 + reach), abs=1e-12)
    assert found.users_needed is not None
    assert found.users_needed > 100
    # 0.128 is 2.2 errors below it. Buckets without users are none of the many.
    assert check(in_buckets("all"), *bucketed(0.3, 0.128, 0.3)).outcome == "fail"
    assert check(in_buckets("all"), *bucketed(None, 0.133, None)).checks[1].outcome == "fail"
    # That every bucket breaks it needs no correction.
    assert check(in_buckets("any"), *bucketed(0.133, 0.133, 0.133)).outcome == "fail"


def test_rounding_breaks_no_bound():
    third = 0.33333333333333326
    assert check("recall@100 >= 0.3333333333333333", row(third, 0.0)).outcome == "pass"
    assert check("recall@100 <= 0.33333333333333315", row(third, 0.0)).outcome == "pass"
    assert check("recall@100 >= 0.33333334", row(third, 0.0)).outcome == "fail"


def test_point_values_need_no_correction():
    assert check(in_buckets("any", confidence=None), *bucketed(0.15, 0.0, 0.0)).outcome == "pass"


def test_a_declared_label_without_rows_has_no_users():
    rows = bucketed(0.3, 0.3, 0.3)
    labels = {"activity": ("0", "[1,50)", "[50,100)", "[50,inf)")}
    verdict = check(in_buckets("[50,100)"), *rows, labels=labels)
    (found,) = verdict.checks
    assert (found.bucket, found.users, found.value) == ("[50,100)", 0, None)
    assert verdict.outcome == "inconclusive"


# Whom they bind.

BOTH = [row(0.3), row(0.01, generator="production")]


def test_every_generator_is_bound():
    verdict = check("recall@100 >= 0.15", *BOTH)
    assert verdict.outcomes == (
        ("recall@100 >= 0.15", "error", "als", "pass"),
        ("recall@100 >= 0.15", "error", "production", "fail"),
    )
    assert verdict.exit_code == 1


def test_baselines_are_bound_by_name_only():
    verdict = check("recall@100 >= 0.15", *BOTH, baselines=["production"])
    assert [found.generator for found in verdict.checks] == ["als"]
    assert verdict.outcome == "pass"
    named = {"metric": "recall@100", "min": 0.15, "generators": ["production"]}
    verdict = check(named, *BOTH, baselines=["production"])
    assert [found.generator for found in verdict.checks] == ["production"]
    assert verdict.outcome == "fail"


def test_a_constraint_that_binds_nobody_is_no_silent_pass():
    names = ["als", "production"]
    assert problems("recall@100 >= 0.15", *BOTH, baselines=names) == [
        "constraints.0: it binds nobody, all are baselines: name them: generators: [als]"
    ]
    named = {"metric": "recall@100", "min": 0.15, "generators": ["als"]}
    assert check(named, *BOTH, baselines=names).outcome == "pass"


# Verdicts.


@pytest.mark.parametrize(
    ("outcomes", "overall"),
    [
        ([], "none"),
        ([("error", "pass"), ("error", "pass")], "pass"),
        ([("error", "inconclusive"), ("error", "pass")], "inconclusive"),
        ([("error", "inconclusive"), ("error", "fail")], "fail"),
        # A warning is shown, and decides nothing.
        ([("warn", "fail"), ("error", "pass")], "pass"),
        ([("warn", "inconclusive")], "pass"),
        ([("warn", "fail"), ("error", "inconclusive")], "inconclusive"),
        ([("warn", "pass"), ("error", "fail")], "fail"),
    ],
)
def test_the_worst_of_severity_error_is_the_verdict(outcomes, overall):
    bounds = {"pass": 0.1, "inconclusive": 0.2, "fail": 0.3}
    constraints = [
        {"metric": "recall@100", "min": bounds[outcome], "severity": severity}
        for severity, outcome in outcomes
    ]
    verdict = check(constraints, row(0.2))
    assert verdict.outcome == overall
    assert verdict.exit_code == int(overall == "fail")
    assert [(severity, outcome) for _, severity, _, outcome in verdict.outcomes] == outcomes
    assert [(found.severity, found.outcome) for found in verdict.checks] == outcomes


def test_a_verdict_as_plain_values():
    verdict = check({"metric": "recall@100", "min": 0.15, "severity": "warn"}, row(0.1, 0.0))
    assert json.loads(json.dumps(verdict.as_dict())) == {
        "outcome": "pass",
        "constraints": [
            {
                "constraint": "recall@100 >= 0.15",
                "severity": "warn",
                "generator": "als",
                "outcome": "fail",
            }
        ],
        "checks": [
            {
                "constraint": "recall@100 >= 0.15",
                "severity": "warn",
                "generator": "als",
                "metric": "recall@100",
                "bucket_by": "all",
                "bucket": "all",
                "value": 0.1,
                "low": 0.1,
                "high": 0.1,
                "users": 100,
                "outcome": "fail",
                "users_needed": None,
                "fold": 0,
            }
        ],
        "suspicions": [],
        "failures": [],
    }


# Names that do not exist.


def test_unknown_names_are_all_named():
    rows = bucketed(0.3, 0.3, 0.3)
    constraints = [
        {"metric": "recall@100", "min": 0.1, "generators": ["asl", "pop"]},
        in_buckets("[1,51)"),
        {"metric": "recall@100", "min": 0.1, "bucket": "activty"},
        "recall@100 >= 0.1",
    ]
    labels, hint = "0, [1,50), [50,inf)", "'activity'? Choices: activity"
    assert problems(constraints, *rows) == [
        "constraints.0.generators: unknown generator 'asl'. Did you mean 'als'? Choices: als",
        "constraints.0.generators: unknown generator 'pop'. Choices: als",
        f"constraints.1.match: unknown match '[1,51)'. Did you mean '[1,50)'? Choices: {labels}",
        f"constraints.2.bucket: unknown bucket 'activty'. Did you mean {hint}",
    ]


def test_a_label_is_looked_for_among_the_declared_ones_too():
    rows, labels = bucketed(0.3), {"activity": ("0", "[1,50)")}
    (text,) = problems(in_buckets("never"), *rows, labels=labels)
    assert text == "constraints.0.match: unknown match 'never'. Choices: 0, [1,50)"


@pytest.mark.parametrize("bucket", ["activity", "all"])
def test_a_bucket_where_there_are_none(bucket):
    constraint = {"metric": "recall@100", "min": 0.1, "bucket": bucket}
    assert problems(constraint, row(0.3)) == [
        f"constraints.0.bucket: unknown bucket '{bucket}'. Choices: none"
    ]


def test_unknown_metrics_stand_where_they_were_written():
    (text,) = problems("recal@5 >= 0.1", row(0.3), path="gates")
    assert text.startswith("gates.0.metric: unknown metric 'recal'.")


def test_a_metric_that_was_not_computed_is_no_silent_pass():
    verdict = check("ndcg@10 >= 0.1", row(0.3))
    assert (verdict.outcome, verdict.checks[0].users) == ("inconclusive", 0)


# Several folds.


def by_fold(*values: float | None, **options: Any) -> list[dict[str, Any]]:
    return [row(value, **options) | {"fold": fold} for fold, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ((0.2, 0.3, 0.4), "pass"),
        # 0.1 + 0.01 t reaches 0.11 at most: one fold is enough to fail.
        ((0.2, 0.1, 0.4), "fail"),
        # 0.151 is above, but not clearly.
        ((0.2, 0.151, 0.4), "inconclusive"),
        ((0.2, None, 0.4), "inconclusive"),
        ((0.1, None, 0.151), "fail"),
    ],
)
def test_every_fold_has_to_keep_a_bound(values, outcome):
    verdict = check("recall@100 >= 0.15", *by_fold(*values))
    assert verdict.outcome == outcome
    assert verdict.outcomes == (("recall@100 >= 0.15", "error", "als", outcome),)
    assert [check.fold for check in verdict.checks] == list(range(len(values)))


def test_some_fold_breaks_it_is_a_claim_about_the_worst_of_them():
    # With 99 degrees t is 1.66 at 0.95, and 2.15 at 1 - 0.05 / 3.
    value, error = 0.15 - 0.0192, 0.01
    assert check("recall@100 >= 0.15", row(value, error)).outcome == "fail"
    verdict = check("recall@100 >= 0.15", *by_fold(value, 0.3, 0.3, error=error))
    assert verdict.outcome == "inconclusive"
    reach = stats.t.ppf(1 - 0.05 / 3, 99) * error
    assert verdict.checks[0].high == pytest.approx(value + reach)
    # "All folds keep it" is not corrected.
    high = 0.15 + 0.0170
    assert check("recall@100 >= 0.15", *by_fold(high, 0.3, 0.3, error=error)).outcome == "pass"
    # Nor is a fold corrected for another one in which the bucket is empty.
    alone = check("recall@100 >= 0.15", *by_fold(value, None, error=error))
    assert alone.checks[0].outcome == "fail"


def test_any_bucket_is_corrected_for_folds_where_all_break_it():
    # With 99 degrees t is 1.66 at 0.95, 1.98 at 1 - 0.05 / 2: in one of two folds all break it.
    constraint = {"metric": "recall@100", "bucket": "activity", "match": "any", "min": 0.15}
    old, new = (
        by_fold(0.15 - distance, 0.3, bucket=bucket)
        for bucket, distance in (("old", 0.019), ("new", 0.019))
    )
    assert check(constraint, old[0], new[0]).outcome == "fail"
    assert check(constraint, *old, *new).outcome == "inconclusive"
    clear = [row(0.15 - 0.021, bucket=bucket) for bucket in ("old", "new")]
    assert check(constraint, *clear, old[1], new[1]).outcome == "fail"


def test_any_bucket_has_to_keep_it_in_every_fold():
    constraint = {
        "metric": "recall@100",
        "bucket": "activity",
        "match": "any",
        "min": 0.15,
        "confidence": None,
    }
    rows = [
        *by_fold(0.2, 0.1, bucket="old"),
        *by_fold(0.1, 0.2, bucket="new"),
    ]
    assert check(constraint, *rows).outcome == "pass"
    rows = [*by_fold(0.2, 0.1, bucket="old"), *by_fold(0.1, 0.1, bucket="new")]
    assert check(constraint, *rows).outcome == "fail"
