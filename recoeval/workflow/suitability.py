"""Generators that the rest of the configuration, or the columns of the inputs, do not suit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from recoeval.errors import Problem
from recoeval.generators.popularity import Popularity, group_problem
from recoeval.generators.recent import Recent

if TYPE_CHECKING:
    from recoeval.workflow.config import Config

__all__ = ["misfits_of_generators", "unsuited_generators"]


def unsuited_generators(config: Config) -> Iterator[Problem]:
    """Yields what generators need and the configuration does not have.

    Args:
        config: the configuration; no file is looked at.
    """
    has_users = config.users is not None and config.users.table is not None
    seen = config.seen
    by_default = seen.where is None and seen.window is None
    for name, generator in config.generators.items():
        if isinstance(generator, Popularity) and generator.per is not None and not has_users:
            text = f"{generator.per} needs a table of users: users: {{table: ...}}"
            yield Problem(text, f"generators.{name}.per")
        if (
            isinstance(generator, Recent)
            and config.ground_truth.repeats == "exclude"
            and by_default
        ):
            text = (
                "lists only items that their users have a train row with, and these are left out: "
                "set ground_truth.repeats: include, or another rule in seen"
            )
            yield Problem(text, f"generators.{name}")


def misfits_of_generators(config: Config, schemas: Mapping[str, pl.Schema]) -> Iterator[Problem]:
    """Yields options that name a column which is not there, or does not serve.

    Args:
        config: the configuration.
        schemas: columns by input; what is about an input that is not there is left out.
    """
    for name, generator in config.generators.items():
        if isinstance(generator, Popularity) and generator.per is not None and "users" in schemas:
            problem = group_problem(generator.per, schemas["users"])
            if problem is not None:
                yield Problem(problem, f"generators.{name}.per")
