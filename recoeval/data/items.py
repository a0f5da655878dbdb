"""The items table: the catalogue, when its items were created, and which can be listed."""

from __future__ import annotations

import polars as pl
from pydantic import Field

from recoeval.columns import AVAILABLE, CREATED_AT, ITEM_ID, TIMESTAMP_DTYPE
from recoeval.component import Component
from recoeval.data.aliases import ALIAS, apply_aliases
from recoeval.data.attributes import Table, one_row_each, open_attributes
from recoeval.data.common_ids import require_overlap, unlike_types
from recoeval.data.failures import listed, reading
from recoeval.data.formats import Format
from recoeval.data.frames import IdType
from recoeval.data.rowchecks import count_bad, describe_bad, outside_calendar
from recoeval.data.rules import compile_rule
from recoeval.data.sources import widen_numbers
from recoeval.data.times import TimestampUnit, Zone, normalise_times
from recoeval.errors import ConfigError, DataError, Problem, did_you_mean

__all__ = ["Items", "read_items", "scan_items"]


class Items(Component):
    """The catalogue: what can be listed, and since when."""

    table: str
    """A table with one row an item: item_id and columns for buckets."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Our name -> the name in the table: {item_id: vid}."""
    format: Format | None = None
    """How text files are written."""
    item_id_type: IdType = "auto"
    """auto: integers stay integers, text stays text; int or text force it."""
    created_at: str | None = None
    """The column that says since when an item can be listed; null: always. Default: created_at,
    if there is such a column."""
    timestamp_unit: TimestampUnit | None = None
    """Of created_at: numbers since 1970 (s, ms, us), or iso for text; never guessed."""
    timezone: Zone | None = None
    """IANA time zone of times that have none; default: that of the log, which is UTC if it says
    nothing."""
    available: str | None = None
    """SQL rule over the table's columns: items that can be listed; null is not available, and
    counted. Default: the column available, if there is one."""


def scan_items(items: Items, *, path: str = "items", frame: object | None = None) -> pl.LazyFrame:
    """Returns the rows of the items table with created_at and available, not yet read.

    Args:
        items: where it is.
        path: of the section in the configuration, for errors.
        frame: a frame that is read instead of the file.

    Raises:
        ConfigError: an unknown column, a missing timestamp_unit, a bad rule.
        DataError: nothing is there, or without item_id.
    """
    rows = open_attributes(
        items.table if frame is None else frame,
        ids={ITEM_ID: items.item_id_type},
        what=path,
        columns=items.columns,
        form=items.format,
        said=f"{path}.table",
    )
    return _available(_created(rows, items, path), items, path)


def read_items(
    items: Items,
    log: pl.LazyFrame,
    *,
    path: str = "items",
    frame: object | None = None,
    aliases: pl.DataFrame | None = None,
) -> Table:
    """Returns the items table, one row an item, sorted by item_id.

    Args:
        items: where it is.
        log: INTERACTIONS, aliases replaced; the table needs ids of its type, and one in common.
        path: of the section in the configuration, for errors.
        frame: a frame that is read instead of the file.
        aliases: alias, item_id. The row of an alias is dropped where the item has one of its
            own, and counted; else it stands for the item.

    Returns:
        item_id, created_at (Datetime[us], UTC; null: always there), available (Boolean), then
        the table's own columns. Counts: rows, identical_rows, alias_rows, available,
        available_was_null, created_at_is_null.

    Raises:
        ConfigError: an unknown column, a missing timestamp_unit, a bad rule.
        DataError: unreadable or empty, without item_id, null ids, an item with rows that
            differ, times that are none, ids of another type than the log's or none in common.
    """
    said = f"{path}.table"
    rows = scan_items(items, path=path, frame=frame)
    rows, merged = _merged(rows, aliases, path)
    table = one_row_each(rows, ITEM_ID, what=path, said=said, time=CREATED_AT)
    found = table.rows
    _check_times(found, path)
    if problem := unlike_types(found.lazy(), log, ITEM_ID, path, "the log"):
        raise DataError(problem)
    require_overlap(found.lazy(), log, ITEM_ID, path, "the log")
    first = (ITEM_ID, CREATED_AT, AVAILABLE)
    own = [name for name in found.columns if name not in first]
    counts = {
        **table.counts,
        "rows": table.counts["rows"] + merged,
        "alias_rows": merged,
        "available_was_null": found[AVAILABLE].null_count(),
        "created_at_is_null": found[CREATED_AT].null_count(),
    }
    kept = found.select(ITEM_ID, CREATED_AT, pl.col(AVAILABLE).fill_null(False), *own)
    return Table(kept, {**counts, "available": int(kept[AVAILABLE].sum())})


def _created(rows: pl.LazyFrame, items: Items, path: str) -> pl.LazyFrame:
    """Returns the rows with created_at as moments, null where the table has no such column."""
    names = rows.collect_schema().names()
    column = items.created_at or CREATED_AT
    if column not in names:
        if items.created_at is None and items.timestamp_unit is None:
            return rows.with_columns(pl.lit(None, TIMESTAMP_DTYPE).alias(CREATED_AT))
        key = "created_at" if items.created_at is not None else "timestamp_unit"
        raise ConfigError(
            Problem(
                f"unknown column {column!r} in the items table.{did_you_mean(column, names)} "
                f"Columns: {listed(names)}",
                f"{path}.{key}",
            )
        )
    if column != CREATED_AT and CREATED_AT in names:
        text = f"the items table has a column created_at already, beside {column!r}: which is it?"
        raise ConfigError(Problem(text, f"{path}.created_at"))
    rows = rows.with_columns(pl.col(column).alias(CREATED_AT))
    unit, zone = items.timestamp_unit, items.timezone
    return normalise_times(rows, unit=unit, zone=zone, path=path, column=CREATED_AT)


def _available(rows: pl.LazyFrame, items: Items, path: str) -> pl.LazyFrame:
    """Returns the rows with whether they can be listed; may be null."""
    rows = widen_numbers(rows, (ITEM_ID, CREATED_AT))
    schema = rows.collect_schema()
    rule = items.available
    if rule is None:
        if AVAILABLE not in schema:
            return rows.with_columns(pl.lit(True).alias(AVAILABLE))
        rule = AVAILABLE
    listable = compile_rule(
        rule, schema, path=f"{path}.available", kind="boolean", source="the items table"
    )
    return rows.with_columns(listable.alias(AVAILABLE))


def _merged(
    rows: pl.LazyFrame, aliases: pl.DataFrame | None, path: str
) -> tuple[pl.LazyFrame, int]:
    """Returns the rows under the ids of their items, and how many of aliases were dropped."""
    if aliases is None:
        return rows, 0
    renamed = apply_aliases(rows, aliases, what=path)
    own = rows.select(ITEM_ID)
    doubled = aliases.lazy().join(own, on=ITEM_ID, how="semi").select(pl.col(ALIAS).alias(ITEM_ID))
    with reading(path, time=CREATED_AT):
        dropped = own.join(doubled, on=ITEM_ID, how="semi").collect(engine="streaming").height
    if not dropped:
        return renamed, 0
    left = rows.join(doubled, on=ITEM_ID, how="anti", maintain_order="left")
    return apply_aliases(left, aliases, what=path), dropped


def _check_times(table: pl.DataFrame, path: str) -> None:
    """Raises if an item was created outside the calendar."""
    checks = [outside_calendar(CREATED_AT)]
    counts = table.select(count_bad(checks)).row(0, named=True)
    if problems := describe_bad(table.lazy(), checks, counts, path=path):
        raise DataError(*problems)
