"""Options, @all, @quota, and metrics without K, on lists that fit on a napkin."""

from math import log2

import polars as pl
import pytest

from recoeval.errors import ConfigError, DataError
from recoeval.metrics import measures

# Hits at ranks 1, 2, 6, 7, 8; F, G and H are not relevant, Z is never listed.
LIST = "ABFGHCDE"
GAINS = {"A": 1.0, "B": 3.0, "C": 2.0, "D": 1.0, "E": 1.0, "Z": 2.0}

CATALOGUE = {"catalogue": pl.Series("item_id", list("ABCDEFGHZ"))}


def d(rank: int) -> float:
    """The discount of a rank."""
    return 1 / log2(rank + 1)


def near(number: float) -> object:
    return pytest.approx(number, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # The whole list of 8 items, |R| = 6.
        ("hits@all", 5),
        ("recall@all", 5 / 6),
        ("recall(gain=linear)@all", 8 / 10),
        ("capped_recall@all", 5 / 6),
        ("hit_rate@all", 1),
        ("mrr@all", 1),
        ("map@all", (1 + 1 + 3 / 6 + 4 / 7 + 5 / 8) / 6),
        ("auprc@all", (1 + 1 + 3 / 6 + 4 / 7 + 5 / 8) / 6),
        (
            "ndcg@all",
            (d(1) + 3 * d(2) + 2 * d(6) + d(7) + d(8))
            / (3 * d(1) + 2 * d(2) + 2 * d(3) + d(4) + d(5) + d(6)),
        ),
        (
            "ndcg(gain=binary)@all",
            (d(1) + d(2) + d(6) + d(7) + d(8)) / sum(d(rank) for rank in range(1, 7)),
        ),
        # Divided by |R| = 6, at any K.
        ("auprc@2", 2 / 6),
        ("auprc@6", (1 + 1 + 3 / 6) / 6),
        ("map@2", 2 / 2),
        # Three of the first six items.
        ("r_precision", 3 / 6),
        # Nothing is known to be out of reach.
        ("recall_ceiling", 1),
        # Relevant with gain >= 2: B at rank 2, C at rank 6, Z nowhere.
        ("hits(rel=2)@5", 1),
        ("precision(rel=2)@5", 1 / 5),
        ("recall(rel=2)@5", 1 / 3),
        ("recall(rel=2)@all", 2 / 3),
        ("recall(gain=linear, rel=2)@6", 5 / 7),
        ("capped_recall(rel=2)@2", 1 / 2),
        ("f1(rel=2)@6", 4 / (6 + 3)),
        ("hit_rate(rel=2)@1", 0),
        ("mrr(rel=2)@5", 1 / 2),
        ("map(rel=2)@6", (1 / 2 + 2 / 6) / 3),
        ("auprc(rel=2)@6", (1 / 2 + 2 / 6) / 3),
        ("r_precision(rel=2)", 1 / 3),
        ("ndcg(rel=2)@6", (3 * d(2) + 2 * d(6)) / (3 * d(1) + 2 * d(2) + 2 * d(3))),
        ("ndcg(gain=binary, rel=2)@2", d(2) / (d(1) + d(2))),
        # A gain of exactly rel counts.
        ("recall(rel=3)@2", 1),
        ("recall(rel=2.5)@2", 1),
        ("recall(rel=1)@5", 2 / 6),
        # K relevant items are assumed; |R| = 6 does not matter.
        ("ndcg(gain=binary, ideal=k)@2", 1),
        ("ndcg(gain=binary, ideal=k)@5", (d(1) + d(2)) / sum(d(rank) for rank in range(1, 6))),
        ("ndcg(gain=binary, ideal=truth)@2", 1),
        (
            "ndcg(gain=binary, ideal=k)@10",
            (d(1) + d(2) + d(6) + d(7) + d(8)) / sum(d(rank) for rank in range(1, 11)),
        ),
        (
            "ndcg(gain=binary, ideal=k, rel=2)@6",
            (d(2) + d(6)) / sum(d(rank) for rank in range(1, 7)),
        ),
    ],
)
def test_values(value, metric, expected):
    assert value(metric, LIST, GAINS, **CATALOGUE) == near(expected)


@pytest.mark.parametrize(
    "metric", ["recall(rel=4)@5", "hits(rel=4)@5", "r_precision(rel=4)", "recall_ceiling(rel=4)"]
)
@pytest.mark.parametrize("policy", ["zero", "one"])
def test_a_query_without_a_gain_of_that_size_is_left_out(value, metric, policy):
    assert value(metric, LIST, GAINS, without_relevant=policy, **CATALOGUE) is None


def test_each_smallest_gain_has_its_own_queries_and_sums(score):
    truth = {"u": {"A": 1.0, "B": 3.0}, "v": {"A": 1.0, "C": 1.0}, "w": {"B": 2.0}}
    metrics = ["recall@2", "recall(rel=2)@2", "recall(rel=3)@2", "precision(rel=2)@2"]
    found = score({"u": "AB", "v": "AB", "w": "AC"}, truth, metrics)
    assert found["recall@2"].to_list() == [1.0, 0.5, 0.0]
    assert found["recall(rel=2)@2"].to_list() == [1.0, None, 0.0]
    assert found["recall(rel=3)@2"].to_list() == [1.0, None, None]
    assert found["precision(rel=2)@2"].to_list() == [0.5, None, 0.0]
    assert found["relevant"].to_list() == [2, 2, 1]


def pooled(found: pl.DataFrame, metric: str) -> float:
    """The micro average, as SUMMARY has it."""
    (measure,) = measures([metric], [])
    above, below = measure.pooled()
    sums = found.select(above=above, below=below).sum()
    return sums["above"].item() / sums["below"].item()


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # With rel=2: u finds 1 of 1, w finds 0 of 2; v has none.
        ("recall(rel=2)@2", 1 / 3),
        ("precision(rel=2)@2", 1 / 4),
        ("capped_recall(rel=2)@1", 0 / 2),
        ("f1(rel=2)@2", 2 / ((2 + 1) + (2 + 2))),
        ("recall@2", 3 / 6),
        ("recall(gain=linear, rel=2)@2", 3 / 7),
        ("recall_ceiling(rel=2)", 1),
    ],
)
def test_the_micro_average_of_a_smallest_gain_is_over_its_queries(score, metric, expected):
    truth = {"u": {"A": 1.0, "B": 3.0}, "v": {"A": 1.0, "D": 1.0}, "w": {"B": 2.0, "D": 2.0}}
    lists = {"u": "AB", "v": "AB", "w": "AC"}
    assert pooled(score(lists, truth, [metric], **CATALOGUE), metric) == near(expected)


# Lists without hits, empty truths.


@pytest.mark.parametrize("metric", ["r_precision", "auprc@5", "mrr@all", "map@all", "ndcg@all"])
def test_no_list_is_zero(value, metric):
    assert value(metric, "", GAINS) == 0


@pytest.mark.parametrize(
    ("metric", "one"),
    [
        ("recall@all", 1),
        ("capped_recall@all", 1),
        ("r_precision", 1),
        ("auprc@5", 1),
        ("map(denominator=relevant)@5", 1),
        ("map@5", 0),
        ("map(denominator=capped)@5", 0),
        ("ndcg@all", 0),
        ("hit_rate@all", 0),
    ],
)
def test_a_query_without_relevant_items(value, metric, one):
    assert value(metric, LIST, {}) == 0
    assert value(metric, LIST, {}, without_relevant="one") == one


def test_the_ceiling_leaves_out_queries_without_relevant_items(value):
    assert value("recall_ceiling", LIST, {}, **CATALOGUE) is None
    assert value("recall_ceiling", LIST, {}, without_relevant="one", **CATALOGUE) is None


# Scores.


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # A, B and F reach 0.5; A and B are relevant, of 6.
        ("recall(min_score=0.5)@all", 2 / 6),
        ("recall(min_score=0.51)@all", 1 / 6),
        ("recall(min_score=0.5)@1", 1 / 6),
        ("recall(min_score=-1)@7", 4 / 6),
        ("recall(min_score=-1)@all", 4 / 6),
        ("recall(min_score=-5)@all", 5 / 6),
        ("recall(gain=linear, min_score=0.5)@all", 4 / 10),
        ("recall(min_score=0.5, rel=2)@all", 1 / 3),
        ("recall@all", 5 / 6),
    ],
)
def test_recall_of_what_is_scored_high_enough(value, metric, expected):
    scores = {"q": [0.9, 0.5, 0.5, 0.4, 0.3, 0.0, -1.0, -2.0]}
    assert value(metric, LIST, GAINS, scores=scores) == near(expected)


def test_a_repeated_item_has_the_score_of_its_first_row(value):
    scores = {"q": [0.9, 0.2, 0.8]}
    assert value("recall(min_score=0.5)@all", "FBB", {"B": 1.0}, scores=scores) == 0
    scores = {"q": [0.9, 0.7, 0.1]}
    assert value("recall(min_score=0.5)@all", "FBB", {"B": 1.0}, scores=scores) == 1


@pytest.mark.parametrize("unknown", [None, float("nan")])
def test_lists_without_scores_cannot_be_cut_by_score(value, unknown):
    scores = {"q": [0.9, *[unknown] * 7]}
    with pytest.raises(DataError) as error:
        value("recall(min_score=0.5)@all", LIST, GAINS, scores=scores)
    assert str(error.value) == (
        "lists.score: 7 of 8 rows have no score, and recall(min_score=0.5)@all cuts lists by score"
    )
    # Others do not mind.
    assert value("recall@all", LIST, GAINS, scores=scores) == near(5 / 6)


# Quotas.


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("hits@quota", [1, 0, 2]),
        ("precision@quota", [1 / 1, 0 / 2, 2 / 4]),
        ("precision(denominator=returned)@quota", [1, 0, 2 / 3]),
        ("recall@quota", [1 / 2, 0, 1]),
        ("recall(gain=linear)@quota", [1 / 4, 0, 1]),
        ("capped_recall@quota", [1, 0, 1]),
        ("f1@quota", [2 / 3, 0, 4 / 6]),
        ("hit_rate@quota", [1, 0, 1]),
        ("mrr@quota", [1, 0, 1]),
        ("map@quota", [1, 0, (1 + 2 / 3) / 2]),
        ("auprc@quota", [1 / 2, 0, (1 + 2 / 3) / 2]),
        (
            "ndcg@quota",
            [1 / 3, 0, (1 * d(1) + 3 * d(3)) / (3 * d(1) + d(2))],
        ),
        (
            "ndcg(gain=binary, ideal=k)@quota",
            [1, 0, (d(1) + d(3)) / sum(d(rank) for rank in range(1, 5))],
        ),
        ("recall(rel=2)@quota", [0, 0, 1]),
        ("list_fill@quota", [1, 1, 3 / 4]),
        ("tie_share@quota", [1, 0, 0]),
        ("seen_share@quota", [0, 1 / 2, 1 / 3]),
        ("unknown_item_share@quota", [0, 1 / 2, 0]),
        ("judged@quota", [1, 0, 2 / 3]),
    ],
)
def test_each_query_is_cut_at_its_own_quota(score, metric, expected):
    lists = {"u": "AXB", "v": "XYB", "w": "AXB"}
    found = score(
        lists,
        {key: {"A": 1.0, "B": 3.0} for key in "uvw"},
        [metric],
        facts={"quota": [1, 2, 4]},
        scores={"u": [1.0, 1.0, 0.0], "v": [3.0, 2.0, 1.0], "w": [3.0, 2.0, 1.0]},
        seen={"v": ["Y"], "w": ["B"]},
        catalogue=pl.Series("item_id", ["A", "B", "X"]),
        exposed=pl.LazyFrame({"query_id": ["u", "w", "w"], "item_id": ["A", "A", "B"]}),
    )
    assert found[metric].to_list() == [near(each) for each in expected]


def test_a_quota_and_numbers_side_by_side(score):
    lists, truth = {"u": "ABC", "v": "ABC"}, {key: {"A": 1.0, "C": 1.0} for key in "uv"}
    metrics = ["recall@quota", "recall@2", "recall@all", "ndcg@quota", "ndcg@2"]
    found = score(lists, truth, metrics, facts={"quota": [3, 1]})
    assert found["recall@quota"].to_list() == [1.0, 0.5]
    assert found["recall@2"].to_list() == [0.5, 0.5]
    assert found["recall@all"].to_list() == [1.0, 1.0]
    assert found["ndcg@quota"].to_list() == [near((d(1) + d(3)) / (d(1) + d(2))), 1.0]
    assert pooled(found, "recall@quota") == 3 / 4


def test_the_micro_average_at_a_quota(score):
    lists, truth = {"u": "ABC", "v": "ABC"}, {key: {"A": 1.0, "C": 1.0} for key in "uv"}
    found = score(lists, truth, ["precision@quota", "list_fill@quota"], facts={"quota": [5, 1]})
    assert pooled(found, "precision@quota") == 3 / 6
    # The mean of 3 / 5 and 1 / 1: each list counts alike.
    assert pooled(found, "list_fill@quota") == near(0.8)


# Roles that are not there.


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("judged@5", "metrics: judged@5 needs exposures"),
        (
            "unknown_item_share@5",
            "metrics: unknown_item_share@5 needs a catalogue: an items table, or train data",
        ),
        (
            "recall@quota",
            "metrics: recall@quota needs a column quota of the users or queries: the depth of each",
        ),
    ],
)
def test_what_is_not_known_is_no_zero(value, metric, message):
    with pytest.raises(ConfigError) as error:
        value(metric, LIST, GAINS)
    assert str(error.value) == message


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    "metric", ["precision@5", "precision(denominator=returned)@5", "list_fill@5", "f1@5"]
)
def test_quotients_are_rounded_once_however_many_queries_there_are(score, metric, size):
    # Three times a fifth is not three fifths.
    names = [f"q{number:03}" for number in range(size)]
    lists = dict.fromkeys(names, "ABC")
    truth = {name: dict.fromkeys("ABC", 1.0) for name in names}
    expected = {"f1@5": 6 / 8, "precision(denominator=returned)@5": 1.0}.get(metric, 3 / 5)
    assert score(lists, truth, [metric])[metric].to_list() == [expected] * size


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_an_ideal_of_k_items_is_reached_to_the_bit(score, size):
    names = [f"q{number:03}" for number in range(size)]
    for length in (1, 3, 7, 50):
        items = [f"i{number}" for number in range(length)]
        lists = dict.fromkeys(names, items)
        truth = {name: dict.fromkeys(items, 1.0) for name in names}
        metric = f"ndcg(gain=binary, ideal=k)@{length}"
        found = score(
            lists,
            truth,
            [metric, "ndcg(gain=binary, ideal=k)@quota"],
            facts={"quota": [length] * size},
        )
        assert found[metric].to_list() == [1.0] * size
        assert found["ndcg(gain=binary, ideal=k)@quota"].to_list() == [1.0] * size
