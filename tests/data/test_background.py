from datetime import UTC, datetime

import polars as pl
import pytest

from recoeval.data.background import Background

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ITEMS = pl.DataFrame(
    {
        "item_id": [9, 1, 2, 3, 4],
        "created_at": [None, NOON, NOON.replace(microsecond=1), NOON.replace(hour=11), None],
        "available": [True, True, True, True, False],
    },
    schema_overrides={"created_at": pl.Datetime("us", "UTC")},
)
POPULARITY = pl.DataFrame({"item_id": [1, 7], "train_users": [2, 1]})


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        # An item that is created at the moment is there; a microsecond later it is not.
        (NOON, [1, 3, 9]),
        (NOON.replace(hour=1), [9]),
        # Without a moment only `available` decides.
        (None, [1, 2, 3, 9]),
    ],
)
def test_the_catalogue_is_what_the_table_has_at_a_moment(at, expected):
    catalogue = Background(items=ITEMS, popularity=POPULARITY).catalogue(at)
    assert catalogue is not None
    assert catalogue.to_list() == expected


def test_without_a_table_the_catalogue_is_what_was_trained_on():
    catalogue = Background(popularity=POPULARITY).catalogue(NOON)
    assert catalogue is not None
    assert catalogue.to_list() == [1, 7]
    assert Background().catalogue(NOON) is None
