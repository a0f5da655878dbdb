"""Lists of any number of rows, piece by piece: each piece holds whole lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

import polars as pl

from recoeval.columns import QUERY_ID
from recoeval.data.ordering import starts_of
from recoeval.data.rowkeys import Ints

__all__ = ["ROWS_AT_ONCE", "map_pieces", "work_on"]

ROWS_AT_ONCE: Final = 1_000_000
"""Rows of a piece: some arrays of them fit the caches, and a thousand calls of polars cost
little beside them."""

_MERGED: Final = 10
# So few rows are one piece: streams and threads would take longer than the work.
_FEW: Final = 50_000
_PART: Final = "_part"

Result = TypeVar("Result")
Some = TypeVar("Some")
Work = Callable[[pl.DataFrame, Ints | None], Result]


class _ScatteredError(Exception):
    """The rows of some list do not stand together."""


def map_pieces(
    lists: pl.LazyFrame | pl.DataFrame,
    work: Work[Result],
    merge: Callable[[list[Result]], Result],
    *,
    threads: int = 1,
    size: int = ROWS_AT_ONCE,
) -> list[Result]:
    """Returns what a function gives for each piece; the lists are never held whole.

    Rows that stand list by list are read once, in a stream. Others go through files of a
    temporary folder, by a hash of their query.

    Args:
        lists: with query_id, in any row order; a row of the result depends on one list alone. A
            table in memory is one piece.
        work: is given rows of whole lists, and where each list starts, or None where the rows are
            in any order. It may be called a second time with the same lists.
        merge: makes one result of several, so that few are held; their order is that of the pieces.
        threads: how many pieces are worked on at a time.
        size: rows of a piece, about.
    """
    heads: list[pl.Series] = []

    def work_in_order(rows: pl.DataFrame) -> Result:
        # Batches come in many chunks. A pool of threads takes three times the CPU of one.
        rows = pl.DataFrame([each.rechunk() for each in rows])
        starts = starts_of(rows[QUERY_ID])
        own = rows[QUERY_ID][starts]
        _refuse_scattered(own)
        heads.append(own)
        return work(rows, starts)

    def work_anyhow(rows: pl.DataFrame) -> Result:
        return work(rows, None)

    if isinstance(lists, pl.DataFrame):
        few, limit = lists, lists.height
    else:
        few, limit = lists.head(_FEW + 1).collect(engine="streaming"), min(_FEW, size)
    if few.height <= limit:
        try:
            return [work_in_order(few)]
        except _ScatteredError:
            return [work_anyhow(few)]
    lists = lists.lazy()
    try:
        found = _merged(work_on(_standing(lists, size), work_in_order, threads), merge)
        _refuse_scattered(pl.concat(heads))
    except _ScatteredError:
        # The second pass is no part of it: an error holds what the first one read.
        heads.clear()
    else:
        return found
    # Not in the generator: a folder would last as long as an error that holds it.
    with TemporaryDirectory(prefix="recoeval-") as folder:
        pieces = _gathered(lists, size, Path(folder))
        return _merged(work_on(pieces, work_anyhow, threads), merge)


def _refuse_scattered(heads: pl.Series) -> None:
    """Refuses lists of which one starts twice."""
    rising = heads.is_sorted() and len(starts_of(heads)) == len(heads)
    if not rising and heads.n_unique() < len(heads):
        raise _ScatteredError


def _merged(results: Iterable[Result], merge: Callable[[list[Result]], Result]) -> list[Result]:
    """Returns the results, so many at a time made one."""
    found: list[Result] = []
    waiting: list[Result] = []
    for each in results:
        waiting.append(each)
        if len(waiting) == _MERGED:
            found.append(merge(waiting))
            waiting = []
    return [*found, *([merge(waiting)] if waiting else [])]


def work_on(
    pieces: Iterator[Some], work: Callable[[Some], Result], threads: int
) -> Iterator[Result]:
    """Yields the results in the order of the pieces; a few pieces are held at a time.

    Args:
        pieces: made in this thread, while others are worked on.
        work: what to do with a piece.
        threads: how many pieces are worked on at a time.
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for piece in pieces:
                waiting.append(pool.submit(work, piece))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def _standing(lists: pl.LazyFrame, size: int) -> Iterator[pl.DataFrame]:
    """Yields rows in their order, cut where the query changes."""
    left = lists.clear().collect()
    for batch in lists.collect_batches(chunk_size=size, maintain_order=True, engine="streaming"):
        rows = pl.concat([left, batch]) if left.height else batch
        # The last list may go on in the next batch.
        start = _last_start(rows[QUERY_ID])
        left = rows.slice(start)
        if start:
            yield rows.head(start)
    yield left


def _last_start(ids: pl.Series) -> int:
    """Returns where the last run of equal ids starts."""
    span = 1_000
    while len(ids):
        tail = ids.tail(span)
        others = tail.ne_missing(tail.tail(1).new_from_index(0, len(tail)))
        if others.any():
            return len(ids) - len(tail) + int(others.arg_true()[-1]) + 1
        if span >= len(ids):
            break
        span *= 30
    return 0


def _gathered(lists: pl.LazyFrame, size: int, folder: Path) -> Iterator[pl.DataFrame]:
    """Yields lists whose rows stand anywhere, gathered by a hash of their query."""
    height = lists.select(pl.len()).collect(engine="streaming").item()
    parts = -(-height // size)
    if parts <= 1:
        yield lists.collect(engine="streaming")
        return
    part = (pl.col(QUERY_ID).hash() % parts).alias(_PART)
    by_part = pl.PartitionBy(folder, key=part, include_key=False)
    # Compressing them costs more than writing them.
    lists.sink_ipc(by_part, maintain_order=False, engine="streaming")
    for path in sorted(folder.iterdir()):
        yield pl.concat([pl.read_ipc(file) for file in sorted(path.iterdir())])
