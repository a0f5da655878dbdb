"""Where the lost recall went: exact counts of relevant pairs by cause.

A relevant pair within K is a hit; one deeper in the list is below K; for every other pair the
engine names the cause. The causes add up to the relevant pairs of every query and bucket.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from recoeval.analysis.summary import ALL
from recoeval.columns import (
    BELOW_K,
    BUCKET,
    BUCKET_BY,
    CAUSE,
    CAUSES,
    FOLD,
    GAIN,
    GENERATOR,
    HIT,
    ITEM_ID,
    LABEL,
    LOSS_SCHEMA,
    QUERY_ID,
    RANK,
    RELEVANT,
    K,
)
from recoeval.data.ordering import starts_of

__all__ = ["attribute_loss", "count_causes", "sample_misses"]

PAIR = (QUERY_ID, ITEM_ID)
_FOUND = "found"
_LAST = CAUSES[-1]
_NAMED = tuple(cause for cause in CAUSES[:-1] if cause not in (HIT, BELOW_K))
_OTHERS = (*_NAMED, _LAST)


def attribute_loss(
    hits: pl.DataFrame,
    lost: pl.DataFrame,
    depths: Sequence[int | None],
    parts: Mapping[str, pl.DataFrame],
    order: Mapping[str, Sequence[str]],
    *,
    generator: str,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns LOSS of one generator: overall, then each label of each part in order.

    Args:
        hits: query_id, item_id, rank (prepared) of the relevant pairs in its lists.
        lost: query_id, item_id, cause of the others.
        depths: K, items, >= 1; None is the whole list.
        parts: label of queries (query_id, label) or of pairs (query_id, item_id, label), by
            name; a pair may have several labels.
        order: for each name the labels of the result, with pairs or not.
        generator: name in the result.
        fold: number in the result.

    Returns:
        LOSS: fold, generator, bucket_by, bucket, k, relevant and one column a cause (Int64).
    """
    by_query = _sums(hits, lost, QUERY_ID, depths)
    rows = []
    for name, labels in {ALL: (ALL,), **order}.items():
        if name == ALL:
            marked = by_query.with_columns(pl.lit(ALL).alias(LABEL))
        elif ITEM_ID in parts[name].columns:
            labels_of = parts[name].select(*PAIR, LABEL)
            own = [rows.join(labels_of, on=PAIR) for rows in (hits, lost)]
            marked = _sums(own[0], own[1], LABEL, depths)
        else:
            marked = by_query.join(parts[name].select(QUERY_ID, LABEL), on=QUERY_ID)
        sums = marked.group_by(LABEL).agg(pl.exclude(QUERY_ID).sum())
        counted = _by_cause(sums, LABEL, depths)
        known = pl.DataFrame({LABEL: labels}, schema={LABEL: pl.String}).with_row_index()
        cut = pl.DataFrame({K: depths}, schema={K: pl.Int64}).with_row_index("place")
        rows.append(
            known.join(cut, how="cross")
            .join(counted, on=[LABEL, K], how="left", nulls_equal=True)
            .sort("index", "place")
            .with_columns(pl.col(RELEVANT, *CAUSES).fill_null(0), pl.lit(name).alias(BUCKET_BY))
        )
    run = (pl.lit(fold, pl.Int64).alias(FOLD), pl.lit(generator).alias(GENERATOR))
    return pl.concat(rows).rename({LABEL: BUCKET}).with_columns(run).select(*LOSS_SCHEMA)


def count_causes(hits: pl.DataFrame, lost: pl.DataFrame, k: int | None) -> pl.DataFrame:
    """Returns how many relevant pairs of each query have which cause at K.

    Args:
        hits: query_id, item_id, rank (prepared) of the relevant pairs in the lists.
        lost: query_id, item_id, cause of the others.
        k: depth of the list, items, >= 1; None is the whole list.

    Returns:
        query_id, relevant and one column a cause (Int64), sorted by query_id.

    Example:
        >>> hits = pl.DataFrame({"query_id": [1, 1], "item_id": [7, 8], "rank": [1, 30]})
        >>> lost = pl.DataFrame({"query_id": [1], "item_id": [9], "cause": ["cold_item"]})
        >>> counted = count_causes(hits, lost, 10)
        >>> counted.select("relevant", "hit", "below_k", "cold_item").row(0)
        (3, 1, 1, 1)
    """
    sums = _sums(hits, lost, QUERY_ID, [k])
    return _by_cause(sums, QUERY_ID, [k]).drop(K).sort(QUERY_ID)


def sample_misses(
    hits: pl.DataFrame, lost: pl.DataFrame, *, k: int | None, count: int, seed: int
) -> pl.DataFrame:
    """Returns some relevant pairs that are not within K, to look at by eye.

    The sample depends on the ids and the seed alone: it is the same for every order of the rows,
    and a larger one begins with a smaller one.

    Args:
        hits: HITS of one generator and fold: query_id, item_id, rank (prepared), gain.
        lost: query_id, item_id, gain, cause of the other relevant pairs.
        k: depth of the list, items, >= 1; None is the whole list.
        count: pairs wanted, >= 0.
        seed: another seed, another sample.

    Returns:
        query_id, item_id, gain, rank (null unless below K), cause; in the order of the hashes.

    Source:
        SHA-256 of "{seed}:{query_id}:{item_id}", its first 8 bytes as an unsigned number.
    """
    missed = _causes(_join(hits, lost), k).filter(pl.col(CAUSE) != HIT)
    ids = zip(missed[QUERY_ID], missed[ITEM_ID], strict=True)
    hashes = [_hash(f"{seed}:{query}:{item}") for query, item in ids]
    return (
        missed.with_columns(pl.Series("hash", hashes, dtype=pl.UInt64))
        .sort("hash", *PAIR)
        .head(count)
        .select(*PAIR, GAIN, RANK, CAUSE)
    )


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _join(hits: pl.DataFrame, lost: pl.DataFrame) -> pl.DataFrame:
    """Returns all relevant pairs, with a rank or a cause."""
    return pl.concat([hits, lost], how="diagonal")


def _causes(pairs: pl.DataFrame, k: int | None) -> pl.DataFrame:
    """Returns the pairs with the cause that holds at K, hits among them."""
    rank = pl.col(RANK)
    within = rank.is_not_null() if k is None else rank <= k
    cause = pl.when(within).then(pl.lit(HIT)).when(rank.is_not_null()).then(pl.lit(BELOW_K))
    return pairs.with_columns(cause.otherwise(pl.col(CAUSE)).alias(CAUSE))


def _sums(
    hits: pl.DataFrame, lost: pl.DataFrame, key: str, depths: Sequence[int | None]
) -> pl.DataFrame:
    """Returns key, relevant, how many are found at all, of each other cause, and at each depth."""
    rank = pl.col(RANK)
    within = [rank.is_not_null() if k is None else rank <= k for k in depths]
    found = hits.group_by(key).agg(
        pl.len().cast(pl.Int64).alias(_FOUND),
        *(each.sum().cast(pl.Int64).alias(f"@{place}") for place, each in enumerate(within)),
    )
    # Nearly all have the last cause: rows are counted where they stand together, the rest by name.
    starts = starts_of(lost[key])
    lengths = pl.Series("len", np.diff(np.append(starts, lost.height)), dtype=pl.Int64)
    gone = pl.DataFrame([lost[key].gather(starts), lengths]).group_by(key).sum()
    last = pl.lit(_LAST, dtype=lost[CAUSE].dtype)
    named = lost.filter(pl.col(CAUSE) != last).group_by(key)
    causes = named.agg(pl.col(CAUSE).eq(name).sum().cast(pl.Int64).alias(name) for name in _NAMED)
    joined = gone.join(found, on=key, how="full", coalesce=True).join(causes, on=key, how="left")
    filled = joined.with_columns(pl.exclude(key).fill_null(0))
    return filled.select(
        key,
        (pl.col("len") + pl.col(_FOUND)).alias(RELEVANT),
        (pl.col("len") - pl.sum_horizontal(_NAMED)).alias(_LAST),
        pl.exclude(key, "len"),
    )


def _by_cause(sums: pl.DataFrame, key: str, depths: Sequence[int | None]) -> pl.DataFrame:
    """Returns key, k, relevant and the counts of each cause, one row a key and depth."""
    hit = [pl.col(f"@{place}") for place in range(len(depths))]
    return pl.concat(
        sums.select(
            key,
            pl.lit(k, pl.Int64).alias(K),
            RELEVANT,
            found.alias(HIT),
            (pl.col(_FOUND) - found).alias(BELOW_K),
            *_OTHERS,
        )
        for k, found in zip(depths, hit, strict=True)
    )
