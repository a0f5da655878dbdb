"""A small clean log by hand, and the view of it that the audit takes.

cutoff 10 January, test window 2 days, relevant: event = 'click' AND dwell > 30
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from recoeval.analysis.audit import AuditView
from recoeval.columns import TIMESTAMP_DTYPE
from recoeval.data.background import Background
from recoeval.data.repeats import count_repeats
from recoeval.data.sides import Sides, look_at_sides
from recoeval.data.splits import Windows
from recoeval.data.trainpairs import among, find_train_pairs
from recoeval.data.truth import (
    GroundTruth,
    SeenRule,
    TrainingRule,
    apply_policies,
    find_relevant,
    relevant_mark,
    train_rows,
    training_rule,
)
from tests.counting import count_train_users

RULE = "event = 'click' AND dwell > 30"
SCHEMA = {
    "user_id": pl.Int64,
    "item_id": pl.Int64,
    "timestamp": TIMESTAMP_DTYPE,
    "event": pl.String,
    "dwell": pl.Int64,
}


def day(number: int, hour: int = 0, minute: int = 0) -> datetime:
    """Returns a moment of January."""
    return datetime(2026, 1, number, hour, minute, tzinfo=UTC)


CUTOFF, END = day(10), day(12)

# user, item, time, event, dwell; without the last two: a click of 40 seconds
TRAIN = [
    (1, 10, day(3, 8)),
    (1, 20, day(4, 9)),
    (2, 10, day(5, 8)),
    (2, 30, day(6, 8)),
    (3, 20, day(7, 8), "click", 31),
    (3, 30, day(8, 8), "impression", 0),
]
TEST = [
    (1, 30, day(10, 8)),
    (2, 20, day(11, 9), "click", 90),
    (3, 10, day(11, 10)),
    (3, 20, day(11, 23), "click", 30),
]

Row = tuple[Any, ...]


def table(rows: Sequence[Row]) -> pl.LazyFrame:
    """Returns rows as a log."""
    full = [(*row, "click", 40) if len(row) == 3 else row for row in rows]
    return pl.DataFrame(full, SCHEMA, orient="row").lazy()


def sides_of(
    train: pl.LazyFrame, test: pl.LazyFrame, log: pl.LazyFrame | None, marks: list[pl.Expr]
) -> Sides:
    """Returns what is on each side; items have a first row where the log is one."""
    facts = look_at_sides(train, test, None, None, marks)
    if log is None:
        return replace(facts, items=facts.items.drop("first", strict=False))
    if "timestamp" not in log.collect_schema():
        return facts
    first = log.group_by("item_id").agg(pl.col("timestamp").min().alias("first")).collect()
    marks = facts.items.select("item_id", "trained", "tested")
    items = first.join(marks, on="item_id", how="left").with_columns(
        pl.col("trained", "tested").fill_null(False)
    )
    return replace(facts, items=items.sort("item_id"))


def view_of(
    train: Sequence[Row] = TRAIN,
    test: Sequence[Row] = TEST,
    *,
    split: Any = "time",
    truth: GroundTruth | None = None,
    training: TrainingRule | None = None,
    seen: SeenRule | None = None,
    forget_seen: bool = False,
    cutoffs: dict[int, datetime] | None = None,
    timed: bool = True,
    unused: Sequence[Row] = (),
    **changes: Any,
) -> AuditView:
    """Returns the view of a fold, split by time unless something else is said.

    Args:
        train: rows of the train side, whether they belong there or not.
        test: rows of the test side.
        split: how they were told apart.
        truth: rules and policies.
        training: rule of the train rows.
        seen: rule of the seen pairs.
        forget_seen: leave seen pairs in the truth, as a bug would.
        cutoffs: each user's own.
        timed: whether the rows have times.
        unused: rows of the log that are on neither side.
        changes: other fields of the view.
    """
    truth, training = truth or GroundTruth(relevant=RULE), training or TrainingRule()
    seen = seen or SeenRule()
    before, after = table(train), table(test)
    if not timed:
        before, after = before.drop("timestamp"), after.drop("timestamp")
    learned = train_rows(before, training, truth, source="log")
    own = before.filter(pl.sql_expr(seen.where)) if seen.where else learned
    pairs = own.select("user_id", "item_id").unique()
    nothing = pairs.head(0) if forget_seen else pairs
    asked = after.select("user_id").unique().collect()["user_id"]
    by_user = split in ("time", "rolling") and not cutoffs
    times = [CUTOFF if by_user else (cutoffs or {}).get(user) for user in asked]
    queries = pl.DataFrame(
        {"query_id": asked, "user_id": asked, "query_time": pl.Series(times, dtype=TIMESTAMP_DTYPE)}
    )
    relevant = find_relevant(
        after, truth, source="log", query_time=CUTOFF if truth.looks_ahead else None
    )
    kept = apply_policies(
        relevant.pairs.rename({"user_id": "query_id"}).lazy(),
        queries,
        truth,
        universe=queries,
        seen=nothing,
        warm_users=learned,
        warm_items=learned,
    )
    popularity, users = count_train_users(learned)
    neither = table(unused).select(before.collect_schema().names())
    log = None if split == "files" else pl.concat([before, after, neither])
    marks = [training_rule(before.collect_schema(), training, truth, source="log")]
    if seen.where:
        marks.append(pl.sql_expr(seen.where))
    facts = sides_of(before, after, log, marks)
    coding, known = facts.coding, find_train_pairs(facts.rows, facts.coding, marks=len(marks))
    mark = relevant_mark(
        truth, after.collect_schema(), source="log", cutoff=CUTOFF if by_user else None
    )
    marked = after.filter(mark).select("user_id", "item_id").unique().collect()
    leaked = among(coding.find(kept.pairs.join(queries, on="query_id")), known.trained)
    learners = learned.group_by("user_id").agg(pl.len().cast(pl.Int64).alias("train_rows"))
    fields: dict[str, Any] = {
        "windows": Windows(CUTOFF, CUTOFF, END) if by_user else None,
        "users": facts.users.join(learners.collect(), on="user_id", how="left").fill_null(0),
        "items": facts.items,
        "repeats": count_repeats(known, coding.find(marked), int(leaked.sum())),
        "log_end": day(11, 23, 45) if timed else None,
        "background": Background(seen=pairs, popularity=popularity, train_users=users),
        **changes,
    }
    return AuditView(
        split=split,
        train=before,
        test=after,
        train_rows=learned,
        truth=kept,
        ground_truth=truth,
        training=training,
        seen=seen,
        **fields,
    )
