"""Evaluates the same lists in every layout and several times: run by test_stable_results.py.

How many threads polars has is settled when it is imported, so each number needs a process.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import polars as pl

import recoeval as rv
from recoeval.data.pieces import map_pieces
from recoeval.engine import local

TABLES = ("summary", "per_query", "hits", "lost", "loss")
LAYOUTS = ("sorted-1", "sorted-7", "shuffled-1", "shuffled-7")
METRICS = (
    *("precision", "recall", "hit_rate", "mrr", "map", "ndcg", "recall(gain=linear)"),
    *("list_fill@20", "tie_share@10", "entropy@20", "recall@all"),
)


def results(folder: Path, layout: str) -> dict[str, pl.DataFrame]:
    """Returns all tables of the evaluation of lists in some layout."""
    order = layout.partition("-")[0]
    found = rv.evaluate(
        f"{folder}/{layout}/*.parquet",
        folder / f"truth-{order}.parquet",
        metrics=list(METRICS),
        k=[10, 50, 100],
        buckets={"size": {"by": "relevant_items", "edges": [3, 8, 15]}},
    )
    return {name: getattr(found, name) for name in TABLES}


def main(folder: Path, threads: int, size: int, repeats: int) -> None:
    """Writes the results, after a look whether all layouts and repeats have the same.

    Args:
        folder: of the lists and the truth.
        threads: that polars should have.
        size: rows of a piece of the lists.
        repeats: how often each layout is evaluated.
    """
    assert pl.thread_pool_size() == threads
    local.map_pieces = partial(map_pieces, size=size)  # type: ignore[attr-defined]
    first = results(folder, LAYOUTS[0])
    for repeat in range(repeats):
        for layout in LAYOUTS:
            for name, table in results(folder, layout).items():
                assert table.equals(first[name]), f"{name} of {layout}, repeat {repeat}"
    for name, table in first.items():
        table.write_ipc(folder / f"{name}-{threads}.arrow")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
