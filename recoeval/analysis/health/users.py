"""Truth health by users: whether those who are evaluated are like all users of the log."""

from __future__ import annotations

from typing import Any

import polars as pl

from recoeval.analysis.audit.view import AuditView
from recoeval.analysis.health.marks import Marks
from recoeval.analysis.health.rows import named_columns
from recoeval.columns import TRAIN_INTERACTIONS, TRAIN_ROWS, USER_ID
from recoeval.data.idkeys import key_of

__all__ = ["compare_users"]

Record = dict[str, Any]

_EVALUATED = "__evaluated"
_VALUE = "value"
_CUTS = (("10%", 0.1), ("median", 0.5), ("90%", 0.9))
_ACTIVITY = "log rows before the cutoff"
_MOST = 10
"""Values of a column that are shown."""


def compare_users(view: AuditView) -> list[Record]:
    """Returns facts about the evaluated users beside the same facts about all users.

    All users are those with any row of the train or the test window.
    """
    known = _users(view)
    users = known.lazy()
    sides = [users.filter(_EVALUATED), users]
    rows = pl.col(TRAIN_INTERACTIONS)
    facts = [
        pl.len().alias("users"),
        (rows.sum() / pl.len()).alias(f"{_ACTIVITY}, mean"),
        *(rows.quantile(q, "lower").alias(f"{_ACTIVITY}, {name}") for name, q in _CUTS),
        ((rows == 0).sum() / pl.len()).alias("share without any row before the cutoff"),
        ((pl.col(TRAIN_ROWS) == 0).sum() / pl.len()).alias("share without a train row"),
    ]
    frames = pl.collect_all([side.select(facts) for side in sides], engine="streaming")
    evaluated, everyone = (frame.row(0, named=True) for frame in frames)
    found = [
        {"fact": name, "evaluated": evaluated[name], "all_users": everyone[name]}
        for name in everyone
    ]
    return [*found, *_mix(view, known)]


def _users(view: AuditView) -> pl.DataFrame:
    """Returns one row a user of the log with activity, and whether the user is evaluated."""
    key = key_of(USER_ID, view.users[USER_ID])
    users, evaluated = (table.select(key)[USER_ID] for table in (view.users, view.truth.queries))
    return view.users.with_columns(users.is_in(evaluated.implode()).alias(_EVALUATED))


def _mix(view: AuditView, users: pl.DataFrame) -> list[Record]:
    """Returns the share of each event among the rows before the cutoff."""
    names = named_columns(view)[0]
    if not names:
        return []
    evaluated = Marks.of(users[USER_ID], users[_EVALUATED]).holds(USER_ID).alias(_EVALUATED)
    found = []
    for name in names:
        value = pl.col(name).cast(pl.String).fill_null("(null)").alias(_VALUE)
        rows = view.train.select(evaluated, value)
        counted = rows.group_by(_VALUE).agg(pl.len(), pl.col(_EVALUATED).sum())
        every = counted.collect(engine="streaming")
        counts = dict(every.select(_VALUE, _EVALUATED).iter_rows())
        totals = (every[_EVALUATED].sum(), every["len"].sum())
        most = every.sort("len", _VALUE, descending=[True, False]).head(_MOST)
        found += [
            {
                "fact": f"share of rows before the cutoff with {name} {label}",
                "evaluated": counts[label] / totals[0] if totals[0] else None,
                "all_users": amount / totals[1],
            }
            for label, amount in most.select(_VALUE, "len").iter_rows()
        ]
    return found
