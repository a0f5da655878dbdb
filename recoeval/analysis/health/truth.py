"""Truth health by relevant pairs: how many a query has, of which items, known from before."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

import numpy as np
import polars as pl

from recoeval.analysis.audit.view import AuditView
from recoeval.analysis.health.rows import range_labels
from recoeval.columns import CREATED_AT, FIRST, ITEM_ID, QUERY_ID, QUERY_TIME, TRAIN_USERS
from recoeval.data.ordering import starts_of

__all__ = [
    "by_age",
    "by_popularity",
    "count_relevant_items",
    "count_repeats",
    "measure_relevant_items",
]

Record = dict[str, Any]

SIZES: Final = (1, 2, 3, 5, 10, 20, 50, 100)
"""Lower ends of the ranges of |R|."""
HEAD: Final = (("tail", "0"), ("torso", "0.8"), ("head", "0.95"))
"""Four items in five are the tail, one in twenty the head."""
AGES: Final = (0, 1, 3, 7, 30, 90)
"""Days; below 0 an item is younger than the query."""


def _sizes(view: AuditView) -> pl.Series:
    """Returns |R| of each query that has relevant items, ascending."""
    # Pairs mostly come sorted: then their runs cost a tenth of a group_by.
    ids = view.truth.pairs[QUERY_ID]
    ids = ids if ids.is_sorted() else ids.sort()
    return pl.Series("pairs", np.diff(starts_of(ids), append=len(ids))).sort()


def _empty(view: AuditView) -> int:
    """Returns the queries that could have been evaluated, but have no relevant item."""
    return view.truth.counts.get("zero_relevant_queries", 0)


def measure_relevant_items(view: AuditView) -> list[Record]:
    """Returns mean and quantiles of |R| over the queries with relevant items."""
    sizes = _sizes(view)
    cuts = {f"p{100 * q:.0f}": sizes.quantile(q, "lower") for q in (0.1, 0.5, 0.9, 0.99)}
    return [
        {
            "queries": len(sizes),
            "without_relevant": _empty(view),
            "pairs": view.truth.pairs.height,
            "mean": view.truth.pairs.height / len(sizes),
            **{name: int(value or 0) for name, value in cuts.items()},
            "max": sizes[-1],
        }
    ]


def count_relevant_items(view: AuditView) -> list[Record]:
    """Returns how many queries have how many relevant items, those with none first."""
    ranges = [(low, high - 1) for low, high in zip(SIZES, (*SIZES[1:], math.inf), strict=True)]
    sizes, total = _sizes(view), view.truth.pairs.height
    queries = len(sizes) + _empty(view)
    found: list[Record] = []
    if none := _empty(view):
        found.append({"relevant_items": "0", "queries": none, "pairs": 0})
    for low, high in ranges:
        own = sizes.filter(sizes.is_between(low, high))
        label = str(low) if low == high else f"{low}+" if high == math.inf else f"{low}-{high}"
        if len(own):
            pairs = int(own.sum())
            found.append({"relevant_items": label, "queries": len(own), "pairs": pairs})
    return [
        {
            "relevant_items": each["relevant_items"],
            "queries": each["queries"],
            "share": each["queries"] / queries,
            "pairs": each["pairs"],
            "pairs_share": each["pairs"] / total,
        }
        for each in found
    ]


def count_repeats(view: AuditView) -> list[Record]:
    """Returns how many relevant pairs of the test window are known from the train window."""
    known, total = view.repeats, view.repeats.pairs
    others = [("have a train row", known.trained), ("have any row before", known.before)]
    if view.background.seen is not None:
        others.append(("were seen", known.seen))
    found = [{"pairs_that": "are relevant in the test window", "pairs": total, "share": 1.0}]
    for name, repeated in others:
        share = repeated / total if total else 0.0
        found.append({"pairs_that": name, "pairs": repeated, "share": share})
    return found


def by_popularity(view: AuditView) -> list[Record]:
    """Returns how the truth lies on tail, torso and head of the items with a train row."""
    items = view.background.popularity
    if items is None or items.is_empty():
        return []
    bands = _popularity_bands(items[TRAIN_USERS].sort())
    at_least = [(pl.col(TRAIN_USERS) >= cut).cast(pl.Int64) for _, cut in bands]
    known = items.select(ITEM_ID, pl.sum_horizontal(at_least).alias("band"))
    pairs = view.truth.pairs.select(ITEM_ID).join(known, on=ITEM_ID, how="left")
    cold = pairs.filter(pl.col("band").is_null())
    found = [("cold", "0", cold[ITEM_ID].n_unique(), cold.height)]
    ends = [*(str(cut) for _, cut in bands), "inf"]
    for index, (name, _) in enumerate(bands, start=1):
        size, held = (rows.filter(pl.col("band") == index).height for rows in (known, pairs))
        found.append((name, f"[{ends[index - 1]},{ends[index]})", size, held))
    total = view.truth.pairs.height
    return [
        {
            "items_are": name,
            "train_users": edges,
            "items": size,
            "pairs": held,
            "share": held / total,
        }
        for name, edges, size, held in found
    ]


def _popularity_bands(users: pl.Series) -> list[tuple[str, int]]:
    """Returns name and lower end of the bands of sorted counts; equal cuts merge."""
    cuts = {name: users[math.floor(Decimal(share) * len(users))] for name, share in HEAD}
    bands = [("tail", cuts["tail"])]
    if cuts["tail"] < cuts["torso"] < cuts["head"]:
        bands.append(("torso", cuts["torso"]))
    if cuts["head"] > cuts["tail"]:
        bands.append(("head", cuts["head"]))
    return bands


def by_age(view: AuditView) -> list[Record]:
    """Returns how old the items of the truth are when they are asked for.

    Age counts from `created_at` of the items table, else from the first row of the log: then
    it is a lower bound, since the log has a beginning.
    """
    pairs = view.truth.pairs.lazy().select(QUERY_ID, ITEM_ID)
    items = view.background.items
    if items is not None and items[CREATED_AT].null_count() < items.height:
        since, born = "created_at", items.lazy().select(ITEM_ID, pl.col(CREATED_AT).alias(FIRST))
    elif FIRST in view.items.columns:
        since, born = "first log row", view.items.lazy().select(ITEM_ID, FIRST)
    else:
        return []
    days = (pl.col(QUERY_TIME) - pl.col(FIRST)).dt.total_microseconds() / 86_400_000_000
    band = pl.sum_horizontal((days >= edge).cast(pl.Int64) for edge in AGES)
    counts = (
        pairs.join(view.cutoffs.select(QUERY_ID, QUERY_TIME), on=QUERY_ID)
        .join(born, on=ITEM_ID, how="left")
        .select(pl.when(pl.col(FIRST).is_not_null()).then(band).alias("band"))
        .group_by("band")
        .len()
        .sort("band", nulls_last=True)
        .collect(engine="streaming")
    )
    labels = ["after the cutoff", *range_labels(AGES)[1:]]
    total = view.truth.pairs.height
    return [
        {
            "age_days": "missing" if index is None else labels[int(index)],
            "since": since,
            "pairs": amount,
            "share": amount / total,
        }
        for index, amount in counts.iter_rows()
    ]
