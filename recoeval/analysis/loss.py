"""Where the lost recall went: exact counts of relevant pairs by cause.

A relevant pair within K is a hit; one deeper in the list is below K; for every other pair the
engine names the cause. The causes add up to the relevant pairs of every query and bucket.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.analysis.summary import ALL
from recoeval.columns import (
    BELOW_K,
    CAUSE,
    CAUSE_DTYPE,
    CAUSES,
    GAIN,
    HIT,
    ITEM_ID,
    LOSS_SCHEMA,
    QUERY_ID,
    RANK,
)

__all__ = ["Split", "attribute_loss", "sample_misses"]

PAIR = (QUERY_ID, ITEM_ID)
Ints = NDArray[np.int64]
Codes = NDArray[np.unsignedinteger[Any]]
_LAST: Final = len(CAUSES) - 1
_LOST: Final = CAUSES.index(BELOW_K) + 1
_ROWS_AT_ONCE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Split:
    """Relevant pairs by label.

    Args:
        labels: those that are shown, in order, with pairs or not.
        codes: place of the label of each row; that after the last one: it is not shown.
        pairs: number of the pair of each row (UInt32), which may have several; None: a row a
            pair, in their order.
    """

    labels: tuple[str, ...]
    codes: Codes
    pairs: pl.Series | None = None

    @classmethod
    def of(cls, labels: pl.Series, shown: Sequence[str], pairs: pl.Series | None = None) -> Split:
        """Returns a split.

        Args:
            labels: one a row (String).
            shown: the labels of the result, in order.
            pairs: number of the pair of each row (UInt32); None: a row a pair, in their order.

        Example:
            >>> Split.of(pl.Series(["old", "new", "new"]), ["new", "other"]).codes.tolist()
            [2, 0, 0]
        """
        places = labels.cast(pl.Enum(shown), strict=False).to_physical()
        codes = places.cast(pl.UInt32).fill_null(len(shown)).to_numpy()
        return cls(tuple(shown), codes.astype(_dtype_for(len(shown) + 1)), pairs)

    @classmethod
    def of_queries(
        cls, labels: pl.Series, shown: Sequence[str], numbers: Ints, sizes: Ints
    ) -> Split:
        """Returns the split of the pairs by the labels of their queries.

        Args:
            labels: one a query (String).
            shown: the labels of the result, in order.
            numbers: number of each query.
            sizes: relevant pairs of each query, in the order of the numbers.
        """
        own = cls.of(labels, shown)
        codes = np.empty_like(own.codes)
        codes[numbers] = own.codes
        return cls(own.labels, np.repeat(codes, sizes))


def attribute_loss(
    found: pl.DataFrame,
    missed: pl.DataFrame,
    depths: Sequence[int | None],
    splits: Mapping[str, Split],
    *,
    generator: str,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns LOSS of one generator: overall, then each label of each split in order.

    Args:
        found: item_id (number of the pair), rank (prepared) of the relevant pairs in its lists.
        missed: item_id (number of the pair), cause of all others.
        depths: K, items, >= 1; None is the whole list.
        splits: labels of the pairs by name.
        generator: name in the result.
        fold: number in the result.

    Returns:
        LOSS: fold, generator, bucket_by, bucket, k, relevant and one column a cause (Int64).

    Example:
        >>> found = pl.DataFrame({"item_id": [0, 1], "rank": [1, 30]})
        >>> missed = pl.DataFrame({"item_id": [2], "cause": ["cold_item"]})
        >>> loss = attribute_loss(found, missed, [10], {}, generator="als")
        >>> loss.select("relevant", "hit", "below_k", "cold_item").row(0)
        (3, 1, 1, 1)
    """
    cuts = sorted({k for k in depths if k is not None})
    fates = _fates(found, missed, cuts)
    whole = Split((ALL,), np.zeros(len(fates), np.uint8))
    rows: list[tuple[object, ...]] = []
    for name, split in {ALL: whole, **splits}.items():
        counts = _count(fates, split, len(CAUSES) + len(cuts) + 1)
        for label, own in zip(split.labels, counts, strict=False):
            causes, ranks = own[_LOST : len(CAUSES)], own[len(CAUSES) :]
            for k in depths:
                hits = int(ranks.sum() if k is None else ranks[: cuts.index(k) + 1].sum())
                below = int(ranks.sum()) - hits
                relevant = int(own.sum())
                rows.append((fold, generator, name, label, k, relevant, hits, below, *causes))
    return pl.DataFrame(rows, schema=LOSS_SCHEMA, orient="row")


def _fates(found: pl.DataFrame, missed: pl.DataFrame, cuts: Sequence[int]) -> Codes:
    """Returns what became of each pair: the place of its cause in `CAUSES`.

    Those in the lists stand after the causes: within the first cut, the second, ..., below all.
    """
    # Nearly all pairs have the last cause.
    fates: Codes = np.full(
        found.height + missed.height, _LAST, _dtype_for(len(CAUSES) + len(cuts) + 1)
    )
    missed = missed.with_columns(pl.col(CAUSE).cast(CAUSE_DTYPE))
    named = missed.filter(pl.col(CAUSE) != CAUSES[_LAST])
    fates[named[ITEM_ID].to_numpy()] = named[CAUSE].to_physical().to_numpy()
    # The places of all ranks down to the last cut are found once: a seventh of the time.
    deepest = max(cuts, default=0) + 1
    places = len(CAUSES) + np.searchsorted(np.array(cuts, np.int64), np.arange(deepest + 1))
    ranks = np.minimum(found[RANK].to_numpy(), deepest)
    fates[found[ITEM_ID].to_numpy()] = places.astype(fates.dtype)[ranks]
    return fates


def _count(fates: Codes, split: Split, kinds: int) -> Ints:
    """Returns how many pairs of each label (rows) have which fate (columns)."""
    own = fates if split.pairs is None else pl.Series(fates).gather(split.pairs).to_numpy()
    size = (len(split.labels) + 1) * kinds
    counts = np.zeros(size, np.int64)
    # In steps that a cache holds: two thirds of the time of one bincount over 10 M pairs.
    for start in range(0, len(own), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        keys = split.codes[rows].astype(np.int64) * kinds + own[rows]
        counts += np.bincount(keys, minlength=size)
    return counts.reshape(-1, kinds)


def _dtype_for(codes: int) -> type[np.unsignedinteger[Any]]:
    """Returns the dtype of so many codes."""
    return np.uint8 if codes <= 1 << 8 else np.uint32


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
