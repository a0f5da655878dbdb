"""What each channel of a fold adds: contributions, overlap, what-if and funnel, from its lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from recoeval.analysis.candidates import count_candidates
from recoeval.analysis.channels import contribution_table
from recoeval.analysis.funnel import funnel_table
from recoeval.analysis.itemsets import MOST
from recoeval.analysis.overlap import overlap_table
from recoeval.analysis.population import Population
from recoeval.analysis.stages import Stage
from recoeval.analysis.whatif import CONFIGURED, Variant, look_deeper, what_if_table
from recoeval.columns import (
    CHANNELS_SCHEMA,
    FUNNEL_SCHEMA,
    OVERLAP_SCHEMA,
    QUERY_ID,
    RETURNED,
    WHAT_IF_SCHEMA,
)
from recoeval.data.queries import pairs_by_query
from recoeval.generators.merge import Merge
from recoeval.generators.merging import Numbered, merge_numbered
from recoeval.workflow.config import Config
from recoeval.workflow.depths import size_of, slots_of, sources_of, variants_of
from recoeval.workflow.scoring import Channel, Work

__all__ = ["ALL_CHANNELS", "contributions_of"]

ALL_CHANNELS = "all"
"""The group of all generators that are made of no others and are no baselines."""

Lists = Mapping[str, pl.DataFrame]


def contributions_of(work: Work, channels: Mapping[str, Channel]) -> dict[str, Any]:
    """Returns the tables channels, overlap, what_if and funnel of a fold.

    Args:
        work: the fold's.
        channels: what each generator gave that did not fail.
    """
    told = _Contributions(work, channels)
    return {
        "channels": told.channels(),
        "overlap": told.overlap(),
        "what_if": told.what_if(),
        "funnel": told.funnel(),
    }


@dataclass(frozen=True)
class _Contributions:
    work: Work
    given: Mapping[str, Channel]

    @property
    def config(self) -> Config:
        return self.work.config

    @property
    def fold(self) -> int:
        return self.work.prepared.fold.number

    @property
    def largest(self) -> int:
        return self.work.largest_k

    @cached_property
    def population(self) -> Population:
        evaluator = self.work.evaluator
        return Population.of(evaluator.scorer.numbering, evaluator.groups, evaluator.splits)

    @cached_property
    def found(self) -> dict[str, pl.DataFrame]:
        """The relevant pairs in the lists of each generator, as deep as they are made."""
        return {name: found for name, (found, _) in self._looked_at.items()}

    @cached_property
    def lengths(self) -> dict[str, pl.DataFrame]:
        """The length of the lists of each generator, as deep as they are made."""
        return {name: lengths for name, (_, lengths) in self._looked_at.items()}

    @cached_property
    def _looked_at(self) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
        looked_at = {}
        for name, channel in self.given.items():
            depth = self.work.depths[name]
            if depth.made > depth.scored and self._has(name):
                lists = (block[name] for block in self._blocks([name]))
                looked_at[name] = look_deeper(lists, self.population.numbering)
            else:
                found = pl.concat([part.found for part in channel.parts])
                scored = pl.concat([part.per_query for part in channel.parts])
                looked_at[name] = (found, scored.select(QUERY_ID, RETURNED))
        return looked_at

    @cached_property
    def merges(self) -> dict[str, Merge]:
        named = ((name, self.config.generators[name]) for name in self.given)
        return {name: each for name, each in named if isinstance(each, Merge)}

    @cached_property
    def groups(self) -> dict[str, dict[str, int]]:
        """The channels of each merge, and how deep each counts."""
        return {name: slots_of(merge, self.largest) for name, merge in self.merges.items()}

    @cached_property
    def every(self) -> tuple[str, ...]:
        """The generators that are made of no others and are no baselines, if there are several."""
        names = tuple(
            name
            for name in self.given
            if name not in self.config.baselines and not sources_of(self.config.generators[name])
        )
        return names if len(names) > 1 else ()

    def channels(self) -> pl.DataFrame:
        """Returns CHANNELS of the merges, and of all generators at each K."""
        asked: list[dict[str, dict[str, int]]] = [self.groups] if self.groups else []
        if self.every:
            asked += [
                {ALL_CHANNELS: dict.fromkeys(self.every, k)} for k in sorted(set(self.config.k))
            ]
        tables = [
            contribution_table(self.found, self.lengths, groups, self.population, fold=self.fold)
            for groups in asked
        ]
        return pl.concat([pl.DataFrame(schema=CHANNELS_SCHEMA), *tables])

    def overlap(self) -> pl.DataFrame:
        """Returns OVERLAP of the merges, and of all generators if their lists are at hand.

        Groups of more channels than can be compared are left out.
        """
        groups = dict(self.groups)
        if self.every and all(self._has(name) for name in self.every):
            groups[ALL_CHANNELS] = dict.fromkeys(self.every, self.largest)
        groups = {name: depths for name, depths in groups.items() if 1 < len(depths) <= MOST}
        if not groups:
            return pl.DataFrame(schema=OVERLAP_SCHEMA)
        names = dict.fromkeys(name for depths in groups.values() for name in depths)
        return overlap_table(self._blocks(names), groups, self.population, fold=self.fold)

    def what_if(self) -> pl.DataFrame:
        """Returns WHAT_IF of each merge."""
        tables = [
            what_if_table(self._variants(merge), self.population, merge=name, fold=self.fold)
            for name, merge in self.merges.items()
        ]
        return pl.concat([pl.DataFrame(schema=WHAT_IF_SCHEMA), *tables])

    def _variants(self, merge: Merge) -> Iterator[tuple[Variant, pl.DataFrame]]:
        """Yields the lists of a merge and of its variants, block by block of queries."""
        size = size_of(merge, self.largest)
        variants = variants_of(merge, self.config.what_if)
        for lists in self._blocks(merge.channels):
            numbered = Numbered.of(lists)
            yield CONFIGURED, merge_numbered(numbered, merge, size).lists
            for channel, change, variant in variants:
                longer = size_of(variant, self.largest)
                yield (channel, change), merge_numbered(numbered, variant, longer).lists

    def funnel(self) -> pl.DataFrame:
        """Returns FUNNEL, if all of its generators gave lists."""
        stages = [Stage(each.stage, each.generator, each.k) for each in self.config.funnel]
        if not stages or not all(stage.generator in self.given for stage in stages):
            return pl.DataFrame(schema=FUNNEL_SCHEMA)
        channels = self.groups.get(stages[0].generator, {})
        names = dict.fromkeys([*(stage.generator for stage in stages), *channels])
        exposed = self._exposed()
        candidates = None
        # Of more lists than can be compared, only what is relevant is told.
        if len(stages) + len(channels) + (exposed is not None) <= MOST:
            candidates = count_candidates(
                self._blocks(names),
                stages,
                self.population,
                channels=channels,
                exposed=exposed,
            )
        return funnel_table(
            stages,
            self.found,
            self.lengths,
            self.population,
            channels=channels,
            candidates=candidates,
            fold=self.fold,
        )

    def _exposed(self) -> pl.DataFrame | None:
        exposed = self.work.prepared.background.exposed
        if exposed is None:
            return None
        queries = self.work.prepared.truth.queries.lazy()
        return pairs_by_query(exposed, queries).collect(engine="streaming")

    def _has(self, name: str) -> bool:
        neighbours = self.work.neighbours
        return neighbours is not None and neighbours.shelf.has(name)

    def _blocks(self, names: Iterable[str]) -> Iterator[Lists]:
        """Yields the prepared lists of generators, block by block of queries."""
        neighbours: Any = self.work.neighbours
        for queries in neighbours.shelf.blocks():
            yield {name: neighbours.lists(name, queries) for name in names}
