"""Files that were not written to their end: each kind names the file, alone or among others."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from recoeval.data.fileends import check_ends
from recoeval.errors import DataError
from recoeval.generators.precomputed import Precomputed

LISTS = pl.DataFrame(
    {
        "user_id": [n // 10 for n in range(2000)],
        "item_id": [n * 37 % 977 for n in range(2000)],
        "rank": [n % 10 + 1 for n in range(2000)],
        "score": [1 / (n % 10 + 3) for n in range(2000)],
    }
)
TYPED = ("parquet", "arrow")
TEXTS = ("csv", "ndjson")
PACKED = ("csv.gz", "ndjson.gz")
RUNS = ("run", "run.gz")


def body(ending: str, folder: Path) -> bytes:
    """Returns the bytes of a whole file."""
    if ending in RUNS:
        lines = (f"{user} Q0 {item} {rank} {score} me" for user, item, rank, score in LISTS.rows())
        text = "\n".join(lines).encode() + b"\n"
    else:
        path = folder / "whole"
        write = {
            "parquet": LISTS.write_parquet,
            "arrow": LISTS.write_ipc,
            "csv": LISTS.write_csv,
            "ndjson": LISTS.write_ndjson,
        }
        write[ending.removesuffix(".gz")](path)
        text = path.read_bytes()
        path.unlink()
    return gzip.compress(text) if ending.endswith(".gz") else text


def refusal(folder: Path, path: str) -> str:
    with pytest.raises(DataError) as caught:
        Precomputed(path=str(folder / path)).read("lists[a]").collect()
    return str(caught.value).replace(str(folder), "@")


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("ending", [*TYPED, *TEXTS, *PACKED])
@pytest.mark.parametrize("left", [0, 0.01, 0.5, -2])
def test_a_cut_file_is_named(tmp_path: Path, ending: str, left: float, many: bool) -> None:
    whole = body(ending, tmp_path)
    # Within a line of a text, whatever the share.
    end = int(len(whole) * left) if 0 <= left < 1 else len(whole) + int(left)
    if ending == "csv" and end > 0 and not many:
        end = whole.rindex(b"\n", 0, end) + len("12,3")
    elif ending in TEXTS and end > 0:
        end -= whole[end - 1 : end] == b"\n"
    (tmp_path / f"b.{ending}").write_bytes(whole[:end])
    if many:
        for name in "ac":
            (tmp_path / f"{name}.{ending}").write_bytes(whole)
    text = refusal(tmp_path, f"*.{ending}" if many else f"b.{ending}")
    assert text.startswith(f"lists[a]: @/b.{ending} ")
    assert "is empty: it has 0 bytes" in text or left != 0


@pytest.mark.parametrize("ending", RUNS)
@pytest.mark.parametrize("left", [0, 0.5, -30])
def test_a_cut_run_file_is_named(tmp_path: Path, ending: str, left: float) -> None:
    whole = body(ending, tmp_path)
    end = int(len(whole) * left) if 0 <= left < 1 else len(whole) + int(left)
    if ending == "run" and end:
        end = whole.rindex(b"\n", 0, end) + len("12 Q0")
    (tmp_path / f"b.{ending}").write_bytes(whole[:end])
    assert f"@/b.{ending}" in refusal(tmp_path, f"b.{ending}")


def test_files_without_rows_among_others_are_fine(tmp_path: Path) -> None:
    for ending, write in (("parquet", pl.DataFrame.write_parquet), ("csv", pl.DataFrame.write_csv)):
        write(LISTS.clear(), tmp_path / f"a.{ending}")
        write(LISTS, tmp_path / f"b.{ending}")
        found = Precomputed(path=str(tmp_path / f"*.{ending}")).read().collect()
        assert found.height == LISTS.height


@pytest.mark.parametrize("name", ["b.parquet.tmp", "_temporary/0/b.parquet", ".b.parquet.crc"])
def test_what_is_not_finished_is_not_read_from_a_folder(tmp_path: Path, name: str) -> None:
    LISTS.write_parquet(tmp_path / "a.parquet")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"half")
    assert Precomputed(path=str(tmp_path)).read().collect().height == LISTS.height


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["a,b\n1,2\n"], None),
        (["a,b\n1,2"], None),
        (["a,b\r\n1,2\r\n"], None),
        (["a,b\n1,2", "a,b\n1,2"], None),
        (["a,b\n1,2\n", "a,b\n1,2\n\n"], None),
        (["a,b\n"], None),
        (["a,b"], None),
        (["a,b\n1"], "0.csv ends within a line, 1 of 2 fields"),
        (['a,b\n"1,2"'], None),
        (["a,b\n1,2", "a,b\n1,2\n"], "0.csv ends within a line, and @/1.csv does not"),
        (["a,b\n1,2\n", "a,b\n1,2"], "1.csv ends within a line, and @/0.csv does not"),
        (["a,b\n1,2\n", "a,b\n1"], "1.csv ends within a line, 1 of 2 fields"),
    ],
)
def test_ends(tmp_path: Path, texts: list[str], told: str | None) -> None:
    files = [str(tmp_path / f"{number}.csv") for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        Path(file).write_bytes(text.encode())
    if told is None:
        check_ends(files, ",", 2, "log")
        return
    with pytest.raises(DataError) as caught:
        check_ends(files, ",", 2, "log")
    text = str(caught.value).replace(str(tmp_path), "@")
    assert text == f"log: @/{told}: was it written to its end? If so, end its last line"


def test_packed_files_and_those_of_a_store_are_left_out() -> None:
    check_ends(["s3://bucket/a.csv", "nothing.csv.gz"], ",", 2, "log")
