"""The funnel, as it is shown."""

import polars as pl

from recoeval.report.funnel import funnel_tables
from recoeval.report.values import Rate, Share, Table
from tests.report.helpers import funnel_of

WHOLE = (
    ("recall", "merged", 400, "all", "all", "all", 1200, 600, 0.5, 0.5, 600, 0),
    ("rank", "ranked", 10, "all", "all", "all", 1200, 300, 0.25, 0.5, 300, 2),
)
OWN = (
    ("recall", "merged", 400, "als", "all", "all", 500, 400, 0.25, 0.8, 100, 0),
    ("recall", "merged", 400, "new", "all", "all", 200, 0, 0.0, 0.0, 200, 0),
    ("rank", "ranked", 10, "als", "all", "all", 500, 100, 0.125, 0.25, 300, 0),
    ("rank", "ranked", 10, "new", "all", "all", 200, 0, 0.0, None, 0, 0),
)
SIDES = (
    ("recall", "merged", 400, "all", "side", "left", 1000, 500, 0.5, 0.5, 500, 0),
    ("recall", "merged", 400, "all", "side", "right", 200, 100, 0.5, 0.5, 100, 0),
    ("rank", "ranked", 10, "all", "side", "left", 1000, 300, 0.25, 0.6, 200, 2),
    ("rank", "ranked", 10, "all", "side", "right", 200, 0, 0.0, 0.0, 100, 0),
)


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_stages_in_their_order() -> None:
    (found,) = funnel_tables(funnel_of(*WHOLE), ["side"])
    assert found.title == "Funnel"
    assert titles(found) == [
        *("stage", "generator", "k", "survived", "lost", "inserted", "recall", "hit survival"),
        *("precision", "candidates", "kept"),
    ]
    assert found.rows == (
        ("recall", "merged", 400, 600, 600, 0, Rate(0.5), Share(0.5), *rest()),
        ("rank", "ranked", 10, 300, 300, 2, Rate(0.25), Share(0.5), *rest()),
    )
    assert found.notes == (
        "of 1,200 relevant pairs; the lost and the last survivors add up to them",
        "inserted: relevant items in the first k that an earlier stage did not have",
        "kept: share of the items that the next stage has in its first k",
    )


def rest() -> tuple[Rate, int, Share]:
    return Rate(0.25), 6000, Share(0.25)


def test_exposures_are_shown_where_they_are_known() -> None:
    (found,) = funnel_tables(funnel_of(*WHOLE, candidates=(6000, None, 0.5)), [])
    assert titles(found)[-2:] == ["candidates", "exposed"]
    assert found.rows[0][-1] == Share(0.5)
    assert found.notes[-1].startswith("exposed: ")


def test_channels_of_the_first_stage() -> None:
    own = funnel_of(*OWN, precision=None, candidates=(None, None, None))
    _, found = funnel_tables(pl.concat([funnel_of(*WHOLE), own]), [])
    assert found.title == "Funnel by channel"
    assert titles(found) == [
        *("channel", "stage", "relevant", "survived", "lost", "recall", "hit survival")
    ]
    assert found.rows == (
        ("als", "recall", 500, 400, 100, Rate(0.25), Share(0.8)),
        ("als", "rank", 500, 100, 300, Rate(0.125), Share(0.25)),
        ("new", "recall", 200, 0, 200, Rate(0.0), Share(0.0)),
        ("new", "rank", 200, 0, 0, Rate(0.0), Share(None)),
    )


def test_buckets() -> None:
    _, found = funnel_tables(funnel_of(*WHOLE, *SIDES), ["side", "unknown"])
    assert found.title == "Funnel by side"
    assert [row[:4] for row in found.rows] == [
        ("left", "recall", 1000, 500),
        ("left", "rank", 1000, 300),
        ("right", "recall", 200, 100),
        ("right", "rank", 200, 0),
    ]


def test_folds_are_added_up() -> None:
    rows = funnel_of(*WHOLE)
    second = rows.with_columns(
        fold=pl.lit(1, pl.Int64), recall=pl.col("recall") / 2, kept=pl.lit(None, pl.Float64)
    )
    (found,) = funnel_tables(pl.concat([rows, second]), [])
    assert found.rows[0][3:7] == (1200, 1200, 0, Rate(0.375))
    assert found.rows[0][-2:] == (12000, Share(0.25))
    assert found.notes[-1] == "means over 2 folds; counts are sums over them"


def test_nothing_is_shown_of_nothing() -> None:
    assert funnel_tables(funnel_of(), ["side"]) == []
