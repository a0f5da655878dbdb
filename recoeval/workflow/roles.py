"""What stands beside the log: other ids of items, users, the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from recoeval.columns import QUOTA
from recoeval.data.items import read_items
from recoeval.data.users import Users, drop_users, read_user_table
from recoeval.workflow.config import Config

__all__ = ["Roles", "leave_out_users", "read_roles"]


@dataclass(frozen=True, slots=True)
class Roles:
    """The tables beside the log; None where there is none.

    Args:
        aliases: alias, item_id: other ids of items.
        items: item_id, created_at, available, the table's own columns.
        users: user_id and attributes.
        counts: by role what was read, renamed and left out.
    """

    aliases: pl.DataFrame | None = None
    items: pl.DataFrame | None = None
    users: pl.DataFrame | None = None
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def counting(self, renamed: Mapping[str, int], dropped: Mapping[str, int]) -> Roles:
        """Returns the same tables, with what aliases renamed and which users were left out."""
        counts = {
            "canonical_items": renamed,
            **self.counts,
            "users": {**dropped, **self.counts.get("users", {})},
        }
        return replace(self, counts={role: own for role, own in counts.items() if own})


def leave_out_users(
    sides: Mapping[str, pl.LazyFrame], users: Users | None
) -> tuple[dict[str, pl.LazyFrame], dict[str, int]]:
    """Returns the rows without users who are left out, and what was left out.

    Args:
        sides: the rows of the log by source.
        users: whom to leave out; a user leaves all sides.
    """
    return (dict(sides), {}) if users is None else drop_users(sides, users)


def read_roles(config: Config, aliases: pl.DataFrame | None, log: pl.LazyFrame) -> Roles:
    """Returns the tables of users and items.

    Args:
        config: the configuration.
        aliases: alias, item_id: other ids of items; they are replaced in the items table.
        log: user_id, item_id of all rows that are left, aliases replaced.

    Raises:
        ConfigError: columns or rules that do not fit the tables.
        DataError: tables that are missing, unreadable or wrong, or of other ids than the log's.
    """
    roles = Roles(aliases)
    if config.users is not None and config.users.table is not None:
        table = read_user_table(config.users, log)
        users = _with_whole_quotas(table.rows)
        roles = replace(roles, users=users, counts={"users": table.counts})
    if config.items is not None:
        table = read_items(config.items, log, aliases=aliases)
        roles = replace(roles, items=table.rows, counts={**roles.counts, "items": table.counts})
    return roles


def _with_whole_quotas(users: pl.DataFrame) -> pl.DataFrame:
    whole = QUOTA in users.columns and users.schema[QUOTA].is_integer()
    return users.with_columns(pl.col(QUOTA).cast(pl.Int64)) if whole else users
