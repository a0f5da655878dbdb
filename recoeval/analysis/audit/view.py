"""What the audit looks at: the tables of one fold, the sources of the log, the lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import polars as pl

from recoeval.analysis.findings import Finding, Severity
from recoeval.columns import ITEM_ID, QUERY_ID, QUERY_TIME, TIMESTAMP, USER_ID
from recoeval.data.background import Background
from recoeval.data.logcheck import Conflicts, LogFacts
from recoeval.data.repeats import Repeats
from recoeval.data.splits import Windows
from recoeval.data.truth import GroundTruth, SeenRule, TrainingRule, Truth

__all__ = ["AuditView", "AuditedLists", "AuditedSource"]

TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class AuditedSource:
    """A log as it was read.

    Args:
        rows: INTERACTIONS, after `duplicates: drop` if that is asked for.
        facts: what its check found, before duplicates were dropped.
        duplicates: keep or drop.
        naive_times: rows whose time came without a zone.
        timezone: how these are read; None: nobody said, as UTC.
        conflicts: events of `rows` that are told in several ways; None: not counted yet.
    """

    rows: pl.LazyFrame
    facts: LogFacts
    duplicates: Literal["keep", "drop"] = "keep"
    naive_times: int = 0
    timezone: str | None = None
    conflicts: Conflicts | None = None


@dataclass(frozen=True, slots=True)
class AuditedLists:
    """The lists of one generator.

    Args:
        serves_cold_users: whether a user without a train row can get a list.
        serves_cold_items: whether an item without a train row can be listed.
        rows: query_id, item_id of the delivered lists; None where they are not kept.
        items: the distinct items of these rows; None: not counted yet, `rows` are read.
        built: query_id, as_of (Datetime[us], UTC): when each list was built; None: unknown.
        max_age: how old a list may be when it is asked for; None: any age.
    """

    serves_cold_users: bool = True
    serves_cold_items: bool = True
    rows: pl.LazyFrame | None = None
    built: pl.LazyFrame | None = None
    max_age: timedelta | None = None
    items: pl.Series | None = None


@dataclass(frozen=True, slots=True)
class AuditView:
    """One fold, as audit and truth health look at it.

    Args:
        split: how train and test are told apart.
        train: all log rows of the train window: user_id, item_id, perhaps timestamp, and the
            log's own columns.
        test: all log rows of the test window, the same columns.
        train_rows: those rows of `train` that generators learn from.
        truth: what the lists are held against.
        background: what is known of users and items.
        users: user_id, train_interactions, train_rows of all users of both sides.
        items: item_id, trained (whether it has a row in the train window) and first (the time of
            its first row) of all items of the log; no `first` where the order of the rows in time
            is not known.
        repeats: how many relevant pairs are known from the train window.
        ground_truth: the rules of relevance.
        training: the rule of the train rows.
        seen: the rule of the seen pairs.
        windows: half-open windows in UTC; None for splits by files or by user.
        log_end: the latest time of the log, UTC; None without times.
        fold: number of the fold.
    """

    split: Literal["time", "files", "leave_last", "rolling"]
    train: pl.LazyFrame
    test: pl.LazyFrame
    train_rows: pl.LazyFrame
    truth: Truth
    background: Background
    users: pl.DataFrame
    items: pl.DataFrame
    repeats: Repeats
    ground_truth: GroundTruth
    training: TrainingRule
    seen: SeenRule
    windows: Windows | None = None
    log_end: datetime | None = None
    fold: int = 0

    @property
    def timed(self) -> bool:
        """Whether the rows of both sides have times."""
        return all(TIMESTAMP in rows.collect_schema() for rows in (self.train, self.test))

    @property
    def warm_items(self) -> pl.LazyFrame:
        """item_id of the items with a train row; may repeat."""
        popularity = self.background.popularity
        rows = self.train_rows if popularity is None else popularity.lazy()
        return rows.select(ITEM_ID)

    @property
    def cutoffs(self) -> pl.LazyFrame:
        """query_id, user_id, query_time of the evaluated queries that have a time."""
        times = self.truth.queries.lazy().select(QUERY_ID, USER_ID, QUERY_TIME)
        return times.drop_nulls(QUERY_TIME)

    def found(
        self,
        severity: Severity,
        code: str,
        text: str,
        counts: Mapping[str, int | float],
        *,
        generator: str | None = None,
    ) -> Finding:
        """Returns a finding about this fold."""
        return Finding(severity, code, text, counts, generator, self.fold)


def count(rows: pl.LazyFrame) -> int:
    """Returns the number of rows."""
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def number(amount: int, one: str, many: str | None = None) -> str:
    """Returns a count with its noun: "1 row", "1,452 rows".

    Example:
        >>> number(1, "row"), number(1452, "row"), number(2, "query", "queries")
        ('1 row', '1,452 rows', '2 queries')
    """
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def percent(part: float, whole: float) -> str:
    """Returns a share as text: "12.5%"; what is not nothing never looks like nothing.

    Example:
        >>> percent(1, 8), percent(1, 10**6), percent(0, 8), percent(999_999, 10**6)
        ('12.5%', 'below 0.1%', '0%', 'above 99.9%')
    """
    if not part:
        return "0%"
    share = 100 * part / whole
    if share < 0.1:
        return "below 0.1%"
    if part < whole and share > 99.9:
        return "above 99.9%"
    return f"{share:.1f}%"
