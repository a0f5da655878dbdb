"""A small log with heavy users, exposures that are no train pairs, and unknown ids."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from recoeval.generators import Fitted, Train

END = datetime(2022, 5, 6, tzinfo=UTC)
ITEMS = 60


@dataclass(frozen=True)
class Toy:
    """Train data and the queries of one test."""

    train: Train
    queries: pl.DataFrame

    def seen_by(self, user: object) -> set[object]:
        assert self.train.seen is not None
        pairs = self.train.seen.filter(pl.col("user_id") == user).collect()
        return set(pairs["item_id"].to_list())

    @property
    def catalogue(self) -> set[object]:
        return set(self.train.rows.collect()["item_id"].to_list())

    def with_train(self, **changes: object) -> "Toy":
        return replace(self, train=replace(self.train, **changes))


def build(text: bool = False) -> Toy:
    """Returns 41 users with 1 to all of 60 items; ids of four digits sort alike as texts."""
    rng = np.random.default_rng(3)
    pairs = [
        (1000 + user, 2000 + int(item))
        for user in range(40)
        for item in rng.choice(ITEMS, size=1 + (user * user) // 30, replace=False)
    ]
    pairs += [(1040, 2000 + item) for item in range(ITEMS)]  # has seen everything
    pairs += pairs[::7]  # interactions repeat
    rows = pl.DataFrame(pairs, schema={"user_id": pl.Int64, "item_id": pl.Int64}, orient="row")
    rows = rows.with_columns(
        (1.0 + pl.int_range(pl.len()) % 5 / 3).alias("weight"),
        (pl.lit(END) - pl.duration(hours=1 + pl.int_range(pl.len()) % 400)).alias("timestamp"),
    )
    exposed = pl.DataFrame(
        {
            "user_id": [1000, 1000, 1001, 5000, 5000, 9000],
            # 7777 was never trained on; 5000 is a cold user with exposures.
            "item_id": [2059, 7777, 7777, 2000, 2001, 7777],
        }
    )
    seen = pl.concat([rows.select("user_id", "item_id"), exposed]).unique(maintain_order=True)
    users = [*range(1000, 1041), 5000, 5001]
    queries = pl.DataFrame({"query_id": users, "user_id": users})
    if text:
        ids = pl.selectors.by_name("user_id", "item_id", "query_id", require_all=False)
        rows, seen, queries = (
            frame.with_columns(ids.cast(pl.String)) for frame in (rows, seen, queries)
        )
    return Toy(Train(rows.lazy(), seen.lazy(), END, seed=11, threads=1), queries)


@pytest.fixture
def toy() -> Toy:
    return build()


@pytest.fixture
def toy_of_texts() -> Toy:
    return build(text=True)


def collected(fitted: Fitted, queries: pl.DataFrame, k: int) -> pl.DataFrame:
    """Returns the lists by query and rank."""
    return fitted.recommend(queries, k).collect().sort("query_id", "rank", maintain_order=True)


@pytest.fixture
def recommend() -> Callable[[Fitted, pl.DataFrame, int], pl.DataFrame]:
    return collected


@pytest.fixture
def equal() -> Callable[[pl.DataFrame, pl.DataFrame], None]:
    """Fails unless two frames are the same, bit by bit."""

    def check(left: pl.DataFrame, right: pl.DataFrame) -> None:
        assert_frame_equal(left, right, check_exact=True)

    return check


@pytest.fixture
def ago() -> Callable[[float], datetime]:
    """Gives the time some days before the end of the train window."""
    return lambda days: END - timedelta(days=days)
