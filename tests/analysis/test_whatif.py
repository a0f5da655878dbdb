"""What if a channel had other slots."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest
from hypothesis import given

from recoeval.analysis.whatif import AS_CONFIGURED, CONFIGURED, what_if_table
from recoeval.columns import WHAT_IF_SCHEMA
from recoeval.testing.channels import mean_over_users, union_recall
from tests.agreement import TOLERANCE, examples
from tests.analysis.populations import Log, logs

DROPPED, MORE = ("a", "dropped"), ("a", "+1")
WORKED = Log(
    {
        "plain": {1: [10, 11], 2: [20]},
        "less": {1: [10]},
        "more": {1: [10, 11, 12], 2: [21, 20]},
    },
    {1: {10, 12}, 2: {20}, 3: {30}, 4: set()},
    {1: 1, 2: 2, 3: 3, 4: 4},
)
VARIANTS = {"plain": CONFIGURED, "less": DROPPED, "more": MORE}


def table(
    log: Log, names: Mapping[str, tuple[str, str]], blocks: Sequence[Sequence[int]] | None = None
) -> pl.DataFrame:
    given_blocks = [list(log.users)] if blocks is None else blocks
    lists = [
        (variant, log.frame(name, own)) for own in given_blocks for name, variant in names.items()
    ]
    return what_if_table(lists, log.population(), merge="merged", fold=1)


def test_worked_by_hand() -> None:
    found = table(WORKED, VARIANTS)
    assert found.schema == WHAT_IF_SCHEMA
    overall = found.filter(bucket_by="all").drop("bucket_by", "bucket")
    half, whole = pytest.approx((1 / 2 + 1) / 3), pytest.approx(2 / 3)
    sixth, third, loss = pytest.approx(1 / 6), pytest.approx(1 / 3), pytest.approx(-1 / 3)
    # Query 4 has nothing relevant; query 3 has no list.
    assert overall.rows() == [
        (1, "merged", "a", AS_CONFIGURED, 3, 3, 1.0, 2, half, 0.0),
        (1, "merged", "a", "dropped", 3, 3, third, 1, sixth, loss),
        (1, "merged", "a", "+1", 3, 3, pytest.approx(5 / 3), 3, whole, sixth),
    ]


def test_buckets() -> None:
    found = table(WORKED, VARIANTS).filter(change="dropped")
    rows = found.select("bucket", "queries", "slots", "hits", "recall").rows()
    assert rows[1:] == [
        ("left", 1, 0.0, 0, 0.0),
        ("right", 2, 0.5, 1, 0.25),
        ("nobody", 0, None, 0, None),
        ("even", 3, None, 1, pytest.approx(1 / 6)),
        ("odd", 0, None, 0, None),
        ("none", 0, None, 0, None),
    ]
    assert found.filter(bucket="nobody")["delta"].to_list() == [None]


def test_each_channel_is_held_against_the_merge_as_it_is() -> None:
    names = {"plain": CONFIGURED, "less": ("b", "dropped"), "more": ("a", "+1")}
    found = table(WORKED, names).filter(bucket_by="all")
    assert found.select("generator", "change").rows() == [
        ("b", AS_CONFIGURED),
        ("b", "dropped"),
        ("a", AS_CONFIGURED),
        ("a", "+1"),
    ]


def test_without_blocks() -> None:
    assert table(WORKED, VARIANTS, []).is_empty()


@examples(60)
@given(log=logs(3))
def test_recall_and_slots_are_those_of_the_lists(log: Log) -> None:
    names = {name: CONFIGURED if name == "a" else (name, "dropped") for name in log.lists}
    found = table(log, names)
    assert found.equals(table(log, names, [[query] for query in log.users]))
    for by, bucket in found.select("bucket_by", "bucket").unique().rows():
        truth = {query: own for query, own in log.restricted(by, bucket).items() if own}
        recalls, slots = {}, {}
        for name, lists in log.lists.items():
            recalls[name] = union_recall([name], log.lists, {name: 99}, truth, log.users)
            lengths = {query: len(lists.get(query, ())) for query in truth}
            slots[name] = None if by == "kind" else mean_over_users(lengths, log.users)
        for row in found.filter(bucket_by=by, bucket=bucket).iter_rows(named=True):
            name = "a" if row["change"] == AS_CONFIGURED else row["generator"]
            assert row["slots"] == pytest.approx(slots[name], abs=TOLERANCE)
            assert row["recall"] == pytest.approx(recalls[name], abs=TOLERANCE)
            if truth:
                delta = (recalls[name] or 0.0) - (recalls["a"] or 0.0)
                assert row["delta"] == pytest.approx(delta, abs=TOLERANCE)
