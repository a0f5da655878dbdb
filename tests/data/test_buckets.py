from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

import recoeval as rv
from recoeval.data.background import Background
from recoeval.data.buckets import Bucket, Buckets, assign_buckets, label_items, label_pairs
from recoeval.errors import ConfigError, DataError

INF = float("inf")
DAY = "2026-01-02T00:00:00Z"


def assign(values: list[int], *, by: str = "relevant_items", **rule: Any) -> Buckets:
    column = "relevant" if by == "relevant_items" else by
    queries = pl.DataFrame({"query_id": range(len(values)), column: values})
    return assign_buckets(queries, {"b": Bucket(by=by, **rule)})


def labels(buckets: Buckets) -> list[str]:
    return buckets.labels["b"].to_list()


@pytest.mark.parametrize(
    ("edges", "values", "expected"),
    [
        # Half-open: an edge belongs to the bucket that it begins.
        ((2, 5), [1, 2, 4, 5, 9], ["[-inf,2)", "[2,5)", "[2,5)", "[5,inf)", "[5,inf)"]),
        ((100,), [0, 99, 100], ["[-inf,100)", "[-inf,100)", "[100,inf)"]),
        ((1.5, 2.0), [1, 2], ["[-inf,1.5)", "[2,inf)"]),
        ((-1, 0), [0, 1], ["[0,inf)", "[0,inf)"]),
        ((1_000_000,), [1_000_000], ["[1000000,inf)"]),
    ],
)
def test_edges(edges, values, expected):
    assert labels(assign(values, edges=edges)) == expected


def test_buckets_without_queries_are_declared_all_the_same():
    buckets = assign([3], edges=(2, 5, 50))
    assert buckets.order["b"] == ("[-inf,2)", "[2,5)", "[5,50)", "[50,inf)")
    assert buckets.edges["b"] == (2.0, 5.0, 50.0)
    assert labels(buckets) == ["[2,5)"]


@pytest.mark.parametrize("by", ["train_interactions", "train_rows"])
@pytest.mark.parametrize(
    ("edges", "values", "expected", "order"),
    [
        (
            (1, 50, 100),
            [0, 1, 49, 50, 99, 100, 5000],
            ["0", "[1,50)", "[1,50)", "[50,100)", "[50,100)", "[100,inf)", "[100,inf)"],
            ("0", "[1,50)", "[50,100)", "[100,inf)"),
        ),
        # The first bucket after no history starts at 1, wherever the first edge is.
        ((5,), [0, 4, 5], ["0", "[1,5)", "[5,inf)"], ("0", "[1,5)", "[5,inf)")),
        ((0, 5), [0, 4], ["0", "[1,5)"], ("0", "[1,5)", "[5,inf)")),
        ((1,), [0, 1, 7], ["0", "[1,inf)", "[1,inf)"], ("0", "[1,inf)")),
        ((0,), [0, 1], ["0", "[1,inf)"], ("0", "[1,inf)")),
        ((2, 3), [0, 1, 2], ["0", "[1,2)", "[2,3)"], ("0", "[1,2)", "[2,3)", "[3,inf)")),
        # Everybody has a history.
        ((5,), [4, 5], ["[1,5)", "[5,inf)"], ("[1,5)", "[5,inf)")),
        # Nobody has.
        ((5,), [0, 0], ["0", "0"], ("0", "[1,5)", "[5,inf)")),
    ],
)
def test_no_history_is_a_bucket_of_its_own(by, edges, values, expected, order):
    buckets = assign(values, by=by, edges=edges)
    assert labels(buckets) == expected
    assert buckets.order["b"] == order


@pytest.mark.parametrize(
    ("quantiles", "values", "cuts"),
    [
        # Ten distinct counts: the cuts are the 6th and the 10th of them.
        ((0.5, 0.9), list(range(1, 11)), (6, 10)),
        # Distinct counts, not users: a thousand users with 1 count once.
        ((0.5,), [1] * 1000 + [2, 3, 4], (3,)),
        # Equal cuts merge.
        ((0.5, 0.6), [1, 2], (2,)),
        # A cut at the smallest count would begin an empty bucket.
        ((0.1, 0.2, 0.9), [5, 7], (7,)),
        ((0.5,), [4], ()),
        # Exact decimals: 0.29 x 100 is 28.999999999999996 in floats.
        ((0.29,), list(range(100)), (29,)),
    ],
)
def test_quantiles_are_of_the_distinct_counts_in_order(quantiles, values, cuts):
    buckets = assign(values, quantiles=quantiles)
    assert buckets.edges["b"] == cuts
    ends = ["-inf", *map(str, cuts), "inf"]
    expected = [f"[{low},{high})" for low, high in pairwise(ends)]
    assert buckets.order["b"] == tuple(expected)


def test_quantiles_of_activity_leave_no_history_out():
    # Of 2, 4, 6, 8 the half is at 6; with 0 among them it would be at 4.
    buckets = assign([0, 0, 2, 4, 6, 8], by="train_interactions", quantiles=(0.5,))
    assert buckets.edges["b"] == (6,)
    assert labels(buckets) == ["0", "0", "[1,6)", "[1,6)", "[6,inf)", "[6,inf)"]
    # A single row is a history.
    assert assign([0, 1, 2, 3], by="train_rows", quantiles=(0.5,)).edges["b"] == (2,)


@pytest.mark.parametrize("by", ["train_interactions", "train_rows"])
def test_quantiles_of_nothing(by):
    with pytest.raises(DataError) as error:
        assign([0, 0], by=by, quantiles=(0.5,))
    assert str(error.value) == ("buckets.b: no user has a history: quantiles have nothing to cut")


def test_several_buckets_stand_in_the_order_of_the_queries():
    queries = pl.DataFrame(
        {"query_id": [1, 2, 3], "relevant": [9, 1, 1], "train_interactions": [0, 7, 1]}
    )
    buckets = assign_buckets(
        queries,
        {
            "size": Bucket(by="relevant_items", edges=(2,)),
            "activity": Bucket(by="train_interactions", edges=(5,)),
        },
    )
    assert list(buckets.labels) == list(buckets.order) == list(buckets.edges)
    assert buckets.labels["size"].to_list() == ["[2,inf)", "[-inf,2)", "[-inf,2)"]
    assert buckets.labels["activity"].to_list() == ["0", "[5,inf)", "[1,5)"]


def test_no_buckets():
    assert assign_buckets(pl.DataFrame({"relevant": [1]}), {}) == Buckets({}, {}, {})


@pytest.mark.parametrize("by", ["train_interactions", "train_rows"])
def test_activity_needs_train_data(by):
    queries = pl.DataFrame({"relevant": [1]})
    with pytest.raises(ConfigError) as error:
        assign_buckets(queries, {"activity": Bucket(by=by, edges=(5,))})
    assert str(error.value) == f"buckets.activity: by: {by} needs train data"
    assert error.value.exit_code == 2


def test_all_is_no_name_of_a_bucket():
    with pytest.raises(ConfigError) as error:
        assign_buckets(
            pl.DataFrame({"relevant": [1]}), {"all": Bucket(by="relevant_items", edges=(5,))}
        )
    assert str(error.value) == "buckets.all: 'all' means all queries: choose another name"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({}, r"give either edges: \[1, 50\] or quantiles: \[0.5, 0.9\]"),
        (
            {"edges": [1], "quantiles": [0.5]},
            r"give either edges: \[1, 50\] or quantiles: \[0.5, 0.9\]",
        ),
        ({"edges": [5, 2]}, r"expected ascending values, got \[5.0, 2.0\]"),
        ({"edges": [2, 2]}, r"expected ascending values, got \[2.0, 2.0\]"),
        ({"quantiles": [0.9, 0.5]}, r"expected ascending values, got \[0.9, 0.5\]"),
        ({"edges": []}, "at least 1 item"),
        ({"quantiles": []}, "at least 1 item"),
        ({"quantiles": [1.0]}, "less than 1"),
        ({"quantiles": [0]}, "greater than 0"),
        ({"edges": [INF]}, "finite"),
        ({"edges": [2, 2**53]}, "got 9007199254740992: it would be rounded"),
        ({"edges": [-(2.0**53) - 2]}, "got -9007199254740994.0: it would be rounded"),
        ({"edges": [10**400]}, f"got 1{'0' * 39}\\.\\.\\.: it would be rounded"),
        ({"edges": ["1"]}, "expected a number, or a time such as 2022-05-05T16:00:00Z, got '1'"),
        ({"by": "country", "edges": [1]}, "relevant_items"),
        ({"edges": [1], "sides": "item"}, "Extra inputs"),
        ({"edges": [1], "side": "item"}, "by: relevant_items goes with side: user"),
        ({"by": "train_rows", "edges": [1], "side": "item"}, "train_rows goes with side: user"),
        ({"by": "train_popularity", "edges": [1]}, "train_popularity goes with side: item"),
        ({"by": "item_age", "edges": [1]}, "by: item_age goes with side: item"),
        (
            {"by": "item_age", "side": "item", "quantiles": [0.5]},
            r"item_age is cut in days: edges: \[1, 7, 30\]",
        ),
        ({"by": "item_age", "side": "item"}, "give either edges"),
        ({"by": "column"}, "by: column needs the name of one, column: country"),
        ({"edges": [1], "column": "x"}, "column is for by: column, not for by: relevant_items"),
        ({"edges": [True]}, "valid number"),
        ({"edges": ["2022-05-05"]}, "has no time zone|expected a number, or a time"),
        ({"edges": [DAY]}, "by: relevant_items has edges that are numbers"),
        (
            {"by": "column", "column": "x", "edges": [1, DAY]},
            "by: column has edges that are numbers or times, not both",
        ),
        (
            {"by": "column", "column": "x", "edges": [DAY, "2026-01-01T00:00:00Z"]},
            r"expected ascending values, got \['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'\]",
        ),
    ],
)
def test_rules_that_are_refused(rule, text):
    with pytest.raises(ValidationError, match=text):
        Bucket.model_validate({"by": "relevant_items", **rule})


def test_an_edge_is_the_number_that_was_written():
    edges = (-(2.0**53) + 1, 2**53 - 1)
    assert Bucket(by="relevant_items", edges=edges).edges == edges
    with pytest.raises(ConfigError) as error:
        rv.evaluate(
            pl.DataFrame({"user_id": [1], "item_id": [1], "rank": [1]}),
            pl.DataFrame({"user_id": [1], "item_id": [1]}),
            buckets={"b": {"by": "relevant_items", "edges": [1, 2**53 + 1]}},
        )
    assert str(error.value) == (
        "buckets.b.edges.1: expected a number below 2^53 in size, got 9007199254740993: "
        "it would be rounded"
    )


# Columns of the users table.

USERS = pl.DataFrame(
    {
        "user_id": [1, 2, 3, 4, 5],
        "country": ["DE", "FR", "DE", None, "NO"],
        "age": [17, 18, 40, None, 65],
        "wealth": [1.5, float("nan"), 3.0, 0.1, None],
        "active": [True, False, None, True, True],
        "joined": [date(2026, 1, day) if day else None for day in (1, 2, 3, 0, 9)],
        # Columns that have the names of ours.
        "relevant": ["a", "b", "a", "b", "a"],
        "train_rows": [7, 7, 7, 7, 7],
    }
)
# User 9 is not in the table.
ASKED = pl.DataFrame({"user_id": [3, 9, 1, 2, 4], "relevant": [1, 2, 3, 4, 5]})


def by_column(column: str, **rule: Any) -> Buckets:
    bucket = Bucket(by="column", column=column, **rule)
    return assign_buckets(ASKED, {"b": bucket}, background=Background(users=USERS))


@pytest.mark.parametrize(
    ("column", "rule", "expected", "order"),
    [
        # Every value of the table has a bucket, also one that no query has.
        (
            "country",
            {},
            ["DE", "missing", "DE", "FR", "missing"],
            ("DE", "FR", "NO", "missing"),
        ),
        (
            "active",
            {},
            ["missing", "missing", "true", "false", "true"],
            ("false", "true", "missing"),
        ),
        # Numbers in order of size, not of text.
        ("age", {}, ["40", "missing", "17", "18", "missing"], ("17", "18", "40", "65", "missing")),
        (
            "age",
            {"edges": [18, 65]},
            ["[18,65)", "missing", "[-inf,18)", "[18,65)", "missing"],
            ("[-inf,18)", "[18,65)", "[65,inf)", "missing"),
        ),
        # The distinct ages are 17, 18, 40, 65: the half is at the third.
        (
            "age",
            {"quantiles": [0.5]},
            ["[40,inf)", "missing", "[-inf,40)", "[-inf,40)", "missing"],
            ("[-inf,40)", "[40,inf)", "missing"),
        ),
        # No number is no value.
        (
            "wealth",
            {"edges": [1]},
            ["[1,inf)", "missing", "[1,inf)", "missing", "[-inf,1)"],
            ("[-inf,1)", "[1,inf)", "missing"),
        ),
        (
            "joined",
            {"edges": [DAY]},
            [f"[{DAY},inf)", "missing", f"[-inf,{DAY})", f"[{DAY},inf)", "missing"],
            (f"[-inf,{DAY})", f"[{DAY},inf)", "missing"),
        ),
        (
            "joined",
            {"quantiles": [0.25]},
            [f"[{DAY},inf)", "missing", f"[-inf,{DAY})", f"[{DAY},inf)", "missing"],
            (f"[-inf,{DAY})", f"[{DAY},inf)", "missing"),
        ),
        # The users table decides, whatever else the queries have.
        ("relevant", {}, ["a", "missing", "a", "b", "b"], ("a", "b", "missing")),
        ("train_rows", {}, ["7", "missing", "7", "7", "7"], ("7", "missing")),
    ],
)
def test_columns_of_the_users_table(column, rule, expected, order):
    buckets = by_column(column, **rule)
    assert labels(buckets) == expected
    assert buckets.order["b"] == buckets.known["b"] == order


def test_missing_is_a_bucket_only_where_somebody_is_missing():
    bucket = {"b": Bucket(by="column", column="country")}
    queries = ASKED.filter(user_id=1)
    buckets = assign_buckets(queries, bucket, background=Background(users=USERS))
    assert buckets.order["b"] == ("DE", "FR", "NO")
    assert buckets.known["b"] == ("DE", "FR", "NO", "missing")
    # A table that says so itself means the same.
    users = USERS.with_columns(country=pl.col("country").fill_null("missing"))
    buckets = assign_buckets(ASKED, bucket, background=Background(users=users))
    assert buckets.order["b"] == ("DE", "FR", "NO", "missing")
    assert labels(buckets) == ["DE", "missing", "DE", "FR", "missing"]


def test_a_column_of_the_queries():
    queries = ASKED.with_columns(scene=pl.Series(["feed", "search", None, "feed", "feed"]))
    buckets = assign_buckets(queries, {"b": Bucket(by="column", column="scene")})
    assert labels(buckets) == ["feed", "search", "missing", "feed", "feed"]
    assert buckets.order["b"] == ("feed", "search", "missing")
    assert buckets.edges["b"] == ()


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["FR", "NO", "DE"])])
def test_categories_are_text(kind):
    users = USERS.with_columns(pl.col("country").cast(kind))
    bucket = {"b": Bucket(by="column", column="country")}
    buckets = assign_buckets(ASKED, bucket, background=Background(users=users))
    assert labels(buckets) == ["DE", "missing", "DE", "FR", "missing"]
    assert set(buckets.order["b"]) == {"DE", "FR", "NO", "missing"}


MANY = pl.DataFrame({"user_id": range(101), "city": [f"c{city:03}" for city in range(101)]})


@pytest.mark.parametrize(
    ("users", "rule", "text"),
    [
        (None, {"column": "country"}, "buckets.b: by: column needs a table of users"),
        (
            USERS.select("user_id", "country"),
            {"column": "contry"},
            (
                "buckets.b.column: unknown column 'contry' in the users table. Did you mean "
                "'country'? Columns: user_id, country"
            ),
        ),
        (
            MANY,
            {"column": "city"},
            (
                "buckets.b: column 'city' has 101 values, e.g. 'c000', 'c001', 'c002', 'c003', "
                "'c004', ...; a bucket a value is for at most 100"
            ),
        ),
        (
            USERS,
            {"column": "country", "edges": [1]},
            (
                "buckets.b: column 'country' is String: it has a bucket a value, leave edges and "
                "quantiles out"
            ),
        ),
        (
            USERS,
            {"column": "wealth"},
            "buckets.b: column 'wealth' is Float64: give edges or quantiles",
        ),
        (
            USERS,
            {"column": "joined"},
            "buckets.b: column 'joined' is Datetime: give edges or quantiles",
        ),
        (
            USERS,
            {"column": "joined", "edges": [1]},
            (
                "buckets.b: column 'joined' is Datetime: its edges are times such as "
                "2022-05-05T16:00:00Z"
            ),
        ),
        (
            USERS,
            {"column": "age", "edges": [DAY]},
            "buckets.b: column 'age' is Int64: its edges are numbers",
        ),
        (
            USERS.with_columns(tags=pl.lit([1])),
            {"column": "tags"},
            "buckets.b: column 'tags' holds lists: expected text, numbers or times",
        ),
        (
            USERS.with_columns(tags=pl.lit([1, 2], pl.Array(pl.Int64, 2))),
            {"column": "tags", "edges": [1]},
            "buckets.b: column 'tags' holds lists: expected text, numbers or times",
        ),
    ],
)
def test_columns_that_are_refused(users, rule, text):
    with pytest.raises(ConfigError) as error:
        assign_buckets(
            ASKED, {"b": Bucket(by="column", **rule)}, background=Background(users=users)
        )
    assert str(error.value) == text


def test_decimals_are_numbers():
    users = USERS.with_columns(pl.col("age").cast(pl.Decimal(5, 1)))
    bucket = {"b": Bucket(by="column", column="age", edges=[17.5])}
    buckets = assign_buckets(ASKED, bucket, background=Background(users=users))
    assert labels(buckets)[2:4] == ["[-inf,17.5)", "[17.5,inf)"]


def test_every_label_of_a_bucket_is_known():
    bucket = {"b": Bucket(by="relevant_items", edges=[2])}
    assert assign_buckets(ASKED, bucket).known["b"] == ("[-inf,2)", "[2,inf)")


def test_a_hundred_values_are_not_too_many():
    bucket = {"b": Bucket(by="column", column="city")}
    buckets = assign_buckets(ASKED, bucket, background=Background(users=MANY.head(100)))
    assert len(buckets.order["b"]) == 100


def test_quantiles_of_an_empty_column():
    users = USERS.with_columns(age=pl.lit(None, pl.Int64))
    with pytest.raises(DataError) as error:
        assign_buckets(
            ASKED,
            {"b": Bucket(by="column", column="age", quantiles=[0.5])},
            background=Background(users=users),
        )
    text = "buckets.b: column 'age' has no value: quantiles have nothing to cut"
    assert str(error.value) == text


# The item side.

NOON = datetime(2026, 1, 10, 12, tzinfo=UTC)
# Ten items: train users 1, 1, 1, 1, 1, 1, 2, 3, 5, 9.
POPULARITY = pl.DataFrame(
    {"item_id": range(10), "train_users": [1, 1, 1, 1, 1, 1, 2, 3, 5, 9]},
)
ITEMS = pl.DataFrame(
    {
        "item_id": range(5),
        "created_at": [
            NOON - timedelta(days=7),
            NOON - timedelta(days=7) + timedelta(microseconds=1),
            NOON,
            None,
            NOON + timedelta(days=3),
        ],
        "available": True,
        "genre": ["pop", "jazz", None, "pop", "rock"],
    },
    schema_overrides={"created_at": pl.Datetime("us", "UTC")},
)
KNOWN = Background(popularity=POPULARITY, items=ITEMS)
QUERIES = pl.DataFrame(
    {"query_id": ["a", "b"], "query_time": [NOON, NOON + timedelta(days=2)], "relevant": [1, 1]},
    schema_overrides={"query_time": pl.Datetime("us", "UTC")},
)


def of_items(items: list[int], *, at: datetime | None = NOON, **rule: Any) -> list[str]:
    bucket = {"b": Bucket(side="item", **rule)}
    return label_items(pl.Series(items), KNOWN, bucket, at)["b"].to_list()


@pytest.mark.parametrize(
    ("rule", "expected", "order", "edges"),
    [
        # Quantiles over items: floor(.8 x 10) = 8, the item with 5 users; floor(.9 x 10) = 9.
        (
            {"quantiles": [0.8, 0.9]},
            ["tail", "tail", "tail", "torso", "head", "0"],
            ("tail", "torso", "head"),
            (5, 9),
        ),
        (
            {"quantiles": [0.7]},
            ["tail", "tail", "head", "head", "head", "0"],
            ("tail", "head"),
            (3,),
        ),
        # Most items have one user: there is no tail, and the label stays.
        (
            {"quantiles": [0.5, 0.8]},
            ["torso", "torso", "torso", "head", "head", "0"],
            ("tail", "torso", "head"),
            (1, 5),
        ),
        # More than two cuts have no names; equal ones merge.
        (
            {"quantiles": [0.1, 0.5, 0.6, 0.9]},
            ["[1,2)", "[2,9)", "[2,9)", "[2,9)", "[9,inf)", "0"],
            ("[1,2)", "[2,9)", "[9,inf)"),
            (2, 9),
        ),
        (
            {"edges": [2, 5]},
            ["[1,2)", "[2,5)", "[2,5)", "[5,inf)", "[5,inf)", "0"],
            ("[1,2)", "[2,5)", "[5,inf)"),
            (2, 5),
        ),
    ],
)
def test_popularity_of_items(rule, expected, order, edges):
    # Items of 1, 2, 3, 5 and 9 users, and one without a train row.
    assert of_items([0, 6, 7, 8, 9, 77], by="train_popularity", **rule) == expected
    bucket = {"b": Bucket(side="item", by="train_popularity", **rule)}
    buckets = assign_buckets(QUERIES, bucket, background=KNOWN)
    assert buckets.labels == {}
    assert buckets.order["b"] == order
    assert buckets.known["b"] == ("0", *order)
    assert buckets.edges["b"] == edges
    cold = pl.DataFrame({"query_id": ["a"], "item_id": [77]})
    buckets = assign_buckets(QUERIES, bucket, background=KNOWN, pairs=cold)
    assert buckets.order["b"] == ("0", *order)


def test_the_age_of_an_item_is_counted_to_the_query():
    bucket = {
        "age": Bucket(side="item", by="item_age", edges=[0, 7]),
        "size": Bucket(by="relevant_items", edges=[2]),
    }
    pairs = pl.DataFrame(
        {"query_id": ["a", "b", "a", "b", "a", "a", "b"], "item_id": [0, 1, 1, 2, 3, 4, 99]}
    )
    found = label_pairs(pairs, QUERIES, KNOWN, bucket)
    assert list(found) == ["age"]
    assert found["age"].rows() == [
        # Exactly seven days.
        ("a", 0, "[7,inf)"),
        ("b", 1, "[7,inf)"),
        # A microsecond less.
        ("a", 1, "[0,7)"),
        ("b", 2, "[0,7)"),
        # Not said, and not in the table.
        ("a", 3, "missing"),
        # Created three days later.
        ("a", 4, "[-inf,0)"),
        ("b", 99, "missing"),
    ]
    assert found["age"].columns == ["query_id", "item_id", "label"]
    buckets = assign_buckets(QUERIES, bucket, background=KNOWN, pairs=pairs)
    assert list(buckets.labels) == ["size"]
    assert buckets.order["age"] == ("[-inf,0)", "[0,7)", "[7,inf)", "missing")
    assert of_items([0, 1, 3], by="item_age", edges=[7]) == ["[7,inf)", "[-inf,7)", "missing"]
    # Queries of several times: an item has no one age.
    assert label_items(pl.Series([0]), KNOWN, bucket, None) == {}


def test_columns_of_the_items_table():
    assert of_items([1, 2, 0, 99], by="column", column="genre") == [
        "jazz",
        "missing",
        "pop",
        "missing",
    ]
    bucket = {"b": Bucket(side="item", by="column", column="genre")}
    buckets = assign_buckets(QUERIES, bucket, background=KNOWN)
    assert buckets.order["b"] == ("jazz", "pop", "rock")
    assert buckets.known["b"] == ("jazz", "pop", "rock", "missing")


@pytest.mark.parametrize(
    ("known", "rule", "text"),
    [
        (
            Background(items=ITEMS),
            {"by": "train_popularity", "edges": [2]},
            "buckets.b: by: train_popularity needs train data",
        ),
        (
            Background(popularity=POPULARITY),
            {"by": "item_age", "edges": [2]},
            "buckets.b: by: item_age needs a table of items",
        ),
        (
            Background(popularity=POPULARITY),
            {"by": "column", "column": "genre"},
            "buckets.b: by: column needs a table of items",
        ),
        (
            KNOWN,
            {"by": "column", "column": "gendre"},
            (
                "buckets.b.column: unknown column 'gendre' in the items table. Did you mean "
                "'genre'? Columns: item_id, created_at, available, genre"
            ),
        ),
        (
            Background(items=ITEMS.with_columns(created_at=pl.lit(None, pl.Datetime("us", "UTC")))),
            {"by": "item_age", "edges": [2]},
            "buckets.b: by: item_age needs the times when items were created: created_at",
        ),
    ],
)
def test_buckets_of_items_need_their_table(known, rule, text):
    bucket = {"b": Bucket(side="item", **rule)}
    pairs = pl.DataFrame({"query_id": ["a"], "item_id": [1]})
    for call in (
        lambda: assign_buckets(QUERIES, bucket, background=known),
        lambda: label_pairs(pairs, QUERIES, known, bucket),
        lambda: label_items(pl.Series([1]), known, bucket, NOON),
    ):
        with pytest.raises(ConfigError) as error:
            call()
        assert str(error.value) == text


def test_the_age_of_items_needs_the_time_of_the_queries():
    bucket = {"b": Bucket(side="item", by="item_age", edges=[7])}
    pairs = pl.DataFrame({"query_id": ["a"], "item_id": [1]})
    for queries in (QUERIES.drop("query_time"), QUERIES.with_columns(query_time=None)):
        with pytest.raises(ConfigError) as error:
            label_pairs(pairs, queries, KNOWN, bucket)
        assert str(error.value) == "buckets.b: by: item_age needs the time of the queries"


def test_popularity_quantiles_of_no_item():
    nothing = Background(popularity=POPULARITY.clear())
    bucket = {"b": Bucket(side="item", by="train_popularity", quantiles=[0.8])}
    with pytest.raises(DataError) as error:
        label_items(pl.Series([1]), nothing, bucket, None)
    text = "buckets.b: no item has a train row: quantiles have nothing to cut"
    assert str(error.value) == text
