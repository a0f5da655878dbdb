"""Precomputed: lists that something else made, read from files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final, Literal

import polars as pl
from pydantic import Field, PrivateAttr, field_validator, model_validator

from recoeval import columns as c
from recoeval.component import Component, Duration, parse_instant
from recoeval.data.aliases import apply_aliases
from recoeval.data.delivery import Tie, deliver, find_order
from recoeval.data.failures import reading
from recoeval.data.files import find_files, stem_of
from recoeval.data.formats import Format
from recoeval.data.frames import IdType
from recoeval.data.lists import AS_OF, Part, is_trec_run, read_built, read_lists, read_values
from recoeval.data.times import TimestampUnit, Zone
from recoeval.documents.rewriting import FOLD
from recoeval.errors import ConfigError, DataError, Problem, some
from recoeval.generators.base import Fitted, Generator, Train

__all__ = ["Files", "Precomputed", "SystemColumn"]

PER_FILE: Final = "per_file"


class SystemColumn(Component):
    """Lists of several systems in the same files, told apart by a column."""

    column: str
    """Its values are the names of the systems: text or whole numbers; a folder key=value too."""


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
    """A file, a glob or a folder; all files have one format. "~" is expanded, {date} is the day
    of the run, {fold} the number of the fold, from 0. Folders key=value are columns: `as_of` and
    `systems` can name them, and one called like a column of lists (rank=1) is that column."""
    systems: Literal["per_file"] | SystemColumn | None = None
    """Lists of several generators, each a generator of its own with the name KEY/SYSTEM.
    per_file: each file is a system, called like it; {column: model}: each value of the column."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Our name -> the name in the files: {user_id: uid, item_id: vid, rank: pos}."""
    format: Format | None = None
    """How text files are written. Default: by the ending, with a header."""
    user_id_type: IdType = "auto"
    """Type of the user (or query) ids: auto, int or text. It has to be the type of the log's."""
    item_id_type: IdType = "auto"
    """Type of the item ids: auto, int or text. It has to be the type of the log's."""
    as_of: str | None = None
    """When the lists were built: a column of the files, or a time: 2022-05-05T16:00:00Z. Lists
    built after the query time know the future."""
    max_age: Duration | None = None
    """How old a list may be at query time: 24h. Older ones are stale."""
    timestamp_unit: TimestampUnit | None = None
    """Of the column as_of: numbers since 1970 (s, ms, us), or iso for text; never guessed."""
    timezone: Zone | None = None
    """IANA time zone of times in the column as_of that have none; default: that of the log."""

    _system: str | None = PrivateAttr(None)

    @field_validator("as_of")
    @classmethod
    def _zoned(cls, text: str | None) -> str | None:
        if text is not None and _is_time(text):
            parse_instant(text)
        return text

    @model_validator(mode="after")
    def _known_age(self) -> Precomputed:
        if self.as_of is None and self.max_age is not None:
            raise ValueError("max_age needs to know when the lists were built: add as_of")
        keys = [key for key in ("timestamp_unit", "timezone") if getattr(self, key) is not None]
        if keys and (self.as_of is None or _is_time(self.as_of)):
            raise ValueError(f"{keys[0]} is that of the column as_of: name the column there")
        return self

    def in_zone(self, zone: str | None) -> Precomputed:
        """Returns the same lists, with a time zone for build times if they name none."""
        named = self.timezone is not None or self.as_of is None or _is_time(self.as_of)
        return self if named or zone is None else self.model_copy(update={"timezone": zone})

    def in_fold(self, number: int) -> Precomputed:
        """Returns the same lists with the fold in the path, if it names one."""
        if FOLD not in self.path:
            return self
        return self.model_copy(update={"path": self.path.replace(FOLD, str(number))})

    def one_system(self, name: str) -> Precomputed:
        """Returns the lists of one of the `systems`."""
        own = self.model_copy()
        own._system = name
        return own

    def system_names(self, what: str = "lists") -> list[str]:
        """Returns the names of the `systems`, in order; none without them.

        Args:
            what: name of the lists in errors about data: "lists[two_tower]".

        Raises:
            ConfigError: an unknown column; the path begins at this generator.
            DataError: no files, two files of one name, rows without a system.
        """
        if self.systems is None:
            return []
        if isinstance(self.systems, SystemColumn):
            with _relative(what):
                return read_values(
                    self.path,
                    self.systems.column,
                    what=what,
                    place="systems.column",
                    columns=self.columns,
                    form=self.format,
                )
        files: dict[str, str] = {}
        for file in find_files(self.path, said=what):
            other = files.setdefault(stem_of(file), file)
            if other != file:
                text = f"{other} and {file} would both be the system {stem_of(file)!r}: rename one"
                raise DataError(Problem(f"{text}, or systems: {{column: ...}}", what))
        return sorted(files)

    @property
    def source(self) -> str:
        """The path of its own files: of a system of `per_file` that file."""
        if self._part.stem is None:
            return self.path
        files = find_files(self.path, said="lists")
        return next((file for file in files if stem_of(file) == self._part.stem), self.path)

    @property
    def _part(self) -> Part:
        """What of the files it reads."""
        if self.systems is None:
            return Part()
        if self._system is None:
            text = "these are lists of several generators: read each of them (one_system)"
            raise ConfigError(Problem(text, "systems"))
        if isinstance(self.systems, SystemColumn):
            return Part(column=self.systems.column, value=self._system)
        return Part(stem=self._system)

    def fit(self, train: Train) -> Fitted:
        """Returns the lists, opened and not yet read.

        Raises:
            ConfigError: `columns` or `format` do not fit the files.
            DataError: no such file, unreadable, or without the columns that lists need.
        """
        run = self.format is None and is_trec_run(self.source)
        return Files(self.read(aliases=train.aliases), "descending" if run else "ascending")

    def read(self, what: str = "lists", *, aliases: pl.DataFrame | None = None) -> pl.LazyFrame:
        """Returns the rows of the files: query_id, item_id, rank or score or both; not in order.

        Args:
            what: name of the lists in errors about data: "lists[two_tower]".
            aliases: alias, item_id: other ids of items, replaced before anything is checked.

        Raises:
            ConfigError: `columns` or `format` do not fit the files; the paths of the problems
                begin at this generator.
            DataError: as `fit`, or lists of several generators in one place.
        """
        with _relative(what):
            source, part = self._opened()
            lists = read_lists(
                source,
                what=what,
                columns=self.columns,
                form=self.format,
                query_id_type=self.user_id_type,
                item_id_type=self.item_id_type,
                by_user=True,
                part=part,
            )
        lists = apply_aliases(lists, aliases, what=what)
        if c.GENERATOR not in lists.collect_schema().names():
            return lists
        with reading(what):
            found = lists.select(pl.col(c.GENERATOR).unique().sort()).collect(engine="streaming")
        if found.height > 1:
            raise DataError(
                Problem(
                    f"lists of {found.height} generators in {self.path}: "
                    f"{some(found[c.GENERATOR])}. Write each to files of its own, or tell them "
                    f"apart: systems: {{column: {c.GENERATOR}}}",
                    what,
                )
            )
        return lists.drop(c.GENERATOR)

    def built(self, what: str = "lists") -> pl.LazyFrame | None:
        """Returns when each list was built, query_id, as_of; None where nobody says.

        Args:
            what: name of the lists in errors about data: "lists[two_tower]".

        Returns:
            query_id, as_of (Datetime[us], UTC), distinct; several rows for a list whose rows
            differ in it.

        Raises:
            ConfigError: an unknown column, a unit that is missing or does not fit.
            DataError: rows without the time, or what is none.
        """
        if self.as_of is None:
            return None
        if _is_time(self.as_of):
            moment = pl.lit(parse_instant(self.as_of), c.TIMESTAMP_DTYPE).alias(AS_OF)
            return self.read(what).select(c.QUERY_ID).unique().with_columns(moment)
        with _relative(what):
            source, part = self._opened()
            return read_built(
                source,
                self.as_of,
                what=what,
                columns=self.columns,
                form=self.format,
                query_id_type=self.user_id_type,
                unit=self.timestamp_unit,
                zone=self.timezone,
                part=part,
            )

    def _opened(self) -> tuple[str, Part]:
        """Returns the path that is opened, and what of its files is read."""
        part = self._part
        if part.stem is not None and is_trec_run(source := self.source):
            # A run file has no ending that tells what it is.
            return source, Part()
        return self.path, part


@contextmanager
def _relative(what: str) -> Iterator[None]:
    """Makes the places of configuration errors begin at the generator."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(
            *(
                replace(problem, path=problem.path.removeprefix(what).lstrip(".") or "path")
                for problem in error.problems
            )
        ) from error


def _is_time(text: str) -> bool:
    """Returns whether a text is a time, and no column."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


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
