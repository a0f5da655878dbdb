"""Recommendations at the edge: frames and files as lists in the long layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from recoeval.columns import GENERATOR, ITEM_ID, QUERY_ID, RANK, SCORE, USER_ID
from recoeval.data.delivery import Order, Tie, deliver, find_order
from recoeval.data.failures import dtype_name, listed, reading
from recoeval.data.formats import Format, open_table
from recoeval.data.frames import FLOAT_LIMIT, IdType, normalise_ids, rename, to_frame, whole_numbers
from recoeval.data.listcheck import ListFacts, check_lists
from recoeval.data.rowchecks import RowCheck, count_bad, describe_bad, outside_calendar, show
from recoeval.data.times import TimestampUnit, normalise_times
from recoeval.data.trec import scan_run, sniff
from recoeval.errors import ConfigError, DataError, Problem, did_you_mean

__all__ = [
    "AS_OF",
    "ListFacts",
    "Order",
    "Part",
    "Tie",
    "check_lists",
    "deliver",
    "find_order",
    "is_trec_run",
    "read_built",
    "read_lists",
    "read_values",
]

AS_OF: Final = "as_of"
"""Column of the time when a list was built."""

EVALUATED: Final = "recs"
"""Name of the lists that `evaluate` gets: no configuration says how their columns are named."""
_THEIRS: Final = {USER_ID: "uid", ITEM_ID: "vid", RANK: "pos"}
"""Names that others give these columns, for examples."""
_MAPPING: Final = (
    "got a dict, not a frame: of columns pl.DataFrame makes one, and lists of several generators "
    "stand in one frame with a column generator"
)

# Integers with more digits than Float64.
_LONG: Final = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)


@dataclass(frozen=True, slots=True)
class Part:
    """What of some files is read.

    Args:
        stem: only files of this name, endings left out; None: all files.
        column: the column that tells rows apart, under our name; text files keep it as text.
        value: of the column, as text; None: all rows.
    """

    stem: str | None = None
    column: str | None = None
    value: str | None = None

    def of(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows that have the value."""
        if self.column is None or self.value is None:
            return rows
        return rows.filter(pl.col(self.column).cast(pl.String) == self.value)


def is_trec_run(obj: object) -> bool:
    """Returns whether an object is the path of a TREC run file."""
    return isinstance(obj, str | Path) and sniff(obj) == "run"


def read_lists(
    obj: object,
    *,
    what: str = EVALUATED,
    columns: Mapping[str, str] | None = None,
    form: Format | None = None,
    query_id_type: IdType = "auto",
    item_id_type: IdType = "auto",
    users_are_queries: bool = True,
    by_user: bool = False,
    part: Part = Part(),
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
        users_are_queries: whether user_id may stand for query_id.
        by_user: user_id names a list, also where there is a query_id as well.
        part: which of the files and rows; all by default.

    Returns:
        generator (String, if there is one), query_id, item_id (Int64 or String), rank
        (Int64) or score (Float64) or both. Other columns are left out.

    Raises:
        ConfigError: a dict, an unknown name in `columns`.
        DataError: unreadable, or without query_id (or user_id), item_id, and rank or score;
            integer scores above 2^53 without ranks.
    """
    rows, text = _open(obj, what, columns or {}, form, part)
    schema = rows.collect_schema()
    query = _query_column(schema, by_user=by_user)
    if missing := _missing(schema, what):
        raise DataError(*missing)
    if QUERY_ID not in schema and not users_are_queries:
        reason = "no column query_id, and the queries of the truth are not its users"
        raise DataError(Problem(reason, what))
    kept = [name for name in (GENERATOR, query, ITEM_ID, RANK, SCORE) if name in schema]
    rows = rows.select(kept).rename({query: QUERY_ID}, strict=False)
    rows = _long(rows, what)
    types: dict[str, IdType] = {QUERY_ID: query_id_type, ITEM_ID: item_id_type}
    rows = normalise_ids(rows, (QUERY_ID, ITEM_ID), types, what=what, text=text)
    return _typed(rows, what)


def read_built(
    obj: object,
    column: str,
    *,
    what: str,
    columns: Mapping[str, str] | None = None,
    form: Format | None = None,
    query_id_type: IdType = "auto",
    unit: TimestampUnit | None = None,
    zone: str | None = None,
    part: Part = Part(),
) -> pl.LazyFrame:
    """Returns when each list was built: query_id, as_of (Datetime[us], UTC); distinct rows.

    A list whose rows differ in it has several.

    Args:
        obj: as for `read_lists`.
        column: the column of times, under our name.
        what: name of the lists in errors: "lists[als]".
        columns: our name -> the name in the data.
        form: how text files are written.
        query_id_type: auto, int or text.
        unit: of numbers since 1970 (s, ms, us), or iso for text.
        zone: IANA time zone of times without one; default UTC.
        part: which of the files and rows; all by default.

    Raises:
        ConfigError: an unknown column, a unit that is missing or does not fit.
        DataError: unreadable, a dtype that holds no time, rows without it, times of no calendar.
    """
    rows, text = _open(obj, what, columns or {}, form, part)
    schema = rows.collect_schema()
    query = _query_column(schema, by_user=True)
    if column not in schema:
        known = f"{did_you_mean(column, schema)} Columns: {listed(schema)}"
        raise ConfigError(Problem(f"unknown column {column!r} in {obj}.{known}", f"{what}.{AS_OF}"))
    built = rows.select(pl.col(query).alias(QUERY_ID), pl.col(column).alias(AS_OF))
    types: dict[str, IdType] = {QUERY_ID: query_id_type}
    built = normalise_ids(built, (QUERY_ID,), types, what=what, text=text)
    built = normalise_times(built, unit=unit, zone=zone, path=what, column=AS_OF)
    checks = [
        RowCheck(AS_OF, pl.col(AS_OF).is_null(), f"without {AS_OF}", (QUERY_ID,)),
        outside_calendar(AS_OF),
    ]
    with reading(what, time=AS_OF):
        found = built.unique().sort(QUERY_ID, AS_OF).collect(engine="streaming")
        counts = found.select(count_bad(checks)).row(0, named=True)
        if problems := describe_bad(found.lazy(), checks, counts, path=what):
            raise DataError(*problems)
    return found.lazy()


def read_values(
    obj: object,
    column: str,
    *,
    what: str,
    place: str,
    columns: Mapping[str, str] | None = None,
    form: Format | None = None,
) -> list[str]:
    """Returns the distinct values of a column of text or whole numbers, as text, in order.

    Args:
        obj: as for `read_lists`.
        column: the column, under our name.
        what: name of the lists in errors: "lists[als]".
        place: where the user named the column, below `what`: "systems.column".
        columns: our name -> the name in the data.
        form: how text files are written.

    Raises:
        ConfigError: an unknown column.
        DataError: unreadable, a column of another type, rows without a value.
    """
    rows, _ = _open(obj, what, columns or {}, form, Part(column=column))
    schema = rows.collect_schema()
    if column not in schema:
        known = f"{did_you_mean(column, schema)} Columns: {listed(schema)}"
        raise ConfigError(Problem(f"unknown column {column!r} in {obj}.{known}", f"{what}.{place}"))
    dtype = schema[column]
    if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
        text = f"{dtype_name(dtype)}; expected text or whole numbers"
        raise DataError(Problem(text, f"{what}.{column}"))
    with reading(what):
        counts = rows.group_by(pl.col(column).cast(pl.String)).len().collect(engine="streaming")
    without = counts.filter(pl.col(column).is_null())["len"].sum()
    if without:
        text = f"{without} row{'s' if without > 1 else ''} without {column}"
        raise DataError(Problem(text, f"{what}.{column}"))
    return sorted(counts[column])


def _query_column(schema: pl.Schema, *, by_user: bool) -> str:
    """Returns the column that names a list."""
    return USER_ID if QUERY_ID not in schema or (by_user and USER_ID in schema) else QUERY_ID


def _open(
    obj: object,
    what: str,
    columns: Mapping[str, str],
    form: Format | None,
    part: Part = Part(),
) -> tuple[pl.LazyFrame, bool]:
    """Returns the rows under our names, and whether they come from a text file."""
    if not isinstance(obj, str | Path):
        if isinstance(obj, Mapping):
            raise ConfigError(Problem(_MAPPING, what))
        rows, text, said = to_frame(obj, what=what), False, "the frame"
    elif form is None and is_trec_run(obj):
        return scan_run(obj), False
    else:
        texts = [QUERY_ID, USER_ID, ITEM_ID, *([part.column] if part.column else [])]
        ids = {columns.get(name, name) for name in texts}
        opened = open_table(obj, form, said=what, ids=ids, stem=part.stem)
        rows, text, said = opened.frame, opened.text, str(obj)
    return part.of(rename(rows, columns, path=f"{what}.columns", said=said)), text


def _missing(schema: pl.Schema, what: str) -> list[Problem]:
    """Returns a problem for each column that lists need and these do not have."""
    lacking = []
    if QUERY_ID not in schema and USER_ID not in schema:
        lacking.append(("query_id or user_id", USER_ID, "it"))
    if ITEM_ID not in schema:
        lacking.append((ITEM_ID, ITEM_ID, "it"))
    elif RANK not in schema and SCORE not in schema and not _is_nested(schema[ITEM_ID]):
        lacking.append(("rank or score", RANK, "one"))
    problems = []
    for names, name, one in lacking:
        remedy = f"Name {one}: columns: {{{name}: ...}}"
        if what == EVALUATED:
            remedy = f'Rename {one}, e.g. .rename({{"{_THEIRS[name]}": "{name}"}})'
        problems.append(Problem(f"no column {names}. Columns: {listed(schema)}. {remedy}", what))
    return problems


def _is_nested(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List | pl.Array)


def _long(rows: pl.LazyFrame, what: str) -> pl.LazyFrame:
    """Returns one row an item of lists that may be nested; empty lists leave no row.

    Raises:
        DataError: list columns beside plain ones, or of different lengths.
    """
    schema = rows.collect_schema()
    per_item = [name for name in (ITEM_ID, RANK, SCORE) if name in schema]
    nested = [name for name in per_item if _is_nested(schema[name])]
    if not nested:
        return rows
    if plain := [name for name in per_item if name not in nested]:
        raise DataError(
            Problem(
                f"{', '.join(nested)} hold a list in each row, {', '.join(plain)} one value: "
                "write all of them as lists, or one row an item",
                what,
            )
        )
    rows = rows.with_columns(
        pl.col(name).arr.to_list() for name in nested if isinstance(schema[name], pl.Array)
    )
    if len(nested) == 1:
        # The place in the list is the rank.
        places = pl.int_ranges(1, pl.col(ITEM_ID).list.len() + 1, dtype=pl.Int64)
        rows, nested = rows.with_columns(places.alias(RANK)), [*nested, RANK]
    _check_lengths(rows, nested, what)
    return rows.filter(pl.col(ITEM_ID).list.len() > 0).explode(nested)


def _check_lengths(rows: pl.LazyFrame, nested: list[str], what: str) -> None:
    """Raises unless the lists of each row are equally long; a null is an empty list."""
    lengths = [pl.col(name).list.len().fill_null(0) for name in nested]
    bad = rows.filter(pl.any_horizontal(length != lengths[0] for length in lengths[1:]))
    with reading(what):
        count = bad.select(pl.len()).collect(engine="streaming").item()
        if count:
            raise DataError(
                Problem(
                    f"{', '.join(nested)} differ in length in {count} "
                    f"row{'s' if count > 1 else ''}, e.g. {QUERY_ID} {show(bad, (QUERY_ID,))}",
                    what,
                )
            )


def _typed(rows: pl.LazyFrame, what: str) -> pl.LazyFrame:
    """Returns the rows with rank as Int64, score as Float64, generator as text."""
    schema = rows.collect_schema()
    rank, score = schema.get(RANK, pl.Null()), schema.get(SCORE, pl.Null())
    problems = []
    if not (rank.is_integer() or rank.is_float() or rank == pl.Null):
        text = f"{dtype_name(rank)}; expected whole numbers from 1"
        problems.append(Problem(text, f"{what}.{RANK}"))
    if not (score.is_numeric() or score == pl.Null):
        problems.append(Problem(f"{dtype_name(score)}; expected numbers", f"{what}.{SCORE}"))
    if problems:
        raise DataError(*problems)
    casts = []
    if RANK in schema and (whole := whole_numbers(RANK, rank)) is not None:
        casts.append(whole)
    if SCORE in schema and score != pl.Float64:
        casts.append(pl.col(SCORE).cast(pl.Float64))
    if GENERATOR in schema and schema[GENERATOR] != pl.String:
        casts.append(pl.col(GENERATOR).cast(pl.String))
    if RANK not in schema and score in _LONG:
        _check_digits(rows, what)
    order = [name for name in (GENERATOR, QUERY_ID, ITEM_ID, RANK, SCORE) if name in schema]
    return rows.with_columns(casts).select(order)


def _check_digits(rows: pl.LazyFrame, what: str) -> None:
    """Raises if scores are integers that Float64 cannot tell from their neighbours."""
    score = pl.col(SCORE)
    bad = rows.filter((score > FLOAT_LIMIT) | (score < -FLOAT_LIMIT))
    with reading(what):
        if bad.head(1).collect(engine="streaming").height:
            raise DataError(
                Problem(
                    "scores above 2^53 lose digits: give rank, or scale them; "
                    f"e.g. {show(bad, (SCORE,))}",
                    f"{what}.{SCORE}",
                )
            )
