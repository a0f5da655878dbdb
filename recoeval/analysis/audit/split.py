"""Audit of a split: what a generator can have learned that it must not know."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from recoeval.analysis.audit.view import TICK, AuditView, count, number, percent
from recoeval.analysis.findings import Finding, Severity
from recoeval.columns import (
    FIRST,
    ITEM_ID,
    QUERY_ID,
    QUERY_TIME,
    TIMESTAMP,
    TIMESTAMP_DTYPE,
    TRAIN_ROWS,
    TRAINED,
    USER_ID,
)
from recoeval.data.splits import as_text

__all__ = [
    "find_late_train_rows",
    "find_new_items",
    "find_repeated_pairs",
    "find_shared_rows",
    "find_short_windows",
    "find_ties",
    "find_unlike_rules",
]

LOOK_AHEAD: Final = 0.1
"""Leave-last: above this share of train rows later than a test row, a model knows much of what
others did afterwards, such as next week's trends."""
UNSEEN_WINDOW: Final = 0.01
"""A window that the log leaves empty by more than this is not the window that was asked for."""


def find_late_train_rows(view: AuditView) -> tuple[Finding, ...]:
    """Returns what train rows tell of the time that is tested."""
    if not view.timed:
        return ()
    times = pl.col(TIMESTAMP)
    if view.windows is not None:
        cutoff = pl.lit(view.windows.cutoff, TIMESTAMP_DTYPE)
        rows = max(count(side.filter(times >= cutoff)) for side in (view.train, view.train_rows))
        return _late(view, rows, "the cutoff") if rows else ()
    if view.split == "leave_last":
        own = view.cutoffs.group_by(USER_ID).agg(pl.col(QUERY_TIME).min())
        joined = view.train_rows.select(USER_ID, TIMESTAMP).join(own, on=USER_ID)
        rows = count(joined.filter(times >= pl.col(QUERY_TIME)))
        own_rows = _late(view, rows, "their own user's cutoff") if rows else ()
        return (*own_rows, *_others_future(view))
    return _others_future(view)


def _late(view: AuditView, rows: int, what: str) -> tuple[Finding, ...]:
    text = f"{number(rows, 'train row')} at or after {what}: the model has seen what it is asked"
    return (view.found("severe", "train_after_cutoff", text, {"rows": rows}),)


def _others_future(view: AuditView) -> tuple[Finding, ...]:
    """Returns how many train rows are later than what is tested, of other users too."""
    times = pl.col(TIMESTAMP)
    first = view.test.select(times.min())
    if view.split == "leave_last":
        first = view.cutoffs.select(pl.col(QUERY_TIME).quantile(0.5, "lower"))
    moment: datetime = first.collect(engine="streaming").item()
    later = (times > pl.lit(moment, TIMESTAMP_DTYPE)).sum()
    found = view.train_rows.select(pl.len(), later.alias("rows")).collect(engine="streaming")
    train, rows = found.row(0)
    if not rows:
        return ()
    said = f"{number(rows, 'train row')} ({percent(rows, train)}) later than"
    severity: Severity = "warn"
    text = f"{said} the first test row, {as_text(moment)}: the files are not split by time"
    if view.split == "leave_last":
        severity = "warn" if rows / train > LOOK_AHEAD else "info"
        text = (
            f"{said} the median cutoff, {as_text(moment)}: a model learns from what others did "
            "afterwards"
        )
    counts = {"rows": rows, "share": rows / train}
    return (view.found(severity, "train_looks_ahead", text, counts),)


def find_shared_rows(view: AuditView) -> tuple[Finding, ...]:
    """Returns how many test rows of a split by files are train rows too."""
    if view.split != "files" or not view.timed:
        return ()
    keys = [USER_ID, ITEM_ID, TIMESTAMP]
    test = view.test.select(keys)
    # The train side is the large one: only those of its rows that are in test are held.
    shared = view.train.select(keys).join(test, on=keys, how="semi").unique()
    rows = count(test.join(shared, on=keys, how="semi"))
    if not rows:
        return ()
    text = (
        f"{number(rows, 'test row')} with the same user, item and time as a train row: "
        "the files overlap, and the model has seen its test"
    )
    return (view.found("severe", "rows_in_train_and_test", text, {"rows": rows}),)


def find_repeated_pairs(view: AuditView) -> tuple[Finding, ...]:
    """Returns how many truth pairs are train pairs, judged by the policy."""
    repeated, total = view.repeats.truth_trained, view.truth.pairs.height
    if not repeated:
        return ()
    counts = {"pairs": repeated, "share": repeated / total}
    said = f"{number(repeated, 'relevant pair')} ({percent(repeated, total)}) with a train row"
    policy = view.truth.policies["repeats"]
    if policy == "include":
        text = f"{said}; repeats: include says that they count"
        if repeated < total:
            return (view.found("info", "truth_in_train", text, counts),)
        text = f"{said}, all of them: are train and test the same rows?"
        return (view.found("warn", "truth_in_train", text, counts),)
    if policy == "exclude" and (view.seen.where or view.seen.window):
        text = f"{said}: the seen rule leaves them in, and a model finds them by heart"
        return (view.found("warn", "truth_in_train", text, counts),)
    text = f"{said}, though such pairs leave the truth: it leaked into training"
    return (view.found("severe", "truth_in_train", text, counts),)


def find_new_items(view: AuditView) -> tuple[Finding, ...]:
    """Returns how much of the truth is on items that the log first knows after the cutoff."""
    pairs = view.truth.pairs.lazy().select(QUERY_ID, ITEM_ID)
    if FIRST in view.items.columns:
        first = view.items.lazy().select(ITEM_ID, FIRST)
        timed = pairs.join(view.cutoffs.select(QUERY_ID, QUERY_TIME), on=QUERY_ID)
        new = timed.join(first, on=ITEM_ID, how="left").filter(
            pl.col(FIRST).is_null() | (pl.col(FIRST) >= pl.col(QUERY_TIME))
        )
    else:
        items = view.items.lazy().filter(TRAINED)
        new = pairs.join(items, on=ITEM_ID, how="anti")
    found = new.select(pl.len(), pl.col(ITEM_ID).n_unique().alias("items"))
    rows, items_found = found.collect(engine="streaming").row(0)
    if not rows:
        return ()
    total = view.truth.pairs.height
    text = (
        f"{number(rows, 'relevant pair')} ({percent(rows, total)}) on {number(items_found, 'item')}"
        " without any log row before the cutoff: who learns from the log cannot find them"
    )
    counts = {"pairs": rows, "items": items_found, "share": rows / total}
    return (view.found("info", "items_after_cutoff", text, counts),)


def find_ties(view: AuditView) -> tuple[Finding, ...]:
    """Returns how many rows stand at the cutoff, where only their order could part them."""
    if not view.timed:
        return ()
    if view.windows is not None:
        cutoff = view.windows.cutoff
        at = pl.col(TIMESTAMP) == pl.lit(cutoff, TIMESTAMP_DTYPE)
        rows = count(view.test.filter(at))
        if rows < 2:
            return ()
        text = f"{number(rows, 'row')} at the cutoff {as_text(cutoff)} itself; all are test rows"
        return (view.found("info", "ties_at_cutoff", text, {"rows": rows}),)
    if view.split != "leave_last":
        return ()
    own = view.cutoffs.select(USER_ID, pl.col(QUERY_TIME).alias(TIMESTAMP)).unique()
    at_once = view.test.select(USER_ID, TIMESTAMP).join(own, on=[USER_ID, TIMESTAMP])
    tied = at_once.group_by(USER_ID).len().filter(pl.col("len") > 1)
    found = tied.select(pl.len().alias("users"), pl.col("len").sum())
    users, rows = found.collect(engine="streaming").row(0)
    if not users:
        return ()
    text = (
        f"{number(users, 'user')} with several rows at their own cutoff ({number(rows, 'row')}); "
        "rows of one time stay together, so these users have more test rows than asked for"
    )
    return (view.found("info", "ties_at_cutoff", text, {"users": users, "rows": rows}),)


def find_short_windows(view: AuditView) -> tuple[Finding, ...]:
    """Returns what is asked of the time after the end of the log."""
    if view.log_end is None:
        return ()
    return (*_empty_end(view), *_short_horizons(view))


def _empty_end(view: AuditView) -> Iterator[Finding]:
    windows, end = view.windows, view.log_end
    if windows is None or end is None:
        return
    length, missing = windows.test_end - windows.cutoff, windows.test_end - (end + TICK)
    if missing / length > UNSEEN_WINDOW:
        text = (
            f"the test window ends {as_text(windows.test_end)}, the log {as_text(end)}: "
            f"{percent(missing / length, 1)} of the window has no rows"
        )
        counts = {"missing_hours": round(missing / timedelta(hours=1), 3)}
        yield view.found("warn", "window_beyond_log", text, counts)


def _short_horizons(view: AuditView) -> Iterator[Finding]:
    earlier = {"time": ", or an earlier test_start", "rolling": ", or a longer test window"}
    remedy = f"a shorter horizon{earlier.get(view.split, '')}"
    end = pl.lit(view.log_end, TIMESTAMP_DTYPE) + TICK
    for name, kind in view.ground_truth.kinds("ground_truth").items():
        if kind.horizon is None:
            continue
        short = count(view.cutoffs.filter(pl.col(QUERY_TIME) + kind.horizon > end))
        if not short:
            continue
        queries = view.truth.queries.height
        said = f"{number(short, 'query', 'queries')} ({percent(short, queries)})"
        text = (
            f"the horizon of {name or 'the truth'} ends after the log for {said}: "
            f"their truth is not complete. Take {remedy}"
        )
        counts = {"queries": short, "share": short / queries}
        yield view.found("warn", "horizon_beyond_log", text, counts)


def find_unlike_rules(view: AuditView) -> tuple[Finding, ...]:
    """Returns whether generators learn from other rows than they are held against."""
    own, rule = view.training.where, view.ground_truth.rule or "TRUE"
    if own is None or own.split() == rule.split():
        return ()
    rows = int(view.users[TRAIN_ROWS].sum())
    text = (
        f"generators learn from rows where {own} ({number(rows, 'row')}) "
        f"and are held against rows where {rule}"
    )
    return (view.found("info", "training_unlike_truth", text, {"train_rows": rows}),)
