from math import log2

import polars as pl
import pytest

from recoeval.metrics.cuts import NO_CUT, Cut, discounts, ideal_discounts, ratio

ROWS = pl.DataFrame({"rank": [1, 2, 3], "quota": [1, 5, 2], "relevant": [4, 1, 2]})


def test_discounts_are_those_of_the_formula():
    assert discounts(1000).to_list() == [1 / log2(rank + 1) for rank in range(1, 1001)]
    assert discounts(1).to_list() == [1.0]


def test_ideal_discounts_are_their_sums_in_order():
    expected, total = [], 0.0
    for rank in range(1, 1001):
        total += 1 / log2(rank + 1)
        expected.append(total)
    assert ideal_discounts(1000).to_list() == expected


@pytest.mark.parametrize(
    ("cut", "within", "capped", "text", "k"),
    [
        (Cut(2), [True, True, False], [2, 1, 2], "2", 2),
        (Cut(3), [True, True, True], [3, 1, 2], "3", 3),
        (Cut("all"), [True, True, True], [4, 1, 2], "all", None),
        (Cut("quota"), [True, True, False], [1, 1, 2], "quota", None),
        (NO_CUT, [True, True, True], [4, 1, 2], "", None),
    ],
)
def test_where_lists_end(cut, within, capped, text, k):
    found = ROWS.select(within=cut.within, capped=cut.capped(pl.col("relevant")))
    assert found["within"].to_list() == within
    assert found["capped"].to_list() == capped
    assert found["capped"].dtype == pl.Int64
    assert (str(cut), cut.k) == (text, k)


def test_a_whole_list_has_no_size():
    assert ROWS.select(size=Cut("quota").size)["size"].to_list() == [1, 5, 2]
    assert pl.select(Cut(7).size).item() == 7
    for cut in (Cut("all"), NO_CUT):
        with pytest.raises(AssertionError, match="has no K"):
            assert cut.size is None


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 17, 100])
def test_quotients_are_rounded_once_in_every_row(size):
    rows = pl.DataFrame({"h": [3 * (number + 1) for number in range(size)]})
    for divisor in (3, 5, 7, 49, 0.1):
        found = rows.select(q=ratio(pl.col("h"), pl.lit(divisor)))["q"]
        assert found.to_list() == [h / divisor for h in rows["h"]]
