"""Hits that a generator cannot have."""

import polars as pl
import pytest

from recoeval.analysis.audit.suspicion import find_cold_hits
from recoeval.analysis.verdict import Verdict

# Users 1 and 2 and items 10 and 20 have train rows; user 3 and item 30 have none.
TRAIN = pl.LazyFrame({"user_id": [1, 2], "item_id": [10, 20]})
QUERIES = pl.DataFrame({"query_id": ["a", "b", "c"], "user_id": [1, 2, 3]})


def hits(*pairs: tuple[str, int]) -> pl.DataFrame:
    return pl.DataFrame(pairs, {"query_id": pl.String, "item_id": pl.Int64}, orient="row")


@pytest.mark.parametrize(
    ("found", "users", "items", "reason"),
    [
        ([("a", 20), ("b", 10)], False, False, None),
        ([("a", 30)], False, True, None),
        ([("c", 10)], True, False, None),
        ([("a", 30), ("c", 30)], True, True, None),
        ([("a", 30)], True, False, "1 on items without a train row"),
        ([("c", 10), ("c", 20)], False, True, "2 on users without a train row"),
        ([("a", 30), ("c", 30)], False, False, "1 on users and 2 on items without a train row"),
        ([], False, False, None),
    ],
)
def test_a_hit_on_a_cold_pair(found, users, items, reason):
    said = find_cold_hits(
        hits(*found), QUERIES, TRAIN, TRAIN, serves_cold_users=users, serves_cold_items=items
    )
    if reason is None:
        assert said is None
    else:
        # Both hits of the last row but one have a cold item, one of them a cold user too.
        assert said == (f"hits that it cannot have: {reason}", len(found))


def test_suspicious_decides_whatever_the_constraints_say():
    verdict = Verdict("pass", (), (("recall@1 >= 0", "error", "als", "pass"),))
    assert verdict.doubted([]) is verdict
    doubted = verdict.doubted([("als", "too good")])
    assert (doubted.outcome, doubted.exit_code) == ("suspicious", 1)
    assert doubted.as_dict()["suspicions"] == [["als", "too good"]]
