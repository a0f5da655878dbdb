"""Lists on a shelf come back by query and rank, whatever pieces they came in."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recoeval.workflow.disk import folder_of
from recoeval.workflow.shelf import Shelf

QUERIES = pl.DataFrame(
    {"query_id": ["a", "b", "c", "d", "e"], "user_id": ["a", "b", "c", "d", "e"]}
)
# By the number of the query.
ROWS = pl.DataFrame(
    {
        "query_id": [0, 0, 1, 3, 3, 3, 4],
        "item_id": [7, 8, 7, 9, 7, 5, 1],
        "rank": [1, 2, 1, 1, 2, 3, 1],
        "score": [0.5, None, 0.1, 3.0, 2.0, 1.0, 0.0],
    },
    schema_overrides={"query_id": pl.UInt32},
)


def shelf_of(folder: Path, size: int) -> Shelf:
    return Shelf(folder, QUERIES, pl.Int64(), size)


def named(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(QUERIES["query_id"].gather(rows["query_id"]))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_lists_come_back(tmp_path: Path, size: int) -> None:
    shelf = shelf_of(tmp_path, size)
    shelf.keeper("als")(ROWS, True)
    assert shelf.lists("als", QUERIES).equals(named(ROWS))
    some = QUERIES.filter(pl.col("query_id").is_in(["d", "a"]))[::-1]
    expected = named(ROWS.filter(pl.col("query_id").is_in([0, 3])))
    assert shelf.lists("als", some).equals(expected)
    assert [block["query_id"].to_list() for block in shelf.blocks()] == [
        QUERIES["query_id"].to_list()[start : start + size] for start in range(0, 5, size)
    ]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(1, 6), order=st.permutations([0, 1, 3, 4]), cut=st.integers(0, 4))
def test_pieces_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, size: int, order: list[int], cut: int
) -> None:
    shelf = shelf_of(tmp_path_factory.mktemp("shelf"), size)
    keep = shelf.keeper("als")
    for part in (order[:cut], order[cut:]):
        keep(pl.concat([ROWS.clear(), *(ROWS.filter(query_id=number) for number in part)]), True)
    assert shelf.lists("als", QUERIES).equals(named(ROWS))


def test_a_second_reading_counts_alone(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path, 2)
    keep = shelf.keeper("als")
    keep(ROWS.head(3), True)
    keep(ROWS.filter(query_id=3), False)
    keep(ROWS.filter(query_id=0), False)
    left = ROWS.filter(pl.col("query_id").is_in([0, 3]))
    assert shelf.lists("als", QUERIES).equals(named(left))


def test_generators_stand_apart(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path / "lists", 2)
    shelf.keeper("../x")(ROWS, True)
    shelf.keeper("x")(ROWS.head(1), True)
    assert shelf.lists("../x", QUERIES).height == ROWS.height
    assert shelf.lists("x", QUERIES).height == 1
    # Nothing is written beside the folder.
    assert [path.name for path in tmp_path.iterdir()] == ["lists"]


def test_strangers_and_unknown_generators_have_no_lists(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path, 2)
    shelf.keeper("als")(ROWS, True)
    strangers = pl.DataFrame({"query_id": ["x", "y"], "user_id": ["x", "y"]})
    empty = shelf.lists("als", strangers)
    assert empty.is_empty()
    assert empty.schema == named(ROWS).schema
    assert shelf.lists("bpr", QUERIES).is_empty()


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a\\b", "a\0b", "%", "ä", "a.b", "A-b_c+1"])
def test_a_folder_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    folder = folder_of(name)
    (tmp_path / folder).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [folder]


def test_names_that_are_safe_stay_as_they_are() -> None:
    assert [folder_of(name) for name in ("als", "two_tower", "v1.2", "a+b-c")] == [
        "als",
        "two_tower",
        "v1.2",
        "a+b-c",
    ]


def test_narrower_types_are_widened(tmp_path: Path) -> None:
    """A plug-in may give Float32 scores, Int32 ranks and unsigned items."""
    shelf = shelf_of(tmp_path, 2)
    narrow: dict[Any, Any] = {"item_id": pl.UInt32, "rank": pl.Int32, "score": pl.Float32}
    shelf.keeper("other")(ROWS.cast(narrow), True)
    widened = ROWS.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64))
    assert shelf.lists("other", QUERIES).equals(named(widened))
