"""Results that are small, exact, and have something of everything that a report shows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.report.sections import Results
from tests.report.helpers import loss_of

FACTS: dict[str, Any] = {
    "recoeval": "0.1.0",
    "name": "nightly",
    "run_id": "20261129T010203Z-abc123",
    "started": "2026-11-29T01:02:03+00:00",
    "finished": "2026-11-29T01:02:15.400000+00:00",
    "seconds": 12.4,
    "peak_memory_mb": 812.3,
    "config_sha256": "0123456789abcdef" * 4,
    "log": {"interactions": {"rows": 1234567, "start": None, "end": None, "exact_duplicates": 12}},
    "splits": [
        {
            "fold": 0,
            "train": {
                "start": None,
                "end": "2026-11-28T00:00:00Z",
                "rows": 1200000,
                "users": 4000,
                "items": 900,
            },
            "test": {
                "start": "2026-11-28T00:00:00Z",
                "end": "2026-11-28T23:59:59.000001Z",
                "rows": 34000,
                "users": 700,
                "items": 500,
            },
            "gap_rows": 0,
            "later_rows": 567,
            "earlier_rows": 0,
            "users_too_short": 0,
        }
    ],
    "notes": ["als: trained with 2 threads"],
    "audit": [
        {
            "severity": "info",
            "code": "constant_scores",
            "text": "no list has two different scores",
            "counts": {},
            "generator": "popularity",
            "fold": 0,
        },
        {
            "severity": "warn",
            "code": "stale_lists",
            "text": "the lists of 40 of 600 queries are older than max_age 24h",
            "counts": {"lists": 40, "hours_at_most": 61.5},
            "generator": "als",
            "fold": 0,
        },
    ],
    "health": {
        "by_popularity": [
            {"items_are": "cold", "train_users": "0", "items": 12, "pairs": 130, "share": 0.1},
            {"items_are": "tail", "train_users": "[1,9)", "items": 7, "pairs": 1170, "share": 0.9},
        ],
        "by_day": [{"day": "2026-11-28", "rows": 34000, "pairs": 1300, "users": 700}],
        "representative": [
            {"fact": "users", "evaluated": 600, "all_users": 4000},
            {"fact": "log rows before the cutoff, mean", "evaluated": 1234.5, "all_users": 300.0},
            {"fact": "share without a train row", "evaluated": 0.25, "all_users": 0.5},
        ],
    },
}
BUCKETS = {
    "activity": {"by": "train_interactions", "edges": [2, 3]},
    "truth_size": {"by": "relevant_items", "edges": [2, 100]},
}
CHECKS: list[str | dict[str, Any]] = [
    "recall@10 >= 0.1",
    "recall@10 >= 0.9",
    {"metric": "recall@10", "bucket": "activity", "min": 0.35, "severity": "warn"},
    {"metric": "recall@10", "bucket": "truth_size", "match": "[100,inf)", "min": 0.1},
    "coverage >= 0.9",
]


LOSS = loss_of(
    {
        ("als", "all", "all"): (200, 400, 0, 0, 50, 0, 650),
        ("als", "activity", "0"): (50, 100, 0, 0, 0, 0, 175),
        ("als", "activity", "[1,2)"): (50, 100, 0, 0, 50, 0, 125),
        ("als", "activity", "[2,3)"): (50, 100, 0, 0, 0, 0, 175),
        ("als", "activity", "[3,inf)"): (50, 100, 0, 0, 0, 0, 175),
        ("popularity", "all", "all"): (300, 300, 0, 0, 0, 0, 700),
        ("popularity", "activity", "0"): (90, 60, 0, 0, 0, 0, 175),
        ("popularity", "activity", "[1,2)"): (90, 60, 0, 0, 0, 0, 175),
        ("popularity", "activity", "[2,3)"): (60, 90, 0, 0, 0, 0, 175),
        ("popularity", "activity", "[3,inf)"): (60, 90, 0, 0, 0, 0, 175),
    },
    10,
)


def evaluate(users: int = 600, **options: Any) -> rv.Evaluation:
    """Users 0, 1, 2, ... find the item of their own with rank 1 + user % 30."""
    rows = [
        (user, item, rank, name)
        for user in range(users)
        for name, found_at in (("als", 1 + user % 30), ("popularity", 1 + user % 20))
        for rank, item in enumerate([*range(1, found_at), 1000 + user, *range(100, 110)], 1)
    ]
    recs = pl.DataFrame(rows, schema=["user_id", "item_id", "rank", "generator"], orient="row")
    pairs = [(user, 1000 + user) for user in range(users)]
    pairs += [(user, 5000 + other) for user in range(0, users, 3) for other in range(user % 8)]
    truth = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
    before = [(user, 9000 + row) for user in range(users) for row in range(user % 4)]
    train = pl.DataFrame(before, schema=["user_id", "item_id"], orient="row")
    wanted = {
        "metrics": ["recall", "hit_rate", "ndcg(gain=exponential)", "coverage", "tie_share"],
        "k": [5, 10],
        "buckets": BUCKETS,
        "train": train,
    }
    return rv.evaluate(recs, truth, **{**wanted, **options})


def results_of(
    evaluation: rv.Evaluation, checks: list[str | dict[str, Any]], **facts: Any
) -> Results:
    known = {"definitions": evaluation.definitions, **evaluation.counts}
    known["buckets"] = {name: list(labels) for name, labels in evaluation.buckets.items()}
    return Results(
        evaluation,
        evaluation.check(checks),
        facts={**known, **facts},
        given={"config": "nightly.yaml"},
        place="runs/nightly/20261129T010203Z-abc123" if facts else "",
    )


@pytest.fixture(scope="session")
def results() -> Results:
    """A run with passed, failed, undecided and warning constraints."""
    return results_of(replace(evaluate(), loss=LOSS), CHECKS, **FACTS)


@pytest.fixture(scope="session")
def make_results() -> Callable[..., Results]:
    """Results of other evaluations: `make_results(checks, facts, users=..., metrics=...)`."""

    def make(
        checks: list[str | dict[str, Any]] | None = None,
        facts: dict[str, Any] | None = None,
        **options: Any,
    ) -> Results:
        return results_of(evaluate(**options), checks or [], **(facts or {}))

    return make
