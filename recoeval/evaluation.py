"""The notebook entry: evaluate lists against a truth. The workflow scores through it too."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from recoeval.analysis.catalogue import item_table, merge_listed, summarise_items
from recoeval.analysis.groups import Groups
from recoeval.analysis.loss import attribute_loss
from recoeval.analysis.results import Evaluation, merge_folds
from recoeval.analysis.summary import summarise
from recoeval.columns import (
    CAUSE,
    FOLD,
    GAIN,
    GENERATOR,
    ITEM_ID,
    QUERY_ID,
    QUOTA,
    RANK,
    RELEVANT,
    RETURNED,
    USER_ID,
)
from recoeval.component import Component
from recoeval.data.background import Background, count_train_users
from recoeval.data.buckets import Bucket
from recoeval.data.inputs import History, check_ids, count_lists, read_recs, read_train, read_truth
from recoeval.data.queries import pairs_by_query
from recoeval.data.sidetables import Universe, read_exposures, read_items, read_universe
from recoeval.data.truth import Policies, Truth, apply_policies
from recoeval.documents.validation import Document, validate
from recoeval.engine.local import Scored, Scorer
from recoeval.errors import ConfigError, Problem
from recoeval.metrics.base import DELIVERED, Measure, measures
from recoeval.metrics.cuts import ALL

__all__ = ["Evaluation", "Evaluator", "evaluate", "merge_folds"]


class _Options(Component):
    """What `evaluate` takes as mappings."""

    policies: Policies
    buckets: dict[str, Bucket]


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Scores generators one by one against one truth.

    Args:
        scorer: the engine with truth, seen pairs and measures.
        truth: what the lists are held against.
        groups: how queries, truth and items are split.
    """

    scorer: Scorer
    truth: Truth
    groups: Groups

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
        return cls(scorer, truth, groups)

    def score(
        self,
        lists: pl.LazyFrame,
        queries: pl.DataFrame | None = None,
        *,
        depth: int | None = None,
        serves_cold_users: bool = True,
        serves_cold_items: bool = True,
    ) -> Scored:
        """Returns what the delivered lists of one generator give, for a block of queries.

        Args:
            lists: query_id, item_id, rank 1..n, maybe score.
            queries: the block of evaluated queries; None means all of them.
            depth: where the lists end, if one more row is in them; see `Scorer.score`.
            serves_cold_users: whether the generator can serve users without a train row.
            serves_cold_items: whether it can list items without one.
        """
        return self.scorer.score(
            lists,
            queries,
            depth=depth,
            serves_cold_users=serves_cold_users,
            serves_cold_items=serves_cold_items,
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
        tables = [self._tables(name, parts, served) for name, parts in scored.items()]
        joined = {
            name: pl.concat([own[name] for own in tables]).with_columns(
                pl.lit(fold, pl.Int64).alias(FOLD)
            )
            for name in tables[0]
        }
        return Evaluation(
            **joined,
            counts=counts,
            definitions={**definitions, "policies": dict(self.truth.policies)},
            measures=measured,
            buckets=self.groups.known,
            baselines=tuple(baselines),
        )

    def _tables(self, name: str, parts: Sequence[Scored], served: bool) -> dict[str, pl.DataFrame]:
        """Returns the tables of one generator."""
        measured, groups = self.scorer.measures, self.groups
        per_query = pl.concat([part.per_query for part in parts]).sort(USER_ID, QUERY_ID)
        hits = pl.concat([part.hits for part in parts]).sort(QUERY_ID, RANK)
        lost = pl.concat([part.lost for part in parts]).sort(QUERY_ID, ITEM_ID)
        sliced = pl.concat([part.sliced for part in parts])
        summary = summarise(
            per_query,
            measured,
            groups.buckets,
            generator=name,
            sliced=sliced.sort(USER_ID, QUERY_ID) if groups.pairs else sliced,
            slices=groups.labels,
            served=served,
        )
        loss = attribute_loss(
            hits, lost, _depths(measured), groups.parts, groups.order, generator=name
        )
        keys = (pl.lit(0, pl.Int64).alias(FOLD), pl.lit(name).alias(GENERATOR))
        labels = [each.label for each in measured if each.metric.kind != "catalogue"]
        return {
            "summary": pl.concat([summary, self._of_items(name, parts)]),
            "per_query": per_query.select(*keys, QUERY_ID, USER_ID, RELEVANT, RETURNED, *labels),
            "hits": hits.select(*keys, QUERY_ID, ITEM_ID, RANK, GAIN),
            "lost": lost.select(*keys, QUERY_ID, ITEM_ID, GAIN, CAUSE),
            "loss": loss,
        }

    def _of_items(self, name: str, parts: Sequence[Scored]) -> pl.DataFrame:
        """Returns SUMMARY of the metrics of the catalogue."""
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
        )


def _by_query(pairs: pl.LazyFrame | None, truth: Truth) -> pl.LazyFrame | None:
    """Returns what holds for a user's items for each of the evaluated queries."""
    if pairs is None:
        return None
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


def evaluate(
    recs: object,
    truth: object,
    *,
    metrics: Sequence[str] = ("recall", "precision", "hit_rate", "ndcg"),
    k: Sequence[int] | int = (10, 100),
    train: object | None = None,
    users: object | None = None,
    items: object | None = None,
    exposures: object | None = None,
    buckets: Mapping[str, Any] | None = None,
    policies: Mapping[str, str] | None = None,
) -> Evaluation:
    """Returns the metrics of lists against a truth.

    Inputs are polars frames (lazy too), objects with the Arrow stream protocol (pandas,
    pyarrow, duckdb), paths or globs, or TREC run and qrels files. They are never changed.

    Args:
        recs: user_id (or query_id), item_id (integers or text), rank (>= 1) or score (higher
            is better), optionally generator.
        truth: user_id (or query_id, or both), item_id, optionally gain (> 0, default 1).
        metrics: texts such as "recall" or "ndcg(gain=exponential)@10".
        k: depths for the metrics that name none, items, >= 1.
        train: user_id, item_id: what users did before; makes the repeats and cold policies,
            seen_share, novelty and buckets by activity possible.
        users: user_id (or query_id) of everyone who could have been evaluated; needed by
            `zero_relevant` other than skip. Further columns are for buckets by column, and
            `quota` (items, >= 1) for metrics @quota.
        items: item_id of the catalogue, maybe created_at and available (Boolean), and columns
            for buckets of items; default: the items of train.
        exposures: user_id, item_id of what users were shown; makes judged@K possible.
        buckets: bucket rules by name, as in the configuration.
        policies: zero_relevant, repeats, cold_users, cold_items, as in the configuration.

    Raises:
        ConfigError: unknown metrics, policies or buckets; an option that needs train data.
        DataError: missing columns, ids of different types, no common ids, bad scores or ranks.

    Example:
        >>> recs = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "rank": [1, 2]})
        >>> truth = pl.DataFrame({"user_id": [1], "item_id": [8]})
        >>> evaluate(recs, truth, metrics=["precision"], k=[2]).value("precision@2")
        0.5
    """
    texts = list(metrics) if isinstance(metrics, list | tuple) else [metrics]
    measured = measures(texts, check_depths(k))
    named = {"policies": policies, "buckets": buckets}
    asked_for = Document({name: {} if each is None else each for name, each in named.items()})
    options = validate(asked_for, _Options)
    asked = read_truth(truth)
    lists = read_recs(recs, users_are_queries=asked.users_are_queries)
    history = read_train(train)
    everyone = read_universe(users, asked.queries)
    catalogue, exposed = read_items(items), read_exposures(exposures)
    sides = {} if exposed is None else {"exposures": exposed}
    if catalogue is not None:
        sides["items"] = catalogue.lazy().select(ITEM_ID)
    check_ids(lists, asked, history, everyone.queries, sides=sides)
    everyone.check(asked.queries)
    kept = apply_policies(
        asked.pairs.lazy(),
        asked.queries,
        options.policies,
        universe=everyone.queries,
        seen=history.pairs,
        warm_users=history.pairs,
        warm_items=history.pairs,
    )
    background = _background(history, catalogue, exposed, everyone)
    evaluator = Evaluator.of(
        everyone.describe(kept), measured, background=background, buckets=options.buckets
    )
    scored = {name: [evaluator.score(rows)] for name, rows in lists.by_generator.items()}
    found = {
        name: count_lists(rows, lists.facts[name], kept.queries)
        for name, rows in lists.by_generator.items()
    }
    return evaluator.evaluation(
        scored,
        counts={"truth": {**asked.counts, **kept.counts}, "lists": found},
        definitions={"cutoff": None, "catalogue": _catalogue_of(background)},
    )


def _background(
    history: History,
    items: pl.DataFrame | None,
    exposed: pl.LazyFrame | None,
    everyone: Universe,
) -> Background:
    """Returns what the tables say of users and items."""
    known = Background(items=items, exposed=exposed, users=everyone.of_users)
    if history.pairs is None:
        return known
    popularity, users = count_train_users(history.pairs)
    return replace(
        known,
        seen=history.pairs,
        activity=history.activity,
        popularity=popularity,
        train_users=users,
    )


def _catalogue_of(background: Background) -> str:
    """Returns what the catalogue is, in words."""
    if background.items is not None:
        return "items table"
    return "not known" if background.popularity is None else "train rows"


def check_depths(k: object) -> tuple[int, ...]:
    """Returns the depths of one integer, or of several.

    Raises:
        ConfigError: a depth that is no integer >= 1.
    """
    depths: list[Any] = [k]
    if isinstance(k, Iterable) and not isinstance(k, str):
        depths = list(k)
    problems = [
        Problem(f"expected an integer >= 1, got {depth!r}", f"k.{index}")
        for index, depth in enumerate(depths)
        if not _is_depth(depth)
    ]
    if problems:
        raise ConfigError(*problems)
    return tuple(operator.index(depth) for depth in depths)


def _is_depth(value: Any) -> bool:
    try:
        return value is not True and operator.index(value) >= 1
    except TypeError:
        return False
