"""A sample of the users who are evaluated: by hash, so that it is the same ones every night."""

from __future__ import annotations

import math
from fractions import Fraction
from hashlib import sha256
from typing import Annotated, Any, Final

import numpy as np
import polars as pl
from pydantic import Field, Strict

from recoeval.columns import USER_ID
from recoeval.errors import DataError, Problem

__all__ = ["SampleShare", "Seed", "hash_ids", "sample_definition", "sample_queries"]

SampleShare = Annotated[float, Strict(), Field(gt=0, le=1)]
"""A number above 0, at most 1."""

Seed = Annotated[int, Strict(), Field(ge=0, lt=2**32)]
"""A whole number of 32 bits."""

IDS_AT_ONCE: Final = 100_000
"""Ids that are Python objects at a time."""


def hash_ids(ids: pl.Series, seed: int) -> pl.Series:
    """Returns the hash of each id, the same on every machine and with every version.

    Args:
        ids: integers or text, no nulls.
        seed: of the sample.

    Returns:
        UInt64: the first 8 bytes, big-endian, of the SHA-256 of the UTF-8 text "seed:id".

    Example:
        >>> hash_ids(pl.Series([12]), 7).equals(hash_ids(pl.Series(["12"]), 7))
        True
    """
    digests = bytearray()
    for start in range(0, len(ids), IDS_AT_ONCE):
        for each in ids.slice(start, IDS_AT_ONCE).to_list():
            digests += sha256(f"{seed}:{each}".encode()).digest()[:8]
    return pl.Series(np.frombuffer(digests, ">u8").astype(np.uint64))


def sample_definition(share: float | None, seed: int) -> dict[str, Any]:
    """Returns what numbers of a sample are not comparable without; empty where all are kept."""
    if share is None or share == 1:
        return {}
    return {"sample_users": {"share": share, "seed": seed}}


def sample_queries(
    queries: pl.DataFrame,
    universe: pl.DataFrame | None,
    share: float | None,
    *,
    seed: int,
    path: str = "sample_users",
) -> tuple[pl.DataFrame, pl.DataFrame | None, dict[str, int]]:
    """Returns the queries of the users in the sample; those of one user stay together.

    A user is in the sample if the hash is below share x 2^64, which is compared exactly. A larger
    share keeps whom a smaller one has.

    Args:
        queries: at least user_id.
        universe: the same for queries that may be evaluated; None when that is not known.
        share: of the users; None and 1 keep everybody.
        seed: of the hash.
        path: of the share in the configuration, for errors.

    Returns:
        Both tables in their order, and how many users there are to sample from, and in the
        sample: users_to_sample, sampled_users; no counts where everybody is kept.

    Raises:
        DataError: no user is in the sample.
    """
    if share is None or share == 1:
        return queries, universe, {}
    users = queries.select(USER_ID).unique()
    if universe is not None:
        users = pl.concat([users, universe.select(USER_ID)]).unique()
    # An integer is below x exactly if it is below the next whole number.
    end = math.ceil(Fraction(repr(share)) * 2**64)
    chosen = users.filter(hash_ids(users[USER_ID], seed) < end)
    if chosen.is_empty():
        text = f"none of {users.height} users is in a sample of {share:.12g} with seed {seed}"
        raise DataError(Problem(f"{text}: take a larger share", path))
    counts = {"users_to_sample": users.height, "sampled_users": chosen.height}
    kept = _of_users(queries, chosen)
    return kept, None if universe is None else _of_users(universe, chosen), counts


def _of_users(queries: pl.DataFrame, users: pl.DataFrame) -> pl.DataFrame:
    return queries.join(users, on=USER_ID, how="semi", maintain_order="left")
