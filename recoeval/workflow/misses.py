"""A sample of what a run lost, to look at by eye."""

from __future__ import annotations

from itertools import product

import polars as pl

from recoeval.analysis.loss import sample_misses
from recoeval.columns import FOLD, GENERATOR
from recoeval.workflow.store import Run

__all__ = ["sample_of"]


def sample_of(run: Run, *, k: int | None, count: int) -> pl.DataFrame:
    """Returns lost pairs of each generator and fold, in the order of the run, always the same.

    Args:
        run: a finished run.
        k: depth of the list, items, >= 1; None is the whole list.
        count: pairs of each generator and fold, >= 1.

    Returns:
        fold, generator, query_id, item_id, gain, rank (null unless below K), cause.
    """
    hits, lost = run.hits, run.evaluation.lost
    parts = []
    # The generators in the order of the run, the folds of each together.
    folds, generators = (
        run.per_query[name].unique(maintain_order=True) for name in (FOLD, GENERATOR)
    )
    for generator, fold in product(generators, folds):
        own = (pl.col(FOLD) == fold, pl.col(GENERATOR) == generator)
        seed = int(run.manifest.get("seed", 0))
        sample = sample_misses(hits.filter(own), lost.filter(own), k=k, count=count, seed=seed)
        keys = (pl.lit(fold, pl.Int64).alias(FOLD), pl.lit(generator).alias(GENERATOR))
        parts.append(sample.select(*keys, pl.all()))
    return pl.concat(parts)
