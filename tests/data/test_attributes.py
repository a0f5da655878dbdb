from pathlib import Path

import polars as pl

from recoeval.data.attributes import one_row_each, open_attributes
from tests.data.helpers import put, refused

ROWS = pl.DataFrame(
    {"uid": ["b", "a", "b"], "tags": [[1, 2], [], [1, 2]], "note": [None, "x", None]}
)


def test_equal_rows_are_one_row_whatever_their_columns_hold():
    rows = open_attributes(ROWS, ids={"uid": "auto"}, what="users")
    table = one_row_each(rows, "uid", what="users")
    assert table.rows.rows() == [("a", [], "x"), ("b", [1, 2], None)]
    assert table.counts == {"rows": 3, "identical_rows": 1}


def test_ids_of_text_files_keep_their_zeros(tmp_path: Path):
    path = put(tmp_path / "users.csv", "uid,n\n007,1\n12,2\n")
    ids = {"user_id": "auto"}
    rows = open_attributes(path, ids=ids, what="users", columns={"user_id": "uid"}).collect()
    assert rows.rows() == [("007", 1), ("12", 2)]
    path = put(tmp_path / "users.csv", "uid,n\n7,1\n12,2\n")
    rows = open_attributes(path, ids=ids, what="users", columns={"user_id": "uid"}).collect()
    assert rows.rows() == [(7, 1), (12, 2)]


def test_every_id_that_is_missing_is_named():
    found = refused(open_attributes, ROWS, ids={"alias": "auto", "item_id": "auto"}, what="t")
    assert found == (
        (
            "t: no column alias in the frame. Columns: uid, tags, note\n"
            "t: no column item_id in the frame. Columns: uid, tags, note"
        ),
        3,
    )


def test_a_file_that_is_none(tmp_path: Path):
    path = put(tmp_path / "users.parquet", "no parquet")
    message, code = refused(open_attributes, path, ids={"uid": "auto"}, what="users")
    assert message.startswith(f"users: {path} is not a readable parquet file: ")
    assert code == 3
