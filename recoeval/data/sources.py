"""The log: files or frames, columns, times, derived columns and a filter, all lazy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import polars as pl
from pydantic import Field

from recoeval.columns import ITEM_ID, TIMESTAMP, USER_ID
from recoeval.component import Component
from recoeval.data.aliases import apply_aliases
from recoeval.data.failures import listed, reading
from recoeval.data.formats import Format, open_table, scan
from recoeval.data.frames import IdType, as_printed, normalise_ids, rename, to_frame
from recoeval.data.logcheck import Conflicts, LogFacts, check_interactions, look_at
from recoeval.data.rules import compile_rule
from recoeval.data.times import TimestampUnit, Zone, can_lack_zone, lacks_zone, normalise_times
from recoeval.errors import ConfigError, DataError, Problem

__all__ = [
    "Conflicts",
    "Format",
    "LogFacts",
    "Source",
    "check_interactions",
    "count_naive_times",
    "look_at",
    "normalise_ids",
    "reading",
    "scan",
    "scan_interactions",
    "to_frame",
    "widen_numbers",
]


# UInt64 stays: its largest values are no Int64.
_NARROW: Final = (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32)


class Source(Component):
    """Where the log is, and how its columns become ours."""

    path: str | None = None
    """A file, a glob or a folder: parquet, csv, tsv, txt, dat, ndjson, Arrow IPC; text .gz too.
    Or s3://bucket/key of the same kinds, not packed."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Our name -> the name in the data: {user_id: uid, item_id: vid, timestamp: ts_ms}."""
    format: Format | None = None
    """How text files are written."""
    timestamp_unit: TimestampUnit | None = None
    """Of numbers since 1970 (s, ms, us), or iso for text; never guessed."""
    timezone: Zone | None = None
    """IANA time zone of times that have none; default UTC."""
    derive: dict[str, str] = Field(default_factory=dict)
    """New columns as SQL expressions; later ones may use earlier ones."""
    where: str | None = None
    """SQL rule: rows for which it is true are read."""
    duplicates: Literal["keep", "drop"] = "keep"
    """What happens to rows that are equal in every column."""
    user_id_type: IdType = "auto"
    """auto: integers stay integers, text stays text; int or text force it."""
    item_id_type: IdType = "auto"
    """auto: integers stay integers, text stays text; int or text force it."""


def scan_interactions(
    source: Source,
    *,
    path: str = "interactions",
    frame: object | None = None,
    aliases: pl.DataFrame | None = None,
) -> pl.LazyFrame:
    """Returns the log, lazy, normalised.

    Args:
        source: where it is and how its columns are named.
        path: of the source in the configuration, for errors.
        frame: a frame that is read instead of the files.
        aliases: alias, item_id: other ids of items, replaced before any rule sees them.

    Returns:
        user_id, item_id (Int64 or String), timestamp (Datetime[us], UTC; where there is
        one), then the log's own and the derived columns.

    Raises:
        ConfigError: unknown columns, a missing timestamp_unit, a rule that does not fit.
        DataError: nothing is there, user_id or item_id is missing or of a wrong dtype, also
            another one than that of the aliases.
    """
    raw, text, said = _open(source, path, frame)
    rows = rename(raw, source.columns, path=f"{path}.columns", said=said)
    names = rows.collect_schema().names()
    problems = [
        Problem(
            f"no such column in {said}. Columns: {listed(names)}. "
            f"Name it: columns: {{{name}: ...}}{_layout_hint(names, text=text)}",
            f"{path}.{name}",
        )
        for name in (USER_ID, ITEM_ID)
        if name not in names
    ]
    if problems:
        raise DataError(*problems)
    types = {USER_ID: source.user_id_type, ITEM_ID: source.item_id_type}
    rows = normalise_ids(rows, (USER_ID, ITEM_ID), types, what=path, text=text)
    rows = apply_aliases(rows, aliases, what=path)
    if TIMESTAMP in names:
        unit, zone = source.timestamp_unit, source.timezone
        rows = normalise_times(rows, unit=unit, zone=zone, path=path)
    elif source.timestamp_unit is not None:
        raise ConfigError(
            Problem(
                f"there is no column timestamp in {said}. Columns: {listed(names)}. "
                "Name it: columns: {timestamp: ...}",
                f"{path}.timestamp_unit",
            )
        )
    first = [name for name in (USER_ID, ITEM_ID, TIMESTAMP) if name in names]
    rows = rows.select(*first, *(name for name in names if name not in first))
    rows = widen_numbers(rows, (USER_ID, ITEM_ID, TIMESTAMP))
    return _by_rules(rows, source, path, said)


def count_naive_times(
    source: Source, *, path: str = "interactions", frame: object | None = None
) -> int:
    """Returns how many times of a log come without a zone, before any row is left out.

    Args:
        source: as for `scan_interactions`.
        path: of the source in the configuration, for errors.
        frame: a frame that is read instead of the files.
    """
    raw, _, said = _open(source, path, frame)
    rows = rename(raw, source.columns, path=f"{path}.columns", said=said)
    schema = rows.collect_schema()
    if TIMESTAMP not in schema or not can_lack_zone(schema[TIMESTAMP], source.timestamp_unit):
        return 0
    naive = lacks_zone(schema[TIMESTAMP], source.timestamp_unit)
    with reading(path):
        return int(rows.select(naive.sum()).collect(engine="streaming").item())


def _layout_hint(names: Sequence[str], *, text: bool) -> str:
    """Returns what may be wrong with the layout of a text file, or ""."""
    if not text:
        return ""
    if len(names) == 1:
        return '; or is another separator meant? format: {separator: ";"}'
    if any(name[:1].isdigit() for name in names):
        return "; or is there no header? format: {header: false, names: [user_id, ...]}"
    return ""


def widen_numbers(rows: pl.LazyFrame, but: Sequence[str]) -> pl.LazyFrame:
    """Returns the rows with the numbers that a text file would give, whatever the file.

    Narrow integers overflow in a rule without a word, and NaN compares as larger than every
    number: integers become Int64, floats Float64, NaN null.

    Args:
        rows: any table.
        but: columns that stay as they are.
    """
    kept = {name: dtype for name, dtype in rows.collect_schema().items() if name not in but}
    numbers = [_wide(name, dtype) for name, dtype in kept.items() if dtype.is_float()]
    numbers += [pl.col(name).cast(pl.Int64) for name, dtype in kept.items() if dtype in _NARROW]
    return rows.with_columns(numbers) if numbers else rows


def _wide(name: str, dtype: pl.DataType) -> pl.Expr:
    """Returns a column of floats as Float64, null for NaN."""
    return as_printed(name, dtype).fill_nan(None)


def _open(source: Source, path: str, frame: object | None) -> tuple[pl.LazyFrame, bool, str]:
    """Returns the raw rows, whether they come from text files, and what to call them."""
    if frame is not None:
        return to_frame(frame, what=path), False, "the frame"
    if source.path is None:
        raise ConfigError(Problem("missing: where is the log?", f"{path}.path"))
    ids = {source.columns.get(name, name) for name in (USER_ID, ITEM_ID)}
    opened = open_table(source.path, source.format, said=f"{path}.path", ids=ids)
    return opened.frame, opened.text, source.path


def _finite(rows: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Returns the rows with a derived column widened, null where it is no finite number."""
    rows = widen_numbers(rows, [other for other in rows.collect_schema() if other != name])
    column = pl.col(name)
    if not rows.collect_schema()[name].is_float():
        return rows
    return rows.with_columns(pl.when(column.is_finite()).then(column).alias(name))


def _by_rules(rows: pl.LazyFrame, source: Source, path: str, said: str) -> pl.LazyFrame:
    """Returns the rows without duplicates if asked, with derived columns, filtered."""
    if source.duplicates == "drop":
        rows = rows.unique()
    schema = rows.collect_schema()
    for name, text in source.derive.items():
        at = f"{path}.derive.{name}"
        if name in (USER_ID, ITEM_ID, TIMESTAMP):
            raise ConfigError(
                Problem(f"{name} is not derived: name its column, columns: {{{name}: ...}}", at)
            )
        if name in schema:
            raise ConfigError(
                Problem(f"{said} has a column {name!r} already: choose another name", at)
            )
        expression = compile_rule(text, schema, path=at, kind="any", source=said)
        rows = _finite(rows.with_columns(expression.alias(name)), name)
        schema = rows.collect_schema()
    if source.where is not None:
        rule = compile_rule(source.where, schema, path=f"{path}.where", kind="boolean", source=said)
        rows = rows.filter(rule)
    return rows
