"""What stands for ids in joins and look-ups: hashes that no two of them share."""

from __future__ import annotations

import polars as pl

__all__ = ["key_of", "seed_of"]


def seed_of(ids: pl.Series) -> int:
    """Returns the first seed of a hash that no two ids share.

    Args:
        ids: distinct, without null.
    """
    seed = 0
    while ids.hash(seed).n_unique() < len(ids):
        seed += 1
    return seed


def key_of(column: str, ids: pl.Series) -> pl.Expr:
    """Returns what stands for an id of a column where the column holds these ids only.

    For text it is a hash that no two of the ids share: joins on it cost half of joins on text.

    Args:
        column: of ids.
        ids: distinct; all that the column has.
    """
    return pl.col(column).hash(seed_of(ids)) if ids.dtype == pl.String else pl.col(column)
