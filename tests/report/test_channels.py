"""What channels add, how alike they are, and what if: as it is shown."""

import io
from dataclasses import replace

import polars as pl
import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from recoeval.report.channels import (
    contribution_tables,
    duplicate_table,
    overlap_tables,
    what_if_tables,
)
from recoeval.report.sections import Results, report_sections
from recoeval.report.text import open_console, write_report
from recoeval.report.values import Rate, Share, Table
from tests.report.helpers import channels_of, funnel_of, overlap_of, what_if_of

CHANNELS = channels_of(
    ("merged", "als", "all", "all", 300, 600, 100, 40, 180000, 0.25, 0.5, 0.125, 0.1875),
    ("merged", "als", "activity", "0", 300, 200, 0, 0, 60000, 0.0, 0.0, 0.0, 0.0),
    ("merged", "als", "activity", "[1,inf)", 300, 400, 100, 40, 120000, 0.25, 0.5, 0.125, 0.25),
    ("merged", "als", "coldness", "cold", 300, 9, 3, 3, None, 0.5, 0.5, 0.5, 0.5),
    ("merged", "new", "all", "all", 100, 600, 150, 90, 60000, 0.375, 0.5, 0.25, 0.3125),
    ("merged", "new", "activity", "0", 100, 200, 0, 0, 0, 0.0, 0.0, 0.0, 0.0),
    ("merged", "new", "activity", "[1,inf)", 100, 400, 150, 90, 40000, 0.5, 0.5, 0.25, 0.25),
    ("all", "als", "all", "all", 10, 600, 50, 50, 6000, 0.125, 0.25, 0.125, 0.125),
    ("all", "random", "all", "all", 10, 600, 0, 0, 6000, 0.0, 0.25, 0.0, 0.0),
    ("all", "als", "all", "all", 100, 600, 100, 100, 60000, 0.25, 0.25, 0.25, 0.25),
    ("all", "random", "all", "all", 100, 600, 0, 0, 60000, 0.0, 0.25, 0.0, 0.0),
)
OVERLAP = overlap_of(
    ("merged", "als", "new", 300, 100, 0.125),
    ("merged", "als", "old", 300, 50, None),
    ("merged", "new", "old", 100, 50, 0.0625),
    ("all", "als", "random", 10, 10, 0.0),
    ("all", "als", "random", 100, 100, 0.03125),
)
WHAT_IF = what_if_of(
    ("merged", "als", "as configured", 400.0, 200, 0.5, 0.0),
    ("merged", "als", "dropped", 100.0, 150, 0.375, -0.125),
    ("merged", "als", "+50", 450.0, 205, 0.5, 0.0),
    ("merged", "als", "+100", 480.0, 210, 0.51, 0.01),
    ("merged", "new", "as configured", 400.0, 200, 0.5, 0.0),
    ("merged", "new", "dropped", 300.0, 100, 0.25, -0.25),
    ("merged", "new", "+50", 450.0, 210, 0.5625, 0.0625),
    ("merged", "new", "+100", 500.0, 220, 0.625, 0.125),
)
FUNNEL = funnel_of(
    ("recall", "merged", 400, "all", "all", "all", 1200, 600, 0.5, 0.5, 600, 0),
    ("recall", "merged", 400, "als", "all", "all", 500, 400, 0.25, 0.8, 100, 0),
    ("rank", "ranked", 10, "all", "all", "all", 1200, 300, 0.25, 0.5, 300, 2),
    ("rank", "ranked", 10, "als", "all", "all", 500, 100, 0.125, 0.25, 300, 0),
)


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_channels_stand_by_their_shapley_share() -> None:
    found, *_ = contribution_tables(CHANNELS, [], None, full=False)
    assert found.title == "Channels of merged"
    assert titles(found) == [
        *("channel", "K", "Shapley", "of union", "recall", "without it"),
        *("hits", "exclusive", "slots", "slots per hit"),
    ]
    assert [row[0] for row in found.rows] == ["new", "als"]
    assert found.rows[0][2:6] == (Rate(0.3125), Share(0.625), Rate(0.375), Rate(0.25))
    assert found.rows[0][6:] == (150, 90, 60000, "400.0")
    assert found.rows[1][-1] == "1,800.0"
    assert found.notes[0] == (
        "union recall: 0.5000, over 600 users; the Shapley shares add up to it"
    )


def test_baselines_are_said_to_be_left_out_of_all_generators() -> None:
    found = contribution_tables(CHANNELS, [], 10, full=False, baselines=["old", "editorial"])
    said = "baselines are left out: old, editorial"
    assert [(table.title, said in table.notes) for table in found] == [
        ("Channels of merged", False),
        ("Channels of all generators, K = 10", True),
    ]


def test_equal_channels_stand_by_name() -> None:
    row = ("all", "all", 5, 10, 0, 0, 50, 0.0, 0.0, 0.0, 0.0)
    found = contribution_tables(
        channels_of(("m", "b", *row), ("m", "a", *row)), [], None, full=False
    )
    assert [row[0] for row in found[0].rows] == ["a", "b"]
    # Nothing was found: there is no share of it, and no slots of a hit.
    assert found[0].rows[0][3] == Share(None)
    assert found[0].rows[0][-1] is None
    assert found[0].title == "Channels of m, K = 5"


@pytest.mark.parametrize(
    ("k", "full", "expected"),
    [
        (10, False, ["all generators, K = 10"]),
        (None, False, ["all generators, K = 100"]),
        (77, False, ["all generators, K = 100"]),
        (10, True, ["all generators, K = 10", "all generators, K = 100"]),
    ],
)
def test_a_group_at_several_depths(k: int | None, full: bool, expected: list[str]) -> None:
    tables = contribution_tables(CHANNELS, [], k, full=full)
    assert [table.title for table in tables[1:]] == [f"Channels of {each}" for each in expected]
    matrices = overlap_tables(OVERLAP, k, full=full)
    names = [f"Overlap of the channels of {each}" for each in ["merged", *expected]]
    assert [table.title for table in matrices] == names


def test_channels_by_bucket() -> None:
    _, found, *_ = contribution_tables(CHANNELS, ["activity", "unknown"], 10, full=False)
    assert found.title == "Channels of merged, by activity"
    assert [row[:2] for row in found.rows] == [
        *(("new", "0"), ("new", "[1,inf)")),
        *(("als", "0"), ("als", "[1,inf)")),
    ]
    assert found.rows[3][2:] == (600, Rate(0.25), Share(0.5), Rate(0.25), 100, "1,200.0")


def test_users_without_a_list_are_told() -> None:
    row = ("m", "a", "all", "all", 5, 600, 10, 10, 50, 0.25, 0.25, 0.25, 0.25)
    (found,) = contribution_tables(channels_of(row, served=300), [], None, full=False)
    assert titles(found)[-2:] == ["served users", "recall of these"]
    assert found.rows[0][-2:] == (300, Rate(0.5))


def test_folds_of_channels() -> None:
    second = CHANNELS.with_columns(
        fold=pl.lit(1, pl.Int64), shapley=pl.col("shapley") + 0.25, slots=pl.lit(None, pl.Int64)
    )
    found, *_ = contribution_tables(pl.concat([CHANNELS, second]), [], None, full=False)
    assert found.rows[0][2] == Rate(0.4375)
    assert found.rows[0][6:9] == (300, 180, 60000)
    assert found.notes[-1] == "means over 2 folds; counts are sums over them"


def test_overlap_is_a_matrix() -> None:
    found, *_ = overlap_tables(OVERLAP, 10, full=False)
    assert titles(found) == ["channel", "als", "new", "old"]
    assert found.rows == (
        ("als", "", Rate(0.125), Rate(None)),
        ("new", Rate(0.125), "", Rate(0.0625)),
        ("old", Rate(None), Rate(0.0625), ""),
    )


def test_what_if_shows_the_best_use_of_slots_first() -> None:
    (found,) = what_if_tables(WHAT_IF)
    assert found.title == "What if a channel of merged had other slots"
    assert titles(found) == [
        *("channel", "dropped", "as configured", "+50", "+100", "gain per 100 slots")
    ]
    assert found.rows == (
        ("new", Rate(0.25), Rate(0.5), Rate(0.5625), Rate(0.625), Rate(0.125)),
        ("  slots", "300.0", "400.0", "450.0", "500.0", ""),
        ("als", Rate(0.375), Rate(0.5), Rate(0.5), Rate(0.51), Rate(0.0125)),
        ("  slots", "100.0", "400.0", "450.0", "480.0", ""),
    )
    assert found.notes[1] == "gain per 100 slots: from as configured to +100, the best one first"


def test_what_if_without_more_slots_or_without_a_use_of_them() -> None:
    (found,) = what_if_tables(WHAT_IF.filter(~pl.col("change").str.starts_with("+")))
    assert titles(found) == ["channel", "dropped", "as configured"]
    # The one whose loss is felt most stands first.
    assert [row[0] for row in found.rows[::2]] == ["new", "als"]
    (found,) = what_if_tables(WHAT_IF.filter(change="as configured"))
    assert [row[0] for row in found.rows[::2]] == ["als", "new"]
    same = WHAT_IF.with_columns(slots=pl.lit(400.0))
    (found,) = what_if_tables(same)
    assert [row[-1] for row in found.rows[::2]] == [Rate(None)] * 2
    missing = WHAT_IF.filter(~((pl.col("generator") == "als") & (pl.col("change") == "+100")))
    (found,) = what_if_tables(missing)
    assert found.rows[2][-2:] == (Rate(None), Rate(None))
    assert found.rows[3][-2:] == ("", "")
    nobody = WHAT_IF.with_columns(pl.lit(None, pl.Float64).alias(n) for n in ("recall", "delta"))
    (found,) = what_if_tables(nobody)
    assert found.rows[0][1:] == (Rate(None),) * 5


def test_nothing_is_shown_of_nothing() -> None:
    assert contribution_tables(CHANNELS.clear(), ["activity"], None, full=True) == []
    assert overlap_tables(OVERLAP.clear(), None, full=True) == []
    assert what_if_tables(WHAT_IF.clear()) == []


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("full", [False, True])
def test_how_it_looks(
    results: Results, width: int, full: bool, snapshot: SnapshotAssertion
) -> None:
    tables = {"channels": CHANNELS, "overlap": OVERLAP, "what_if": WHAT_IF, "funnel": FUNNEL}
    known = replace(results, evaluation=replace(results.evaluation, **tables))
    plain = {section.title for section in report_sections(results, full=full)}
    own = [each for each in report_sections(known, full=full) if each.title not in plain]
    stream = io.StringIO()
    write_report(own, open_console(stream, width=width))
    assert stream.getvalue() == snapshot
    assert max(map(cell_len, stream.getvalue().splitlines())) <= width


def test_duplicates_by_merge_and_channel() -> None:
    lists = {
        "als": {"rows": 100, "lists": 10},
        "merged": {"rows": 90, "duplicates[als]": 0, "duplicates[b[1]]": 1234},
        "fused": {"rows": 90, "duplicates[als]": 5},
    }
    table = duplicate_table(lists)
    assert table is not None
    assert titles(table) == ["merge", "channel", "passed over"]
    assert table.rows == (
        ("merged", "als", 0),
        ("merged", "b[1]", 1234),
        ("fused", "als", 5),
    )
    assert duplicate_table({"als": {"rows": 100}}) is None
