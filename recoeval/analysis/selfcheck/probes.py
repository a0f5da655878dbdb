"""Probes of the engine: random lists on shuffled truth, lists in other orders and blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from recoeval.analysis.audit.view import number
from recoeval.columns import (
    BUCKET,
    BUCKET_BY,
    GAIN,
    ITEM_ID,
    QUERY_ID,
    RANK,
    RELEVANT,
    SCORE,
)
from recoeval.engine.local import Scorer
from recoeval.engine.scored import Scored
from recoeval.metrics.accuracy import Recall
from recoeval.metrics.base import Cut, Measure

__all__ = ["chosen", "find_random_scores", "find_unstable_scores"]

QUERIES: Final = 1_000
"""Queries of a probe."""
ITEMS: Final = 2_000
"""Items that random lists are made of: few enough that many hits are expected."""
SHARE: Final = 0.2
"""Length of a random list, as a share of the items."""
BOUND: Final = 5.0
"""Standard errors: chance alone is beyond them once in millions of runs."""
SHARDS: Final = (2, 7)
LENGTH: Final = 50
"""Rows of the lists that are permuted and cut into blocks."""

Broken = tuple[str, str, int, str | None]


def chosen(ids: pl.Series, size: int, seed: int) -> pl.Series:
    """Returns at most so many of distinct ids, the same ones whatever their order, sorted.

    Args:
        ids: distinct.
        size: how many at most.
        seed: of the choice.

    Example:
        >>> chosen(pl.Series([3, 1, 2]), 2, 7).equals(chosen(pl.Series([2, 3, 1]), 2, 7))
        True
    """
    ordered = ids.sort()
    if len(ids) <= size:
        return ordered
    # Places instead of digests of all ids: a hundredth of the CPU (500,000 ids).
    places = np.random.default_rng([seed, len(ids)]).choice(len(ids), size, replace=False)
    return ordered.gather(np.sort(places))


def find_random_scores(scorer: Scorer, seed: int) -> Iterator[Broken]:
    """Yields whether random lists score unlike chance when the truth is shuffled.

    Each query gets the truth of another one and a random list of K of N items, so that the mean
    of recall@K is K / N with a known variance (hypergeometric hits).
    """
    pool = chosen(scorer.truth[ITEM_ID].unique(), ITEMS, seed)
    rng = np.random.default_rng(seed)
    truth = scorer.truth.filter(pl.col(ITEM_ID).is_in(pool.implode()))
    queries = chosen(truth[QUERY_ID].unique(), QUERIES, seed)
    others = queries.gather(rng.permutation(len(queries)))
    swapped = pl.DataFrame({QUERY_ID: queries, "other": others})
    shuffled = truth.join(swapped, on=QUERY_ID).select(
        pl.col("other").alias(QUERY_ID), ITEM_ID, GAIN
    )
    depth = max(1, math.floor(SHARE * len(pool)))
    lists = _random_lists(queries, pool, depth, rng)
    measure = Measure(Recall(), Cut(depth))
    asked = scorer.queries.filter(pl.col(QUERY_ID).is_in(queries.implode()))
    probe = type(scorer).of(asked, shuffled, (measure,), seen=None, drop_seen=False)
    scored = probe.score(lists.lazy()).per_query.sort(QUERY_ID)
    expected = depth / len(pool)
    relevant = scored[RELEVANT].to_numpy()
    found = float(scored[measure.label].to_numpy().mean())
    size = len(pool)
    spread = expected * (1 - expected) * (size - relevant) / max(1, size - 1) / relevant
    error = math.sqrt(float(spread.sum())) / len(relevant)
    if not abs(found - expected) <= BOUND * error + 1e-9:
        text = (
            f"random lists of {depth:,} of {size:,} items reach a recall of {found:.4f} on "
            f"shuffled truth, where chance gives {expected:.4f} +- {error:.4f}"
        )
        yield "random_is_not_random", text, len(queries), None


def _random_lists(
    queries: pl.Series, pool: pl.Series, depth: int, rng: np.random.Generator
) -> pl.DataFrame:
    """Returns a list of `depth` distinct items of the pool for each query."""
    drawn = [rng.permutation(len(pool))[:depth] for _ in range(len(queries))]
    ranks = np.tile(np.arange(1, depth + 1), len(queries))
    return pl.DataFrame(
        {
            QUERY_ID: queries.gather(np.repeat(np.arange(len(queries)), depth)),
            ITEM_ID: pool.gather(np.concatenate(drawn)),
            RANK: ranks,
            SCORE: -ranks.astype(np.float64),
        }
    )


def find_unstable_scores(scorer: Scorer, seed: int) -> Iterator[Broken]:
    """Yields whether repeating, permuting or cutting the work changes a single bit."""
    names = chosen(scorer.truth[QUERY_ID].unique(), QUERIES, seed)
    queries = scorer.queries.filter(pl.col(QUERY_ID).is_in(names.implode()))
    lists = _mixed_lists(scorer, names, seed)
    whole = _tables([scorer.score(lists.lazy(), queries)])
    permuted = lists.sample(fraction=1.0, shuffle=True, seed=seed)
    turned = queries.sample(fraction=1.0, shuffle=True, seed=seed)
    probes = {
        "the same lists again": [scorer.score(lists.lazy(), queries)],
        "the rows of the lists in another order": [scorer.score(permuted.lazy(), queries)],
        "the queries in another order": [scorer.score(lists.lazy(), turned)],
    }
    for shards in SHARDS:
        blocks = [queries.gather_every(shards, start) for start in range(shards)]
        probes[f"{shards} blocks of queries"] = [
            scorer.score(lists.lazy(), block) for block in blocks if block.height
        ]
    for what, parts in probes.items():
        yield from _differences(what, whole, _tables(parts))
    yield from _of_other_truth(scorer, queries, lists, seed)


def _of_other_truth(
    scorer: Scorer, queries: pl.DataFrame, lists: pl.DataFrame, seed: int
) -> Iterator[Broken]:
    """Yields whether the order of the truth's rows changes a bit."""
    plain = tuple(each for each in scorer.measures if each.metric.kind == "accuracy")
    plain = tuple(each for each in plain if not each.metric.needs_catalogue)
    own = scorer.truth.join(queries.select(QUERY_ID), on=QUERY_ID, how="semi")
    found = []
    for truth in (own, own.sample(fraction=1.0, shuffle=True, seed=seed)):
        probe = type(scorer).of(
            queries,
            truth,
            plain,
            seen=scorer.seen,
            drop_seen=scorer.drop_seen,
            without_relevant=scorer.without_relevant,
        )
        found.append(_tables([probe.score(lists.lazy())]))
    yield from _differences("the rows of the truth in another order", *found)


def _mixed_lists(scorer: Scorer, names: pl.Series, seed: int) -> pl.DataFrame:
    """Returns lists with hits, misses, seen items, repeated items and tied scores."""
    pool = chosen(scorer.truth[ITEM_ID].unique(), ITEMS, seed)
    rng = np.random.default_rng(seed)
    depth = max(1, min(LENGTH, len(pool) // 2))
    random = _random_lists(names, pool, depth, rng).select(QUERY_ID, ITEM_ID)
    keep = pl.DataFrame({QUERY_ID: names})
    hits = scorer.truth.select(QUERY_ID, ITEM_ID).gather_every(2)
    parts = [random, random.gather_every(20), hits]
    if scorer.seen is not None:
        seen = scorer.seen.join(keep.lazy(), on=QUERY_ID, how="semi")
        parts.append(seen.select(QUERY_ID, ITEM_ID).collect(engine="streaming").gather_every(3))
    rows = pl.concat(parts).join(keep, on=QUERY_ID, how="semi").sort(QUERY_ID, ITEM_ID)
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=seed)
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(QUERY_ID)
    return mixed.with_columns(rank.alias(RANK)).with_columns(
        (-(pl.col(RANK) // 2)).cast(pl.Float64).alias(SCORE)
    )


def _tables(parts: Sequence[Scored]) -> dict[str, pl.DataFrame]:
    """Returns the tables of all blocks together, in an order of their own."""
    found = {}
    for name in ("per_query", "hits", "lost", "sliced", "listed"):
        table = pl.concat([getattr(part, name) for part in parts])
        keys = [key for key in (BUCKET_BY, BUCKET, QUERY_ID, ITEM_ID) if key in table.columns]
        if name == "listed" and table.width:
            # The one table whose rows are counts over queries.
            table = table.group_by(keys).agg(pl.exclude(keys).sum())
        found[name] = table.sort(keys) if keys else table
    return found


def _differences(
    what: str, whole: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]
) -> Iterator[Broken]:
    for name, table in whole.items():
        if not table.equals(other[name]):
            changed = _changed_rows(table, other[name])
            text = f"{what} give other results: {number(changed, 'row')} of {name} changed"
            yield "unstable_results", text, changed, None


def _changed_rows(table: pl.DataFrame, other: pl.DataFrame) -> int:
    """Returns how many rows differ; all where the shapes do."""
    if table.shape != other.shape or table.columns != other.columns:
        return max(table.height, other.height)
    same = [table[name].eq_missing(other[name]) for name in table.columns]
    return int((~pl.select(pl.all_horizontal(pl.lit(each) for each in same)).to_series()).sum())
