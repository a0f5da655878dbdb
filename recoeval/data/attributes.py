"""Tables of users and items: one row an id, whatever the file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recoeval.columns import TIMESTAMP
from recoeval.data.failures import listed, reading
from recoeval.data.formats import Format, open_table
from recoeval.data.frames import IdType, normalise_ids, rename, to_frame
from recoeval.data.rowchecks import show
from recoeval.errors import DataError, Problem

__all__ = ["Table", "one_row_each", "open_attributes"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that was read.

    Args:
        rows: one row an id.
        counts: rows read, and those that were dropped.
    """

    rows: pl.DataFrame
    counts: Mapping[str, int]


def open_attributes(
    table: object,
    *,
    ids: Mapping[str, IdType],
    what: str,
    columns: Mapping[str, str] | None = None,
    form: Format | None = None,
    said: str | None = None,
) -> pl.LazyFrame:
    """Returns a table under our names, with its ids as Int64 or String; not yet read.

    Args:
        table: a frame, or the path of files.
        ids: the id columns that it must have, with their types.
        what: name of the table in errors, and its place in the configuration: "items".
        columns: our name -> the name in the data.
        form: how text files are written.
        said: where the user named the path, for errors; default `what`.

    Raises:
        ConfigError: an unknown name in `columns`.
        DataError: nothing is there, unreadable, or without the ids.
    """
    names = columns or {}
    text, called = False, "the frame"
    if isinstance(table, str | Path):
        theirs = {names.get(name, name) for name in ids}
        opened = open_table(table, form, said=said or what, ids=theirs)
        rows, text, called = opened.frame, opened.text, str(table)
    else:
        rows = to_frame(table, what=what)
    rows = rename(rows, names, path=f"{what}.columns", said=called)
    present = rows.collect_schema().names()
    missing = [
        Problem(f"no column {name} in {called}. Columns: {listed(present)}", said or what)
        for name in ids
        if name not in present
    ]
    if missing:
        raise DataError(*missing)
    return normalise_ids(rows, list(ids), ids, what=what, text=text)


def one_row_each(
    rows: pl.LazyFrame, key: str, *, what: str, said: str | None = None, time: str = TIMESTAMP
) -> Table:
    """Returns the rows, read, sorted by their id; rows that are equal to another are dropped.

    Args:
        rows: a table with an id.
        key: the id.
        what: name of the table in errors: "items".
        said: where the user named the path, for errors; default `what`.
        time: the column of times.

    Raises:
        DataError: no rows, rows without id, or an id with rows that differ.
    """
    with reading(what, time=time):
        found = rows.collect(engine="streaming")
    if found.is_empty():
        raise DataError(Problem("no rows", said or what))
    if nameless := found[key].null_count():
        number = "1 row" if nameless == 1 else f"{nameless} rows"
        raise DataError(Problem(f"{number} without {key}", f"{what}.{key}"))
    distinct = found.unique()
    twice = distinct.filter(pl.col(key).is_duplicated())
    if twice.height:
        count = twice[key].n_unique()
        number = f"1 {key} has" if count == 1 else f"{count} {key}s have"
        raise DataError(
            Problem(
                f"{number} several rows that differ, e.g. {show(twice.lazy(), (key,))}; "
                "the table has one row for each",
                f"{what}.{key}",
            )
        )
    counts = {"rows": found.height, "identical_rows": found.height - distinct.height}
    return Table(distinct.sort(key), counts)
