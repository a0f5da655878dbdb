"""Pairs of the train window as codes, held against the same questions asked of frames."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.data import trainpairs
from recoeval.data.numbering import Numbering
from recoeval.data.trainpairs import (
    Coding,
    TrainPairs,
    among,
    code_in_order,
    find_train_pairs,
    number_rows,
    pairs_of_rows,
)

Row = tuple[int, int, bool | None, bool | None]

ROWS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 5),
        st.sampled_from([True, False, None]),
        st.sampled_from([True, False, None]),
    ),
    min_size=1,
    max_size=40,
)
SCHEMA = {"user_id": pl.Int64, "item_id": pl.Int64, "trained": pl.Boolean, "seen": pl.Boolean}
IDS = ["user_id", "item_id"]


def frame(rows: list[Row], *, text: bool) -> pl.DataFrame:
    """Returns rows with ids as integers, or as text of which some is longer than 12 bytes."""
    table = pl.DataFrame(rows, SCHEMA, orient="row")
    if not text:
        return table
    return table.with_columns(pl.format("{}-of-many-things", each).alias(each) for each in IDS)


def pairs_of(table: pl.DataFrame, seen: pl.Expr | None = None) -> TrainPairs:
    marks = [pl.col("trained"), *([] if seen is None else [seen])]
    users, items = Numbering(), Numbering()
    found = number_rows(table.lazy(), users, items, marks=marks)
    coding, codes = code_in_order(found, users.sorted(), items.sorted(), marks=len(marks))
    return find_train_pairs(codes, coding, marks=len(marks))


def distinct(table: pl.DataFrame) -> list[Any]:
    return sorted(table.select(IDS).unique().rows())


@given(ROWS, st.booleans())
def test_codes_are_the_distinct_pairs(rows: list[Row], text: bool) -> None:
    table = frame(rows, text=text)
    found = pairs_of(table, pl.col("seen"))
    kinds = {
        "every": table,
        "trained": table.filter("trained"),
        "seen": table.filter("seen"),
    }
    for name, expected in kinds.items():
        decoded = found.coding.decode(getattr(found, name))
        if name == "every":
            assert decoded.height == table.height
            decoded = decoded.unique(maintain_order=True)
        assert decoded.rows() == distinct(expected), name
        assert decoded.schema == table.select(IDS).schema
    counts = dict(table.filter("trained")["user_id"].value_counts().iter_rows())
    users = found.coding.users
    assert found.train_rows.tolist() == [counts.get(user, 0) for user in users]


@given(ROWS, st.booleans())
def test_train_rows_are_seen_unless_a_rule_says_more(rows: list[Row], text: bool) -> None:
    found = pairs_of(frame(rows, text=text))
    assert found.seen is found.trained


@given(ROWS, st.booleans())
def test_popularity_is_the_distinct_users_of_an_item(rows: list[Row], text: bool) -> None:
    table = frame(rows, text=text)
    trained = table.filter("trained").select(IDS).unique()
    expected = trained.group_by("item_id").agg(pl.len().cast(pl.Int64).alias("train_users"))
    found = pairs_of(table).popularity()
    assert found.equals(expected.sort("item_id"))


def test_seen_pairs_of_some_users():
    rows: list[Row] = [
        (1, 7, True, None),
        (1, 7, True, None),
        (2, 8, True, None),
        (3, 7, True, None),
    ]
    found = pairs_of(frame(rows, text=False))
    assert found.seen_of(pl.Series([9, 3, 1])).collect().rows() == [(1, 7), (3, 7)]


def test_pairs_are_found_wherever_they_stand():
    rows: list[Row] = [(0, 0, True, None), (1, 5, False, None), (4, 5, True, None)]
    table = frame(rows, text=True)
    found = pairs_of(table)
    asked = frame([(4, 5, None, None), (9, 5, None, None), (0, 0, None, None)], text=True)
    # A user and an item that are known, but not together; an unknown one.
    asked = pl.concat([asked, frame([(0, 5, None, None), (1, 5, None, None)], text=True)])
    codes = found.coding.find(asked)
    assert codes.is_null().to_list() == [False, True, False, False, False]
    assert among(codes, found.every).to_list() == [True, False, True, False, True]
    assert among(codes, found.trained).to_list() == [True, False, True, False, False]
    assert among(codes, found.every[:0]).to_list() == [False] * 5


def test_large_tables_are_worked_on_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = [(user, item, True, None) for user in (1, 3, 4) for item in (2, 5, 6)]
    whole = pairs_of_rows(frame(rows, text=False).lazy())
    asked = frame([*rows, (9, 2, None, None)], text=False)
    expected = [rows[0][:2], rows[1][:2], rows[2][:2], *[row[:2] for row in rows[6:]]]
    for size in (100, 2, 1):
        monkeypatch.setattr(trainpairs, "_AT_ONCE", size)
        assert whole.seen_of(pl.Series([1, 4])).collect().rows() == expected
        assert whole.popularity().rows() == [(2, 3), (5, 3), (6, 3)]
        codes = whole.coding.find(asked)
        assert codes.to_list() == [*whole.every.tolist(), None]
        assert among(codes, whole.trained[2:4]).to_list() == [at in (2, 3) for at in range(10)]
        assert among(codes[::-1], whole.trained[2:4]).to_list() == [
            at in (7, 6) for at in range(10)
        ]


def test_the_largest_codes_fit():
    coding = Coding(pl.Series([7]), pl.Series([8]))
    codes = np.array([2**62 - 1], np.uint64)
    assert int(codes[0] >> np.uint64(31)) == int(codes[0] & np.uint64(2**31 - 1)) == 2**31 - 1
    assert coding.find(pl.DataFrame({"user_id": [7], "item_id": [8]})).to_list() == [0]


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=40),
    first=st.sampled_from([0, -3, 2**63 - 20, -(2**63)]),
    apart=st.sampled_from([1, 2, 2**40]),
    text=st.booleans(),
)
def test_pairs_of_train_rows_alone(
    rows: list[tuple[int, int]], first: int, apart: int, text: bool
) -> None:
    near = apart if first < 2**60 else 1
    pairs = [(first + user * near, first + item) for user, item in rows]
    table = pl.DataFrame(pairs, dict.fromkeys(IDS, pl.Int64), orient="row")
    if text:
        table = table.with_columns(pl.format("{}-of-many-things", each).alias(each) for each in IDS)
    found = pairs_of_rows(table.lazy())
    expected = pairs_of(table.with_columns(trained=True))
    coding = expected.coding
    assert found.coding.users.to_list() == coding.users.to_list()
    assert found.coding.items.to_list() == coding.items.to_list()
    for name in ("every", "trained", "seen", "train_rows"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.tolist() == other.tolist()
        assert one.dtype == other.dtype
    assert found.popularity().equals(expected.popularity())
    users = coding.users.head(2)
    own = table.filter(pl.col("user_id").is_in(users.implode()))
    assert sorted(found.seen_of(users).collect().rows()) == distinct(own)
    assert sorted(found.seen_of(coding.users).collect().rows()) == distinct(table)
