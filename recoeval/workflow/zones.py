"""The time zone of the log, for other times that name none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recoeval.data.splits import FileSplit
from recoeval.generators.precomputed import Precomputed

if TYPE_CHECKING:
    from recoeval.workflow.config import Config

__all__ = ["in_one_zone"]


def in_one_zone(config: Config) -> Config:
    """Returns the configuration with the time zone of the log where other times name none."""
    zone = _zone_of_log(config)
    if zone is None:
        return config
    generators = {
        name: each.in_zone(zone) if isinstance(each, Precomputed) else each
        for name, each in config.generators.items()
    }
    items = config.items
    if items is not None and items.timezone is None:
        items = items.model_copy(update={"timezone": zone})
    return config.model_copy(update={"generators": generators, "items": items})


def _zone_of_log(config: Config) -> str | None:
    """Returns the time zone of the log; None where nobody says, or the sides have two."""
    own = None if config.interactions is None else config.interactions.timezone
    if not isinstance(config.split, FileSplit):
        return own
    sides = (config.split.train, config.split.test)
    zones = {side.timezone if "timezone" in side.model_fields_set else own for side in sides}
    return zones.pop() if len(zones) == 1 else own
