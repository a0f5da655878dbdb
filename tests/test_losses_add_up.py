"""Causes of lost recall add up, and what the lists say of the catalogue is consistent."""

import math
from dataclasses import replace

from hypothesis import given

from recoeval.testing import oracle
from tests.agreement import LOSSES, TOLERANCE, examples, near
from tests.strategies import (
    DEPTHS,
    ITEM_METRICS,
    Case,
    evaluate,
    known_cases,
    per_query,
    summary,
)


@examples(30)
@given(case=known_cases(trained=True))
def test_causes_add_up(case: Case) -> None:
    labels = [f"recall@{k}" for k in DEPTHS]
    case = replace(case, metrics=[*labels, "recall@all", "recall_ceiling"])
    evaluation = evaluate(case)
    rows = {
        (row["generator"], row["bucket_by"], row["bucket"], row["k"]): row
        for row in evaluation.loss.iter_rows(named=True)
    }
    generators = {row["generator"] for row in case.recs}
    pooled = {key[:2]: row["value"] for key, row in summary(evaluation).items() if "micro" in key}
    for (generator, by, bucket, k), row in rows.items():
        assert sum(row[cause] for cause in LOSSES) == row["relevant"]
        if by == "all":
            label = "recall@all" if k is None else f"recall@{k}"
            assert pooled[generator, label] == near(row["hit"] / row["relevant"])
        whole = rows[generator, by, bucket, None]
        assert row["hit"] + row["below_k"] == whole["hit"]
        assert all(row[cause] == whole[cause] for cause in LOSSES[2:])
    for generator in generators:
        for k in (*DEPTHS, None):
            parts = [rows.get((generator, "coldness", label, k)) for label in ("cold", "warm")]
            for column in ("relevant", *LOSSES):
                total = sum(part[column] for part in parts if part is not None)
                assert total == rows[generator, "all", "all", k][column]
        found = [rows[generator, "all", "all", k]["hit"] for k in (*DEPTHS, None)]
        assert found == sorted(found)
    for values in per_query(evaluation).values():
        if values["relevant"]:
            assert values["recall@all"] <= values["recall_ceiling"] + TOLERANCE


@examples(30)
@given(case=known_cases())
def test_hits_and_lost_pairs_are_the_truth(case: Case) -> None:
    case = replace(case, metrics=["recall@2"])
    evaluation, result = evaluate(case), oracle(**case.arguments())
    keys = ["generator", "query_id", "item_id", "gain"]
    found = [*evaluation.hits.select(keys).rows(), *evaluation.lost.select(keys).rows()]
    expected = {
        (generator, query, item, gain)
        for (generator, query), answer in result.answers.items()
        for item, gain in answer.truth.items()
    }
    assert len(found) == len(expected)
    assert set(found) == expected


@examples(30)
@given(case=known_cases(trained=True))
def test_identities_of_the_catalogue(case: Case) -> None:
    case = replace(case, metrics=ITEM_METRICS)
    found, result = summary(evaluate(case)), oracle(**case.arguments())
    catalogue, users = result.facts.catalogue or (), len({r["user_id"] for r in case.train or ()})
    for generator in {row["generator"] for row in case.recs}:
        for k in case.k:
            listed = {
                item
                for (name, _), answer in result.answers.items()
                if name == generator
                for item in answer.prepared[:k]
            }
            values = {
                name: found[generator, f"{name}@{k}", "micro"]["value"] for name in ITEM_METRICS
            }
            assert values["item_coverage"] * len(catalogue) == near(len(listed & set(catalogue)))
            assert (values["gini"] is None) is not (listed & set(catalogue))
            if values["gini"] is not None:
                assert 0 <= values["gini"] < 1
            if listed:
                assert -TOLERANCE <= values["entropy"] <= math.log2(len(listed)) + TOLERANCE
                assert 0 <= values["novelty"] <= math.log2(users + 1) + TOLERANCE
                assert 0 <= values["mean_popularity"] <= users
            else:
                assert values["entropy"] is None
