"""The engine of one machine: runs the kernel on the lists of one generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    GAIN,
    ITEM_ID,
    LABEL,
    QUERY_ID,
    QUOTA,
    RANK,
    RELEVANT,
    SCORE,
    USER_ID,
)
from recoeval.engine import kernel
from recoeval.engine.checks import (
    refuse_gains,
    refuse_missing_roles,
    refuse_missing_scores,
    refuse_quotas,
)
from recoeval.engine.listed import count_listed, cuts_of
from recoeval.engine.parts import Part
from recoeval.engine.sums import sum_lists, sum_rows, terms_of
from recoeval.metrics.base import Measure

__all__ = ["Scored", "Scorer"]

PAIR = (QUERY_ID, ITEM_ID)


@dataclass(frozen=True, slots=True)
class Scored:
    """What the lists of one generator gave.

    Blocks of queries merge exactly: rows are put one below the other, integers of `listed` add.

    Args:
        per_query: result of `kernel.score_queries`; null where a restricted truth is empty.
        hits: query_id, item_id, rank (prepared, at any depth), gain.
        lost: query_id, item_id, gain, cause: the relevant pairs that are in no prepared list.
        sliced: bucket_by, bucket, then as per_query: one row a query whose part of the truth is
            not empty; accuracy metrics only.
        listed: bucket_by, bucket, item_id, one Int64 column a cut ("@10"): in how many prepared
            lists; without columns of counts when no catalogue metric is asked for.
    """

    per_query: pl.DataFrame
    hits: pl.DataFrame
    lost: pl.DataFrame
    sliced: pl.DataFrame
    listed: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores lists against one truth; what depends on the truth alone is computed once.

    Args:
        queries: query_id, user_id of the evaluated queries; quota if a measure is cut there.
        truth: query_id, item_id, gain; distinct pairs after all policies, sorted.
        measures: what is asked for.
        whole: the truth with its sums.
        slices: parts of the truth by name.
        seen: distinct (query_id, item_id) pairs, or None when unknown.
        drop_seen: whether seen rows leave the lists.
        without_relevant: value of queries without relevant items.
        exposed: distinct (query_id, item_id) pairs that were shown, or None when unknown.
        catalogue: item_id, one row an item, or None when unknown.
        groups: query_id and one String column a bucket split, for catalogue metrics.
        reach: query_id, item_id, unavailable, cold_item, cold_user; None: nothing is known.
    """

    queries: pl.DataFrame
    truth: pl.DataFrame
    measures: tuple[Measure, ...]
    whole: Part
    slices: Mapping[str, Part]
    seen: pl.LazyFrame | None
    drop_seen: bool
    without_relevant: Literal["zero", "one"]
    exposed: pl.LazyFrame | None
    catalogue: pl.DataFrame | None
    groups: pl.DataFrame | None
    reach: pl.DataFrame | None

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
        pairs = truth.select(*PAIR, GAIN).sort(PAIR)
        parts = {
            name: Part.of(pairs.lazy(), measures, labels=labels, queries=queries.lazy())
            for name, labels in (slices or {}).items()
        }
        return cls(
            queries,
            pairs,
            tuple(measures),
            Part.of(pairs.lazy(), measures, queries=queries.lazy()),
            parts,
            seen,
            drop_seen,
            without_relevant,
            exposed,
            None if catalogue is None else pl.DataFrame({ITEM_ID: catalogue}),
            groups,
            reach,
        )

    @property
    def relevant(self) -> pl.DataFrame:
        """query_id, user_id, relevant (|R|, 0 for queries without truth)."""
        sizes = self.whole.truth_sums[None].select(QUERY_ID, RELEVANT)
        joined = self.queries.join(sizes, on=QUERY_ID, how="left", maintain_order="left")
        return joined.with_columns(pl.col(RELEVANT).fill_null(0))

    def score(
        self,
        lists: pl.LazyFrame,
        queries: pl.DataFrame | None = None,
        *,
        depth: int | None = None,
        serves_cold_users: bool = True,
        serves_cold_items: bool = True,
    ) -> Scored:
        """Returns what these lists give.

        Args:
            lists: delivered lists of one generator: query_id, item_id, rank 1..n, score.
            queries: the block of evaluated queries to score; None means all of them.
            depth: where the lists end; the row after it is read by nothing but the test for
                ties at that depth. None: they end where they end.
            serves_cold_users: whether the generator can serve users without a train row.
            serves_cold_items: whether it can list items without one.

        Raises:
            DataError: lists without scores where a measure cuts by score.
        """
        block, truth = self.queries, self.truth.lazy()
        if queries is not None:
            block = self._block(queries)
            truth = truth.join(block.lazy(), on=QUERY_ID, how="semi", maintain_order="left")
        score = pl.col(SCORE) if SCORE in lists.collect_schema() else pl.lit(None, pl.Float64)
        columns = (QUERY_ID, ITEM_ID, RANK, score.alias(SCORE))
        whole = lists.select(columns).join(block.lazy().select(QUERY_ID), on=QUERY_ID, how="semi")
        asked = whole if depth is None else whole.filter(pl.col(RANK) <= depth)
        refuse_missing_scores(asked, self.measures)
        # Whatever reads the lists streams; what is left of them is sparse.
        by_score = any(measure.metric.needs_scores for measure in self.measures)
        removed = _stream(kernel.find_removed(asked, self.seen, drop_seen=self.drop_seen)).lazy()
        hits = _stream(kernel.find_hits(asked, truth, removed, scores=by_score))
        lost = kernel.find_lost(
            truth,
            hits.lazy(),
            removed,
            None if self.reach is None else self.reach.lazy(),
            serves_cold_users=serves_cold_users,
            serves_cold_items=serves_cold_items,
        ).collect()
        sums = _stream(sum_lists(whole, self.measures, block.lazy(), depth=depth)).lazy()
        marked = [_stream(rows).lazy() for rows in self._marked(asked, block.lazy())]
        known = kernel.join_lists(block.lazy(), sums, removed, self.measures, marked=marked)
        facts = known.collect().lazy()
        per_query = self.whole.score(facts, hits.lazy(), lost.lazy(), self.without_relevant)
        return Scored(
            per_query,
            hits.select(*PAIR, RANK, GAIN),
            lost,
            self._sliced(facts, hits, lost),
            self._listed(asked, removed, block),
        )

    def _block(self, queries: pl.DataFrame) -> pl.DataFrame:
        """Returns the queries with their quotas, if measures read them."""
        known = queries.select(QUERY_ID, USER_ID)
        if QUOTA not in self.queries.columns:
            return known
        quotas = self.queries.select(QUERY_ID, QUOTA)
        return known.join(quotas, on=QUERY_ID, how="left", maintain_order="left")

    def _marked(self, lists: pl.LazyFrame, queries: pl.LazyFrame) -> Iterator[pl.LazyFrame]:
        """Yields the sums over rows outside the catalogue, and over rows that were shown."""
        unknown, exposed = (terms_of(self.measures, name) for name in ("unknown", "exposed"))
        if unknown and self.catalogue is not None:
            rows = lists.join(self.catalogue.lazy(), on=ITEM_ID, how="anti")
            yield sum_rows(rows, unknown, queries)
        if exposed and self.exposed is not None:
            rows = lists.join(self.exposed.select(PAIR), on=PAIR, how="semi")
            yield sum_rows(rows, exposed, queries)

    def _sliced(self, facts: pl.LazyFrame, hits: pl.DataFrame, lost: pl.DataFrame) -> pl.DataFrame:
        """Returns the scores by parts of the truth."""
        tables = [
            part.score(facts, hits.lazy(), lost.lazy()).select(
                pl.lit(name).alias(BUCKET_BY), pl.col(LABEL).alias(BUCKET), pl.exclude(LABEL)
            )
            for name, part in self.slices.items()
        ]
        empty = pl.DataFrame(schema={BUCKET_BY: pl.String, BUCKET: pl.String})
        return pl.concat(tables) if tables else empty

    def _listed(
        self, lists: pl.LazyFrame, removed: pl.LazyFrame, block: pl.DataFrame
    ) -> pl.DataFrame:
        """Returns how often items are listed, if a measure reads it."""
        cuts = cuts_of(self.measures)
        if not cuts:
            return pl.DataFrame(
                schema={
                    BUCKET_BY: pl.String,
                    BUCKET: pl.String,
                    ITEM_ID: self.truth.schema[ITEM_ID],
                }
            )
        return count_listed(lists, removed, cuts, block.lazy(), self.groups)


def _stream(rows: pl.LazyFrame) -> pl.DataFrame:
    return rows.collect(engine="streaming")
