"""Candidate generators, and the registry of their types."""

from typing import Final

from recoeval.generators.base import Fitted, Generator, Others, Scoring, Train
from recoeval.generators.co_visitation import CoVisitation
from recoeval.generators.ease import EASE
from recoeval.generators.implicit_models import ALS, BPR, LMF
from recoeval.generators.item_knn import ItemKNN
from recoeval.generators.merge import Merge
from recoeval.generators.popularity import Popularity
from recoeval.generators.precomputed import Precomputed
from recoeval.generators.random_items import Random
from recoeval.generators.recent import Recent
from recoeval.generators.rerank import Rerank

__all__ = [
    "ALS",
    "BPR",
    "EASE",
    "GENERATORS",
    "LMF",
    "CoVisitation",
    "Fitted",
    "Generator",
    "ItemKNN",
    "Merge",
    "Others",
    "Popularity",
    "Precomputed",
    "Random",
    "Recent",
    "Rerank",
    "Scoring",
    "Train",
]

GENERATORS: Final[dict[str, type[Generator]]] = {
    generator.model_fields["type"].default: generator
    for generator in (
        Popularity,
        Recent,
        CoVisitation,
        ItemKNN,
        ALS,
        BPR,
        LMF,
        EASE,
        Random,
        Precomputed,
        Merge,
        Rerank,
    )
}
"""Generator classes by the `type` that selects them in the configuration."""
