"""What the test window repeats of the train window."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recoeval.data.trainpairs import TrainPairs, among

__all__ = ["Repeats", "count_repeats"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many relevant pairs are known from the train window.

    Args:
        pairs: distinct relevant pairs of the test window, before any policy.
        trained: those with a train row.
        before: those with any row of the train window.
        seen: those that lists may not contain again.
        truth_trained: relevant pairs of queries, after all policies, with a train row.
    """

    pairs: int
    trained: int
    before: int
    seen: int
    truth_trained: int


def count_repeats(pairs: TrainPairs, marked: pl.Series, truth_trained: int) -> Repeats:
    """Returns how many relevant pairs are known from the train window.

    Args:
        pairs: those of the train window.
        marked: codes of the distinct pairs of the relevant rows of the test window.
        truth_trained: relevant pairs of queries, after all policies, with a train row.
    """
    known = (pairs.trained, pairs.every, pairs.seen)
    trained, before, seen = (int(among(marked, codes).sum()) for codes in known)
    return Repeats(len(marked), trained, before, seen, truth_trained)
