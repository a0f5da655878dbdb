"""Lists are held against what generators promise: ranks 1, 2, 3 ... k."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from recoeval.errors import EngineError
from recoeval.workflow.listing import list_block

QUERIES = pl.DataFrame({"query_id": ["p", "q", "r"], "user_id": ["p", "q", "r"]})
ROWS = [("p", 7, 1, 0.5), ("p", 8, 2, 0.25), ("q", 7, 1, 1.0)]


@dataclass
class Given:
    lists: pl.DataFrame

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        return self.lists.lazy()


class Counted(Given):
    def counted(self, queries: pl.DataFrame, k: int) -> tuple[pl.LazyFrame, Mapping[str, int]]:
        return self.recommend(queries, k), {"noted": queries.height}


def frame(rows: list[tuple[Any, ...]], **types: Any) -> pl.DataFrame:
    table = pl.DataFrame(rows, ("query_id", "item_id", "rank", "score"), orient="row")
    return table.cast(types)


def test_what_is_given_comes_back() -> None:
    lists, counts = list_block(Given(frame(ROWS)), QUERIES, 2)
    assert lists.rows() == ROWS
    assert counts == {}


def test_counts_come_along() -> None:
    assert list_block(Counted(frame(ROWS)), QUERIES, 2)[1] == {"noted": 3}


@pytest.mark.parametrize("order", [[0, 2, 1], [2, 1, 0], [1, 0, 2]])
def test_rows_may_come_in_any_order(order: list[int]) -> None:
    rows = [ROWS[place] for place in order]
    assert list_block(Given(frame(rows)), QUERIES, 2)[0].rows() == rows


@pytest.mark.parametrize(
    "types",
    [{"rank": pl.Int32}, {"rank": pl.UInt8}, {"score": pl.Float32}, {"score": pl.Int64}],
)
def test_narrow_types_are_widened(types: dict[str, Any]) -> None:
    lists, _ = list_block(Given(frame(ROWS, **types)), QUERIES, 2)
    assert (lists.schema["rank"], lists.schema["score"]) == (pl.Int64, pl.Float64)


def test_no_lists_at_all() -> None:
    assert list_block(Given(frame(ROWS).clear()), QUERIES, 2)[0].is_empty()


@pytest.mark.parametrize(
    ("ranks", "k", "examples"),
    [
        ((1, 3, 1), 3, "('p', 3)"),
        ((2, 3, 1), 3, "('p', 2)"),
        ((0, 1, 1), 3, "('p', 0)"),
        ((1, 1, 1), 3, "('p', 1)"),
        ((1, None, 1), 3, "('p', None)"),
        ((1, 2, 2), 1, "('p', 2), ('q', 2)"),
        ((1, 2, 1), 1, "('p', 2)"),
    ],
)
def test_other_ranks_are_refused(ranks: tuple[int, ...], k: int, examples: str) -> None:
    rows = [(q, item, rank, s) for (q, item, _, s), rank in zip(ROWS, ranks, strict=True)]
    with pytest.raises(EngineError) as caught:
        list_block(Given(frame(rows)), QUERIES, k)
    count = examples.count("(")
    assert str(caught.value) == (
        f"lists of {count} {'query' if count == 1 else 'queries'} with ranks other than "
        f"1, 2, 3 ... {k}, e.g. query, rank {examples}: "
        "number what is listed without gaps or repetitions"
    )
