"""Where the lost recall went, as it is shown."""

import polars as pl
import pytest

from recoeval.columns import CAUSES, LOSS_SCHEMA
from recoeval.report.losses import leading_depth, loss_table, loss_tables_by_bucket, miss_section
from recoeval.report.values import Paragraph, Rate, Share, Table, Word
from tests.report.helpers import loss_of

ALL = {
    ("als", "all", "all"): (2, 1, 0, 0, 1, 0, 4),
    ("random", "all", "all"): (0, 0, 0, 0, 0, 0, 8),
    ("als", "activity", "0"): (0, 0, 0, 0, 0, 0, 0),
    ("als", "activity", "[1,inf)"): (2, 1, 0, 0, 1, 0, 4),
}


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_counts_and_below_them_shares() -> None:
    found = loss_table(loss_of(ALL, 10), 10, {})
    assert found.title == "Where the lost recall went, K = 10"
    assert titles(found) == [
        "generator",
        "relevant",
        "hit",
        "below K",
        "cold item",
        "not retrieved",
    ]
    assert found.rows == (
        ("als", 8, 2, 1, 1, 4),
        ("  share", "", Share(0.25), Share(0.125), Share(0.125), Share(0.5)),
        ("random", 8, 0, 0, 0, 8),
        ("  share", "", Share(0.0), Share(0.0), Share(0.0), Share(1.0)),
    )


def test_causes_that_nothing_has_are_left_out_and_the_others_are_explained() -> None:
    found = loss_table(loss_of({("als", "all", "all"): (0, 0, 3, 1, 0, 2, 0)}, 1), 1, {})
    assert titles(found)[2:] == ["hit", "filtered", "unavailable", "cold user"]
    assert found.notes[0].endswith("recall is a mean over users")
    assert [note.partition(":")[0] for note in found.notes[1:]] == titles(found)[3:]


def test_every_row_adds_up_to_its_relevant_items() -> None:
    for row in loss_table(loss_of(ALL, 10), 10, {}).rows[::2]:
        assert row[1] == sum(cell for cell in row[2:] if isinstance(cell, int))


def test_the_ceiling_stands_in_front_where_it_is_known() -> None:
    found = loss_table(loss_of(ALL, 10), 10, {"als": 0.9, "random": None})
    assert titles(found)[:4] == ["generator", "relevant", "recall ceiling", "hit"]
    assert [row[2] for row in found.rows] == [Rate(0.9), "", Rate(None), ""]
    assert [row[3] for row in found.rows] == [2, Share(0.25), 0, Share(0.0)]
    assert found.notes[1] == "recall ceiling: recall if all but unavailable and cold ones were hit"


def test_folds_are_added_up() -> None:
    loss = loss_of(ALL, 10)
    second = loss.with_columns(pl.lit(1, pl.Int64).alias("fold"))
    found = loss_table(pl.concat([loss, second]), 10, {})
    assert found.rows[0] == ("als", 16, 4, 2, 2, 8)
    assert found.rows[1][2] == Share(0.25)


def test_buckets_have_shares_and_in_full_counts() -> None:
    (found,) = loss_tables_by_bucket(loss_of(ALL, 10), 10, ["activity"], full=False)
    assert found.title == "Where the lost recall went by activity, K = 10"
    assert found.rows == (
        ("als", "0", 0, Share(None), Share(None), Share(None), Share(None)),
        ("als", "[1,inf)", 8, Share(0.25), Share(0.125), Share(0.125), Share(0.5)),
    )
    (full,) = loss_tables_by_bucket(loss_of(ALL, 10), 10, ["activity"], full=True)
    assert full.rows[2:] == (
        ("als", "[1,inf)", 8, 2, 1, 1, 4),
        ("  share", "", "", Share(0.25), Share(0.125), Share(0.125), Share(0.5)),
    )


def test_a_bucket_that_lost_nothing_or_was_not_counted_has_no_table() -> None:
    found = {("als", "activity", "0"): (9, 0, 0, 0, 0, 0, 0)}
    assert loss_tables_by_bucket(loss_of(found, 10), 10, ["activity", "age"], full=False) == []


@pytest.mark.parametrize(
    ("depths", "k", "shown"),
    [
        ([5, 10], 5, 5),  # the K of the leading metric
        ([5, 10], 20, 10),  # or the largest that there is
        ([5, 10], None, 10),
        ([5, None], None, None),  # whole lists, if the leading metric is about them
        ([5, None], 20, 5),
        ([None], 5, None),
    ],
)
def test_which_k_is_shown(depths: list[int | None], k: int | None, shown: int | None) -> None:
    loss = pl.concat([loss_of(ALL, depth) for depth in depths])
    assert leading_depth(loss, k) == shown


def test_whole_lists() -> None:
    loss = pl.concat([loss_of(ALL, 10), loss_of(ALL, None).with_columns(hit=pl.lit(3, pl.Int64))])
    found = loss_table(loss, None, {})
    assert found.title == "Where the lost recall went, whole lists"
    assert found.rows[0][:3] == ("als", 8, 3)


def misses(**columns: list[object]) -> pl.DataFrame:
    rows = {
        "fold": [0, 0],
        "generator": ["als", "popularity"],
        "query_id": [1234, 7],
        "item_id": [5678, 9],
        "gain": [1.0, 1.0],
        "rank": [None, None],
        "cause": ["not_retrieved", "cold_item"],
    }
    return pl.DataFrame({**rows, **columns}, strict=False)


def test_lost_pairs_by_generator() -> None:
    found = miss_section(misses(), 10)
    assert isinstance(found, Table)
    assert found.title == "A sample of lost pairs, K = 10"
    assert titles(found) == ["query", "item", "cause"]
    # An id is a name, not a number with thousands.
    assert [(group.title, group.rows) for group in found.groups] == [
        (Word("als", "strong"), (("1234", "5678", "not retrieved"),)),
        (Word("popularity", "strong"), (("7", "9", "cold item"),)),
    ]


def test_rank_gain_and_fold_where_they_say_something() -> None:
    found = miss_section(
        misses(
            fold=[0, 1],
            rank=[12, None],
            cause=["below_k", "not_retrieved"],
            gain=[1.0, 2.5],
        ),
        10,
    )
    assert isinstance(found, Table)
    assert titles(found) == ["fold", "query", "item", "cause", "rank", "gain"]
    assert found.rows == (
        (0, "1234", "5678", "below K", 12, "1"),
        (1, "7", "9", "not retrieved", None, "2.5"),
    )


def test_nothing_lost() -> None:
    assert miss_section(misses().clear(), None) == Paragraph(
        "A sample of lost pairs, whole lists",
        (Word("none: every relevant item was found", "good"),),
    )


def test_the_hand_made_loss_is_one() -> None:
    assert dict(loss_of(ALL, 10).schema) == LOSS_SCHEMA
    assert len(CAUSES) == 7
