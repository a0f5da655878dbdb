"""Faults of a log as it was read, planted one by one; the clean log gives nothing."""

from typing import Any

import polars as pl
import pytest

from recoeval.analysis.audit import AuditedSource, audit_log
from recoeval.data.logcheck import check_interactions
from tests.analysis.views import TEST, TRAIN, Row, day, table
from tests.data.helpers import NOW

CLEAN = [*TRAIN, *TEST]
# Enough rows that one of them is below a share of 1%.
MANY = [*CLEAN, *((8, item, day(1)) for item in range(100, 200))]


def source(rows: list[Row], **more: Any) -> AuditedSource:
    log = table(rows)
    facts = check_interactions(log, path="interactions", now=NOW.replace(year=2027))
    return AuditedSource(log, facts, **more)


def test_a_clean_log_gives_nothing() -> None:
    assert audit_log({"interactions": source(CLEAN)}) == ()


@pytest.mark.parametrize(
    ("rows", "severity", "share"), [(CLEAN, "warn", "16.7%"), (MANY * 3, "warn", "66.9%")]
)
def test_rows_that_repeat(rows: list[Row], severity: str, share: str) -> None:
    again = [*rows, rows[0], rows[0]]
    (found,) = audit_log({"interactions": source(again)})
    repeats = len(again) - len(set(rows))
    assert (found.severity, found.code) == (severity, "duplicate_rows")
    assert found.counts == {"rows": repeats, "share": repeats / len(again)}
    assert found.text == (
        f"interactions: {repeats} rows ({share}) repeat another in full; they count again in "
        "activity and weights. duplicates: drop leaves them out"
    )


def test_few_repeats_are_no_warning() -> None:
    (found,) = audit_log({"interactions": source([*MANY, MANY[0]])})
    assert (found.severity, found.counts["rows"]) == ("info", 1)


def test_repeats_that_were_dropped_are_said() -> None:
    (found,) = audit_log({"split.train": source([*CLEAN, CLEAN[0]], duplicates="drop")})
    assert (found.severity, found.counts["rows"]) == ("info", 1)
    assert found.text == "split.train: 1 row (9.1%) repeats another in full; they were dropped"


def test_rows_that_contradict_each_other() -> None:
    other = [
        (1, 10, day(3, 8), "click", 5),  # another dwell
        (1, 10, day(3, 8), "impression", 0),  # a third version
        (3, 20, day(7, 8), "click", 5),  # two versions of another event
        (2, 10, day(5, 8), "click", 40),  # the same row: a repeat, no conflict
        (2, 30, day(6, 9)),  # another time: another event
    ]
    found = audit_log({"interactions": source([*CLEAN, *other])})
    (conflict,) = [each for each in found if each.code == "conflicting_rows"]
    assert conflict.severity == "warn"
    assert conflict.counts == {"events": 2, "rows": 5, "share": 5 / 15}
    assert conflict.text == (
        "interactions: 2 events of one user, item and time told in several ways (5 rows): any row "
        "that passes a rule decides, the largest gain counts"
    )


def test_a_log_without_times_or_values_has_no_conflicts() -> None:
    for columns in (["user_id", "item_id", "dwell"], ["user_id", "item_id", "timestamp"]):
        rows = table([*CLEAN, (1, 10, day(3, 8), "click", 5)]).select(columns)
        facts = check_interactions(rows, path="interactions", now=NOW.replace(year=2027))
        found = audit_log({"interactions": AuditedSource(rows, facts, "drop")})
        assert "conflicting_rows" not in [each.code for each in found]


def test_times_without_a_zone() -> None:
    (found,) = audit_log({"interactions": source(CLEAN, naive_times=10)})
    assert (found.severity, found.code, found.counts) == ("warn", "naive_times", {"rows": 10})
    assert found.text == (
        "interactions: 10 times without a time zone, read as UTC: if they are local, every window "
        "is off. Set interactions.timezone to their zone, e.g. Asia/Shanghai, or to UTC if they "
        "are UTC"
    )
    (said,) = audit_log({"split.test": source(CLEAN, naive_times=1)})
    assert "Set split.test.timezone to their zone" in said.text
    (said,) = audit_log({"interactions": source(CLEAN, naive_times=1, timezone="Asia/Shanghai")})
    assert said.severity == "info"
    assert said.text == (
        "interactions: 1 time without a time zone, read as Asia/Shanghai as the configuration says"
    )


def test_equal_hashes_of_other_events_are_no_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every row is a candidate, as if all hashes were the same.
    monkeypatch.setattr(
        pl.Expr, "hash", lambda self: pl.lit(1, pl.UInt64).repeat_by(1).list.first()
    )
    rows = table(CLEAN)
    facts = check_interactions(rows, path="interactions", now=NOW.replace(year=2027))
    assert audit_log({"interactions": AuditedSource(rows, facts)}) == ()
