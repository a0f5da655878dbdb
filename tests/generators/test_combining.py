"""Laws of merges, against one turn and one item at a time in plain Python."""

from itertools import product, zip_longest

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from recoeval.generators import Merge
from recoeval.generators.merging import merge_lists
from recoeval.testing.merging import merge_of
from tests.generators.others import SCHEMA
from tests.generators.test_merge import rules_of

NAMES = ["a", "b", "c", "d"]
QUERIES = [3, 1, 2]
LENGTHS = st.one_of(st.none(), st.integers(1, 6))

# Few items and few scores: duplicates and ties are the rule. Scores need no rounding to be told
# apart, and fall with the rank, as in every list.
LIST = st.lists(st.integers(0, 9), unique=True, max_size=8).flatmap(
    lambda items: st.lists(
        st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.0]), min_size=len(items), max_size=len(items)
    ).map(lambda scores: list(zip(items, sorted(scores, reverse=True), strict=True)))
)
LISTS = st.fixed_dictionaries(dict.fromkeys(QUERIES, LIST))


@st.composite
def merges(draw, methods=("quota", "round_robin", "weighted", "rrf")):
    method = draw(st.sampled_from(methods))
    channels = {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1)):
        channels[name] = {"quota": draw(LENGTHS)}
        if method == "quota":
            channels[name]["priority"] = draw(st.one_of(st.none(), st.integers(-2, 2)))
        if method in ("weighted", "rrf"):
            channels[name]["weight"] = draw(st.sampled_from([None, 0.3, 1.0, 2.0]))
    options = {"method": method, "channels": channels, "total": draw(LENGTHS)}
    if method == "weighted":
        options["normalize"] = draw(st.sampled_from([None, "minmax", "rank"]))
    if method == "rrf":
        options["constant"] = draw(st.sampled_from([None, 0.5, 7]))
    return Merge.model_validate(options)


@st.composite
def inputs(draw, **options):
    """A merge, the lists of its channels by query, and the length that is asked for."""
    merge = draw(merges(**options))
    return merge, {name: draw(LISTS) for name in merge.channels}, draw(st.integers(1, 8))


def frames(lists):
    return {
        name: pl.DataFrame(
            [
                (query, item, rank, score)
                for query, rows in by_query.items()
                for rank, (item, score) in enumerate(rows, 1)
            ],
            schema=SCHEMA,
            orient="row",
        ).sort("query_id", "rank")
        for name, by_query in lists.items()
    }


@given(inputs())
def test_equal_to_the_oracle(given_):
    merge, lists, k = given_
    merged = merge_lists(frames(lists), merge, k)
    expected, duplicates = [], dict.fromkeys(merge.channels, 0)
    for query in sorted(QUERIES):
        own = {name: by_query[query] for name, by_query in lists.items()}
        rows, counts = merge_of(own, rules_of(merge), k)
        expected += [(query, row[0], rank, *row[1:]) for rank, row in enumerate(rows, 1)]
        duplicates = {name: duplicates[name] + count for name, count in counts.items()}
    assert merged.lists.rows() == expected
    assert merged.duplicates == duplicates


@given(inputs())
def test_distinct_ranked_and_within_the_budget(given_):
    merge, lists, k = given_
    rows = merge_lists(frames(lists), merge, k).lists
    assert rows.select("query_id", "item_id").is_unique().all()
    for _, own in rows.group_by("query_id"):
        assert own["rank"].to_list() == list(range(1, own.height + 1))
        assert own.height <= merge.length(k) <= k
        assert own["score"].is_sorted(descending=True)
        if merge.method in ("quota", "round_robin"):
            slots = dict(own["channel"].value_counts().iter_rows())
            assert all(slots.get(name, 0) <= (quota or k) for name, quota in merge.quotas.items())


@given(inputs())
def test_reading_deeper_changes_nothing(given_):
    merge, lists, k = given_
    whole = frames(lists)
    cut = {name: whole[name].filter(pl.col("rank") <= n) for name, n in merge.reads(k).items()}
    first, second = merge_lists(whole, merge, k), merge_lists(cut, merge, k)
    assert_frame_equal(first.lists, second.lists, check_exact=True)
    assert first.duplicates == second.duplicates


@given(inputs(), st.integers(1, 8))
def test_the_first_items_of_a_longer_list_are_the_shorter_list(given_, more):
    merge, lists, k = given_
    longer = merge_lists(frames(lists), merge, k + more).lists
    assert_frame_equal(
        merge_lists(frames(lists), merge, k).lists, longer.filter(pl.col("rank") <= k)
    )


@pytest.mark.parametrize("method", ["weighted", "rrf"])
def test_without_quota_and_total_the_first_500_take_part(method):
    lists = {"a": {1: [(item, -float(item)) for item in range(600)]}, "b": {1: [(550, 1.0)]}}
    merge = Merge(method=method, channels={"a": None, "b": None})
    rows = merge_lists(frames(lists), merge, 1000).lists
    # 550 is b's alone: in a's list it stands too deep.
    assert set(rows["item_id"]) == {*range(500), 550}
    assert rows.filter(pl.col("item_id") == 550)["channel"].to_list() == ["b"]
    own = {name: by_query[1] for name, by_query in lists.items()}
    expected, _ = merge_of(own, rules_of(merge), 1000)
    assert rows.select("item_id", "score").rows() == [row[:2] for row in expected]


@given(inputs(), st.integers(0, 5))
def test_order_of_rows_and_blocks_of_queries_do_not_matter(given_, seed):
    merge, lists, k = given_
    whole = merge_lists(frames(lists), merge, k)
    mixed = {
        name: rows.sample(fraction=1, shuffle=True, seed=seed)
        for name, rows in frames(lists).items()
    }
    other = merge_lists(mixed, merge, k)
    assert_frame_equal(whole.lists, other.lists, check_exact=True)
    assert whole.duplicates == other.duplicates
    parts = [
        merge_lists(
            {n: rows.filter(pl.col("query_id") == query) for n, rows in frames(lists).items()},
            merge,
            k,
        )
        for query in sorted(QUERIES)
    ]
    assert_frame_equal(whole.lists, pl.concat([part.lists for part in parts]), check_exact=True)
    for name, count in whole.duplicates.items():
        assert count == sum(part.duplicates[name] for part in parts)


@given(inputs(), st.randoms())
def test_text_ids_give_the_same_lists(given_, random):
    merge, lists, k = given_
    ids = pl.col("query_id", "item_id").cast(pl.String)
    numbers = merge_lists(frames(lists), merge, k)
    texts = {name: rows.with_columns(ids) for name, rows in frames(lists).items()}
    assert_frame_equal(merge_lists(texts, merge, k).lists, numbers.lists.with_columns(ids))


@given(LISTS, st.sampled_from(["quota", "round_robin", "rrf"]))
def test_a_single_channel_merges_to_itself(lists, method):
    merge = Merge(method=method, channels={"a": None})
    own = frames({"a": lists})["a"]
    merged = merge_lists({"a": own}, merge, 8).lists
    same = ["query_id", "item_id", "rank"]
    assert_frame_equal(merged.select(same), own.select(same))


@given(st.permutations(range(12)), st.integers(1, 4), st.integers(1, 4))
def test_quotas_of_disjoint_lists_are_one_list_after_the_other(items, first, second):
    lists = {"a": {1: [(i, 1.0) for i in items[:4]]}, "b": {1: [(i, 1.0) for i in items[4:8]]}}
    merge = Merge(channels={"a": first, "b": second})
    merged = merge_lists(frames(lists), merge, 12)
    assert merged.lists["item_id"].to_list() == [*items[:first], *items[4 : 4 + second]]
    assert merged.duplicates == {"a": 0, "b": 0}


@given(LISTS, st.integers(2, 4))
def test_reciprocal_ranks_of_equal_lists_keep_their_order(lists, number):
    rows = frames({"a": lists})["a"]
    merge = Merge(method="rrf", channels=dict.fromkeys(NAMES[:number]))
    merged = merge_lists(dict.fromkeys(NAMES[:number], rows), merge, 8)
    same = ["query_id", "item_id", "rank"]
    assert_frame_equal(merged.lists.select(same), rows.select(same))
    assert set(merged.lists["channel"]) <= {"a"}
    assert merged.duplicates == {"a": 0} | dict.fromkeys(NAMES[1:number], rows.height)


@pytest.mark.parametrize("method", ["quota", "round_robin"])
@pytest.mark.parametrize("quotas", [[3], [1, 3], [3, 1], [2, 2, 2], [1, 3, 2], [3, 1, 2]])
@pytest.mark.parametrize("limit", [1, 3, 4, 5, 9])
def test_no_list_is_read_deeper_than_it_may_have_to_be(method, quotas, limit):
    # For each channel some lists need the last row that is read.
    names = NAMES[: len(quotas)]
    merge = Merge(method=method, channels=dict(zip(names, quotas, strict=True)), total=limit)
    for target, depth in merge.reads(99).items():
        lists = worst_lists(merge, target, depth)
        assert any(last_row_matters(merge, target, each, depth) for each in lists), target


def worst_lists(merge, target, depth):
    """Yields lists where others give what the target lists: its own first items, then theirs."""
    others = [name for name in merge.channels if name != target]
    for counts in product(*(range(merge.quotas[name] + 1) for name in others)):
        lists = {
            name: [(f"{name}{number}", 1.0) for number in range(count)]
            for name, count in zip(others, counts, strict=True)
        }
        foreign = [row for rows in zip_longest(*lists.values()) for row in rows if row]
        fresh = [(f"own{number}", 1.0) for number in range(depth)]
        for own in range(depth):
            lists[target] = [*fresh[:own], *foreign, *fresh[own:]]
            yield dict(lists)


def last_row_matters(merge, target, lists, depth):
    merged = [
        merge_of({**lists, target: lists[target][:most]}, rules_of(merge), 99)[0]
        for most in (depth - 1, depth)
    ]
    return merged[0] != merged[1]
