from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from recoeval.analysis.audit.roles import (
    find_empty_kinds,
    find_unavailable_hits,
    find_unavailable_truth,
)
from recoeval.analysis.audit.view import AuditView
from recoeval.columns import TIMESTAMP_DTYPE
from recoeval.data.background import Background
from tests.analysis.views import day, view_of


def items(**available: bool) -> dict[str, Background]:
    """Returns a background with a table of these items: i10=True; 20 was made on 10 January."""
    rows = [
        (int(name[1:]), day(10, 1) if name == "i20" else None, there)
        for name, there in available.items()
    ]
    schema = {"item_id": pl.Int64, "created_at": TIMESTAMP_DTYPE, "available": pl.Boolean}
    return {"background": Background(items=pl.DataFrame(rows, schema, orient="row"))}


def test_a_view_without_an_items_table_gives_nothing() -> None:
    view = view_of()
    hits = pl.DataFrame({"generator": ["als"], "query_id": [1], "item_id": [30]})
    assert list(find_unavailable_truth(view)) == []
    assert list(find_unavailable_hits(view, hits)) == []
    assert list(find_empty_kinds(view)) == []


# The truth: user 1 and item 30, 2 and 20, 3 and 10.
@pytest.mark.parametrize(
    ("table", "pairs", "severity"),
    [
        (items(i10=True, i20=True, i30=True), 1, "info"),  # 20 was made after the cutoff
        (items(i10=True, i30=False), 2, "warn"),  # 20 is not in the table
        (items(i10=True, i30=True), 1, "info"),
        (items(i40=True), 3, "warn"),
    ],
)
def test_truth_on_items_that_were_not_available(
    table: dict[str, Any], pairs: int, severity: str
) -> None:
    (found,) = find_unavailable_truth(view_of(**table))
    assert (found.severity, found.code) == (severity, "unavailable_truth")
    assert found.counts == {"pairs": pairs, "share": pairs / 3}
    assert found.text.startswith(f"{pairs} relevant pair")
    assert found.text.endswith("created_at the clock?") is (severity == "warn")


def test_hits_on_items_that_were_not_available() -> None:
    view = view_of(**items(i10=True, i30=False))
    hits = pl.DataFrame(
        {"generator": ["als", "als", "other"], "query_id": [1, 3, 3], "item_id": [30, 10, 10]}
    )
    (found,) = find_unavailable_hits(view, hits)
    assert (found.severity, found.code, found.generator) == ("warn", "unavailable_hits", "als")
    assert found.text == (
        "1 hit (50.0%) on items that were not available: service could not have shown them"
    )
    assert found.counts == {"hits": 1, "share": 1 / 2}


def test_kinds_of_positives_without_a_pair() -> None:
    kinds = pl.DataFrame({"query_id": [1], "item_id": [30], "label": ["click"]})
    view = view_of()
    assert list(find_empty_kinds(with_kinds(view, kinds, ("click",)))) == []
    (found,) = find_empty_kinds(with_kinds(view, kinds, ("buy", "click", "like")))
    assert (found.severity, found.code, found.counts) == ("warn", "empty_kinds", {"kinds": 2})
    assert found.text == "no relevant pair of the kinds 'buy', 'like': are their rules right?"


def with_kinds(view: AuditView, kinds: pl.DataFrame, labels: tuple[str, ...]) -> AuditView:
    return replace(view, truth=replace(view.truth, kinds=kinds, kind_labels=labels))
