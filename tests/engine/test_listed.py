import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recoeval.engine.listed import count_listed, cuts_of
from recoeval.metrics import Cut, measures
from tests.engine.helpers import Search, lists_of, pairs_of, truth_of

QUERIES = pl.DataFrame({"query_id": ["u", "v", "w"], "quota": [1, 2, 3]})

FEW = (Cut(1), Cut(3))


def listed(lists, seen=None, cuts=FEW, groups=None) -> pl.DataFrame:
    known = None if seen is None else pairs_of(seen).unique()
    search = Search.of(lists_of(lists), truth_of({}), known, queries=QUERIES)
    numbered = None if groups is None else search.numbering.number_queries(groups)
    removed, queries = search.found.removed.lazy(), search.numbered(QUERIES).lazy()
    return count_listed(search.rows.lazy(), removed, cuts, queries, numbered)


def test_items_are_counted_within_each_cut():
    found = listed({"u": [5, 6, 7, 8], "v": [6, 5], "w": []})
    assert found.columns == ["bucket_by", "bucket", "item_id", "@1", "@3"]
    assert found.select("item_id", "@1", "@3").rows() == [(5, 1, 2), (6, 1, 2), (7, 0, 1)]
    assert found.schema["@3"] == pl.Int64
    assert set(found.select("bucket_by", "bucket").rows()) == {("all", "all")}


def test_ranks_are_those_after_preparation():
    # Of u the seen 5 and the second 6 leave: 6, 7, 8 are at ranks 1, 2, 3.
    found = listed({"u": [5, 6, 6, 7, 8, 9], "v": [5, 6]}, seen={"u": [5], "w": [6]})
    assert found.select("item_id", "@1", "@3").rows() == [
        *[(5, 1, 1), (6, 1, 2), (7, 0, 1), (8, 0, 1)]
    ]


def test_quotas_are_cuts_as_well():
    lists = {"u": [5, 6], "v": [5, 6, 7], "w": [7, 6, 5, 8]}
    found = listed(lists, cuts=(Cut("quota"), Cut(1)))
    assert found.select("item_id", "@quota", "@1").rows() == [(5, 3, 2), (6, 2, 0), (7, 1, 1)]


@pytest.mark.parametrize("name", ["activity", "item_id", "rank", "@1", "bucket", "quota"])
def test_buckets_come_after_the_whole_and_may_have_any_name(name):
    groups = pl.DataFrame({"query_id": ["u", "v", "w"], name: ["x", "y", "x"], "b": ["1"] * 3})
    found = listed({"u": [5], "v": [6, 5], "w": [5]}, cuts=(Cut(1),), groups=groups)
    assert found.rows() == [
        ("all", "all", 5, 2),
        ("all", "all", 6, 1),
        (name, "x", 5, 2),
        (name, "y", 6, 1),
        ("b", "1", 5, 2),
        ("b", "1", 6, 1),
    ]


def test_no_list():
    assert listed({}).is_empty()
    groups = pl.DataFrame({"query_id": ["u"], "b": ["1"]})
    assert listed({}, groups=groups).columns == ["bucket_by", "bucket", "item_id", "@1", "@3"]


def test_cuts_of_catalogue_metrics_alone():
    asked = measures(["recall", "gini", "entropy", "novelty@7", "gini@quota"], [5, 20])
    assert cuts_of(asked) == (Cut(5), Cut(20), Cut(7), Cut("quota"))
    assert cuts_of(measures(["recall"], [5])) == ()


ITEMS = st.lists(st.integers(0, 5), max_size=8)


@settings(max_examples=60)
@given(
    lists=st.dictionaries(st.sampled_from("uvw"), ITEMS),
    seen=st.dictionaries(st.sampled_from("uvw"), ITEMS),
)
def test_counts_are_those_of_the_prepared_lists(lists, seen):
    expected: dict[int, list[int]] = {}
    for query, items in lists.items():
        gone = set(seen.get(query, []))
        left = [item for item in dict.fromkeys(items) if item not in gone]
        for rank, item in enumerate(left[:3], 1):
            counts = expected.setdefault(item, [0, 0])
            counts[0] += rank <= 1
            counts[1] += 1
    found = listed(lists, seen)
    assert found.select("item_id", "@1", "@3").rows() == [
        (item, *expected[item]) for item in sorted(expected)
    ]
