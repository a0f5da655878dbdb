"""Prepared lists: what is left of lists when repeated and seen items have left."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from recoeval.data.listblocks import block_of
from recoeval.engine.finding import Asked, prepared_rows
from recoeval.engine.numbering import Numbering
from recoeval.metrics.base import SEEN
from tests.engine.helpers import lists_of, pairs_of, truth_of

QUERIES = pl.DataFrame({"query_id": ["p", "q", "r"], "user_id": ["p", "q", "r"]})


def prepared(lists, seen, *, drop_seen, depth=None):
    numbering = Numbering.of(QUERIES, truth_of({}))
    tables = {} if seen is None else {SEEN: numbering.index_of(pairs_of(seen).lazy())}
    block = block_of(lists_of(lists))
    numbers = numbering.numbers(block.queries)
    return prepared_rows(Asked.of(block, numbers, tables, depth), drop_seen=drop_seen)


def expected(lists, seen, *, drop_seen):
    rows = []
    for number, query in enumerate(("p", "q", "r")):
        gone = set(seen.get(query, ())) if drop_seen and seen else set()
        left = [item for item in dict.fromkeys(lists.get(query, ())) if item not in gone]
        rows += [(number, item, rank) for rank, item in enumerate(left, start=1)]
    return rows


ITEMS = st.lists(st.integers(1, 6), max_size=8)


@given(
    lists=st.dictionaries(st.sampled_from(["p", "q", "r", "x"]), ITEMS.filter(bool), min_size=1),
    seen=st.none() | st.dictionaries(st.sampled_from(["p", "q", "x"]), ITEMS.map(set).map(list)),
    drop_seen=st.booleans(),
    depth=st.none() | st.integers(1, 3),
)
def test_what_is_left(lists, seen, drop_seen, depth):
    found = prepared(lists, seen, drop_seen=drop_seen, depth=depth).sort("query_id", "rank")
    assert found.columns == ["query_id", "item_id", "rank", "score"]
    assert found["rank"].dtype == pl.Int64
    assert found.drop("score").rows() == expected(lists, seen, drop_seen=drop_seen)


def test_lists_that_lose_nothing_keep_their_scores():
    rows = pl.DataFrame({"query_id": ["q", "q"], "item_id": [4, 2], "score": [0.5, 0.25]})
    numbering = Numbering.of(QUERIES, truth_of({}))
    block = block_of(rows)
    asked = Asked.of(block, np.array(numbering.numbers(block.queries)), {})
    assert prepared_rows(asked, drop_seen=True).rows() == [(1, 4, 1, 0.5), (1, 2, 2, 0.25)]
