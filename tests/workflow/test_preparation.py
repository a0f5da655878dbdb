"""The log of this file is worked by hand; test_pipeline.py, test_store.py and others use it too.

cutoff 10 January, gap 1 day (train ends 9 January), test window 2 days (to 12 January)
relevant: event = 'click' AND dwell > 30
"""

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recoeval.data.sources import Source, scan_interactions
from recoeval.errors import ConfigError, DataError
from recoeval.workflow.config import Config
from recoeval.workflow.loaded import load_config
from recoeval.workflow.logs import Fold, Log, open_log
from recoeval.workflow.preparation import Prepared, prepare

NOW = datetime(2026, 2, 1, tzinfo=UTC)

# user, item, time, event, dwell in seconds
TRAIN = [
    (1, 10, "2026-01-01T08:00:00Z", "click", 40.0),
    (1, 10, "2026-01-02T08:00:00Z", "click", 50.0),  # the pair again: still one user
    (2, 10, "2026-01-01T09:00:00Z", "click", 31.0),
    (3, 10, "2026-01-03T08:00:00Z", "click", 99.0),
    (1, 20, "2026-01-02T09:00:00Z", "click", 60.0),
    (2, 20, "2026-01-08T23:59:59.999999Z", "click", 45.0),  # the last moment of the window
    (3, 30, "2026-01-04T00:00:00Z", "click", 40.0),
    (1, 30, "2026-01-01T10:00:00Z", "click", 30.0),  # 30 is not more than 30
    (2, 40, "2026-01-05T00:00:00Z", "impression", None),  # false and null: false
    (4, 10, "2026-01-04T12:00:00Z", "impression", 0.0),  # a history without a train row
    (3, 40, "2026-01-06T00:00:00Z", "click", None),  # null is no train row
]
GAP = [
    (1, 40, "2026-01-09T00:00:00Z", "click", 100.0),  # the first moment of the gap
    (2, 50, "2026-01-09T12:00:00Z", "click", 50.0),
]
TEST = [
    (1, 30, "2026-01-10T00:00:00Z", "click", 35.0),  # the cutoff itself
    (1, 30, "2026-01-11T00:00:00Z", "click", 80.0),  # the same pair, longer
    (1, 10, "2026-01-10T08:00:00Z", "click", 40.0),  # seen
    (2, 30, "2026-01-10T08:00:00Z", "click", 31.0),
    (2, 30, "2026-01-10T08:00:00Z", "click", 31.0),  # an exact duplicate
    (2, 50, "2026-01-10T09:00:00Z", "click", 40.0),  # cold item: the gap does not warm it
    (3, 20, "2026-01-11T23:59:59.999999Z", "click", 45.0),  # the last moment of the window
    (4, 20, "2026-01-10T08:00:00Z", "click", 50.0),  # cold user
    (4, 60, "2026-01-11T08:00:00Z", "click", 200.0),  # cold user, cold item
    (5, 10, "2026-01-10T08:00:00Z", "click", 10.0),
    (5, 20, "2026-01-10T08:00:00Z", "click", None),  # null is not relevant, and counted
    (6, 10, "2026-01-10T08:00:00Z", "impression", 0.0),
    (3, 10, "2026-01-10T08:00:00Z", "click", 60.0),  # seen
]
LATER = [
    (1, 40, "2026-01-12T00:00:00Z", "click", 90.0),  # the end is not in the window
    (6, 20, "2026-01-13T00:00:00Z", "click", 90.0),
]
ROWS = [*TRAIN, *GAP, *TEST, *LATER]
COLUMNS = ("user_id", "item_id", "timestamp", "event", "dwell")
RULE = "event = 'click' AND dwell > 30"
# Sections that a change replaces; the others are merged.
REPLACED = ("split", "generators")
SPLIT = {"test_start": "2026-01-10T00:00:00Z", "test": "2d", "gap": "1d"}

SEEN = [(1, 10), (1, 20), (2, 10), (2, 20), (3, 10), (3, 30)]
TRUTH = [(1, 30), (2, 30), (2, 50), (3, 20), (4, 20), (4, 60)]


def tiny(rows: list[tuple[Any, ...]] | None = None) -> pl.DataFrame:
    """Returns the log with times as moments."""
    table = pl.DataFrame(ROWS if rows is None else rows, COLUMNS, orient="row", strict=False)
    return table.with_columns(pl.col("timestamp").str.to_datetime(time_unit="us", time_zone="UTC"))


def tiny_config(folder: Path, /, **sections: Any) -> dict[str, Any]:
    """Returns a configuration for the log, which is written to the folder unless it is there."""
    path = folder / "log.parquet"
    if not path.exists():
        tiny().write_parquet(path)
    config = {
        "name": "tiny",
        "interactions": {"path": str(path)},
        "split": SPLIT,
        "ground_truth": {"relevant": RULE},
        "generators": {"popularity": None},
        "metrics": ["recall", "precision"],
        "k": [1, 2],
        "engine": {"threads": 1},
        "output": {"path": str(folder / "runs")},
    }
    for name, section in sections.items():
        old = config.get(name)
        both = isinstance(section, dict) and isinstance(old, dict) and name not in REPLACED
        config[name] = {**old, **section} if both else section
    return config


def opened(folder: Path, /, **sections: Any) -> tuple[Any, Log]:
    config = load_config(tiny_config(folder, **sections)).config
    return config, open_log(config, now=NOW)


def prepared(folder: Path, /, **sections: Any) -> Prepared:
    return prepared_of(*opened(folder, **sections))


def prepared_of(config: Config, log: Log) -> Prepared:
    (fold,) = log.folds
    return prepare(config, log, fold)


def pairs(frame: pl.DataFrame | pl.LazyFrame, *names: str) -> list[tuple[Any, ...]]:
    return sorted(frame.lazy().select(names).collect().rows())


def truth_of(done: Prepared) -> list[tuple[Any, ...]]:
    return pairs(done.truth.pairs, "query_id", "item_id")


def seen_of(done: Prepared) -> list[tuple[Any, ...]]:
    return pairs(done.background.seen, "user_id", "item_id")


def test_windows_and_facts(tmp_path: Path) -> None:
    _, log = opened(tmp_path)
    assert log.folds[0].windows is not None
    assert log.folds[0].windows.train_end == datetime(2026, 1, 9, tzinfo=UTC)
    assert log.folds[0].windows.cutoff == datetime(2026, 1, 10, tzinfo=UTC)
    assert log.folds[0].windows.test_end == datetime(2026, 1, 12, tzinfo=UTC)
    assert log.sources == {"interactions": str(tmp_path / "log.parquet")}
    facts = log.facts["interactions"]
    assert (facts.rows, facts.exact_duplicates) == (28, 1)
    assert facts.start == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert facts.end == datetime(2026, 1, 13, tzinfo=UTC)
    expected = {"train": TRAIN, "test": TEST}
    for name, rows in expected.items():
        assert sorted(getattr(log.folds[0], name).collect().rows(), key=str) == sorted(
            tiny(rows).rows(), key=str
        )


def test_split_report(tmp_path: Path) -> None:
    assert prepared(tmp_path).split.as_dict() == {
        "train": {"start": None, "end": "2026-01-09T00:00:00Z", "rows": 11, "users": 4, "items": 4},
        "test": {
            "start": "2026-01-10T00:00:00Z",
            "end": "2026-01-12T00:00:00Z",
            "rows": 13,
            "users": 6,
            "items": 5,
        },
        "gap_rows": 2,
        "later_rows": 2,
        "earlier_rows": 0,
        "users_too_short": 0,
    }


def test_truth_and_every_count(tmp_path: Path) -> None:
    done = prepared(tmp_path)
    assert truth_of(done) == TRUTH
    assert done.truth.pairs["gain"].to_list() == [1.0] * 6
    assert done.truth.queries["query_id"].to_list() == [1, 2, 3, 4]
    assert dict(done.counts) == {
        "test_rows": 13,
        "rule_was_null": 1,
        "relevant_rows": 10,
        "relevant_pairs": 8,
        "pairs": 8,
        "queries_with_pairs": 4,
        "dropped_repeats": 2,
        "zero_relevant_queries": 2,
        "truth_pairs": 6,
        "truth_queries": 4,
        "evaluated_queries": 4,
        "evaluated_users": 4,
        "train_rows": 7,
    }
    assert done.truth.policies == {
        "zero_relevant": "skip",
        "repeats": "exclude",
        "cold_users": "keep",
        "cold_items": "keep",
    }


def test_train_rows_seen_pairs_and_activity(tmp_path: Path) -> None:
    done = prepared(tmp_path)
    rows = done.train.rows.collect()
    assert rows.columns == ["user_id", "item_id", "timestamp", "weight"]
    assert pairs(rows, "user_id", "item_id") == sorted([*SEEN, (1, 10)])
    assert rows["weight"].to_list() == [1.0] * 7
    assert seen_of(done) == SEEN
    assert done.train.seen is not None
    assert pairs(done.train.seen, "user_id", "item_id") == SEEN
    assert done.train.end == datetime(2026, 1, 9, tzinfo=UTC)
    assert (done.train.seed, done.train.threads) == (7, 1)
    activity = pairs(done.background.activity, "user_id", "train_interactions", "train_rows")
    assert activity == [(1, 4, 3), (2, 3, 2), (3, 3, 2), (4, 1, 0)]


def test_no_gap_and_no_end(tmp_path: Path) -> None:
    done = prepared(tmp_path, split={"test_start": "2026-01-10T00:00:00Z"})
    assert done.split.train.rows == 13
    assert done.split.test.rows == 15
    assert (done.split.gap_rows, done.split.later_rows) == (0, 0)
    assert done.split.test.end == "2026-01-13T00:00:00.000001Z"
    # The gap's rows are train rows now: 40 leaves user 1's truth, 50 user 2's.
    assert seen_of(done) == sorted([*SEEN, (1, 40), (2, 50)])
    assert truth_of(done) == [(1, 30), (2, 30), (3, 20), (4, 20), (4, 60), (6, 20)]
    assert done.counts["dropped_repeats"] == 4


def test_split_by_a_length_from_the_end(tmp_path: Path) -> None:
    _, log = opened(tmp_path, split={"test": "3d"})
    assert log.folds[0].windows is not None
    assert log.folds[0].windows.cutoff == datetime(2026, 1, 10, 0, 0, 0, 1, tzinfo=UTC)


def test_split_by_a_fraction(tmp_path: Path) -> None:
    # 28 rows, 0.25: ceil(7) = 7; row 21 in time order, counted from 0.
    _, log = opened(tmp_path, split={"fraction": 0.25})
    times = sorted(tiny()["timestamp"].to_list())
    assert log.folds[0].windows is not None
    assert log.folds[0].windows.cutoff == times[21] == datetime(2026, 1, 10, 8, tzinfo=UTC)
    # Eight rows have this very time: all of them are test rows.
    assert log.folds[0].test.collect().height == sum(time >= times[21] for time in times) == 14


@pytest.mark.parametrize(
    ("policies", "truth", "queries", "dropped"),
    [
        ({}, TRUTH, [1, 2, 3, 4], {}),
        (
            {"repeats": "include"},
            sorted([*TRUTH, (1, 10), (3, 10)]),
            [1, 2, 3, 4],
            {"dropped_repeats": None, "truth_pairs": 8},
        ),
        (
            {"cold_users": "drop"},
            [(1, 30), (2, 30), (2, 50), (3, 20)],
            [1, 2, 3],
            {"dropped_cold_users": 2, "zero_relevant_queries": 3},
        ),
        (
            {"cold_items": "drop"},
            [(1, 30), (2, 30), (3, 20), (4, 20)],
            [1, 2, 3, 4],
            {"dropped_cold_items": 2, "zero_relevant_queries": 2},
        ),
        (
            {"cold_users": "drop", "cold_items": "drop"},
            [(1, 30), (2, 30), (3, 20)],
            [1, 2, 3],
            {"dropped_cold_users": 2, "dropped_cold_items": 1},
        ),
        ({"zero_relevant": "zero"}, TRUTH, [1, 2, 3, 4, 5, 6], {"evaluated_queries": 6}),
        ({"zero_relevant": "one"}, TRUTH, [1, 2, 3, 4, 5, 6], {"truth_queries": 4}),
    ],
)
def test_policies(
    tmp_path: Path,
    policies: dict[str, str],
    truth: list[tuple[int, int]],
    queries: list[int],
    dropped: dict[str, int | None],
) -> None:
    done = prepared(tmp_path, ground_truth=policies)
    assert truth_of(done) == truth
    assert done.truth.queries["query_id"].to_list() == queries
    assert {name: done.counts.get(name) for name in dropped} == dropped
    assert (done.train.seen is None) == (policies.get("repeats") == "include")
    assert seen_of(done) == SEEN


def test_zero_relevant_can_be_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"2 queries have no relevant item, e\.g\. 5, 6; "):
        prepared(tmp_path, ground_truth={"zero_relevant": "error"})


def test_gains_are_the_largest_of_a_pair(tmp_path: Path) -> None:
    gain = "CASE WHEN dwell > 60 THEN 2 ELSE 1 END"
    done = prepared(tmp_path, ground_truth={"gain": gain})
    assert pairs(done.truth.pairs, "query_id", "item_id", "gain") == [
        (1, 30, 2.0),
        (2, 30, 1.0),
        (2, 50, 1.0),
        (3, 20, 1.0),
        (4, 20, 1.0),
        (4, 60, 2.0),
    ]


def test_a_training_rule_of_its_own(tmp_path: Path) -> None:
    training = {"where": "event = 'click'", "weight": "COALESCE(dwell, 1) / 10"}
    done = prepared(tmp_path, training=training)
    rows = pairs(done.train.rows, "user_id", "item_id", "weight")
    assert rows == [
        (1, 10, 4.0),
        (1, 10, 5.0),
        (1, 20, 6.0),
        (1, 30, 3.0),
        (2, 10, 3.1),
        (2, 20, 4.5),
        (3, 10, 9.9),
        (3, 30, 4.0),
        (3, 40, 0.1),
    ]
    # (1, 30) is a train pair now, so it is seen and leaves the truth of user 1, who had it alone.
    assert truth_of(done) == [pair for pair in TRUTH if pair != (1, 30)]
    assert done.counts["dropped_repeats"] == 3
    assert done.counts["zero_relevant_queries"] == 3


def test_seen_by_exposure(tmp_path: Path) -> None:
    done = prepared(tmp_path, seen={"where": "event = 'impression'"})
    assert seen_of(done) == [(2, 40), (4, 10)]
    assert truth_of(done) == sorted([*TRUTH, (1, 10), (3, 10)])
    assert done.counts["dropped_repeats"] == 0


def test_a_window_of_the_seen_rule_is_half_open(tmp_path: Path) -> None:
    # [5 January, 9 January): the row at its first moment is in it.
    done = prepared(tmp_path, seen={"where": "event = 'impression'", "window": "4d"})
    assert seen_of(done) == [(2, 40)]
    recent = prepared(tmp_path, seen={"window": "5d"})
    assert seen_of(recent) == [(2, 20), (3, 30)]


def test_duplicates_can_be_dropped(tmp_path: Path) -> None:
    config, log = opened(tmp_path, interactions={"duplicates": "drop"})
    # What the log has, and what is left of it.
    assert (log.facts["interactions"].rows, log.facts["interactions"].exact_duplicates) == (28, 1)
    done = prepared_of(config, log)
    assert (done.split.test.rows, done.counts["relevant_rows"]) == (12, 9)
    assert truth_of(done) == TRUTH


def test_rows_can_be_left_out_and_columns_derived(tmp_path: Path) -> None:
    config, log = opened(
        tmp_path,
        interactions={"derive": {"minutes": "dwell / 60"}, "where": "user_id <> 4"},
        ground_truth={"relevant": "event = 'click' AND minutes > 0.5"},
    )
    done = prepared_of(config, log)
    assert truth_of(done) == [pair for pair in TRUTH if pair[0] != 4]
    assert log.facts["interactions"].rows == 25


def write(folder: Path, kind: str) -> dict[str, Any]:
    """Returns the `interactions` of the log, written in a format."""
    iso = pl.DataFrame(ROWS, COLUMNS, orient="row", strict=False)
    text = {"timestamp_unit": "iso"}
    if kind == "csv":
        iso.write_csv(folder / "log.csv")
        return {"path": str(folder / "log.csv"), **text}
    if kind == "csv.gz":
        (folder / "log.csv.gz").write_bytes(gzip.compress(iso.write_csv().encode()))
        return {"path": str(folder / "log.csv.gz"), **text}
    if kind == "dat":
        # Numbers: "::" is read by ":", which times as text have in them.
        rows = tiny().with_columns(pl.col("timestamp").dt.epoch("us")).rows()
        body = "\n".join("::".join("" if v is None else str(v) for v in row) for row in rows)
        (folder / "log.dat").write_text(body + "\n", "utf-8")
        form = {"separator": "::", "header": False, "names": list(COLUMNS)}
        return {"path": str(folder / "log.dat"), "format": form, "timestamp_unit": "us"}
    if kind == "ndjson":
        iso.write_ndjson(folder / "log.ndjson")
        return {"path": str(folder / "log.ndjson"), **text}
    if kind == "ipc":
        tiny().write_ipc(folder / "log.arrow")
        return {"path": str(folder / "log.arrow")}
    if kind == "epochs in hive partitions":
        epochs = tiny().with_columns(pl.col("timestamp").dt.epoch("us").alias("ts"))
        parted = epochs.with_columns(pl.col("timestamp").dt.date().alias("dt")).drop("timestamp")
        for (day,), rows in parted.partition_by("dt", as_dict=True).items():
            place = folder / "hive" / f"dt={day}"
            place.mkdir(parents=True)
            rows.drop("dt").write_parquet(place / "part-0.parquet")
        columns = {"timestamp": "ts"}
        return {"path": str(folder / "hive"), "columns": columns, "timestamp_unit": "us"}
    if kind == "glob of parquet":
        for number, rows in enumerate(tiny().iter_slices(10)):
            rows.write_parquet(folder / f"log-{number}.parquet")
        return {"path": str(folder / "log-*.parquet")}
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind",
    ["csv", "csv.gz", "dat", "ndjson", "ipc", "epochs in hive partitions", "glob of parquet"],
)
def test_every_format_gives_the_same(tmp_path: Path, kind: str) -> None:
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    config = tiny_config(plain)
    expected = prepared(plain)
    loaded = load_config({**config, "interactions": write(other, kind)}).config
    same(prepared_of(loaded, open_log(loaded, now=NOW)), expected)


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow", "duckdb"])
def test_every_frame_gives_the_same(tmp_path: Path, kind: str) -> None:
    config, log = opened(tmp_path)
    table = tiny()
    if kind == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("log", table.to_arrow())
        frame: Any = connection.sql("SELECT * FROM log")
    else:
        frame = {
            "polars": lambda: table,
            "lazy": table.lazy,
            "pandas": table.to_pandas,
            "pyarrow": table.to_arrow,
        }[kind]()
    rows = scan_interactions(Source(), frame=frame)
    windows = log.folds[0].windows
    assert windows is not None
    fold = Fold(0, windows.train(rows), windows.test(rows), windows.train_end, windows)
    own = Log((fold,), rows, log.read, log.sources, log.roles)
    same(prepared_of(config, own), prepared_of(config, log))


def same(found: Prepared, expected: Prepared) -> None:
    assert found.truth.pairs.equals(expected.truth.pairs)
    assert found.truth.queries.equals(expected.truth.queries)
    assert found.counts == expected.counts
    assert found.split == expected.split
    for name, columns in (
        ("seen", ("user_id", "item_id")),
        ("activity", ("user_id", "train_interactions", "train_rows")),
    ):
        ours, theirs = getattr(found.background, name), getattr(expected.background, name)
        assert pairs(ours, *columns) == pairs(theirs, *columns)
    ours, theirs = (done.train.rows.collect() for done in (found, expected))
    order = ["user_id", "item_id", "timestamp"]
    assert ours.sort(order).equals(theirs.sort(order))
    assert found.train.end == expected.train.end


def test_ids_keep_their_zeros(tmp_path: Path) -> None:
    rows = [(f"{user:03}", f"{item:04}", *rest) for user, item, *rest in ROWS]
    table = pl.DataFrame(rows, COLUMNS, orient="row", strict=False)
    table.write_csv(tmp_path / "zeros.csv")
    source = {"path": str(tmp_path / "zeros.csv"), "timestamp_unit": "iso"}
    done = prepared(tmp_path, interactions=source)
    assert truth_of(done) == [(f"{user:03}", f"{item:04}") for user, item in TRUTH]


def write_sides(folder: Path, *, times: bool) -> dict[str, Any]:
    for name, rows in (("train", TRAIN), ("test", TEST)):
        table = tiny(rows) if times else tiny(rows).drop("timestamp")
        table.write_parquet(folder / f"{name}.parquet")
    return {name: str(folder / f"{name}.parquet") for name in ("train", "test")}


@pytest.mark.parametrize("times", [True, False])
def test_split_by_files(tmp_path: Path, times: bool) -> None:
    sides = write_sides(tmp_path, times=times)
    config, log = opened(tmp_path, interactions=None, split=sides)
    done = prepared_of(config, log)
    assert truth_of(done) == TRUTH
    assert seen_of(done) == SEEN
    assert done.train.end is None
    assert ("timestamp" in done.train.rows.collect_schema()) == times
    report = done.split.as_dict()
    assert report["train"] == {"start": None, "end": None, "rows": 11, "users": 4, "items": 4}
    assert report["test"] == {"start": None, "end": None, "rows": 13, "users": 6, "items": 5}
    assert set(log.facts) == {"split.train", "split.test"}
    assert log.facts["split.test"].exact_duplicates == 1


def test_both_sides_take_what_interactions_say(tmp_path: Path) -> None:
    for name, rows in (("train", TRAIN), ("test", TEST)):
        table = pl.DataFrame(rows, COLUMNS, orient="row", strict=False)
        table.rename({"user_id": "uid", "item_id": "vid"}).write_csv(tmp_path / f"{name}.csv")
    done = prepared(
        tmp_path,
        interactions={
            "path": None,
            "columns": {"user_id": "uid", "item_id": "vid"},
            "timestamp_unit": "iso",
        },
        split={
            "train": str(tmp_path / "train.csv"),
            "test": {"path": str(tmp_path / "test.csv"), "duplicates": "drop"},
        },
    )
    assert truth_of(done) == TRUTH
    assert done.counts["test_rows"] == 12
    assert done.split.train.rows == 11


def test_sides_with_ids_of_two_types(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    text = pl.read_parquet(sides["test"]).with_columns(pl.col("item_id").cast(pl.String))
    text.write_parquet(sides["test"])
    with pytest.raises(DataError) as caught:
        prepared(tmp_path, interactions=None, split=sides)
    assert str(caught.value) == (
        "split.test.item_id: String, but split.train has Int64. Cast one side: item_id_type: text"
    )


def test_a_seen_window_needs_times(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    with pytest.raises(ConfigError) as caught:
        prepared(tmp_path, interactions=None, split=sides, seen={"window": "3d"})
    assert str(caught.value) == "seen.window: a window needs a split by time"


def test_the_test_window_teaches_nothing(tmp_path: Path) -> None:
    expected = prepared(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    altered = [(user, item + 500, time, event, 999.0) for user, item, time, event, _ in TEST]
    config = tiny_config(other)
    tiny([*TRAIN, *GAP, *altered, *LATER]).write_parquet(other / "log.parquet")
    loaded = load_config(config).config
    done = prepared_of(loaded, open_log(loaded, now=NOW))
    assert truth_of(done) != truth_of(expected)
    assert done.train.rows.collect().equals(expected.train.rows.collect())
    assert seen_of(done) == seen_of(expected)
    assert pairs(done.background.activity, "user_id", "train_interactions") == pairs(
        expected.background.activity, "user_id", "train_interactions"
    )


@pytest.mark.parametrize("rows", [ROWS[::-1], sorted(ROWS, key=str), ROWS[13:] + ROWS[:13]])
def test_the_order_of_the_log_means_nothing(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    expected = prepared(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    tiny(rows).write_parquet(other / "log.parquet")
    same(prepared(other), expected)
