"""Rows by footers and first lines."""

import gzip

import polars as pl
import pytest

from recoeval.data import sizes
from recoeval.data.sizes import count_rows
from recoeval.errors import DataError

TABLE = pl.DataFrame({"user_id": range(1_000), "item_id": range(1_000, 2_000)})


def counted(path, **options):
    return count_rows(str(path), said="interactions.path", **options)


def test_footers_are_exact(tmp_path):
    for number in range(3):
        TABLE.head(10 + number).write_parquet(tmp_path / f"{number}.parquet")
    assert counted(tmp_path) == counted(tmp_path / "*.parquet") == 33
    assert counted(tmp_path / "0.parquet") == 10
    TABLE.write_ipc(tmp_path / "log.arrow")
    assert counted(tmp_path / "log.arrow") == 1_000


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.ndjson", "run.trec"])
def test_texts_are_told_by_their_first_lines(tmp_path, monkeypatch, name):
    monkeypatch.setattr(sizes, "HEAD", 2_000)
    path = tmp_path / name
    text = TABLE.write_ndjson() if name.endswith("json") else TABLE.write_csv()
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if ".gz" in name else text.encode())
    assert counted(path) == pytest.approx(1_000, rel=0.15)
    monkeypatch.setattr(sizes, "HEAD", 2**20)
    assert counted(path) == text.count("\n")


def test_lists_count_by_item(tmp_path):
    lists = pl.DataFrame(
        {"user_id": ["a", "b"], "item_id": [[1, 2, 3], [4]], "score": [[1.0, 0.5, 0.1], [1.0]]}
    )
    lists.write_parquet(tmp_path / "lists.parquet")
    assert counted(tmp_path / "lists.parquet", items=True) == 4
    assert counted(tmp_path / "lists.parquet") == 2
    TABLE.write_parquet(tmp_path / "long.parquet")
    assert counted(tmp_path / "long.parquet", items=True) == 1_000


def test_what_is_not_known(tmp_path, monkeypatch):
    (tmp_path / "log.parquet").write_bytes(b"PAR1 and then nothing")
    assert counted(tmp_path / "log.parquet") is None
    (tmp_path / "log.csv.gz").write_bytes(b"no gzip")
    assert counted(tmp_path / "log.csv.gz") is None
    (tmp_path / "empty.csv").write_bytes(b"")
    assert counted(tmp_path / "empty.csv") == 0
    monkeypatch.setattr(sizes, "find_files", lambda path, said: ["s3://bucket/a.parquet"])
    assert counted("s3://bucket") is None


def test_no_such_file(tmp_path):
    with pytest.raises(DataError, match=r"interactions\.path: no such file or folder"):
        counted(tmp_path / "none.parquet")
