"""Faults of lists, planted one by one; clean lists give nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recoeval.analysis.audit import AuditedLists, audit_lists
from recoeval.analysis.findings import Finding
from recoeval.analysis.results import Evaluation
from recoeval.columns import SUMMARY_SCHEMA, TIMESTAMP_DTYPE
from recoeval.errors import DataError
from tests.analysis.views import CUTOFF, TEST, day, view_of

NAME = "two_tower"


def evaluation(
    returned: dict[str, list[int]] | None = None,
    hits: list[tuple[str, int, int]] = (),  # type: ignore[assignment]
    judged: dict[str, list[float | None]] | None = None,
) -> Evaluation:
    """Returns result tables: lengths of lists, (generator, query, item) of hits, judged@10."""
    returned = returned if returned is not None else {NAME: [3, 3, 3]}
    rows = [
        {"fold": 0, "generator": name, "query_id": query, "returned": length}
        for name, lengths in returned.items()
        for query, length in enumerate(lengths)
    ]
    found = pl.DataFrame(
        hits, {"generator": pl.String, "query_id": pl.Int64, "item_id": pl.Int64}, orient="row"
    )
    blank: dict[str, Any] = dict.fromkeys(SUMMARY_SCHEMA)
    summary = pl.DataFrame(
        [
            {**blank, "generator": name, "bucket": "all", "bucket_by": "all", "name": "judged"}
            | {"metric": f"judged@{10 * (place + 1)}", "value": value}
            for name, values in (judged or {}).items()
            for place, value in enumerate(values)
        ],
        SUMMARY_SCHEMA,
    )
    return Evaluation(summary, pl.DataFrame(rows), found, {}, {}, ())


def audit(lists: AuditedLists, results: Evaluation | None = None) -> tuple[Finding, ...]:
    return audit_lists(view_of(fold=2), results or evaluation(), {NAME: lists})


def listed(*items: int) -> pl.LazyFrame:
    return pl.LazyFrame({"query_id": [1] * len(items), "item_id": items})


def built(*times: datetime | None) -> pl.LazyFrame:
    rows = list(enumerate(times, start=1))
    return pl.LazyFrame(rows, {"query_id": pl.Int64, "as_of": TIMESTAMP_DTYPE}, orient="row")


def test_clean_lists_give_nothing() -> None:
    at = day(9, 20)
    lists = AuditedLists(False, False, listed(10, 20, 30), built(at, at, at), timedelta(hours=4))
    assert audit(lists, evaluation(hits=[(NAME, 1, 30)])) == ()
    assert audit(AuditedLists()) == ()


def test_lists_built_after_the_cutoff_are_severe() -> None:
    early = CUTOFF - timedelta(microseconds=1)
    (found,) = audit(AuditedLists(built=built(CUTOFF, day(11), early)))
    assert (found.severity, found.code) == ("severe", "lists_after_cutoff")
    assert (found.generator, found.fold) == (NAME, 2)
    assert found.counts == {"lists": 2, "share": 2 / 3}
    assert found.text == "2 lists (66.7%) built at or after the cutoff: they may know what is asked"


def test_lists_older_than_allowed() -> None:
    limit = timedelta(hours=24)
    (found,) = audit(
        AuditedLists(built=built(day(9), day(8, 23), day(9, 12)), max_age=limit),
    )
    assert (found.severity, found.code) == ("warn", "stale_lists")
    assert found.counts == {"lists": 1, "share": 1 / 3}
    assert found.text == "1 list (33.3%) older than 1d at the cutoff"
    assert audit(AuditedLists(built=built(day(1)))) == ()


def test_lists_without_a_build_time() -> None:
    (found,) = audit(AuditedLists(built=built(day(9), None)))
    assert (found.severity, found.code, found.counts["lists"]) == ("warn", "lists_without_as_of", 1)
    assert found.text == (
        "1 list (50.0%) without a build time: nobody knows whether they are too new"
    )


def test_the_build_time_is_held_against_each_querys_own_time() -> None:
    view = view_of(
        [(1, 10, day(1)), (2, 10, day(1))],
        [(1, 20, day(4)), (2, 20, day(6))],
        split="leave_last",
        cutoffs={1: day(4), 2: day(6)},
    )
    lists = AuditedLists(built=built(day(5), day(5)))
    (found,) = audit_lists(view, evaluation(), {NAME: lists})
    assert (found.code, found.counts["lists"]) == ("lists_after_cutoff", 1)


def test_items_that_the_log_never_had() -> None:
    (found,) = audit(AuditedLists(rows=listed(10, 20, 30, 30, 70)))
    assert (found.severity, found.code) == ("info", "items_not_in_log")
    assert found.counts == {"items": 1, "share": 0.25}
    assert found.text == "1 listed item (25.0%) never in the log"
    (many,) = audit(AuditedLists(rows=listed(10, 20, 30, 71, 72, 73, 74)))
    assert many.severity == "warn"
    assert many.text == (
        "4 listed items (57.1%) never in the log: is it another catalogue, or another kind of id?"
    )


def test_an_item_that_only_the_test_window_has_is_in_the_log() -> None:
    view = view_of(test=[*TEST, (9, 70, day(11), "impression", 0)], split="files")
    lists = AuditedLists(rows=listed(10, 20, 30, 70))
    assert audit_lists(view, evaluation(), {NAME: lists}) == ()


def test_an_item_that_neither_side_has_may_be_in_the_log() -> None:
    # In the gap, or after the test window.
    view = view_of(unused=[(9, 70, day(9))])
    lists = AuditedLists(rows=listed(10, 20, 30, 70))
    assert audit_lists(view, evaluation(), {NAME: lists}) == ()


def test_items_that_are_known_are_not_read_again() -> None:
    rows = listed(10, 20, 30, 98, 99)
    unread = pl.LazyFrame({"item_id": [1]}).map_batches(lambda _: pytest.fail("read"))
    items = rows.collect()["item_id"].unique()
    assert audit(AuditedLists(rows=unread, items=items)) == audit(AuditedLists(rows=rows))
    assert audit(AuditedLists(rows=rows)) != ()


def test_truth_that_no_list_holds() -> None:
    (found,) = audit(AuditedLists(rows=listed(20, 30)))
    assert (found.severity, found.code) == ("info", "truth_not_listed")
    assert found.counts == {"pairs": 1, "share": 1 / 3}
    assert found.text == "1 relevant pair (33.3%) on items that none of its lists holds"


def test_queries_without_a_list() -> None:
    (found,) = audit(AuditedLists(), evaluation({NAME: [3] * 18 + [0] * 2}))
    assert (found.severity, found.code, found.generator) == ("warn", "low_coverage", NAME)
    assert found.counts == {"queries": 2, "share": 0.1}
    assert found.text == "2 queries (10.0%) with an empty list or none: score 0"
    assert audit(AuditedLists(), evaluation({NAME: [3] * 19 + [0]})) == ()


@pytest.mark.parametrize(
    ("users", "items", "text"),
    [
        (True, False, "1 on items without a train row"),
        (False, True, "1 on users without a train row"),
        (True, True, None),
    ],
)
def test_hits_that_a_generator_cannot_have(users: bool, items: bool, text: str | None) -> None:
    view = view_of(test=[*TEST, (1, 70, day(11)), (7, 10, day(11))])
    results = evaluation(hits=[(NAME, 1, 70), (NAME, 7, 10), ("other", 1, 70)])
    found = audit_lists(view, results, {NAME: AuditedLists(users, items)})
    assert [(each.severity, each.code, each.text) for each in found] == (
        [("severe", "cold_hits", f"hits that it cannot have: {text}")] if text else []
    )


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((0.5, 0.55), False),
        ((0.5, 0.61), True),  # more than 0.1 apart
        ((0.02, 0.05), True),  # more than twice as much
        ((0.02, 0.04), False),
        ((0.0, 0.01), True),
        ((0.0, 0.0), False),
        ((None, 0.9), False),
    ],
)
def test_lists_of_which_more_was_shown(values: tuple[float, float], found: bool) -> None:
    low, high = values
    results = evaluation(judged={"als": [low, 0.3], "production": [high, 0.3]})
    said = audit(AuditedLists(), results)
    assert [each.code for each in said] == ["unlike_judged"] * found


def test_who_was_shown_more_is_named() -> None:
    results = evaluation(judged={"als": [0.25], "production": [0.75], "pop": [0.5]})
    (found,) = audit(AuditedLists(), results)
    assert (found.severity, found.generator) == ("warn", None)
    assert found.counts == {"lowest": 0.25, "highest": 0.75}
    assert found.text == (
        "judged@10 is 0.25 for als and 0.75 for production: what users never saw cannot be "
        "relevant, so a comparison favours production"
    )


def test_lists_for_a_split_by_files_are_held_against_the_first_test_row() -> None:
    lists = AuditedLists(built=built(day(10, 8), day(10, 7)))
    (found,) = audit_lists(view_of(split="files"), evaluation(), {NAME: lists})
    assert (found.severity, found.code, found.counts["lists"]) == (
        "severe",
        "lists_after_cutoff",
        1,
    )


def test_build_times_that_nothing_can_be_held_against() -> None:
    lists = AuditedLists(built=built(day(9), day(9)))
    view = view_of(split="files", timed=False)
    (found,) = audit_lists(view, evaluation(), {NAME: lists})
    assert (found.severity, found.code) == ("warn", "build_times_unchecked")
    assert found.text == (
        "2 lists (100.0%) with a build time but no time of the query to hold it against"
    )


def test_lists_of_long_ago() -> None:
    seconds_read_as_milliseconds = datetime(1970, 1, 21, tzinfo=UTC)
    (found,) = audit(AuditedLists(built=built(seconds_read_as_milliseconds, day(9))))
    assert (found.severity, found.code, found.counts["lists"]) == ("warn", "lists_of_long_ago", 1)
    assert found.text == "1 list (50.0%) built before 1990: is their timestamp_unit right?"


def test_lists_that_cannot_be_read_any_more(tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    listed(10).collect().write_parquet(path)
    rows = pl.scan_parquet(path)
    rows.collect_schema()
    path.unlink()
    with pytest.raises(DataError, match=r"lists\[als\]"):
        audit_lists(view_of(), evaluation(), {"als": AuditedLists(rows=rows)})
