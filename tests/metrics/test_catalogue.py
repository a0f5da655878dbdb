"""Metrics of all lists together, from how often each item is listed."""

from math import log2

import polars as pl
import pytest

from recoeval.metrics import METRICS, Cut, measures
from recoeval.metrics.catalogue import CatalogueMetric

NAMES = [name for name, metric in METRICS.items() if metric.kind == "catalogue"]


def items(*rows: tuple[str, int, int, bool]) -> pl.DataFrame:
    """Rows of item_id, listed, train_users, in_catalogue."""
    schema = {
        "item_id": pl.String,
        "listed": pl.Int64,
        "train_users": pl.Int64,
        "in_catalogue": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def of(name: str, table: pl.DataFrame, users: int = 7) -> float | None:
    return METRICS[name]().of_items(table, users)


# Listed 4 + 1 + 3 + 8 = 16 times; d is not in the catalogue, c and e are never listed.
TABLE = items(
    ("a", 4, 7, True),
    ("b", 1, 1, True),
    ("c", 0, 3, True),
    ("d", 3, 0, False),
    ("e", 0, 0, True),
    ("f", 8, 3, True),
)


def near(number: float) -> object:
    return pytest.approx(number, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # a, b and f of a, b, c, e and f.
        ("item_coverage", 3 / 5),
        # x = 0, 0, 1, 4, 8: (2i - 6) x summed is 0 + 0 + 0 + 8 + 32, of 5 * 13.
        ("gini", 40 / 65),
        ("entropy", 4 / 16 * 2 + 1 / 16 * 4 + 3 / 16 * log2(16 / 3) + 8 / 16 * 1),
        # N = 7: log2(8 / 8), log2(8 / 2), log2(8 / 1), log2(8 / 4).
        ("novelty", (4 * 0 + 1 * 2 + 3 * 3 + 8 * 1) / 16),
        ("mean_popularity", (4 * 7 + 1 * 1 + 3 * 0 + 8 * 3) / 16),
    ],
)
def test_values(name, expected):
    assert of(name, TABLE) == near(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("item_coverage", 0.0),
        ("gini", None),
        ("entropy", None),
        ("novelty", None),
        ("mean_popularity", None),
    ],
)
def test_nothing_is_listed(name, expected):
    table = TABLE.with_columns(pl.lit(0, pl.Int64).alias("listed"))
    assert of(name, table) == expected
    assert of(name, items()) is None


def test_items_outside_the_catalogue_do_not_count_in_coverage_and_gini():
    outside = items(("x", 9, 1, False))
    assert of("item_coverage", outside) is None
    assert of("gini", outside) is None
    assert of("entropy", outside) == 0
    assert of("mean_popularity", outside) == 1
    known = items(("a", 0, 1, True), ("x", 9, 1, False))
    assert of("item_coverage", known) == 0
    assert of("gini", known) is None


@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_items_that_are_listed_alike(count):
    table = items(*((f"{number:04}", 3, 1, True) for number in range(count)))
    assert of("gini", table) == 0
    assert of("entropy", table) == near(log2(count))
    assert of("item_coverage", table) == 1


@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_one_item_in_all_lists(count):
    table = items(*((f"{number:04}", 3 * (number == 0), 1, True) for number in range(count)))
    assert of("gini", table) == 1 - 1 / count
    assert of("entropy", table) == 0
    assert of("item_coverage", table) == 1 / count


def test_gini_is_the_area_of_the_pairwise_definition():
    listed = [0, 0, 1, 1, 1, 2, 5, 5, 40]
    table = items(*((str(number), count, 0, True) for number, count in enumerate(listed)))
    pairs = sum(abs(one - other) for one in listed for other in listed)
    assert of("gini", table) == near(pairs / (2 * len(listed) * sum(listed)))


def test_sums_of_large_counts_stay_exact():
    huge = 2**40
    table = items(("a", huge, huge, True), ("b", huge, huge, True), ("c", 0, 0, True))
    assert of("gini", table) == 1 / 3
    assert of("mean_popularity", table) == huge
    assert of("entropy", table) == 1


def test_the_most_popular_item_of_all_users_is_no_news():
    assert of("novelty", items(("a", 5, 10, True)), users=10) == 0
    assert of("novelty", items(("a", 5, 0, True)), users=0) == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_items_changes_no_bit(name, seed):
    shuffled = TABLE.sample(fraction=1, shuffle=True, seed=seed)
    assert of(name, shuffled) == of(name, TABLE)


@pytest.mark.parametrize("name", NAMES)
def test_a_query_has_no_value_of_its_own(name):
    metric = METRICS[name]()
    assert isinstance(metric, CatalogueMetric)
    assert metric.terms(Cut(5)) == ()
    assert metric.pooled(Cut(5)) is None
    assert pl.select(metric.value(Cut(5))).item() is None
    assert metric.statistic == "micro"
    assert [each.label for each in measures([name], [5, 20])] == [f"{name}@5", f"{name}@20"]


def test_other_metrics_do_not_read_items():
    with pytest.raises(AssertionError, match="recall is no metric of the catalogue"):
        METRICS["recall"]().of_items(TABLE, 7)
