"""Scores generators against one truth, and makes the result tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recoeval.analysis.catalogue import item_table, merge_listed, summarise_items
from recoeval.analysis.groups import Groups
from recoeval.analysis.loss import Split, attribute_loss
from recoeval.analysis.results import Evaluation
from recoeval.analysis.summary import summarise
from recoeval.columns import (
    CAUSE,
    FOLD,
    GAIN,
    GENERATOR,
    ITEM_ID,
    LABEL,
    QUERY_ID,
    QUOTA,
    RANK,
    RELEVANT,
    RETURNED,
    SUMMARY_SCHEMA,
    USER_ID,
)
from recoeval.data.background import Background
from recoeval.data.buckets import Bucket
from recoeval.data.delivery import Tie
from recoeval.data.listcheck import checking
from recoeval.data.ordering import in_order
from recoeval.data.policies import Truth
from recoeval.data.queries import pairs_by_query
from recoeval.engine.local import Keep, Scorer
from recoeval.engine.scored import Scored
from recoeval.errors import ConfigError, Problem
from recoeval.metrics.base import DELIVERED, Measure
from recoeval.metrics.cuts import ALL

__all__ = ["Evaluator"]

PAIR = (QUERY_ID, ITEM_ID)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Scores generators one by one against one truth.

    Args:
        scorer: the engine with truth, seen pairs and measures.
        truth: what the lists are held against.
        groups: how queries, truth and items are split.
        splits: the relevant pairs by label, for each split of queries or pairs.
    """

    scorer: Scorer
    truth: Truth
    groups: Groups
    splits: Mapping[str, Split]

    @classmethod
    def of(
        cls,
        truth: Truth,
        measured: Sequence[Measure],
        *,
        background: Background,
        buckets: Mapping[str, Bucket],
    ) -> Evaluator:
        """Returns an evaluator for this truth.

        Args:
            truth: result of `apply_policies`; its queries may have columns of their own, for
                buckets, and `quota`.
            measured: what to compute.
            background: what is known of users and items.
            buckets: bucket rules by name.

        Raises:
            ConfigError: a metric or a bucket needs data that were not given.
            DataError: gains or quotas that a metric cannot take, quantiles of nothing.
        """
        if background.seen is None:
            for measure in measured:
                if measure.metric.needs_seen:
                    text = f"{measure.metric.title} needs train data: give train="
                    raise ConfigError(Problem(text, "metrics"))
        groups = Groups.of(truth, background, buckets)
        scorer = Scorer.of(
            _with_quota(truth.queries, background),
            truth.pairs,
            measured,
            seen=_by_query(background.seen, truth),
            drop_seen=truth.policies["repeats"] == "exclude",
            without_relevant="one" if truth.policies["zero_relevant"] == "one" else "zero",
            exposed=_by_query(background.exposed, truth),
            catalogue=groups.catalogue,
            slices=groups.pairs,
            groups=groups.columns,
            reach=groups.reach,
        )
        return cls(scorer, truth, groups, _splits(scorer, groups))

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
        """Returns what the lists of one generator give, for a block of queries.

        Args:
            lists: of `read_lists`, in any order of the rows; checked here.
            queries: the block of evaluated queries; None means all of them.
            what: name of the lists in errors.
            tie: as for `deliver`.
            depth: where the lists end, if one more row is in them; see `Scorer.score`.
            serves_cold_users: whether the generator can serve users without a train row.
            serves_cold_items: whether it can list items without one.
            with_items: whether the items of the lists are asked for.
            keep: gets the prepared lists; see `Scorer.read`.
            threads: pieces of the lists that are worked on at a time.

        Raises:
            DataError: rows that `check_lists` refuses.
        """
        with checking(lists, what=what):
            return self.scorer.score(
                lists,
                queries,
                what=what,
                tie=tie,
                depth=depth,
                serves_cold_users=serves_cold_users,
                serves_cold_items=serves_cold_items,
                with_items=with_items,
                keep=keep,
                threads=threads,
            )

    def evaluation(
        self,
        scored: Mapping[str, Sequence[Scored]],
        *,
        counts: Mapping[str, Any],
        definitions: Mapping[str, Any],
        baselines: Sequence[str] = (),
        fold: int = 0,
    ) -> Evaluation:
        """Returns the result tables.

        Args:
            scored: for each generator the results of its blocks, which together hold every
                evaluated query once.
            counts: what was read and dropped.
            definitions: options in force besides the policies.
            baselines: generators that only constraints which name them bind.
            fold: number of the fold.
        """
        measured = self.scorer.measures
        # For every generator or for none: a table has the same rows for all of them.
        served = any(
            (part.per_query[DELIVERED] == 0).any() for parts in scored.values() for part in parts
        )
        tables = [self._tables(name, parts, served, fold) for name, parts in scored.items()]
        joined: dict[str, Any] = {
            name: pl.concat([own[name] for own in tables]) for name in tables[0]
        }
        return Evaluation(
            **joined,
            counts=counts,
            definitions={**definitions, "policies": dict(self.truth.policies)},
            measures=measured,
            buckets=self.groups.known,
            baselines=tuple(baselines),
        )

    def _tables(
        self, name: str, parts: Sequence[Scored], served: bool, fold: int
    ) -> dict[str, Any]:
        """Returns the tables of one generator."""
        measured, groups = self.scorer.measures, self.groups
        per_query = pl.concat([part.per_query for part in parts])
        per_query = in_order(per_query, USER_ID, QUERY_ID)
        sliced = pl.concat([part.sliced for part in parts])
        found = pl.concat([part.found for part in parts], rechunk=True)
        missed = pl.concat([part.missed for part in parts])
        keys = (pl.lit(fold, pl.Int64).alias(FOLD), pl.lit(name).alias(GENERATOR))
        labels = [each.label for each in measured if each.metric.kind != "catalogue"]
        of_pairs = {
            key: pl.lit(self.scorer.truth[key]).gather(ITEM_ID).alias(key) for key in (*PAIR, GAIN)
        }
        ids = [of_pairs[key] for key in PAIR]
        cause = pl.col(CAUSE).cast(pl.String)
        lost = missed.lazy().sort(ITEM_ID)
        with ThreadPoolExecutor(1) as pool:
            summary = pool.submit(
                summarise,
                per_query,
                measured,
                groups.buckets,
                generator=name,
                fold=fold,
                sliced=sliced,
                slices=groups.labels,
                served=served,
            )
            loss = attribute_loss(
                found, missed, _depths(measured), self.splits, generator=name, fold=fold
            )
            hits = self._by_rank(found).select(*keys, *ids, RANK, of_pairs[GAIN])
            items = self._of_items(name, parts, fold)
        return {
            "summary": pl.concat([summary.result(), items]),
            "per_query": per_query.select(*keys, QUERY_ID, USER_ID, RELEVANT, RETURNED, *labels),
            "hits": hits,
            "lost_pairs": lost.select(*keys, *ids, of_pairs[GAIN], cause),
            "loss": loss,
        }

    def _by_rank(self, found: pl.DataFrame) -> pl.DataFrame:
        """Returns hits by query and rank."""
        queries = self.scorer.numbering.pairs[QUERY_ID].gather(found[ITEM_ID]).to_numpy()
        places = queries.astype(np.int64) << 32 | found[RANK].to_numpy()
        rising = bool((places[1:] > places[:-1]).all())
        return found if rising else found[np.argsort(places, kind="stable")]

    def _of_items(self, name: str, parts: Sequence[Scored], fold: int) -> pl.DataFrame:
        """Returns SUMMARY of the metrics of the catalogue."""
        if all(each.metric.kind != "catalogue" for each in self.scorer.measures):
            return pl.DataFrame(schema=SUMMARY_SCHEMA)
        groups, background = self.groups, self.groups.background
        listed = merge_listed([part.listed for part in parts])
        items = item_table(listed, groups.catalogue, background.popularity)
        return summarise_items(
            listed,
            self.scorer.measures,
            items,
            groups.item_groups(items[ITEM_ID]),
            train_users=background.train_users,
            generator=name,
            fold=fold,
        )


def _splits(scorer: Scorer, groups: Groups) -> dict[str, Split]:
    """Returns the relevant pairs by the buckets of their queries, and by their own labels."""
    numbers = scorer.numbering.numbers(groups.queries[QUERY_ID])
    sizes = np.diff(scorer.numbering.index.starts)
    shown = groups.order
    splits = {
        name: Split.of_queries(labels, shown[name], numbers, sizes)
        for name, labels in groups.buckets.labels.items()
    }
    for name, part in scorer.slices.items():
        if part.labels is not None:
            splits[name] = Split.of(part.labels[LABEL], shown[name], part.labels[ITEM_ID])
    return {name: splits[name] for name in shown}


def _by_query(pairs: pl.LazyFrame | None, truth: Truth) -> pl.LazyFrame | None:
    """Returns what holds for a user's items for each of the evaluated queries."""
    if pairs is None:
        return None
    query, user = truth.queries[QUERY_ID], truth.queries[USER_ID]
    if query.dtype == user.dtype and (query == user).all():
        return pairs.select(pl.col(USER_ID).alias(QUERY_ID), ITEM_ID)
    return pairs_by_query(pairs, truth.queries.lazy()).collect(engine="streaming").lazy()


def _with_quota(queries: pl.DataFrame, background: Background) -> pl.DataFrame:
    """Returns the queries with the depth of their own, if there is one."""
    if QUOTA in queries.columns:
        return queries.select(QUERY_ID, USER_ID, QUOTA)
    known = queries.select(QUERY_ID, USER_ID)
    if background.users is None or QUOTA not in background.users.columns:
        return known
    quotas = background.users.select(USER_ID, QUOTA)
    return known.join(quotas, on=USER_ID, how="left", maintain_order="left")


def _depths(measured: Sequence[Measure]) -> list[int | None]:
    """Returns each K that was asked for, and None for whole lists."""
    depths: dict[int | None, None] = {each.k: None for each in measured if each.k is not None}
    if not depths or any(each.place.at == ALL for each in measured):
        depths[None] = None
    return list(depths)
