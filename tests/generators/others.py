"""Lists and scores of other generators, for whoever reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

SCHEMA = {"query_id": pl.Int64, "item_id": pl.Int64, "rank": pl.Int64, "score": pl.Float64}


@dataclass
class Shelf:
    """Prepared lists by name, and scores by name and item."""

    frames: Mapping[str, pl.DataFrame]
    scores: Mapping[str, Mapping[object, float]] = field(default_factory=dict)

    def lists(self, name: str, queries: pl.DataFrame) -> pl.DataFrame:
        return self.frames[name].join(queries, on="query_id", how="semi", maintain_order="left")

    def score(self, name: str, pairs: pl.DataFrame) -> pl.Series:
        known = self.scores[name]
        return pl.Series([known.get(item) for item in pairs["item_id"]], dtype=pl.Float64)


def toy_shelf(names: Iterable[str], queries: pl.DataFrame) -> Shelf:
    """Returns lists of up to 30 of 60 items, other ones for each name and query; some have none."""
    frames = {}
    for number, name in enumerate(names):
        rows = []
        for query in queries["query_id"]:
            rng = np.random.default_rng([number, query])
            items = rng.choice(60, size=rng.integers(0, 31), replace=False)
            scores = np.sort(rng.integers(0, 12, len(items)))[::-1].astype(float)
            ranked = zip(items, scores, strict=True)
            rows += [
                (query, 2000 + int(item), rank, score)
                for rank, (item, score) in enumerate(ranked, 1)
            ]
        frames[name] = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    scores = {name: {2000 + item: float(item * 7 % 5) for item in range(50)} for name in frames}
    return Shelf(frames, scores)
