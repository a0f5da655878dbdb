"""Candidate generators, and the registry of their types."""

from typing import Final

from recoeval.generators.base import Fitted, Generator, Others, Scoring, Train
from recoeval.generators.implicit_models import ALS
from recoeval.generators.merge import Channel, Merge, Merged, Merging, merge_lists
from recoeval.generators.ordering import order_of, serves
from recoeval.generators.popularity import Popularity
from recoeval.generators.precomputed import Precomputed
from recoeval.generators.random_items import Random
from recoeval.generators.rerank import Rerank, Reranked, Reranking

__all__ = [
    "ALS",
    "GENERATORS",
    "Channel",
    "Fitted",
    "Generator",
    "Merge",
    "Merged",
    "Merging",
    "Others",
    "Popularity",
    "Precomputed",
    "Random",
    "Rerank",
    "Reranked",
    "Reranking",
    "Scoring",
    "Train",
    "merge_lists",
    "order_of",
    "serves",
]

GENERATORS: Final[dict[str, type[Generator]]] = {
    generator.model_fields["type"].default: generator
    for generator in (Popularity, ALS, Random, Precomputed, Merge, Rerank)
}
"""Generator classes by the `type` that selects them in the configuration."""
