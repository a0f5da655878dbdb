"""Prepared lists on disk, for those that read the lists of others: merges, reranks, overlaps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID, RANK, SCORE
from recoeval.data.rowkeys import positions
from recoeval.engine.local import Keep
from recoeval.workflow.disk import folder_of, write_table

__all__ = ["Shelf"]

_STANDING: Final = "standing"
_GATHERED: Final = "gathered"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Prepared lists of the generators of a fold, cut into blocks of queries.

    The order of the queries is that of their ids, and a block is a number of queries in it: the
    lists of all generators are cut at the same places, and a block of each can be held.

    Args:
        folder: of its own; made when lists come.
        queries: query_id, user_id of the evaluated queries, sorted by query_id.
        items: dtype of the item ids.
        size: queries of a block, >= 1.
    """

    folder: Path
    queries: pl.DataFrame
    items: pl.DataType
    size: int
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def keeper(self, name: str) -> Keep:
        """Returns what takes the lists of a generator, from several threads if need be."""

        def keep(rows: pl.DataFrame, standing: bool) -> None:
            # Lists that are read a second time stand apart, and count alone.
            place = self.folder / folder_of(name) / (_STANDING if standing else _GATHERED)
            place.mkdir(parents=True, exist_ok=True)
            # A generator of somebody else may have narrower types than those that are read here.
            typed = rows.cast(self._empty().schema)
            blocks = typed.with_columns((pl.col(QUERY_ID) // self.size).alias("block"))
            for (block,), own in blocks.partition_by(
                "block", as_dict=True, include_key=False
            ).items():
                path = place / str(block) / f"{next(self._numbers)}.parquet"
                write_table(path, own, durable=False)

        return keep

    def has(self, name: str) -> bool:
        """Returns whether lists of a generator stand here."""
        return (self.folder / folder_of(name)).is_dir()

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Yields query_id, user_id of the queries of each block."""
        for start in range(0, self.queries.height, self.size):
            yield self.queries.slice(start, self.size)

    def lists(self, name: str, queries: pl.DataFrame) -> pl.DataFrame:
        """Returns the lists of a generator for some queries.

        Args:
            name: the generator.
            queries: query_id; in any order, of any blocks; strangers have no list.

        Returns:
            query_id, item_id, rank (Int64, 1..n), score (Float64, null where there is none), by
            query and rank.
        """
        numbers = positions(queries[QUERY_ID], self.queries[QUERY_ID])
        asked = pl.Series(numbers[numbers >= 0], dtype=pl.UInt32).unique().sort()
        blocks = (asked // self.size).unique().sort()
        rows = pl.concat([self._empty(), *(self._block(name, number) for number in blocks)])
        if len(asked) < sum(self._queries_of(number) for number in blocks):
            rows = rows.filter(pl.col(QUERY_ID).is_in(asked.implode()))
        return rows.with_columns(self.queries[QUERY_ID].gather(rows[QUERY_ID]))

    def _queries_of(self, block: int) -> int:
        return min(self.size, self.queries.height - block * self.size)

    def _block(self, name: str, number: int) -> pl.DataFrame:
        """Returns the lists of a block, with the numbers of their queries."""
        place = self.folder / folder_of(name)
        again = place / _GATHERED
        files = sorted((again if again.is_dir() else place / _STANDING).glob(f"{number}/*.parquet"))
        rows = pl.concat([self._empty(), *(pl.read_parquet(file) for file in files)])
        return rows if rows[QUERY_ID].is_sorted() else rows.sort(QUERY_ID, RANK)

    def _empty(self) -> pl.DataFrame:
        """Returns no rows of lists."""
        dtypes: dict[str, pl.DataType | type[pl.DataType]] = {
            QUERY_ID: pl.UInt32,
            ITEM_ID: self.items,
            RANK: pl.Int64,
            SCORE: pl.Float64,
        }
        return pl.DataFrame(schema=dtypes)
