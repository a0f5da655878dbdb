"""Precomputed: lists that something else made, read from files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import polars as pl
from pydantic import Field

from recoeval import columns as c
from recoeval.data.delivery import Tie, deliver, find_order
from recoeval.data.failures import reading
from recoeval.data.formats import Format
from recoeval.data.frames import IdType
from recoeval.data.lists import is_trec_run, read_lists
from recoeval.errors import ConfigError, DataError, Problem, some
from recoeval.generators.base import Fitted, Generator, Train

__all__ = ["Files", "Precomputed"]


class Precomputed(Generator):
    """Lists from files, as they were delivered.

    One row an item, or one row a query with list columns: user_id (or query_id), item_id, rank
    or score or both. Parquet, csv, ndjson, Arrow IPC or a TREC run file.

    Nothing is learned, so the files may serve cold users and list cold items. The lists are
    handed on whole: seen items, repeated items and items beyond k are still in them. Whoever
    prepares the lists removes and counts these; the list-quality metrics need them.
    """

    serves_cold_users: ClassVar[bool] = True
    serves_cold_items: ClassVar[bool] = True
    block: ClassVar[int | None] = None

    type: Literal["precomputed"] = "precomputed"
    path: str
    """A file, a glob or a folder; all files have one format. "~" is expanded."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Our name -> the name in the files: {user_id: uid, item_id: vid, rank: pos}."""
    format: Format | None = None
    """How text files are written. Default: by the ending, with a header."""
    user_id_type: IdType = "auto"
    """Type of the user (or query) ids: auto, int or text. It has to be the type of the log's."""
    item_id_type: IdType = "auto"
    """Type of the item ids: auto, int or text. It has to be the type of the log's."""

    def fit(self, train: Train) -> Fitted:
        """Returns the lists, opened and not yet read.

        Raises:
            ConfigError: `columns` or `format` do not fit the files.
            DataError: no such file, unreadable, or without the columns that lists need.
        """
        run = self.format is None and is_trec_run(self.path)
        return Files(self.read(), "descending" if run else "ascending")

    def read(self, what: str = "lists") -> pl.LazyFrame:
        """Returns the rows of the files: query_id, item_id, rank or score or both; not in order.

        Args:
            what: name of the lists in errors about data: "lists[two_tower]".

        Raises:
            ConfigError: `columns` or `format` do not fit the files; the paths of the problems
                begin at this generator.
            DataError: as `fit`, or lists of several generators in one place.
        """
        try:
            lists = read_lists(
                self.path,
                what=what,
                columns=self.columns,
                form=self.format,
                query_id_type=self.user_id_type,
                item_id_type=self.item_id_type,
                by_user=True,
            )
        except ConfigError as error:
            raise ConfigError(
                *(
                    replace(problem, path=problem.path.removeprefix(what).lstrip(".") or "path")
                    for problem in error.problems
                )
            ) from error
        if c.GENERATOR not in lists.collect_schema().names():
            return lists
        with reading(what):
            found = lists.select(pl.col(c.GENERATOR).unique().sort()).collect(engine="streaming")
        if found.height > 1:
            raise DataError(
                Problem(
                    f"lists of {found.height} generators in {self.path}: "
                    f"{some(found[c.GENERATOR])}. Write each to files of its own",
                    what,
                )
            )
        return lists.drop(c.GENERATOR)


@dataclass(frozen=True, slots=True)
class Files:
    """Lists in files, opened and not yet read.

    Args:
        lists: query_id, item_id, rank or score or both; checked by whoever scores them.
        tie: how equal scores are ordered by item id.
    """

    lists: pl.LazyFrame
    tie: Tie

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the delivered lists of the queries, whole; the score is null if there is none."""
        asked = queries.lazy().select(c.QUERY_ID)
        # Leaving out whole lists keeps ranks 1..n what they are.
        ranked = find_order(self.lists, tie=self.tie) == "ranked"
        left = self.lists.join(asked, on=c.QUERY_ID, how="semi")
        lists = deliver(left, tie=self.tie, order="ranked" if ranked else "unknown")
        if c.SCORE not in lists.collect_schema().names():
            lists = lists.with_columns(pl.lit(None, pl.Float64).alias(c.SCORE))
        return lists.select(c.QUERY_ID, c.ITEM_ID, c.RANK, c.SCORE)
