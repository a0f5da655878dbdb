"""What becomes of relevant pairs from one stage to the next.

A pair survives a stage if it is in the first k of it and of every earlier one. What the stages
lose and what survives the last one add up to |R|, for every query, bucket and channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from recoeval.analysis.candidates import Candidates, Counts
from recoeval.analysis.channels import within
from recoeval.analysis.population import Bools, Part, Population, Sums
from recoeval.analysis.stages import Stage
from recoeval.analysis.summary import ALL
from recoeval.columns import FOLD, FUNNEL_SCHEMA, RETURNED, STAGE

__all__ = ["funnel_lost", "funnel_table"]


def funnel_table(
    stages: Sequence[Stage],
    found: Mapping[str, pl.DataFrame],
    lengths: Mapping[str, pl.DataFrame],
    population: Population,
    *,
    channels: Mapping[str, int],
    candidates: Candidates | None = None,
    fold: int = 0,
) -> pl.DataFrame:
    """Returns FUNNEL: each stage, over all pairs and over those of each channel.

    Args:
        stages: in order.
        found: by generator: item_id (number of the pair), rank (prepared) of the relevant pairs
            in its lists; of the stages' generators and of the channels.
        lengths: by generator of a stage: query_id, returned (prepared length).
        population: who is counted; queries without relevant items are left out.
        channels: K by channel, items, >= 1: those of the first stage, if it is a merge. A pair
            within the K of two channels counts for both.
        candidates: result of `count_candidates` for the same stages and channels; None: nothing
            is known of items that are not relevant.
        fold: number in the result.

    Returns:
        FUNNEL, one row a stage, channel ("all" overall, in front) and bucket. relevant, survived,
        lost and inserted (in the first k here, but not of an earlier stage) are counts of pairs;
        relevant of a channel are those that it has. recall is survivors over |R|, precision all
        relevant items of the first k over k, both macro; hit_survival is survived over survived
        at the stage before. Of the items in the first k (candidates), kept is the share that the
        next stage has in its first k, exposed that which the user was shown. A channel has no
        precision; a part of the truth has no candidates.

    Raises:
        KeyError: a generator that `found` or `lengths` lacks.
    """
    first = _first(stages, found, population)
    told = {ALL: list(_steps(first, None, population))}
    for channel, k in channels.items():
        own = _flags(found[channel], k, population)
        told[channel] = list(_steps(first, own, population))
    counted = {} if candidates is None else candidates.counts
    rows = []
    for place, stage in enumerate(stages):
        returned = population.by_query(lengths[stage.generator], RETURNED)
        for channel, steps in told.items():
            for part in population.parts:
                slots = part.slots(returned, stage.k) if channel == ALL else None
                known = counted.get((place, channel, part.bucket_by, part.bucket))
                keys = (stage.name, stage.generator, stage.k, channel, part.bucket_by, part.bucket)
                sizes = (len(part.queries), part.user_count)
                numbers = steps[place].numbers(part, stage.k if channel == ALL else None)
                rows.append((fold, *keys, *sizes, *numbers, *_shares(slots, known)))
    return pl.DataFrame(rows, schema=FUNNEL_SCHEMA, orient="row")


def funnel_lost(
    stages: Sequence[Stage],
    found: Mapping[str, pl.DataFrame],
    population: Population,
    *,
    fold: int = 0,
) -> pl.LazyFrame:
    """Returns FUNNEL_LOST: fold, query_id, item_id, gain, stage (name) of each lost pair.

    Args:
        stages: in order.
        found: by generator: item_id (number of the pair), rank (prepared).
        population: whose truth it is.
        fold: number in the result.

    Returns:
        One row a relevant pair that does not survive, with the first stage that lacks it; by
        query and item.
    """
    first = _first(stages, found, population)
    truth = population.numbering.truth
    lost = np.full(truth.height, len(stages), np.int64)
    for place in reversed(range(len(stages))):
        lost[~first[place]] = place
    names = pl.Series(STAGE, [*(stage.name for stage in stages), None], pl.String)
    number = pl.lit(fold, pl.Int64).alias(FOLD)
    rows = truth.lazy().select(number, pl.all(), names.gather(lost))
    return rows.filter(pl.col(STAGE).is_not_null())


@dataclass(frozen=True, slots=True)
class _Step:
    """Relevant pairs at one stage.

    Args:
        relevant: of all queries.
        before: those that survived the stage before.
        survived: those that survive this one.
        hits: those in its first k.
    """

    relevant: Sums
    before: Sums
    survived: Sums
    hits: Sums

    def numbers(self, part: Part, k: int | None) -> tuple[float | None, ...]:
        """Returns relevant, survived, recall, hit_survival, lost, inserted and precision.

        Args:
            part: whose pairs count.
            k: depth of the stage, items; None: no precision is asked for.
        """
        relevant, before, survived, hits = (
            int(each.of(part).sum())
            for each in (self.relevant, self.before, self.survived, self.hits)
        )
        return (
            relevant,
            survived,
            self.survived.recall(part),
            survived / before if before else None,
            before - survived,
            hits - survived,
            None if k is None else part.mean(self.hits.of(part) / k),
        )


def _first(
    stages: Sequence[Stage], found: Mapping[str, pl.DataFrame], population: Population
) -> list[Bools]:
    """Returns for each stage whether each relevant pair is in its first k."""
    return [_flags(found[stage.generator], stage.k, population) for stage in stages]


def _flags(found: pl.DataFrame, k: int, population: Population) -> Bools:
    """Returns whether each relevant pair is at a rank up to K."""
    flags = np.zeros(len(population.query_of), np.bool_)
    flags[within(found, k)] = True
    return flags


def _steps(first: Sequence[Bools], own: Bools | None, population: Population) -> Iterator[_Step]:
    """Yields the stages of the pairs of one channel; None: of all pairs."""
    alive = np.ones(len(population.query_of), np.bool_) if own is None else own
    relevant = before = population.sums(np.flatnonzero(alive))
    for flags in first:
        hits = flags if own is None else flags & own
        alive = alive & flags
        survived = population.sums(np.flatnonzero(alive))
        yield _Step(relevant, before, survived, population.sums(np.flatnonzero(hits)))
        before = survived


def _shares(
    slots: int | None, known: Counts | None
) -> tuple[int | None, float | None, float | None]:
    """Returns candidates, kept and exposed."""
    if known is None:
        return slots, None, None
    return known.items, _share(known.kept, known.items), _share(known.exposed, known.items)


def _share(part: int | None, whole: int) -> float | None:
    return part / whole if whole and part is not None else None
