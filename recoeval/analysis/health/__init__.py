"""Truth health: what the ground truth is made of, and whom it stands for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recoeval.analysis.audit.view import AuditView, number, percent
from recoeval.analysis.findings import Finding
from recoeval.analysis.health.rows import (
    by_day,
    by_duration,
    dwell_quantiles,
    event_mix,
    mark_relevant,
)
from recoeval.analysis.health.truth import (
    by_age,
    by_popularity,
    count_relevant_items,
    count_repeats,
    measure_relevant_items,
)
from recoeval.analysis.health.users import compare_users

__all__ = ["audit_health", "health_of"]

Records = Sequence[Mapping[str, Any]]

UNLIKE_RATES: Final = 2.0
"""Bands whose rates of positives differ by more than this: the rule measures the item, not the
liking."""
UNLIKE_USERS: Final = 2.0
"""Evaluated users that are so much more active than all users are another population."""
JUDGED_HOURS: Final = 12
"""A day of which the test window holds less than this may well have no rows."""


def health_of(view: AuditView) -> dict[str, list[dict[str, Any]]]:
    """Returns the tables of truth health by name, each as flat records in order.

    | table | one record | fields |
    |---|---|---|
    | truth_size | the whole | queries, without_relevant, pairs, mean, p10, p50, p90, p99, max |
    | relevant_items | a range of |R| | relevant_items, queries, share, pairs, pairs_share |
    | repeats | a kind of relevant pair of the test window | pairs_that, pairs, share |
    | events | a value of a text, Boolean or small integer column that the rules name | column, value, rows, share, relevant_rows, share_of_relevant |
    | dwell | a number that the rules name | column, of, rows, nulls, p10, p25, p50, p75, p90, p99 |
    | by_popularity | a band of items by users with a train row | items_are, train_users, items, pairs, share |
    | by_age | a range of days since an item's creation or first log row | age_days, since, pairs, share |
    | by_day | a UTC day of the test window | day, hours, rows, relevant_rows, pairs, users |
    | by_duration | a fifth of the test rows by a column named like "duration" | column, band, rows, relevant_rows, relevant_share |
    | representative | a fact about users | fact, evaluated, all_users |

    Shares are in [0, 1]. A table without records is left out.

    Args:
        view: the fold.
    """  # noqa: E501 - a table
    rows = mark_relevant(view)
    tables = {
        "truth_size": measure_relevant_items(view),
        "relevant_items": count_relevant_items(view),
        "repeats": count_repeats(view),
        "events": event_mix(view, rows),
        "dwell": dwell_quantiles(view, rows),
        "by_popularity": by_popularity(view),
        "by_age": by_age(view),
        "by_day": by_day(view, rows),
        "by_duration": by_duration(rows),
        "representative": compare_users(view),
    }
    return {name: records for name, records in tables.items() if records}


def audit_health(health: Mapping[str, Records], *, fold: int = 0) -> tuple[Finding, ...]:
    """Returns what in truth health a reader of the numbers must know.

    Args:
        health: result of `health_of`.
        fold: number of the fold.
    """
    found = [
        *_unlike_durations(health.get("by_duration", ()), fold),
        *_empty_days(health.get("by_day", ()), fold),
        *_unlike_users(health.get("representative", ()), fold),
    ]
    return tuple(found)


def _unlike_durations(bands: Records, fold: int) -> list[Finding]:
    found = []
    for column in dict.fromkeys(band["column"] for band in bands):
        known = [each for each in bands if each["column"] == column and each["band"] != "missing"]
        if len(known) < 2:
            continue
        low, high = (
            choose(known, key=lambda each: each["relevant_share"]) for choose in (min, max)
        )
        least, most = low["relevant_share"], high["relevant_share"]
        if most <= UNLIKE_RATES * least:
            continue
        text = (
            f"{percent(most, 1)} of the rows with {column} in {high['band']} are relevant, "
            f"{percent(least, 1)} of those in {low['band']}: the rule favours items by their length"
        )
        ratio = round(most / least, 3) if least else math.inf
        counts = {"lowest": least, "highest": most} | ({"ratio": ratio} if least else {})
        found.append(Finding("info", "duration_bias", text, counts, fold=fold))
    return found


def _empty_days(days: Records, fold: int) -> list[Finding]:
    # A split by user has no window, and then only days with rows.
    judged = [day for day in days if day.get("hours", 0) >= JUDGED_HOURS]
    empty = [day["day"] for day in judged if not day["rows"]]
    if not empty:
        return []
    shown = ", ".join(empty[:5]) + (", ..." if len(empty) > 5 else "")
    text = (
        f"no log row at all on {len(empty)} of {number(len(judged), 'UTC day')} with at least "
        f"{JUDGED_HOURS} hours in the test window: {shown}"
    )
    return [Finding("warn", "days_without_rows", text, {"days": len(empty)}, fold=fold)]


def _unlike_users(facts: Records, fold: int) -> list[Finding]:
    by_name = {each["fact"]: each for each in facts}
    median = by_name.get("log rows before the cutoff, median")
    if median is None or median["evaluated"] <= UNLIKE_USERS * median["all_users"]:
        return []
    text = (
        f"evaluated users have {median['evaluated']:g} log rows before the cutoff (median), all "
        f"users {median['all_users']:g}: the numbers speak of the active ones"
    )
    counts = {"evaluated": median["evaluated"], "all_users": median["all_users"]}
    return [Finding("info", "unlike_users", text, counts, fold=fold)]
