from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.exposures import Exposed, Exposures, find_exposed
from tests.data.helpers import refused

ROWS = pl.LazyFrame(
    {
        "user_id": [1, 1, 1, 2, 2],
        "item_id": [10, 10, 11, 10, 12],
        "event": ["impression", "impression", "click", "impression", None],
    }
)


def exposed(where: str) -> Exposed:
    return find_exposed(ROWS, Exposures(where=where), source="log.csv")


def test_pairs_are_distinct_and_a_null_rule_is_no_exposure():
    found = exposed("event = 'impression'")
    assert sorted(found.pairs.rows()) == [(1, 10), (2, 10)]
    assert found.counts == {"exposure_rows": 3, "exposure_was_null": 1, "exposed_pairs": 2}


@pytest.mark.parametrize(
    ("where", "text", "code"),
    [
        (
            "event = 'shown'",
            (
                'exposures.where: none of the 5 rows of the test window passes "event = '
                "'shown'\", for 1 it is null"
            ),
            3,
        ),
        ("FALSE", "exposures.where: none of the 5 rows of the test window passes 'FALSE'", 3),
        (
            "evnt = 'x'",
            (
                "exposures.where: unknown column 'evnt' in log.csv. Did you mean 'event'? Columns: "
                "user_id, item_id, event"
            ),
            2,
        ),
        (
            "item_id",
            "exposures.where: expected true or false for each row, this gives Int64: 'item_id'",
            2,
        ),
    ],
)
def test_rules_that_are_refused(where: str, text: str, code: int):
    assert refused(exposed, where) == (text, code)


@pytest.mark.parametrize("options", [{}, {"where": None}, {"where": "TRUE", "window": "1d"}])
def test_options_that_are_refused(options: dict[str, Any]):
    with pytest.raises(ValidationError):
        Exposures(**options)
