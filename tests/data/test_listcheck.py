"""Lists checked piece by piece: errors and facts are those of all rows."""

from typing import Any

import polars as pl
import pytest

from recoeval.data.listblocks import block_of
from recoeval.data.listcheck import ListFacts, add_facts, check_lists, checking, count_repeats
from recoeval.data.pieces import map_pieces
from recoeval.data.rowkeys import Ints, match_rows
from recoeval.errors import DataError
from tests.data.helpers import refused

SIZE = 20


def lists_of(queries: int = 50, column: str = "rank") -> pl.DataFrame:
    """Returns lists of 20 rows each, by rank or by score."""
    rank = [n + 1 for _ in range(queries) for n in range(SIZE)]
    frame = pl.DataFrame(
        {
            "query_id": [query for query in range(queries) for _ in range(SIZE)],
            "item_id": [n for _ in range(queries) for n in range(SIZE)],
            "rank": pl.Series(rank, dtype=pl.Int64),
        }
    )
    if column == "rank":
        return frame
    return frame.with_columns(score=-pl.col("rank").cast(pl.Float64)).drop("rank")


def facts_of(lists: pl.LazyFrame, size: int, what: str = "lists[als]") -> ListFacts:
    """Returns the facts of lists that are read so many rows at a time."""

    def facts(rows: pl.DataFrame, starts: Ints | None) -> ListFacts:
        block = block_of(rows, starts, what=what)
        return block.facts(match_rows(block.starts, block.items).shared)

    with checking(lists, what=what):
        return add_facts(map_pieces(lists, facts, add_facts, size=size, threads=2))


def put(frame: pl.DataFrame, column: str, values: dict[int, Any]) -> pl.DataFrame:
    """Returns the table with other values in some rows."""
    old = frame[column].to_list()
    return frame.with_columns(
        pl.Series(column, [values.get(n, each) for n, each in enumerate(old)], frame[column].dtype)
    )


LAST = 50 * SIZE - 1

BAD = {
    "rank below 1": ("rank", "rank", {5: 0, LAST: -3}),
    "no rank": ("rank", "rank", {LAST: None}),
    "two items at a rank": ("rank", "rank", {LAST: 3, 7: 3, 29: 1}),
    "no item": ("rank", "item_id", {LAST: None}),
    "no query": ("rank", "query_id", {LAST: None, 3: None}),
    "no score": ("score", "score", {LAST: None, 1: None}),
    "no number": ("score", "score", {LAST: float("nan"), 400: float("inf")}),
}


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("size", [SIZE, 3 * SIZE, 10_000])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_in_the_last_of_many_pieces_is_said_of_all_lists(name, size, mixed):
    kind, column, values = BAD[name]
    frame = put(lists_of(column=kind), column, values)
    if mixed:
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
    expected = refused(check_lists, frame.lazy(), what="lists[als]")
    assert refused(facts_of, frame.lazy(), size) == expected
    assert f"{len(values)} row" in expected[0] or name in ("two items at a rank", "no number")


def test_the_words_are_those_of_the_whole():
    frame = put(lists_of(), "rank", dict.fromkeys((*range(0, 1000, 100), LAST), 0))
    assert refused(facts_of, frame.lazy(), SIZE) == (
        (
            "lists[als].rank: 11 rows with a rank below 1, e.g. query_id, rank (0, 0), (5, 0), "
            "(10, 0), (15, 0), (20, 0), ...; the best item has rank 1; is it counted from 0?"
        ),
        3,
    )


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("size", [7, SIZE, 3 * SIZE, 10_000])
def test_facts_of_pieces_add_up_to_those_of_all_lists(size, mixed):
    frame = put(lists_of(), "rank", {LAST: 99, 39: 44, 60: 60})
    frame = put(frame, "item_id", {3: 0, 25: 1, 999: 1}).with_columns(
        score=(pl.col("rank") % 7).cast(pl.Float64)
    )
    frame = pl.concat([frame, frame[100:103], frame[998:1000]])
    if mixed:
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
    expected = check_lists(frame.lazy(), what="lists[als]")
    assert expected == ListFacts(1005, 5, 3, 3, 50)
    assert facts_of(frame.lazy(), size) == expected


def test_good_lists_are_not_read_again():
    lists, times = lists_of(), []

    def count(frame: pl.DataFrame) -> pl.DataFrame:
        times.append(frame.height)
        return frame

    watched = lists.lazy().map_batches(count, schema=lists.schema)
    assert facts_of(watched, 10_000) == ListFacts(1000)
    assert sum(times) == 1000


def test_what_cannot_be_read_names_the_lists(tmp_path):
    lists_of(2).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no")
    message, code = refused(facts_of, pl.scan_parquet(tmp_path / "*.parquet"), 10)
    assert (message.partition(":")[0], code) == ("lists[als]", 3)


def test_other_errors_stay_what_they_are():
    def fail() -> None:
        with checking(lists_of().lazy(), what="recs"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_an_error_that_the_rows_do_not_explain_stays():
    def fail() -> None:
        with checking(lists_of().lazy(), what="recs"):
            raise DataError("lists.score: none")

    assert refused(fail) == ("lists.score: none", 3)


def test_facts_add_up():
    parts = [ListFacts(1, 2, 3, 4, 5), ListFacts(10, 20, 30, 40, 50), ListFacts(100)]
    assert add_facts(parts) == ListFacts(111, 22, 33, 44, 55)
    assert add_facts(parts[:1]) == parts[0]


def test_rows_that_repeat_others():
    rows = pl.DataFrame(
        {"query_id": [1] * 6, "item_id": [7, 7, 7, 7, 8, 8], "rank": [1, 1, 2, 3, 4, 4]}
    )
    # 7 at ranks 1 (twice), 2 and 3; 8 twice at 4.
    assert count_repeats(rows, ["query_id", "item_id"]) == (2, 2)
    assert count_repeats(rows.clear(), ["query_id", "item_id"]) == (0, 0)
