"""The small log of the contract tests, and ways to look at lists."""

from collections.abc import Callable
from datetime import datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from recoeval.generators import Fitted
from recoeval.testing.toy import END, ToyLog, make_log


@pytest.fixture
def toy() -> ToyLog:
    return make_log()


@pytest.fixture
def toy_of_texts() -> ToyLog:
    return make_log(text=True)


def collected(fitted: Fitted, queries: pl.DataFrame, k: int) -> pl.DataFrame:
    """Returns the lists by query and rank."""
    return fitted.recommend(queries, k).collect().sort("query_id", "rank", maintain_order=True)


@pytest.fixture
def recommend() -> Callable[[Fitted, pl.DataFrame, int], pl.DataFrame]:
    return collected


@pytest.fixture
def equal() -> Callable[[pl.DataFrame, pl.DataFrame], None]:
    """Fails unless two frames are the same, bit by bit."""

    def check(left: pl.DataFrame, right: pl.DataFrame) -> None:
        assert_frame_equal(left, right, check_exact=True)

    return check


@pytest.fixture
def ago() -> Callable[[float], datetime]:
    """Gives the time some days before the end of the train window."""
    return lambda days: END - timedelta(days=days)
