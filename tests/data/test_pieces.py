"""Lists read piece by piece: whole lists, whatever the order of the rows and the pieces are."""

import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recoeval.data import pieces
from recoeval.data.pieces import map_pieces

Table = dict[Any, list[tuple[Any, int]]]


@pytest.fixture(autouse=True)
def however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are read like many."""
    monkeypatch.setattr(pieces, "_FEW", 0)


def frame_of(lists: dict[Any, int], *, text: bool = False) -> pl.DataFrame:
    """Returns lists of such lengths, list by list."""
    rows = [
        (f"q{query}" if text else query, item, rank)
        for query, size in lists.items()
        for rank, item in enumerate(range(query, query + size), 1)
    ]
    ids = pl.String if text else pl.Int64
    schema = {"query_id": ids, "item_id": pl.Int64, "rank": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row")


LENGTHS = {5: 3, 2: 1, 9: 7, 1: 2, 4: 1, 3: 8, 0: 1, 8: 1, 7: 4, 6: 2}
STANDING = frame_of(LENGTHS)
NAMED = frame_of(LENGTHS, text=True)


def contents(rows: pl.DataFrame, starts: np.ndarray | None) -> list[Table]:
    """Returns the lists of a piece; where starts are given they are looked at."""
    table: Table = {}
    for query, item, rank in rows.rows():
        table.setdefault(query, []).append((item, rank))
    if starts is not None:
        heads = [
            at for at in range(rows.height) if rows["query_id"][at] not in [*rows["query_id"][:at]]
        ]
        assert starts.tolist() == heads
    return [table]


def joined(parts: list[list[Table]]) -> list[Table]:
    return [table for part in parts for table in part]


def read(frame: pl.DataFrame | pl.LazyFrame, **options: Any) -> list[Table]:
    """Returns the pieces; they are checked to be whole lists, each once."""
    found = joined(map_pieces(frame.lazy(), contents, joined, **options))
    everything = frame.lazy().collect()
    assert sum(len(rows) for table in found for rows in table.values()) == everything.height
    together: Table = {}
    for table in found:
        assert not table.keys() & together.keys()
        together |= table
    (whole,) = contents(everything, None)
    assert {query: sorted(rows) for query, rows in together.items()} == {
        query: sorted(rows) for query, rows in whole.items()
    }
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of temporary files; nothing may be left in it."""
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    return own


def left_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


# Rows that stand list by list.


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize("frame", [STANDING, NAMED], ids=["int", "text"])
def test_lists_that_stand_together(frame, size, threads, folder):
    found = read(frame, size=size, threads=threads)
    # In the order of the rows, each list as it stands.
    assert [query for table in found for query in table] == frame["query_id"].unique(
        maintain_order=True
    ).to_list()
    for table in found:
        for query, rows in table.items():
            assert rows == frame.filter(query_id=query).select("item_id", "rank").rows()
    assert left_in(folder) == []


@pytest.mark.parametrize("size", [1, 3])
def test_small_batches_make_several_pieces(size):
    assert len(read(STANDING, size=size)) > 3
    # The last list may go on in the next batch, so it comes alone.
    assert [len(table) for table in read(STANDING, size=1000)] == [9, 1]


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_lists_that_are_spread_over_batches(chunk, folder):
    chunks = [STANDING.slice(n, chunk) for n in range(0, STANDING.height, chunk)]
    for size in (1, 2, 7):
        read(pl.concat(chunks, rechunk=False), size=size)


def test_lists_that_are_spread_over_files(tmp_path, folder):
    for n in range(6):
        STANDING.slice(5 * n, 5).write_parquet(tmp_path / f"{n}.parquet", row_group_size=2)
    for size in (1, 2, 7, 100):
        found = read(pl.scan_parquet(tmp_path / "*.parquet"), size=size)
        assert [query for table in found for query in table] == list(LENGTHS)
    assert left_in(folder) == []


def test_one_long_list():
    for size in (1, 2, 7):
        assert len(read(frame_of({1: 40}), size=size)) == 1


@pytest.mark.parametrize("size", [1, 2, 7])
def test_no_rows(size, folder):
    calls = []

    def work(rows: pl.DataFrame, starts: np.ndarray | None) -> int:
        calls.append((rows.schema, rows.height, None if starts is None else starts.tolist()))
        return 1

    assert map_pieces(STANDING.clear().lazy(), work, sum, size=size) == [1]
    assert calls == [(STANDING.schema, 0, [])]
    nothing_left = STANDING.lazy().filter(pl.col("rank") > 99)
    assert map_pieces(nothing_left, work, sum, size=size) == [1]


# Rows that stand anywhere.


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize("frame", [STANDING, NAMED], ids=["int", "text"])
def test_rows_that_stand_anywhere(frame, size, threads, folder):
    for seed in range(3):
        mixed = frame.sample(fraction=1, shuffle=True, seed=seed)
        found = read(mixed, size=size, threads=threads)
        assert left_in(folder) == []
        if size == 1000:
            assert len(found) == 1
        if size == 1:
            assert len(found) > 3


@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize("frame", [STANDING, NAMED], ids=["int", "text"])
def test_a_query_that_comes_back_at_the_very_end(frame, size, folder):
    late = pl.concat([frame.slice(1), frame.head(1)])
    read(late, size=size)
    first = frame["query_id"][0]
    again = frame.head(1).with_columns(rank=pl.lit(99, pl.Int64))
    read(pl.concat([frame, again]), size=size)
    assert first == frame["query_id"][0]
    assert left_in(folder) == []


def test_rows_by_rank_first():
    read(STANDING.sort("rank", "query_id"), size=2)


def test_scattered_rows_of_files(tmp_path, folder):
    mixed = STANDING.sample(fraction=1, shuffle=True, seed=1)
    for n in range(6):
        mixed.slice(5 * n, 5).write_parquet(tmp_path / f"{n}.parquet")
    read(pl.scan_parquet(tmp_path / "*.parquet"), size=4, threads=2)
    assert left_in(folder) == []


def test_other_columns_come_along():
    wide = STANDING.with_columns(score=-pl.col("rank").cast(pl.Float64)).sample(
        fraction=1, shuffle=True, seed=1
    )

    def work(rows: pl.DataFrame, starts: np.ndarray | None) -> pl.DataFrame:
        return rows

    found = pl.concat(map_pieces(wide.lazy(), work, pl.concat, size=3))
    assert found.columns == wide.columns
    assert found.sort(pl.all()).equals(wide.sort(pl.all()))


# Results.


@pytest.mark.parametrize("mixed", [False, True])
def test_results_are_merged_in_the_order_of_the_pieces(mixed):
    frame = frame_of(dict.fromkeys(range(400), 2))
    if mixed:
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
    sizes = []

    def work(rows: pl.DataFrame, starts: np.ndarray | None) -> list[int]:
        return rows["query_id"].unique(maintain_order=True).to_list()

    def merge(parts: list[list[int]]) -> list[int]:
        sizes.append(len(parts))
        return [query for part in parts for query in part]

    found = map_pieces(frame.lazy(), work, merge, size=4, threads=2)
    # What was merged before scattered rows were met is dropped.
    assert 1 < len(found) <= len(sizes)
    assert max(sizes) == 10
    queries = [query for part in found for query in part]
    assert sorted(queries) == list(range(400))
    if not mixed:
        assert queries == sorted(queries)


def test_few_pieces_are_worked_on_at_a_time():
    lock = threading.Lock()
    now: list[int] = []
    most = []

    def work(rows: pl.DataFrame, starts: np.ndarray | None) -> int:
        with lock:
            now.append(1)
            most.append(len(now))
        threading.Event().wait(0.002)
        with lock:
            now.pop()
        return rows.height

    frame = frame_of(dict.fromkeys(range(60), 3))
    for threads in (1, 2):
        most.clear()
        assert sum(map_pieces(frame.lazy(), work, sum, size=3, threads=threads)) == 180
        assert max(most) <= threads


# Failures.


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("at", [1, 3, 7])
def test_an_error_in_a_piece_reaches_the_caller(threads, mixed, at, folder):
    frame = STANDING.sample(fraction=1, shuffle=True, seed=3) if mixed else STANDING

    def work(rows: pl.DataFrame, starts: np.ndarray | None) -> int:
        if at in rows["query_id"]:
            raise BrokenError(at)
        return 1

    with pytest.raises(BrokenError, match=str(at)):
        map_pieces(frame.lazy(), work, sum, size=4, threads=threads)
    assert left_in(folder) == []


@pytest.mark.parametrize("mixed", [False, True])
def test_an_error_in_merging_reaches_the_caller(mixed, folder):
    frame = STANDING.sample(fraction=1, shuffle=True, seed=3) if mixed else STANDING

    def merge(parts: list[int]) -> int:
        raise BrokenError

    with pytest.raises(BrokenError):
        map_pieces(frame.lazy(), lambda rows, starts: 1, merge, size=4)
    assert left_in(folder) == []


def test_lists_that_cannot_be_read(tmp_path, folder):
    gone = pl.scan_parquet(tmp_path / "no.parquet")
    with pytest.raises(FileNotFoundError):
        map_pieces(gone, contents, joined)
    STANDING.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(pl.exceptions.PolarsError):
        map_pieces(pl.scan_parquet(tmp_path / "*.parquet"), contents, joined, size=2)
    bad = NAMED.lazy().with_columns(pl.col("query_id").cast(pl.Int64))
    with pytest.raises(pl.exceptions.PolarsError, match="conversion from `str`"):
        map_pieces(bad, contents, joined, size=2)
    assert left_in(folder) == []


@pytest.mark.parametrize("scattered", [False, True])
def test_few_rows_are_one_piece(scattered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_FEW", STANDING.height)
    frame = STANDING.sample(fraction=1.0, shuffle=True, seed=1) if scattered else STANDING
    seen = []

    def work(rows: pl.DataFrame, starts: np.ndarray | None) -> pl.DataFrame:
        seen.append(starts is None)
        return rows

    (found,) = map_pieces(frame.lazy(), work, pl.concat)
    assert found.equals(frame)
    assert seen == [scattered]


@pytest.mark.parametrize("scattered", [False, True])
def test_a_table_in_memory_is_one_piece(scattered: bool, folder: Path) -> None:
    frame = STANDING.sample(fraction=1.0, shuffle=True, seed=1) if scattered else STANDING
    seen = []

    def work(rows: pl.DataFrame, starts: np.ndarray | None) -> pl.DataFrame:
        seen.append(None if starts is None else starts.tolist())
        return rows

    (found,) = map_pieces(frame, work, pl.concat, size=2)
    assert found.equals(frame)
    ends = np.cumsum(list(LENGTHS.values()))
    assert seen == [None if scattered else [0, *ends[:-1].tolist()]]
    assert left_in(folder) == []
