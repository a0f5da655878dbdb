"""Recommendations at the edge: read, checked, and put into the order of their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import polars as pl

from recoeval.columns import FOLD, GENERATOR, ITEM_ID, QUERY_ID, RANK, SCORE, USER_ID
from recoeval.data.failures import listed, reading
from recoeval.data.formats import Format, open_table
from recoeval.data.frames import IdType, normalise_ids, rename, to_frame
from recoeval.data.trec import scan_run, sniff
from recoeval.errors import DataError, Problem

__all__ = ["ListFacts", "check_lists", "deliver", "is_trec_run", "read_lists"]

_KEYS: Final = (FOLD, GENERATOR, QUERY_ID)


def is_trec_run(obj: object) -> bool:
    """Returns whether an object is the path of a TREC run file."""
    return isinstance(obj, str | Path) and sniff(obj) == "run"


def read_lists(
    obj: object,
    *,
    what: str = "recs",
    columns: Mapping[str, str] | None = None,
    form: Format | None = None,
    query_id_type: IdType = "auto",
    item_id_type: IdType = "auto",
) -> pl.LazyFrame:
    """Returns lists in the long layout, normalised, not yet checked row by row.

    Args:
        obj: a frame, or the path or glob of files; long (one row an item), or one row a
            query with list columns. A TREC run file is read as such.
        what: name of the lists in errors: "recs", "lists[als]".
        columns: our name -> the name in the data.
        form: how text files are written.
        query_id_type: auto, int or text.
        item_id_type: auto, int or text.

    Returns:
        generator (String, if there is one), query_id, item_id (Int64 or String), rank
        (Int64) or score (Float64) or both. Other columns are left out.

    Raises:
        ConfigError: an unknown name in `columns`.
        DataError: unreadable, or without query_id (or user_id), item_id, and rank or score.
    """
    rows, text = _open(obj, what, columns or {}, form)
    names = rows.collect_schema().names()
    query = QUERY_ID if QUERY_ID in names else USER_ID
    if missing := _missing(names, what):
        raise DataError(*missing)
    kept = [name for name in (GENERATOR, query, ITEM_ID, RANK, SCORE) if name in names]
    rows = rows.select(kept).rename({query: QUERY_ID}, strict=False)
    rows = _long(rows, what)
    types: dict[str, IdType] = {QUERY_ID: query_id_type, ITEM_ID: item_id_type}
    rows = normalise_ids(rows, (QUERY_ID, ITEM_ID), types, what=what, text=text)
    return _typed(rows, what)


def _open(
    obj: object, what: str, columns: Mapping[str, str], form: Format | None
) -> tuple[pl.LazyFrame, bool]:
    """Returns the rows under our names, and whether they come from a text file."""
    if not isinstance(obj, str | Path):
        rows, text, said = to_frame(obj, what=what), False, "the frame"
    elif form is None and is_trec_run(obj):
        return scan_run(obj), False
    else:
        ids = {columns.get(name, name) for name in (QUERY_ID, USER_ID, ITEM_ID)}
        opened = open_table(obj, form, said=what, ids=ids)
        rows, text, said = opened.frame, opened.text, str(obj)
    return rename(rows, columns, path=f"{what}.columns", said=said), text


def _missing(names: list[str], what: str) -> list[Problem]:
    """Returns a problem for each column that lists need and these do not have."""
    columns = f"Columns: {listed(names)}"
    problems = []
    if QUERY_ID not in names and USER_ID not in names:
        text = f"no column query_id or user_id. {columns}. Name it: columns: {{user_id: ...}}"
        problems.append(Problem(text, what))
    if ITEM_ID not in names:
        text = f"no column item_id. {columns}. Name it: columns: {{item_id: ...}}"
        problems.append(Problem(text, what))
    if RANK not in names and SCORE not in names:
        text = f"no column rank or score. {columns}. Name one: columns: {{rank: ...}}"
        problems.append(Problem(text, what))
    return problems


def _long(rows: pl.LazyFrame, what: str) -> pl.LazyFrame:
    """Returns one row an item of lists that may be nested."""
    schema = rows.collect_schema()
    nested = [name for name, dtype in schema.items() if isinstance(dtype, pl.List | pl.Array)]
    if not nested:
        return rows
    return rows.explode(nested)


def _typed(rows: pl.LazyFrame, what: str) -> pl.LazyFrame:
    """Returns the rows with rank as Int64, score as Float64, generator as text."""
    schema = rows.collect_schema()
    targets = {RANK: pl.Int64, SCORE: pl.Float64, GENERATOR: pl.String}
    return rows.with_columns(
        pl.col(name).cast(target)
        for name, target in targets.items()
        if name in schema and schema[name] != target
    )


def deliver(
    lists: pl.LazyFrame, *, tie: Literal["ascending", "descending"] = "ascending"
) -> pl.LazyFrame:
    """Returns the lists in delivered order, ranks 1..n.

    Args:
        lists: of `read_lists`.
        tie: order of equal scores by item id.

    Returns:
        fold and generator if present, query_id, item_id, rank (Int64), score (Float64, if
        present); sorted by query, then rank. Repeated rows are still there.
    """
    names = lists.collect_schema().names()
    keys = [name for name in _KEYS if name in names]
    scored = [SCORE] if SCORE in names else []
    if RANK in names:
        by, falling = [RANK, ITEM_ID, *scored], [False, False, *(True for _ in scored)]
    else:
        by, falling = [SCORE, ITEM_ID], [True, tie == "descending"]
    ordered = lists.sort(*keys, *by, descending=[*(False for _ in keys), *falling], nulls_last=True)
    position = pl.int_range(pl.len(), dtype=pl.Int64)
    starts = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift()) for key in keys)
    first = pl.when(starts | (position == 0)).then(position).forward_fill()
    return ordered.select(*keys, ITEM_ID, (position - first + 1).alias(RANK), *scored)


@dataclass(frozen=True, slots=True)
class ListFacts:
    """What was found in the lists of a generator.

    Args:
        rows: rows read.
        identical_rows: rows that repeat another row.
        repeated_items: rows beyond the first of an item in a list, without identical rows.
        rank_gaps: lists whose ranks are not 1..n.
        disagreements: lists whose ranks and scores order the items differently.
    """

    rows: int
    identical_rows: int = 0
    repeated_items: int = 0
    rank_gaps: int = 0
    disagreements: int = 0


def check_lists(lists: pl.LazyFrame, *, what: str) -> ListFacts:
    """Returns the facts of lists after a check of their rows."""
    with reading(what):
        rows = lists.select(pl.len()).collect(engine="streaming").item()
    return ListFacts(rows=rows)
