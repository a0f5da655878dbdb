"""Whole lists in their delivered order: what a scorer reads at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.columns import ITEM_ID, QUERY_ID, RANK, SCORE
from recoeval.data.delivery import Tie, deliver
from recoeval.data.listcheck import ListFacts, check_lists, count_repeats
from recoeval.data.ordering import starts_of
from recoeval.data.rowkeys import Ints

__all__ = ["ListBlock", "block_of"]

_LEFT: Final = 34
"""Bits of a number that rank and place may take: 30 are left to tell queries apart."""


@dataclass(frozen=True, slots=True)
class ListBlock:
    """Whole lists one below the other, each in its delivered order.

    Args:
        queries: query_id of each list; distinct.
        starts: where each list starts, one more than there are lists.
        items: item_id of each row.
        hashes: of the items.
        scores: score of each row; None where the lists have none.
        ranked: whether the rows came with ranks.
        disagreements: lists in which an item of a better rank has a lower score.
        checked: what was found in rows that were not in order; None where they were.
    """

    queries: pl.Series
    starts: Ints
    items: pl.Series
    hashes: NDArray[np.uint64]
    scores: pl.Series | None
    ranked: bool
    disagreements: int = 0
    checked: ListFacts | None = None

    @property
    def lengths(self) -> Ints:
        """Rows of each list."""
        return np.diff(self.starts)

    def lists(self, rows: Ints) -> Ints:
        """Returns the number of the list of rows.

        Args:
            rows: positions.
        """
        numbers: Ints = np.searchsorted(self.starts, rows, side="right") - 1
        return numbers

    def ranks(self, rows: Ints) -> Ints:
        """Returns the delivered rank of rows, 1..n.

        Args:
            rows: positions.
        """
        ranks: Ints = rows - self.starts[self.lists(rows)] + 1
        return ranks

    def facts(self, shared: Ints) -> ListFacts:
        """Returns what was found when the rows were checked.

        Args:
            shared: the rows whose item stands elsewhere in their list as well.
        """
        if self.checked is not None:
            return self.checked
        identical = repeated = 0
        if len(shared):
            again = pl.DataFrame({"list": self.lists(shared), ITEM_ID: self.items.gather(shared)})
            if self.scores is not None:
                again = again.with_columns(self.scores.gather(shared))
            if self.ranked:
                again = again.with_columns(pl.Series(RANK, self.ranks(shared)))
            identical, repeated = count_repeats(again, ["list", ITEM_ID])
        return ListFacts(len(self.items), identical, repeated, 0, self.disagreements)


def block_of(
    rows: pl.DataFrame, starts: Ints | None = None, *, what: str = "lists", tie: Tie = "ascending"
) -> ListBlock:
    """Returns whole lists as a block, checked and put in order.

    Args:
        rows: of `read_lists`; the rows of a list in one piece where `starts` are given.
        starts: where each list starts; None: the rows are in any order.
        what: name of the lists in errors.
        tie: as for `deliver`.

    Raises:
        DataError: rows that `check_lists` refuses; it counts those of this block alone.
    """
    if starts is None:
        rows = _together(rows, tie)
        starts = starts_of(rows[QUERY_ID])
    ends = np.append(starts, rows.height)
    facts: ListFacts | None = None
    if not _in_order(rows, ends, tie):
        facts = check_lists(rows.lazy(), what=what)
        rows = deliver(rows.lazy(), tie=tie).collect()
        starts = starts_of(rows[QUERY_ID])
        ends = np.append(starts, rows.height)
    ranked = RANK in rows.columns
    scores = rows[SCORE] if SCORE in rows.columns else None
    disagreements = 0
    if ranked and scores is not None:
        disagreements = _disagreements(scores.to_numpy(), ends)
    queries, items = rows[QUERY_ID][starts], rows[ITEM_ID]
    hashes = items.hash().to_numpy()
    return ListBlock(queries, ends, items, hashes, scores, ranked, disagreements, facts)


def _together(rows: pl.DataFrame, tie: Tie) -> pl.DataFrame:
    """Returns the rows list by list, in the order in which most lists are delivered."""
    if RANK not in rows.columns:
        if tie == "ascending":
            return rows.sort(QUERY_ID, SCORE, ITEM_ID, descending=[False, True, False])
        return rows.sort(QUERY_ID)
    ranks = rows[RANK].to_numpy()
    if rows[RANK].null_count() or rows[QUERY_ID].null_count() or (ranks < 1).any():
        return rows.sort(QUERY_ID, RANK)
    order, own_ranks = _by_hash_and_rank(rows[QUERY_ID].hash().to_numpy(), ranks)
    # Column by column, in one chunk each: picking rows out of many takes four times as long.
    found = {name: rows[name].rechunk()[order] for name in rows.columns if name != RANK}
    sorted_rows = pl.DataFrame({**found, RANK: own_ranks})
    heads = sorted_rows[QUERY_ID][starts_of(sorted_rows[QUERY_ID])]
    # Two queries with equal hashes: once in a blue moon.
    return sorted_rows if heads.n_unique() == len(heads) else rows.sort(QUERY_ID, RANK)


def _by_hash_and_rank(hashes: NDArray[np.uint64], ranks: Ints) -> tuple[Ints, Ints]:
    """Returns rows by the high bits of a hash, and by rank: their places, and their ranks.

    Hash, rank and place are one number to sort by, so that places need no sort of their own.
    """
    ranked = np.uint64(int(ranks.max(initial=1)).bit_length())
    placed = np.uint64(len(ranks).bit_length())
    if ranked + placed > _LEFT:
        order = np.lexsort((ranks, hashes))
        return order, ranks[order]
    keys = (hashes >> (ranked + placed)) << ranked
    keys |= ranks.view(np.uint64)
    keys <<= placed
    keys |= np.arange(len(ranks), dtype=np.uint64)
    keys.sort()
    order = (keys & _low(placed)).view(np.int64)
    keys >>= placed
    keys &= _low(ranked)
    return order, keys.view(np.int64)


def _low(bits: np.uint64) -> np.uint64:
    """Returns so many low bits."""
    return (np.uint64(1) << bits) - np.uint64(1)


def _in_order(rows: pl.DataFrame, ends: Ints, tie: Tie) -> bool:
    """Returns whether the rows are good, and in delivered order within their lists."""
    keys = [name for name in (QUERY_ID, ITEM_ID) if rows[name].null_count()]
    if keys:
        return False
    if RANK in rows.columns:
        return not rows[RANK].null_count() and _are_ranked(rows[RANK].to_numpy(), ends)
    if tie == "descending" or rows[SCORE].null_count():
        return False
    scores = rows[SCORE].to_numpy()
    if not np.isfinite(scores).all():
        return False
    inside = _inside(ends)
    if (scores[1:] > scores[:-1])[inside].any():
        return False
    tied = np.flatnonzero((scores[1:] == scores[:-1]) & inside)
    return bool((rows[ITEM_ID].gather(tied + 1) >= rows[ITEM_ID].gather(tied)).all())


def _are_ranked(ranks: Ints, ends: Ints) -> bool:
    """Returns whether the ranks of each list are 1, 2, 3 ..."""
    breaks = np.flatnonzero(np.diff(ranks) != 1) + 1
    return bool((ranks[ends[:-1]] == 1).all()) and np.array_equal(breaks, ends[1:-1])


def _inside(ends: Ints) -> NDArray[np.bool_]:
    """Returns for each row but the first whether the one before it is in the same list."""
    inside = np.ones(max(0, int(ends[-1]) - 1), dtype=bool)
    inside[ends[1:-1] - 1] = False
    return inside


def _disagreements(scores: NDArray[np.float64], ends: Ints) -> int:
    """Returns in how many lists a score is above the one before it."""
    rising = np.flatnonzero((scores[1:] > scores[:-1]) & _inside(ends)) + 1
    return len(np.unique(np.searchsorted(ends, rising, side="right")))
