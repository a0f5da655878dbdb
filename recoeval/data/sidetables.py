"""What may be given beside lists and truth: attributes of users, the catalogue, exposures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from recoeval.columns import (
    AVAILABLE,
    CREATED_AT,
    ITEM_ID,
    QUERY_ID,
    QUERY_TIME,
    QUOTA,
    RELEVANT,
    TIMESTAMP_DTYPE,
    TRAIN_INTERACTIONS,
    TRAIN_ROWS,
    USER_ID,
)
from recoeval.data.attributes import one_row_each
from recoeval.data.common_ids import require_overlap
from recoeval.data.failures import dtype_name, reading
from recoeval.data.inputs import rows_with_ids
from recoeval.data.policies import Truth
from recoeval.data.queries import queries_of_rows
from recoeval.data.times import TimestampUnit, normalise_times
from recoeval.errors import DataError, Problem, some

__all__ = ["Universe", "read_exposures", "read_items", "read_universe", "read_users"]

OURS = (RELEVANT, TRAIN_INTERACTIONS, TRAIN_ROWS, QUERY_TIME)
"""Names of facts about a query that are counted here."""


@dataclass(frozen=True, slots=True)
class Universe:
    """Everyone who could have been evaluated, and what is known of them; None if it is not.

    Args:
        queries: query_id, user_id.
        of_users: user_id and attributes; one row a user.
        of_queries: query_id and attributes; one row a query.
    """

    queries: pl.DataFrame | None = None
    of_users: pl.DataFrame | None = None
    of_queries: pl.DataFrame | None = None

    def check(self, asked: pl.DataFrame) -> None:
        """Checks that attributes are those of someone who is evaluated.

        Args:
            asked: query_id, user_id of the truth.

        Raises:
            DataError: no id in common.
        """
        for table, key in ((self.of_users, USER_ID), (self.of_queries, QUERY_ID)):
            if table is not None:
                require_overlap(table.lazy(), asked.lazy(), key, "users", "the truth")

    def describe(self, truth: Truth) -> Truth:
        """Returns the truth whose queries have their attributes."""
        if self.of_queries is None:
            return truth
        queries = truth.queries.join(
            self.of_queries, on=QUERY_ID, how="left", maintain_order="left"
        )
        return replace(truth, queries=queries)


def read_users(users: object | None, asked: pl.DataFrame) -> pl.DataFrame | None:
    """Returns the universe of queries: query_id, user_id.

    Args:
        users: user_id and query_id, or one of them: then a user asks the queries, and a query
            belongs to the user, that the truth names; whom it does not name is both.
        asked: query_id, user_id of the truth.

    Raises:
        DataError: missing columns, null ids, a query that belongs to several users, or ids that
            cannot stand for both.
    """
    if users is None:
        return None
    rows = rows_with_ids(users, "users", items=False)
    keys = [name for name in (QUERY_ID, USER_ID) if name in rows.collect_schema()]
    named = queries_of_rows(rows.select(keys), what="users")
    if any(named.schema[key] != asked.schema[key] for key in keys):
        return named  # For `check_ids` to refuse.
    if len(keys) == 1:
        return _completed(named, asked, keys[0])
    _refuse_other_users(named, asked)
    return named


def _completed(named: pl.DataFrame, asked: pl.DataFrame, key: str) -> pl.DataFrame:
    """Returns users with their queries, or queries with their users, as the truth has them.

    Args:
        named: the ids, distinct, as `key`.
        asked: query_id, user_id of the truth.
        key: which of the two is given. An id that the truth does not know stands for both.
    """
    other, want, who = USER_ID, "user", "queries"
    if key == USER_ID:
        other, want, who = QUERY_ID, "query", "users"
    target = asked.schema[other]
    alike = target in (pl.String, named.schema[key])
    itself = pl.col(key).cast(target) if alike else pl.lit(None, target)
    ids = named.select(key)
    new = ids.join(asked, on=key, how="anti").with_columns(itself.alias(other))
    nameless = new.filter(pl.col(other).is_null())[key].sort()
    taken = new.join(asked, on=other, how="semi")[key].sort()
    for bad, why in ((nameless, ""), (taken, f", and the id of each is that of another {want}")):
        if len(bad):
            text = f"{len(bad)} {who} have no {want} in the truth{why}, e.g. {some(bad)}"
            remedy = "queries: query_id" if key == USER_ID else "users: user_id"
            raise DataError(Problem(f"{text}; name their {remedy}", "users"))
    known = ids.join(asked, on=key)
    return pl.concat([each.select(QUERY_ID, USER_ID) for each in (known, new)])


def _refuse_other_users(named: pl.DataFrame, asked: pl.DataFrame) -> None:
    """Raises if a query has one user in the truth and another one here."""
    both = named.join(asked.rename({USER_ID: "asking"}), on=QUERY_ID)
    bad = both.filter(pl.col(USER_ID) != pl.col("asking"))[QUERY_ID].sort()
    if len(bad):
        text = f"{len(bad)} queries belong to several users, here and in the truth, e.g. "
        raise DataError(Problem(f"{text}{some(bad)}; a query has one user", f"users.{QUERY_ID}"))


def read_universe(users: object | None, asked: pl.DataFrame) -> Universe:
    """Returns the universe of queries, with the attributes that its table has.

    Args:
        users: user_id, query_id, or both, and columns for buckets and `quota`. They belong to
            the query where the table has query_id, else to the user.
        asked: query_id, user_id of the truth.

    Raises:
        DataError: missing columns, null ids, users whose queries have no name, rows of one user
            or query that differ, an attribute with a name that is ours.
    """
    if users is None:
        return Universe()
    rows = rows_with_ids(users, "users", items=False)
    queries = read_users(rows, asked)
    schema = rows.collect_schema()
    key = QUERY_ID if QUERY_ID in schema else USER_ID
    ours = [name for name in OURS if name in schema]
    if ours and key == QUERY_ID:
        text = f"this name is ours, and not read from here: rename column {ours[0]!r}, or drop it"
        raise DataError(Problem(text, f"users.{ours[0]}"))
    attributes = rows.drop(USER_ID, strict=False) if key == QUERY_ID else rows
    if QUOTA in schema and schema[QUOTA].is_integer():
        attributes = attributes.with_columns(pl.col(QUOTA).cast(pl.Int64))
    table = _one_row_each(attributes, key, "users")
    if all(table[name].dtype.is_nested() for name in table.columns if name != key):
        return Universe(queries)
    return Universe(queries, table, None) if key == USER_ID else Universe(queries, None, table)


def read_items(items: object | None) -> pl.DataFrame | None:
    """Returns the catalogue: item_id, created_at, available, and its own columns.

    Args:
        items: item_id; maybe created_at (a time, a date or ISO 8601 text, UTC where it names no
            zone; null: always there) and available (Boolean; without it all are).

    Raises:
        DataError: missing columns, null ids, rows of one item that differ, created_at that is
            no time, available that is not Boolean or null, or no rows.
    """
    if items is None:
        return None
    rows = rows_with_ids(items, "items", keys=())
    schema = rows.collect_schema()
    kind = schema.get(AVAILABLE, pl.Boolean())
    if kind != pl.Boolean:
        text = f"{dtype_name(kind)}, expected true and false"
        raise DataError(Problem(text, f"items.{AVAILABLE}"))
    new = {AVAILABLE: pl.lit(True), CREATED_AT: pl.lit(None, TIMESTAMP_DTYPE)}
    rows = rows.with_columns(each.alias(name) for name, each in new.items() if name not in schema)
    table = _one_row_each(_with_times(rows), ITEM_ID, "items")
    unknown = table.filter(pl.col(AVAILABLE).is_null())[ITEM_ID]
    if len(unknown):
        text = f"null for {len(unknown)} items, e.g. {some(unknown)}; expected true or false"
        raise DataError(Problem(text, f"items.{AVAILABLE}"))
    return table


def _with_times(items: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the items with created_at as Datetime[us], UTC."""
    dtype = items.collect_schema()[CREATED_AT]
    if not isinstance(dtype, pl.Datetime | pl.Date | pl.String | pl.Null):
        text = f"{dtype_name(dtype)} holds no time; expected times, dates or ISO 8601 text"
        raise DataError(Problem(text, f"items.{CREATED_AT}"))
    unit: TimestampUnit | None = "iso" if dtype == pl.String else None
    return normalise_times(items, unit=unit, zone=None, path="items", column=CREATED_AT)


def _one_row_each(rows: pl.LazyFrame, key: str, what: str) -> pl.DataFrame:
    """Returns the distinct rows, sorted by their id; of nested columns the dtype alone.

    Raises:
        DataError: no rows, or rows of one id that differ.
    """
    schema = rows.collect_schema()
    flat = [name for name, dtype in schema.items() if not dtype.is_nested() and dtype != pl.Object]
    # So that a bucket by such a column can be told what it is.
    nested = {name: dtype for name, dtype in schema.items() if dtype.is_nested()}
    table = one_row_each(rows.select(flat), key, what=what, time=CREATED_AT).rows
    return table.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in nested.items())


def read_exposures(exposures: object | None) -> pl.LazyFrame | None:
    """Returns the distinct pairs that were shown: user_id, item_id; None for None.

    Raises:
        DataError: missing columns, null ids, or no rows.
    """
    if exposures is None:
        return None
    rows = rows_with_ids(exposures, "exposures")
    if USER_ID not in rows.collect_schema():
        text = "an item is shown to a user: name the column user_id"
        raise DataError(Problem(text, "exposures"))
    with reading("exposures"):
        pairs = rows.select(USER_ID, ITEM_ID).unique().collect(engine="streaming")
    if pairs.is_empty():
        raise DataError(Problem("no rows", "exposures"))
    return pairs.lazy()
