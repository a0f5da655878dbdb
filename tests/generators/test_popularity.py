from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.errors import ConfigError, DataError
from recoeval.generators import Popularity, Train


def train_of(pairs, *, seen=None, times=None, end=None) -> Train:
    rows = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
    rows = rows.with_columns(pl.lit(1.0).alias("weight"))
    if times is not None:
        rows = rows.with_columns(pl.Series("timestamp", times, dtype=pl.Datetime("us", "UTC")))
    if seen is not None:
        seen = pl.DataFrame(seen, schema=["user_id", "item_id"], orient="row").lazy()
    return Train(rows.lazy(), seen, end, seed=0, threads=1)


def listed(generator: Popularity, train: Train, user: int, k: int = 10) -> list[tuple]:
    queries = pl.DataFrame({"query_id": [user], "user_id": [user]})
    lists = generator.fit(train).recommend(queries, k).collect().sort("rank")
    return list(lists.select("item_id", "score").iter_rows())


def test_counts_users_not_rows_and_breaks_ties_by_item():
    train = train_of([(1, 30), (1, 30), (1, 30), (1, 9), (2, 9), (2, 100), (3, 20)])
    assert listed(Popularity(), train, 1) == [(9, 2.0), (20, 1.0), (30, 1.0), (100, 1.0)]


def test_ties_of_text_ids_are_broken_as_text():
    train = train_of([(1, "30"), (1, "9"), (2, "100"), (3, "B"), (3, "a"), (3, "é")])
    names = [item for item, _ in listed(Popularity(), train, 1)]
    assert names == ["100", "30", "9", "B", "a", "é"]


def test_weights_do_not_matter():
    train = train_of([(1, 30), (2, 9), (3, 9)])
    heavy = Train(
        train.rows.with_columns(weight=pl.when(item_id=30).then(99.0).otherwise(0.1)),
        None,
        None,
        seed=0,
        threads=1,
    )
    assert listed(Popularity(), heavy, 1) == listed(Popularity(), train, 1) == [(9, 2.0), (30, 1.0)]


def test_seen_items_leave_before_the_cut():
    # Item 1 is the most popular, item 6 the least.
    pairs = [(user, item) for item in range(1, 7) for user in range(item, 7)]
    seen = [(7, 1), (7, 2), (7, 4), (7, 99), (8, 6)]
    train = train_of(pairs, seen=seen)
    assert [item for item, _ in listed(Popularity(), train, 7, k=2)] == [3, 5]
    assert [item for item, _ in listed(Popularity(), train, 7, k=5)] == [3, 5, 6]
    assert [item for item, _ in listed(Popularity(), train, 8, k=5)] == [1, 2, 3, 4, 5]
    assert [item for item, _ in listed(Popularity(), train, 9, k=2)] == [1, 2]


def test_a_user_who_saw_everything_gets_no_list():
    train = train_of([(1, 5), (1, 6)], seen=[(1, 5), (1, 6)])
    assert listed(Popularity(), train, 1) == []
    assert listed(Popularity(), train, 2) == [(5, 1.0), (6, 1.0)]


def test_window_holds_its_start_and_not_the_end(ago):
    micro = timedelta(microseconds=1)
    train = train_of(
        [(1, 10), (2, 10), (1, 20), (1, 30), (1, 40)],
        times=[ago(7) - micro, ago(9), ago(7), ago(0) - micro, ago(0)],
        end=ago(0),
    )
    assert listed(Popularity(window="7d"), train, 1) == [(20, 1.0), (30, 1.0)]
    assert listed(Popularity(window="7d"), train, 99) == [(20, 1.0), (30, 1.0)]
    # Without a window every train row counts; whoever makes them sees to the end.
    assert listed(Popularity(), train, 1)[0] == (10, 2.0)


def test_window_ends_where_the_train_window_ends_not_at_the_last_row(ago):
    train = train_of([(1, 10), (1, 20)], times=[ago(3.5), ago(2.5)], end=ago(0))
    assert listed(Popularity(window="3d"), train, 1) == [(20, 1.0)]


def test_seen_items_from_before_the_window_stay_out(ago):
    train = train_of(
        [(1, 10), (2, 10), (2, 20)],
        seen=[(1, 10)],
        times=[ago(30), ago(1), ago(1)],
        end=ago(0),
    )
    assert listed(Popularity(window="7d"), train, 1) == [(20, 1.0)]


def test_window_without_train_rows(ago):
    train = train_of([(1, 10)], times=[ago(30)], end=ago(0))
    with pytest.raises(DataError, match="no train rows in the last 7d before 2022-05-06 00:00:00"):
        Popularity(window="7d").fit(train)


@pytest.mark.parametrize("end", [True, False])
def test_window_without_times(ago, end):
    train = train_of([(1, 10)], end=ago(0) if end else None)
    with pytest.raises(ConfigError, match=r"^window: 7d needs times") as error:
        Popularity(window="7d").fit(train)
    assert error.value.problems[0].path == "window"


@pytest.mark.parametrize("window", ["0d", "-1d", 7, "7 days"])
def test_window_must_be_a_duration(window):
    with pytest.raises(ValidationError, match="duration"):
        Popularity(window=window)


def test_heavy_user_among_light_ones():
    items = range(3000)
    train = train_of([(1, item) for item in items], seen=[(1, item) for item in items[:2990]])
    queries = pl.DataFrame({"query_id": [1, 2], "user_id": [1, 2]})
    lists = Popularity().fit(train).recommend(queries, 10).collect().sort("query_id", "rank")
    assert lists["item_id"].to_list() == [*range(2990, 3000), *range(10)]


def test_counts_that_are_known_are_not_made_again(ago):
    pairs = [(1, 30), (1, 30), (1, 9), (2, 9), (3, 20)]
    known = pl.DataFrame({"item_id": [9, 20, 30], "train_users": [2, 1, 1]})
    train = train_of(pairs, times=[ago(1)] * 5, end=ago(0))
    unread = pl.LazyFrame({"item_id": [1]}).map_batches(lambda _: pytest.fail("read"))
    given = replace(train, rows=unread, popularity=known)
    assert listed(Popularity(), given, 1) == listed(Popularity(), train, 1)
    # A window counts other rows.
    given = replace(train, popularity=known.head(0))
    assert listed(Popularity(window="2d"), given, 1) == listed(Popularity(), train, 1)
