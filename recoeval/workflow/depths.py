"""How deep the lists of each generator are made, and how deep they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recoeval.generators.base import Generator
from recoeval.generators.merge import Merge
from recoeval.generators.rerank import Rerank
from recoeval.workflow.config import Config
from recoeval.workflow.funnelstages import deepest_k

__all__ = [
    "Depth",
    "asked_by_others",
    "asked_depth",
    "depths_of",
    "read_by_others",
    "rows_told",
    "size_of",
    "slots_of",
    "sources_of",
    "variants_of",
]

Variant = tuple[str, str, Merge]
"""The channel that is changed, how ("dropped", "+100"), and the merge that it makes."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep the lists of a generator go; those from files are as long as they are.

    Args:
        scored: where they end for whoever reads the numbers, items. Nobody who reads them changes
            that: a merge changes no number of its channels.
        made: where they end for merges, reranks, channels and stages, which may have to look
            deeper, items; at least `scored`.
    """

    scored: int
    made: int


def depths_of(config: Config, order: Sequence[str], base: int) -> dict[str, Depth]:
    """Returns the depth of each generator.

    Args:
        config: the configuration.
        order: the generators, each after those that it reads.
        base: where lists end that nobody else reads: the largest K.
    """
    scored = {name: max(base, _whole(config.generators[name], base)) for name in order}
    made = dict(scored)
    merges = [each for each in config.generators.values() if isinstance(each, Merge)]
    for depths in (deepest_k(config.funnel), *(slots_of(each, base) for each in merges)):
        for name, depth in depths.items():
            made[name] = max(made[name], depth)
    for name in reversed(order):
        generator = config.generators[name]
        reads = [(generator, made[name]), (generator, asked_depth(config, name))]
        reads += [(variant, made[name] + more) for variant, more in _longer(config, name)]
        for reader, length in reads:
            for source, depth in reader.reads(length).items():
                made[source] = max(made[source], depth)
    return {name: Depth(scored[name], made[name]) for name in order}


def asked_depth(config: Config, name: str) -> int:
    """Returns down to where a generator that scores no pairs is asked for scores, items, >= 1.

    It depends on who asks, and on the generator's own budget: no K changes the scores.
    """
    asking = (each for each in config.generators.values() if name in each.asks)
    depth = max((read for each in asking for read in each.reads(1).values()), default=1)
    return max(depth, _whole(config.generators[name], depth))


def _whole(generator: Generator, k: int) -> int:
    """Returns how long the lists are of a generator that is made of others; of all others 1."""
    if isinstance(generator, Merge):
        return size_of(generator, k)
    return generator.depth if isinstance(generator, Rerank) else 1


def size_of(merge: Merge, k: int) -> int:
    """Returns how long the lists of a merge are: as its budget says, else K.

    Args:
        merge: the merge.
        k: the largest K.
    """
    quotas = merge.quotas.values()
    bounded = merge.total is not None or None not in quotas
    return merge.length(
        max(merge.total or 0, sum(quota or 0 for quota in quotas)) if bounded else k
    )


def slots_of(merge: Merge, k: int) -> dict[str, int]:
    """Returns how deep each channel of a merge counts: its quota, else the merge's total, else K.

    Args:
        merge: the merge.
        k: the largest K.
    """
    return {channel: quota or merge.total or k for channel, quota in merge.quotas.items()}


def rows_told(config: Config, depths: Mapping[str, Depth]) -> int:
    """Returns how many items of lists are read or merged for each query to tell what channels add.

    Args:
        config: the configuration.
        depths: of each generator.
    """
    rows = sum(depths[stage.generator].made for stage in config.funnel)
    for name, generator in config.generators.items():
        if isinstance(generator, Merge):
            variants = variants_of(generator, config.what_if)
            sizes = [size_of(each, depths[name].scored) for _, _, each in variants]
            rows += sum(generator.reads(depths[name].made).values()) + sum(sizes)
    return rows


def sources_of(generator: Generator) -> tuple[str, ...]:
    """Returns the generators that have to be there before this one."""
    return tuple(dict.fromkeys((*generator.reads(1), *generator.asks)))


def asked_by_others(config: Config) -> frozenset[str]:
    """Returns the generators whose scores another one asks for."""
    return frozenset(name for each in config.generators.values() for name in each.asks)


def read_by_others(config: Config) -> frozenset[str]:
    """Returns the generators whose lists somebody reads once they are scored."""
    shown = {stage.generator for stage in config.funnel}
    read = {name for each in config.generators.values() for name in sources_of(each)}
    return frozenset(shown | read)


def variants_of(merge: Merge, more: Sequence[int]) -> list[Variant]:
    """Returns what a merge would be without a channel, and with more slots for it.

    Args:
        merge: the merge.
        more: slots beyond the quota; channels without a quota have none to be added to.
    """
    found: list[Variant] = []
    for channel in merge.channels:
        changes = [("dropped", merge.without(channel))]
        # Slots that are named twice are one variant: its hits would count twice.
        changes += [
            (f"+{slots}", merge.with_slots(channel, slots)) for slots in dict.fromkeys(more)
        ]
        found += [(channel, change, each) for change, each in changes if each is not None]
    return found


def _longer(config: Config, name: str) -> Iterator[tuple[Merge, int]]:
    """Yields the longer variants of a merge, and by how many slots."""
    generator = config.generators[name]
    if isinstance(generator, Merge):
        for channel in generator.channels:
            for slots in config.what_if:
                variant = generator.with_slots(channel, slots)
                if variant is not None:
                    yield variant, slots
