"""Exposures: which items were shown to whom in the test window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from recoeval.columns import ITEM_ID, USER_ID
from recoeval.component import Component
from recoeval.data.rules import compile_rule
from recoeval.errors import DataError, Problem

__all__ = ["Exposed", "Exposures", "find_exposed"]


class Exposures(Component):
    """Which rows of the test window say that an item was shown."""

    where: str
    """SQL rule over the log's columns; a null result is no exposure, and counted."""


@dataclass(frozen=True, slots=True)
class Exposed:
    """Pairs that were shown.

    Args:
        pairs: user_id, item_id; distinct.
        counts: rows that are exposures, rows whose rule was null, distinct pairs.
    """

    pairs: pl.DataFrame
    counts: Mapping[str, int]


def find_exposed(
    rows: pl.LazyFrame, exposures: Exposures, *, source: str, path: str = "exposures"
) -> Exposed:
    """Returns the distinct pairs that were shown.

    Args:
        rows: rows of the test window.
        exposures: the rule.
        source: the log's name, for errors.
        path: of the section in the configuration, for errors.

    Raises:
        ConfigError: a rule that does not parse, names unknown columns or is not boolean.
        DataError: no row passes.
    """
    schema = rows.collect_schema()
    shown = compile_rule(
        exposures.where, schema, path=f"{path}.where", kind="boolean", source=source
    )
    marked = rows.select(USER_ID, ITEM_ID, shown.alias("shown"))
    counts, pairs = pl.collect_all(
        [
            marked.select(
                pl.len().alias("rows"),
                pl.col("shown").sum().alias("exposure_rows"),
                pl.col("shown").is_null().sum().alias("exposure_was_null"),
            ),
            marked.filter("shown").select(USER_ID, ITEM_ID).unique(),
        ],
        engine="streaming",
    )
    total, exposed, null = counts.row(0)
    if not exposed:
        nulls = f", for {null} it is null" if null else ""
        raise DataError(
            Problem(
                f"none of the {total} rows of the test window passes {exposures.where!r}{nulls}",
                f"{path}.where",
            )
        )
    return Exposed(
        pairs,
        {"exposure_rows": exposed, "exposure_was_null": null, "exposed_pairs": pairs.height},
    )
