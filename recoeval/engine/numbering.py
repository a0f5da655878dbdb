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
        numbers = _run_numbers(truth[QUERY_ID], queries[QUERY_ID])
        if len(numbers) and numbers.min() < 0:
            known = pl.Series(numbers >= 0)
            truth, numbers = truth.filter(known), numbers[numbers >= 0]
        pairs = pl.DataFrame(
            {
                QUERY_ID: pl.Series(numbers).cast(pl.UInt32),
                ITEM_ID: pl.int_range(truth.height, dtype=pl.UInt32, eager=True),
                GAIN: truth[GAIN],
            }
        )
        return cls(queries, truth, pairs, PairIndex.of(numbers, truth[ITEM_ID], queries.height))

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
            numbers = _run_numbers(rows[QUERY_ID], self.queries[QUERY_ID])
            items = rows[ITEM_ID]
            if len(numbers) and numbers.min() < 0:
                numbers, items = numbers[numbers >= 0], items.filter(pl.Series(numbers >= 0))
            return PairIndex.of(numbers, items, self.queries.height)
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


def _run_numbers(queries: pl.Series, ids: pl.Series) -> Ints:
    """Returns the position among sorted ids of each value of a sorted column."""
    starts = starts_of(queries)
    lengths = np.diff(np.append(starts, len(queries)))
    return np.repeat(positions(queries.gather(starts), ids), lengths)
