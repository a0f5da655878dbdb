"""Merge: one list out of the lists of several channels, under a budget of slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, GetJsonSchemaHandler, Strict, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from recoeval import columns as c
from recoeval.component import Component, Number
from recoeval.errors import ConfigError, EngineError, did_you_mean
from recoeval.generators.base import Fitted, Generator, Others, Train
from recoeval.generators.combining import filled_depths, turned_depths
from recoeval.generators.merging import Merged, merge_lists

__all__ = ["Channel", "Merge", "Merging"]

Floats = NDArray[np.float64]

_DEEPEST = 1_000_000

Slots = Annotated[int, Strict(), Field(ge=1, le=_DEEPEST)]
"""A number of items, as many as the deepest K at most."""

Weight = Annotated[Number, Field(gt=0, le=1e100)]
"""A number above 0, so far below the largest one that no sum overflows."""

_DEPTH = 500
_USES: Mapping[str, tuple[str, ...]] = {
    "weight": ("weighted", "rrf"),
    "priority": ("quota",),
    "normalize": ("weighted",),
    "constant": ("rrf",),
}
"""Options that only some methods use."""


class Channel(Component):
    """How a generator takes part in a merge: nothing, its quota alone, or a mapping."""

    quota: Slots | None = None
    """Items: with quota and round_robin those that it gives at most, with weighted and rrf the
    first ones of its list, which take part. Default: no bound of its own."""
    weight: Weight | None = None
    """How much it counts, of weighted and rrf; default 1."""
    priority: Annotated[int, Strict()] | None = None
    """Of quota: the lower number gives first. Default: after those that have one, in the order as
    written; so are equal ones."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if value is None:
            return {}
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _DEEPEST:
            return {"quota": value}
        if isinstance(value, Mapping | Channel):
            return value
        quota = f"a quota (an integer >= 1 and <= {_DEEPEST})"
        text = f"expected nothing, {quota} or {{quota: , weight: , priority: }}"
        raise ValueError(f"{text}, got {_shown(value)}")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Returns the schema of the mapping or of the short forms."""
        whole = handler.resolve_ref_schema(handler(core_schema))
        about = whole.pop("description", "")
        number = {"type": "integer", "minimum": 1, "maximum": _DEEPEST}
        short = [number, {"type": "null"}, {"const": False}]
        return {"anyOf": [whole, *short], "description": about}


def _shown(value: object) -> str:
    """Returns a value as YAML would have it, cut to a readable length."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


class Merge(Generator):
    """One list out of the lists of other generators of the run, its channels.

    A list has no item twice. What fewer channels list than there are slots leaves slots empty:
    nothing is padded, and no other channel gets them beyond its quota; `list_fill` shows it.
    """

    serves_cold_users: ClassVar[bool] = True
    serves_cold_items: ClassVar[bool] = True
    # Of five channels that list 500 items each these are 5 M rows, 0.15 KB each while merged.
    block: ClassVar[int | None] = 2_000

    type: Literal["merge"] = "merge"
    method: Literal["quota", "round_robin", "weighted", "rrf"] = "quota"
    """quota (default): by priority, each channel gives its first items that none before it gave.
    round_robin: one item each, there and back: A B C C B A A B C. weighted: by the sum of weight x
    normalised score. rrf: by the sum of weight / (constant + rank)."""
    channels: Annotated[dict[str, Channel], Field(min_length=1)]
    """Whose lists are merged, by name: {als: 300, popularity: 100}. A number is a quota;
    `als: false` removes a channel that was inherited."""
    total: Slots | None = None
    """Length of the merged list. Default: the sum of the quotas if all channels have one, else as
    long as is asked for. With weighted and rrf a channel without a quota takes part with as many
    items; without a total with its first 500."""
    normalize: Literal["minmax", "rank"] | None = None
    """Of weighted: minmax (default): (score - min) / (max - min) over the items of the list that
    take part, 1 if all are equal; rank: (n - rank + 1) / n, which needs no scores."""
    constant: Annotated[Number, Field(gt=0, le=1e100)] | None = None
    """Of rrf: how little the first ranks differ; default 60."""

    @field_validator("channels", mode="before")
    @classmethod
    def _left(cls, channels: Any) -> Any:
        """Leaves out what is `false`: a channel of an inherited merge that is removed."""
        if not isinstance(channels, Mapping):
            return channels
        return {name: its for name, its in channels.items() if its is not False}

    @model_validator(mode="after")
    def _of_use(self) -> Merge:
        given = [(name, name) for name in ("normalize", "constant")]
        values: dict[str, Any] = {name: getattr(self, name) for name, _ in given}
        for channel, its in self.channels.items():
            for option in ("weight", "priority"):
                place = f"channels.{channel}.{option}"
                given.append((place, option))
                values[place] = getattr(its, option)
        for place, option in given:
            if values[place] is not None and self.method not in _USES[option]:
                users = " or ".join(_USES[option])
                raise ValueError(
                    f"{place} is of no use with method: {self.method}: remove it, or write "
                    f"method: {users}"
                )
        return self

    @property
    def quotas(self) -> dict[str, int | None]:
        """The quota of each channel, as configured; None: it has none."""
        return {name: channel.quota for name, channel in self.channels.items()}

    @property
    def places(self) -> Mapping[str, str]:
        return {f"channels.{name}": name for name in self.channels}

    def length(self, k: int) -> int:
        """Returns how long a merged list can be when k items are asked for."""
        quotas = list(self.quotas.values())
        slots = self.total or (k if None in quotas else sum(filter(None, quotas)))
        return min(k, slots)

    def reads(self, k: int) -> Mapping[str, int]:
        names = self._ordered()
        quotas = [self.channels[name].quota for name in names]
        if self.method == "quota":
            depths = filled_depths(quotas, self.length(k))
        elif self.method == "round_robin":
            depths = turned_depths(quotas, self.length(k))
        else:
            # Never by k: a sum may not depend on how long a list is asked for.
            depths = [quota or self.total or _DEPTH for quota in quotas]
        return dict(zip(names, depths, strict=True))

    def without(self, channel: str) -> Self | None:
        """Returns the merge of the other channels, with the same total; None: there are none.

        Raises:
            ConfigError: it has no such channel.
        """
        self._known(channel)
        others = {name: its for name, its in self.channels.items() if name != channel}
        return self.model_copy(update={"channels": others}) if others else None

    def with_slots(self, channel: str, more: int) -> Self | None:
        """Returns the merge with a larger quota of a channel, and as much more in total.

        Args:
            channel: one of its channels.
            more: slots, >= 1.

        Returns:
            The merge; None where the channel has no quota, and so no slots of its own.

        Raises:
            ConfigError: it has no such channel, or `more` is below 1.
        """
        self._known(channel)
        if more < 1:
            raise ConfigError(f"expected at least one slot more, got {more}")
        own = self.channels[channel]
        if own.quota is None:
            return None
        wider = own.model_copy(update={"quota": own.quota + more})
        changes: dict[str, Any] = {"channels": {**self.channels, channel: wider}}
        if self.total is not None:
            changes["total"] = self.total + more
        return self.model_copy(update=changes)

    def _known(self, channel: str) -> None:
        if channel not in self.channels:
            raise ConfigError(
                f"unknown channel {channel!r}.{did_you_mean(channel, self.channels)}"
                f" Channels: {', '.join(self.channels)}"
            )

    def _ordered(self) -> list[str]:
        """Returns the channels in the order in which they give."""

        def place(name: str) -> tuple[bool, int]:
            priority = self.channels[name].priority
            return priority is None, priority or 0

        return sorted(self.channels, key=place)

    def fit(self, train: Train) -> Fitted:
        """Returns the merge of the run's lists.

        Raises:
            EngineError: nobody gives the lists of the channels.
        """
        if train.others is None:
            raise EngineError(
                f"a merge reads the lists of {', '.join(self.channels)}: give them as Train.others"
            )
        return Merging(self, train.others)


@dataclass(frozen=True, slots=True)
class Merging:
    """A merge that can read its channels.

    Args:
        merge: its options.
        others: who has the lists.
    """

    merge: Merge
    others: Others

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the merged lists; the score is 1 / rank with quota and round_robin."""
        return self.counted(queries, k)[0]

    def counted(self, queries: pl.DataFrame, k: int) -> tuple[pl.LazyFrame, Mapping[str, int]]:
        """Returns the merged lists, and of each channel the duplicates that were passed over."""
        found = self.merged(queries, k)
        lists = found.lists.lazy().select(c.QUERY_ID, c.ITEM_ID, c.RANK, c.SCORE)
        return lists, {f"duplicates[{name}]": count for name, count in found.duplicates.items()}

    def merged(self, queries: pl.DataFrame, k: int) -> Merged:
        """Returns the merged lists with the channels that gave their items.

        Args:
            queries: query_id, user_id; one row a query.
            k: length of the lists, items, >= 1.

        Raises:
            DataError: a channel has rows without a score where the method needs one.
        """
        lists = {name: self.others.lists(name, queries) for name in self.merge.channels}
        return merge_lists(lists, self.merge, k)
