from datetime import UTC, datetime

import polars as pl

from recoeval.analysis.groups import Groups
from recoeval.data.background import Background
from recoeval.data.buckets import Bucket
from recoeval.data.policies import Truth

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
EVENING = NOON.replace(hour=18)
TIME = pl.Datetime("us", "UTC")
ITEMS = pl.DataFrame(
    {
        "item_id": [1, 2, 3],
        "created_at": [NOON.replace(day=4), NOON, NOON.replace(hour=18)],
        "available": [True, True, True],
    },
    schema_overrides={"created_at": TIME},
)
POPULARITY = pl.DataFrame({"item_id": [1, 2], "train_users": [1, 5]})
AGE = {"age": Bucket(side="item", by="item_age", edges=(1,))}


def truth(*times: datetime | None) -> Truth:
    """Returns queries 0, 1, ... of users 0, 0, 1, 1, ..., each with item 1."""
    size = len(times)
    queries = pl.DataFrame(
        {
            "query_id": range(size),
            "user_id": [number // 2 for number in range(size)],
            "query_time": times,
        },
        schema_overrides={"query_time": TIME},
    )
    pairs = pl.DataFrame({"query_id": range(size), "item_id": [1] * size, "gain": [1.0] * size})
    return Truth(pairs, queries, {}, {})


def catalogue(groups: Groups) -> list[int]:
    found = groups.catalogue
    assert found is not None
    return found.to_list()


def test_the_catalogue_is_that_of_the_latest_query():
    known = Background(items=ITEMS)
    assert catalogue(Groups.of(truth(NOON, NOON), known, {})) == [1, 2]
    assert catalogue(Groups.of(truth(EVENING, NOON), known, {})) == [1, 2, 3]
    # Without times every item has been created.
    assert catalogue(Groups.of(truth(None), known, {})) == [1, 2, 3]


def test_items_have_one_age_where_queries_have_one_time():
    known = Background(items=ITEMS)
    ids = ITEMS["item_id"]
    one = Groups.of(truth(NOON, NOON), known, AGE).item_groups(ids)
    assert [(each.bucket_by, each.bucket) for each in one] == [
        ("all", "all"),
        ("age", "[-inf,1)"),
        ("age", "[1,inf)"),
    ]
    assert one[2].items is not None
    assert one[2].items.to_list() == [True, False, False]
    several = Groups.of(truth(NOON, EVENING), known, AGE)
    assert [each.bucket_by for each in several.item_groups(ids)] == ["all"]
    # The truth is split all the same: each pair has the time of its query.
    assert several.pairs["age"]["label"].to_list() == ["[1,inf)", "[1,inf)"]


def test_groups_count_queries_and_users():
    rules = {"fame": Bucket(side="item", by="train_popularity", edges=(3,))}
    rules["size"] = Bucket(by="relevant_items", edges=(2,))
    groups = Groups.of(truth(NOON, NOON, NOON), Background(popularity=POPULARITY), rules)
    found = groups.item_groups(pl.Series([1, 2, 9]))
    assert [(each.bucket_by, each.bucket, each.queries, each.users) for each in found] == [
        ("all", "all", 3, 2),
        ("size", "[-inf,2)", 3, 2),
        ("size", "[2,inf)", 0, 0),
        # Item 9 is listed and has no train row; the truth has no such pair.
        ("fame", "0", 3, 2),
        ("fame", "[1,3)", 3, 2),
        ("fame", "[3,inf)", 3, 2),
    ]
    assert groups.order["fame"] == ("[1,3)", "[3,inf)")
    assert groups.known["fame"] == ("0", "[1,3)", "[3,inf)")
