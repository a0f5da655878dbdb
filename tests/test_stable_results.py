"""Results keep every bit: repeats, threads, the order of rows and the files they are in.

RECOEVAL_STABLE_USERS=10000 makes lists of 100 items for as many users instead of few short ones,
and repeats everything five times.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.stable_results import TABLES


def _untraced() -> dict[str, str]:
    """The environment without coverage, which would take most of the time here."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}


USERS = int(os.environ.get("RECOEVAL_STABLE_USERS", "0"))
LENGTH = 100 if USERS else 30
PIECES = 5
REPEATS = 5 if USERS else 2


def write_lists(folder: Path, kind: str, users: int, length: int) -> None:
    """Writes lists and truth in order and shuffled, the lists in 1 file and in 7."""
    rng = np.random.default_rng(6)
    items = np.concatenate([rng.permutation(20 * length)[:length] for _ in range(users)])
    lists = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(users), length),
            "item_id": items,
            "rank": np.tile(np.arange(1, length + 1), users),
            "score": -np.tile(np.arange(length) // 3, users).astype(float),
        }
    )
    sizes = rng.geometric(0.1, users)
    truth = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(users), sizes),
            "item_id": rng.integers(0, 20 * length, sizes.sum()),
            "gain": rng.random(sizes.sum()) + 0.1,
        }
    )
    # Some of the truth is in the lists, here and there an item twice.
    truth = pl.concat([truth, lists.sample(users * 2, seed=1).select(*truth.columns[:2], gain=0.7)])
    lists = lists.with_columns(
        item_id=pl.when(pl.col("rank") % 17 == 0)
        .then(pl.col("item_id").shift())
        .otherwise("item_id")
    )
    if kind == "text":
        ids = [
            pl.format("{}{}", pl.lit(name[0]), name).alias(name) for name in ("user_id", "item_id")
        ]
        lists, truth = lists.with_columns(ids), truth.with_columns(ids)
    truth = truth.sort("user_id", "item_id")
    for order, rows, pairs in (
        ("sorted", lists, truth),
        ("shuffled", mixed(lists), mixed(truth)),
    ):
        pairs.write_parquet(folder / f"truth-{order}.parquet")
        for files in (1, 7):
            size = -(-rows.height // files)
            (folder / f"{order}-{files}").mkdir()
            for n in range(files):
                path = folder / f"{order}-{files}" / f"part-{n}.parquet"
                rows.slice(n * size, size).write_parquet(path)


def mixed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sample(fraction=1, shuffle=True, seed=3)


@pytest.mark.parametrize("kind", ["int", "text"])
def test_results_keep_every_bit(kind: str, tmp_path: Path) -> None:
    users = USERS or 300
    write_lists(tmp_path, kind, users, LENGTH)
    numbers = [str(users * LENGTH // PIECES), str(REPEATS)]
    for threads in (1, 2):
        subprocess.run(
            [sys.executable, "-m", "tests.stable_results", str(tmp_path), str(threads), *numbers],
            check=True,
            cwd=Path(__file__).parents[1],
            env={**_untraced(), "POLARS_MAX_THREADS": str(threads)},
        )
    for name in TABLES:
        one, two = (pl.read_ipc(tmp_path / f"{name}-{n}.arrow") for n in (1, 2))
        assert one.height > 0
        assert one.equals(two), name
