from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recoeval.data.aliases import CanonicalItems, apply_aliases, count_aliases, read_aliases
from recoeval.data.sources import Source, scan_interactions
from recoeval.errors import DataError
from tests.data.helpers import refused, write

HERE = CanonicalItems(path="unused")


def aliases_of(pairs: list[tuple[Any, Any]], **options: Any) -> pl.DataFrame:
    frame = pl.DataFrame(pairs, schema=["alias", "item_id"], orient="row")
    return read_aliases(HERE.model_copy(update=options), frame=frame)


def test_aliases_come_sorted_and_once():
    assert aliases_of([(9, 1), (8, 1), (9, 1), (7, 2)]).rows() == [(7, 2), (8, 1), (9, 1)]


@pytest.mark.parametrize("ending", ["parquet", "csv", "ndjson"])
def test_files(tmp_path: Path, ending: str):
    frame = pl.DataFrame({"old": [8, 9], "new": [1, 1], "note": ["x", None]})
    path = tmp_path / f"aliases.{ending}"
    write(frame, path)
    canonical = CanonicalItems(path=str(path), columns={"alias": "old", "item_id": "new"})
    assert read_aliases(canonical).rows() == [(8, 1), (9, 1)]
    as_text = canonical.model_copy(update={"item_id_type": "text"})
    assert read_aliases(as_text).rows() == [("8", "1"), ("9", "1")]


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        (
            [("a", "a"), ("b", "c"), ("d", "d")],
            (
                "canonical_items.alias: 2 ids are aliases of themselves, e.g. 'a', 'd'; leave "
                "these rows out"
            ),
        ),
        (
            [("a", "x"), ("a", "y"), ("b", "x")],
            (
                "canonical_items.alias: 1 id is an alias of several items, e.g. 'a' -> 'x', "
                "'a' -> 'y'; name one"
            ),
        ),
        (
            [("a", "b"), ("b", "c"), ("x", "y")],
            (
                "canonical_items.alias: 1 id is an alias of what is an alias itself, e.g. "
                "'a' -> 'b' -> 'c'; name the last item of each chain"
            ),
        ),
        (
            [("a", "b"), ("b", "a")],
            (
                "canonical_items.alias: aliases go in a circle, e.g. 'a' -> 'b' -> 'a'; leave out "
                "the row of the item"
            ),
        ),
        # A chain that leads into a circle.
        (
            [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")],
            (
                "canonical_items.alias: aliases go in a circle, e.g. 'b' -> 'c' -> 'd' -> 'b'; "
                "leave out the row of the item"
            ),
        ),
        (
            [(n, n + 1) for n in range(7)],
            (
                "canonical_items.alias: 6 ids are aliases of what is an alias itself, e.g. "
                "0 -> 1 -> 2, 1 -> 2 -> 3, 2 -> 3 -> 4, 3 -> 4 -> 5, 4 -> 5 -> 6, ...; name the "
                "last item of each chain"
            ),
        ),
        ([(None, 1), (2, 1)], "canonical_items.alias: 1 of the rows is null"),
        ([(2, None), (3, None)], "canonical_items.item_id: 2 of the rows are null"),
    ],
)
def test_aliases_that_lead_nowhere(pairs, text):
    assert refused(aliases_of, pairs) == (text, 3)


def test_a_long_chain_is_found_at_once():
    message, _ = refused(aliases_of, [(n, n + 1) for n in range(20_000)])
    assert "19999 ids are aliases of what is an alias itself" in message


def test_an_empty_table():
    frame = pl.DataFrame(schema={"alias": pl.Int64, "item_id": pl.Int64})
    assert refused(read_aliases, HERE, frame=frame) == ("canonical_items: no rows", 3)


def test_columns_and_types_that_are_wrong(tmp_path: Path):
    frame = pl.DataFrame({"old": [1], "item_id": [2]})
    text = "canonical_items: no column alias in the frame. Columns: old, item_id"
    assert refused(read_aliases, HERE, frame=frame) == (text, 3)
    frame = pl.DataFrame({"alias": ["a"], "item_id": [2]})
    text = (
        "canonical_items.item_id: Int64, but alias has String; e.g. 2 against 'a'. Cast one "
        "side, so that both are integers or both are text"
    )
    assert refused(read_aliases, HERE, frame=frame) == (text, 3)
    nowhere = CanonicalItems(path=str(tmp_path / "no.parquet"))
    text = f"canonical_items.path: no such file or folder: {tmp_path}/no.parquet"
    assert refused(read_aliases, nowhere) == (text, 3)


ALIASES = pl.DataFrame({"alias": [8, 9], "item_id": [1, 1]})
ROWS = pl.LazyFrame(
    {"user_id": [1, 2, 3, 4], "item_id": [9, 1, 5, 8], "alias": ["a", "b", "c", "d"]}
)


def test_each_alias_becomes_its_item():
    rows = apply_aliases(ROWS, ALIASES, what="interactions").collect()
    assert rows.columns == ["user_id", "item_id", "alias"]
    assert rows.rows() == [(1, 1, "a"), (2, 1, "b"), (3, 5, "c"), (4, 1, "d")]
    assert apply_aliases(ROWS, None, what="interactions").collect().equals(ROWS.collect())


def test_aliases_of_another_type_are_refused():
    text = ALIASES.cast(pl.String)
    assert refused(apply_aliases, ROWS, text, what="lists[als]") == (
        (
            "lists[als].item_id: Int64, but the aliases has String; e.g. 1, 5, 8 against '8', '9'. "
            "Cast one side, so that both are integers or both are text"
        ),
        3,
    )


def test_what_is_renamed_is_counted():
    assert count_aliases(ROWS, ALIASES, path="canonical_items") == {
        "aliases": 2,
        "aliases_in_log": 2,
        "rows_renamed": 2,
    }
    known = ROWS.filter(pl.col("item_id") != 9)
    assert count_aliases(known, ALIASES, path="canonical_items")["aliases_in_log"] == 1
    # The item is known, its aliases are not: nothing is renamed.
    item = ROWS.filter(item_id=1)
    assert count_aliases(item, ALIASES, path="canonical_items")["rows_renamed"] == 0


def test_aliases_of_which_the_log_knows_nothing():
    with pytest.raises(DataError) as error:
        count_aliases(ROWS.filter(item_id=5), ALIASES, path="canonical_items")
    assert str(error.value) == (
        "canonical_items.item_id: no id in common with the log; e.g. 1 against 5"
    )


def test_the_log_has_canonical_ids_before_any_rule():
    log = pl.DataFrame({"user_id": [1, 2, 3], "item_id": [9, 1, 5]})
    source = Source(derive={"first": "item_id = 1"}, where="item_id < 5")
    rows = scan_interactions(source, frame=log, aliases=ALIASES).collect()
    assert rows.rows() == [(1, 1, True), (2, 1, True)]
