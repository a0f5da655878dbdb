"""Truth health, as it is shown."""

from typing import Any

from recoeval.report.health import health_tables
from recoeval.report.values import Column, Share

DAYS = [{"day": "2026-01-01", "hours": 12.5, "rows": 1234, "pairs": 7, "users": None}]
BANDS = [{"column": "duration", "band": "[0,10)", "rows": 9, "relevant_share": 0.25}]


def test_default_and_full() -> None:
    health = {"by_day": DAYS, "events": [], "by_duration": BANDS, "another": DAYS}
    assert [each.title for each in health_tables(health, full=False)] == [
        "Relevant rows by duration"
    ]
    assert [each.title for each in health_tables(health, full=True)] == [
        "Relevant rows by duration",
        "Test window by day",
        "another",
    ]


def test_words_lead_and_numbers_are_aligned() -> None:
    (found,) = health_tables({"by_duration": BANDS}, full=False)
    assert found.columns == (
        Column("column", key=True, right=False),
        Column("band", key=True, right=False),
        Column("rows"),
        Column("relevant share"),
    )
    assert found.rows == (("duration", "[0,10)", 9, Share(0.25)),)


def test_only_words_in_front_are_keys() -> None:
    (found,) = health_tables({"x": [{"a": 1, "b": "text"}]}, full=True)
    assert [column.key for column in found.columns] == [False, False]


def test_cells() -> None:
    (found,) = health_tables({"by_day": DAYS}, full=True)
    assert found.rows == (("2026-01-01", "12.5", 1234, 7, None),)
    record: dict[str, Any] = {"a": "x", "b": True, "c": 1234.56, "d": 0.000123456, "share": 1}
    (found,) = health_tables({"x": [record]}, full=True)
    assert found.rows == (("x", "true", "1,235", "0.0001235", Share(1)),)


def test_a_fact_that_is_a_share_is_shown_as_one() -> None:
    facts = [
        {"fact": "users", "evaluated": 2, "all_users": 9},
        {"fact": "share without a train row", "evaluated": 0.5, "all_users": None},
    ]
    (found,) = health_tables({"representative": facts}, full=False)
    assert found.rows == (("users", 2, 9), ("share without a train row", Share(0.5), None))


def test_a_long_table_is_cut_and_says_so() -> None:
    facts = [{"fact": str(number), "evaluated": number} for number in range(11)]
    (found,) = health_tables({"representative": facts}, full=False)
    assert len(found.rows) == 8
    assert found.notes == ("3 more rows: -v shows the whole table",)
    (found,) = health_tables({"representative": facts[:9]}, full=False)
    assert found.notes == ("1 more row: -v shows the whole table",)
    (full,) = health_tables({"representative": facts}, full=True)
    assert len(full.rows) == 11
    assert full.notes == ()


def test_of_several_folds_the_last_is_shown() -> None:
    facts = [
        {"fold": str(fold), "fact": fact, "evaluated": fold + 0.5}
        for fold in (0, 1)
        for fact in ("mean", "share cold")
    ]
    (found,) = health_tables({"representative": facts}, full=False)
    assert [column.title for column in found.columns] == ["fact", "evaluated"]
    assert found.rows == (("mean", "1.5"), ("share cold", Share(1.5)))
    assert found.notes == ("fold 1; -v shows the others",)
    (full,) = health_tables({"representative": facts}, full=True)
    assert [row[:2] for row in full.rows] == [
        ("0", "mean"),
        ("0", "share cold"),
        ("1", "mean"),
        ("1", "share cold"),
    ]
