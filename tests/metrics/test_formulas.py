"""The formulas of docs/definitions.md on lists that fit on a napkin."""

from math import expm1, log, log2

import pytest

A_TO_E = dict.fromkeys("ABCDE", 1.0)
# Hits at ranks 1, 2, 6, 7, 8.
LIST = "ABFGHCDE"
GAINS = {"A": 1.0, "B": 3.0, "C": 2.0, "D": 1.0, "E": 1.0}


def d(rank: int) -> float:
    """The discount of a rank."""
    return 1 / log2(rank + 1)


def near(number: float) -> object:
    return pytest.approx(number, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("hits@1", 1),
        ("hits@5", 2),
        ("hits@10", 5),
        ("precision@1", 1),
        ("precision@5", 2 / 5),
        # The list has 8 items, the denominator stays 10.
        ("precision@10", 5 / 10),
        ("precision(denominator=returned)@5", 2 / 5),
        ("precision(denominator=returned)@10", 5 / 8),
        ("precision(denominator=k)@10", 5 / 10),
        ("recall@1", 1 / 5),
        ("recall@5", 2 / 5),
        ("recall@6", 3 / 5),
        ("recall@10", 1),
        # Gains found of 8 in all: 1 + 3, then all but the last 1.
        ("recall(gain=linear)@5", 4 / 8),
        ("recall(gain=linear)@7", 7 / 8),
        ("recall(gain=binary)@5", 2 / 5),
        # min(K, 5) items can be found.
        ("capped_recall@2", 2 / 2),
        ("capped_recall@3", 2 / 3),
        ("capped_recall@5", 2 / 5),
        ("capped_recall@10", 5 / 5),
        # 2h / (K + 5).
        ("f1@1", 2 / 6),
        ("f1@5", 4 / 10),
        ("f1@10", 10 / 15),
        ("hit_rate@1", 1),
        ("mrr@1", 1),
        ("mrr@10", 1),
        # Precision at the hits: 1/1, 2/2, 3/6, 4/7, 5/8.
        ("map@2", 2 / 2),
        ("map@3", 2 / 3),
        ("map@6", (1 + 1 + 3 / 6) / 5),
        ("map@10", (1 + 1 + 3 / 6 + 4 / 7 + 5 / 8) / 5),
        ("map(denominator=relevant)@2", 2 / 5),
        ("map(denominator=relevant)@3", 2 / 5),
        ("map(denominator=relevant)@10", (1 + 1 + 3 / 6 + 4 / 7 + 5 / 8) / 5),
        # The ideal order is B, C, then three of gain 1, cut at K.
        ("ndcg@1", 1 * d(1) / (3 * d(1))),
        ("ndcg@2", (1 * d(1) + 3 * d(2)) / (3 * d(1) + 2 * d(2))),
        ("ndcg@5", (d(1) + 3 * d(2)) / (3 * d(1) + 2 * d(2) + d(3) + d(4) + d(5))),
        (
            "ndcg@10",
            (d(1) + 3 * d(2) + 2 * d(6) + d(7) + d(8)) / (3 * d(1) + 2 * d(2) + d(3) + d(4) + d(5)),
        ),
        ("ndcg(gain=linear)@1", 1 / 3),
        # 2^g - 1: 1, 7, 3.
        (
            "ndcg(gain=exponential)@5",
            (d(1) + 7 * d(2)) / (7 * d(1) + 3 * d(2) + d(3) + d(4) + d(5)),
        ),
        ("ndcg(gain=binary)@1", 1),
        ("ndcg(gain=binary)@5", (d(1) + d(2)) / (d(1) + d(2) + d(3) + d(4) + d(5))),
    ],
)
def test_eight_items_of_which_five_are_relevant(value, metric, expected):
    assert value(metric, LIST, GAINS) == near(expected)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("precision@5", 2 / 5),
        ("recall@5", 2 / 5),
        ("precision@10", 1 / 2),
        ("recall@10", 1),
    ],
)
def test_the_example_of_the_text_books(value, metric, expected):
    assert value(metric, LIST, A_TO_E) == near(expected)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("mrr@2", 0),
        ("mrr@3", 1 / 3),
        ("mrr@10", 1 / 3),
        ("hit_rate@2", 0),
        ("hit_rate@3", 1),
        ("map@2", 0),
        ("map@4", 1 / 3),
        ("ndcg@4", d(3)),
        ("recall@3", 1),
        ("capped_recall@2", 0),
        ("f1@2", 0),
        ("f1@3", 2 / 4),
    ],
)
def test_one_relevant_item_at_rank_three(value, metric, expected):
    assert value(metric, "XYAZ", {"A": 1.0}) == near(expected)


def test_only_the_first_hit_counts_for_mrr(value):
    assert value("mrr@5", "XYABC", dict.fromkeys("ABC", 1.0)) == near(1 / 3)


ALL_AT_3 = (
    "hits@3",
    "precision@3",
    "precision(denominator=returned)@3",
    "recall@3",
    "recall(gain=linear)@3",
    "capped_recall@3",
    "f1@3",
    "hit_rate@3",
    "mrr@3",
    "map@3",
    "map(denominator=relevant)@3",
    "ndcg@3",
    "ndcg(gain=exponential)@3",
    "ndcg(gain=binary)@3",
)


@pytest.mark.parametrize("metric", ALL_AT_3)
@pytest.mark.parametrize("items", ["", "XYZ", "XYZA"])
def test_nothing_found_is_zero(value, metric, items):
    assert value(metric, items, {"A": 2.0}) == 0.0


@pytest.mark.parametrize("items", ["", "XYZ"])
@pytest.mark.parametrize("policy", ["zero", "one"])
def test_nothing_relevant_is_what_the_policy_says(score, items, policy):
    found = score(
        {"q": items, "p": "A"},
        {"p": {"A": 1.0}},
        ALL_AT_3,
        queries=["q", "p"],
        without_relevant=policy,
    )
    row = found.row(0, named=True)
    assert (row["query_id"], row["relevant"]) == ("q", 0)
    full = ("recall@3", "recall(gain=linear)@3", "capped_recall@3", "map(denominator=relevant)@3")
    ones = full if policy == "one" else ()
    assert {metric: row[metric] for metric in ALL_AT_3} == {
        metric: float(metric in ones) for metric in ALL_AT_3
    }
    # A query with something relevant is not touched.
    assert found["recall@3"][1] == found["mrr@3"][1] == 1.0


def test_the_two_queries_of_the_first_example(score):
    lists = {"q1": ["d1", "d2", "d3", "d4", "d5"], "q2": ["d6", "d7", "d8", "d9", "d10"]}
    truth = {"q1": dict.fromkeys(("d2", "d7", "d11"), 1.0), "q2": {"d1": 1.0, "d11": 1.0}}
    found = score(lists, truth, ["recall@5", "precision@5"])
    assert found["recall@5"].to_list() == near([1 / 3, 0])
    assert found["recall@5"].mean() == near(1 / 6)
    assert found["precision@5"].mean() == near(1 / 10)


def test_the_largest_gain_of_the_exponential(value):
    gains = {"A": 50.0, "B": 1.0}
    ideal = (2.0**50 - 1) * d(1) + d(2)
    assert value("ndcg(gain=exponential)@2", "BA", gains) == near(
        (d(1) + (2.0**50 - 1) * d(2)) / ideal
    )


def test_the_smallest_gain_of_the_exponential_keeps_twelve_digits(value):
    # 2^g - 1 = expm1(g log 2), without the digits that 2^g loses.
    small, large = expm1(0.001 * log(2)), expm1(0.0017 * log(2))
    expected = small / (large + small * d(2))
    found = value("ndcg(gain=exponential)@2", "AX", {"A": 0.001, "B": 0.0017})
    assert found == pytest.approx(expected, rel=1e-12, abs=0)


def test_ranks_beyond_the_deepest_k_do_not_count(value):
    # The table of discounts ends at the largest K; rank 4 must not borrow its last value.
    assert value("ndcg@2", "XYZA", {"A": 1.0}) == 0.0
    assert value("ndcg@2", "AXXB", {"A": 1.0, "B": 1.0}) == near(d(1) / (d(1) + d(2)))


def test_depths_of_one_pass_do_not_touch_one_another(score):
    together = score({"q": LIST}, {"q": GAINS}, ["ndcg@2", "ndcg@10", "map@2", "map@10"])
    for metric in ("ndcg@2", "ndcg@10", "map@2", "map@10"):
        alone = score({"q": LIST}, {"q": GAINS}, [metric])
        assert alone[metric].equals(together[metric])
