from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import recoeval as rv
from recoeval.errors import ConfigError, DataError, RecoevalError
from recoeval.evaluation import check_depths

TRUTH = pl.DataFrame(
    {"user_id": [1, 1, 2, 3], "item_id": [7, 8, 7, 9], "gain": [1.0, 3.0, 1.0, 1.0]}
)
RECS = pl.DataFrame(
    {"user_id": [1, 1, 2, 9], "item_id": [8, 5, 7, 7], "score": [0.9, 0.1, 0.5, 1.0]}
)
TRAIN = pl.DataFrame({"user_id": [1, 1, 2, 4], "item_id": [8, 8, 5, 9]})


def text_of(kind: type[RecoevalError], *arguments: Any, **options: Any) -> str:
    with pytest.raises(kind) as error:
        rv.evaluate(*arguments, **options)
    return str(error.value)


# The result.


def test_the_tables_of_the_contract():
    found = rv.evaluate(RECS, TRUTH, metrics=["recall", "ndcg@1", "coverage"], k=[1, 2])
    labels = ["recall@1", "recall@2", "ndcg@1", "coverage"]
    keys = ["fold", "generator", "query_id", "user_id", "relevant", "returned"]
    assert found.per_query.columns == [*keys, *labels]
    assert found.per_query.rows() == [
        (0, "recs", 1, 1, 2, 2, 0.5, 0.5, 1.0, 1.0),
        (0, "recs", 2, 2, 1, 1, 1.0, 1.0, 1.0, 1.0),
        (0, "recs", 3, 3, 1, 0, 0.0, 0.0, 0.0, 0.0),
    ]
    assert found.hits.columns == ["fold", "generator", "query_id", "item_id", "rank", "gain"]
    assert found.hits.rows() == [(0, "recs", 1, 8, 1, 3.0), (0, "recs", 2, 7, 1, 1.0)]
    assert found.summary["metric"].unique(maintain_order=True).to_list() == labels
    assert found.summary.select("fold", "generator").unique().rows() == [(0, "recs")]
    assert [measure.label for measure in found.measures] == labels
    assert found.buckets == {}
    assert found.definitions == {
        "cutoff": None,
        "catalogue": "not known",
        "policies": {
            "zero_relevant": "skip",
            "repeats": "not applied",
            "cold_users": "not applied",
            "cold_items": "not applied",
        },
    }


def test_what_is_counted():
    found = rv.evaluate(RECS, pl.concat([TRUTH, TRUTH.head(1)]), k=1)
    assert found.counts == {
        "truth": {
            "truth_rows": 5,
            "repeated_truth_rows": 1,
            "pairs": 4,
            "queries_with_pairs": 3,
            "truth_pairs": 4,
            "truth_queries": 3,
            "evaluated_queries": 3,
            "evaluated_users": 3,
        },
        "lists": {
            "recs": {
                "rows": 4,
                "identical_rows": 0,
                "repeated_items": 0,
                "rank_gaps": 0,
                "disagreements": 0,
                "lists": 3,
                # User 9 has no truth.
                "lists_without_query": 1,
            }
        },
    }


def test_the_default_metrics_and_depths():
    found = rv.evaluate(RECS, TRUTH)
    names = ("recall", "precision", "hit_rate", "ndcg")
    labels = [f"{name}@{k}" for name in names for k in (10, 100)]
    assert [measure.label for measure in found.measures] == labels


def test_generators_stand_side_by_side():
    recs = pl.concat([RECS.with_columns(generator=pl.lit(name)) for name in ("pop", "als")])
    recs = recs.filter((pl.col("generator") == "pop") | (pl.col("user_id") == 1))
    found = rv.evaluate(recs, TRUTH, metrics=["recall", "coverage"], k=2)
    assert found.generators == ("als", "pop")
    # Both are averaged over the three users of the truth.
    assert found.value("recall@2", "als") == pytest.approx(0.5 / 3)
    assert found.value("recall@2", "pop") == pytest.approx(1.5 / 3)
    assert found.value("coverage", "als") == 1 / 3
    rows = found.summary.filter(statistic="macro", metric="recall@2")
    # The users with a list are shown beside all of them.
    assert rows.select("generator", "bucket", "users").rows() == [
        ("als", "all", 3),
        ("als", "served", 1),
        ("pop", "all", 3),
        ("pop", "served", 2),
    ]
    assert found.per_query.height == 6
    assert found.hits.select("generator", "query_id").rows() == [("als", 1), ("pop", 1), ("pop", 2)]
    assert list(found.counts["lists"]) == ["als", "pop"]


def test_queries_of_a_user_are_one_cluster():
    truth = pl.DataFrame(
        {
            "query_id": ["a", "b", "c"],
            "user_id": [2, 2, 1],
            "item_id": [7, 7, 7],
        }
    )
    recs = pl.DataFrame({"query_id": ["a", "c", "d"], "item_id": [7, 5, 7], "rank": [1, 1, 1]})
    found = rv.evaluate(recs, truth, metrics=["recall"], k=1)
    assert found.per_query.select("query_id", "user_id", "recall@1").rows() == [
        ("c", 1, 0.0),
        ("a", 2, 1.0),
        ("b", 2, 0.0),
    ]
    assert found.value("recall@1") == 0.25
    by_query = found.summary.filter(statistic="macro_query", bucket="all")["value"].item()
    assert by_query == pytest.approx(1 / 3)
    assert found.per_user.select("user_id", "recall@1").rows() == [(1, 0.0), (2, 0.5)]


def test_what_a_user_has_seen_leaves_each_of_his_queries():
    truth = pl.DataFrame({"query_id": ["a", "a", "b"], "user_id": [1, 1, 1], "item_id": [7, 8, 7]})
    recs = pl.DataFrame({"query_id": ["a"] * 3, "item_id": [7, 5, 8], "rank": [1, 2, 3]})
    train = pl.DataFrame({"user_id": [1], "item_id": [7]})
    found = rv.evaluate(recs, truth, metrics=["mrr"], k=3, train=train)
    # Item 7 left the list and the truth; query b has nothing left.
    assert found.per_query.select("query_id", "relevant", "returned", "mrr@3").rows() == [
        ("a", 1, 2, 0.5)
    ]
    assert found.counts["truth"]["dropped_repeats"] == 2


# What goes in.


def same(frame: pl.DataFrame, path: Path) -> Any:
    return frame


def lazy(frame: pl.DataFrame, path: Path) -> Any:
    return frame.lazy()


def pandas(frame: pl.DataFrame, path: Path) -> Any:
    return frame.to_pandas()


def arrow(frame: pl.DataFrame, path: Path) -> Any:
    return frame.to_arrow()


def reader(frame: pl.DataFrame, path: Path) -> Any:
    return pa.RecordBatchReader.from_batches(
        frame.to_arrow().schema, frame.to_arrow().to_batches(max_chunksize=2)
    )


def relation(frame: pl.DataFrame, path: Path) -> Any:
    return duckdb.connect().from_arrow(frame.to_arrow())


def csv(frame: pl.DataFrame, path: Path) -> Any:
    frame.write_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def parquet(frame: pl.DataFrame, path: Path) -> Any:
    frame.write_parquet(path.with_suffix(".parquet"))
    return str(path.with_suffix(".parquet"))


def pattern(frame: pl.DataFrame, path: Path) -> Any:
    path.mkdir()
    frame.head(2).write_parquet(path / "1.parquet")
    frame.slice(2).write_parquet(path / "2.parquet")
    return str(path / "*.parquet")


@pytest.mark.parametrize(
    "kind", [same, lazy, pandas, arrow, reader, relation, csv, parquet, pattern]
)
def test_any_kind_of_table_gives_the_same_numbers(kind, tmp_path):
    options = {"metrics": ["recall", "ndcg", "seen_share"], "k": [1, 2]}
    options["policies"] = {"repeats": "include", "zero_relevant": "zero"}
    users = pl.DataFrame({"user_id": [1, 2, 3, 4]})
    expected = rv.evaluate(RECS, TRUTH, train=TRAIN, users=users, **options)
    recs, truth, train, everyone = (
        kind(frame, tmp_path / name)
        for name, frame in (("recs", RECS), ("truth", TRUTH), ("train", TRAIN), ("users", users))
    )
    found = rv.evaluate(recs, truth, train=train, users=everyone, **options)
    assert found.summary.equals(expected.summary)
    assert found.per_query.equals(expected.per_query)
    assert found.hits.equals(expected.hits)
    assert isinstance(found.summary, pl.DataFrame)


def test_lists_with_one_row_a_query():
    nested = RECS.group_by("user_id", maintain_order=True).agg("item_id", "score")
    found = rv.evaluate(nested, TRUTH, metrics=["recall"], k=1)
    assert found.per_query.equals(rv.evaluate(RECS, TRUTH, metrics=["recall"], k=1).per_query)


def test_trec_files(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq1 0 d2 2\nq1 0 d3 0\nq2 0 d1 1\nq3 0 d1 0\n")
    # Equal scores go by document descending, whatever the rank field says.
    (tmp_path / "run").write_text(
        "q1 Q0 d3 3 1.0 bm25\nq1 Q0 d2 2 1.0 bm25\nq1 Q0 d1 1 1.0 bm25\nq2 Q0 d9 1 1.0 bm25\n"
    )
    found = rv.evaluate(tmp_path / "run", str(tmp_path / "qrels"), metrics=["mrr", "recall"], k=2)
    assert found.per_query.select("generator", "query_id", "mrr@2", "recall@2").rows() == [
        ("bm25", "q1", 0.5, 0.5),
        ("bm25", "q2", 0.0, 0.0),
    ]
    assert found.counts["truth"]["grades_not_relevant"] == 2


def test_inputs_are_never_changed():
    frames = {"recs": RECS, "truth": TRUTH, "train": TRAIN}
    before = {name: frame.clone() for name, frame in frames.items()}
    tables = {name: frame.to_pandas() for name, frame in frames.items()}
    kept = {name: table.copy(deep=True) for name, table in tables.items()}
    for given in (frames, tables):
        rv.evaluate(given["recs"], given["truth"], train=given["train"], metrics=["recall"])
    assert all(frame.equals(before[name]) for name, frame in frames.items())
    assert all(table.equals(kept[name]) for name, table in tables.items())
    metrics, k, policies = ["recall"], [5], {"repeats": "include"}
    buckets = {"size": {"by": "relevant_items", "edges": [2]}}
    rv.evaluate(RECS, TRUTH, train=TRAIN, metrics=metrics, k=k, buckets=buckets, policies=policies)
    assert (metrics, k, policies) == (["recall"], [5], {"repeats": "include"})
    assert buckets == {"size": {"by": "relevant_items", "edges": [2]}}


def test_columns_that_happen_to_be_there_do_not_matter():
    clean = rv.evaluate(RECS, TRUTH, train=TRAIN, metrics=["ndcg", "recall"], k=2)
    found = rv.evaluate(
        RECS.with_columns(gain=0.0, relevant=5, seen=True),
        TRUTH.with_columns(rank=1, score=0.5, generator=pl.lit("x")),
        train=TRAIN.with_columns(gain=-1.0, query_id=7),
        metrics=["ndcg", "recall"],
        k=2,
    )
    assert found.summary.equals(clean.summary)
    assert found.per_query.equals(clean.per_query)


# Depths and metrics.


@pytest.mark.parametrize(
    ("k", "depths"),
    [
        (10, (10,)),
        ([10, 5], (10, 5)),
        ((10,), (10,)),
        (range(1, 4), (1, 2, 3)),
        (np.int64(7), (7,)),
        (np.array([3, 4]), (3, 4)),
        (pl.Series([3, 4]), (3, 4)),
        ([], ()),
    ],
)
def test_depths(k, depths):
    assert check_depths(k) == depths
    assert {type(depth) for depth in check_depths(k)} <= {int}


@pytest.mark.parametrize(
    ("k", "shown"),
    [
        (0, ["k.0: expected an integer >= 1, got 0"]),
        (-3, ["k.0: expected an integer >= 1, got -3"]),
        (True, ["k.0: expected an integer >= 1, got True"]),
        (False, ["k.0: expected an integer >= 1, got False"]),
        (10.0, ["k.0: expected an integer >= 1, got 10.0"]),
        ("10", ["k.0: expected an integer >= 1, got '10'"]),
        (None, ["k.0: expected an integer >= 1, got None"]),
        (
            [5, 0, "all"],
            [
                "k.1: expected an integer >= 1, got 0",
                "k.2: expected an integer >= 1, got 'all'",
            ],
        ),
    ],
)
def test_bad_depths(k, shown):
    assert text_of(ConfigError, RECS, TRUTH, k=k).splitlines() == shown


def test_metrics_without_a_depth():
    assert text_of(ConfigError, RECS, TRUTH, metrics=["recall", "mrr@3"], k=[]) == (
        "metrics.0: recall needs a K: write recall@10, or give k"
    )
    found = rv.evaluate(RECS, TRUTH, metrics=["mrr@3", "coverage"], k=[])
    assert [measure.label for measure in found.measures] == ["mrr@3", "coverage"]


def test_one_metric_as_text():
    found = rv.evaluate(RECS, TRUTH, metrics="recall", k=2)
    assert [measure.label for measure in found.measures] == ["recall@2"]


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], "metrics: expected at least one metric"),
        ([1], "metrics.0: expected text such as recall@10, got 1"),
        (None, "metrics.0: expected text such as recall@10, got None"),
    ],
)
def test_metrics_that_are_none(metrics, message):
    assert text_of(ConfigError, RECS, TRUTH, metrics=metrics) == message


# Policies.


@pytest.mark.parametrize("policy", ["zero", "one", "error"])
def test_zero_relevant_needs_users(policy):
    text = text_of(ConfigError, RECS, TRUTH, policies={"zero_relevant": policy})
    assert text == f"policies.zero_relevant: '{policy}' needs to know all users: give users="


USERS = pl.DataFrame({"user_id": [1, 2, 3, 9]})


@pytest.mark.parametrize(
    ("policy", "recall", "precision", "users"),
    [("skip", 1.5 / 3, 2 / 3, 3), ("zero", 1.5 / 4, 2 / 4, 4), ("one", 2.5 / 4, 2 / 4, 4)],
)
def test_zero_relevant(policy, recall, precision, users):
    found = rv.evaluate(
        RECS,
        TRUTH,
        metrics=["recall", "precision", "coverage"],
        k=1,
        users=USERS,
        policies={"zero_relevant": policy},
    )
    assert found.value("recall@1") == pytest.approx(recall)
    assert found.value("precision@1") == pytest.approx(precision)
    assert found.per_query.height == users
    assert found.counts["truth"]["zero_relevant_queries"] == 1
    assert found.counts["truth"]["evaluated_users"] == users
    # User 9 has a list; nobody asks for it under skip.
    assert found.counts["lists"]["recs"]["lists_without_query"] == int(policy == "skip")
    assert found.definitions["policies"]["zero_relevant"] == policy


def test_zero_relevant_error():
    text = text_of(DataError, RECS, TRUTH, users=USERS, policies={"zero_relevant": "error"})
    assert text.startswith("ground_truth.zero_relevant: 1 queries have no relevant item, e.g. 9;")


@pytest.mark.parametrize(
    ("policies", "pairs", "returned"),
    [
        # User 1 has seen 8, user 2 has seen 5; user 3 and item 7 are cold.
        ({}, 3, [1, 1, 0]),
        ({"repeats": "include"}, 4, [2, 1, 0]),
        ({"repeats": "include", "cold_users": "drop"}, 3, [2, 1]),
        ({"repeats": "include", "cold_items": "drop"}, 2, [2, 0]),
    ],
)
def test_policies_about_the_past(policies, pairs, returned):
    found = rv.evaluate(RECS, TRUTH, train=TRAIN, metrics=["recall"], k=2, policies=policies)
    assert found.counts["truth"]["truth_pairs"] == pairs
    assert found.per_query["returned"].to_list() == returned
    default = {"zero_relevant": "skip", "repeats": "exclude"}
    default |= {"cold_users": "keep", "cold_items": "keep"}
    assert found.definitions["policies"] == default | policies


@pytest.mark.parametrize(
    ("policies", "text"),
    [
        (
            {"repeat": "include"},
            "policies.repeat: unknown key 'repeat'. Did you mean 'repeats'?",
        ),
        (
            {"repeats": "no"},
            "policies.repeats: expected one of exclude, include, got 'no'",
        ),
    ],
)
def test_other_policies(policies, text):
    assert text_of(ConfigError, RECS, TRUTH, policies=policies) == text


# Buckets.


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"buckets": {1: {"by": "relevant_items", "edges": [2]}}},
            "buckets: a key has to be text, got 1: names are texts, write '1'",
        ),
        ({"buckets": 5}, "buckets: expected a mapping, got 5"),
        ({"policies": ""}, "policies: expected a mapping, got ''"),
        ({"k": [[1]]}, "k.0: expected an integer >= 1, got [1]"),
        ({"k": [np.array([1, 2])]}, "k.0: expected an integer >= 1, got array([1, 2])"),
        ({"metrics": [5]}, "metrics.0: expected text such as recall@10, got 5"),
    ],
)
def test_options_of_another_kind(options, text):
    with pytest.raises(ConfigError) as error:
        rv.evaluate(RECS, TRUTH, **options)
    assert str(error.value) == text


def test_buckets():
    found = rv.evaluate(
        RECS,
        TRUTH,
        metrics=["recall"],
        k=1,
        train=TRAIN,
        policies={"repeats": "include"},
        buckets={
            "activity": {"by": "train_interactions", "edges": [2, 50]},
            "rows": {"by": "train_rows", "quantiles": [0.5]},
            "size": {"by": "relevant_items", "edges": [2]},
        },
    )
    # Users 1, 2 and 3 have 2, 1 and 0 rows; a repeated row is a row.
    assert found.buckets == {
        "activity": ("0", "[1,2)", "[2,50)", "[50,inf)"),
        "rows": ("0", "[1,2)", "[2,inf)"),
        "size": ("[-inf,2)", "[2,inf)"),
        # Made without being asked for, as there is train data.
        "coldness": ("cold", "warm"),
    }
    assert found.value("recall@1", bucket="activity:0") == 0.0
    assert found.value("recall@1", bucket="activity:[1,2)") == 1.0
    assert found.value("recall@1", bucket="[2,50)") == 0.5
    assert found.value("recall@1", bucket="[50,inf)") is None
    assert found.value("recall@1", bucket="size:[-inf,2)") == 0.5


def test_each_query_is_in_the_bucket_of_its_user():
    users = range(300)
    truth = pl.DataFrame({"user_id": users, "item_id": [7] * 300})
    # Users with three rows are served right; the train rows come in another order.
    recs = truth.filter(pl.col("user_id") % 4 == 3).with_columns(rank=1)
    train = pl.DataFrame(
        [(user, 100 + row) for row in range(3) for user in reversed(users) if user % 4 > row],
        schema=["user_id", "item_id"],
        orient="row",
    )
    rule = {"activity": {"by": "train_interactions", "edges": [2, 3]}}
    found = rv.evaluate(recs, truth, metrics=["recall"], k=1, train=train, buckets=rule)
    rows = found.summary.filter(bucket_by="activity", statistic="macro")
    assert rows.select("bucket", "users", "value").rows() == [
        ("0", 75, 0.0),
        ("[1,2)", 75, 0.0),
        ("[2,3)", 75, 0.0),
        ("[3,inf)", 75, 1.0),
    ]


@pytest.mark.parametrize(
    ("buckets", "text"),
    [
        (
            {"activity": {"by": "train_interactions", "edges": [2]}},
            "buckets.activity: by: train_interactions needs train data",
        ),
        (
            {"size": {"by": "relevant_items"}},
            "buckets.size: give either edges: [1, 50] or quantiles: [0.5, 0.9]",
        ),
        (
            {"all": {"by": "relevant_items", "edges": [2]}},
            "buckets.all: 'all' means all queries: choose another name",
        ),
    ],
)
def test_other_buckets(buckets, text):
    assert text_of(ConfigError, RECS, TRUTH, buckets=buckets) == text


# Errors.


def test_a_metric_that_needs_train_data():
    text = text_of(ConfigError, RECS, TRUTH, metrics=["recall", "seen_share"])
    assert text == "metrics: seen_share needs train data: give train="
    assert rv.evaluate(RECS, TRUTH, metrics=["seen_share"], k=1, train=TRAIN).value(
        "seen_share@1"
    ) == pytest.approx(1 / 2)


def test_ids_of_two_types():
    recs = RECS.with_columns(pl.col("item_id").cast(pl.String))
    assert text_of(DataError, recs, TRUTH) == (
        "recs.item_id: String, but the truth has Int64; e.g. '5', '7', '8' against 7, 8, 9. "
        "Cast one side, so that both are integers or both are text"
    )


def test_ids_that_have_nothing_in_common():
    recs = RECS.with_columns(pl.col("user_id") + 1000)
    assert text_of(DataError, recs, TRUTH) == (
        "recs.query_id: no id in common with the truth; e.g. 1001, 1002, 1009 against 1, 2, 3"
    )


def test_nothing_is_left():
    truth = TRUTH.filter((pl.col("user_id") == 1) & (pl.col("item_id") == 8))
    assert text_of(DataError, RECS, truth, train=TRAIN) == (
        "ground_truth: no relevant pair is left: pairs 1, queries_with_pairs 1, dropped_repeats 1"
    )


def test_gains_that_are_too_large():
    truth = TRUTH.with_columns(gain=pl.lit(51.0))
    metrics = ["ndcg(gain=exponential)"]
    assert text_of(DataError, RECS, truth, metrics=metrics, k=5) == (
        "truth.gain: 4 gains are above 50, too large for ndcg(gain=exponential)@5, "
        "e.g. 51.0, 51.0, 51.0, 51.0"
    )


def test_what_is_no_table():
    text = text_of(ConfigError, [1, 2], TRUTH)
    assert text.startswith("recs: got a builtins.list; accepted are a polars frame")


def test_a_sample_has_the_numbers_of_its_users() -> None:
    users = list(range(200))
    lists = pl.DataFrame({"user_id": users, "item_id": [user % 7 for user in users], "rank": 1})
    truth = pl.DataFrame({"user_id": users, "item_id": [user % 5 for user in users]})
    options = {"metrics": ["recall"], "k": [1], "train": truth.with_columns(item_id=9)}
    whole = rv.evaluate(lists, truth, **options)
    some = rv.evaluate(lists, truth, **options, sample_users=0.3, seed=11)
    sampled = some.per_query["user_id"]
    assert 30 < len(sampled) < 90
    assert some.per_query.equals(whole.per_query.filter(pl.col("user_id").is_in(sampled.implode())))
    assert some.counts["truth"]["users_to_sample"] == 200
    assert some.counts["truth"]["sampled_users"] == len(sampled)
    assert some.definitions["sample_users"] == {"share": 0.3, "seed": 11}
    assert "sample_users" not in whole.definitions
    # What is known of items is counted over everyone.
    assert some.definitions["catalogue"] == whole.definitions["catalogue"] == "train rows"


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (0, "sample_users: expected a number > 0 and <= 1, got 0"),
        (1.5, "sample_users: expected a number > 0 and <= 1, got 1.5"),
        ("half", "sample_users: expected a number > 0 and <= 1, got 'half'"),
    ],
)
def test_a_share_that_is_none(share: object, message: str) -> None:
    pair = pl.DataFrame({"user_id": [1], "item_id": [2], "rank": [1]})
    assert text_of(ConfigError, pair, pair, sample_users=share) == message
