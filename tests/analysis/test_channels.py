"""What channels add to recall: worked by hand, and held against the Shapley value itself."""

from collections.abc import Mapping
from functools import cache
from math import isclose
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.analysis.channels import contribution_table
from recoeval.columns import CHANNELS_SCHEMA
from recoeval.testing.channels import mean_over_users, shapley_shares, union_recall
from tests.agreement import TOLERANCE, examples
from tests.analysis.populations import Log, logs, shuffled

# Of query 1, item 10 is found by both, 11 by a alone, 12 by nobody; of query 2, 20 by b alone,
# below a K of 1.
WORKED = Log(
    {"a": {1: [10, 99, 11], 3: [1]}, "b": {1: [98, 10], 2: [97, 20]}},
    {1: {10, 11, 12}, 2: {20}, 3: {30}, 4: set()},
    {1: 1, 2: 2, 3: 3, 4: 4},
)


def table(log: Log, depths: Mapping[str, int], seed: int | None = None) -> pl.DataFrame:
    found = {name: log.found(name) for name in log.lists}
    lengths = {name: log.lengths(name) for name in log.lists}
    if seed is not None:
        found = {name: shuffled(each, seed) for name, each in found.items()}
        lengths = {name: shuffled(each, seed) for name, each in lengths.items()}
    return contribution_table(found, lengths, {"merged": depths}, log.population(), fold=2)


def rows_of(
    found: pl.DataFrame, bucket_by: str = "all", bucket: str = "all"
) -> dict[str, dict[str, Any]]:
    own = found.filter(bucket_by=bucket_by, bucket=bucket)
    return {row["generator"]: row for row in own.iter_rows(named=True)}


def test_worked_by_hand() -> None:
    found = table(WORKED, {"a": 3, "b": 2})
    assert found.schema == CHANNELS_SCHEMA
    assert found["fold"].unique().to_list() == [2]
    assert found["merge"].unique().to_list() == ["merged"]
    rows = rows_of(found)
    assert list(rows) == ["a", "b"]
    counts = ("k", "queries", "users", "hits", "exclusive_hits", "slots", "served_users")
    # Query 4 has nothing relevant and is not counted.
    assert [rows["a"][name] for name in counts] == [3, 3, 3, 2, 1, 4, 2]
    assert [rows["b"][name] for name in counts] == [2, 3, 3, 2, 1, 4, 2]
    assert rows["a"]["recall"] == pytest.approx((2 / 3) / 3)
    assert rows["b"]["recall"] == pytest.approx((1 / 3 + 1) / 3)
    assert rows["a"]["union_recall"] == pytest.approx((2 / 3 + 1) / 3)
    assert rows["a"]["leave_one_out"] == pytest.approx((1 / 3) / 3)
    assert rows["b"]["leave_one_out"] == pytest.approx(1 / 3)
    assert rows["a"]["shapley"] == pytest.approx((1.5 / 3) / 3)
    assert rows["b"]["shapley"] == pytest.approx((0.5 / 3 + 1) / 3)
    # a has lists for 1 and 3, b for 1 and 2.
    assert rows["a"]["recall_served"] == pytest.approx((2 / 3) / 2)
    assert rows["b"]["recall_served"] == pytest.approx((1 / 3 + 1) / 2)


def test_a_list_is_cut_at_the_k_of_its_channel() -> None:
    rows = rows_of(table(WORKED, {"a": 1, "b": 1}))
    assert [rows[name]["hits"] for name in "ab"] == [1, 0]
    assert [rows[name]["slots"] for name in "ab"] == [2, 2]
    assert rows["b"]["shapley"] == rows["b"]["leave_one_out"] == 0
    assert rows["a"]["exclusive_hits"] == 1


def test_buckets_of_queries_and_parts_of_the_truth() -> None:
    found = table(WORKED, {"a": 3, "b": 2})
    right = rows_of(found, "side", "right")["a"]
    assert (right["queries"], right["hits"], right["slots"]) == (2, 2, 4)
    even = rows_of(found, "kind", "even")["b"]
    # 10 and 12 of query 1, 20 of query 2, 30 of query 3.
    assert (even["queries"], even["hits"], even["slots"]) == (3, 2, None)
    assert even["recall"] == pytest.approx((1 / 2 + 1) / 3)
    odd = rows_of(found, "kind", "odd")["b"]
    assert (odd["queries"], odd["users"], odd["served_users"]) == (1, 1, 1)
    nobody = rows_of(found, "side", "nobody")["a"]
    assert (nobody["queries"], nobody["users"], nobody["hits"], nobody["slots"]) == (0, 0, 0, 0)
    assert nobody["recall"] is nobody["shapley"] is nobody["union_recall"] is None


def test_queries_of_a_user_are_averaged_before_users() -> None:
    log = Log({"a": {1: [1], 2: [9], 3: [9]}}, {1: {1}, 2: {1}, 3: {1}}, {1: 7, 2: 7, 3: 8})
    row = rows_of(table(log, {"a": 1}))["a"]
    assert (row["queries"], row["users"], row["recall"]) == (3, 2, 0.25)


def test_groups_stand_one_below_the_other() -> None:
    found = {name: WORKED.found(name) for name in "ab"}
    lengths = {name: WORKED.lengths(name) for name in "ab"}
    groups = {"merged": {"b": 2, "a": 3}, "one": {"a": 3}}
    rows = contribution_table(found, lengths, groups, WORKED.population())
    overall = rows.filter(bucket_by="all").select("merge", "generator").rows()
    assert overall == [("merged", "b"), ("merged", "a"), ("one", "a")]
    alone = rows.filter(merge="one", bucket_by="all").row(0, named=True)
    assert alone["shapley"] == alone["leave_one_out"] == alone["union_recall"] == alone["recall"]


def test_no_group_gives_an_empty_table() -> None:
    found = contribution_table({}, {}, {}, WORKED.population())
    assert found.is_empty()
    assert found.schema == CHANNELS_SCHEMA


@examples(60)
@given(log=logs(6), data=st.data())
def test_shares_are_shapley_values_and_add_up(log: Log, data: st.DataObject) -> None:
    depths = {name: data.draw(st.integers(1, 7)) for name in log.lists}
    found = table(log, depths)
    for by, bucket in found.select("bucket_by", "bucket").unique(maintain_order=True).rows():
        truth = log.restricted(by, bucket)

        @cache
        def worth(chosen: frozenset[str], truth: Any = truth) -> float:
            return union_recall(chosen, log.lists, depths, truth, log.users) or 0.0

        rows = rows_of(found, by, bucket)
        expected = shapley_shares(list(log.lists), lambda chosen, of=worth: of(frozenset(chosen)))
        whole = worth(frozenset(log.lists))
        for name, row in rows.items():
            if not any(truth.values()):
                assert row["queries"] == 0
                assert row["shapley"] is None
                continue
            others = worth(frozenset(log.lists) - {name})
            assert isclose(row["shapley"], expected[name], abs_tol=TOLERANCE)
            assert isclose(row["union_recall"], whole, abs_tol=TOLERANCE)
            assert isclose(row["leave_one_out"], whole - others, abs_tol=TOLERANCE)
            assert isclose(row["recall"], worth(frozenset({name})), abs_tol=TOLERANCE)
        if any(truth.values()):
            assert isclose(sum(row["shapley"] for row in rows.values()), whole, abs_tol=TOLERANCE)


@examples(60)
@given(log=logs(), data=st.data())
def test_counts_are_those_of_the_lists(log: Log, data: st.DataObject) -> None:
    depths = {name: data.draw(st.integers(1, 7)) for name in log.lists}
    found = table(log, depths)
    for by, bucket in found.select("bucket_by", "bucket").unique(maintain_order=True).rows():
        truth = {query: own for query, own in log.restricted(by, bucket).items() if own}
        first = {
            name: {query: set(own.get(query, ())[: depths[name]]) for query in truth}
            for name, own in log.lists.items()
        }
        for name, row in rows_of(found, by, bucket).items():
            others = [each for other, each in first.items() if other != name]
            hits = {query: first[name][query] & own for query, own in truth.items()}
            alone = {
                query: own - set().union(*(each[query] for each in others))
                for query, own in hits.items()
            }
            served = {query for query in truth if log.lists[name].get(query)}
            slots = sum(map(len, first[name].values()))
            assert row["hits"] == sum(map(len, hits.values()))
            assert row["exclusive_hits"] == sum(map(len, alone.values()))
            assert row["slots"] == (None if by == "kind" else slots)
            assert row["queries"] == len(truth)
            assert row["users"] == len({log.users[query] for query in truth})
            assert row["served_users"] == len({log.users[query] for query in served})
            recall = {query: len(hits[query]) / len(truth[query]) for query in served}
            assert row["recall_served"] == pytest.approx(
                mean_over_users(recall, log.users), abs=TOLERANCE
            )


@examples(30)
@given(log=logs(), seed=st.integers(0, 9))
def test_the_order_of_the_input_changes_no_bit(log: Log, seed: int) -> None:
    depths = dict.fromkeys(log.lists, 3)
    assert table(log, depths).equals(table(log, depths, seed))
