"""Quality of the lists as delivered: docs/definitions.md."""

import polars as pl
import pytest

from recoeval.metrics import Cut, measures
from recoeval.metrics.lists import _ListQuality

# u has four rows (b twice, c seen), v two, w none.
LISTS = {"u": ["a", "b", "b", "c"], "v": ["c", "d"]}
TRUTH = {"u": {"a": 1.0}, "v": {"x": 1.0}, "w": {"x": 1.0}}
SEEN = {"u": ["c", "z"], "v": ["d"], "w": ["c"]}
SCORES = {"u": [0.9, 0.5, 0.5, 0.5], "v": [0.7, 0.1]}


def pooled(found: pl.DataFrame, metric: str) -> float | None:
    """The ratio of the sums, as SUMMARY has it."""
    (measure,) = measures([metric], [])
    above, below = measure.pooled()
    sums = found.select(above=above, below=below).sum()
    return sums["above"].item() / sums["below"].item() if sums["below"].item() else None


CATALOGUE = pl.Series("item_id", ["b", "c", "x"])
# c of u was shown to others only; z was shown and never listed.
EXPOSED = pl.LazyFrame({"query_id": [*"uuvvw"], "item_id": [*"bzdcc"]})


@pytest.mark.parametrize("drop_seen", [False, True])
@pytest.mark.parametrize(
    ("metric", "by_query", "ratio"),
    [
        ("coverage", [1, 1, 0], 2 / 3),
        ("list_fill@1", [1, 1, 0], 2 / 3),
        ("list_fill@3", [1, 2 / 3, 0], 5 / 9),
        ("list_fill@10", [0.4, 0.2, 0], 6 / 30),
        # One of six rows; a query without a list has no share.
        ("duplicate_share", [1 / 4, 0, None], 1 / 6),
        # Of the first K rows, at most as many as there are.
        ("seen_share@1", [0, 0, None], 0),
        ("seen_share@2", [0, 1 / 2, None], 1 / 4),
        ("seen_share@4", [1 / 4, 1 / 2, None], 2 / 6),
        ("seen_share@9", [1 / 4, 1 / 2, None], 2 / 6),
        # Ranks 2, 3 and 4 of u have one score; nothing follows rank 4.
        ("tie_share@1", [0, 0, None], 0),
        ("tie_share@2", [1, 0, None], 1 / 2),
        ("tie_share@3", [1, 0, None], 1 / 2),
        ("tie_share@4", [0, 0, None], 0),
        # a and d are not in the catalogue.
        ("unknown_item_share@1", [1, 0, None], 1 / 2),
        ("unknown_item_share@2", [1 / 2, 1 / 2, None], 2 / 4),
        ("unknown_item_share@9", [1 / 4, 1 / 2, None], 2 / 6),
        # Each of the two rows of b was shown.
        ("judged@1", [0, 1, None], 1 / 2),
        ("judged@2", [1 / 2, 1, None], 3 / 4),
        ("judged@3", [2 / 3, 1, None], 4 / 5),
        ("judged@9", [2 / 4, 1, None], 4 / 6),
    ],
)
def test_ratios_of_delivered_lists(score, metric, by_query, ratio, drop_seen):
    # What leaves the lists later does not matter.
    roles = {"catalogue": CATALOGUE, "exposed": EXPOSED}
    found = score(LISTS, TRUTH, [metric], scores=SCORES, seen=SEEN, drop_seen=drop_seen, **roles)
    assert found["query_id"].to_list() == ["u", "v", "w"]
    assert found[metric].to_list() == by_query
    assert pooled(found, metric) == ratio


@pytest.mark.parametrize(("metric", "share"), [("unknown_item_share@5", 1.0), ("judged@5", 0.0)])
def test_an_empty_catalogue_knows_nothing_and_no_exposure_judges_nothing(score, metric, share):
    roles = {"catalogue": CATALOGUE.clear(), "exposed": EXPOSED.clear()}
    found = score(LISTS, TRUTH, [metric], **roles)
    assert found[metric].to_list() == [share, share, None]


@pytest.mark.parametrize("policy", ["zero", "one"])
def test_lists_of_queries_without_truth_count_all_the_same(score, policy):
    found = score(
        LISTS,
        {"u": {"a": 1.0}},
        ["coverage", "duplicate_share", "list_fill@4"],
        queries=["u", "v"],
        without_relevant=policy,
    )
    assert found["coverage"].to_list() == [1.0, 1.0]
    assert found["duplicate_share"].to_list() == [0.25, 0.0]
    assert found["list_fill@4"].to_list() == [1.0, 0.5]


@pytest.mark.parametrize("unknown", [None, float("nan")])
def test_lists_without_scores_have_no_ties(score, unknown):
    scores = {"u": [unknown] * 4, "v": [0.7, 0.7]}
    found = score(LISTS, TRUTH, ["tie_share@1"], scores=scores)
    assert found["tie_share@1"].to_list() == [None, 1.0, None]
    assert pooled(found, "tie_share@1") == 1.0
    nothing = score(LISTS, TRUTH, ["tie_share@1"])
    assert nothing["tie_share@1"].to_list() == [None, None, None]
    assert pooled(nothing, "tie_share@1") is None


def test_a_list_of_one_scored_row_has_no_tie_but_counts(score):
    lists, scores = {"u": "ab", "v": "c"}, {"u": [0.5, 0.5], "v": [0.5]}
    found = score(lists, TRUTH, ["tie_share@1", "coverage"], scores=scores)
    assert found["tie_share@1"].to_list() == [1.0, 0.0, None]
    assert found["coverage"].to_list() == [1.0, 1.0, 0.0]
    assert pooled(found, "tie_share@1") == 0.5


def test_the_last_score_of_a_list_does_not_tie_with_the_next_list(score):
    scores = {"u": [4.0, 3.0, 2.0, 1.0], "v": [1.0, 0.5]}
    assert pooled(score(LISTS, TRUTH, ["tie_share@4"], scores=scores), "tie_share@4") == 0.0


def test_zeros_of_both_signs_tie(score):
    scores = {"u": [1.0, 0.0, -0.0, -1.0], "v": [1.0, 0.0]}
    assert pooled(score(LISTS, TRUTH, ["tie_share@2"], scores=scores), "tie_share@2") == 0.5


def test_seen_and_repeated_rows_are_counted_apart(score):
    found = score(
        {"u": ["c", "c", "a"]},
        {"u": {"a": 1.0}},
        ["seen_share@3", "duplicate_share"],
        seen=SEEN,
        drop_seen=True,
    )
    assert found["seen_share@3"].item() == 2 / 3
    assert found["duplicate_share"].item() == 1 / 3
    assert found["returned"].item() == 1


def test_a_metric_of_lists_has_to_define_its_ratio():
    class Nothing(_ListQuality):
        """Has none."""

    with pytest.raises(AssertionError, match="Nothing defines no ratio"):
        Nothing().value(Cut(1))
