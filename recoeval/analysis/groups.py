"""Whose numbers are shown apart: buckets of queries, parts of the truth, buckets of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from recoeval.analysis.catalogue import BY, ItemGroup
from recoeval.analysis.summary import ALL, SERVED
from recoeval.columns import (
    COLDNESS,
    ITEM_ID,
    LABEL,
    POSITIVES,
    QUERY_ID,
    QUERY_TIME,
    RELEVANT,
    TRAIN_INTERACTIONS,
    TRAIN_ROWS,
    USER_ID,
)
from recoeval.data.background import Background
from recoeval.data.buckets import Bucket, Buckets, assign_buckets, label_items, label_pairs
from recoeval.data.ordering import starts_of
from recoeval.data.policies import Truth
from recoeval.data.reach import COLDNESS_LABELS, find_reach, label_coldness
from recoeval.data.rowkeys import positions
from recoeval.errors import ConfigError, Problem

__all__ = ["Groups"]


@dataclass(frozen=True, slots=True)
class Groups:
    """How the queries, the truth and the items are split.

    Args:
        queries: query_id, user_id of the evaluated queries.
        buckets: bucket of each query, in their order.
        pairs: label of the truth's pairs by name of the split: query_id, item_id, label; a pair
            may have several.
        labels: for each split of `pairs` its labels in order.
        reach: result of `find_reach`.
        background: what items are labelled by.
        rules: the buckets as they were asked for.
        time: the one time of all queries, UTC; None without one, or with several.
        latest: the time of the last query, UTC: the catalogue is that of this moment.
    """

    queries: pl.DataFrame
    buckets: Buckets
    pairs: Mapping[str, pl.DataFrame]
    labels: Mapping[str, tuple[str, ...]]
    reach: pl.DataFrame | None
    background: Background
    rules: Mapping[str, Bucket]
    time: datetime | None
    latest: datetime | None

    @classmethod
    def of(cls, truth: Truth, background: Background, buckets: Mapping[str, Bucket]) -> Groups:
        """Returns the splits of a truth.

        Args:
            truth: result of `apply_policies`.
            background: what is known of users and items.
            buckets: bucket rules by name.

        Raises:
            ConfigError: a bucket with a name of ours, or one that needs what is not known.
            DataError: quantiles of nothing.
        """
        _refuse_our_names(truth, background, buckets)
        queries = _with_facts(truth, background)
        found = assign_buckets(queries, buckets, background=background, pairs=truth.pairs)
        reach = find_reach(truth.pairs, queries, background)
        pairs, labels = _split_truth(truth, background, reach)
        items = label_pairs(truth.pairs, queries, background, buckets)
        times: list[datetime] = queries[QUERY_TIME].unique().drop_nulls().sort().to_list()
        return cls(
            queries.select(QUERY_ID, USER_ID),
            found,
            {**pairs, **items},
            {**labels, **{name: found.order[name] for name in items}},
            reach,
            background,
            buckets,
            times[0] if len(times) == 1 else None,
            times[-1] if times else None,
        )

    @property
    def known(self) -> dict[str, tuple[str, ...]]:
        """For each split every label that it can have, in order."""
        return {**self.buckets.known, **self.labels} | dict(self.buckets.known)

    @property
    def columns(self) -> pl.DataFrame | None:
        """query_id and one column a bucket of queries, named "by ..."; None without any."""
        labels = [each.alias(f"{BY}{name}") for name, each in self.buckets.labels.items()]
        return self.queries.select(QUERY_ID, *labels) if labels else None

    @property
    def order(self) -> dict[str, tuple[str, ...]]:
        """For each split of queries or pairs the labels that are shown, in order."""
        return {name: self.buckets.order[name] for name in self.buckets.labels} | dict(self.labels)

    @property
    def catalogue(self) -> pl.Series | None:
        """Item ids that could be listed, sorted; None if it is not known."""
        return self.background.catalogue(self.latest)

    def item_groups(self, items: pl.Series) -> list[ItemGroup]:
        """Returns what the metrics of the catalogue are shown for.

        Args:
            items: ids in the order of the item table.
        """
        users = self.queries[USER_ID]
        size = (len(users), users.n_unique())
        groups = [ItemGroup(ALL, ALL, *size)]
        for name, labels in self.buckets.labels.items():
            for label in self.buckets.order[name]:
                own = users.filter(labels == label)
                groups.append(ItemGroup(name, label, len(own), own.n_unique()))
        found = label_items(items, self.background, self.rules, self.time)
        for name, labels in found.items():
            shown = {*self.buckets.order[name], *labels.unique()}
            groups += [
                ItemGroup(name, label, *size, labels == label)
                for label in self.buckets.known[name]
                if label in shown
            ]
        return groups


def _refuse_our_names(truth: Truth, background: Background, buckets: Mapping[str, Bucket]) -> None:
    """Refuses buckets with the name of a split that is made without being asked for."""
    ours = {SERVED: "the queries that have a list"}
    if truth.kinds is not None:
        ours[POSITIVES] = "the kinds of positives"
    if background.popularity is not None:
        ours[COLDNESS] = "cold and warm pairs"
    problems = [
        Problem(f"{name!r} means {what}: choose another name", f"buckets.{name}")
        for name, what in ours.items()
        if name in buckets
    ]
    if problems:
        raise ConfigError(*problems)


def _with_facts(truth: Truth, background: Background) -> pl.DataFrame:
    """Returns the queries with |R| and, where they are known, the facts of their users."""
    asked = truth.pairs[QUERY_ID]
    starts = starts_of(asked)
    # The last one is that of queries without relevant items.
    sizes = np.append(np.diff(starts, append=len(asked)), 0)
    places = positions(truth.queries[QUERY_ID], asked.gather(starts))
    rows = truth.queries.with_columns(pl.Series(RELEVANT, sizes[places]))
    if background.activity is None:
        return rows
    counts = (TRAIN_INTERACTIONS, TRAIN_ROWS)
    facts = background.activity.select(USER_ID, *counts)
    joined = rows.lazy().join(facts, on=USER_ID, how="left", maintain_order="left")
    filled = pl.col(counts).cast(pl.Int64).fill_null(0)
    return joined.with_columns(filled).collect(engine="streaming")


def _split_truth(
    truth: Truth, background: Background, reach: pl.DataFrame | None
) -> tuple[dict[str, pl.DataFrame], dict[str, tuple[str, ...]]]:
    """Returns the splits of the truth that nobody has to ask for."""
    pairs, labels = {}, {}
    if truth.kinds is not None and len(truth.kind_labels) > 1:
        pairs[POSITIVES] = truth.kinds.select(QUERY_ID, ITEM_ID, LABEL)
        labels[POSITIVES] = truth.kind_labels
    if reach is not None and background.popularity is not None:
        pairs[COLDNESS], labels[COLDNESS] = label_coldness(reach), COLDNESS_LABELS
    return pairs, labels
