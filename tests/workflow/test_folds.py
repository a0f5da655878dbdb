"""Runs of several folds, and of a cutoff for each user."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.errors import ConfigError, DataError
from recoeval.workflow.loaded import load_config
from recoeval.workflow.logs import open_log
from recoeval.workflow.preparation import prepare
from tests.workflow.test_pipeline import Stages, channel
from tests.workflow.test_preparation import RULE, tiny, tiny_config

ROLLING = {"type": "rolling", "folds": 2, "test": "2d"}
# The log ends on 13 January at midnight, so the windows end a microsecond later.
CUTOFFS = ["2026-01-09T00:00:00.000001Z", "2026-01-11T00:00:00.000001Z"]


def rolled(folder: Path, **sections: Any) -> rv.Run:
    generators = {"popularity": None, "channel": channel(folder)}
    return rv.run(tiny_config(folder, **{"split": ROLLING, "generators": generators} | sections))


@pytest.mark.parametrize("train", [None, "4d"])
def test_each_fold_is_the_run_of_its_own_windows(tmp_path: Path, train: str | None) -> None:
    split = ROLLING | ({"train": train} if train else {})
    whole = rolled(tmp_path, split=split)
    assert whole.manifest["definitions"]["cutoff"] == CUTOFFS
    for fold, cutoff in enumerate(CUTOFFS):
        rows = tiny()
        if train:
            start = pl.lit(cutoff).str.to_datetime(time_unit="us", time_zone="UTC")
            rows = rows.filter(pl.col("timestamp") >= start - pl.duration(days=4))
        folder = tmp_path / str(fold)
        folder.mkdir()
        rows.write_parquet(folder / "log.parquet")
        own = rolled(folder, split={"test_start": cutoff, "test": "2d"})
        for name in ("summary", "per_query", "hits", "lost", "loss"):
            ours, theirs = getattr(whole, name).filter(fold=fold), getattr(own, name)
            assert ours.drop("fold").equals(theirs.drop("fold")), name
        sides, expected = whole.manifest["splits"][fold], own.manifest["splits"][0]
        assert sides["fold"] == fold
        assert sides["train"]["rows"] == expected["train"]["rows"]
        assert sides["test"] == expected["test"]
        assert whole.manifest["folds"][fold]["truth"] == own.manifest["truth"]


def test_folds_have_a_mean_and_a_spread(tmp_path: Path) -> None:
    run = rolled(tmp_path)
    values = [run.value("recall@2", "popularity", fold=fold) for fold in (0, 1)]
    mean = run.value("recall@2", "popularity")
    assert None not in values
    assert mean == pytest.approx(sum(v for v in values if v is not None) / 2)
    row = run.folds.filter(
        generator="popularity", metric="recall@2", bucket_by="all", statistic="macro"
    ).row(0, named=True)
    assert (row["folds"], row["min"], row["max"]) == (2, min(values), max(values))  # type: ignore[type-var]
    assert run.per_query["fold"].unique().sort().to_list() == [0, 1]
    assert run.manifest["truth"]["truth_pairs"] == sum(
        each["truth"]["truth_pairs"] for each in run.manifest["folds"]
    )


def test_a_constraint_holds_in_every_fold(tmp_path: Path) -> None:
    constraint = {"metric": "recall@2", "min": 0.5, "confidence": None}
    generators = {"channel": channel(tmp_path)}
    run = rolled(tmp_path, constraints=[constraint], generators=generators)
    checks = {check.fold: check.value for check in run.verdict.checks}
    assert sorted(checks) == [0, 1]
    worst = min(value for value in checks.values() if value is not None)
    assert (run.verdict.outcome == "fail") == (worst < 0.5)


def test_a_stored_run_gives_back_its_folds(tmp_path: Path) -> None:
    run = rolled(tmp_path, output={"recommendations": True})
    again = rv.open_run(run.path)
    assert again.summary.equals(run.summary)
    assert again.folds.equals(run.folds)
    assert again.lost.equals(run.lost)
    assert again.loss.equals(run.loss)
    assert again.verdict == run.verdict
    assert dict(again.evaluation.counts) == json.loads(json.dumps(dict(run.evaluation.counts)))
    files = sorted((run.path / "recommendations" / "popularity").iterdir())
    assert [file.name for file in files] == ["part-00000.parquet", "part-00001.parquet"]
    lists = pl.concat([pl.read_parquet(file) for file in files])
    assert lists["fold"].unique(maintain_order=True).to_list() == [0, 1]


def test_stages_name_their_fold(tmp_path: Path) -> None:
    stages = Stages()
    generators = {"popularity": None}
    rv.run(tiny_config(tmp_path, split=ROLLING, generators=generators), progress=stages)
    names = [name for name, _ in stages.told]
    assert names[:2] == ["read the log", "fold 0: split and ground truth"]
    assert "fold 1: popularity: lists" in names
    assert names[-3:] == ["constraints", "write", "fingerprints"]


def test_folds_that_share_rows_are_noted(tmp_path: Path) -> None:
    assert rolled(tmp_path).manifest["notes"] == []
    assert rolled(tmp_path, split=ROLLING | {"step": "1d"}).manifest["notes"] == [
        (
            "split.step 1d is shorter than the test window of 2d: folds share test rows, and "
            "differ less than nights do"
        )
    ]


def test_folds_that_do_not_fit_are_told_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^split\.folds: 9 folds with a test window of 2d, "):
        rolled(tmp_path, split=ROLLING | {"folds": 9})


# leave_last: user, item, hour of 1 January, event
LAST = [
    ("a", 1, 1, "click"),
    ("b", 1, 2, "click"),
    ("a", 2, 3, "click"),  # the last but one click of a: its cutoff at n = 2
    ("c", 2, 4, "click"),  # the only click of c, which stays in train
    ("b", 2, 5, "view"),
    ("a", 3, 6, "view"),
    ("b", 3, 7, "click"),  # the last click of b
    ("a", 4, 8, "click"),  # the last click of a
    ("a", 5, 9, "view"),  # after it: a test row, not relevant
    ("d", 5, 9, "view"),  # no click at all
]


def leave_last(folder: Path, n: int = 1, **sections: Any) -> rv.Run:
    rows = [
        (user, item, f"2026-01-01T{hour:02}:00:00Z", event, 40.0)
        for user, item, hour, event in LAST
    ]
    tiny(rows).write_parquet(folder / "log.parquet")
    split = {"type": "leave_last", "n": n}
    truth = {"relevant": "event = 'click'"}
    return rv.run(tiny_config(folder, split=split, ground_truth=truth, **sections))


def test_leave_last_by_hand(tmp_path: Path) -> None:
    run = leave_last(tmp_path)
    side = {"start": None, "end": None}
    assert run.manifest["splits"] == [
        {
            "fold": 0,
            "train": {**side, "rows": 7, "users": 4, "items": 4},
            "test": {**side, "rows": 3, "users": 2, "items": 3},
            "gap_rows": 0,
            "later_rows": 0,
            "earlier_rows": 0,
            "users_too_short": 1,
        }
    ]
    # a: 4, b: 3. Both are items without a train row, so no list can hold them.
    assert run.lost.select("query_id", "item_id", "cause").rows() == [
        ("a", 4, "cold_item"),
        ("b", 3, "cold_item"),
    ]
    assert run.manifest["definitions"]["split"] == {"type": "leave_last", "n": 1}
    assert run.manifest["definitions"]["cutoff"] is None
    two = leave_last(tmp_path, n=2)
    # b has two clicks and nothing before them: it stays in train. a keeps 1, and is asked 2 and 4.
    assert two.per_query["query_id"].to_list() == ["a"]
    found = pl.concat([two.hits.select("item_id"), two.lost.select("item_id")])
    assert sorted(found["item_id"].to_list()) == [2, 4]
    assert two.manifest["splits"][0]["users_too_short"] == 2


def test_leave_last_does_not_depend_on_the_order_of_the_log(tmp_path: Path) -> None:
    run = leave_last(tmp_path, n=2)
    tiny_rows = pl.read_parquet(tmp_path / "log.parquet")
    tiny_rows.reverse().write_parquet(tmp_path / "log.parquet")
    again = rv.run(
        tiny_config(
            tmp_path,
            split={"type": "leave_last", "n": 2},
            ground_truth={"relevant": "event = 'click'"},
        )
    )
    assert again.summary.equals(run.summary)


def test_windows_of_generators_count_back_from_the_last_train_row(tmp_path: Path) -> None:
    # The last row of the train side is that of d at 9; c clicked item 2 at 4, b item 3 at 7.
    for window, hits in (("6h", [("a", 2)]), ("5h", [])):
        run = leave_last(tmp_path, n=2, generators={"popularity": {"window": window}})
        assert run.hits.select("query_id", "item_id").rows() == hits
    with pytest.raises(DataError, match=r"no train rows in the last 1h before 2026-01-01 09:00"):
        leave_last(tmp_path, n=2, generators={"popularity": {"window": "1h"}})


def test_nobody_has_enough_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        leave_last(tmp_path, n=9)
    assert str(caught.value) == (
        "split.n: no user has a relevant row before the last 9: 3 users have relevant rows, "
        "the most active one 3"
    )


# Several positives, and horizons.


def test_horizons_reach_beyond_the_test_window(tmp_path: Path) -> None:
    # The test window is [10, 12) January; user 1 has item 40 on the 12th, user 6 20 on the 13th.
    truth = {"relevant": None, "positives": {"long": {"where": RULE}}}
    near = rv.run(tiny_config(tmp_path, ground_truth=truth))
    far = {"relevant": None, "positives": {"long": {"where": RULE, "horizon": "2d"}}}
    same = rv.run(tiny_config(tmp_path, ground_truth=far))
    assert same.per_query.equals(near.per_query)
    far["positives"]["long"]["horizon"] = "30d"  # type: ignore[index]
    run = rv.run(tiny_config(tmp_path, ground_truth=far))
    assert near.per_query["query_id"].to_list() == [1, 2, 3, 4]
    assert run.per_query.select("query_id", "relevant").rows() == [
        (1, 2),
        (2, 2),
        (3, 1),
        (4, 2),
        (6, 1),
    ]


def test_kinds_of_positives_are_shown_apart(tmp_path: Path) -> None:
    truth = {
        "relevant": None,
        "positives": {
            "long": {"where": "dwell > 60", "gain": 3},
            "click": {"where": "event = 'click' AND dwell > 30"},
        },
    }
    run = rv.run(tiny_config(tmp_path, ground_truth=truth))
    plain = rv.run(tiny_config(tmp_path))
    assert run.per_query.drop("generator").equals(plain.per_query.drop("generator"))
    # Longer than 60: (1, 30) and (4, 60). Popularity has 30 for user 1, and cannot list 60.
    assert run.value("recall@2", bucket="positives:long") == pytest.approx(1 / 2)
    assert run.value("recall@2", bucket="positives:click") == plain.value("recall@2")
    gains = pl.concat([run.hits.select("gain"), run.lost.select("gain")])["gain"]
    assert sorted(gains.to_list()) == [1.0, 1.0, 1.0, 1.0, 3.0, 3.0]
    definitions = run.manifest["definitions"]
    assert definitions["positives"]["long"] == {"where": "dwell > 60", "gain": 3.0}
    assert definitions["train_rows"] == "(dwell > 60) OR (event = 'click' AND dwell > 30)"
    ask = [{"metric": "recall@2", "bucket": "positives", "match": "long", "min": 0.9}]
    bound = rv.run(tiny_config(tmp_path, ground_truth=truth, constraints=ask))
    assert [check.bucket for check in bound.verdict.checks] == ["long"]


def test_a_horizon_needs_times(tmp_path: Path) -> None:
    split = {"train": str(tmp_path / "log.parquet"), "test": str(tmp_path / "log.parquet")}
    with pytest.raises(ConfigError) as caught:
        rv.run(
            tiny_config(tmp_path, interactions=None, split=split, ground_truth={"horizon": "1d"})
        )
    assert str(caught.value) == "ground_truth: a horizon needs a split by time"


def moments(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
    """Returns clicks from (user, item, day of January)."""
    return tiny([(u, i, f"2026-01-{day:02}T00:00:00Z", "click", 40.0) for u, i, day in rows])


@pytest.mark.parametrize("rule", [{}, {"where": "event = 'click'"}])
@pytest.mark.parametrize(
    ("window", "seen"),
    [
        # User 1 asks on 5 January, user 2 on 25 January, where the train side ends.
        (None, [(1, 7), (1, 8), (2, 1), (2, 2), (2, 7)]),
        ("4d", [(1, 7), (1, 8), (2, 2)]),
        # The first moment is in the window.
        ("3d", [(1, 8), (2, 2)]),
        ("1d", [(2, 2)]),
    ],
)
def test_a_seen_window_ends_at_the_cutoff_of_each_user(
    tmp_path: Path, rule: dict[str, Any], window: str | None, seen: list[tuple[int, int]]
) -> None:
    # User 1 is evaluated on item 9, whether item 7 stays in the truth or not.
    rows = [(1, 7, 1), (1, 8, 2), (1, 7, 5), (1, 9, 5)]
    rows += [(2, 7, 10), (2, 1, 20), (2, 2, 24), (2, 3, 25)]
    moments(rows).write_parquet(tmp_path / "log.parquet")
    loaded = load_config(
        tiny_config(
            tmp_path,
            split={"type": "leave_last"},
            ground_truth={"relevant": "event = 'click'"},
            seen={**rule, **({"window": window} if window else {})},
        )
    )
    log = open_log(loaded.config, now=datetime(2026, 2, 1, tzinfo=UTC))
    done = prepare(loaded.config, log, log.folds[0])
    assert done.background.seen is not None
    assert sorted(done.background.seen.collect().rows()) == seen
    # A pair of the truth that is seen leaves it.
    assert done.counts["dropped_repeats"] == ((1, 7) in seen)
