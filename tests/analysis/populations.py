"""Small logs of lists and relevant items, and what the analysis reads of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from hypothesis import strategies as st

from recoeval.analysis.loss import Split
from recoeval.analysis.population import Population
from recoeval.engine.numbering import Numbering

SIDES = ("left", "right", "nobody")
KINDS = ("even", "odd", "none")


@dataclass(frozen=True)
class Log:
    """Prepared lists of channels, relevant items and users, all by query."""

    lists: Mapping[str, Mapping[int, list[int]]]
    truth: Mapping[int, set[int]]
    users: Mapping[int, int]

    @property
    def numbering(self) -> Numbering:
        queries = pl.DataFrame(
            {"query_id": list(self.users), "user_id": list(self.users.values())},
            schema={"query_id": pl.Int64, "user_id": pl.Int64},
        )
        pairs = [(query, item, 1.0) for query, own in self.truth.items() for item in own]
        schema = {"query_id": pl.Int64, "item_id": pl.Int64, "gain": pl.Float64}
        return Numbering.of(queries, pl.DataFrame(pairs, schema=schema, orient="row"))

    def population(self) -> Population:
        """Queries are left or right by whether they are odd, pairs even or odd by their item."""
        numbering = self.numbering
        sides = pl.Series([SIDES[query % 2] for query in numbering.queries["query_id"]])
        kinds = pl.Series([KINDS[item % 2] for item in numbering.truth["item_id"]])
        return Population(
            numbering,
            {"side": Split.of(sides.cast(pl.String), SIDES)},
            {"kind": Split.of(kinds.cast(pl.String), KINDS)},
        )

    def frame(self, channel: str, queries: Sequence[int] | None = None) -> pl.DataFrame:
        """The lists of a channel, of some queries, sorted by query and rank."""
        rows = [
            (query, item, rank)
            for query, own in sorted(self.lists[channel].items())
            if queries is None or query in queries
            for rank, item in enumerate(own, 1)
        ]
        return pl.DataFrame(
            rows,
            schema={"query_id": pl.Int64, "item_id": pl.Int64, "rank": pl.Int64},
            orient="row",
        )

    def found(self, channel: str) -> pl.DataFrame:
        """The relevant pairs of a channel by number."""
        numbers = {
            pair: number
            for number, pair in enumerate(self.numbering.truth.select("query_id", "item_id").rows())
        }
        rows = [
            (numbers[query, item], rank)
            for query, own in self.lists[channel].items()
            for rank, item in enumerate(own, 1)
            if (query, item) in numbers
        ]
        return pl.DataFrame(rows, schema={"item_id": pl.UInt32, "rank": pl.Int64}, orient="row")

    def lengths(self, channel: str) -> pl.DataFrame:
        rows = [(query, len(self.lists[channel].get(query, ()))) for query in self.users]
        return pl.DataFrame(rows, schema={"query_id": pl.Int64, "returned": pl.Int64}, orient="row")

    def restricted(self, bucket_by: str, bucket: str) -> dict[int, set[int]]:
        """The truth of one bucket."""
        if bucket_by == "kind":
            return {
                query: {item for item in own if KINDS[item % 2] == bucket}
                for query, own in self.truth.items()
            }
        return {
            query: own
            for query, own in self.truth.items()
            if bucket_by == "all" or SIDES[query % 2] == bucket
        }


@st.composite
def logs(draw: st.DrawFn, channels: int = 4) -> Log:
    """Up to so many channels, some queries of theirs without lists, users with several queries."""
    queries = draw(st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=6))
    users = {query: draw(st.integers(0, 3)) for query in queries}
    items = st.integers(0, 7)
    truth = {query: draw(st.sets(items, max_size=4)) for query in draw(st.permutations(queries))}
    names = "abcdef"[: draw(st.integers(1, channels))]
    lists = {
        name: {
            query: draw(st.lists(items, unique=True, max_size=6))
            for query in queries
            if draw(st.booleans())
        }
        for name in names
    }
    return Log(lists, truth, users)


def shuffled(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The rows in another order."""
    return rows[np.random.default_rng(seed).permutation(rows.height)]
