"""The log of a run: opened, checked, and told apart into folds of a train and a test side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl

from recoeval.analysis.audit.view import AuditedSource
from recoeval.columns import ITEM_ID, QUERY_TIME, TIMESTAMP, USER_ID
from recoeval.data.aliases import count_aliases, read_aliases
from recoeval.data.failures import reading
from recoeval.data.folds import Cutoffs, LeaveLast, Rolling, find_cutoffs, roll_windows
from recoeval.data.queries import queries_of_users
from recoeval.data.sources import (
    LogFacts,
    Source,
    count_naive_times,
    look_at,
    scan_interactions,
)
from recoeval.data.splits import FileSplit, TimeSplit, Windows, ends_of, find_windows, since
from recoeval.data.truth import relevance_rule
from recoeval.errors import DataError, Problem
from recoeval.workflow.config import Config
from recoeval.workflow.roles import Roles, leave_out_users, read_roles

__all__ = ["FRAME", "Fold", "Log", "open_log", "require_times", "side_source", "sources_of"]

FRAME = "<frame>"
"""What a log is called that is no file."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One train side and one test side; nothing is read yet but headers and the ends.

    Args:
        number: from 0 in order of time.
        train: rows of the train side.
        test: rows of the test side.
        train_end: end of the train side (excluded), UTC; None for a split by files.
        windows: half-open windows in UTC; None for a split by files or by user.
        cutoffs: each user's own cutoff; None for a split by files or by time.
    """

    number: int
    train: pl.LazyFrame
    test: pl.LazyFrame
    train_end: datetime | None = None
    windows: Windows | None = None
    cutoffs: Cutoffs | None = None

    @property
    def query_time(self) -> datetime | pl.DataFrame | None:
        """When users ask, UTC: one time for all, or user_id and query_time of each."""
        if self.cutoffs is not None:
            return self.cutoffs.by_user
        return self.windows.cutoff if self.windows else None

    def recent(self, rows: pl.LazyFrame, window: timedelta | None) -> pl.LazyFrame:
        """Returns the rows in [train end - window, train end), or all of them without a window.

        Where each user has a cutoff of their own, that is the end of their train rows.

        Raises:
            ConfigError: there is a window but the rows have no times.
        """
        if window is not None and self.cutoffs is not None:
            return self.cutoffs.recent(rows, window)
        return rows.filter(since(self.train_end, window))

    def asked_by(self, users: pl.LazyFrame) -> pl.DataFrame:
        """Returns the queries of users: query_id, user_id, query_time; sorted by user_id."""
        cutoff = self.windows.cutoff if self.windows else None
        queries = queries_of_users(users, cutoff).collect(engine="streaming")
        if self.cutoffs is None:
            return queries
        own = self.cutoffs.by_user
        return queries.drop(QUERY_TIME).join(own, on=USER_ID, maintain_order="left")


@dataclass(frozen=True, slots=True)
class Log:
    """The log, told apart.

    Args:
        folds: at least one.
        whole: all rows; None for a split by files.
        read: for each source its rows and what its check found.
        sources: for each source its path.
        roles: the tables beside it.
    """

    folds: tuple[Fold, ...]
    whole: pl.LazyFrame | None
    read: Mapping[str, AuditedSource]
    sources: Mapping[str, str]
    roles: Roles

    @property
    def facts(self) -> Mapping[str, LogFacts]:
        """For each source rows, first and last time, exact duplicates."""
        return {path: source.facts for path, source in self.read.items()}

    @property
    def end(self) -> datetime | None:
        """The latest time; None without times."""
        ends = [facts.end for facts in self.facts.values() if facts.end is not None]
        return max(ends, default=None)

    @property
    def said(self) -> str:
        """What its columns belong to, for errors."""
        return ", ".join(self.sources.values())


def side_source(config: Config, side: Source) -> Source:
    """Returns a side's source with what `interactions` says of both sides."""
    if config.interactions is None:
        return side
    own = {name: getattr(side, name) for name in side.model_fields_set}
    return config.interactions.model_copy(update=own)


def sources_of(config: Config) -> dict[str, Source]:
    """Returns where the rows of the log are, by place in the configuration."""
    if isinstance(config.split, FileSplit):
        return {
            f"split.{name}": side_source(config, side)
            for name, side in (("train", config.split.train), ("test", config.split.test))
        }
    return {"interactions": config.interactions or Source()}


def open_log(config: Config, *, now: datetime, frame: object | None = None) -> Log:
    """Returns the log, checked and told apart.

    Aliases are replaced before anything is counted; users who are left out go next.

    Args:
        config: the configuration.
        now: the time of the run, UTC; later rows are an error.
        frame: the log as a frame, read instead of its path.

    Raises:
        ConfigError: columns or rules that do not fit the files.
        DataError: missing, unreadable or wrong data, or an empty side.
    """
    sources = sources_of(config)
    said = {path: FRAME if frame is not None else each.path or "" for path, each in sources.items()}
    aliases = None if config.canonical_items is None else read_aliases(config.canonical_items)
    rows = {path: _scan(each, path, frame, aliases) for path, each in sources.items()}
    read = {path: _checked(each, rows[path], path, now, frame) for path, each in sources.items()}
    _require_one_type(rows)
    renamed = {}
    if aliases is not None:
        raw = {path: _scan(each, path, frame) for path, each in sources.items()}
        renamed = count_aliases(_ids_of(raw), aliases, path="canonical_items")
    left, dropped = leave_out_users({path: each.rows for path, each in read.items()}, config.users)
    if dropped:
        # Their rows are in conflict no more.
        read = {path: replace(each, conflicts=None) for path, each in read.items()}
    read = {path: replace(each, rows=left[path]) for path, each in read.items()}
    roles = read_roles(config, aliases, _ids_of(left)).counting(renamed, dropped)
    if isinstance(config.split, FileSplit):
        fold = Fold(0, left["split.train"], left["split.test"])
        return Log((fold,), None, read, said, roles)
    whole = left["interactions"]
    require_times(whole.collect_schema())
    # With users left out the log may begin later, or end earlier, than its check found.
    ends = None if dropped else read["interactions"].facts.ends
    with reading("interactions"):
        folds = _folds(config, config.split, whole, said["interactions"], ends)
    return Log(folds, whole, read, said, roles)


def _ids_of(sides: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    return pl.concat([rows.select(USER_ID, ITEM_ID) for rows in sides.values()])


def require_times(log: pl.Schema) -> None:
    """Checks that a log can be split by time.

    Raises:
        DataError: it has no timestamps.
    """
    if TIMESTAMP not in log:
        text = "a split by time needs times. Name the column: columns: {timestamp: ...}"
        raise DataError(Problem(text, "interactions.timestamp"))


def _folds(
    config: Config,
    split: TimeSplit | Rolling | LeaveLast,
    rows: pl.LazyFrame,
    said: str,
    ends: tuple[datetime, datetime] | None,
) -> tuple[Fold, ...]:
    if isinstance(split, LeaveLast):
        rule = relevance_rule(config.ground_truth, rows.collect_schema(), source=said)
        cutoffs = find_cutoffs(split, rows, rule)
        train = cutoffs.train(rows)
        _, train_end = ends_of(train)
        return (Fold(0, train, cutoffs.test(rows), train_end, cutoffs=cutoffs),)
    if isinstance(split, Rolling):
        windows = roll_windows(split, rows, ends)
    else:
        windows = (find_windows(split, rows, ends),)
    return tuple(
        Fold(number, each.train(rows), each.test(rows), each.train_end, each)
        for number, each in enumerate(windows)
    )


def _scan(
    source: Source, path: str, frame: object | None, aliases: pl.DataFrame | None = None
) -> pl.LazyFrame:
    """Returns the rows of a source as they are, duplicates included."""
    return scan_interactions(_with_duplicates(source), path=path, frame=frame, aliases=aliases)


def _with_duplicates(source: Source) -> Source:
    return source.model_copy(update={"duplicates": "keep"})


def _checked(
    source: Source, rows: pl.LazyFrame, path: str, now: datetime, frame: object | None
) -> AuditedSource:
    """Returns the rows of a source, without duplicates if asked, and the facts before that."""
    facts, conflicts = look_at(rows, path=path, now=now)
    again = source.duplicates == "drop" and facts.exact_duplicates
    return AuditedSource(
        rows.unique() if again else rows,
        facts,
        source.duplicates,
        count_naive_times(_with_duplicates(source), path=path, frame=frame),
        source.timezone,
        conflicts,
    )


def _require_one_type(sides: Mapping[str, pl.LazyFrame]) -> None:
    """Checks that the ids of all sides have one type.

    Raises:
        DataError: integer against text ids.
    """
    (first, rows), *others = sides.items()
    for column in (USER_ID, ITEM_ID):
        expected = rows.collect_schema()[column]
        for path, side in others:
            found = side.collect_schema()[column]
            if found != expected:
                text = f"{found}, but {first} has {expected}. Cast one side: {column}_type: text"
                raise DataError(Problem(text, f"{path}.{column}"))
