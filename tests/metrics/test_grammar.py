import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.errors import ConfigError
from recoeval.metrics import METRICS, Cut, Measure, Metric, measures, parse_metric
from recoeval.metrics.accuracy import Hits, Precision, Recall, RPrecision
from recoeval.metrics.lists import Coverage
from recoeval.metrics.ranking import AUPRC, MAP, NDCG

KNOWN = ", ".join(METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_says_what_it_is(name):
    metric = METRICS[name]
    assert metric.title == metric().name == name
    assert metric.source
    assert metric.formula
    assert metric.edge_cases
    assert metric.peers
    assert metric.kind in ("accuracy", "lists", "catalogue")
    assert all(isinstance(texts, tuple) for texts in (metric.edge_cases, metric.peers))
    assert metric.__doc__
    assert metric.__doc__ != Metric.__doc__
    assert all(field.description for field in metric.model_fields.values())


LINEAR = Recall(gain="linear", min_score=-1.25, rel=1e-7)


@pytest.mark.parametrize(
    ("text", "metric", "k"),
    [
        ("recall@100", Recall(), 100),
        ("recall", Recall(), None),
        ("coverage", Coverage(), None),
        ("precision(denominator=returned)@10", Precision(denominator="returned"), 10),
        ("recall(gain=linear)", Recall(gain="linear"), None),
        ("map(denominator=relevant)@5", MAP(denominator="relevant"), 5),
        ("ndcg(gain=exponential)@10", NDCG(gain="exponential"), 10),
        ("ndcg(gain=binary)@1000000", NDCG(gain="binary"), 1_000_000),
        ("recall@all", Recall(), "all"),
        ("precision@quota", Precision(), "quota"),
        ("auprc@5", AUPRC(), 5),
        ("r_precision", RPrecision(), None),
        ("r_precision(rel=2)", RPrecision(rel=2), None),
        ("ndcg(gain=binary, ideal=k)@10", NDCG(gain="binary", ideal="k"), 10),
        ("ndcg(gain=binary, rel=2)@10", NDCG(gain="binary", rel=2), 10),
        ("recall(min_score=0.5)@all", Recall(min_score=0.5), "all"),
        ("recall(gain=linear, min_score=-1.25, rel=1e-07)@5", LINEAR, 5),
        ("recall(rel=1e+22)@5", Recall(rel=1e22), 5),
    ],
)
def test_a_metric_prints_back_as_it_was_read(text, metric, k):
    found = parse_metric(text)
    assert found == (metric, None if k is None else Cut(k))
    assert Measure(*found).label == text
    assert Measure(*found).k == (k if isinstance(k, int) else None)
    assert Measure(*found).depth == (k if isinstance(k, int) else 0)
    assert hash(found[0]) == hash(metric)


LABELS = (
    "recall@100",
    "coverage",
    "ndcg(gain=exponential)@10",
    "map(denominator=relevant)",
    "precision(denominator=k)@3",
    "recall(min_score=0.5, rel=2)@all",
    "f1@quota",
)


@given(st.sampled_from(LABELS), st.lists(st.sampled_from(["", " ", "  ", "\t"]), min_size=16))
def test_spaces_do_not_matter(label, spaces):
    pieces = re.findall(r"[\w.]+|[^\w.]", label)
    text = "".join(space + piece for space, piece in zip(spaces, pieces, strict=False))
    assert Measure(*parse_metric(text + spaces[-1])).label == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("recall()@10", "recall@10"),
        ("ndcg(gain=binary,)@10", "ndcg(gain=binary)@10"),
        ("recall@010", "recall@10"),
        ("ndcg(rel=2.0, gain=binary)@5", "ndcg(gain=binary, rel=2)@5"),
        ("recall(rel=02.50)@5", "recall(rel=2.5)@5"),
        ("recall(rel=1000)@all", "recall(rel=1000)@all"),
    ],
)
def test_other_spellings_have_the_plain_name(text, label):
    assert Measure(*parse_metric(text)).label == label


def test_a_default_that_was_given_stays_in_the_name():
    assert parse_metric("map(denominator=capped)@5")[0].name == "map(denominator=capped)"


QUOTE = " Quote this metric."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected name(option=value, ...)@K, got ''."),
        ("@10", "expected name(option=value, ...)@K, got '@10'."),
        ("recall 10", "expected name(option=value, ...)@K, got 'recall 10'."),
        ("recall@1 0", "expected name(option=value, ...)@K, got 'recall@1 0'."),
        ("recall@", "expected name(option=value, ...)@K, got 'recall@'."),
        (
            "recall@10@20",
            "K of 'recall@10@20': expected an integer >= 1, all or quota, got '10@20'",
        ),
        ("ndcg((gain=linear))", "expected name(option=value, ...)@K, got 'ndcg((gain=linear))'."),
        # YAML splits a flow list at the comma.
        ("ndcg(gain=linear", f"expected name(option=value, ...)@K, got 'ndcg(gain=linear'.{QUOTE}"),
        ("ideal=k)@10", f"expected name(option=value, ...)@K, got 'ideal=k)@10'.{QUOTE}"),
        ("recal@10", f"unknown metric 'recal'. Did you mean 'recall'? Metrics: {KNOWN}"),
        ("xyz", f"unknown metric 'xyz'. Metrics: {KNOWN}"),
        ("Recall@10", f"unknown metric 'Recall'. Did you mean 'recall'? Metrics: {KNOWN}"),
        ("coverage@10", "coverage has no @K, got 'coverage@10'"),
        ("recall@0", "K of 'recall@0': expected an integer >= 1, all or quota, got '0'"),
        ("recall@-1", "K of 'recall@-1': expected an integer >= 1, all or quota, got '-1'"),
        ("recall@1.5", "K of 'recall@1.5': expected an integer >= 1, all or quota, got '1.5'"),
        ("recall@1e3", "K of 'recall@1e3': expected an integer >= 1, all or quota, got '1e3'"),
        ("recall@ten", "K of 'recall@ten': expected an integer >= 1, all or quota, got 'ten'"),
        (
            "mrr@1000001",
            "lists are evaluated to a depth of at most 1,000,000, got mrr@1000001",
        ),
        ("ndcg(binary)@10", "ndcg: expected option=value, got 'binary'"),
        (
            "ndcg(gian=binary)",
            "ndcg: unknown option 'gian'. Did you mean 'gain'? Options: gain, ideal, rel",
        ),
        ("ndcg(base=2)", "ndcg: unknown option 'base'. Options: gain, ideal, rel"),
        ("hits(gain=linear)", "hits: unknown option 'gain'. Options: rel"),
        ("ndcg(gain=binary, gain=linear)", "ndcg: option 'gain' is given twice"),
        ("ndcg(gain=cubic)@10", "ndcg: gain is one of linear, exponential, binary, got 'cubic'"),
        ("recall(gain=exponential)", "recall: gain is one of binary, linear, got 'exponential'"),
        ("map(denominator=)", "map: denominator is one of capped, relevant, got ''"),
        ("precision@all", "precision has no @all: name a K, got 'precision@all'"),
        ("f1@all", "f1 has no @all: name a K, got 'f1@all'"),
        ("list_fill@all", "list_fill has no @all: name a K, got 'list_fill@all'"),
        ("gini@all", "gini has no @all: name a K, got 'gini@all'"),
        ("r_precision@all", "r_precision has no @K, got 'r_precision@all'"),
        ("recall_ceiling@quota", "recall_ceiling has no @K, got 'recall_ceiling@quota'"),
        (
            "ndcg(gain=binary, ideal=k)@all",
            (
                "ndcg(gain=binary, ideal=k) has no @all: name a K, "
                "got 'ndcg(gain=binary, ideal=k)@all'"
            ),
        ),
        (
            "recall@All",
            "K of 'recall@All': expected an integer >= 1, all or quota, got 'All'",
        ),
        ("recall(rel=0)@5", "recall: rel is a finite number > 0, got '0'"),
        ("recall(rel=-1)@5", "recall: rel is a finite number > 0, got '-1'"),
        ("recall(rel=inf)@5", "recall: rel is a finite number > 0, got 'inf'"),
        ("recall(rel=nan)@5", "recall: rel is a finite number > 0, got 'nan'"),
        ("recall(rel=high)@5", "recall: rel is a finite number > 0, got 'high'"),
        ("recall(rel=)@5", "recall: rel is a finite number > 0, got ''"),
        ("recall(min_score=x)@5", "recall: min_score is a finite number, got 'x'"),
        ("recall(min_score=inf)@5", "recall: min_score is a finite number, got 'inf'"),
        ("ndcg(ideal=10)@10", "ndcg: ideal is one of truth, k, got '10'"),
        ("coverage(rel=2)", "coverage: unknown option 'rel'. Options: none"),
        ("gini(rel=2)@5", "gini: unknown option 'rel'. Options: none"),
    ],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(ConfigError) as error:
        parse_metric(text, path="metrics.3")
    assert str(error.value) == f"metrics.3: {message}"
    assert error.value.exit_code == 2


def test_a_metric_is_a_value():
    assert Precision() == parse_metric("precision")[0]
    assert Precision() != Precision(denominator="returned")
    assert len({Hits(), Hits(), Recall()}) == 2
    with pytest.raises(ValidationError, match="frozen_instance"):
        Precision().denominator = "returned"


def test_only_named_classes_are_metrics():
    class Half(Recall):
        """Half of the recall."""

        def value(self, cut: Cut) -> pl.Expr:
            return super().value(cut) / 2

    assert Half.title == "recall"
    assert METRICS["recall"] is Recall


def test_the_micro_average_is_there_where_sums_make_one():
    pooled = {name for name in METRICS if METRICS[name]().pooled(Cut(10)) is not None}
    assert pooled == {
        *("precision", "recall", "capped_recall", "f1", "recall_ceiling"),
        *("coverage", "list_fill", "duplicate_share", "seen_share", "tie_share"),
        *("unknown_item_share", "judged"),
    }


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_without_a_cut_says_so(name):
    metric = METRICS[name]()
    takes = {cut: not metric.refuses(Cut(cut)) for cut in (None, 10, "quota", "all")}
    assert takes[10] is takes["quota"] is metric.takes_k
    assert takes[None] is True
    assert takes["all"] is (name in ALL)


ALL = {"hits", "recall", "capped_recall", "hit_rate", "mrr", "map", "auprc", "ndcg"}


def test_accuracy_metrics_take_a_smallest_gain_last():
    for metric in METRICS.values():
        assert (metric.option_names()[-1:] == ("rel",)) is (metric.kind == "accuracy")
        assert sorted(metric.option_names()) == sorted(metric.model_fields)


def test_metrics_that_need_more_than_lists_and_truth():
    def those(need: str) -> set[str]:
        return {name for name, metric in METRICS.items() if getattr(metric, need)}

    assert those("needs_seen") == {"seen_share", "novelty", "mean_popularity"}
    assert those("needs_exposures") == {"judged"}
    assert those("needs_catalogue") == {
        *("item_coverage", "gini", "unknown_item_share", "recall_ceiling"),
    }
    assert Recall(min_score=0.5).needs_scores
    assert not any(metric().needs_scores for metric in METRICS.values())
    assert NDCG(ideal="k").needs_equal_gains
    assert not NDCG(ideal="k", gain="binary").needs_equal_gains


def test_without_relevant_items():
    ones = {name for name, metric in METRICS.items() if metric.value_without_relevant == 1}
    assert ones == {"recall", "capped_recall", "r_precision", "auprc"}
    left_out = {name for name, metric in METRICS.items() if metric.value_without_relevant is None}
    assert left_out == {"recall_ceiling"}


# measures


def test_metrics_at_every_depth_in_the_order_asked_for():
    asked = measures(["ndcg@7", "recall", "coverage", "recall@5", "ndcg(gain=binary)"], [20, 5])
    assert [measure.label for measure in asked] == [
        "ndcg@7",
        "recall@20",
        "recall@5",
        "coverage",
        "ndcg(gain=binary)@20",
        "ndcg(gain=binary)@5",
    ]
    assert [measure.depth for measure in asked] == [7, 20, 5, 0, 20, 5]
    assert [measure.k for measure in asked] == [7, 20, 5, None, 20, 5]


def test_a_metric_with_a_cut_of_its_own_leaves_the_depths_alone():
    asked = measures(["recall@all", "recall", "precision@quota", "r_precision", "auprc"], [5, 20])
    assert [measure.label for measure in asked] == [
        *("recall@all", "recall@5", "recall@20", "precision@quota", "r_precision"),
        *("auprc@5", "auprc@20"),
    ]
    assert [measure.k for measure in asked] == [None, 5, 20, None, None, 5, 20]
    assert [measure.depth for measure in asked] == [0, 5, 20, 0, 0, 5, 20]


def test_depths_may_be_any_iterable_and_twice_is_once():
    asked = measures(["recall", "recall", "hits"], (depth for depth in [5, 5]))
    assert [measure.label for measure in asked] == ["recall@5", "hits@5"]


def test_no_metrics():
    with pytest.raises(ConfigError, match=r"^metrics: expected at least one metric$"):
        measures([], [10])


def test_all_bad_metrics_are_named_at_once():
    with pytest.raises(ConfigError) as error:
        measures(["recal@5", "coverage", "recall", "ndcg(gain=x)@1", "mrr@3"], [])
    assert str(error.value).splitlines() == [
        f"metrics.0: unknown metric 'recal'. Did you mean 'recall'? Metrics: {KNOWN}",
        "metrics.2: recall needs a K: write recall@10, or give k",
        "metrics.3: ndcg: gain is one of linear, exponential, binary, got 'x'",
    ]


def test_a_depth_for_which_a_table_would_fill_the_memory():
    with pytest.raises(ConfigError) as error:
        measures(["recall", "coverage", "mrr"], [5, 1_000_001])
    assert str(error.value).splitlines() == [
        "k: lists are evaluated to a depth of at most 1,000,000, got 1000001"
    ]
    assert measures(["recall"], [1_000_000])[0].depth == 1_000_000


def test_errors_stand_where_the_metric_was_written():
    with pytest.raises(ConfigError) as error:
        measures(["recall", "mrr"], [], paths={"mrr": "select.maximize"})
    assert [problem.path for problem in error.value.problems] == ["metrics.0", "select.maximize"]
