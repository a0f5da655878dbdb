"""How much of two channels is the same."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.analysis import overlap
from recoeval.analysis.itemsets import in_parts, mark_items
from recoeval.analysis.overlap import overlap_table
from recoeval.columns import OVERLAP_SCHEMA
from recoeval.errors import ConfigError
from recoeval.testing.channels import jaccard
from tests.agreement import TOLERANCE, examples
from tests.analysis.populations import SIDES, Log, logs

WORKED = Log(
    {
        "a": {1: [10, 11, 12], 2: [20], 4: [40]},
        "b": {1: [11, 13], 3: [30]},
        "c": {},
    },
    {1: {10}},
    {1: 1, 2: 2, 3: 3, 4: 4, 5: 5},
)


def table(
    log: Log, depths: Mapping[str, int], blocks: Sequence[Sequence[int]] | None = None
) -> pl.DataFrame:
    given_blocks = [list(log.users)] if blocks is None else blocks
    lists = ({name: log.frame(name, own) for name in log.lists} for own in given_blocks)
    return overlap_table(lists, {"merged": depths}, log.population(), fold=1)


def test_worked_by_hand() -> None:
    found = table(WORKED, {"a": 2, "b": 5, "c": 1})
    assert found.schema == OVERLAP_SCHEMA
    overall = found.filter(bucket_by="all").drop("bucket_by", "bucket")
    # a and b share 11 of 10, 11, 13; queries 2, 3 and 4 have one list; 5 has none and is not
    # counted.
    assert overall.rows() == [
        (1, "merged", "a", "b", 2, 5, pytest.approx(1 / 3 / 4), 4),
        (1, "merged", "a", "c", 2, 1, 0.0, 3),
        (1, "merged", "b", "c", 5, 1, 0.0, 2),
    ]
    sides = found.filter(generator="a", other="b", bucket_by="side")
    assert sides.select("bucket", "jaccard", "queries").rows() == [
        ("left", 0.0, 2),
        ("right", pytest.approx(1 / 3 / 2), 2),
        ("nobody", None, 0),
    ]


def test_equal_lists_are_one() -> None:
    log = Log({"a": {1: [5, 6]}, "b": {1: [6, 5]}}, {}, {1: 1})
    assert table(log, {"a": 2, "b": 2})["jaccard"][0] == 1
    assert table(log, {"a": 1, "b": 1})["jaccard"][0] == 0


def test_without_lists_or_a_second_channel() -> None:
    log = Log({"a": {}, "b": {}}, {1: {1}}, {1: 1})
    assert table(log, {"a": 2, "b": 2}).filter(bucket_by="all")["queries"].to_list() == [0]
    assert table(log, {"a": 2, "b": 2}, [])["jaccard"].null_count() == 4
    assert table(log, {"a": 2}).is_empty()


def test_lists_of_queries_that_are_not_evaluated_do_not_count() -> None:
    stranger = WORKED.frame("a").with_columns(query_id=pl.lit(77, pl.Int64))
    found = overlap_table(
        [{"a": stranger, "b": WORKED.frame("b")}], {"m": {"a": 3, "b": 3}}, WORKED.population()
    )
    assert found.row(0, named=True)["queries"] == 2


def test_too_many_lists_to_compare() -> None:
    with pytest.raises(ConfigError) as refused:
        mark_items({}, [("a", k) for k in range(1, 66)], WORKED.numbering)
    assert str(refused.value) == "generators: at most 64 lists can be compared, got 65"


def test_lists_in_parts() -> None:
    lists = {name: WORKED.frame(name) for name in "abc"}
    parts = [{name: own.rows() for name, own in each.items()} for each in in_parts(lists, 2)]
    assert parts == [
        {"a": [(1, 10, 1), (1, 11, 2), (1, 12, 3), (2, 20, 1)], "b": [(1, 11, 1), (1, 13, 2)]},
        {"a": [(4, 40, 1)], "b": [(3, 30, 1)]},
    ]
    unsorted = {**lists, "b": lists["b"].reverse()}
    assert list(in_parts(unsorted, 2)) == [unsorted]
    assert list(in_parts({}, 2)) == [{}]


@pytest.mark.parametrize("at_once", [0, 1000])
def test_more_queries_than_are_compared_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlap, "_AT_ONCE", at_once)
    queries = range(1300)
    lists = {
        "a": {query: [query + 2, 1] for query in queries},
        "b": {query: [1] for query in queries},
    }
    found = table(Log(lists, {}, {query: query for query in queries}), {"a": 2, "b": 2})
    assert found.row(0, named=True)["jaccard"] == 0.5
    assert found.row(0, named=True)["queries"] == 1300


@pytest.mark.parametrize("kind", ["far apart", "text"])
def test_ids_of_any_kind(kind: str) -> None:
    lists = {name: WORKED.frame(name) for name in "ab"}
    expected = overlap_table([lists], {"m": {"a": 3, "b": 3}}, WORKED.population())
    item = pl.col("item_id")
    far = pl.when(item == 11).then(-(2**62)).otherwise(item * 2**50)
    other = far if kind == "far apart" else pl.format("ä {}", item)
    renamed = {name: each.with_columns(item_id=other) for name, each in lists.items()}
    found = overlap_table([renamed], {"m": {"a": 3, "b": 3}}, WORKED.population())
    assert found.equals(expected)


def test_a_bit_for_each_of_64_lists() -> None:
    cuts = [("a", k) for k in range(1, 65)]
    marked = mark_items({"a": WORKED.frame("a")}, cuts, WORKED.numbering)
    assert marked.queries.tolist() == [0, 1, 3]
    assert marked.count(63).tolist() == [3, 1, 1]
    assert marked.count(0, 63).tolist() == [1, 1, 1]
    assert marked.shared.count(63).tolist() == [3, 1, 1]


@examples(60)
@given(log=logs(), data=st.data())
def test_every_pair_is_that_of_the_definition(log: Log, data: st.DataObject) -> None:
    depths = {name: data.draw(st.integers(1, 7)) for name in log.lists}
    for row in table(log, depths).iter_rows(named=True):
        chosen = {
            query
            for query in log.users
            if row["bucket_by"] == "all" or SIDES[query % 2] == row["bucket"]
        }
        one, other = (
            {query: own for query, own in log.lists[row[name]].items() if query in chosen}
            for name in ("generator", "other")
        )
        expected, queries = jaccard(one, other, row["k"], row["other_k"])
        assert row["queries"] == queries
        assert row["jaccard"] == pytest.approx(expected, abs=TOLERANCE)


@examples(30)
@given(log=logs())
def test_blocks_change_no_bit(log: Log) -> None:
    depths = dict.fromkeys(log.lists, 3)
    queries = list(log.users)
    single = table(log, depths, [[query] for query in queries])
    assert table(log, depths).equals(single)
    assert table(log, depths, [queries[1:], queries[:1]]).equals(single)
