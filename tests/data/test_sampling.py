"""The first 16 hexadecimal digits of SHA-256, computed by the sha256sum of coreutils."""

from fractions import Fraction
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.data.policies import Policies, apply_policies
from recoeval.data.sampling import hash_ids, sample_queries
from recoeval.errors import DataError
from recoeval.testing import oracle
from recoeval.testing.preparation import is_sampled
from tests.agreement import examples, measured
from tests.strategies import cases, evaluate, per_query

HASHES = {
    "1": 0xD7A0CEE7B61EB0E3,
    "2": 0x8D8EA3758174B90C,
    "3": 0x111C309FC0CFD2B7,
    "4": 0x02CC100736C73D8B,
    "5": 0xDA7E9C169D1A5DB3,
    "6": 0xF5D8BF0F3EF977E2,
    "u1": 0x07B9754271A882B0,
    "ü": 0xAB89F6810CAADCE0,
}
NUMBERS = [int(name) for name in HASHES if name.isdigit()]
SHARES = (0.01, 0.04, 0.1, 0.5, 0.8, 0.9, 1.0)


def queries_of(users, name="user_id"):
    return pl.DataFrame({"query_id": users, name: users})


def sampled(users, share, seed=7):
    found, _, counts = sample_queries(queries_of(users), None, share, seed=seed)
    assert share == 1 or counts == {"users_to_sample": len(users), "sampled_users": found.height}
    return found["user_id"].to_list()


def test_hashes_of_texts_and_of_the_digits_of_integers():
    texts = pl.Series(list(HASHES))
    assert hash_ids(texts, 7).to_list() == list(HASHES.values())
    assert hash_ids(pl.Series(NUMBERS), 7).to_list() == [HASHES[str(each)] for each in NUMBERS]
    assert hash_ids(pl.Series([1, -1, 2**63 - 1]), 0).to_list()[0] == 0xEF134F2A180BA05D
    assert hash_ids(texts.clear(), 7).dtype == pl.UInt64


def test_a_sample_by_hand():
    # 4: 0.0109, u1: 0.0302, 3: 0.0668, 2: 0.5529, ü: 0.6718, 1: 0.8423, 5: 0.8535, 6: 0.9603
    users = list(HASHES)
    assert sampled(users, 0.02) == ["4"]
    assert sampled(users, 0.04) == ["4", "u1"]
    assert sampled(users, 0.1) == ["3", "4", "u1"]
    assert sampled(users, 0.6) == ["2", "3", "4", "u1"]
    assert sampled(users, 0.85) == ["1", "2", "3", "4", "u1", "ü"]
    assert sampled(users, 1.0) == users
    assert sampled(["1"], 1) == ["1"]


def test_shares_are_exact(monkeypatch):
    # 0.1 x 2^64 is 1844674407370955161.6: rounded to a float it is 2^11 too large.
    edge = 1844674407370955162
    hashes = {1: edge - 1, 2: edge, 3: edge + 2047, 4: 2**64 - 1}

    def look_up(ids, seed):
        return pl.Series([hashes[each] for each in ids], dtype=pl.UInt64)

    monkeypatch.setattr("recoeval.data.sampling.hash_ids", look_up)
    assert sampled(list(hashes), 0.1) == [1]
    assert sampled(list(hashes), 0.9999999999999999) == [1, 2, 3]


def test_queries_of_a_user_stay_together_and_in_order():
    queries = pl.DataFrame({"query_id": ["b", "a", "d", "c"], "user_id": [4, 1, 3, 4]})
    universe = pl.DataFrame({"query_id": ["z", "y", "x"], "user_id": [6, 3, 4]})
    left, everyone, counts = sample_queries(queries, universe, 0.1, seed=7)
    assert left["query_id"].to_list() == ["b", "d", "c"]
    assert everyone is not None
    assert everyone["query_id"].to_list() == ["y", "x"]
    assert counts == {"users_to_sample": 4, "sampled_users": 2}


def test_everybody_is_kept_without_a_share():
    queries = queries_of([1, 2])
    for share in (None, 1, 1.0):
        found, universe, counts = sample_queries(queries, queries, share, seed=7)
        assert (found is queries, universe is queries, counts) == (True, True, {})


def test_nobody_is_in_the_sample():
    with pytest.raises(DataError) as caught:
        sample_queries(queries_of(["1", "2"]), None, 0.05, seed=7)
    assert str(caught.value) == (
        "sample_users: none of 2 users is in a sample of 0.05 with seed 7: take a larger share"
    )


@given(
    users=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20, unique=True),
    text=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    share=st.sampled_from(SHARES),
)
def test_the_sample_is_the_oracle(users, text, seed, share):
    names = [str(user) for user in users] if text else users
    expected = [user for user in names if is_sampled(user, share, seed)]
    if expected:
        assert sampled(names, share, seed) == expected
    else:
        with pytest.raises(DataError, match="none of"):
            sampled(names, share, seed)


def test_a_larger_sample_holds_the_smaller_one():
    users = [f"u{number}" for number in range(5_000)]
    samples = [set(sampled(users, share)) for share in SHARES]
    for smaller, larger in pairwise(samples):
        assert smaller < larger
    for share, sample in zip(SHARES, samples, strict=True):
        # Four standard deviations.
        expected = 5_000 * Fraction(str(share))
        assert abs(len(sample) - expected) <= 4 * (expected * (1 - Fraction(str(share)))) ** 0.5
    other = set(sampled(users, 0.1, seed=8))
    assert not other <= set(sampled(users, 0.5))


def test_the_oracle_samples_by_hand():
    truth = [{"user_id": user, "item_id": 9} for user in NUMBERS]
    recs = [{**row, "rank": 1} for row in truth]
    found = oracle(recs, truth, metrics=["recall"], k=[1], sample_users=0.1, seed=7)
    assert list(found.per_query) == [("recs", 3), ("recs", 4)]
    users = oracle(
        recs,
        truth[:3],
        metrics=["recall"],
        k=[1],
        users=NUMBERS,
        policies={"zero_relevant": "zero"},
        sample_users=0.1,
    )
    assert {query: value["recall@1"] for (_, query), value in users.per_query.items()} == {
        3: 1,
        4: 0,
    }


@examples(25)
@given(data=st.data())
def test_queries_of_a_case_are_those_of_the_oracle(data):
    """Policies and samples can change places: both depend on the user alone."""
    case = measured(data.draw(cases(zero_relevant=("skip",))))
    share, seed = data.draw(st.sampled_from((0.3, 0.7))), data.draw(st.integers(0, 9))
    whole = evaluate(case)
    expected = oracle(**case.arguments(), sample_users=share, seed=seed).per_query
    queries = whole.per_query.select("query_id", "user_id").unique()
    try:
        left, _, _ = sample_queries(queries, None, share, seed=seed)
    except DataError:
        left = queries.clear()
    chosen = {key: row for key, row in per_query(whole).items() if key[1] in set(left["query_id"])}
    assert set(chosen) == set(expected)
    for key, values in expected.items():
        for label, value in values.items():
            assert chosen[key][label] == pytest.approx(value, rel=1e-12, abs=1e-15)


def test_pairs_of_others_leave_the_truth():
    pairs = pl.DataFrame({"query_id": NUMBERS, "item_id": 9, "gain": 1.0})
    queries, universe, _ = sample_queries(queries_of(NUMBERS), queries_of([4, 6]), 0.1, seed=7)
    truth = apply_policies(
        pairs.lazy(),
        queries,
        Policies(),
        universe=universe,
        seen=None,
        warm_users=None,
        warm_items=None,
    )
    assert truth.queries["user_id"].to_list() == truth.pairs["query_id"].to_list() == [3, 4]
    assert truth.counts["pairs"] == 2
