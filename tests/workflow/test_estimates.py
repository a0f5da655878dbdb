"""About what a run takes: rows are exact, rates only have to behave."""

from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from recoeval.generators import GENERATORS, CoVisitation, Popularity
from recoeval.report.planned import estimate_table
from recoeval.workflow import estimates, rates
from recoeval.workflow.estimates import Estimate
from recoeval.workflow.planning import plan
from tests.workflow.test_pipeline import channel
from tests.workflow.test_planning import with_tables
from tests.workflow.test_preparation import tiny_config, write_sides


def estimated(config: dict[str, Any]) -> Estimate:
    return plan(config).estimate


def rows(found: Estimate) -> dict[str, int | None]:
    return {each.stage: each.rows for each in found.stages}


def test_stages_are_those_of_a_run_that_grow(tmp_path: Path) -> None:
    generators = {"popularity": None, "channel": channel(tmp_path), "als": {"factors": 8}}
    found = estimated(tiny_config(tmp_path, generators=generators))
    # The log has 28 rows, the lists 10; they end at 2 items, so there are about 5 of them.
    assert dict(found.rows) == {"interactions": 28, "lists[channel]": 10}
    assert (found.queries, found.queries_from) == (5, "rows of lists / 2")
    assert rows(found) == {
        "read the log": 28,
        "split and ground truth": 28,
        "popularity: fit": 28,
        "popularity: lists": 10,
        "channel: lists": 10,
        "als: fit": 28,
        "als: lists": 10,
        "summary": 15,
        "audit": 28,
    }
    assert found.whole
    assert found.seconds == pytest.approx(estimates.START.seconds, abs=0.1)


def test_who_is_asked(tmp_path: Path) -> None:
    found = estimated(tiny_config(tmp_path))
    assert (found.queries, found.queries_from) == (0, "rows of the log / 50")
    found = estimated(with_tables(tmp_path))
    assert (found.queries, found.queries_from) == (2, "rows of the users table")
    assert dict(found.rows) == {
        "interactions": 28,
        "canonical_items": 1,
        "users": 2,
        "users.exclude": 1,
        "items": 2,
    }
    half = with_tables(tmp_path) | {"sample_users": 0.5}
    assert (estimated(half).queries, estimated(half).queries_from) == (
        1,
        "rows of the users table x 0.5",
    )


def test_both_sides_of_a_split_are_the_log(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    found = estimated(tiny_config(tmp_path, interactions=None, split=sides))
    assert rows(found)["read the log"] == sum(count or 0 for count in found.rows.values())


def test_costs_grow_with_rows_folds_texts_and_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_million(count: int, **sections: Any) -> Estimate:
        monkeypatch.setattr(estimates, "count_rows", lambda path, said, items: count * 10**6)
        return estimated(tiny_config(tmp_path, **sections))

    one, ten = of_million(1), of_million(10)
    assert 1 < ten.seconds / one.seconds < 10
    assert ten.peak_memory_mb > one.peak_memory_mb > estimates.START.megabytes
    rolling = {"type": "rolling", "folds": 2, "test": "1d"}
    folds = of_million(10, split=rolling)
    assert ten.seconds < folds.seconds < 2 * ten.seconds
    assert folds.peak_memory_mb == ten.peak_memory_mb
    als = [of_million(1, generators={"als": {"factors": size}}).seconds for size in (8, 64)]
    assert als[0] < als[1]
    texts = pl.read_parquet(tmp_path / "log.parquet").cast({"user_id": pl.String})
    texts.write_parquet(tmp_path / "log.parquet")
    assert of_million(10).seconds > ten.seconds


def test_every_type_of_ours_has_a_cost() -> None:
    assert set(GENERATORS) - {"precomputed"} <= set(rates.COSTS)
    needed = {
        "merge": {"channels": {"popularity": 10}},
        "rerank": {"of": "popularity", "by": "popularity"},
    }
    for name in set(GENERATORS) - {"precomputed"}:
        generator = GENERATORS[name](**needed.get(name, {}))
        cost = rates.cost_of(generator)
        assert cost.known
        # Options that a cost grows with exist, and are numbers.
        assert all(rate.seconds >= 0 for rate in cost.of(generator))


class Theirs(Popularity):
    """A generator of a type that is not ours."""

    type: Literal["theirs"] = "theirs"  # type: ignore[assignment]


def test_costs_of_generators() -> None:
    class Dense(Theirs):
        type: Literal["ease"] = "ease"  # type: ignore[assignment]

    assert not rates.cost_of(Theirs()).known
    plain, counting = rates.cost_of(Popularity()), rates.cost_of(Popularity(half_life="7d"))
    assert counting.fit.seconds > plain.fit.seconds
    cost = rates.cost_of(CoVisitation())
    fit, lists = cost.of(CoVisitation())
    assert cost.of(CoVisitation(history=40, neighbours=50)) == (fit.times(2), lists)
    matrix = rates.cost_of(Dense()).matrix
    assert matrix.of(20_000) == (8 * matrix.of(10_000)[0], 3200)


def test_what_nobody_measured_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "cost_of", lambda _: rates.cost_of(Theirs()))
    found = estimated(tiny_config(tmp_path))
    assert not found.whole
    assert [each.stage for each in found.stages if not each.measured] == [
        "popularity: fit",
        "popularity: lists",
    ]
    table = estimate_table(found.as_dict())
    assert table.notes[-1] == "not known, taken for popularity: popularity: fit, popularity: lists"
    assert table.rows[-1][0] == "the run, at least"


def test_a_matrix_of_items_goes_by_the_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dense = rates.Cost(matrix=rates.Matrix(seconds=1e12))
    monkeypatch.setattr(estimates, "cost_of", lambda _: dense)
    found = estimated(tiny_config(tmp_path))
    assert [each.seconds for each in found.stages if each.stage == "popularity: fit"] == [None]
    assert not found.whole
    found = estimated(with_tables(tmp_path))
    # Two items, and 1e12 s for ten thousand.
    assert [each.seconds for each in found.stages if each.stage == "popularity: fit"] == [8]
    assert found.whole


def test_unknown_rows_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "count_rows", lambda path, said, items: None)
    found = estimated(tiny_config(tmp_path))
    assert (found.queries, found.whole) == (None, False)
    assert {each.seconds for each in found.stages} == {None}
    table = estimate_table(found.as_dict())
    assert table.rows[-1][0] == "the run, at least"
    assert table.rows[0] == ("read the log", None, None, None)


def test_two_digits_are_shown() -> None:
    stages = [
        {"stage": "read the log", "rows": 50_000_000, "seconds": 31.44, "memory_mb": 3_950},
        {"stage": "audit", "rows": 50_000_000, "seconds": 0.2, "memory_mb": 210.0},
    ]
    found = {"stages": stages, "seconds": 5_555.0, "peak_memory_mb": 12_345, "whole": True}
    table = estimate_table({**found, "queries_from": "rows of the log / 50"})
    assert table.rows == (
        ("read the log", 50_000_000, "31", "4,000"),
        ("audit", 50_000_000, "<1", "210"),
        ("the run", None, "5,600", "12,000"),
    )
    assert table.notes[-1] == "queries: about rows of the log / 50"


def test_an_estimate_is_plain_values(tmp_path: Path) -> None:
    told = plan(tiny_config(tmp_path)).as_dict()["estimate"]
    assert list(told) == [
        *("rows", "queries", "queries_from", "stages", "seconds", "peak_memory_mb", "whole"),
    ]
    assert list(told["stages"][0]) == [
        *("stage", "rows", "seconds", "memory_mb", "measured"),
    ]


def test_merges_read_deeper_lists_and_tell_what_channels_add(tmp_path: Path) -> None:
    generators = {
        "popularity": None,
        "als": None,
        "merged": {"type": "merge", "channels": {"popularity": 3, "als": 4}},
    }
    config = tiny_config(tmp_path, generators=generators, what_if=[2])
    found = plan(config).estimate
    assert found.queries is not None
    rows = {each.stage: each.rows for each in found.stages}
    # K is 2. popularity gives 3 items, or 5; als looks at 7 for its 4, and at 9 with two more
    # slots for either of them.
    assert plan(config).depths == {"popularity": 5, "als": 9, "merged": 7}
    assert rows["popularity: lists"] == 5 * found.queries
    assert rows["merged: lists"] == (3 + 7) * found.queries
    # The lists that the merge reads; the merge without one channel, and with more of each.
    assert rows["channels"] == (3 + 7 + 4 + 9 + 3 + 9) * found.queries
