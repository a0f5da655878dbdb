"""Hits and lost pairs against the truth: as plain Python counts them."""

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.analysis.selfcheck import pairs as module
from recoeval.analysis.selfcheck.pairs import find_unlike_truth

SCHEMA = {"fold": pl.Int64, "query_id": pl.String, "item_id": pl.String}

ids = st.sampled_from(["a", "b", "c"])
folds = st.integers(0, 1)


def count(queries: list[tuple[int, str, int]], pairs: list[tuple[int, str, str]]) -> list[str]:
    """Returns the queries that are wrong."""
    own = {(fold, query): relevant for fold, query, relevant in queries}
    sizes = Counter((fold, query) for fold, query, _ in pairs)
    distinct = Counter((fold, query) for fold, query, _ in set(pairs))
    return [
        query
        for fold, query in {*own, *sizes}
        if not own.get((fold, query), 0) == sizes[fold, query] == distinct[fold, query]
    ]


def found(queries: list[tuple[int, str, int]], pairs: list[tuple[int, str, str]]) -> list[str]:
    table = pl.DataFrame(
        queries, {"fold": pl.Int64, "query_id": pl.String, "relevant": pl.Int64}, orient="row"
    )
    return find_unlike_truth(table, pl.DataFrame(pairs, SCHEMA, orient="row")).to_list()


@given(
    st.dictionaries(st.tuples(folds, ids), st.integers(0, 3)),
    st.lists(st.tuples(folds, ids, ids), max_size=8),
)
def test_wrong_queries_are_those_of_plain_counts(
    sizes: dict[tuple[int, str], int], pairs: list[tuple[int, str, str]]
) -> None:
    queries = [(fold, query, size) for (fold, query), size in sizes.items()]
    assert sorted(found(queries, pairs)) == sorted(count(queries, pairs))


@given(st.lists(st.tuples(st.just(0), ids, ids), unique=True), st.randoms(use_true_random=False))
def test_pairs_that_are_the_truth_need_no_closer_look(
    pairs: list[tuple[int, str, str]], random: Any
) -> None:
    sizes = Counter(query for _, query, _ in pairs)
    queries = [(0, query, sizes[query]) for query in ("c", "a", "b")]
    random.shuffle(pairs)
    table = pl.DataFrame(queries, ["fold", "query_id", "relevant"], orient="row")
    assert module._is_truth(table, pl.DataFrame(pairs, SCHEMA, orient="row"))


def test_equal_hashes_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = pl.Series.hash
    monkeypatch.setattr(pl.Series, "hash", lambda ids: hashes(ids) * 0)
    assert found([(0, "a", 1), (0, "b", 1)], [(0, "b", "x"), (0, "a", "x")]) == []
    assert found([(0, "a", 1)], [(0, "b", "x")]) in (["a", "b"], ["b", "a"])


def test_a_query_that_stands_twice_is_wrong() -> None:
    assert found([(0, "a", 1), (0, "a", 1)], [(0, "a", "x"), (0, "a", "y")]) == ["a", "a"]
    assert found([(0, "a", 0), (0, "a", 1)], [(0, "a", "x")]) == ["a"]


@pytest.mark.parametrize("relevant", [None, -1])
def test_sizes_that_are_none_are_wrong(relevant: int | None) -> None:
    queries = [(0, "a", relevant), (0, "b", 2)]
    assert found(queries, [(0, "a", "x"), (0, "b", "x"), (0, "b", "y")]) == ["a"]  # type: ignore[arg-type]
