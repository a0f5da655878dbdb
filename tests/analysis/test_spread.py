from typing import Any

import polars as pl
import pytest

from recoeval.analysis.spread import SPREAD_SCHEMA, spread_over_folds
from recoeval.columns import SUMMARY_SCHEMA


def row(fold: int, value: float | None, **changes: Any) -> dict[str, Any]:
    keys = {"generator": "als", "bucket_by": "all", "bucket": "all", "metric": "recall@5"}
    more = {"name": "recall", "k": 5, "statistic": "macro", "queries": 3, "users": 3}
    return {"fold": fold, **keys, **more, "value": value, **changes}


def spread(*rows: dict[str, Any]) -> pl.DataFrame:
    return spread_over_folds(pl.DataFrame(rows, schema=SUMMARY_SCHEMA))


def test_mean_and_spread_over_folds():
    found = spread(
        row(0, 0.2),
        row(0, 0.9, metric="coverage", name="coverage", k=None),
        row(1, 0.4),
        row(1, 0.9, metric="coverage", name="coverage", k=None),
        row(2, 0.9),
    )
    assert found.schema == SPREAD_SCHEMA
    assert found["metric"].to_list() == ["recall@5", "coverage"]
    recall = found.row(0, named=True)
    # The mean is 0.5; the squares of the deviations are 0.09, 0.01, 0.16: sd = sqrt(0.26 / 2).
    assert (recall["folds"], recall["min"], recall["max"]) == (3, 0.2, 0.9)
    assert recall["mean"] == pytest.approx(0.5, abs=1e-15)
    assert recall["sd"] == pytest.approx(0.13**0.5, abs=1e-15)
    assert found.row(1)[-5:] == (2, 0.9, 0.0, 0.9, 0.9)


def test_folds_in_which_a_bucket_is_empty_do_not_count():
    found = spread(row(0, None), row(1, 0.4), row(2, None))
    assert found.row(0)[-5:] == (1, 0.4, None, 0.4, 0.4)
    assert spread(row(0, None), row(1, None)).row(0)[-5:] == (0, None, None, None, None)


def test_one_fold_has_no_spread():
    found = spread(row(3, 0.4))
    assert found.is_empty()
    assert found.schema == SPREAD_SCHEMA


def test_the_order_of_the_rows_does_not_matter():
    rows = [row(fold, value) for fold, value in enumerate([0.1, 0.7, 0.3, 1e-9, 0.2])]
    assert spread(*rows).equals(spread(*reversed(rows)))


def test_where_a_fold_has_one_query_a_user_both_means_are_one():
    """SUMMARY shows the mean over queries only where it differs from that over users."""
    over_queries = row(1, 1.0, statistic="macro_query")
    found = spread(row(0, 0.25), row(1, 0.75), over_queries).sort("statistic")
    assert found["statistic"].to_list() == ["macro", "macro_query"]
    assert found["mean"].to_list() == [0.5, 0.625]
    assert found["folds"].to_list() == [2, 2]
