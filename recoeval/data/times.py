"""Timestamps of any kind as moments in UTC, by what the user says and never by a guess."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from zoneinfo import available_timezones

import polars as pl
from pydantic import AfterValidator

from recoeval.columns import TIMESTAMP, TIMESTAMP_DTYPE
from recoeval.data.failures import dtype_name
from recoeval.errors import ConfigError, DataError, Problem, did_you_mean

__all__ = ["TimestampUnit", "Zone", "can_lack_zone", "lacks_zone", "normalise_times"]

TimestampUnit = Literal["s", "ms", "us", "iso"]

_SCALE: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}

# Wider than any real time, narrow enough for Int64 microseconds: check_interactions shows them.
_LIMIT: Final = 8 * 10**18

_ISO: Final = (
    r"^\s*(?<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?<time>\d{2}:\d{2})(?<second>:\d{2})?(?:[.,](?<fraction>\d{1,9}))?)?"
    r"\s*(?<zone>[Zz]|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?\s*$"
)


def _known_zone(name: str) -> str:
    try:
        pl.Series([0]).cast(pl.Datetime("us")).dt.replace_time_zone(name)
    except pl.exceptions.ComputeError:
        hint = did_you_mean(name, available_timezones())
        raise ValueError(f"unknown time zone {name!r}.{hint}") from None
    return name


Zone = Annotated[str, AfterValidator(_known_zone)]
"""An IANA time zone: "Europe/Berlin"."""


def normalise_times(
    frame: pl.LazyFrame,
    *,
    unit: TimestampUnit | None,
    zone: str | None,
    path: str,
    column: str = TIMESTAMP,
) -> pl.LazyFrame:
    """Returns the frame with its timestamp as Datetime[us], UTC.

    Args:
        frame: a table with a column of times of any dtype.
        unit: of numbers since 1970 (s, ms, us), or iso for text; None for times.
        zone: IANA time zone of times without one; default UTC.
        path: of the table in the configuration, for errors: "interactions".
        column: the column of times.

    Raises:
        ConfigError: the unit is missing, or does not fit the dtype.
        DataError: a dtype that holds no time. Values that cannot be read (text that is no
            time, NaN, hours that the clock skipped) raise when the frame is collected.
    """
    dtype = frame.collect_schema()[column]
    if dtype == TIMESTAMP_DTYPE and unit is None:
        # Untouched, so that filters on it reach the file.
        return frame
    if problem := _misfit(dtype, unit, path, column):
        raise problem
    return frame.with_columns(_moment(pl.col(column), dtype, unit, zone or "UTC").alias(column))


def lacks_zone(dtype: pl.DataType, unit: TimestampUnit | None) -> pl.Expr:
    """Returns whether a timestamp has no time zone of its own; false for nulls.

    Numbers have one: they count from 1970 in UTC.

    Args:
        dtype: of the column `timestamp` as it was read.
        unit: as for `normalise_times`.

    Example:
        >>> texts = pl.DataFrame({"timestamp": ["2026-01-01T10:00", "2026-01-01T10:00Z"]})
        >>> texts.select(lacks_zone(pl.String(), "iso")).to_series().to_list()
        [True, False]
    """
    column = pl.col(TIMESTAMP)
    if not can_lack_zone(dtype, unit):
        return column.is_not_null() & False
    if dtype == pl.String:
        parts = column.str.extract_groups(_ISO)
        dated, zone = (parts.struct.field(name).is_not_null() for name in ("date", "zone"))
        return dated & ~zone
    return column.is_not_null()


def can_lack_zone(dtype: pl.DataType, unit: TimestampUnit | None) -> bool:
    """Returns whether a column of such times may hold one without a time zone of its own.

    Args:
        dtype: of the column `timestamp` as it was read.
        unit: as for `normalise_times`.
    """
    if dtype == pl.String:
        return unit == "iso"
    return dtype == pl.Date or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None)


def _misfit(
    dtype: pl.DataType, unit: TimestampUnit | None, path: str, column: str
) -> ConfigError | DataError | None:
    """Returns why dtype and unit do not go together."""
    at = f"{path}.timestamp_unit"
    if dtype.is_integer() or dtype.is_float():
        if unit is None:
            return ConfigError(
                Problem(
                    f"missing: {column} is {dtype_name(dtype)}; is it in s, ms or us since 1970?",
                    at,
                )
            )
        if unit == "iso":
            return ConfigError(Problem(f"iso is for text, but {column} is {dtype_name(dtype)}", at))
        return None
    if dtype == pl.String:
        if unit is None:
            return ConfigError(Problem(f"missing: {column} is text; say iso if it is ISO 8601", at))
        if unit != "iso":
            return ConfigError(
                Problem(f"{unit} is for numbers, but {column} is text, at least in some rows", at)
            )
        return None
    if dtype == pl.Null:
        return None
    if isinstance(dtype, pl.Datetime | pl.Date):
        if unit is not None:
            return ConfigError(
                Problem(
                    f"{column} is a time ({dtype_name(dtype)}) already: leave timestamp_unit out",
                    at,
                )
            )
        return None
    return DataError(
        Problem(
            f"{dtype_name(dtype)} holds no time; expected a time, a number or text",
            f"{path}.{column}",
        )
    )


def _moment(column: pl.Expr, dtype: pl.DataType, unit: TimestampUnit | None, zone: str) -> pl.Expr:
    if dtype == pl.Null:
        return column.cast(TIMESTAMP_DTYPE)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return column.cast(pl.Datetime("us", dtype.time_zone)).dt.convert_time_zone("UTC")
    if isinstance(dtype, pl.Datetime | pl.Date):
        return _local(column.cast(pl.Datetime("us")), zone)
    if unit == "iso":
        return _iso(column, zone)
    scale = _SCALE[str(unit)]
    if dtype.is_float():
        return (column * scale).round().cast(pl.Int64).cast(TIMESTAMP_DTYPE)
    wide = dtype if dtype in (pl.UInt64, pl.Int128, pl.UInt128) else pl.Int64()
    limit = _LIMIT // scale
    lowest = 0 if wide.is_unsigned_integer() else -limit
    low, high = pl.lit(lowest, wide), pl.lit(limit, wide)
    return (column.cast(wide).clip(low, high).cast(pl.Int64) * scale).cast(TIMESTAMP_DTYPE)


def _local(column: pl.Expr, zone: str) -> pl.Expr:
    """Returns local times in UTC; hours that the clock repeats or skips raise."""
    return column.dt.replace_time_zone(zone).dt.convert_time_zone("UTC")


def _iso(column: pl.Expr, zone: str) -> pl.Expr:
    """Returns ISO 8601 text as moments: with an offset, Z, or local to the zone."""
    parts = column.str.extract_groups(_ISO)
    time, fraction = parts.struct.field("time"), parts.struct.field("fraction")
    text = pl.concat_str(
        parts.struct.field("date"),
        pl.lit("T"),
        time.fill_null("00:00"),
        parts.struct.field("second").fill_null(":00"),
        pl.lit("."),
        fraction.fill_null("").str.pad_end(6, "0").str.slice(0, 6),
    )
    layout = "%Y-%m-%dT%H:%M:%S%.6f"
    parsed = text.str.to_datetime(layout, strict=False)
    # What is no time is read again as it stands, so that the error shows it.
    wrong = pl.when(parsed.is_null()).then(column).alias(column.meta.output_name())
    clock = pl.coalesce(parsed, wrong.str.to_datetime(layout, strict=True))
    offset = parts.struct.field("zone").str.to_uppercase().replace("Z", "+00:00")
    digits = offset.str.replace(":", "").str.pad_end(5, "0")
    minutes = (
        digits.str.slice(1, 2).cast(pl.Int64) * 60 + digits.str.slice(3, 2).cast(pl.Int64)
    ) * pl.when(digits.str.starts_with("-")).then(-1).otherwise(1)
    fixed = (clock - pl.duration(minutes=minutes)).dt.replace_time_zone("UTC")
    local = pl.when(offset.is_null()).then(clock)
    return pl.coalesce(fixed, _local(local, zone))
