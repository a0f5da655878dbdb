import gzip
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recoeval as rv
from recoeval.data.delivery import deliver
from recoeval.data.inputs import (
    History,
    Lists,
    check_ids,
    read_recs,
    read_train,
    read_truth,
    require_overlap,
    said,
    unlike_types,
)
from recoeval.data.sidetables import read_exposures, read_items, read_users
from recoeval.errors import ConfigError, DataError

TRUTH = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 7]})
RECS = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [8, 9, 7], "rank": [1, 2, 1]})


def text_of(call: Any, *arguments: Any) -> str:
    with pytest.raises(DataError) as error:
        call(*arguments)
    assert error.value.exit_code == 3
    return str(error.value)


# Truth.


def test_truth_of_users():
    truth = read_truth(TRUTH)
    assert sorted(truth.pairs.rows()) == [(1, 7, 1.0), (1, 8, 1.0), (2, 7, 1.0)]
    assert truth.pairs.columns == ["query_id", "item_id", "gain"]
    assert truth.queries.rows() == [(1, 1), (2, 2)]
    assert truth.counts == {"truth_rows": 3, "repeated_truth_rows": 0}


def test_truth_of_queries_with_gains_and_repeated_rows():
    truth = read_truth(
        pl.DataFrame(
            {
                "gain": [1, 3, 2, 1],
                "user_id": ["u", "u", "u", "v"],
                "query_id": [2, 2, 1, 3],
                "item_id": [7, 7, 7, 7],
                "rank": 0,
            }
        )
    )
    # The gain of a pair is the largest of its rows.
    assert sorted(truth.pairs.rows()) == [(1, 7, 2.0), (2, 7, 3.0), (3, 7, 1.0)]
    assert truth.queries.rows() == [(1, "u"), (2, "u"), (3, "v")]
    assert truth.counts == {"truth_rows": 4, "repeated_truth_rows": 1}


@pytest.mark.parametrize("ending", ["qrels", "qrels.gz"])
def test_qrels(tmp_path, ending):
    path = tmp_path / f"truth.{ending}"
    lines = b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 -1\nq3 0 d9 1\n"
    path.write_bytes(gzip.compress(lines) if ending.endswith("gz") else lines)
    truth = read_truth(path)
    # Grades of 0 and below are judgements of items that are not relevant.
    assert sorted(truth.pairs.rows()) == [("q1", "d1", 2.0), ("q3", "d9", 1.0)]
    assert truth.queries.rows() == [("q1", "q1"), ("q3", "q3")]
    assert truth.counts == {
        "truth_rows": 4,
        "grades_not_relevant": 2,
        "repeated_truth_rows": 0,
    }
    assert read_truth(str(path)).pairs.height == 2


def test_qrels_without_anything_relevant(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d1 0\n")
    assert text_of(read_truth, tmp_path / "qrels") == "truth: no relevant rows"


@pytest.mark.parametrize("bad", [None, 0.0, -2.0, float("nan"), float("inf")])
def test_truth_with_a_gain_that_is_no_number_above_zero(bad):
    truth = TRUTH.with_columns(gain=pl.Series([bad, 1.0, bad]))
    assert text_of(read_truth, truth) == (
        f"truth.gain: 2 gains are null, not positive or infinite, e.g. {bad}, {bad}; a gain is > 0"
    )


@pytest.mark.parametrize(
    ("gains", "name"),
    [
        (["1", "2", "3"], "String"),
        ([True, True, True], "Boolean"),
        ([date(2026, 1, 5)] * 3, "Date"),
        ([datetime(2026, 1, 5)] * 3, "Datetime"),
        ([timedelta(days=1)] * 3, "Duration"),
        ([[1.0]] * 3, "List(Float64)"),
        (pl.Series(["1", "2", "3"], dtype=pl.Categorical), "Categorical"),
    ],
)
def test_gains_that_are_no_numbers(gains, name):
    truth = TRUTH.with_columns(gain=pl.Series(gains))
    assert text_of(read_truth, truth) == f"truth.gain: {name}; expected numbers"


def test_narrow_gains_are_read_as_they_print():
    gains = pl.Series([0.7, 1e30, 3.0], dtype=pl.Float32)
    found = read_truth(TRUTH.with_columns(gain=gains)).pairs.sort("gain")
    assert found["gain"].to_list() == [0.7, 3.0, 1e30]
    recs = pl.DataFrame({"user_id": [1], "item_id": [7], "rank": [1]})
    found = rv.evaluate(recs, TRUTH.with_columns(gain=gains), metrics=["recall(rel=0.7)@1"])
    assert found.value("recall(rel=0.7)@1") == 1 / 4


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float64, pl.Decimal(5, 2)])
def test_gains_of_any_width(dtype):
    truth = TRUTH.with_columns(gain=pl.Series([1, 3, 2]).cast(dtype))
    assert read_truth(truth).pairs["gain"].sort().to_list() == [1.0, 2.0, 3.0]


def test_truth_without_rows():
    assert text_of(read_truth, TRUTH.clear()) == "truth: no relevant rows"


def test_truth_with_a_query_of_two_users():
    truth = TRUTH.with_columns(query_id=5)
    assert text_of(read_truth, truth) == (
        "truth.query_id: 1 queries belong to several users, e.g. 5; a query has one user"
    )


# All tables.

READERS = {
    "truth": read_truth,
    "train": read_train,
    "users": lambda table: read_users(table, read_truth(TRUTH).queries),
}


TABLES = {**READERS, "recs": read_recs, "items": read_items, "exposures": read_exposures}


@pytest.mark.parametrize("what", READERS)
def test_a_table_without_users(what):
    table = TRUTH.rename({"user_id": "uid"})
    assert text_of(READERS[what], table) == (
        f"{what}: no column user_id or query_id. Columns: uid, item_id"
    )


@pytest.mark.parametrize("what", ["truth", "train"])
def test_a_table_without_items(what):
    table = TRUTH.rename({"item_id": "vid"})
    assert text_of(READERS[what], table) == f"{what}: no column item_id. Columns: user_id, vid"


@pytest.mark.parametrize("what", READERS)
def test_a_table_with_null_ids_names_all_columns(what):
    table = pl.DataFrame({"user_id": [1, None], "query_id": [None, None], "item_id": [1, None]})
    expected = [f"{what}.query_id: 2 ids are null", f"{what}.user_id: 1 ids are null"]
    if what != "users":
        expected.append(f"{what}.item_id: 1 ids are null")
    assert text_of(READERS[what], table).splitlines() == expected


@pytest.mark.parametrize("what", READERS)
def test_a_table_with_fractions_as_ids(what):
    table = TRUTH.with_columns(pl.col("user_id") / 2)
    assert text_of(READERS[what], table).startswith(f"{what}.user_id: Float64 ids lose digits")


@pytest.mark.parametrize("what", READERS)
def test_a_table_with_ids_beyond_64_bits(what):
    table = TRUTH.with_columns(user_id=pl.Series([1, 2, 2**64 - 1], dtype=pl.UInt64))
    text = text_of(READERS[what], table)
    assert text.startswith(f"{what}.user_id: at least 1 value is no")
    assert text.endswith("18446744073709551615")


@pytest.mark.parametrize("what", READERS)
def test_no_table_at_all(what):
    with pytest.raises(ConfigError, match=f"^{what}: got a builtins.dict; accepted are a polars"):
        READERS[what]({"user_id": [1], "item_id": [2]})


@pytest.mark.parametrize("what", READERS)
def test_a_path_that_is_not_there(what, tmp_path):
    text = text_of(READERS[what], tmp_path / "nothing.parquet")
    assert text == f"{what}: no such file or folder: {tmp_path}/nothing.parquet"


def same(table: Any, tmp_path) -> Any:
    return table


def lazy(table: pl.DataFrame, tmp_path) -> pl.LazyFrame:
    return table.lazy()


def arrow(table: pl.DataFrame, tmp_path) -> pa.Table:
    return table.to_arrow()


def pandas(table: pl.DataFrame, tmp_path) -> Any:
    return table.to_pandas()


def relation(table: pl.DataFrame, tmp_path) -> Any:
    rows = table.to_arrow()
    return duckdb.connect().from_arrow(rows)


def parquet(table: pl.DataFrame, tmp_path) -> Any:
    table.write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def csv(table: pl.DataFrame, tmp_path) -> str:
    table.write_csv(tmp_path / "t.csv")
    return str(tmp_path / "t.csv")


@pytest.mark.parametrize("what", TABLES)
def test_lazy_tables_that_ask_for_what_is_not_there(what, tmp_path):
    for table, text in (
        (TRUTH.lazy().select("user_id", "nope"), 'unable to find column "nope"'),
        (pl.scan_parquet(tmp_path / "no.parquet"), "No such file or directory"),
        (pl.scan_csv(tmp_path / "no.csv"), "No such file or directory"),
        (TRUTH.lazy().select(pl.all(), item_id=1), "duplicate output name 'item_id'"),
        (TRUTH.lazy().with_columns(n=pl.lit("x").cast(pl.Int64)), "conversion from `str`"),
    ):
        said = text_of(TABLES[what], table)
        assert said.startswith(f"{what}: cannot be read: ")
        assert text in said
        assert "\n" not in said


@pytest.mark.parametrize("what", TABLES)
def test_tables_that_arrow_refuses(what):
    objects = TRUTH.to_pandas().assign(item_id=pd.Series([7, "8", 9], dtype=object))
    assert text_of(TABLES[what], objects) == (
        f"{what}: cannot be read: Could not convert '8' with type str: tried to convert to int64; "
        "a column has one type, and a name of its own"
    )


@pytest.mark.parametrize("what", TABLES)
def test_tables_with_a_name_twice(what, tmp_path):
    names = ["user_id", "item_id", "item_id"]
    rows = pa.table([[1], [7], [8]], names=names)
    twice = pd.DataFrame([[1, 7, 8]], columns=names)
    relation = duckdb.sql("select 1 user_id, 7 item_id, 8 item_id")
    pq.write_table(rows, tmp_path / "twice.parquet")
    assert text_of(TABLES[what], tmp_path / "twice.parquet") == (
        f"{what}: {tmp_path}/twice.parquet is not a readable parquet file: "
        "column with name 'item_id' has more than one occurrence"
    )
    for table in (rows, twice, relation):
        said = text_of(TABLES[what], table)
        assert said.startswith(f"{what}: cannot be read: ")
        assert said.endswith("; a column has one type, and a name of its own")


def pattern(table: pl.DataFrame, tmp_path) -> str:
    table.head(1).write_ipc(tmp_path / "1.arrow")
    table.slice(1).write_ipc(tmp_path / "2.arrow")
    return str(tmp_path / "*.arrow")


KINDS = pytest.mark.parametrize(
    "kind", [same, lazy, arrow, pandas, relation, parquet, csv, pattern]
)


@KINDS
@pytest.mark.parametrize(
    "cast", [pl.Int64, pl.Int32, pl.UInt16, pl.String], ids=["i64", "i32", "u16", "text"]
)
def test_any_kind_of_table_gives_the_same(kind, cast, tmp_path):
    # A csv file has no types: whole numbers are integers, whoever wrote them.
    ids = pl.col("user_id", "item_id").cast(cast)
    if cast == pl.String:
        ids += "u"
    truth, recs = TRUTH.with_columns(ids), RECS.with_columns(ids)
    expected = read_truth(truth)
    found = read_truth(kind(truth, tmp_path))
    assert found.pairs.sort(pl.all()).equals(expected.pairs.sort(pl.all()))
    assert found.pairs.schema["item_id"] == (pl.String if cast == pl.String else pl.Int64)
    assert found.queries.equals(expected.queries)

    lists = read_recs(kind(recs, tmp_path)).by_generator["recs"].collect()
    assert lists.equals(read_recs(recs).by_generator["recs"].collect())

    history = read_train(kind(truth, tmp_path))
    assert seen_by(history) == truth.sort(pl.all()).rows()
    assert read_users(kind(truth, tmp_path), expected.queries).equals(expected.queries)


def test_text_files_keep_the_zeros_of_ids(tmp_path):
    (tmp_path / "t.csv").write_text("user_id,item_id\n007,10\n7,11\n")
    truth = read_truth(tmp_path / "t.csv")
    assert sorted(truth.pairs.rows()) == [("007", 10, 1.0), ("7", 11, 1.0)]


def test_a_broken_file_of_truth(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no")
    assert text_of(read_truth, tmp_path / "t.parquet").startswith("truth: ")


# Lists.


def delivered(lists: Lists) -> dict[str, list[Any]]:
    """Returns the rows of each generator in the order in which they were delivered."""
    return {
        name: deliver(rows, tie=lists.tie).collect().rows()
        for name, rows in lists.by_generator.items()
    }


def test_lists_without_a_generator_are_called_recs():
    lists = read_recs(RECS)
    assert list(lists.by_generator) == ["recs"]
    assert lists.tie == "ascending"
    found = lists.by_generator["recs"].collect()
    assert found.rows() == [(1, 8, 1), (1, 9, 2), (2, 7, 1)]
    assert found.columns == ["query_id", "item_id", "rank"]


def test_lists_of_several_generators_are_taken_apart_in_order():
    recs = pl.concat([RECS.with_columns(generator=pl.lit(name)) for name in ("pop", "als", "pop2")])
    lists = read_recs(recs.filter(~((pl.col("generator") == "als") & (pl.col("user_id") == 1))))
    assert list(lists.by_generator) == ["als", "pop", "pop2"]
    assert {name: rows.collect().height for name, rows in lists.by_generator.items()} == {
        "als": 1,
        "pop": 3,
        "pop2": 3,
    }
    assert lists.by_generator["als"].collect().rows() == [(2, 7, 1)]


def test_generators_may_be_numbers():
    assert list(read_recs(RECS.with_columns(generator=7)).by_generator) == ["7"]


def test_scores_order_a_list_where_there_are_no_ranks():
    recs = RECS.drop("rank").with_columns(score=pl.Series([0.5, 0.5, 1.0]))
    # Of equal scores the smaller id comes first.
    assert delivered(read_recs(recs))["recs"] == [
        (1, 8, 1, 0.5),
        (1, 9, 2, 0.5),
        (2, 7, 1, 1.0),
    ]


def test_a_trec_run_breaks_ties_the_other_way_round(tmp_path):
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 2.0 bm25\nq1 Q0 d2 2 2.0 bm25\n")
    lists = read_recs(tmp_path / "run.txt")
    assert lists.tie == "descending"
    assert delivered(lists)["bm25"] == [
        ("q1", "d2", 1, 2.0),
        ("q1", "d1", 2, 2.0),
    ]


@pytest.mark.parametrize("generator", [False, True])
def test_lists_without_rows(generator):
    recs = RECS.with_columns(generator=pl.lit("als")) if generator else RECS
    assert text_of(read_recs, recs.clear()) == "recs: no rows"


def test_a_generator_without_a_name():
    recs = RECS.with_columns(generator=pl.Series(["als", None, "als"]))
    assert text_of(read_recs, recs) == "recs.generator: null is no name of a generator"


def test_lists_are_not_read_before_they_are_scored():
    bad = RECS.with_columns(rank=pl.Series([0, 1, 1]))
    lists = read_recs(bad)
    assert lists.by_generator["recs"].collect().height == 3
    with pytest.raises(DataError) as error:
        rv.evaluate(bad, TRUTH)
    assert str(error.value).startswith("recs.rank: 1 row with a rank below 1")


def test_a_generator_that_has_rows_for_nobody_left():
    # One that is named has rows; what is filtered away later has none.
    rows = RECS.lazy().with_columns(generator=pl.lit("als")).filter(pl.col("user_id") > 99)
    assert text_of(read_recs, rows) == "recs: no rows"


def test_lists_are_counted_with_what_nobody_asked_for():
    recs = pl.DataFrame({"user_id": [1, 1, 2, 3, 1], "item_id": [7, 2, 7, 7, 7]})
    found = rv.evaluate(recs.with_columns(score=-pl.col("item_id")), TRUTH.head(2))
    assert found.counts["lists"] == {
        "recs": {
            "rows": 5,
            "identical_rows": 1,
            "repeated_items": 0,
            "rank_gaps": 0,
            "disagreements": 0,
            "lists": 3,
            "lists_without_query": 2,
        }
    }


def test_what_lists_are_called():
    assert said("recs") == "recs"
    assert said("als") == "lists[als]"


# Train and users.


def seen_by(history: History) -> list[tuple[Any, Any]]:
    """Returns who has which item in train, sorted."""
    return history.pairs.seen_of(history.pairs.coding.users).collect().sort(pl.all()).rows()


def test_train_has_distinct_pairs_and_counts_all_rows():
    train = pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": [7, 7, 8, 7], "gain": 1})
    history = read_train(train)
    assert seen_by(history) == [(1, 7), (1, 8), (2, 7)]
    activity = history.activity.collect().sort("user_id")
    assert activity.rows() == [(1, 3, 3), (2, 1, 1)]
    assert activity.columns == ["user_id", "train_interactions", "train_rows"]
    assert activity.schema["train_rows"] == pl.Int64


def test_relevant_pairs_that_have_a_train_row():
    train = read_train(pl.DataFrame({"user_id": [1, 1, 2, 5], "item_id": [8, 8, 9, 7]}))
    found = train.seen_among(read_truth(TRUTH)).collect()
    assert (found.columns, found.rows()) == (["user_id", "item_id"], [(1, 8)])
    # Two queries of one user: the pair is the user's, once.
    asked = pl.DataFrame({"query_id": ["a", "b", "c"], "user_id": [1, 1, 2], "item_id": [8, 8, 8]})
    assert train.seen_among(read_truth(asked)).collect().rows() == [(1, 8)]
    known = {name: rows.collect()[name].to_list() for name, rows in train.known.items()}
    assert known == {"user_id": [1, 2, 5], "item_id": [7, 8, 9]}


def test_no_train():
    nothing = read_train(None)
    assert nothing == History(None)
    assert nothing.activity is None
    assert nothing.known == {}
    assert nothing.seen_among(read_truth(TRUTH)) is None


def test_train_without_rows():
    assert text_of(read_train, TRUTH.clear()) == "train: no rows"


def test_train_belongs_to_users():
    train = TRUTH.rename({"user_id": "query_id"})
    text = "train: train rows belong to users: name the column user_id"
    assert text_of(read_train, train) == text


def test_no_users():
    assert read_users(None, read_truth(TRUTH).queries) is None


QUERIES = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "user_id": [1, 1, 2]})


@pytest.mark.parametrize(
    ("users", "asked", "expected"),
    [
        # As they are.
        (
            {"user_id": [1, 9], "query_id": ["q1", "q9"]},
            QUERIES,
            [("q1", 1), ("q9", 9)],
        ),
        # Users alone: their queries, and where there are none the user is the query.
        ({"user_id": [2, 1, 9]}, QUERIES, [("9", 9), ("q1", 1), ("q2", 1), ("q3", 2)]),
        ({"user_id": [3, 1]}, read_truth(TRUTH).queries, [(1, 1), (3, 3)]),
        # Queries alone belong to the users that the truth names, and else are their own.
        ({"query_id": [4, 3]}, read_truth(TRUTH).queries, [(3, 3), (4, 4)]),
        (
            {"query_id": [10, 12, 13]},
            pl.DataFrame({"query_id": [10, 11, 12], "user_id": [1, 1, 2]}),
            [(10, 1), (12, 2), (13, 13)],
        ),
        (
            {"query_id": [10, 13]},
            pl.DataFrame({"query_id": [10, 11], "user_id": ["a", "b"]}),
            [(10, "a"), (13, "13")],
        ),
    ],
)
def test_users_are_a_universe_of_queries(users, asked, expected):
    universe = read_users(pl.DataFrame(users), asked)
    assert universe.columns == ["query_id", "user_id"]
    assert sorted(universe.rows()) == expected


def test_users_whose_queries_have_no_name():
    asked = pl.DataFrame({"query_id": [10, 11], "user_id": ["a", "b"]})
    assert read_users(pl.DataFrame({"user_id": ["a"]}), asked).rows() == [(10, "a")]
    text = text_of(read_users, pl.DataFrame({"user_id": ["c", "a", "d"]}), asked)
    assert text == (
        "users: 2 users have no query in the truth, e.g. 'c', 'd'; name their queries: query_id"
    )


@pytest.mark.parametrize(
    ("users", "asked", "text"),
    [
        # User 5 would ask query 5, which is that of user 1.
        (
            {"user_id": [1, 2, 5]},
            {"query_id": [5, 6], "user_id": [1, 2]},
            (
                "users: 1 users have no query in the truth, and the id of each is that of another "
                "query, e.g. 5; name their queries: query_id"
            ),
        ),
        (
            {"user_id": [6, 3, 5]},
            {"query_id": ["5", "6"], "user_id": [1, 2]},
            (
                "users: 2 users have no query in the truth, and the id of each is that of another "
                "query, e.g. 5, 6; name their queries: query_id"
            ),
        ),
        # Query 1 would be one of user 1, who asks query 5.
        (
            {"query_id": [5, 1]},
            {"query_id": [5, 6], "user_id": [1, 2]},
            (
                "users: 1 queries have no user in the truth, and the id of each is that of another "
                "user, e.g. 1; name their users: user_id"
            ),
        ),
        (
            {"query_id": ["q", "r"]},
            {"query_id": ["q"], "user_id": [1]},
            "users: 1 queries have no user in the truth, e.g. 'r'; name their users: user_id",
        ),
        (
            {"query_id": [5, 6, 7], "user_id": [1, 9, 9]},
            {"query_id": [5, 6], "user_id": [1, 2]},
            (
                "users.query_id: 1 queries belong to several users, here and in the truth, e.g. 6; "
                "a query has one user"
            ),
        ),
        (
            {"query_id": [7, 7], "user_id": [1, 9]},
            {"query_id": [5, 6], "user_id": [1, 2]},
            "users.query_id: 1 queries belong to several users, e.g. 7; a query has one user",
        ),
    ],
)
def test_no_query_of_the_universe_is_that_of_another(users, asked, text):
    assert text_of(read_users, pl.DataFrame(users), pl.DataFrame(asked)) == text


def test_a_query_without_relevant_items_stays_with_its_user():
    truth = pl.DataFrame({"query_id": [5, 6], "user_id": [1, 2], "item_id": [10, 11]})
    recs = pl.DataFrame({"query_id": [5, 6], "item_id": [12, 11], "rank": [1, 1]})
    found = rv.evaluate(
        recs,
        truth,
        metrics=["hits"],
        k=1,
        train=pl.DataFrame({"user_id": [1], "item_id": [10]}),
        users=pl.DataFrame({"query_id": [5, 6, 7]}),
        policies={"zero_relevant": "zero"},
    )
    assert found.per_query["query_id", "user_id", "hits@1"].rows() == [
        (5, 1, 0.0),
        (6, 2, 1.0),
        (7, 7, 0.0),
    ]


# One type of ids, and some in common.


def checked(recs=RECS, truth=TRUTH, train=None, users=None) -> None:
    asked = read_truth(truth)
    universe = read_users(users, asked.queries)
    check_ids(read_recs(recs), asked, read_train(train), universe)


TEXT = pl.col("user_id", "item_id").cast(pl.String)
CAST = "Cast one side, so that both are integers or both are text"


def test_ids_that_fit():
    checked()
    checked(train=TRUTH, users=TRUTH)
    checked(RECS.with_columns(TEXT), TRUTH.with_columns(TEXT), TRUTH.with_columns(TEXT))


def test_text_ids_against_integers_are_shown_for_every_table():
    recs = RECS.with_columns(TEXT, generator=pl.lit("als"))
    train = TRUTH.with_columns(pl.col("item_id").cast(pl.String))
    users = TRUTH.with_columns(TEXT)
    text = "String, but the truth has Int64; e.g."
    assert text_of(checked, recs, TRUTH, train, users).splitlines() == [
        f"lists[als].query_id: {text} '1', '2' against 1, 2. {CAST}",
        f"lists[als].item_id: {text} '7', '8', '9' against 7, 8. {CAST}",
        f"train.item_id: {text} '7', '8' against 7, 8. {CAST}",
        f"users.query_id: {text} '1', '2' against 1, 2. {CAST}",
        f"users.user_id: {text} '1', '2' against 1, 2. {CAST}",
    ]


def test_lists_without_a_generator_are_recs_in_errors():
    assert text_of(checked, RECS.with_columns(pl.col("item_id").cast(pl.String))).startswith(
        "recs.item_id: String, but the truth has Int64; e.g. '7', '8', '9' against 7, 8."
    )


def test_no_query_in_common():
    recs = RECS.with_columns(pl.col("user_id") + 100)
    assert text_of(checked, recs) == (
        "recs.query_id: no id in common with the truth; e.g. 101, 102 against 1, 2"
    )
    named = pl.concat(
        [RECS.with_columns(generator=pl.lit("a")), recs.with_columns(generator=pl.lit("b"))]
    )
    assert text_of(checked, named).startswith("lists[b].query_id: no id in common")


def test_lists_for_users_without_truth_have_them_in_common():
    recs = RECS.with_columns(user_id=3, rank=pl.Series([1, 2, 3]))
    users = pl.DataFrame({"user_id": [1, 2, 3]})
    checked(recs, users=users)
    assert text_of(checked, recs, TRUTH, None, users.filter(pl.col("user_id") < 3)) == (
        "recs.query_id: no id in common with truth and users; e.g. 3 against 1, 2"
    )


def test_no_item_in_common():
    recs = RECS.with_columns(pl.col("item_id") + 100)
    train = pl.DataFrame({"user_id": [1], "item_id": [108]})
    # Items of the train rows count: lists without one hit are possible.
    checked(recs, TRUTH, train)
    assert text_of(checked, recs, TRUTH, TRUTH) == (
        "recs.item_id: no id in common with truth and train; e.g. 107, 108, 109 against 7, 8"
    )


def test_helpers_name_both_sides():
    ours = pl.LazyFrame({"item_id": [5, 3, 1, 4]})
    theirs = pl.LazyFrame({"item_id": ["b", "a"]})
    problem = unlike_types(ours, theirs, "item_id", "lists[als]", "the log")
    assert str(problem) == (
        f"lists[als].item_id: Int64, but the log has String; e.g. 1, 3, 4 against 'a', 'b'. {CAST}"
    )
    assert unlike_types(ours, ours, "item_id", "lists[als]", "the log") is None
    require_overlap(ours, ours.tail(1), "item_id", "lists[als]", "the log")
    other = pl.LazyFrame({"item_id": [9]})
    assert text_of(require_overlap, ours, other, "item_id", "lists[als]", "the log") == (
        "lists[als].item_id: no id in common with the log; e.g. 1, 3, 4 against 9"
    )
