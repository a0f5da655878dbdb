"""The users table, and users whose rows are left out: excluded ones and busy machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl
from pydantic import Field, model_validator

from recoeval.columns import TIMESTAMP, USER_ID
from recoeval.component import Component, Count
from recoeval.data.attributes import Table, one_row_each, open_attributes
from recoeval.data.common_ids import require_overlap, unlike_types
from recoeval.data.failures import reading
from recoeval.data.formats import Format
from recoeval.data.frames import IdType
from recoeval.errors import ConfigError, DataError, Problem

__all__ = ["Users", "drop_users", "read_user_table", "users_to_drop"]

_DAY: Final = "<day>"


class Users(Component):
    """What is known of users, and whose rows are left out of the log before anything else."""

    table: str | None = None
    """A table with one row a user: user_id and columns for buckets and quotas."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Our name -> the name in the table: {user_id: uid}."""
    format: Format | None = None
    """How text files are written."""
    user_id_type: IdType = "auto"
    """auto: integers stay integers, text stays text; int or text force it."""
    exclude: str | None = None
    """A table of user_id: all rows of these users leave the log, and are counted."""
    max_rows_per_day: Count | None = None
    """Users with more rows than this on a day (UTC) leave the log with all their rows."""

    @model_validator(mode="after")
    def _names_of_a_table(self) -> Users:
        if self.columns and self.table is None:
            raise ValueError("columns are those of the table: add table: users.parquet")
        return self


def read_user_table(
    users: Users, log: pl.LazyFrame, *, path: str = "users", frame: object | None = None
) -> Table:
    """Returns the users table, one row a user, sorted by user_id.

    Args:
        users: where it is.
        log: INTERACTIONS; the table needs ids of its type, and one in common.
        path: of the section in the configuration, for errors.
        frame: a frame that is read instead of the file.

    Raises:
        ConfigError: an unknown name in `columns`.
        DataError: unreadable or empty, without user_id, null ids, a user with rows that
            differ, ids of another type than the log's or none in common.
    """
    rows = open_attributes(
        users.table if frame is None else frame,
        ids={USER_ID: users.user_id_type},
        what=path,
        columns=users.columns,
        form=users.format,
        said=f"{path}.table",
    )
    table = one_row_each(rows, USER_ID, what=path, said=f"{path}.table")
    own = table.rows.lazy()
    if problem := unlike_types(own, log, USER_ID, path, "the log"):
        raise DataError(problem)
    require_overlap(own, log, USER_ID, path, "the log")
    return table


def users_to_drop(
    log: pl.LazyFrame, users: Users, *, path: str = "users"
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Returns the users whose rows are left out, and what they are.

    Args:
        log: user_id and, for max_rows_per_day, timestamp: all rows of the log.
        users: whom to leave out.
        path: of the section in the configuration, for errors.

    Returns:
        user_id; and for each rule that is given users and rows: excluded_users, excluded_rows,
        excluded_unknown (of the table, but not in the log), busy_users, busy_rows. A user that
        both rules name counts as excluded.

    Raises:
        ConfigError: max_rows_per_day, and the log has no times.
        DataError: an unreadable or empty table, null ids, or ids of another type than the log's.
    """
    schema = log.collect_schema()
    dropped = pl.DataFrame(schema={USER_ID: schema[USER_ID]})
    counts: dict[str, int] = {}
    if users.exclude is not None:
        listed = _excluded(users, log, f"{path}.exclude")
        found = _sizes(log.join(listed.lazy(), on=USER_ID, how="semi"))
        counts |= {
            "excluded_users": found.height,
            "excluded_rows": int(found["rows"].sum()),
            "excluded_unknown": listed.height - found.height,
        }
        dropped = found.select(USER_ID)
    if users.max_rows_per_day is not None:
        if TIMESTAMP not in schema:
            text = "needs times, and the log has none: leave it out"
            raise ConfigError(Problem(text, f"{path}.max_rows_per_day"))
        left = log.join(dropped.lazy(), on=USER_ID, how="anti")
        found = _sizes(left.join(_busy(left, users.max_rows_per_day), on=USER_ID, how="semi"))
        counts |= {"busy_users": found.height, "busy_rows": int(found["rows"].sum())}
        dropped = pl.concat([dropped, found.select(USER_ID)])
    return dropped.sort(USER_ID), counts


def drop_users(
    sides: Mapping[str, pl.LazyFrame], users: Users, *, path: str = "users"
) -> tuple[dict[str, pl.LazyFrame], dict[str, int]]:
    """Returns the log without the rows of users who are left out, and the counts of these.

    Args:
        sides: the rows of the log by source; a user leaves all of them.
        users: whom to leave out.
        path: of the section in the configuration, for errors.

    Raises:
        ConfigError: max_rows_per_day, and the log has no times.
        DataError: as `users_to_drop`, or no row is left.
    """
    if users.exclude is None and users.max_rows_per_day is None:
        return dict(sides), {}
    timed = all(TIMESTAMP in rows.collect_schema() for rows in sides.values())
    names = (USER_ID, TIMESTAMP) if timed else (USER_ID,)
    whole = pl.concat([rows.select(names) for rows in sides.values()])
    dropped, counts = users_to_drop(whole, users, path=path)
    if dropped.is_empty():
        return dict(sides), counts
    leaving = dropped.lazy()
    if whole.join(leaving, on=USER_ID, how="anti").head(1).collect(engine="streaming").is_empty():
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise DataError(Problem(f"no row of the log is left: {said}", path))
    left = {
        name: rows.join(leaving, on=USER_ID, how="anti", maintain_order="left")
        for name, rows in sides.items()
    }
    return left, counts


def _excluded(users: Users, log: pl.LazyFrame, path: str) -> pl.DataFrame:
    """Returns the distinct users of the exclude table."""
    rows = open_attributes(
        users.exclude,
        ids={USER_ID: users.user_id_type},
        what=path,
        form=users.format if users.table is None else None,
    )
    with reading(path):
        found = rows.select(USER_ID).unique().collect(engine="streaming")
    # A text file without rows does not tell the type of its ids.
    if found.is_empty():
        raise DataError(Problem("no rows; leave exclude out if there is nobody", path))
    if problem := unlike_types(found.lazy(), log, USER_ID, path, "the log"):
        raise DataError(problem)
    if found[USER_ID].null_count():
        raise DataError(Problem("has a null", f"{path}.{USER_ID}"))
    return found


def _busy(rows: pl.LazyFrame, most: int) -> pl.LazyFrame:
    """Returns the users with more rows than allowed on some day in UTC."""
    days = rows.select(USER_ID, pl.col(TIMESTAMP).dt.date().alias(_DAY))
    counts = days.group_by(USER_ID, _DAY).agg(pl.len().alias("rows"))
    return counts.filter(pl.col("rows") > most).select(USER_ID).unique()


def _sizes(rows: pl.LazyFrame) -> pl.DataFrame:
    """Returns the users with the number of their rows."""
    return rows.group_by(USER_ID).agg(pl.len().alias("rows")).collect(engine="streaming")
