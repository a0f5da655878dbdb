"""Candidate generators, and the registry of their types."""

from typing import Final

from recoeval.generators.base import Fitted, Generator, Others, Scoring, Train
from recoeval.generators.implicit_models import ALS
from recoeval.generators.popularity import Popularity
from recoeval.generators.precomputed import Precomputed
from recoeval.generators.random_items import Random

__all__ = [
    "ALS",
    "GENERATORS",
    "Fitted",
    "Generator",
    "Others",
    "Popularity",
    "Precomputed",
    "Random",
    "Scoring",
    "Train",
]

GENERATORS: Final[dict[str, type[Generator]]] = {
    generator.model_fields["type"].default: generator
    for generator in (Popularity, ALS, Random, Precomputed)
}
"""Generator classes by the `type` that selects them in the configuration."""
