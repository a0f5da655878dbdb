"""Frozen pieces of configuration, and the value types that they share."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    WithJsonSchema,
)

__all__ = ["Component", "Count", "Duration", "Flag", "Instant", "Number", "Share"]

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([wdhms])")
# A thousand years: what is longer would leave the calendar when it is taken off a moment.
_LONGEST_DAYS = 365_000


class Component(BaseModel):
    """Base of everything that comes from YAML: immutable, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def parse_duration(value: Any) -> timedelta:
    """Returns the length of time of a text such as "3d", "12h", "30m", "45s" or "1w".

    Raises:
        ValueError: the text is not a number with one of these units, or longer than 365000d.

    Example:
        >>> parse_duration("36h")
        datetime.timedelta(days=1, seconds=43200)
    """
    if isinstance(value, timedelta):
        return value
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"expected a duration such as 3d, 12h, 30m or 45s, got {value!r}")
    try:
        length = timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        length = timedelta.max
    if length > timedelta(days=_LONGEST_DAYS):
        raise ValueError(f"expected a duration of at most {_LONGEST_DAYS}d, got {value!r}")
    return length


def format_duration(value: timedelta) -> str:
    """Returns the shortest text that `parse_duration` reads back to the same length.

    Example:
        >>> format_duration(timedelta(hours=36))
        '36h'
    """
    for unit, name in (("d", "days"), ("h", "hours"), ("m", "minutes"), ("s", "seconds")):
        count, rest = divmod(value, timedelta(**{name: 1}))
        if not rest:
            return f"{count}{unit}"
    # All digits: %g would round them and write 1e-06.
    return f"{count}.{rest.microseconds:06d}".rstrip("0") + "s"


def parse_instant(value: Any) -> datetime:
    """Returns the moment of an ISO 8601 text with a zone, in UTC.

    Raises:
        ValueError: not an ISO 8601 text, or without a zone.

    Example:
        >>> parse_instant("2022-05-05T16:00:00Z").isoformat()
        '2022-05-05T16:00:00+00:00'
    """
    moment: datetime | None = value if isinstance(value, datetime) else None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
    if moment is None:
        raise ValueError(f"expected a time such as 2022-05-05T16:00:00Z, got {value!r}")
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone: add one, e.g. Z for UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value!r} is no time of the years 1 to 9999 in UTC") from None


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("expected a duration greater than 0")
    return value


Span = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?[wdhms]$"}),
]
"""A length of time, zero allowed: "0h"."""

Duration = Annotated[Span, AfterValidator(_positive)]
"""A length of time greater than zero: "3d"."""

Instant = Annotated[
    datetime,
    BeforeValidator(parse_instant),
    PlainSerializer(lambda moment: moment.isoformat().replace("+00:00", "Z"), return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment with a zone, held in UTC."""

Count = Annotated[int, Strict(), Field(ge=1)]
"""A whole number >= 1; booleans and text are refused."""

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
"""A finite number; booleans and text are refused."""

Flag = Annotated[bool, Strict()]
"""true or false; text and numbers are refused."""

Share = Annotated[float, Strict(), Field(gt=0, lt=1)]
"""A number between 0 and 1, both excluded."""
