"""The demo data set: what is committed is what the script writes, and it is what it claims."""

import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

START = datetime(2026, 3, 2, tzinfo=UTC)
END = START + timedelta(days=28)
CUTOFF = END - timedelta(days=3)
NAMES = (
    "interactions.parquet",
    "users.parquet",
    "items.parquet",
    "channels/two_tower.parquet",
    "channels/editorial.csv.gz",
)
LONG_VIEW = (pl.col("event") == "click") & (pl.col("dwell_seconds") > 30)

Tables = Mapping[str, pl.DataFrame]


def read(folder: Path) -> Tables:
    return {
        Path(name).name.split(".")[0]: pl.read_parquet(folder / name)
        if name.endswith(".parquet")
        else pl.read_csv(folder / name)
        for name in NAMES
    }


def make(repository: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    script = repository / "scripts" / "make_demo_log.py"
    command = [sys.executable, "-W", "error", str(script), "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def demo(repository: Path) -> Tables:
    return read(repository / "datasets" / "demo")


@pytest.fixture(scope="module")
def log(demo: Tables) -> pl.DataFrame:
    return demo["interactions"]


@pytest.fixture(scope="module")
def lists(demo: Tables) -> pl.DataFrame:
    return demo["two_tower"].explode("item_id", "score")


def test_the_committed_data_is_what_the_script_writes(
    repository: Path, tmp_path: Path, demo: Tables
) -> None:
    done = make(repository, tmp_path)
    assert done.returncode == 0, done.stderr
    written = sorted(str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file())
    assert written == sorted(NAMES)
    for name, table in read(tmp_path).items():
        assert_frame_equal(table, demo[name], check_exact=True)


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_rows(
    repository: Path, tmp_path: Path
) -> None:
    small = ("--users", "300", "--items", "150", "--days", "10")
    for out, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        done = make(repository, tmp_path / out, *small, "--seed", seed)
        assert done.returncode == 0, done.stderr
    for name in NAMES:
        first = (tmp_path / "a" / name).read_bytes()
        assert (tmp_path / "b" / name).read_bytes() == first
        assert (tmp_path / "c" / name).read_bytes() != first
    tables = read(tmp_path / "a")
    assert (tables["users"].height, tables["items"].height) == (300, 150)
    times = tables["interactions"]["timestamp"]
    assert times.is_between(START, START + timedelta(days=10), closed="left").all()
    assert times.dt.date().n_unique() == 10


@pytest.mark.parametrize(
    "options", [("--days", "3"), ("--users", "99"), ("--items", "99"), ("--seed", "-1")]
)
def test_sizes_that_make_no_sense_are_refused(
    repository: Path, tmp_path: Path, options: tuple[str, str]
) -> None:
    done = make(repository, tmp_path / "out", *options)
    assert done.returncode == 2
    assert "expected days >= 4, users >= 100, items >= 100, seed >= 0" in done.stderr
    assert not (tmp_path / "out").exists()


def test_all_files_together_are_small(repository: Path) -> None:
    files = [f for f in (repository / "datasets" / "demo").rglob("*") if f.is_file()]
    assert sum(f.stat().st_size for f in files) <= 3_000_000


def test_the_log_has_its_columns(log: pl.DataFrame) -> None:
    assert log.schema == {
        "request_id": pl.Int64,
        "user_id": pl.String,
        "item_id": pl.Int32,
        "timestamp": pl.Datetime("us", "UTC"),
        "event": pl.String,
        "position": pl.Int8,
        "scene": pl.String,
        "dwell_seconds": pl.Float32,
    }
    assert set(log["event"]) == {"impression", "click", "like"}
    assert set(log["scene"]) == {"feed", "search"}
    assert log["timestamp"].is_sorted()
    assert log["timestamp"].is_between(START, END, closed="left").all()
    assert log.drop("dwell_seconds").null_count().sum_horizontal().item() == 0


def test_dwell_stands_on_clicks_alone(log: pl.DataFrame) -> None:
    assert (log["dwell_seconds"].is_not_null() == (log["event"] == "click")).all()
    assert (log["dwell_seconds"].drop_nulls() >= 0).all()


def test_a_request_is_one_page_of_one_user(log: pl.DataFrame) -> None:
    shown = log.filter(pl.col("event") == "impression")
    requests = shown.group_by("request_id").agg(
        pl.col("user_id", "scene", "timestamp").n_unique(),
        items=pl.col("item_id").n_unique(),
        places=pl.col("position").sort(),
        search=(pl.col("scene") == "search").first(),
    )
    assert (requests.select("user_id", "scene", "timestamp") == 1).to_numpy().all()
    length = pl.when("search").then(6).otherwise(10)
    whole = (pl.col("places").list.len() == length) & (pl.col("items") == length)
    whole &= pl.col("places") == pl.int_ranges(1, length + 1, dtype=pl.Int8)
    assert requests.select(whole.all()).item()


def test_clicks_and_likes_follow_an_impression_at_the_same_place(log: pl.DataFrame) -> None:
    on = ["request_id", "user_id", "item_id", "position", "scene"]
    shown = log.filter(pl.col("event") == "impression").select(*on, "timestamp")
    clicks = log.filter(pl.col("event") == "click").select(*on, "timestamp")
    likes = log.filter(pl.col("event") == "like").select(*on, "timestamp")
    for earlier, later in ((shown, clicks), (clicks, likes)):
        pairs = later.join(earlier, on=on, how="left", suffix="_before", validate="1:1")
        assert (pairs["timestamp"] > pairs["timestamp_before"]).all()
        assert pairs["timestamp_before"].null_count() == 0


def test_nothing_happens_before_the_item_or_the_user_is_there(demo: Tables) -> None:
    log = demo["interactions"].join(demo["items"], on="item_id", how="left", validate="m:1")
    log = log.join(demo["users"], on="user_id", how="left", validate="m:1")
    assert log.select((pl.col("timestamp") >= pl.col("created_at")).all()).item()
    assert log.select((pl.col("timestamp") >= pl.col("signup")).all()).item()
    assert log.select("created_at", "signup").null_count().sum_horizontal().item() == 0


def test_users_and_items_are_many_and_some_are_new(demo: Tables) -> None:
    users, items = demo["users"], demo["items"]
    assert (users.height, items.height) == (3000, 2000)
    assert users["user_id"].is_unique().all()
    assert items["item_id"].is_unique().all()
    assert 400 < items["created_at"].is_between(START, END).sum() < 600
    assert (items["created_at"] >= CUTOFF).sum() >= 30
    assert (users["signup"] >= CUTOFF).sum() >= 30


def test_activity_has_a_heavy_tail(log: pl.DataFrame) -> None:
    rows = log.group_by("user_id").len()["len"].sort(descending=True)
    assert rows.head(rows.len() // 10).sum() > 0.4 * log.height
    assert rows.median() < 100 < 1500 < rows.max()  # type: ignore[operator]


def test_clicks_fall_with_the_position(log: pl.DataFrame) -> None:
    rate = (
        log.filter(pl.col("scene") == "feed")
        .group_by("position")
        .agg(rate=(pl.col("event") == "click").sum() / (pl.col("event") == "impression").sum())
        .sort("position")["rate"]
    )
    assert rate.is_sorted(descending=True)
    assert rate[0] > 2 * rate[9]


def test_most_clicks_are_short_and_the_most_clicked_items_disappoint(log: pl.DataFrame) -> None:
    clicks = log.filter(pl.col("event") == "click").select("item_id", long=LONG_VIEW)
    assert 0.3 < clicks["long"].mean() < 0.5  # type: ignore[operator]
    items = clicks.group_by("item_id").agg(pl.len(), pl.col("long").mean())
    assert items.top_k(100, by="len")["long"].median() < 0.1  # type: ignore[operator]


def test_a_share_of_the_truth_repeats_train(log: pl.DataFrame) -> None:
    pairs = log.filter(LONG_VIEW).select("user_id", "item_id", late=pl.col("timestamp") >= CUTOFF)
    train = pairs.filter(~pl.col("late")).unique()
    truth = pairs.filter("late").unique()
    repeated = truth.join(train, on=["user_id", "item_id"], how="semi").height
    assert 0.1 < repeated / truth.height < 0.3


def test_two_tower_serves_exactly_the_users_it_could_know(
    demo: Tables, log: pl.DataFrame, lists: pl.DataFrame
) -> None:
    built = demo["two_tower"]["built_at"].unique().item()
    assert built == CUTOFF - timedelta(hours=6)
    views = log.filter(LONG_VIEW, pl.col("timestamp") < built).group_by("user_id").len()
    known = views.filter(pl.col("len") >= 5)["user_id"].sort()
    assert demo["two_tower"]["user_id"].to_list() == known.to_list()
    assert 0.2 * demo["users"].height < known.len() < 0.5 * demo["users"].height
    old = demo["items"].filter(pl.col("created_at") < built)["item_id"]
    assert lists["item_id"].is_in(old.implode()).all()


def test_two_tower_lists_are_whole_and_in_order(demo: Tables, lists: pl.DataFrame) -> None:
    assert (demo["two_tower"]["item_id"].list.len() == 100).all()
    assert (demo["two_tower"]["score"].list.len() == 100).all()
    assert (demo["two_tower"]["item_id"].list.n_unique() == 100).all()
    falls = pl.col("score").diff().over("user_id").fill_null(0) <= 0
    assert lists.select(falls.all()).item()
    assert lists["score"].is_finite().all()


def test_editorial_is_one_list_a_country(demo: Tables) -> None:
    built = CUTOFF - timedelta(hours=6)
    rows = demo["editorial"].join(demo["users"], on="user_id", how="left", validate="m:1")
    assert rows["user_id"].n_unique() == (demo["users"]["signup"] < built).sum()
    lists = rows.group_by("user_id", "country").agg(
        pl.col("rank"), pl.col("item_id"), items=pl.col("item_id").n_unique()
    )
    assert (lists["rank"].list.sort() == list(range(1, 41))).all()
    assert (lists["items"] == 40).all()
    places = rows.group_by("country", "rank").agg(pl.col("item_id").n_unique())
    assert (places["item_id"] == 1).all()
    old = demo["items"].filter(pl.col("created_at") < built)["item_id"]
    assert rows["item_id"].is_in(old.cast(pl.Int64).implode()).all()
