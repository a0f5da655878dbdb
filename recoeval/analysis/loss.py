"""Where the lost recall went: exact counts of relevant pairs by cause.

A relevant pair within K is a hit; one deeper in the list is below K; for every other pair the
engine names the cause. The causes add up to the relevant pairs of every query and bucket.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

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

__all__ = ["attribute_loss", "count_causes", "sample_misses"]

PAIR = (QUERY_ID, ITEM_ID)
_FOUND = "found"


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
    pairs = _join(hits, lost)
    rows = []
    for name, labels in {ALL: (ALL,), **order}.items():
        if name == ALL:
            marked = pairs.with_columns(pl.lit(ALL).alias(LABEL))
        else:
            keys = [key for key in PAIR if key in parts[name].columns]
            marked = pairs.join(parts[name].select(*keys, LABEL), on=keys)
        counted = _count(marked, LABEL, depths)
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
    return _count(_join(hits, lost), QUERY_ID, [k]).drop(K).sort(QUERY_ID)


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


def _count(pairs: pl.DataFrame, key: str, depths: Sequence[int | None]) -> pl.DataFrame:
    """Returns key, k, relevant and the counts of each cause, one row a key and depth."""
    rank = pl.col(RANK)
    others = [cause for cause in CAUSES if cause not in (HIT, BELOW_K)]
    within = [rank.is_not_null() if k is None else (rank <= k).fill_null(False) for k in depths]
    counted = pairs.group_by(key).agg(
        pl.len().cast(pl.Int64).alias(RELEVANT),
        rank.count().cast(pl.Int64).alias(_FOUND),
        *(pl.col(CAUSE).eq(name).sum().cast(pl.Int64).alias(name) for name in others),
        *(each.sum().cast(pl.Int64).alias(f"@{place}") for place, each in enumerate(within)),
    )
    hit = [pl.col(f"@{place}") for place in range(len(depths))]
    return pl.concat(
        counted.select(
            key,
            pl.lit(k, pl.Int64).alias(K),
            RELEVANT,
            found.alias(HIT),
            (pl.col(_FOUND) - found).alias(BELOW_K),
            *others,
        )
        for k, found in zip(depths, hit, strict=True)
    )
