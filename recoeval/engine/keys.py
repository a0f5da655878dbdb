"""Whose truth a pair is: its query's, or that of its query under each of its labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.columns import ITEM_ID, LABEL, QUERY_ID
from recoeval.data.rowkeys import expand

__all__ = ["Keys"]

Rows = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a truth: the rows that its pairs are summed to.

    Args:
        table: query_id (number), after the label if there is one; one row a key, sorted.
        rows: the rows of the pairs in the table, pair by pair.
        starts: where the rows of each pair start, one more than there are pairs; None: a pair
            has one.
    """

    table: pl.DataFrame
    rows: Rows
    starts: Rows | None

    @classmethod
    def of_queries(cls, pairs: pl.DataFrame, queries: int) -> Keys:
        """Returns the queries: each is a key, and each pair is that of its query.

        Args:
            pairs: query_id (number, UInt32) of each pair.
            queries: how many there are.
        """
        table = pl.DataFrame({QUERY_ID: pl.int_range(queries, dtype=pl.UInt32, eager=True)})
        return cls(table, pairs[QUERY_ID].to_numpy(), None)

    @classmethod
    def of_labels(cls, labels: pl.DataFrame, pairs: int) -> Keys:
        """Returns the queries under each label that any of their pairs has.

        Args:
            labels: query_id (number), item_id (number of the pair), label (String, or Enum in the
                order of the text); distinct.
            pairs: how many there are, with and without labels.
        """
        if not labels[ITEM_ID].is_sorted():
            labels = labels.sort(ITEM_ID)
        own = labels[LABEL]
        # Text is cast by hashing each row.
        names = own.dtype if isinstance(own.dtype, pl.Enum) else pl.Enum(own.unique().sort())
        codes = own.cast(names).to_physical().to_numpy()
        # Within a label pairs stay in their order, which is that of their queries.
        order = np.argsort(codes, kind="stable")
        codes, queries = codes[order], labels[QUERY_ID].to_numpy()[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (codes[1:] != codes[:-1]) | (queries[1:] != queries[:-1])
        rows = np.empty(len(order), np.uint32)
        rows[order] = np.cumsum(first) - 1
        counts = np.bincount(labels[ITEM_ID].to_numpy(), minlength=pairs)
        table = labels[order[first]].select(LABEL, QUERY_ID)
        if (counts == 1).all():
            return cls(table, rows, None)
        return cls(table, rows, np.concatenate(([0], np.cumsum(counts))).astype(np.uint32))

    def spread(self, values: pl.Series) -> pl.Series:
        """Returns a value of each pair once for each of its keys, in order of `rows`.

        Args:
            values: one a pair, all pairs.
        """
        if self.starts is None:
            return values
        return values.gather(np.repeat(np.arange(len(values)), np.diff(self.starts)))

    def of_pairs(self, pairs: pl.DataFrame) -> tuple[pl.DataFrame, Rows]:
        """Returns pairs once for each of their keys, and the row of the key.

        Args:
            pairs: item_id (number of the pair) and other columns.
        """
        numbers = pairs[ITEM_ID].to_numpy()
        if self.starts is None:
            return pairs, self.rows[numbers]
        starts = self.starts[numbers].astype(np.int64)
        which, at = expand(starts, self.starts[numbers + 1] - starts)
        return pairs[which], self.rows[at]
