import polars as pl
import pytest

from recoeval.engine.checks import (
    refuse_gains,
    refuse_missing_roles,
    refuse_missing_scores,
    refuse_quotas,
)
from recoeval.errors import ConfigError, DataError
from recoeval.metrics import measures

GAINS = pl.Series("gain", [1.0, 2.0, 1.0, 60.0])


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            "ndcg(gain=exponential)@5",
            "1 gains are above 50, too large for ndcg(gain=exponential)@5, e.g. 60.0",
        ),
        (
            "ndcg(ideal=k)@5",
            (
                "2 gains are not 1, e.g. 2.0, 60.0; ndcg(ideal=k)@5 takes binary gains only: "
                "write ndcg(gain=binary, ideal=k)"
            ),
        ),
        (
            "ndcg(ideal=k, rel=50)@5",
            (
                "1 gains are not 1, e.g. 60.0; ndcg(ideal=k, rel=50)@5 takes binary gains only: "
                "write ndcg(gain=binary, ideal=k)"
            ),
        ),
        ("ndcg(gain=binary, ideal=k)@5", None),
        ("ndcg(gain=linear)@5", None),
        ("recall@5", None),
    ],
)
def test_gains_that_a_measure_cannot_take(metric, message):
    (measure,) = measures([metric], [])
    if message is None:
        refuse_gains(GAINS, measure)
        return
    with pytest.raises(DataError) as error:
        refuse_gains(GAINS, measure)
    assert str(error.value) == f"truth.gain: {message}"


def test_gains_that_do_not_count_may_be_as_they_like():
    small = pl.Series("gain", [1e-300, 1.0])
    (ndcg,) = measures(["ndcg(rel=0.5)@5"], [])
    refuse_gains(small, ndcg)
    (equal,) = measures(["ndcg(ideal=k, rel=1)@5"], [])
    refuse_gains(small, equal)
    (ndcg,) = measures(["ndcg@5"], [])
    with pytest.raises(DataError, match="too small"):
        refuse_gains(small, ndcg)


def test_gains_of_one_need_no_word():
    (measure,) = measures(["ndcg(ideal=k)@5"], [])
    refuse_gains(pl.Series("gain", [1.0, 1.0]), measure)
    refuse_gains(pl.Series("gain", [], dtype=pl.Float64), measure)


def test_all_roles_that_are_missing_are_named_at_once():
    asked = measures(["recall", "judged", "gini", "recall_ceiling"], [5])
    with pytest.raises(ConfigError) as error:
        refuse_missing_roles(asked, exposures=False, catalogue=False)
    assert str(error.value).splitlines() == [
        "metrics: judged@5 needs exposures",
        "metrics: gini@5 needs a catalogue: an items table, or train data",
        "metrics: recall_ceiling needs a catalogue: an items table, or train data",
    ]
    with pytest.raises(ConfigError, match=r"^metrics: judged@5 needs exposures$"):
        refuse_missing_roles(asked, exposures=False, catalogue=True)
    refuse_missing_roles(asked, exposures=True, catalogue=True)
    refuse_missing_roles(measures(["recall", "entropy"], [5]), exposures=False, catalogue=False)


AT_QUOTA = measures(["recall@5", "recall@quota"], [])


@pytest.mark.parametrize(
    ("quotas", "message"),
    [
        (
            [0, 3, None, -1],
            (
                "queries.quota: 3 queries have no quota from 1 to 1,000,000, e.g. ('a', 0), "
                "('c', None), ('d', -1); recall@quota reads it"
            ),
        ),
        (
            [1_000_000, 1_000_001, 2**62, 1],
            (
                "queries.quota: 2 queries have no quota from 1 to 1,000,000, e.g. "
                "('b', 1000001), ('c', 4611686018427387904); recall@quota reads it"
            ),
        ),
        (
            [1.0, 2.0, 3.0, 4.0],
            "queries.quota: expected integers >= 1, got Float64; recall@quota reads it",
        ),
    ],
)
def test_bad_quotas(quotas, message):
    queries = pl.DataFrame({"query_id": list("abcd"), "quota": quotas})
    with pytest.raises(DataError) as error:
        refuse_quotas(queries, AT_QUOTA)
    assert str(error.value) == message
    refuse_quotas(queries, AT_QUOTA[:1])


def test_quotas_have_a_column_of_their_own():
    queries = pl.DataFrame({"query_id": ["a"]})
    refuse_quotas(queries.with_columns(quota=1).cast({"quota": pl.Int64}), AT_QUOTA)
    with pytest.raises(ConfigError) as error:
        refuse_quotas(queries, AT_QUOTA)
    assert str(error.value) == (
        "metrics: recall@quota needs a column quota of the users or queries: the depth of each"
    )


def test_scores_are_asked_for_only_where_they_are_read():
    by_score = measures(["recall(min_score=1)@5"], [])
    refuse_missing_scores(0, 2, by_score)
    refuse_missing_scores(2, 2, measures(["recall@5", "tie_share@5"], []))
    with pytest.raises(DataError) as error:
        refuse_missing_scores(2, 3, by_score)
    assert str(error.value) == (
        "lists.score: 2 of 3 rows have no score, and recall(min_score=1)@5 cuts lists by score"
    )
