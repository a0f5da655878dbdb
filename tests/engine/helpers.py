"""Lists of a few queries, and what the engine finds in them, with ids for numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recoeval.data.listblocks import block_of
from recoeval.engine.finding import Asked, Found, find, merge
from recoeval.engine.numbering import Numbering

PAIR = ["query_id", "item_id"]


def lists_of(lists: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    rows = [(q, item, rank) for q, items in lists.items() for rank, item in enumerate(items, 1)]
    schema = {"query_id": pl.String, "item_id": pl.Int64, "rank": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(score=1.0 / pl.col("rank"))


def pairs_of(pairs: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    rows = [(query, item) for query, items in pairs.items() for item in items]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "item_id": pl.Int64}, orient="row")


def truth_of(truth: Mapping[str, Mapping[Any, float]]) -> pl.DataFrame:
    gains = [gain for pairs in truth.values() for gain in pairs.values()]
    return pairs_of(truth).with_columns(gain=pl.Series(gains, dtype=pl.Float64))


@dataclass(frozen=True)
class Search:
    """What is found in the lists of some queries.

    Args:
        numbering: the truth, and the numbers of queries and pairs.
        parts: the rows that were looked at, block by block.
        found: what is in all of them.
    """

    numbering: Numbering
    parts: tuple[Asked, ...]
    found: Found

    @classmethod
    def of(
        cls,
        lists: pl.DataFrame,
        truth: pl.DataFrame,
        seen: pl.DataFrame | None = None,
        *,
        drop_seen: bool = True,
        queries: pl.DataFrame | None = None,
        depth: int | None = None,
        blocks: int = 1,
    ) -> Search:
        """Looks up the lists, all at once or in so many blocks of whole lists."""
        if queries is None:
            queries = truth.select("query_id").unique()
        numbering = Numbering.of(queries, truth)
        known = None if seen is None else numbering.index_of(seen.lazy())
        block = pl.col("query_id").hash() % blocks
        cut = [block_of(lists.filter(block == number)) for number in range(blocks)]
        tables = {"truth": numbering.index, **({} if known is None else {"seen": known})}
        parts = tuple(
            Asked.of(each, numbering.numbers(each.queries), tables, depth) for each in cut
        )
        found = [find(part, drop_seen=drop_seen) for part in parts]
        return cls(numbering, parts, merge(found))

    @property
    def rows(self) -> pl.DataFrame:
        """query_id (number), item_id, rank, score of the rows that are looked at."""
        return pl.concat([part.rows() for part in self.parts])

    @property
    def hits(self) -> pl.DataFrame:
        """query_id, item_id, rank (prepared), gain, score; by query and rank."""
        pairs = self.numbering.truth[self.found.hits["item_id"]]
        hits = pairs.with_columns(self.found.hits["rank"], self.found.hits["score"])
        return hits.select(*PAIR, "rank", "gain", "score").sort("query_id", "rank")

    @property
    def removed(self) -> pl.DataFrame:
        """query_id, item_id, rank (delivered), repeated, seen, removed; by query and rank."""
        items = self.rows.select(*PAIR, "rank")
        marks = self.found.removed.join(items, on=["query_id", "rank"], how="left")
        found = self.numbering.decode(marks).sort("query_id", "rank")
        return found.select(*PAIR, "rank", "repeated", "seen", "removed")

    @property
    def filtered(self) -> list[tuple[str, Any]]:
        """The relevant pairs of which a rule left no row."""
        return self.numbering.truth[self.found.filtered["item_id"]].select(PAIR).rows()

    def numbered(self, queries: pl.DataFrame) -> pl.DataFrame:
        """Returns the queries in their order, with numbers for ids."""
        numbers = pl.Series("query_id", self.numbering.numbers(queries["query_id"]))
        return queries.with_columns(numbers.cast(pl.UInt32))


def everyone(search: Search) -> np.ndarray:
    return np.arange(search.numbering.queries.height)
