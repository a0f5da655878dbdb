"""QUERIES: one list asked for each. By default a user asks once, at the cutoff."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID, QUERY_TIME, TIMESTAMP_DTYPE, USER_ID
from recoeval.errors import DataError, Problem, some

__all__ = ["blocks_of", "pairs_by_query", "queries_of_rows", "queries_of_users"]


def queries_of_users(users: pl.LazyFrame, cutoff: datetime | None) -> pl.LazyFrame:
    """Returns one query a user: query_id = user_id, query_time = the cutoff.

    Args:
        users: user_id, repeats allowed.
        cutoff: start of the test window, UTC; None when the log has no times.

    Returns:
        query_id, user_id, query_time (Datetime[us], UTC), sorted by user_id.
    """
    return (
        users.select(USER_ID)
        .unique()
        .sort(USER_ID)
        .select(
            pl.col(USER_ID).alias(QUERY_ID),
            USER_ID,
            pl.lit(cutoff, TIMESTAMP_DTYPE).alias(QUERY_TIME),
        )
    )


def queries_of_rows(rows: pl.LazyFrame, *, what: str) -> pl.DataFrame:
    """Returns the distinct queries of rows that name a query, a user, or both.

    Args:
        rows: query_id and user_id; where only one of them exists it stands for the other.
        what: name of the table, for errors.

    Returns:
        query_id, user_id, sorted by user_id and query_id.

    Raises:
        DataError: a query that belongs to several users.
    """
    names = rows.collect_schema().names()
    query = pl.col(QUERY_ID if QUERY_ID in names else USER_ID).alias(QUERY_ID)
    user = pl.col(USER_ID if USER_ID in names else QUERY_ID).alias(USER_ID)
    queries = rows.select(query, user).unique().sort(USER_ID, QUERY_ID).collect(engine="streaming")
    shared = queries.filter(pl.col(QUERY_ID).is_duplicated())[QUERY_ID].unique().sort()
    if len(shared):
        raise DataError(
            Problem(
                f"{len(shared)} queries belong to several users, e.g. {some(shared)}; "
                "a query has one user",
                f"{what}.{QUERY_ID}",
            )
        )
    return queries


def pairs_by_query(pairs: pl.LazyFrame, queries: pl.LazyFrame) -> pl.LazyFrame:
    """Returns what holds for a user's items for each of the user's queries.

    Args:
        pairs: user_id, item_id; distinct.
        queries: query_id, user_id; distinct.

    Returns:
        query_id, item_id; distinct.
    """
    return (
        queries.select(QUERY_ID, USER_ID)
        .join(pairs.select(USER_ID, ITEM_ID), on=USER_ID)
        .select(QUERY_ID, ITEM_ID)
    )


def blocks_of(queries: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    """Yields the queries in blocks of at most `size` rows, in order."""
    for start in range(0, queries.height, size):
        yield queries.slice(start, size)
