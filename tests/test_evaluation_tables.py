"""`evaluate` with everything that may be known: catalogue, exposures, attributes, losses."""

from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.analysis.evaluator import Evaluator
from recoeval.columns import CAUSES
from recoeval.data.background import Background
from recoeval.data.buckets import Bucket
from recoeval.data.truth import Policies, apply_policies
from recoeval.errors import RecoevalError
from recoeval.metrics import measures
from tests.counting import count_train_users

# Users 1 and 2 have train rows, 3 has none; item 7 is known, 20 and 21 are cold, 30 is gone.
TRAIN = pl.DataFrame({"user_id": [1, 1, 2, 9], "item_id": [7, 8, 8, 30]})
TRUTH = pl.DataFrame(
    {
        "user_id": [1, 1, 1, 2, 2, 3, 3],
        "item_id": [20, 9, 30, 7, 21, 7, 20],
        "gain": [1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0],
    }
)
RECS = pl.DataFrame(
    {
        "user_id": [1, 1, 1, 2, 2, 3],
        "item_id": [8, 9, 7, 5, 7, 5],
        "rank": [1, 2, 3, 1, 2, 1],
    }
)
ITEMS = pl.DataFrame(
    {
        "item_id": [5, 7, 8, 9, 20, 21, 30, 40],
        "available": [True, True, True, True, True, True, False, True],
        "topic": ["a", "a", "b", "b", "b", "b", "b", "a"],
    }
)
USERS = pl.DataFrame(
    {"user_id": [1, 2, 3, 4], "country": ["de", "fr", None, "is"], "quota": [1, 2, 1, 1]}
)
SHOWN = pl.DataFrame({"user_id": [1, 1, 2, 3, 4], "item_id": [8, 9, 40, 5, 7]})


def text_of(**options: Any) -> str:
    given: dict[str, Any] = {"metrics": ["recall"], "k": 1, **options}
    with pytest.raises(RecoevalError) as error:
        rv.evaluate(given.pop("recs", RECS), given.pop("truth", TRUTH), **given)
    return str(error.value)


@pytest.fixture(scope="module")
def found() -> rv.Evaluation:
    return rv.evaluate(
        RECS,
        TRUTH,
        metrics=[
            "recall",
            "hits@quota",
            "judged",
            "unknown_item_share",
            "item_coverage",
            "mean_popularity",
            "recall_ceiling",
        ],
        k=[1, 2],
        train=TRAIN,
        users=USERS,
        items=ITEMS,
        exposures=SHOWN,
        buckets={
            "country": {"by": "column", "column": "country"},
            "topic": {"side": "item", "by": "column", "column": "topic"},
        },
    )


# Loss. User 1 has seen items 7 and 8, which leave the list: 9 is on rank 1.


def test_every_relevant_pair_is_a_hit_or_lost(found):
    assert found.hits.select("query_id", "item_id", "rank", "gain").rows() == [
        (1, 9, 1, 2.0),
        (2, 7, 2, 1.0),
    ]
    assert found.lost.columns == ["fold", "generator", "query_id", "item_id", "gain", "cause"]
    # Lists from elsewhere may hold cold users and items: their loss has no such cause.
    assert found.lost.select("query_id", "item_id", "gain", "cause").rows() == [
        (1, 20, 1.0, "not_retrieved"),
        (1, 30, 1.0, "unavailable"),
        (2, 21, 1.0, "not_retrieved"),
        (3, 7, 3.0, "not_retrieved"),
        (3, 20, 1.0, "not_retrieved"),
    ]


def loss(found: rv.Evaluation, by: str, label: str, k: int | None) -> dict[str, int]:
    rows = found.loss.filter(
        pl.col("bucket_by") == by, pl.col("bucket") == label, pl.col("k").eq_missing(k)
    )
    row = rows.select("relevant", *CAUSES).row(0, named=True)
    return {name: count for name, count in row.items() if count}


def test_the_loss_table(found):
    assert found.loss["k"].unique().sort().to_list() == [1, 2]
    assert loss(found, "all", "all", 1) == {
        "relevant": 7,
        "hit": 1,
        "below_k": 1,
        "unavailable": 1,
        "not_retrieved": 4,
    }
    assert loss(found, "all", "all", 2) == {
        "relevant": 7,
        "hit": 2,
        "unavailable": 1,
        "not_retrieved": 4,
    }
    assert loss(found, "country", "fr", 1) == {"relevant": 2, "below_k": 1, "not_retrieved": 1}
    assert loss(found, "country", "missing", 1) == {"relevant": 2, "not_retrieved": 2}
    assert loss(found, "topic", "b", 1) == {
        "relevant": 5,
        "hit": 1,
        "unavailable": 1,
        "not_retrieved": 3,
    }
    # Items 9, 20, 21 have no train row, nor has user 3.
    assert loss(found, "coldness", "cold", 2) == {"relevant": 5, "hit": 1, "not_retrieved": 4}
    assert loss(found, "coldness", "warm", 2) == {"relevant": 2, "hit": 1, "unavailable": 1}
    rows = found.loss.select(pl.sum_horizontal(CAUSES) == pl.col("relevant"))
    assert rows.to_series().all()


def test_the_ceiling_is_the_mean_of_what_the_loss_leaves(found):
    # User 1 cannot get item 30: 2/3; the others can get all.
    assert found.value("recall_ceiling") == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert found.value("recall_ceiling", bucket="country:de") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("users", "items", "causes"),
    [
        (True, True, ["not_retrieved"] * 5),
        (True, False, ["cold_item", "not_retrieved", "cold_item", "not_retrieved", "cold_item"]),
        (False, True, ["not_retrieved"] * 3 + ["cold_user"] * 2),
        # The first that holds: an item that is cold comes before a user who is.
        (False, False, ["cold_item", "not_retrieved", "cold_item", "cold_user", "cold_item"]),
    ],
)
def test_cold_pairs_are_lost_for_a_reason_where_a_generator_cannot_serve_them(users, items, causes):
    popularity, count = count_train_users(TRAIN.lazy())
    rows = TRAIN.group_by("user_id").agg(train_rows=pl.len().cast(pl.Int64))
    known = Background(
        seen=TRAIN.lazy(),
        activity=rows.with_columns(train_interactions="train_rows").lazy(),
        popularity=popularity,
        train_users=count,
    )
    truth = apply_policies(
        TRUTH.rename({"user_id": "query_id"}).lazy(),
        TRUTH.select("user_id", query_id="user_id").unique(),
        Policies(),
        universe=None,
        seen=known.seen,
        warm_users=known.seen,
        warm_items=known.seen,
    )
    asked = measures(["recall@2", "recall_ceiling", "recall@all"], [])
    evaluator = Evaluator.of(truth, asked, background=known, buckets={})
    lists = RECS.rename({"user_id": "query_id"}).lazy()
    scored = evaluator.score(lists, serves_cold_users=users, serves_cold_items=items)
    result = evaluator.evaluation({"als": [scored]}, counts={}, definitions={}, fold=4)
    assert result.lost["cause"].to_list() == causes
    for table in (result.summary, result.per_query, result.hits, result.lost, result.loss):
        assert table["fold"].unique().to_list() == [4]
    # Per user 1 - (cold pairs) / |R|.
    cold = pl.Series([cause.startswith("cold") for cause in causes])
    beyond = dict.fromkeys((1, 2, 3), 0) | dict(
        result.lost.filter(cold).group_by("query_id").len().iter_rows()
    )
    expected = sum(1 - beyond[user] / size for user, size in ((1, 3), (2, 2), (3, 2))) / 3
    assert result.value("recall_ceiling") == pytest.approx(expected)
    # The whole list is a row without a K.
    assert result.loss["k"].unique().sort().to_list() == [None, 2]
    assert loss(result, "all", "all", None)["hit"] == 2


# Parts of the truth.


def test_cold_pairs_are_shown_apart(found):
    rows = found.summary.filter(bucket_by="coldness", metric="recall@2", statistic="macro")
    # Cold: user 1 finds 9 of 9, 20; user 2 not 21; user 3 neither. Warm: 1 not 30; 2 finds 7.
    assert rows.select("bucket", "queries", "users", "value").rows() == [
        ("cold", 3, 3, pytest.approx(0.5 / 3)),
        ("warm", 2, 2, 0.5),
    ]
    assert found.value("recall@2", bucket="coldness:cold") == pytest.approx(0.5 / 3)


def test_buckets_of_items_split_the_truth(found):
    rows = found.summary.filter(bucket_by="topic", metric="recall@2", statistic="macro")
    # Of topic a only item 7 is relevant, for users 2 and 3.
    assert rows.select("bucket", "queries", "users", "value").rows() == [
        ("a", 2, 2, 0.5),
        ("b", 3, 3, pytest.approx(1 / 3 / 3)),
    ]
    assert found.buckets["topic"] == ("a", "b", "missing")


def test_buckets_by_a_column_of_users(found):
    rows = found.summary.filter(bucket_by="country", metric="recall@2", statistic="macro")
    # Nobody in "is" is evaluated; user 3 has no country.
    assert rows.select("bucket", "users", "value").rows() == [
        ("de", 1, pytest.approx(1 / 3)),
        ("fr", 1, 0.5),
        ("is", 0, None),
        ("missing", 1, 0.0),
    ]


# Lists, catalogue, quotas.


def test_what_was_shown_and_what_is_in_the_catalogue(found):
    # Delivered: user 1 has 8, 9, 7, of which 8 and 9 were shown; user 2 5, 7; user 3 5, shown.
    assert found.value("judged@1") == 2 / 3
    assert found.value("judged@2") == 3 / 5
    assert found.value("unknown_item_share@2") == 0.0


def test_metrics_of_the_catalogue(found):
    # Prepared lists within 2: 9; 5, 7; 5: three of seven items that are available.
    assert found.value("item_coverage@2") == 3 / 7
    assert found.value("item_coverage@1") == 2 / 7
    # Item 7 has one train user, 9 and 5 none.
    assert found.value("mean_popularity@2") == 1 / 4
    assert found.value("item_coverage@2", bucket="country:fr") == 2 / 7
    # Topic a has items 5, 7, 40 in the catalogue; b has 8, 9, 20, 21.
    assert found.value("item_coverage@2", bucket="topic:a") == 2 / 3
    assert found.value("item_coverage@2", bucket="topic:b") == 1 / 4
    # They are no number of a query or user.
    for table in (found.per_query, found.per_user):
        assert "item_coverage@2" not in table.columns
    row = found.summary.filter(metric="item_coverage@2", bucket="b").row(0, named=True)
    assert (row["statistic"], row["queries"], row["users"], row["k"]) == ("micro", 3, 3, 2)


def test_users_have_a_depth_of_their_own(found):
    # User 1 looks at one item, user 2 at two, user 3 at one.
    assert found.per_query["hits@quota"].to_list() == [1.0, 1.0, 0.0]


def test_queries_have_a_depth_of_their_own():
    truth = TRUTH.with_columns(query_id=pl.format("q{}", "user_id"))
    recs = RECS.select(pl.format("q{}", "user_id").alias("query_id"), "item_id", "rank")
    users = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "quota": [2, 1, 1], "scene": [1, 2, 2]})
    found = rv.evaluate(
        recs,
        truth,
        metrics=["hits@quota"],
        users=users.join(truth.select("query_id", "user_id").unique(), on="query_id"),
        buckets={"scene": {"by": "column", "column": "scene"}},
    )
    # Without train data 8 is seen by nobody: the items are 8, 9; 5; 5.
    assert found.per_query["hits@quota"].to_list() == [1.0, 0.0, 0.0]
    assert found.value("hits@quota", bucket="scene:1") == 1.0


def test_without_train_data_and_items_nothing_is_split():
    found = rv.evaluate(RECS, TRUTH, metrics=["recall"], k=2)
    assert found.buckets == {}
    assert found.summary["bucket_by"].unique().to_list() == ["all"]
    assert found.lost["cause"].unique().to_list() == ["not_retrieved"]


def test_kinds_of_positives_are_shown_apart():
    pairs = TRUTH.rename({"user_id": "query_id"})
    kinds = pl.concat(
        [
            pairs.select("query_id", "item_id", label=pl.lit("view")),
            pairs.filter(pl.col("gain") > 1).select("query_id", "item_id", label=pl.lit("buy")),
        ]
    )
    truth = apply_policies(
        pairs.lazy(),
        pairs.select("query_id", user_id="query_id").unique(),
        Policies(),
        universe=None,
        seen=None,
        warm_users=None,
        warm_items=None,
        kinds=kinds,
    )
    evaluator = Evaluator.of(truth, measures(["recall@3"], []), background=Background(), buckets={})
    scored = evaluator.score(RECS.rename({"user_id": "query_id"}).lazy())
    found = evaluator.evaluation({"als": [scored]}, counts={}, definitions={})
    rows = found.summary.filter(bucket_by="positives", statistic="macro")
    # Users 1 and 3 bought: 9, which is found, and 7, which is not.
    assert rows.select("bucket", "queries", "value").rows() == [
        ("buy", 2, 0.5),
        ("view", 3, found.value("recall@3")),
    ]
    assert found.buckets == {"positives": ("buy", "view")}
    rule = Bucket(by="relevant_items", edges=(2,))
    with pytest.raises(RecoevalError) as error:
        Evaluator.of(
            truth,
            measures(["recall@3"], []),
            background=Background(),
            buckets=dict.fromkeys(("positives", "served", "coldness"), rule),
        )
    assert str(error.value).splitlines() == [
        "buckets.served: 'served' means the queries that have a list: choose another name",
        "buckets.positives: 'positives' means the kinds of positives: choose another name",
    ]


# Errors.

BOTH = "Cast one side, so that both are integers or both are text"
CAST, IDS = f"7, 9, 20. {BOTH}", f"1, 2, 3. {BOTH}"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"metrics": ["judged"]}, "metrics: judged@1 needs exposures"),
        (
            {"metrics": ["item_coverage"]},
            "metrics: item_coverage@1 needs a catalogue: an items table, or train data",
        ),
        (
            {"metrics": ["novelty"], "items": ITEMS},
            "metrics: novelty needs train data: give train=",
        ),
        (
            {"metrics": ["hits@quota"]},
            "metrics: hits@quota needs a column quota of the users or queries: the depth of each",
        ),
        (
            {"metrics": ["hits@quota"], "users": USERS.filter(pl.col("user_id") != 2)},
            (
                "queries.quota: 1 queries have no quota from 1 to 1,000,000, e.g. (2, None); "
                "hits@quota reads it"
            ),
        ),
        (
            {"items": ITEMS.with_columns(pl.col("item_id").cast(pl.String))},
            f"items.item_id: String, but the truth has Int64; e.g. '20', '21', '30' against {CAST}",
        ),
        (
            {"exposures": SHOWN.with_columns(pl.col("user_id").cast(pl.String))},
            f"exposures.user_id: String, but the truth has Int64; e.g. '1', '2', '3' against {IDS}",
        ),
        (
            {"items": pl.DataFrame({"item_id": [101, 102]})},
            "items.item_id: no id in common with truth and lists; e.g. 101, 102 against 5, 7, 8",
        ),
        (
            {"exposures": pl.DataFrame({"user_id": [101], "item_id": [7]})},
            "exposures.user_id: no id in common with the truth; e.g. 101 against 1, 2, 3",
        ),
        (
            {"exposures": pl.DataFrame({"user_id": [1], "item_id": [101]})},
            "exposures.item_id: no id in common with truth and lists; e.g. 101 against 5, 7, 8",
        ),
        (
            {"users": pl.DataFrame({"user_id": [8], "country": ["de"]})},
            "users.user_id: no id in common with the truth; e.g. 8 against 1, 2, 3",
        ),
        (
            {"buckets": {"topic": {"side": "item", "by": "column", "column": "topic"}}},
            "buckets.topic: by: column needs a table of items",
        ),
        (
            {"train": TRAIN, "buckets": {"coldness": {"by": "train_rows", "edges": [1]}}},
            "buckets.coldness: 'coldness' means cold and warm pairs: choose another name",
        ),
    ],
)
def test_what_does_not_fit(options, text):
    assert text_of(**options) == text
