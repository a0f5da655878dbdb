"""The rows of lists, looked at before they are put in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Final

import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID, RANK, SCORE
from recoeval.data.delivery import find_order, list_keys
from recoeval.data.failures import reading
from recoeval.data.rowchecks import RowCheck, count_bad, describe_bad, show
from recoeval.errors import DataError, Problem

__all__ = ["ListFacts", "add_facts", "check_lists", "checking", "count_repeats"]

_HASH: Final = "_hash"


@dataclass(frozen=True, slots=True)
class ListFacts:
    """What was found in the lists of a generator.

    Args:
        rows: rows read.
        identical_rows: rows that repeat another one in every column.
        repeated_items: other rows whose item is in the list already, at another rank.
        rank_gaps: lists whose ranks leave a number out.
        disagreements: lists in which an item of a better rank has a lower score.
    """

    rows: int
    identical_rows: int = 0
    repeated_items: int = 0
    rank_gaps: int = 0
    disagreements: int = 0


def add_facts(parts: Sequence[ListFacts]) -> ListFacts:
    """Returns the facts of several pieces of whole lists as one.

    Example:
        >>> add_facts([ListFacts(2), ListFacts(3, rank_gaps=1)]).rows
        5
    """
    return ListFacts(*map(sum, zip(*map(astuple, parts), strict=True)))


def check_lists(lists: pl.LazyFrame, *, what: str) -> ListFacts:
    """Returns the facts of lists after a check of their rows.

    Args:
        lists: of `read_lists`.
        what: name of the lists in errors: "recs", "lists[als]".

    Raises:
        DataError: null ids; null ranks or ranks below 1; null, NaN or infinite scores where
            there is no rank; two items at one rank; values that cannot be read.
    """
    schema = lists.collect_schema()
    keys = list_keys(lists)
    checks = _checks(ranked=RANK in schema)
    with reading(what):
        counts = lists.select(pl.len().alias("rows"), *count_bad(checks))
        facts = counts.collect(engine="streaming").row(0, named=True)
        if problems := describe_bad(lists, checks, facts, path=what):
            raise DataError(*problems)
        identical, repeated = count_repeats(_repeats(lists, [*keys, ITEM_ID]), [*keys, ITEM_ID])
        if RANK not in schema:
            return ListFacts(facts["rows"], identical, repeated)
        ranked = find_order(lists) == "ranked"
        disagreements = 0
        if SCORE in schema:
            disagreements = _count_disagreements(lists, keys, ranked=ranked)
        if ranked:
            return ListFacts(facts["rows"], identical, repeated, 0, disagreements)
        shared = _repeats(lists, [*keys, RANK])
        _check_ranks(shared, keys, what)
        gaps = _count_gaps(lists, keys, distinct_ranks=shared.is_empty())
        return ListFacts(facts["rows"], identical, repeated, gaps, disagreements)


def _checks(*, ranked: bool) -> list[RowCheck]:
    """Returns what is looked for in each row."""
    checks = [
        RowCheck(QUERY_ID, pl.col(QUERY_ID).is_null(), "without query_id", (ITEM_ID,)),
        RowCheck(ITEM_ID, pl.col(ITEM_ID).is_null(), "without item_id", (QUERY_ID,)),
    ]
    pair = (QUERY_ID, ITEM_ID)
    if ranked:
        rank = pl.col(RANK)
        return [
            *checks,
            RowCheck(RANK, rank.is_null(), "without rank", pair),
            RowCheck(
                RANK,
                rank < 1,
                "with a rank below 1",
                (QUERY_ID, RANK),
                "the best item has rank 1; is it counted from 0?",
            ),
        ]
    score = pl.col(SCORE)
    return [
        *checks,
        RowCheck(SCORE, score.is_null(), "without score", pair),
        RowCheck(SCORE, score.is_nan(), "with a score that is no number", pair),
        RowCheck(SCORE, score.is_infinite(), "with an infinite score", pair),
    ]


@contextmanager
def checking(lists: pl.LazyFrame, *, what: str) -> Iterator[None]:
    """Returns a context in which the rows of lists are read, and checked piece by piece.

    What is wrong with a piece is said of all lists: with all counts, and the same examples
    whatever the pieces are.

    Args:
        lists: of `read_lists`.
        what: name of the lists in errors.

    Raises:
        DataError: as `check_lists`.
    """
    try:
        with reading(what):
            yield
    except DataError:
        check_lists(lists, what=what)
        raise


def count_repeats(again: pl.DataFrame, pair: Sequence[str]) -> tuple[int, int]:
    """Returns how many rows repeat another in every column, and how many others its item.

    Args:
        again: the rows that are equal to another one in the columns of `pair`.
        pair: what tells lists apart, and the item.
    """
    distinct = again.unique()
    items = distinct.select(pair).unique()
    return again.height - distinct.height, distinct.height - items.height


def _repeats(lists: pl.LazyFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Returns the rows that are equal to another one in some columns.

    Rows with equal hashes are the only candidates, so the rest is never held.
    """
    key = pl.struct(columns).hash().alias(_HASH)
    hashes = lists.select(key).sort(_HASH)
    twice = hashes.filter(pl.col(_HASH) == pl.col(_HASH).shift()).unique()
    found = twice.collect(engine="streaming")
    if found.is_empty():
        return lists.clear().collect()
    candidates = lists.with_columns(key).join(found.lazy(), on=_HASH, how="semi").drop(_HASH)
    return candidates.collect(engine="streaming").filter(pl.len().over(columns) > 1)


def _check_ranks(shared: pl.DataFrame, keys: list[str], what: str) -> None:
    """Raises if two items of a list have one rank.

    Args:
        shared: rows whose rank another row of the list has.
        keys: what tells lists apart.
        what: name of the lists.
    """
    items = shared.group_by(*keys, RANK).agg(pl.col(ITEM_ID).n_unique().alias("items"))
    bad = items.filter(pl.col("items") > 1)
    if bad.height:
        pairs = "pair has" if bad.height == 1 else "pairs have"
        raise DataError(
            Problem(
                f"{bad.height} (query_id, rank) {pairs} several items, "
                f"e.g. {show(bad.lazy(), (QUERY_ID, RANK))}",
                what,
            )
        )


def _count_gaps(lists: pl.LazyFrame, keys: list[str], *, distinct_ranks: bool) -> int:
    """Returns the number of lists whose ranks leave a number out."""
    count = pl.len() if distinct_ranks else pl.col(RANK).n_unique()
    ranks = lists.group_by(keys).agg(count.alias("count"), pl.col(RANK).max())
    gaps = ranks.select((pl.col(RANK) != pl.col("count")).sum())
    return int(gaps.collect(engine="streaming").item())


def _count_disagreements(lists: pl.LazyFrame, keys: list[str], *, ranked: bool) -> int:
    """Returns the number of lists in which a better rank has a lower score.

    Args:
        lists: the rows.
        keys: what tells lists apart.
        ranked: whether the rows are in order of list and rank.
    """
    score = pl.col(SCORE).fill_nan(None)
    if ranked:
        rising = (pl.col(RANK) > 1) & (score > score.shift())
        found = lists.filter(rising).select(keys).unique().select(pl.len())
    else:
        turned = (0.0 - score).alias(SCORE)
        falls = (pl.struct(RANK, turned).sort().struct.field(SCORE).diff() < 0).any()
        found = lists.group_by(keys).agg(falls.alias(SCORE)).select(pl.col(SCORE).sum())
    return int(found.collect(engine="streaming").item())
