"""Co-visitation: neighbours worked out by hand, then all options against plain Python."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from math import sqrt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.errors import ConfigError
from recoeval.generators import CoVisitation, Scoring, Train, co_visitation

START = datetime(2022, 5, 1, tzinfo=UTC)


def train_of(rows, *, seen=None) -> Train:
    """Rows are user, item, hours."""
    frame = pl.DataFrame(
        [(user, item, START + timedelta(hours=hours)) for user, item, hours in rows],
        schema={
            "user_id": pl.Int64,
            "item_id": pl.Int64,
            "timestamp": pl.Datetime("us", "UTC"),
        },
        orient="row",
    ).with_columns(weight=1.0)
    if seen is not None:
        seen = pl.LazyFrame(seen, schema={"user_id": pl.Int64, "item_id": pl.Int64}, orient="row")
    return Train(frame.lazy(), seen, None, seed=0, threads=1)


def listed(generator: CoVisitation, train: Train, users, k=10) -> dict[int, list[tuple]]:
    queries = pl.DataFrame({"query_id": users, "user_id": users})
    lists = generator.fit(train).recommend(queries, k).collect().sort("query_id", "rank")
    found: dict[int, list[tuple]] = {user: [] for user in users}
    for user, item, rank, score in lists.iter_rows():
        found[user].append((item, score))
        assert rank == len(found[user])
    return found


# Users 1 and 2 have items 10 and 20, user 3 has 10 and 30 a day apart, user 4 has 10 alone.
ROWS = [
    *((1, 10, 0), (1, 20, 1), (2, 20, 0), (2, 10, 2), (2, 10, 2)),
    *((3, 10, 0), (3, 30, 25), (4, 10, 9)),
]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # c(10) = 4, c(20) = 2, c(30) = 1; c(10, 20) = 2, c(10, 30) = 1.
        ({"normalize": "count"}, [(20, 2.0), (30, 1.0)]),
        ({"normalize": "product"}, [(20, 2 / 8), (30, 1 / 4)]),
        ({}, [(20, 2 / sqrt(8)), (30, 1 / 2)]),
        ({"normalize": "count", "within": "24h"}, [(20, 2.0)]),
        ({"normalize": "count", "within": "25h"}, [(20, 2.0), (30, 1.0)]),
        ({"normalize": "count", "neighbours": 1}, [(20, 2.0)]),
        # One latest item a user: nothing is paired.
        ({"history": 1}, []),
    ],
)
def test_neighbours_of_the_only_item(options, expected):
    assert listed(CoVisitation(**options), train_of(ROWS), [4]) == {4: expected}


def test_scores_add_up_over_the_latest_items():
    rows = [(1, 10, 0), (1, 30, 0), (2, 20, 0), (2, 30, 0), (3, 10, 0), (3, 20, 5), (3, 40, 6)]
    train = train_of(rows, seen=[(user, item) for user, item, _ in rows])
    # 30 is paired with 10 by user 1 and with 20 by user 2; 40 is user 3's own.
    assert listed(CoVisitation(normalize="count"), train, [3]) == {3: [(30, 2.0)]}
    # Of two latest items a user, 10 is none of user 3's.
    assert listed(CoVisitation(normalize="count", history=2), train, [3]) == {3: [(30, 1.0)]}
    # User 1 has 10, near 20 and 40 by user 3; and 30, near 20 by user 2.
    assert listed(CoVisitation(normalize="count"), train, [1]) == {1: [(20, 2.0), (40, 1.0)]}


def test_the_newest_row_of_a_pair_is_its_time():
    rows = [(1, 10, 0), (1, 20, 1), (1, 10, 50), (2, 10, 0)]
    assert listed(CoVisitation(within="24h"), train_of(rows), [2]) == {2: []}


def test_seen_items_leave_before_the_cut_and_ties_go_to_the_lower_id():
    rows = [(1, item, 0) for item in (10, 40, 30, 20)] + [(2, 10, 0)]
    train = train_of(rows, seen=[(2, 20)])
    items = [item for item, _ in listed(CoVisitation(), train, [2], k=1)[2]]
    assert items == [30]
    assert [item for item, _ in listed(CoVisitation(neighbours=2), train_of(rows), [2])[2]] == [
        20,
        30,
    ]


@pytest.mark.parametrize(
    "options", [{"history": 0}, {"neighbours": 0}, {"within": "0h"}, {"normalize": "cos"}]
)
def test_options_are_checked(options):
    with pytest.raises(ValidationError):
        CoVisitation(**options)


def test_without_times():
    train = train_of(ROWS)
    rows = train.rows.drop("timestamp")
    with pytest.raises(ConfigError, match=r"^needs times, and the interactions have none"):
        CoVisitation().fit(Train(rows, None, None, seed=0, threads=1))


def brute_force(rows, *, history, within, normalize, neighbours):
    """The score of every item that is related to the latest items of each user."""
    newest: dict[int, dict[int, int]] = defaultdict(dict)
    for user, item, hours in rows:
        newest[user][item] = max(hours, newest[user].get(item, hours))
    latest = {
        user: sorted(own, key=lambda item, own=own: (-own[item], item))[:history]
        for user, own in newest.items()
    }
    both: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    have: dict[int, int] = defaultdict(int)
    for user, items in latest.items():
        for left in items:
            have[left] += 1
            for right in items:
                apart = abs(newest[user][left] - newest[user][right])
                if left != right and (within is None or apart <= within):
                    both[left][right] += 1
    divided = {
        "count": lambda left, right: 1.0,
        "product": lambda left, right: float(have[left] * have[right]),
        "cosine": lambda left, right: sqrt(have[left] * have[right]),
    }[normalize]
    scores = {}
    for user, items in latest.items():
        own: dict[int, float] = defaultdict(float)
        for left in items:
            related = {right: count / divided(left, right) for right, count in both[left].items()}
            for right in sorted(related, key=lambda item, r=related: (-r[item], item))[:neighbours]:
                own[right] += related[right]
        scores[user] = dict(own)
    return scores


logs = st.lists(
    st.tuples(st.integers(1, 6), st.integers(10, 18), st.integers(0, 8)), min_size=1, max_size=60
)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 22])
@given(
    rows=logs,
    history=st.integers(1, 6),
    within=st.none() | st.integers(1, 8),
    normalize=st.sampled_from(["cosine", "count", "product"]),
    neighbours=st.integers(1, 5),
    data=st.data(),
)
def test_equals_plain_python(at_once, rows, history, within, normalize, neighbours, data):
    options = {"history": history, "normalize": normalize, "neighbours": neighbours}
    expected = brute_force(rows, within=within, **options)
    seen = data.draw(st.lists(st.tuples(st.integers(1, 6), st.integers(10, 18)), max_size=9))
    k = data.draw(st.integers(1, 9))
    if within is not None:
        options["within"] = f"{within}h"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(co_visitation, "_AT_ONCE", at_once)
        train = train_of(rows, seen=seen)
        lists = listed(CoVisitation(**options), train, list(range(1, 8)), k=k)
        for user, found in lists.items():
            own = expected.get(user, {})
            left = sorted(set(own) - {item for one, item in seen if one == user})
            assert (
                found
                == sorted(
                    ((item, own[item]) for item in left), key=lambda each: (-each[1], each[0])
                )[:k]
            )
        fitted = CoVisitation(**options).fit(train)
        assert isinstance(fitted, Scoring)
        pairs = [(user, item) for item in range(9, 20) for user in range(7, 0, -1)]
        frame = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
        scores = fitted.score(frame.with_row_index("query_id"))
    items = {item for _, item, _ in rows}
    assert scores.dtype == pl.Float64
    assert scores.to_list() == [
        expected[user].get(item, 0.0) if user in expected and item in items else None
        for user, item in pairs
    ]
