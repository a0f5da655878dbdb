"""Queries and relevant pairs as numbers: inside the engine, ids of any type cost the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from recoeval.columns import GAIN, ITEM_ID, QUERY_ID
from recoeval.data.ordering import in_order, is_in_order, sort_pairs, starts_of
from recoeval.data.rowkeys import Ints, PairIndex, positions

__all__ = ["Numbering"]

PAIR = (QUERY_ID, ITEM_ID)


@dataclass(frozen=True, slots=True)
class Numbering:
    """The number of a query is its place by id; that of a relevant pair its row in the truth.

    Args:
        queries: the evaluated queries, sorted by query_id, with their other columns.
        truth: query_id, item_id, gain; distinct pairs of these queries, sorted by both.
        pairs: query_id (number, UInt32), item_id (number of the pair, UInt32), gain.
        index: the pairs by query.
    """

    queries: pl.DataFrame
    truth: pl.DataFrame
    pairs: pl.DataFrame
    index: PairIndex

    @classmethod
    def of(cls, queries: pl.DataFrame, truth: pl.DataFrame) -> Numbering:
        """Returns the numbers of queries and pairs; pairs of other queries are left out.

        Args:
            queries: query_id and any other columns; one row a query.
            truth: query_id, item_id, gain; distinct pairs.
        """
        queries = in_order(queries, QUERY_ID)
        truth = truth.select(*PAIR, GAIN)
        if not is_in_order(truth, *PAIR):
            truth = sort_pairs(truth, *PAIR)
        truth, runs, lengths = _of_queries(truth, queries[QUERY_ID])
        pairs = pl.DataFrame(
            {
                QUERY_ID: np.repeat(runs.astype(np.uint32), lengths),
                ITEM_ID: np.arange(truth.height, dtype=np.uint32),
                GAIN: truth[GAIN],
            }
        )
        return cls(queries, truth, pairs, _index(runs, lengths, truth[ITEM_ID], queries.height))

    def numbers(self, query_ids: pl.Series) -> Ints:
        """Returns the numbers of queries, -1 for those that are not evaluated."""
        return positions(query_ids, self.queries[QUERY_ID])

    def number_queries(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of evaluated queries, with their numbers for ids.

        Args:
            rows: query_id and other columns.
        """
        numbers = pl.Series(QUERY_ID, self.numbers(rows[QUERY_ID]))
        return rows.with_columns(numbers).filter(numbers >= 0).cast({QUERY_ID: pl.UInt32})

    def number_pairs(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of relevant pairs, with the numbers of query and pair for ids.

        Args:
            rows: query_id, item_id and other columns.
        """
        if rows.height == self.truth.height and all(
            rows[name].equals(self.truth[name]) for name in PAIR
        ):
            return rows.with_columns(self.pairs[QUERY_ID], self.pairs[ITEM_ID])
        known = self.truth.select(PAIR).with_columns(
            self.pairs[QUERY_ID].alias("query"), self.pairs[ITEM_ID].alias("pair")
        )
        joined = rows.join(known, on=PAIR, maintain_order="left")
        ids = {QUERY_ID: pl.col("query"), ITEM_ID: pl.col("pair")}
        return joined.select(
            ids[name].alias(name) if name in ids else name for name in rows.columns
        )

    def index_of(self, pairs: pl.LazyFrame) -> PairIndex:
        """Returns pairs of the evaluated queries by query.

        Args:
            pairs: query_id, item_id.
        """
        rows = pairs.select(PAIR).collect(engine="streaming")
        if rows[QUERY_ID].is_sorted():
            own, runs, lengths = _of_queries(rows, self.queries[QUERY_ID])
            return _index(runs, lengths, own[ITEM_ID], self.queries.height)
        known = self.queries.select(QUERY_ID).with_row_index("number")
        found = rows.join(known, on=QUERY_ID)
        numbers = found["number"].to_numpy()
        order = np.argsort(numbers, kind="stable")
        return PairIndex.of(numbers[order], found[ITEM_ID].gather(order), self.queries.height)

    def decode(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns rows of queries with their ids for numbers.

        Args:
            rows: query_id (number) and other columns.
        """
        return rows.with_columns(self.queries[QUERY_ID].gather(rows[QUERY_ID]))


def _of_queries(pairs: pl.DataFrame, ids: pl.Series) -> tuple[pl.DataFrame, Ints, Ints]:
    """Returns the pairs of some queries, the number of each that has any, and how many it has.

    Args:
        pairs: query_id, sorted, and other columns.
        ids: of the queries, distinct and sorted.
    """
    starts = starts_of(pairs[QUERY_ID])
    lengths = np.diff(starts, append=pairs.height)
    runs = positions(pairs[QUERY_ID].gather(starts), ids)
    known = runs >= 0
    if known.all():
        return pairs, runs, lengths
    return pairs.filter(pl.Series(np.repeat(known, lengths))), runs[known], lengths[known]


def _index(runs: Ints, lengths: Ints, items: pl.Series, queries: int) -> PairIndex:
    """Returns the index of pairs.

    Args:
        runs: number of each query that has pairs, ascending.
        lengths: how many it has.
        items: item_id of each pair.
        queries: how many query numbers there are.
    """
    ends = np.zeros(queries + 1, np.int64)
    ends[runs + 1] = lengths
    return PairIndex(items, np.cumsum(ends))
