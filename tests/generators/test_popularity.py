from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.errors import ConfigError, DataError
from recoeval.generators import Popularity, Scoring, Train
from recoeval.testing.toy import END


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


def test_decay_halves_and_goes_by_the_newest_row_of_a_pair(ago):
    pairs = [(1, 10), (1, 10), (2, 10), (1, 20), (2, 20), (3, 30), (4, 40)]
    times = [ago(21), ago(7), ago(14), ago(7), ago(7), ago(0), ago(700)]
    train = train_of(pairs, times=times, end=ago(0))
    expected = [(20, 1.0), (30, 1.0), (10, 0.75), (40, 2.0**-100)]
    assert listed(Popularity(half_life="7d"), train, 99) == expected
    # The window leaves rows out, the rest decays.
    both = Popularity(half_life="7d", window="14d")
    assert listed(both, train, 99) == [(20, 1.0), (10, 0.75)]


def test_decay_to_nothing_still_lists_the_item(ago):
    train = train_of([(1, 10), (1, 9)], times=[ago(0), ago(100)], end=ago(0))
    assert listed(Popularity(half_life="1m"), train, 99) == [(10, 1.0), (9, 0.0)]


def test_what_is_later_than_the_end_is_not_older_than_it(ago):
    train = train_of([(1, 10), (2, 10)], times=[ago(-7), ago(7)], end=ago(0))
    assert listed(Popularity(half_life="7d"), train, 99) == [(10, 1.5)]


@given(st.permutations(range(40)))
def test_decayed_sums_are_the_same_for_any_order(order):
    # Tenths of a half-life: sums of such numbers depend on their order in the last bits.
    pairs = [(user, 10 + user % 3) for user in range(40)]
    times = [END - timedelta(hours=7 * user) for user in range(40)]
    train = train_of(pairs, times=times, end=END)
    mixed = train_of([pairs[at] for at in order], times=[times[at] for at in order], end=END)
    decaying = Popularity(half_life="70h")
    assert listed(decaying, mixed, 99) == listed(decaying, train, 99)


@pytest.mark.parametrize("option", ["window", "half_life"])
def test_what_counts_back_needs_times_and_an_end(ago, option):
    generator = Popularity(**{option: "7d"})
    with pytest.raises(ConfigError) as error:
        generator.fit(train_of([(1, 10)], end=ago(0)))
    assert str(error.value) == (
        f"{option}: 7d needs times, and the interactions have none: leave {option} out, or name "
        "the column in interactions.columns.timestamp"
    )
    with pytest.raises(ConfigError) as error:
        generator.fit(train_of([(1, 10)], times=[ago(1)]))
    assert str(error.value) == (
        f"{option}: 7d counts from the end of the train window, and files have none: leave "
        f"{option} out, or split by time"
    )


USERS = pl.DataFrame(
    {"user_id": [1, 2, 3, 4, 5, 6], "country": ["DE", "DE", "FR", "FR", None, "IT"]}
)
# Everyone: 10 has 4 users, 20 has 3, 40 has 2, 30 has 1. DE: 20 and 30 2 and 1. FR: 10, 20, 40.
PAIRS = [
    *((1, 20), (2, 20), (1, 30), (3, 10), (4, 10), (4, 20), (4, 40)),
    *((5, 10), (7, 10), (7, 40)),
]


def of_groups(**changes) -> Train:
    return replace(train_of(PAIRS), users=USERS, **changes)


def test_groups_then_the_rest_of_the_whole_ranking():
    per = Popularity(per="country")
    everyone = [(10, 4.0), (20, 3.0), (40, 2.0), (30, 1.0)]
    germany = [(20, 2.0), (30, 1.0), (10, -1.0), (40, -3.0)]
    assert listed(per, of_groups(), 1) == listed(per, of_groups(), 2) == germany
    assert listed(per, of_groups(), 3) == [(10, 2.0), (20, 1.0), (40, 1.0), (30, -4.0)]
    assert listed(per, of_groups(), 1, k=3) == germany[:3]
    # No group, a group without train rows, a user who is in no table.
    for user in (5, 6, 7, 99):
        assert listed(per, of_groups(), user) == everyone


def test_seen_items_leave_the_ranking_of_the_group():
    seen = pl.LazyFrame({"user_id": [1, 1, 3, 3, 99], "item_id": [20, 10, 40, 10, 10]})
    train = of_groups(seen=seen)
    per = Popularity(per="country")
    assert listed(per, train, 1, k=2) == [(30, 1.0), (40, -3.0)]
    assert listed(per, train, 3, k=1) == [(20, 1.0)]
    assert listed(per, train, 99, k=1) == [(20, 3.0)]


def test_groups_of_one_block_do_not_mix():
    queries = pl.DataFrame({"query_id": [3, 99, 1, 6, 2], "user_id": [3, 99, 1, 6, 2]})
    lists = Popularity(per="country").fit(of_groups()).recommend(queries, 2).collect()
    found = lists.sort("query_id", "rank").group_by("query_id", maintain_order=True).agg("item_id")
    assert dict(found.iter_rows()) == {
        1: [20, 30],
        2: [20, 30],
        3: [10, 20],
        6: [10, 20],
        99: [10, 20],
    }


def test_groups_decay_within_a_window(ago):
    pairs = [(1, 10), (2, 20), (2, 30), (3, 30)]
    times = [ago(2), ago(1), ago(14), ago(1)]
    train = replace(train_of(pairs, times=times, end=ago(0)), users=USERS)
    per = Popularity(per="country", half_life="1d", window="10d")
    # Of two weeks ago nothing counts: 30 is France's alone, and second by id among all.
    assert listed(per, train, 1) == [(20, 0.5), (10, 0.25), (30, -2.0)]
    assert listed(per, train, 3) == [(30, 0.5), (20, -1.0), (10, -3.0)]


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (None, "country needs a table of users: users: {table: ...}"),
        (
            USERS.rename({"country": "county"}),
            (
                "unknown column 'country' in the users table. Did you mean 'county'? "
                "Columns: user_id, county"
            ),
        ),
        (
            USERS.with_columns(country=0.5),
            "Float64 in the users table: groups are of text, whole numbers, dates or booleans",
        ),
    ],
)
def test_groups_that_cannot_be_made(users, message):
    with pytest.raises(ConfigError) as error:
        Popularity(per="country").fit(replace(train_of(PAIRS), users=users))
    assert str(error.value) == f"per: {message}"


def test_users_table_in_which_nobody_has_a_group():
    users = USERS.with_columns(country=pl.lit(None, pl.String))
    train = replace(train_of(PAIRS), users=users)
    assert listed(Popularity(per="country"), train, 1) == listed(Popularity(), train, 1)


@pytest.mark.parametrize("per", [None, "country"])
def test_scores_of_pairs_are_those_of_the_lists(per):
    train = of_groups()
    fitted = Popularity(per=per).fit(train)
    assert isinstance(fitted, Scoring)
    users, items = [4, 1, 5, 99], [30, 10, 77, 40, 20]
    pairs = pl.DataFrame(
        [(user, user, item) for item in items for user in users],
        schema=["query_id", "user_id", "item_id"],
        orient="row",
    )
    found = pairs.with_columns(score=fitted.score(pairs))
    assert found.schema["score"] == pl.Float64
    for user in users:
        own = found.filter(pl.col("user_id") == user)
        scores = dict(own.select("item_id", "score").iter_rows())
        assert scores == {**dict(listed(Popularity(per=per), train, user)), 77: None}


rows_of_groups = st.lists(
    st.tuples(st.integers(1, 9), st.integers(10, 16), st.integers(0, 50)), min_size=1, max_size=50
)


@given(
    rows=rows_of_groups,
    groups=st.lists(st.none() | st.sampled_from("abc"), min_size=8, max_size=8),
    seen=st.lists(st.tuples(st.integers(1, 10), st.integers(10, 16)), max_size=12),
    halves=st.none() | st.integers(1, 20),
    k=st.integers(1, 8),
)
def test_equals_plain_python(rows, groups, seen, halves, k):
    newest: dict[tuple[int, int], int] = {}
    for user, item, age in rows:
        newest[user, item] = min(age, newest.get((user, item), age))
    group_of = {user + 1: group for user, group in enumerate(groups)}

    def counted(users) -> dict[int, float]:
        sums: dict[int, float] = {}
        for (user, item), age in sorted(newest.items(), key=lambda each: -each[1]):
            if user in users:
                part = 1.0 if halves is None else 2.0 ** -(age / halves)
                sums[item] = sums.get(item, 0.0) + part
        return sums

    def ranked(sums: dict[int, float]) -> list[tuple[int, float]]:
        return sorted(sums.items(), key=lambda each: (-each[1], each[0]))

    everyone = ranked(counted(range(100)))
    train = train_of(
        [(user, item) for user, item, _ in rows],
        seen=seen or [(0, 0)],
        times=[END - timedelta(hours=age) for *_, age in rows],
        end=END,
    )
    users = pl.DataFrame(
        {"user_id": list(group_of), "country": list(group_of.values())},
        schema_overrides={"country": pl.String},
    )
    half_life = None if halves is None else f"{halves}h"
    fitted = Popularity(per="country", half_life=half_life).fit(replace(train, users=users))
    asked = list(range(1, 11))
    lists = fitted.recommend(pl.DataFrame({"query_id": asked, "user_id": asked}), k).collect()
    for user in asked:
        group = group_of.get(user)
        own = ranked(counted([one for one in group_of if group and group_of[one] == group]))
        inside = {item for item, _ in own}
        rest = [(item, -place) for place, (item, _) in enumerate(everyone, 1) if item not in inside]
        left = {item for one, item in seen if one == user}
        expected = [each for each in (own + rest if own else everyone) if each[0] not in left][:k]
        found = lists.filter(pl.col("query_id") == user).sort("rank")
        assert found["item_id"].to_list() == [item for item, _ in expected]
        # 2^x of numpy and of Python may differ in the last bit.
        assert found["score"].to_list() == pytest.approx([score for _, score in expected])
