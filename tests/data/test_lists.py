"""Lists: read in both layouts, checked, delivered."""

from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.data.lists import ListFacts, check_lists, deliver, find_order, read_lists
from recoeval.errors import ConfigError, DataError
from tests.data.helpers import put, refused, write

LONG = {"user_id": [1, 1, 2], "item_id": ["a", "b", "a"], "rank": [1, 2, 1]}


def lists_of(**columns: Any) -> pl.LazyFrame:
    return read_lists(pl.DataFrame(columns))


def checked(**columns: Any) -> ListFacts:
    return check_lists(lists_of(**columns), what="recs")


# Reading.


def test_long_lists():
    found = read_lists(pl.DataFrame({**LONG, "gain": [9, 9, 9], "score": [3, 2, 1]})).collect()
    assert found.schema == {
        "query_id": pl.Int64,
        "item_id": pl.String,
        "rank": pl.Int64,
        "score": pl.Float64,
    }
    assert found.rows() == [(1, "a", 1, 3.0), (1, "b", 2, 2.0), (2, "a", 1, 1.0)]


def test_rank_or_score_or_both():
    assert read_lists(pl.DataFrame(LONG)).collect_schema().names() == [
        "query_id",
        "item_id",
        "rank",
    ]
    scored = pl.DataFrame(LONG).rename({"rank": "score"})
    assert read_lists(scored).collect_schema().names() == ["query_id", "item_id", "score"]


def test_query_id_stands_before_user_id():
    frame = pl.DataFrame({**LONG, "query_id": ["p", "q", "r"], "generator": pl.Series(["x"] * 3)})
    found = read_lists(frame.with_columns(pl.col("generator").cast(pl.Categorical))).collect()
    assert found.columns == ["generator", "query_id", "item_id", "rank"]
    assert found["query_id"].to_list() == ["p", "q", "r"]
    assert found.schema["generator"] == pl.String


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "csv.gz", "jsonl"])
def test_files(tmp_path, ending):
    frame = pl.DataFrame({"uid": [1, 2], "vid": ["0012", "7"], "pos": [1, 1], "extra": [0, 0]})
    write(frame, tmp_path / f"recs.{ending}")
    columns = {"user_id": "uid", "item_id": "vid", "rank": "pos"}
    for path in (tmp_path / f"recs.{ending}", f"{tmp_path}/*.{ending}"):
        found = read_lists(path, columns=columns).collect()
        assert found.rows() == [(1, "0012", 1), (2, "7", 1)]


def test_text_files_with_a_format_and_forced_types(tmp_path):
    path = put(tmp_path / "recs.dat", "1::7::0.5\n2::8::0.25\n")
    from recoeval.data.sources import Format

    form = Format(separator="::", header=False, names=("user_id", "item_id", "score"))
    assert read_lists(path, form=form).collect().rows() == [(1, 7, 0.5), (2, 8, 0.25)]
    found = read_lists(path, form=form, query_id_type="text", item_id_type="text").collect()
    assert found.rows() == [("1", "7", 0.5), ("2", "8", 0.25)]


def test_a_trec_run_is_known_by_its_lines(tmp_path):
    path = put(tmp_path / "my.run", "1 Q0 007 3 0.5 tag\n")
    assert read_lists(path).collect().rows() == [("tag", "1", "007", 0.5)]
    named = read_lists(path, query_id_type="int").collect()
    assert named.rows() == [("tag", 1, "007", 0.5)]


@pytest.mark.parametrize("arrays", [False, True])
def test_one_row_a_query(arrays):
    frame = pl.DataFrame(
        {
            "user_id": [1, 2],
            "item_id": [["a", "b"], ["c", "a"]],
            "score": [[0.5, 0.25], [2.0, 1.0]],
            "built_at": [0, 0],
        }
    )
    if arrays:
        frame = frame.with_columns(
            pl.col("item_id").cast(pl.Array(pl.String, 2)),
            pl.col("score").cast(pl.Array(pl.Float64, 2)),
        )
    expected = [(1, "a", 0.5), (1, "b", 0.25), (2, "c", 2.0), (2, "a", 1.0)]
    assert read_lists(frame).collect().rows() == expected


def test_nested_lists_with_ranks_and_scores():
    found = lists_of(user_id=[1], item_id=[[7, 8]], rank=[[2, 1]], score=[[1, 2]]).collect()
    assert found.rows() == [(1, 7, 2, 1.0), (1, 8, 1, 2.0)]


def test_the_place_in_a_nested_list_is_the_rank():
    found = lists_of(user_id=[1, 2, 3, 4], item_id=[[9, 7, 8], [5], [], None]).collect()
    assert found.rows() == [(1, 9, 1), (1, 7, 2), (1, 8, 3), (2, 5, 1)]
    assert found.schema["rank"] == pl.Int64


def test_columns_of_a_configuration_are_named_there():
    for columns, said in (
        ({"uid": [1], "item_id": [1], "rank": [1]}, "Name it: columns: {user_id: ...}"),
        ({"user_id": [1], "vid": [1], "rank": [1]}, "Name it: columns: {item_id: ...}"),
        ({"user_id": [1], "item_id": [1], "pos": [1]}, "Name one: columns: {rank: ...}"),
    ):
        with pytest.raises(DataError) as error:
            read_lists(pl.DataFrame(columns), what="lists[als]")
        assert str(error.value).endswith(f". {said}")


def test_a_dict_is_no_frame():
    with pytest.raises(ConfigError) as error:
        read_lists({"als": pl.DataFrame({"user_id": [1], "item_id": [1], "rank": [1]})})
    assert str(error.value) == (
        "recs: got a dict, not a frame: of columns pl.DataFrame makes one, and lists of several "
        "generators stand in one frame with a column generator"
    )


def test_empty_lists_leave_no_row():
    found = lists_of(
        user_id=[1, 2, 3, 4], item_id=[[7], [], None, None], score=[[0.5], [], [], None]
    ).collect()
    assert found.rows() == [(1, 7, 0.5)]


def test_nested_lists_of_pandas():
    frame = pd.DataFrame({"user_id": ["u"], "item_id": [["a", "b"]], "score": [[1.0, 0.5]]})
    assert read_lists(frame).collect().rows() == [("u", "a", 1.0), ("u", "b", 0.5)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"uid": [1], "item": [1], "position": [1]},
            (
                "recs: no column query_id or user_id. Columns: uid, item, position. "
                'Rename it, e.g. .rename({"uid": "user_id"})\n'
                "recs: no column item_id. Columns: uid, item, position. "
                'Rename it, e.g. .rename({"vid": "item_id"})'
            ),
        ),
        (
            {"user_id": [1], "item_id": [1], "position": [1]},
            (
                "recs: no column rank or score. Columns: user_id, item_id, position. "
                'Rename one, e.g. .rename({"pos": "rank"})'
            ),
        ),
        (
            {"user_id": [1], "item_id": [1.5], "rank": [1]},
            "recs.item_id: Float64 ids lose digits: cast them in the data, or item_id_type: int",
        ),
        (
            {"user_id": [1], "item_id": [1], "rank": [True], "score": ["x"]},
            (
                "recs.rank: Boolean; expected whole numbers from 1\n"
                "recs.score: String; expected numbers"
            ),
        ),
        (
            {"user_id": [1], "item_id": [1], "rank": ["1"]},
            "recs.rank: String; expected whole numbers from 1",
        ),
        (
            {"user_id": [1], "item_id": [[1]], "rank": [1]},
            (
                "recs: item_id hold a list in each row, rank one value: "
                "write all of them as lists, or one row an item"
            ),
        ),
        (
            {"user_id": [1], "item_id": [1], "rank": [[1]], "score": [[1]]},
            (
                "recs: rank, score hold a list in each row, item_id one value: "
                "write all of them as lists, or one row an item"
            ),
        ),
        (
            {"user_id": ["u", "v"], "item_id": [["a", "b"], ["c"]], "score": [[1], [1]]},
            "recs: item_id, score differ in length in 1 row, e.g. query_id 'u'",
        ),
        (
            {
                "user_id": range(8),
                "item_id": [["a"]] * 8,
                "rank": [[1]] * 8,
                "score": [[1.0]] + [None] * 7,
            },
            (
                "recs: item_id, rank, score differ in length in 7 rows, "
                "e.g. query_id 1, 2, 3, 4, 5, ..."
            ),
        ),
    ],
)
def test_lists_that_are_no_lists(columns, message):
    assert refused(lists_of, **columns) == (message, 3)


def test_errors_of_columns_name_the_lists(tmp_path):
    path = tmp_path / "recs.parquet"
    write(pl.DataFrame(LONG), path)
    assert refused(read_lists, path, what="lists[als]", columns={"rank": "ranks"}) == (
        (
            f"lists[als].columns.rank: unknown column 'ranks' in {path}. Did you mean 'rank'? "
            "Columns: user_id, item_id, rank"
        ),
        2,
    )


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64])
def test_ranks_of_any_number_type(dtype):
    rank = pl.Series([1, 2, 1], dtype=dtype)
    found = read_lists(pl.DataFrame({**LONG, "rank": rank})).collect()
    assert found.schema["rank"] == pl.Int64
    assert found["rank"].to_list() == [1, 2, 1]


@pytest.mark.parametrize(
    ("rank", "shown"),
    [(1.5, '"1.5"'), (float("nan"), '"NaN"'), (float("inf"), '"inf"')],
)
def test_ranks_that_are_no_whole_numbers(rank, shown):
    lists = lists_of(user_id=[1], item_id=[1], rank=[rank])
    assert refused(check_lists, lists, what="recs") == (
        f"recs.rank: at least 1 value is no whole number, e.g. {shown}",
        3,
    )


# Delivering.


@pytest.mark.parametrize(
    ("columns", "tie", "expected"),
    [
        # The rank decides, gaps close; scores that disagree stay beside their items.
        (
            {"item_id": ["a", "b", "c"], "rank": [30, 2, 7], "score": [9.0, 1.0, 5.0]},
            "ascending",
            [("b", 1, 1.0), ("c", 2, 5.0), ("a", 3, 9.0)],
        ),
        # The score decides, highest first.
        (
            {"item_id": ["a", "b", "c"], "score": [-1.0, 0.5, 0.0]},
            "ascending",
            [("b", 1, 0.5), ("c", 2, 0.0), ("a", 3, -1.0)],
        ),
        # Equal scores: by item id, integers as integers.
        (
            {"item_id": [10, 9, 2], "score": [1.0, 1.0, 1.0]},
            "ascending",
            [(2, 1, 1.0), (9, 2, 1.0), (10, 3, 1.0)],
        ),
        # Text as text: by code point.
        (
            {"item_id": ["10", "9", "Z", "a", "é", "\U0001f600"], "score": [1.0] * 6},
            "ascending",
            [
                ("10", 1, 1.0),
                ("9", 2, 1.0),
                ("Z", 3, 1.0),
                ("a", 4, 1.0),
                ("é", 5, 1.0),
                ("\U0001f600", 6, 1.0),
            ],
        ),
        (
            {"item_id": ["10", "9", "Z"], "score": [1.0, 1.0, 2.0]},
            "descending",
            [("Z", 1, 2.0), ("9", 2, 1.0), ("10", 3, 1.0)],
        ),
        # Zero has one value.
        (
            {"item_id": ["b", "a"], "score": [0.0, -0.0]},
            "ascending",
            [("a", 1, 0.0), ("b", 2, 0.0)],
        ),
        # Identical rows stay, next to each other.
        (
            {"item_id": ["a", "b", "a"], "rank": [1, 2, 1], "score": [1.0, 0.5, 1.0]},
            "ascending",
            [("a", 1, 1.0), ("a", 2, 1.0), ("b", 3, 0.5)],
        ),
        # An item at two ranks stays at both.
        (
            {"item_id": ["a", "b", "a"], "rank": [1, 2, 3], "score": [1.0, 0.5, 0.25]},
            "ascending",
            [("a", 1, 1.0), ("b", 2, 0.5), ("a", 3, 0.25)],
        ),
        # Where the rank decides a score may be missing.
        (
            {"item_id": ["a", "b"], "rank": [2, 1], "score": [None, float("inf")]},
            "ascending",
            [("b", 1, float("inf")), ("a", 2, None)],
        ),
    ],
)
def test_the_delivered_order(columns, tie, expected):
    size = len(columns["item_id"])
    lists = lists_of(user_id=[1] * size, **columns)
    delivered = deliver(lists, tie=tie).collect()
    assert delivered.columns == ["query_id", "item_id", "rank", "score"]
    assert delivered.drop("query_id").rows() == expected
    backwards = lists.reverse()
    assert deliver(backwards, tie=tie).collect().equals(delivered)


def test_a_delivered_list_has_no_score_if_none_was_given():
    delivered = deliver(read_lists(pl.DataFrame(LONG))).collect()
    assert delivered.rows() == [(1, "a", 1), (1, "b", 2), (2, "a", 1)]


def test_lists_of_several_generators_and_folds_are_apart():
    lists = pl.LazyFrame(
        {
            "fold": [1, 0, 0, 0],
            "generator": ["x", "y", "x", "x"],
            "query_id": [1, 1, 1, 1],
            "item_id": [7, 7, 7, 8],
            "rank": [4, 4, 4, 3],
        }
    )
    assert deliver(lists).collect().rows() == [
        (0, "x", 1, 8, 1),
        (0, "x", 1, 7, 2),
        (0, "y", 1, 7, 1),
        (1, "x", 1, 7, 1),
    ]


ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["a", "b", "10", "9"]),
        st.integers(1, 4),
        st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]),
    ),
    max_size=12,
)
SCHEMA = {"query_id": pl.Int64, "item_id": pl.String, "rank": pl.Int64, "score": pl.Float64}


def expected_order(rows: list[Any], *, ranked: bool, tie: str) -> list[Any]:
    """Returns the delivered lists by definition, in plain Python."""
    found = []
    for query in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == query]
        if ranked:
            own.sort(key=lambda row: (row[2], row[1], -row[3]))
        else:
            own.sort(key=lambda row: row[1], reverse=tie == "descending")
            own.sort(key=lambda row: -row[3])
        found += [(query, row[1], place, row[3] + 0.0) for place, row in enumerate(own, 1)]
    return found


@given(ROWS, st.booleans(), st.sampled_from(["ascending", "descending"]))
def test_any_lists_are_delivered_as_defined(rows, ranked, tie):
    lists = pl.LazyFrame(rows, schema=SCHEMA, orient="row")
    given_lists = lists if ranked else lists.drop("rank")
    delivered = deliver(given_lists, tie=tie)
    found = delivered.collect().rows()
    assert found == expected_order(rows, ranked=ranked, tie=tie)
    # What was delivered is in order, and stays as it is.
    again = delivered if ranked else delivered.drop("rank")
    order = find_order(again, tie=tie)
    assert order == ("ranked" if ranked else "scored")
    assert deliver(again, tie=tie, order=order).collect().rows() == found


@given(ROWS, st.booleans(), st.sampled_from(["ascending", "descending"]))
def test_an_order_that_was_found_changes_nothing_but_time(rows, ranked, tie):
    lists = pl.LazyFrame(rows, schema=SCHEMA, orient="row")
    given_lists = lists if ranked else lists.drop("rank")
    order = find_order(given_lists, tie=tie)
    found = deliver(given_lists, tie=tie, order=order).collect()
    wanted = deliver(given_lists, tie=tie).collect()
    assert found.sort("query_id", "rank").rows() == wanted.rows()


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        ({"query_id": [2, 2, 1], "rank": [1, 2, 1]}, "ranked"),
        # In two pieces.
        ({"query_id": [1, 2, 1], "rank": [1, 1, 2]}, "unknown"),
        ({"query_id": [1, 2, 1], "rank": [1, 1, 1]}, "unknown"),
        ({"query_id": [1, 1, 1], "rank": [1, 2, 4]}, "unknown"),
        ({"query_id": [1, 1, 2], "rank": [2, 3, 1]}, "unknown"),
        ({"query_id": [1, 1, 2], "rank": [1, 1, 1]}, "unknown"),
        ({"query_id": [1, 1, 2], "rank": [1, None, 1]}, "unknown"),
        ({"query_id": [2, 2, 1], "score": [0.5, 0.25, 7.0]}, "scored"),
        ({"query_id": [2, 2, 1], "score": [0.25, 0.5, 7.0]}, "unknown"),
        ({"query_id": [2, 1, 2], "score": [0.5, 0.5, 0.25]}, "unknown"),
        ({"query_id": [2, 2, 1], "score": [0.5, float("nan"), 7.0]}, "unknown"),
        ({"query_id": [2, 2, 2], "score": [0.5, None, 0.1]}, "unknown"),
    ],
)
def test_the_order_that_lists_are_in(columns, order):
    assert find_order(pl.LazyFrame({**columns, "item_id": [7, 8, 9]})) == order


def test_the_order_of_ties():
    lists = pl.LazyFrame({"query_id": [1] * 3, "item_id": [2, 9, 10], "score": [0.0, -0.0, 0.0]})
    assert find_order(lists) == "scored"
    assert find_order(lists, tie="descending") == "unknown"
    text = pl.LazyFrame({"query_id": [1] * 3, "item_id": [9, 2, 10], "score": [1.0] * 3})
    assert find_order(text, tie="descending") == "scored"


# Checking.


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        ({"user_id": [1, 1, 2], "item_id": [7, 8, 7], "rank": [1, 2, 1]}, ListFacts(3)),
        ({"user_id": [1, 2, 1], "item_id": [7, 7, 8], "rank": [1, 1, 2]}, ListFacts(3)),
        ({"user_id": [1, 1], "item_id": [7, 8], "score": [0.5, 0.5]}, ListFacts(2)),
        # Twice a row beyond the first.
        (
            {"user_id": [1] * 4, "item_id": [7, 7, 7, 8], "rank": [1, 1, 1, 2]},
            ListFacts(4, identical_rows=2),
        ),
        (
            {"user_id": [1] * 3, "item_id": [7, 7, 8], "score": [0.5, 0.5, 0.5]},
            ListFacts(3, identical_rows=1),
        ),
        # The same item, three times in different places.
        (
            {"user_id": [1] * 4, "item_id": [7, 8, 7, 7], "rank": [1, 2, 3, 4]},
            ListFacts(4, repeated_items=2),
        ),
        (
            {"user_id": [1] * 3, "item_id": [7, 7, 8], "score": [0.5, 0.25, 0.5]},
            ListFacts(3, repeated_items=1),
        ),
        # One item, one rank, two scores: no identical rows, and no two items either.
        (
            {"user_id": [1, 1], "item_id": [7, 7], "rank": [1, 1], "score": [1.0, 2.0]},
            ListFacts(2, repeated_items=1),
        ),
        # Lists with gaps: the first begins at 2, the second leaves 2 out.
        (
            {"user_id": [1, 2, 2, 3], "item_id": [7, 7, 8, 7], "rank": [2, 1, 3, 1]},
            ListFacts(4, rank_gaps=2),
        ),
        (
            {"user_id": [1] * 3, "item_id": [7, 7, 8], "rank": [1, 1, 3]},
            ListFacts(3, identical_rows=1, rank_gaps=1),
        ),
        # Rank and score disagree in the first list, in two places; equal scores do not.
        (
            {
                "user_id": [1, 1, 1, 2, 2],
                "item_id": [7, 8, 9, 7, 8],
                "rank": [1, 2, 3, 1, 2],
                "score": [1.0, 2.0, 3.0, 1.0, 1.0],
            },
            ListFacts(5, disagreements=1),
        ),
        # Scores of one list say nothing about another.
        (
            {
                "user_id": [1, 1, 2, 2],
                "item_id": [7, 8, 7, 8],
                "rank": [1, 2, 1, 2],
                "score": [2.0, 1.0, 9.0, 8.0],
            },
            ListFacts(4),
        ),
        # Scores that say nothing where the rank decides.
        (
            {
                "user_id": [1, 1, 1, 2, 2],
                "item_id": [7, 8, 9, 7, 8],
                "rank": [1, 2, 3, 1, 2],
                "score": [1.0, float("nan"), 2.0, 1.0, None],
            },
            ListFacts(5),
        ),
        (
            {
                "user_id": [1] * 3,
                "item_id": [7, 8, 9],
                "rank": [3, 1, 2],
                "score": [float("nan"), None, float("inf")],
            },
            ListFacts(3),
        ),
    ],
)
def test_facts_of_lists(columns, facts):
    assert checked(**columns) == facts
    backwards = {name: values[::-1] for name, values in columns.items()}
    assert checked(**backwards) == facts


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"user_id": [1, 1, 1, 2], "item_id": [7, 8, 9, 7], "rank": [1, 1, 1, 1]},
            "lists[als]: 1 (query_id, rank) pair has several items, e.g. (1, 1)",
        ),
        (
            {
                "user_id": [f"u{n}" for n in range(8) for _ in "ab"],
                "item_id": ["a", "b"] * 8,
                "rank": [4] * 16,
            },
            (
                "lists[als]: 8 (query_id, rank) pairs have several items, "
                "e.g. ('u0', 4), ('u1', 4), ('u2', 4), ('u3', 4), ('u4', 4), ..."
            ),
        ),
        (
            {"user_id": [1, None], "item_id": [None, 8], "rank": [1, 1]},
            (
                "lists[als].query_id: 1 row without query_id, e.g. item_id 8\n"
                "lists[als].item_id: 1 row without item_id, e.g. query_id 1"
            ),
        ),
        (
            {"user_id": [1, 1, 2], "item_id": [7, 8, 7], "rank": [0, 1, -2]},
            (
                "lists[als].rank: 2 rows with a rank below 1, e.g. query_id, rank (1, 0), (2, -2); "
                "the best item has rank 1; is it counted from 0?"
            ),
        ),
        (
            {"user_id": [1, 1], "item_id": [7, 8], "rank": [None, 1]},
            "lists[als].rank: 1 row without rank, e.g. query_id, item_id (1, 7)",
        ),
        (
            {"user_id": [1, 1], "item_id": [7, 8], "score": [None, 1.0]},
            "lists[als].score: 1 row without score, e.g. query_id, item_id (1, 7)",
        ),
        (
            {
                "user_id": [1, 1, 2],
                "item_id": [7, 8, 9],
                "score": [float("nan"), float("inf"), float("-inf")],
            },
            (
                "lists[als].score: 1 row with a score that is no number, "
                "e.g. query_id, item_id (1, 7)\n"
                "lists[als].score: 2 rows with an infinite score, "
                "e.g. query_id, item_id (1, 8), (2, 9)"
            ),
        ),
    ],
)
def test_rows_that_no_list_has(columns, message):
    assert refused(check_lists, lists_of(**columns), what="lists[als]") == (message, 3)


def test_lists_without_rows_have_facts_too():
    empty = read_lists(pl.DataFrame(LONG).clear())
    assert check_lists(empty, what="recs") == ListFacts(0)
    assert deliver(empty).collect().height == 0
    with pytest.raises(DataError):
        check_lists(lists_of(user_id=[1], item_id=[None], rank=[1]), what="recs")


@pytest.mark.parametrize("column", ["rank", "score"])
def test_a_header_alone_is_lists_without_rows(tmp_path, column):
    path = put(tmp_path / "recs.csv", f"user_id,item_id,{column}\n")
    assert check_lists(read_lists(path), what="recs") == ListFacts(0)
    path = put(tmp_path / "recs.csv", f"user_id,item_id,{column}\n1,7,\n")
    assert f"1 row without {column}" in refused(check_lists, read_lists(path), what="recs")[0]


def test_lists_of_generators_are_checked_apart():
    frame = pl.LazyFrame(
        {"generator": ["x", "y"], "query_id": [1, 1], "item_id": [7, 8], "rank": [1, 1]}
    )
    assert check_lists(frame, what="recs") == ListFacts(2)


def test_many_lists():
    size = 500
    frame = pl.DataFrame(
        {
            "query_id": [query for query in range(size) for _ in range(20)],
            "item_id": [n for _ in range(size) for n in range(20)],
            "rank": [n + 1 for _ in range(size) for n in range(20)],
        }
    )
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1).lazy()
    assert find_order(frame.lazy()) == "ranked"
    assert find_order(shuffled) == "unknown"
    assert check_lists(shuffled, what="recs") == check_lists(frame.lazy(), what="recs")
    assert deliver(shuffled).collect().equals(frame)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.Int128])
def test_integer_scores_that_lose_digits(dtype):
    rows = {"user_id": [1, 1], "item_id": [1, 2]}
    large = pl.DataFrame({**rows, "score": pl.Series([2**53 + 2, 2**53 + 1], dtype=dtype)})
    with pytest.raises(DataError) as error:
        read_lists(large)
    assert str(error.value) == (
        "recs.score: scores above 2^53 lose digits: give rank, or scale them; "
        "e.g. 9007199254740993, 9007199254740994"
    )
    ranked = read_lists(large.with_columns(rank=pl.Series([1, 2])))
    assert ranked.collect()["rank"].to_list() == [1, 2]
    exact = pl.DataFrame({**rows, "score": pl.Series([2**53, None], dtype=dtype)})
    assert read_lists(exact).collect()["score"].to_list() == [2.0**53, None]
