"""What a merge or a rerank gets of the other generators: their lists, and their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from recoeval.columns import ITEM_ID, QUERY_ID, SCORE, USER_ID
from recoeval.generators.base import Fitted, Scoring
from recoeval.generators.precomputed import Files
from recoeval.workflow.shelf import Shelf

__all__ = ["Neighbours"]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The lists and scores of the generators of a fold.

    Args:
        shelf: their prepared lists.
        fit: fits a generator by its name; called where scores are asked for and nobody has
            fitted it yet.
        depth: down to where the lists of a generator give scores, if it scores no pairs.
        fitted: those that were.
    """

    shelf: Shelf
    fit: Callable[[str], Fitted]
    depth: Callable[[str], int]
    fitted: dict[str, Fitted] = field(default_factory=dict)

    def lists(self, name: str, queries: pl.DataFrame) -> pl.DataFrame:
        """Returns prepared lists; see `generators.base.Others`."""
        return self.shelf.lists(name, queries)

    def score(self, name: str, pairs: pl.DataFrame) -> pl.Series:
        """Returns scores of pairs; of a generator that scores none, those of its lists."""
        fitted = self.fitted.get(name)
        if fitted is None:
            fitted = self.fitted[name] = self.fit(name)
        if isinstance(fitted, Scoring):
            return fitted.score(pairs)
        asked = pairs.select(QUERY_ID, ITEM_ID)
        queries = pairs.select(QUERY_ID, USER_ID).unique(maintain_order=True)
        if isinstance(fitted, Files):
            lists = self.lists(name, queries)
        else:
            # Anew, since how deep stored lists go depends on what else is asked for.
            lists = fitted.recommend(queries, self.depth(name)).collect()
        found = asked.join(
            lists.select(QUERY_ID, ITEM_ID, SCORE),
            on=[QUERY_ID, ITEM_ID],
            how="left",
            maintain_order="left",
        )
        return found[SCORE]
