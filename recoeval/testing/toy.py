"""A small log for contract tests: heavy users, seen pairs that are no train pairs, unknown ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import polars as pl
from polars import selectors
from polars.testing import assert_frame_equal

from recoeval.analysis.results import Evaluation
from recoeval.evaluation import evaluate
from recoeval.generators.base import Train

__all__ = ["Tables", "ToyLog", "make_log", "make_tables", "require", "same"]

END: Final = datetime(2022, 5, 6, tzinfo=UTC)
ITEMS: Final = 60
_IDS: Final = selectors.by_name("user_id", "item_id", "query_id", require_all=False)


@dataclass(frozen=True)
class ToyLog:
    """What a generator learns from, and who asks it.

    Args:
        train: train rows and seen pairs.
        queries: query_id, user_id; users without a train row are among them.
    """

    train: Train
    queries: pl.DataFrame

    def seen_by(self, user: object) -> set[object]:
        """Returns the items that a user may not get again."""
        if self.train.seen is None:
            return set()
        return set(self.train.seen.filter(pl.col("user_id") == user).collect()["item_id"])

    @property
    def catalogue(self) -> set[object]:
        """The items with a train row."""
        return set(self.train.rows.collect()["item_id"])

    def with_train(self, **changes: Any) -> ToyLog:
        """Returns the log with other train data.

        Args:
            changes: fields of `Train`.
        """
        return replace(self, train=replace(self.train, **changes))


def make_log(*, text: bool = False) -> ToyLog:
    """Returns 41 users with 1 to all of 60 items; ids of four digits sort alike as texts.

    Args:
        text: whether ids are texts.
    """
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
        rows, seen, queries = (
            frame.with_columns(_IDS.cast(pl.String)) for frame in (rows, seen, queries)
        )
    return ToyLog(Train(rows.lazy(), seen.lazy(), END, seed=11, threads=1), queries)


@dataclass(frozen=True)
class Tables:
    """What `recoeval.evaluate` takes, with everything that any metric needs.

    Args:
        recs: user_id, item_id, rank, score; ties, repeated and unknown items, short lists.
        truth: user_id, item_id, gain.
        train: user_id, item_id.
        users: user_id, quota; some of them have no truth.
        items: item_id, available.
        exposures: user_id, item_id.
    """

    recs: pl.DataFrame
    truth: pl.DataFrame
    train: pl.DataFrame
    users: pl.DataFrame
    items: pl.DataFrame
    exposures: pl.DataFrame

    def evaluate(self, metrics: Iterable[str], *, empty: str = "skip") -> Evaluation:
        """Returns the result of these metrics.

        Args:
            metrics: texts with their K.
            empty: the zero_relevant policy.
        """
        return evaluate(
            self.recs,
            self.truth,
            metrics=list(metrics),
            k=[10],
            train=self.train,
            users=self.users,
            items=self.items,
            exposures=self.exposures,
            policies={"zero_relevant": empty},
        )

    def shuffled(self, seed: int) -> Tables:
        """Returns the same rows in another order."""
        frames = {
            name: frame.sample(fraction=1, shuffle=True, seed=seed)
            for name, frame in vars(self).items()
        }
        return Tables(**frames)

    def of_texts(self) -> Tables:
        """Returns the same rows with ids as texts."""
        return Tables(
            **{name: frame.with_columns(_IDS.cast(pl.String)) for name, frame in vars(self).items()}
        )

    def of_users(self, users: Iterable[int]) -> Tables:
        """Returns lists and truth of some users, with all that is known besides."""
        own = pl.col("user_id").is_in(list(users))
        return replace(self, recs=self.recs.filter(own), truth=self.truth.filter(own))


def make_tables(*, seed: int = 5, users: int = 40) -> Tables:
    """Returns random lists and a truth; ids of four digits sort alike as texts.

    Args:
        seed: of the random numbers.
        users: half of them have truth; every fifth of those has no list.
    """
    rng = np.random.default_rng(seed)
    ids, items = np.arange(1000, 1000 + users), np.arange(2000, 2000 + ITEMS)

    def pairs(of: np.ndarray[Any, Any], most: int) -> pl.DataFrame:
        rows = [(user, item) for user in of for item in rng.choice(items, rng.integers(1, most))]
        return pl.DataFrame(
            rows, schema={"user_id": pl.Int64, "item_id": pl.Int64}, orient="row"
        ).unique(maintain_order=True)

    truth = pairs(ids[::2], 9)
    recs = pairs(np.setdiff1d(ids, ids[::10]), 30).with_columns(
        rank=pl.int_range(1, pl.len() + 1).over("user_id")
    )
    # Scores tie, and an item stands twice in each list.
    recs = recs.with_columns(score=-(pl.col("rank") // 3).cast(pl.Float64))
    last = recs.group_by("user_id", maintain_order=True).agg(
        pl.col("item_id").first(), pl.col("rank").max() + 2, pl.col("score").min()
    )
    return Tables(
        recs=pl.concat([recs, last]),
        truth=truth.with_columns(gain=pl.Series(rng.choice([1.0, 1.5, 3.0], truth.height))),
        train=pairs(ids[5:], 6),
        users=pl.DataFrame({"user_id": ids, "quota": rng.integers(1, 12, users)}),
        items=pl.DataFrame({"item_id": items[3:], "available": items[3:] % 7 > 0}),
        exposures=pairs(ids, 20),
    )


def require(holds: object, message: str) -> None:
    """Raises AssertionError with the message unless something holds."""
    if not holds:
        raise AssertionError(message)


def same(left: pl.DataFrame, right: pl.DataFrame) -> None:
    """Raises AssertionError unless two frames are equal, bit by bit."""
    assert_frame_equal(left, right, check_exact=True)
