"""What the lists of one generator gave."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import polars as pl

from recoeval.columns import CAUSE, GAIN, ITEM_ID, QUERY_ID, RANK
from recoeval.data.listcheck import ListFacts

__all__ = ["Scored"]


@dataclass(frozen=True, slots=True)
class Scored:
    """What the lists of one generator gave.

    Blocks of queries merge exactly: rows are put one below the other, integers of `listed` add.

    Args:
        per_query: result of `kernel.score_queries`; null where a restricted truth is empty.
        found: item_id (number of the pair: its row in `truth`), rank (prepared, at any depth).
        missed: item_id (number of the pair), cause: the relevant pairs that are in no prepared
            list.
        sliced: bucket_by, bucket, then as per_query: one row a query whose part of the truth is
            not empty; accuracy metrics only.
        listed: bucket_by, bucket, item_id, one Int64 column a cut ("@10"): in how many prepared
            lists; without columns of counts when no catalogue metric is asked for.
        truth: query_id, item_id, gain of all relevant pairs.
        facts: what was found when the rows of the lists were checked.
        lists: all lists, also those of queries that are not evaluated.
        strangers: lists of queries that are not evaluated.
        items: the distinct items of all lists; None: nobody asked for them.
    """

    per_query: pl.DataFrame
    found: pl.DataFrame
    missed: pl.DataFrame
    sliced: pl.DataFrame
    listed: pl.DataFrame
    truth: pl.DataFrame
    facts: ListFacts
    lists: int
    strangers: int
    items: pl.Series | None = None

    @property
    def hits(self) -> pl.DataFrame:
        """query_id, item_id, rank (prepared, at any depth), gain; by query and rank."""
        pairs = self.truth[self.found[ITEM_ID]]
        return pairs.select(QUERY_ID, ITEM_ID, self.found[RANK], GAIN).sort(QUERY_ID, RANK)

    @property
    def counts(self) -> dict[str, int]:
        """What was read: the facts, lists, and lists_without_query."""
        counted = {"lists": self.lists, "lists_without_query": self.strangers}
        return {**asdict(self.facts), **counted}

    @property
    def lost(self) -> pl.DataFrame:
        """query_id, item_id, gain, cause: the relevant pairs that are in no prepared list."""
        return self.truth[self.missed[ITEM_ID]].with_columns(self.missed[CAUSE].cast(pl.String))
