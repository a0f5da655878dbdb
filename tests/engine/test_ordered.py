import math
import operator
from functools import reduce

import numpy as np
import polars as pl
import pytest

from recoeval.engine.ordered import mean_runs, number_places, places_of, sum_places

ROWS = pl.DataFrame(
    {
        "place": [2, 0, 2, 3],
        "count": [1, 2, 3, 4],
        "share": [0.1, 0.7, 0.2, -0.5],
    }
)


def test_where_numbers_stand():
    assert places_of(np.array([3, 1], np.uint32)).tolist() == [-1, 1, -1, 0]
    assert places_of(np.array([1]), 4).tolist() == [-1, 0, -1, -1]
    assert places_of(np.zeros(0, np.int64), 2).tolist() == [-1, -1]


def test_sums_keep_names_and_dtypes_and_are_zero_where_no_row_goes():
    count, share = sum_places(ROWS, 5)
    assert (count.name, count.dtype, count.to_list()) == ("count", pl.Int64, [2, 0, 4, 4, 0])
    assert (share.name, share.dtype) == ("share", pl.Float64)
    assert share.to_list() == [0.7, 0.0, 0.1 + 0.2, -0.5, 0.0]


def test_no_rows_no_columns():
    assert [each.to_list() for each in sum_places(ROWS.clear(), 2)] == [[0, 0], [0.0, 0.0]]
    assert sum_places(ROWS.select("place"), 5) == []
    assert number_places(np.zeros(0, np.int64), 3).tolist() == []


def test_numbers_of_rows_within_their_place():
    assert number_places(np.array([0, 0, 0, 2, 3, 3]), 5).tolist() == [1, 2, 3, 1, 1, 2]


def test_sums_go_from_the_first_row_to_the_last_whatever_stands_around_them():
    # 1e16 + 1 - 1e16 is 0 in this order, and 1 if the large ones meet first.
    values = [1e16, 1.0, -1e16]
    rows = pl.DataFrame({"place": [1] * 3 + [0] * 2000, "x": values + [0.1] * 2000})
    assert sum_places(rows, 2)[0][1] == 0.0
    rng = np.random.default_rng(2)
    many = pl.DataFrame({"place": rng.integers(0, 40, 5000), "x": rng.random(5000)})
    whole = sum_places(many, 40)[0]
    for number in range(40):
        alone = many.filter(pl.col("place") == number)
        # Not sum(), which compensates for rounding from Python 3.12 on.
        assert whole[number] == reduce(operator.add, alone["x"].to_list())
        assert sum_places(alone, 40)[0][number] == whole[number]


def test_means_leave_null_out():
    rows = pl.DataFrame({"u": [1, 1, 1, 2, 3, 3], "x": [1.0, None, 2.0, None, 0.0, 0.0]})
    found = mean_runs(rows, ["u"], ["x"])
    assert found.rows() == [(1, 1.5), (2, None), (3, 0.0)]


def test_means_of_integers_are_floats():
    rows = pl.DataFrame({"u": [1, 1, 2, 2, 2], "count": [1, 2, 3, 4, 5], "share": [0.1] * 5})
    found = mean_runs(rows, ["u"], ["count", "share"])
    assert found.schema == {"u": pl.Int64, "count": pl.Float64, "share": pl.Float64}
    assert found["count"].to_list() == [1.5, 4.0]
    assert found["share"][1] == pytest.approx(math.fsum([0.1] * 3) / 3)


def test_runs_of_one_row_have_the_means_that_longer_runs_have():
    alone = pl.DataFrame({"u": [1, 2, 3], "x": [0.1, None, math.nan], "n": [3, 4, 5]})
    twice = pl.concat([alone, alone]).sort("u")
    found = mean_runs(alone, ["u"], ["x", "n"])
    assert found.rows() == [(1, 0.1, 3.0), (2, None, 4.0), (3, None, 5.0)]
    assert found.equals(mean_runs(twice, ["u"], ["x", "n"]), null_equal=True)


def test_a_run_ends_where_one_of_its_keys_changes():
    # A key without a value is one as well.
    rows = pl.DataFrame({"q": [None, None, "a", "a", None], "u": [1, 1, 1, 2, 2], "x": range(5)})
    assert mean_runs(rows, ["q", "u"], ["x"]).rows() == [
        (None, 1, 0.5),
        ("a", 1, 2.0),
        ("a", 2, 3.0),
        (None, 2, 4.0),
    ]
    empty = mean_runs(rows.clear(), ["q"], ["x"])
    assert empty.schema == {"q": pl.String, "x": pl.Float64}
