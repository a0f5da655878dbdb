"""The data of the other modes: a log with lists from elsewhere, and interactions for ALS.

Usage: python -m scripts.bench_lib.logdata log FOLDER ROWS USERS
       python -m scripts.bench_lib.logdata candidates FOLDER ROWS USERS
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from scripts.bench_lib.data import Writer, Zipf, lists_alone, once, text_ids

__all__ = ["CANDIDATES", "DAYS", "LISTS", "make_candidates", "make_log"]

DAYS = 60
LISTS = ("list_1", "list_2", "list_3")
"""Precomputed lists beside the log."""
CANDIDATES = 50_000
"""Items that ALS can choose from."""
START = datetime(2026, 3, 2, tzinfo=UTC)
DAY = 86_400_000_000
"""Microseconds."""

PRECOMPUTED = [f"  {name}: {{type: precomputed, path: {name}.parquet}}" for name in LISTS]
CONFIG = "\n".join(
    [
        "name: log",
        "interactions: log/*.parquet",
        "split: {type: time, test: 7d}",
        "ground_truth:",
        "  relevant: \"event = 'click' AND dwell_seconds > 30\"",
        "generators:",
        "  popularity:",
        *PRECOMPUTED,
        "metrics: [precision, recall, hit_rate, mrr, map, ndcg]",
        "k: [10, 50, 100]",
        "buckets:",
        "  activity: {by: train_interactions, edges: [1, 20, 100]}",
        "",
    ]
)


def make_log(folder: Path, rows: int, users: int) -> None:
    """Writes a log of sixty days, one file a day, lists of all users, and a configuration.

    Three rows in ten are clicks; the dwell of a click is 40 s in the mean, so that one row in
    seven is relevant.

    Args:
        folder: log/, list_1.parquet to list_3.parquet and config.yaml go there.
        rows: of the log.
        users: how many; low ids have more rows.
    """
    (folder / "log").mkdir()
    zipf, rng = Zipf.of(), np.random.default_rng(5)
    for day in range(DAYS):
        n = rows // DAYS
        clicked = rng.random(n) < 0.3
        times = np.sort(rng.integers(DAY, size=n))
        begin = int((START + timedelta(days=day)).timestamp()) * 1_000_000
        frame = pl.DataFrame(
            {
                "user_id": (rng.random(n) ** 2 * users).astype(np.int64),
                "item_id": zipf.draw(rng, (n,)),
                "timestamp": pl.Series(begin + times).cast(pl.Datetime("us", "UTC")),
                "event": pl.Series(clicked).replace_strict({True: "click", False: "impression"}),
                "dwell_seconds": np.where(clicked, rng.exponential(40.0, n).round(1), 0.0),
            }
        )
        with Writer(folder / "log" / f"day-{day:02}.parquet") as file:
            file.write(text_ids(frame))
    for seed, name in enumerate(LISTS, start=1):
        with Writer(folder / f"{name}.parquet") as file:
            for lists in lists_alone(users, seed=seed):
                file.write(text_ids(lists))
    (folder / "config.yaml").write_text(CONFIG, encoding="utf-8")


def make_candidates(folder: Path, rows: int, users: int) -> None:
    """Writes train rows with integer ids: user_id, item_id; a pair may come several times."""
    zipf, rng = Zipf.of(CANDIDATES), np.random.default_rng(6)
    ids = (rng.random(rows) ** 2 * users).astype(np.int64)
    with Writer(folder / "train.parquet") as file:
        file.write(pl.DataFrame({"user_id": ids, "item_id": zipf.draw(rng, (rows,))}))


def main() -> None:
    """Makes the folder that is asked for, unless it is there."""
    parser = argparse.ArgumentParser(description="Makes the data of one mode.")
    parser.add_argument("mode", choices=("log", "candidates"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", type=int)
    parser.add_argument("users", type=int)
    asked = parser.parse_args()
    work = make_log if asked.mode == "log" else make_candidates
    recipe = f"{asked.mode} {asked.rows} {asked.users}"
    once(asked.folder, recipe, lambda folder: work(folder, asked.rows, asked.users))


if __name__ == "__main__":
    main()
