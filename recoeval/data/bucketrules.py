"""What a bucket is in the configuration: which side, by what, cut where."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    Strict,
    WithJsonSchema,
    model_validator,
)

from recoeval.component import Component, Number, Share, parse_instant
from recoeval.data.frames import FLOAT_LIMIT

__all__ = ["Bucket"]

_USER_SIDE: Final = ("train_interactions", "train_rows", "relevant_items")
_ITEM_SIDE: Final = ("train_popularity", "item_age")
_SHOWN: Final = 40


def _number_or_time(value: Any) -> Any:
    if isinstance(value, int | float) and FLOAT_LIMIT <= abs(value) < math.inf:
        raise ValueError(
            f"expected a number below 2^53 in size, got {_shortened(value)}: it would be rounded"
        )
    if not isinstance(value, str):
        return value
    try:
        return parse_instant(value)
    except ValueError:
        text = f"expected a number, or a time such as 2022-05-05T16:00:00Z, got {value!r}"
        raise ValueError(text) from None


def _shortened(value: float) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _plain(edge: float | datetime) -> float | str:
    return edge.isoformat().replace("+00:00", "Z") if isinstance(edge, datetime) else edge


Edge = Annotated[
    Number | Annotated[datetime, Strict()],
    BeforeValidator(_number_or_time),
    PlainSerializer(_plain),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "format": "date-time"}]}),
]
"""A finite number that Float64 holds exactly, or a moment with a zone."""


class Bucket(Component):
    """A split of the queries, or of the relevant items, into groups shown apart."""

    side: Literal["user", "item"] = "user"
    """user: each query is in one bucket; item: each relevant item is, so that truth and lists are
    split."""
    by: Literal[
        "train_interactions",
        "train_rows",
        "relevant_items",
        "column",
        "train_popularity",
        "item_age",
    ]
    """Of users train_interactions: log rows in the train window, train_rows: those that are train
    rows, relevant_items: |R| of the query. Of items train_popularity: users with a train row,
    item_age: days since created_at at query time. column: one of the users or items table."""
    column: str | None = None
    """The column of `by: column`; text has a bucket a value (at most 100), numbers and times are
    cut by edges or quantiles."""
    edges: Annotated[tuple[Edge, ...], Field(min_length=1)] | None = None
    """Lower ends of the buckets, ascending: [2, 5] gives [-inf,2), [2,5), [5,inf)."""
    quantiles: Annotated[tuple[Share, ...], Field(min_length=1)] | None = None
    """Cuts at these quantiles, ascending, of the distinct counts; equal cuts merge. For
    train_popularity of the items: one gives tail and head, two tail, torso and head."""

    @model_validator(mode="after")
    def _one_rule(self) -> Bucket:
        named = self.by == "column"
        if self.by in (_ITEM_SIDE if self.side == "user" else _USER_SIDE):
            other = "item" if self.side == "user" else "user"
            raise ValueError(f"by: {self.by} goes with side: {other}")
        if named and self.column is None:
            raise ValueError("by: column needs the name of one, column: country")
        if not named and self.column is not None:
            raise ValueError(f"column is for by: column, not for by: {self.by}")
        if self.by == "item_age" and self.quantiles is not None:
            raise ValueError("item_age is cut in days: edges: [1, 7, 30]")
        both = self.edges is not None and self.quantiles is not None
        if both or not (named or self.edges or self.quantiles):
            raise ValueError("give either edges: [1, 50] or quantiles: [0.5, 0.9]")
        self._check_cuts()
        return self

    def _check_cuts(self) -> None:
        times = [isinstance(edge, datetime) for edge in self.edges or ()]
        if any(times) and (self.by != "column" or not all(times)):
            what = "numbers or times, not both" if self.by == "column" else "numbers"
            raise ValueError(f"by: {self.by} has edges that are {what}")
        cuts: tuple[Any, ...] = self.edges or self.quantiles or ()
        if any(low >= high for low, high in pairwise(cuts)):
            shown = [_plain(cut) for cut in cuts]
            raise ValueError(f"expected ascending values, got {shown}")

    @property
    def counts_history(self) -> bool:
        """Whether 0 means "no train row", which is a bucket of its own."""
        return self.by in ("train_interactions", "train_rows", "train_popularity")
