"""Results that cannot be right: a sign that test data leaked into training."""

from __future__ import annotations

import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID, USER_ID

__all__ = ["find_cold_hits"]


def find_cold_hits(
    hits: pl.DataFrame,
    queries: pl.DataFrame,
    users: pl.LazyFrame,
    items: pl.LazyFrame,
    *,
    serves_cold_users: bool,
    serves_cold_items: bool,
) -> tuple[str, int] | None:
    """Returns what is suspicious about the hits of a generator, and how many are; or None.

    A model that says that it cannot serve users or items without a train row, and yet finds
    the relevant item of such a pair, has learned from something else.

    Args:
        hits: HITS of the generator.
        queries: query_id, user_id of the evaluated queries.
        users: user_id of those with a train row.
        items: item_id of those with a train row.
        serves_cold_users: whether it can serve users without a train row.
        serves_cold_items: whether it can list items without a train row.
    """
    found = hits.lazy().join(queries.lazy().select(QUERY_ID, USER_ID), on=QUERY_ID)
    kinds, pairs = [], []
    for served, known, column, kind in (
        (serves_cold_users, users, USER_ID, "users"),
        (serves_cold_items, items, ITEM_ID, "items"),
    ):
        if not served:
            cold = found.join(known.select(column), on=column, how="anti")
            impossible = cold.select(QUERY_ID, ITEM_ID).collect(engine="streaming")
            kinds += [f"{impossible.height} on {kind}"] if impossible.height else []
            pairs.append(impossible)
    if not kinds:
        return None
    reason = f"hits that it cannot have: {' and '.join(kinds)} without a train row"
    return reason, pl.concat(pairs).n_unique()
