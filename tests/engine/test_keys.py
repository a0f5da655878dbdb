"""Which rows the pairs of a truth are summed to."""

import polars as pl
import pytest

from recoeval.engine.keys import Keys

PAIRS = pl.DataFrame(
    {"query_id": [0, 0, 1, 3], "item_id": [0, 1, 2, 3]},
    schema={"query_id": pl.UInt32, "item_id": pl.UInt32},
)
LABELS = PAIRS[[3, 0, 1, 1]].with_columns(label=pl.Series(["b", "b", "c", "b"]))


def of(keys: Keys, numbers: list[int]) -> list[tuple[int, int]]:
    rows = pl.DataFrame({"item_id": numbers}, schema={"item_id": pl.UInt32})
    found, own = keys.of_pairs(rows)
    return list(zip(found["item_id"].to_list(), own.tolist(), strict=True))


def test_every_query_is_a_key():
    keys = Keys.of_queries(PAIRS, 5)
    assert keys.table["query_id"].to_list() == [0, 1, 2, 3, 4]
    assert of(keys, [3, 1]) == [(3, 3), (1, 0)]
    assert keys.spread(PAIRS["item_id"]).equals(PAIRS["item_id"])


@pytest.mark.parametrize("seed", range(3))
def test_queries_by_label_whatever_the_order_of_the_rows(seed):
    labels = LABELS.sample(fraction=1, shuffle=True, seed=seed)
    keys = Keys.of_labels(labels, 4)
    assert keys.table.select("label", "query_id").rows() == [("b", 0), ("b", 3), ("c", 0)]
    # The third pair has no label, the second has two.
    assert of(keys, [3, 2, 0]) == [(3, 1), (0, 0)]
    assert sorted(of(keys, [1])) == [(1, 0), (1, 2)]
    assert keys.spread(PAIRS["item_id"]).to_list() == [0, 1, 1, 3]


def test_no_label():
    keys = Keys.of_labels(LABELS.clear(), 4)
    assert keys.table.is_empty()
    assert of(keys, [0, 3]) == []


@pytest.mark.parametrize("dtype", [pl.String, pl.Enum(["a", "b", "c"])])
def test_one_label_for_every_pair(dtype):
    labels = PAIRS.with_columns(label=pl.Series(["c", "b", "c", "b"], dtype=dtype))
    keys = Keys.of_labels(labels, 4)
    expected = [("b", 0), ("b", 3), ("c", 0), ("c", 1)]
    assert keys.table.select("label", "query_id").rows() == expected
    assert of(keys, [3, 0]) == [(3, 1), (0, 2)]
    assert keys.spread(PAIRS["item_id"]).equals(PAIRS["item_id"])


def test_a_pair_with_two_labels_and_one_with_none():
    labels = PAIRS[[0, 0, 1, 2]].with_columns(label=pl.Series(["b", "c", "b", "b"]))
    keys = Keys.of_labels(labels, 4)
    assert sorted(of(keys, [0])) == [(0, 0), (0, 2)]
    assert of(keys, [3]) == []
