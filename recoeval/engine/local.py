"""The engine of one machine: reduces lists to what is found in them, then scores the queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    GAIN,
    ITEM_ID,
    LABEL,
    QUERY_ID,
    RANK,
    RELEVANT,
    SCORE,
    USER_ID,
)
from recoeval.data.delivery import Tie
from recoeval.data.idset import IdSet
from recoeval.data.listblocks import block_of
from recoeval.data.pieces import map_pieces
from recoeval.data.rowkeys import Ints
from recoeval.engine import kernel
from recoeval.engine.checks import (
    refuse_gains,
    refuse_missing_roles,
    refuse_missing_scores,
    refuse_quotas,
)
from recoeval.engine.finding import TRUTH, Asked, prepared_rows
from recoeval.engine.losses import Causes
from recoeval.engine.numbering import Numbering
from recoeval.engine.ordered import places_of
from recoeval.engine.parts import Part
from recoeval.engine.piece import EXPOSED, Known, Piece, join_pieces, piece_of
from recoeval.engine.scored import Scored
from recoeval.engine.sums import terms_of
from recoeval.metrics.base import SEEN, Measure, Table

__all__ = ["Keep", "Scorer"]

PIECES_AT_ONCE = 4
"""Pieces of lists that are worked on at most: more cost memory, and wait for the reader."""

Keep = Callable[[pl.DataFrame, bool], None]
"""Is given prepared lists, query_id (number), item_id, rank, score, and whether their rows stood
together. If it is ever told that they did not, these are all lists: what it got before counts no
more. Called from several threads."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores lists against one truth; what depends on the truth alone is computed once.

    Args:
        queries: query_id, user_id of the evaluated queries; quota if a measure is cut there.
        numbering: the truth, and the numbers of queries and pairs.
        measures: what is asked for.
        whole: the truth with its sums.
        slices: parts of the truth by name.
        seen: distinct (query_id, item_id) pairs, or None when unknown.
        without_relevant: value of queries without relevant items.
        known: what lists are held against.
        causes: why a pair may be out of reach.
    """

    queries: pl.DataFrame
    numbering: Numbering
    measures: tuple[Measure, ...]
    whole: Part
    slices: Mapping[str, Part]
    seen: pl.LazyFrame | None
    without_relevant: Literal["zero", "one"]
    known: Known
    causes: Causes

    @classmethod
    def of(
        cls,
        queries: pl.DataFrame,
        truth: pl.DataFrame,
        measures: Sequence[Measure],
        *,
        seen: pl.LazyFrame | None,
        drop_seen: bool,
        without_relevant: Literal["zero", "one"] = "zero",
        exposed: pl.LazyFrame | None = None,
        catalogue: pl.Series | None = None,
        slices: Mapping[str, pl.DataFrame] | None = None,
        groups: pl.DataFrame | None = None,
        reach: pl.DataFrame | None = None,
    ) -> Scorer:
        """Returns a scorer for this truth.

        Args:
            queries: query_id, user_id; quota (Int64 >= 1) if a measure is cut there.
            truth: query_id, item_id, gain; distinct pairs after all policies.
            measures: what is asked for.
            seen: distinct (query_id, item_id) pairs, or None when unknown.
            drop_seen: whether seen rows leave the lists.
            without_relevant: value of queries without relevant items.
            exposed: distinct (query_id, item_id) pairs that were shown, or None when unknown.
            catalogue: distinct item ids, or None when unknown.
            slices: query_id, item_id, label (distinct) by name: parts of the truth that are
                scored on their own; a pair may have several labels.
            groups: query_id and one String column a bucket split, for catalogue metrics.
            reach: query_id, item_id, unavailable, cold_item, cold_user (Boolean; distinct pairs)
                for the causes of loss; None: nothing is known.

        Raises:
            ConfigError: a measure needs exposures, a catalogue or quotas and there are none.
            DataError: gains that a measure cannot take, bad quotas.
        """
        refuse_missing_roles(
            measures, exposures=exposed is not None, catalogue=catalogue is not None
        )
        refuse_quotas(queries, measures)
        for measure in measures:
            refuse_gains(truth[GAIN], measure)
        numbering = Numbering.of(queries, truth)
        number = pl.int_range(pl.len(), dtype=pl.UInt32).alias(QUERY_ID)
        asked = numbering.queries.with_columns(number)
        pairs = numbering.pairs
        parts = {
            name: Part.of(pairs, measures, labels=numbering.number_pairs(labels), queries=asked)
            for name, labels in (slices or {}).items()
        }
        tables: tuple[Table, ...] = ("delivered", "unknown", "exposed")
        known_pairs = {SEEN: seen, EXPOSED: exposed}
        known = Known(
            tuple(measures),
            {table: terms_of(measures, table) for table in tables},
            asked,
            {
                TRUTH: numbering.index,
                **{
                    name: numbering.index_of(rows)
                    for name, rows in known_pairs.items()
                    if rows is not None
                },
            },
            drop_seen,
            None if catalogue is None else pl.DataFrame({ITEM_ID: catalogue}),
            None if groups is None else numbering.number_queries(groups),
        )
        return cls(
            queries,
            numbering,
            tuple(measures),
            Part.of(pairs, measures, queries=asked),
            parts,
            seen,
            without_relevant,
            known,
            Causes.of(numbering, reach),
        )

    @property
    def truth(self) -> pl.DataFrame:
        """query_id, item_id, gain; distinct pairs after all policies, sorted."""
        return self.numbering.truth

    @property
    def drop_seen(self) -> bool:
        """Whether seen rows leave the lists."""
        return self.known.drop_seen

    @property
    def relevant(self) -> pl.DataFrame:
        """query_id, user_id, relevant (|R|, 0 for queries without truth)."""
        sizes = np.diff(self.numbering.index.starts)
        numbers = self.numbering.numbers(self.queries[QUERY_ID])
        return self.queries.select(QUERY_ID, USER_ID, pl.Series(RELEVANT, sizes[numbers]))

    def score(
        self,
        lists: pl.LazyFrame,
        queries: pl.DataFrame | None = None,
        *,
        what: str = "lists",
        tie: Tie = "ascending",
        depth: int | None = None,
        serves_cold_users: bool = True,
        serves_cold_items: bool = True,
        with_items: bool = False,
        keep: Keep | None = None,
        threads: int = 1,
    ) -> Scored:
        """Returns what these lists give; they are read piece by piece and never held whole.

        Args:
            lists: lists of one generator, of `read_lists`: query_id, item_id, rank or score or
                both, in any order of the rows.
            queries: the block of evaluated queries to score; None means all of them.
            what: name of the lists in errors.
            tie: order of equal scores by item id, where there is no rank.
            depth: where the lists end; of the rows below it the first is read by the test for
                ties at that depth, and nothing else. None: they end where they end.
            serves_cold_users: whether the generator can serve users without a train row.
            serves_cold_items: whether it can list items without one.
            with_items: whether the items of the lists are asked for.
            keep: as for `read`.
            threads: pieces that are worked on at a time.

        Raises:
            DataError: rows that cannot be read, or no scores where a measure cuts by score.
        """
        items = IdSet() if with_items else None
        whole = self.read(
            lists, queries, what=what, tie=tie, depth=depth, items=items, keep=keep, threads=threads
        )
        scored = self.finish(
            whole,
            queries,
            serves_cold_users=serves_cold_users,
            serves_cold_items=serves_cold_items,
            threads=threads,
        )
        return scored if items is None else replace(scored, items=items.values())

    def read(
        self,
        lists: pl.LazyFrame | pl.DataFrame,
        queries: pl.DataFrame | None = None,
        *,
        what: str = "lists",
        tie: Tie = "ascending",
        depth: int | None = None,
        items: IdSet | None = None,
        keep: Keep | None = None,
        threads: int = 1,
    ) -> Piece:
        """Returns what scores read of lists; blocks of whole lists can be joined.

        Args:
            lists: as for `score`; a table in memory is not cut into pieces.
            queries: the block of evaluated queries that they are for; None means all of them.
            what: name of the lists in errors.
            tie: as for `score`.
            depth: as for `score`.
            items: gets the items of all lists; None: nobody asks for them.
            keep: gets the prepared lists of these queries, at any depth; None: nobody does.
            threads: pieces that are worked on at a time.

        Raises:
            DataError: as `score`.
        """
        numbers = self._numbers(queries)
        # The last one is that of -1: not evaluated.
        wanted = np.zeros(self.numbering.queries.height + 1, dtype=bool)
        wanted[numbers] = True

        def work(rows: pl.DataFrame, starts: Ints | None) -> Piece:
            block = block_of(rows, starts, what=what, tie=tie)
            if items is not None:
                items.add(block.items, block.hashes)
            own = self.numbering.numbers(block.queries)
            own = np.where(wanted[own], own, -1)
            asked = Asked.of(block, own, self.known.pairs, depth)
            if keep is not None:
                keep(prepared_rows(asked, drop_seen=self.drop_seen), starts is not None)
            return piece_of(asked, self.known)

        kept = [name for name in (RANK, SCORE) if name in lists.collect_schema()]
        rows = lists.select(QUERY_ID, ITEM_ID, *kept)
        pieces = map_pieces(rows, work, join_pieces, threads=min(threads, PIECES_AT_ONCE))
        whole = join_pieces(pieces)
        refuse_missing_scores(whole.unscored, whole.rows, self.measures)
        return whole

    def finish(
        self,
        whole: Piece,
        queries: pl.DataFrame | None = None,
        *,
        serves_cold_users: bool = True,
        serves_cold_items: bool = True,
        threads: int = 1,
    ) -> Scored:
        """Returns the tables of queries.

        Args:
            whole: what scores read of all lists of these queries.
            queries: as for `score`.
            serves_cold_users: whether the generator can serve users without a train row.
            serves_cold_items: whether it can list items without one.
            threads: blocks of queries that are worked on at a time.
        """
        causes = self.causes.of_generator(
            cold_users=serves_cold_users, cold_items=serves_cold_items
        )
        threads = min(threads, PIECES_AT_ONCE)
        return self._scored(whole, self._numbers(queries), causes, threads)

    def _numbers(self, queries: pl.DataFrame | None) -> Ints:
        """Returns the numbers of a block of queries; None means all of them."""
        return self.numbering.numbers((self.queries if queries is None else queries)[QUERY_ID])

    def _scored(self, whole: Piece, numbers: Ints, causes: Causes, threads: int) -> Scored:
        """Returns the tables of queries.

        Args:
            whole: what scores read of all lists.
            numbers: the queries.
            causes: why pairs may be lost.
            threads: blocks of queries that are worked on at a time.
        """
        queries, found = self.known.queries[numbers], whole.found
        lists = kernel.join_lists(
            queries, whole.sums, found.removed, self.measures, marked=whole.marked
        )
        hits, lost = _in_order(found.hits, numbers), causes.lost(numbers, found)
        sliced = [
            part.score(lists, hits, lost, threads=threads).select(
                pl.lit(name).alias(BUCKET_BY),
                pl.col(LABEL).cast(pl.String).alias(BUCKET),
                pl.exclude(LABEL),
            )
            for name, part in self.slices.items()
        ]
        empty = {BUCKET_BY: pl.String, BUCKET: pl.String}
        per_query = self.whole.score(lists, hits, lost, self.without_relevant, threads=threads)
        return Scored(
            self.numbering.decode(per_query),
            hits.select(ITEM_ID, RANK),
            lost,
            self.numbering.decode(pl.concat(sliced)) if sliced else pl.DataFrame(schema=empty),
            whole.listed,
            self.truth,
            whole.facts,
            whole.lists,
            whole.strangers,
        )


def _in_order(hits: pl.DataFrame, numbers: Ints) -> pl.DataFrame:
    """Returns item_id, rank and score of the hits in the order of the queries, by rank.

    Args:
        hits: of `Found`.
        numbers: the queries.
    """
    # Chunks cost a gather four times its CPU.
    hits = hits.rechunk()
    places = places_of(numbers)[hits[QUERY_ID].to_numpy()]
    order = np.argsort((places << 32) | hits[RANK].to_numpy(), kind="stable")
    return hits.select(ITEM_ID, RANK, SCORE)[order]
