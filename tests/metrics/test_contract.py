"""Our own metrics keep the contract that others are held to, and the contract notices."""

from collections.abc import Iterator

import polars as pl
import pytest

from recoeval.metrics.base import METRICS, Accuracy, Cut, Term, hits_within
from recoeval.testing.contracts import MetricContract
from recoeval.testing.metric_contract import labels
from recoeval.testing.toy import make_tables


class TestRecall(MetricContract):
    never_falls = True

    @pytest.fixture(params=["recall(gain=linear)", "recall(min_score=-3)"])
    def text(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestPerfectOfTheTruth(MetricContract):
    of_truth = 1.0

    @pytest.fixture(params=["ndcg(gain=exponential)", "r_precision"])
    def text(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestLevels(MetricContract):
    @pytest.fixture
    def text(self) -> str:
        return "capped_recall(rel=2)"


class TestCeiling(MetricContract):
    of_nothing = None

    @pytest.fixture
    def text(self) -> str:
        return "recall_ceiling"


class TestOfLists(MetricContract):
    @pytest.fixture(params=["judged", "gini"])
    def text(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestUnbounded(MetricContract):
    bounds = (0.0, 60.0)

    @pytest.fixture(params=["hits", "entropy"])
    def text(self, request: pytest.FixtureRequest) -> str:
        return request.param


@pytest.fixture
def lift() -> Iterator[str]:
    """A metric that breaks what it promises: above 1, falling, null or more than 0 for no hit."""

    class Lift(Accuracy, name="lift"):
        """h / rank of the last place, upside down."""

        source = "nobody"
        value_without_relevant = 1.0
        base: int = 2

        def terms(self, cut: Cut) -> tuple[Term, ...]:
            return (hits_within(cut),)

        def value(self, cut: Cut) -> pl.Expr:
            found = pl.col(hits_within(cut).name)
            return pl.when(found != 1).then((found + 1) * 3.0 / cut.size)

    yield "lift"
    METRICS.pop("lift")
    assert Lift.title == "lift"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("test_says_what_it_is", "no formula"),
        ("test_options_are_strict_and_explained", r"without a docstring: \['base'\]"),
        ("test_values_are_numbers_within_bounds", "is not in"),
        ("test_it_does_not_fall_with_k", "falls to"),
        ("test_the_truth_as_its_own_list", "without a value|^0"),
        ("test_evaluated_queries_have_a_value", "values .*None"),
        ("test_queries_without_a_list", "values"),
    ],
)
def test_the_contract_notices(lift: str, name: str, says: str) -> None:
    class Contract(MetricContract):
        never_falls = True
        of_truth = 1.0

    contract, tables = Contract(), make_tables()
    metric = METRICS[lift]()
    given = {
        "metric": metric,
        "text": lift,
        "tables": tables,
        "asked": MetricContract.asked.__wrapped__(contract, metric),
    }
    test = getattr(contract, name)
    wanted = test.__code__.co_varnames[1 : test.__code__.co_argcount]
    with pytest.raises(AssertionError, match=says):
        test(**{argument: given[argument] for argument in wanted})


def test_labels() -> None:
    assert labels(()) == []
