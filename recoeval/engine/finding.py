"""Lists reduced to what is found in them: hits, and rows that leave. Misses go no further.

Inside the engine ids are numbers: `query_id` is the number of a query, `item_id` of a hit that of
its pair of the truth. The rank of a hit after repeated and seen items have left is its delivered
rank minus the rows before it that leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.columns import ITEM_ID, QUERY_ID, RANK, SCORE
from recoeval.data.listblocks import ListBlock
from recoeval.data.rowkeys import Ints, PairIndex, expand, match_rows
from recoeval.engine.kernel import REMOVED
from recoeval.metrics.base import REPEATED, SEEN

__all__ = ["TRUTH", "Asked", "Found", "find", "merge", "prepared_rows"]

TRUTH: Final = "truth"


@dataclass(frozen=True, slots=True)
class Found:
    """What is found in lists; blocks of whole lists merge by putting rows below each other.

    Args:
        hits: query_id (number), item_id (number of the pair), rank (prepared, Int64), score
            (Float64, null where there is none).
        removed: query_id (number), rank (delivered, Int64), repeated, seen, removed (Boolean):
            rows that are repeated or seen.
        filtered: item_id (number of the pair): relevant pairs of which a rule left no row.
    """

    hits: pl.DataFrame
    removed: pl.DataFrame
    filtered: pl.DataFrame


def merge(parts: Sequence[Found]) -> Found:
    """Returns what is found in all of several blocks."""
    if len(parts) == 1:
        return parts[0]
    return Found(*(pl.concat([getattr(p, each.name) for p in parts]) for each in fields(Found)))


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows of a block that are looked at: those of evaluated queries, down to a depth.

    Args:
        block: the lists.
        numbers: query number of each list; -1: not asked for.
        shared: positions of the rows whose item stands elsewhere in their list as well.
        matched: for each table of pairs which rows are pairs of their query: number of the pair,
            position of the row.
        depth: ranks beyond it are left out; None: there are none.
    """

    block: ListBlock
    numbers: Ints
    shared: Ints
    matched: Mapping[str, tuple[Ints, Ints]]
    depth: int | None = None

    @classmethod
    def of(
        cls,
        block: ListBlock,
        numbers: Ints,
        tables: Mapping[str, PairIndex],
        depth: int | None = None,
    ) -> Asked:
        """Returns the rows of a block, matched with tables of pairs.

        Args:
            block: the lists.
            numbers: query number of each list; -1: not asked for.
            tables: pairs by query.
            depth: ranks beyond it are left out; None: there are none.
        """
        pairs = [table.of_lists(numbers) for table in tables.values()]
        items = [table.items for table in tables.values()]
        wanted = [(lists, ids[own]) for (lists, own), ids in zip(pairs, items, strict=True)]
        found = match_rows(block.starts, block.items, wanted, block.hashes)
        matched = {
            name: (own[index], rows)
            for name, (_, own), (index, rows) in zip(tables, pairs, found.found, strict=True)
        }
        return cls(block, numbers, found.shared, matched, depth)

    @property
    def lengths(self) -> Ints:
        """Rows of each list that are looked at; 0 for lists that are not asked for."""
        own = np.where(self.numbers < 0, 0, self.block.lengths)
        return own if self.depth is None else np.minimum(own, self.depth)

    def pairs(self, table: str) -> tuple[Ints, Ints]:
        """Returns which rows are pairs of their query: number of the pair, position of the row.

        Args:
            table: name of the table of pairs.
        """
        found, rows = self.matched[table]
        near = self._near(rows)
        return found[near], rows[near]

    def repeated(self) -> Ints:
        """Returns the positions of the rows whose item stands earlier in their list."""
        if not len(self.shared):
            return self.shared
        items = self.block.items.gather(self.shared)
        rows = pl.DataFrame({"list": self.block.lists(self.shared), "item": items})
        first = rows.select(pl.struct("list", "item").is_first_distinct()).to_series()
        again: Ints = self.shared[~first.to_numpy()]
        again = again[self.numbers[self.block.lists(again)] >= 0]
        return again[self._near(again)]

    def queries(self, rows: Ints) -> Ints:
        """Returns the query number of rows."""
        numbers: Ints = self.numbers[self.block.lists(rows)]
        return numbers

    def rows(self, pick: Ints | None = None) -> pl.DataFrame:
        """Returns rows with the number of their query.

        Args:
            pick: positions; None: all that are looked at.

        Returns:
            query_id (number), item_id, rank (delivered), score (null where there is none).
        """
        if pick is None:
            _, pick = expand(self.block.starts[:-1], self.lengths)
        return pl.DataFrame(
            {
                QUERY_ID: pl.Series(self.queries(pick).astype(np.uint32)),
                ITEM_ID: self.block.items.gather(pick),
                RANK: self.block.ranks(pick),
                SCORE: self.scores(pick),
            }
        )

    def scores(self, rows: Ints) -> pl.Series:
        """Returns the score of rows, null where the lists have none."""
        if self.block.scores is None:
            return pl.Series([None], dtype=pl.Float64).new_from_index(0, len(rows))
        return self.block.scores.gather(rows)

    def _near(self, rows: Ints) -> NDArray[np.bool_]:
        if self.depth is None:
            return np.ones(len(rows), dtype=bool)
        near: NDArray[np.bool_] = self.block.ranks(rows) <= self.depth
        return near


def find(asked: Asked, *, drop_seen: bool) -> Found:
    """Returns what is found in the lists of a block; the hits of each list by rank.

    A row is removed when its item stood earlier in the list, or when it is seen and seen rows
    leave. Of a relevant item the first row that stays is the hit.

    Args:
        asked: the rows, matched with the tables "truth", and "seen" if that is known.
        drop_seen: whether seen rows leave the lists (`repeats: exclude`).
    """
    repeated, known, gone = _leaving(asked, drop_seen=drop_seen)
    pairs, rows = asked.pairs(TRUTH)
    stays = ~_are_in(rows, gone)
    # Of each pair one row at most: others repeat it.
    order = np.argsort(rows[stays])
    hits, at = pairs[stays][order], rows[stays][order]
    lists = asked.block.lists(at)
    starts = asked.block.starts[lists]
    before = _left_before(at, starts, gone)
    filtered = pairs[:0] if stays.all() else np.setdiff1d(pairs, hits)
    return Found(
        _frame(
            {
                QUERY_ID: asked.numbers[lists],
                ITEM_ID: hits,
                RANK: at - starts + 1 - before,
                SCORE: asked.scores(at),
            }
        ),
        _marked(asked, repeated, known, gone),
        _frame({ITEM_ID: filtered}),
    )


def prepared_rows(asked: Asked, *, drop_seen: bool) -> pl.DataFrame:
    """Returns the lists of a block as they are after repeated and seen items have left.

    Args:
        asked: the rows, matched with the table "seen" if that is known; at any depth.
        drop_seen: whether seen rows leave the lists (`repeats: exclude`).

    Returns:
        query_id (number, UInt32), item_id, rank (Int64, 1..n), score (null where there is none).
    """
    whole = replace(asked, depth=None)
    _, _, gone = _leaving(whole, drop_seen=drop_seen)
    rows = whole.rows()
    if not len(gone):
        return rows
    block = whole.block
    _, at = expand(block.starts[:-1], whole.lengths)
    starts = block.starts[block.lists(at)]
    ranks = rows[RANK] - pl.Series(_left_before(at, starts, gone), dtype=pl.Int64)
    return rows.with_columns(ranks.alias(RANK)).filter(~_are_in(at, gone))


def _leaving(asked: Asked, *, drop_seen: bool) -> tuple[Ints, Ints, Ints]:
    """Returns the rows that are repeated, those that are seen, and those that leave; ascending."""
    repeated = asked.repeated()
    known = np.sort(asked.pairs(SEEN)[1]) if SEEN in asked.matched else np.zeros(0, np.int64)
    return repeated, known, _union(repeated, known) if drop_seen else repeated


def _left_before(rows: Ints, starts: Ints, gone: Ints) -> Ints:
    """Returns how many rows of the same list leave before each row.

    Args:
        rows: positions.
        starts: where the list of each row starts.
        gone: rows that leave, ascending.
    """
    if not len(gone):
        return np.zeros(len(rows), np.int64)
    return np.searchsorted(gone, rows) - np.searchsorted(gone, starts)


def _union(one: Ints, other: Ints) -> Ints:
    """Returns the rows of two ascending arrays, each once."""
    if not len(one) or not len(other):
        return one if len(one) else other
    rows = np.sort(np.concatenate((one, other)))
    # np.union1d would put them into a hash table first.
    first: NDArray[np.bool_] = np.append(True, rows[1:] != rows[:-1])
    union: Ints = rows[first]
    return union


def _are_in(rows: Ints, some: Ints) -> NDArray[np.bool_]:
    """Returns whether rows are among some, which are ascending."""
    if not len(some):
        return np.zeros(len(rows), dtype=bool)
    at = np.minimum(np.searchsorted(some, rows), len(some) - 1)
    found: NDArray[np.bool_] = some[at] == rows
    return found


def _marked(asked: Asked, repeated: Ints, known: Ints, gone: Ints) -> pl.DataFrame:
    """Returns the rows that are repeated or seen."""
    rows = _union(repeated, known)
    marks = {REPEATED: repeated, SEEN: known, REMOVED: gone}
    return _frame(
        {
            QUERY_ID: asked.queries(rows),
            RANK: asked.block.ranks(rows),
            **{name: _are_in(rows, each) for name, each in marks.items()},
        }
    )


def _frame(columns: Mapping[str, pl.Series | NDArray[Any]]) -> pl.DataFrame:
    """Returns a table, ids as numbers of 32 bits."""
    narrow = {QUERY_ID: pl.UInt32, ITEM_ID: pl.UInt32}
    return pl.DataFrame(
        [pl.Series(name, each, dtype=narrow.get(name)) for name, each in columns.items()]
    )
