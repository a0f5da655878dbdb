import math
import operator
from functools import reduce

import numpy as np
import polars as pl
import pytest

from recoeval.engine.ordered import mean_runs, number_runs, sum_runs

ROWS = pl.DataFrame(
    {
        "q": ["a", "a", "a", "b", "c"],
        "u": [1, 1, 2, 2, 2],
        "count": [1, 2, 3, 4, 5],
        "share": [0.1, 0.2, 0.3, 0.7, -0.5],
    }
)


def test_sums_of_runs_keep_the_dtypes_and_the_order():
    found = sum_runs(ROWS, ["q"], ["share", "count"])
    assert found.rows() == [("a", 0.1 + 0.2 + 0.3, 6), ("b", 0.7, 4), ("c", -0.5, 5)]
    assert found.schema == {"q": pl.String, "share": pl.Float64, "count": pl.Int64}


def test_a_run_ends_where_one_of_its_keys_changes():
    found = sum_runs(ROWS, ["q", "u"], ["count"])
    assert found.rows() == [("a", 1, 3), ("a", 2, 3), ("b", 2, 4), ("c", 2, 5)]


def test_places_within_runs():
    assert number_runs(ROWS, ["q"]).to_list() == [1, 2, 3, 1, 1]
    assert number_runs(ROWS, ["q", "u"]).to_list() == [1, 2, 1, 1, 1]
    # A key without a value is one as well.
    missing = pl.DataFrame({"q": [None, None, "a", "a", None]})
    assert number_runs(missing, ["q"]).to_list() == [1, 2, 1, 2, 1]
    assert number_runs(ROWS, ["q"]).dtype == number_runs(ROWS.clear(), ["q"]).dtype == pl.Int64
    assert number_runs(ROWS.clear(), ["q"]).is_empty()


def test_no_rows_no_runs():
    assert sum_runs(ROWS.clear(), ["q"], ["share", "count"]).is_empty()
    assert mean_runs(ROWS.clear(), ["q"], ["share"]).schema == {"q": pl.String, "share": pl.Float64}
    assert sum_runs(ROWS, ["q"], []).rows() == [("a",), ("b",), ("c",)]


def test_sums_go_from_the_first_row_to_the_last_whatever_stands_around_them():
    # 1e16 + 1 - 1e16 is 0 in this order, and 1 if the large ones meet first.
    values = [1e16, 1.0, -1e16]
    rows = pl.DataFrame({"q": ["a"] * 3 + ["b"] * 2000, "x": values + [0.1] * 2000})
    assert sum_runs(rows, ["q"], ["x"])["x"][0] == 0.0
    rng = np.random.default_rng(2)
    many = pl.DataFrame({"q": np.sort(rng.integers(0, 40, 5000)), "x": rng.random(5000)})
    whole = sum_runs(many, ["q"], ["x"])
    for number in range(40):
        alone = many.filter(pl.col("q") == number)
        # Not sum(), which compensates for rounding from Python 3.12 on.
        assert whole["x"][number] == reduce(operator.add, alone["x"].to_list())
        assert sum_runs(alone, ["q"], ["x"])["x"].item() == whole["x"][number]


def test_means_leave_null_out():
    rows = pl.DataFrame({"u": [1, 1, 1, 2, 3, 3], "x": [1.0, None, 2.0, None, 0.0, 0.0]})
    found = mean_runs(rows, ["u"], ["x"])
    assert found.rows() == [(1, 1.5), (2, None), (3, 0.0)]


def test_means_of_integers_are_floats():
    found = mean_runs(ROWS, ["u"], ["count", "share"])
    assert found.schema == {"u": pl.Int64, "count": pl.Float64, "share": pl.Float64}
    assert found["count"].to_list() == [1.5, 4.0]
    assert found["share"][1] == pytest.approx(math.fsum([0.3, 0.7, -0.5]) / 3)
