"""The data of the benchmark: random, seeded, made a block of users at a time.

Usage: python -m scripts.bench_lib.data FOLDER USERS [--huge]
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

__all__ = ["Block", "Shuffled", "Writer", "Zipf", "blocks", "lists_alone", "once", "text_ids"]

RECIPE = 1
"""Changes with what is made: older files are made anew."""
ITEMS = 200_000
LENGTH = 100
"""Recommendations a user."""
TRAIN = 36
"""Distinct train pairs a user."""
FILES = 50
"""Files of the huge lists."""
BLOCK = 20_000
"""Users made at once."""
ROW_GROUP = 500_000
PART = 2_000_000
"""Rows shuffled at once."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Zipf:
    """Items whose popularity falls with their place.

    Args:
        cumulated: probability of the items up to each place.
        ids: of the items, by place.
    """

    cumulated: NDArray[np.float64]
    ids: Ints

    @classmethod
    def of(cls, items: int = ITEMS, exponent: float = 0.8) -> Zipf:
        """Returns the distribution over items 0 .. items - 1."""
        weights = 1 / np.arange(1, items + 1) ** exponent
        cumulated = np.cumsum(weights)
        return cls(cumulated / cumulated[-1], np.random.default_rng(0).permutation(items))

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Ints:
        """Returns items, with repetitions."""
        return self.ids[np.searchsorted(self.cumulated, rng.random(shape))]

    def draw_distinct(self, rng: np.random.Generator, rows: int, length: int) -> Ints:
        """Returns rows of distinct items, in the order in which they were drawn."""
        # Enough draws for a row to be filled: repetitions are few among so many items.
        drawn = self.draw(rng, (rows, length + length // 2 + 20))
        order = np.argsort(drawn, axis=1, kind="stable")
        ordered = np.take_along_axis(drawn, order, axis=1)
        again = np.zeros(drawn.shape, dtype=bool)
        np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        first = np.argsort(again, axis=1, kind="stable")[:, :length]
        if np.take_along_axis(again, first, axis=1).any():
            raise ValueError(f"fewer than {length} distinct items in {drawn.shape[1]} draws")
        return np.take_along_axis(drawn, first, axis=1)


@dataclass(frozen=True, slots=True)
class Block:
    """What is made of some users.

    Args:
        lists: user_id, item_id (Int64), rank (Int32); by user, then rank.
        truth: user_id, item_id, distinct; by user.
        train: user_id, item_id, distinct; by user.
    """

    lists: pl.DataFrame
    truth: pl.DataFrame
    train: pl.DataFrame


def blocks(users: int, *, seed: int = 0) -> Iterator[Block]:
    """Yields lists, truth and train pairs of all users, a block at a time.

    The truth has ten items a user in the mean (geometric), 15% of them from the user's list.

    Args:
        users: how many; ids 0, 1, ...
        seed: of everything random but the popularity of the items.
    """
    zipf = Zipf.of()
    for start, n in _starts(users):
        rng = np.random.default_rng([seed, start])
        listed = zipf.draw_distinct(rng, n, LENGTH)
        ids = np.arange(start, start + n)

        row = np.repeat(np.arange(n), rng.geometric(0.1, n))
        places = (rng.random(len(row)) ** 2 * LENGTH).astype(np.int64)
        taken = rng.random(len(row)) < 0.15
        items = np.where(taken, listed[row, places], zipf.draw(rng, row.shape))
        truth = _pairs(ids[row], items).unique(maintain_order=True)

        known = zipf.draw_distinct(rng, n, TRAIN)
        yield Block(_ranked(start, listed), truth, _pairs(np.repeat(ids, TRAIN), known.ravel()))


def lists_alone(users: int, *, seed: int) -> Iterator[pl.DataFrame]:
    """Yields what `blocks` has as lists, without the rest."""
    zipf = Zipf.of()
    for start, n in _starts(users):
        yield _ranked(start, zipf.draw_distinct(np.random.default_rng([seed, start]), n, LENGTH))


def _starts(users: int) -> Iterator[tuple[int, int]]:
    """Yields first user and number of users of each block."""
    for start in range(0, users, BLOCK):
        yield start, min(BLOCK, users - start)


def _ranked(start: int, listed: Ints) -> pl.DataFrame:
    """Returns lists as rows: user_id, item_id, rank."""
    n, length = listed.shape
    ranks = np.tile(np.arange(1, length + 1, dtype=np.int32), n)
    users = np.repeat(np.arange(start, start + n), length)
    return _pairs(users, listed.ravel()).with_columns(rank=pl.Series(ranks))


def _pairs(users: Ints, items: Ints) -> pl.DataFrame:
    return pl.DataFrame({"user_id": users, "item_id": items})


def text_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the frame with ids as texts: u000000123, i0001234."""
    return frame.with_columns(
        pl.concat_str(pl.lit("u"), pl.col("user_id").cast(pl.String).str.zfill(9)).alias("user_id"),
        pl.concat_str(pl.lit("i"), pl.col("item_id").cast(pl.String).str.zfill(7)).alias("item_id"),
    )


class Writer:
    """A parquet file that is written a frame at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: pq.ParquetWriter | None = None

    def write(self, frame: pl.DataFrame) -> None:
        """Appends rows."""
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        if self._file is None:
            self._file = pq.ParquetWriter(self.path, table.schema, compression="zstd")
        self._file.write_table(table, row_group_size=ROW_GROUP)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()


class Shuffled(Writer):
    """A parquet file whose rows come in random order, whatever the order they are written in.

    Rows are dealt to parts at random, and each part is shuffled: no more than a part is held.
    """

    def __init__(self, path: Path, rows: int, seed: int) -> None:
        super().__init__(path)
        self._rng = np.random.default_rng([seed, 1])
        self._folder = path.with_suffix(".parts")
        self._folder.mkdir(exist_ok=True)
        self._parts = [
            Writer(self._folder / f"{number}.parquet") for number in range(-(-rows // PART))
        ]

    def write(self, frame: pl.DataFrame) -> None:
        """Deals rows."""
        part = self._rng.integers(len(self._parts), size=frame.height)
        order = np.argsort(part, kind="stable")
        sorted_frame, ends = frame[order], np.cumsum(np.bincount(part, minlength=len(self._parts)))
        for writer, end, before in zip(self._parts, ends, [0, *ends[:-1]], strict=True):
            if end > before:
                writer.write(sorted_frame[before:end])

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for part in self._parts:
            part.__exit__(kind, error, trace)
            if error is None and part.path.exists():
                frame = pl.read_parquet(part.path)
                super().write(frame[self._rng.permutation(frame.height)])
        super().__exit__(kind, error, trace)
        shutil.rmtree(self._folder)


def make(folder: Path, users: int) -> None:
    """Writes lists, truth and train pairs: integer and text ids, contiguous and interleaved."""
    pairs = 10 * users
    with (
        Writer(folder / "lists_int.parquet") as contiguous,
        Writer(folder / "lists_text.parquet") as text,
        Shuffled(folder / "lists_interleaved.parquet", LENGTH * users, 2) as interleaved,
        Shuffled(folder / "truth_int.parquet", pairs, 3) as truth,
        Shuffled(folder / "truth_text.parquet", pairs, 3) as truth_text,
        Shuffled(folder / "train_int.parquet", TRAIN * users, 4) as train,
    ):
        for block in blocks(users):
            contiguous.write(block.lists)
            interleaved.write(block.lists)
            text.write(text_ids(block.lists))
            truth.write(block.truth)
            truth_text.write(text_ids(block.truth))
            train.write(block.train)


def make_huge(folder: Path, users: int) -> None:
    """Writes lists with text ids as many files, and their truth."""
    (folder / "lists_text").mkdir()
    total = -(-users // BLOCK)
    with ExitStack() as stack:
        files = [
            stack.enter_context(Writer(folder / "lists_text" / f"part-{number:02}.parquet"))
            for number in range(min(FILES, total))
        ]
        truth = stack.enter_context(Shuffled(folder / "truth_text.parquet", 10 * users, 3))
        for number, block in enumerate(blocks(users)):
            files[number * len(files) // total].write(text_ids(block.lists))
            truth.write(text_ids(block.truth))


def once(folder: Path, recipe: str, work: Callable[[Path], None]) -> None:
    """Fills a folder, unless that was done before; an interrupted attempt leaves none.

    Args:
        folder: what is to be filled.
        recipe: what makes its content, in words; another one makes it anew.
        work: fills the folder that it is given.
    """
    stamp = folder / "recipe.txt"
    recipe = f"{RECIPE} {recipe}\n"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == recipe:
        return
    shutil.rmtree(folder, ignore_errors=True)
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    print(f"Making {folder} ...", flush=True)
    work(unfinished)
    (unfinished / stamp.name).write_text(recipe, encoding="utf-8")
    unfinished.rename(folder)


def main() -> None:
    """Makes the folder that is asked for, unless it is there."""
    parser = argparse.ArgumentParser(description="Makes the data of one size.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("users", type=int)
    parser.add_argument("--huge", action="store_true", help="text ids alone, as many files")
    asked = parser.parse_args()
    work = make_huge if asked.huge else make
    recipe = f"{work.__name__} {asked.users}"
    once(asked.folder, recipe, lambda folder: work(folder, asked.users))


if __name__ == "__main__":
    main()
