"""What stands beside the log, over the log of test_preparation.py: every number is by hand.

Without roles popularity gives user 1: 30; user 2: 30; user 3: 20; user 4: 10, 20, and
the truth is 1: {30}, 2: {30, 50}, 3: {20}, 4: {20, 60}.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.errors import ConfigError, DataError
from tests.workflow.test_pipeline import LISTS
from tests.workflow.test_preparation import ROWS, TRUTH, tiny, tiny_config


def table(folder: Path, name: str, **columns: list[Any]) -> str:
    path = folder / name
    pl.DataFrame(columns).write_parquet(path)
    return str(path)


def found(run: rv.Run) -> list[tuple[Any, ...]]:
    """Returns the truth, from what was found and what was lost."""
    keys = ("query_id", "item_id")
    return sorted(pl.concat([run.hits.select(keys), run.lost.select(keys)]).unique().rows())


# canonical_items


def test_aliases_are_replaced_in_log_and_lists(tmp_path: Path) -> None:
    """Item 30 goes by 31 in some rows of the log, and in the lists: nothing changes."""
    lists = [(user, 31 if item == 30 else item, rank) for user, item, rank in LISTS]
    names = ("user_id", "item_id", "rank")
    runs = []
    for name, rows, delivered in (
        ("plain", ROWS, LISTS),
        (
            "aliased",
            [(user, 31 if item == 30 and user != 2 else item, *rest) for user, item, *rest in ROWS],
            lists,
        ),
    ):
        folder = tmp_path / name
        folder.mkdir()
        tiny(rows).write_parquet(folder / "log.parquet")
        pl.DataFrame(delivered, names, orient="row").write_parquet(folder / "lists.parquet")
        more = {}
        if name == "aliased":
            more["canonical_items"] = table(folder, "aliases.parquet", alias=[31], item_id=[30])
        channel = {"type": "precomputed", "path": str(folder / "lists.parquet")}
        generators = {"popularity": None, "channel": channel}
        runs.append(rv.run(tiny_config(folder, generators=generators, **more)))
    plain, aliased = runs
    for name in ("summary", "per_query", "hits", "lost", "loss"):
        assert getattr(aliased, name).equals(getattr(plain, name)), name
    assert aliased.manifest["log"] == plain.manifest["log"]
    # Six rows of the log have item 30: four of them are not of user 2.
    renamed = sum(item == 30 and user != 2 for user, item, *_ in ROWS)
    assert aliased.manifest["roles"] == {
        "canonical_items": {"aliases": 1, "aliases_in_log": 1, "rows_renamed": renamed}
    }
    assert aliased.manifest["definitions"]["canonical_items"] == "given"
    assert aliased.manifest["notes"] == [
        f"canonical_items: 1 of 1 aliases in the log, {renamed} rows renamed"
    ]
    assert "canonical_items" not in plain.manifest["definitions"]
    assert "canonical_items" in {each["role"] for each in aliased.manifest["inputs"]}


def test_aliases_go_before_duplicates(tmp_path: Path) -> None:
    """Two rows that differ in the alias alone are one event."""
    row = (1, 30, "2026-01-10T00:00:00Z", "click", 35.0)
    tiny([*ROWS, (1, 31, *row[2:])]).write_parquet(tmp_path / "log.parquet")
    aliases = table(tmp_path, "aliases.parquet", alias=[31], item_id=[30])
    run = rv.run(tiny_config(tmp_path, canonical_items={"path": aliases}))
    assert run.manifest["log"]["interactions"]["exact_duplicates"] == 2


def test_aliases_of_sides_in_files(tmp_path: Path) -> None:
    tiny(ROWS[:11]).write_parquet(tmp_path / "train.parquet")
    tiny([(u, 31 if i == 30 else i, *rest) for u, i, *rest in ROWS[13:26]]).write_parquet(
        tmp_path / "test.parquet"
    )
    aliases = table(tmp_path, "aliases.parquet", alias=[31], item_id=[30])
    split = {name: str(tmp_path / f"{name}.parquet") for name in ("train", "test")}
    run = rv.run(tiny_config(tmp_path, interactions=None, split=split, canonical_items=aliases))
    assert found(run) == TRUTH
    # Without aliases item 31 is a cold one, and nobody finds it.
    other = rv.run(tiny_config(tmp_path, interactions=None, split=split))
    assert (1, 31) in found(other)


# users


def test_excluded_users_and_busy_ones_leave_everything(tmp_path: Path) -> None:
    exclude = table(tmp_path, "bots.parquet", user_id=[3, 77])
    # User 1 has 3 rows on 10 January at most on a day; 4 rows a day nobody has.
    run = rv.run(tiny_config(tmp_path, users={"exclude": exclude, "max_rows_per_day": 2}))
    days: dict[tuple[int, str], int] = {}
    for user, _, time, *_ in ROWS:
        days[user, time[:10]] = days.get((user, time[:10]), 0) + 1
    busy = {user for (user, _), rows in days.items() if rows > 2 and user != 3}
    rows = {user: sum(row[0] == user for row in ROWS) for user in (1, 2, 3, 4, 5, 6)}
    assert busy == {2}
    assert run.manifest["roles"]["users"] == {
        "excluded_users": 1,
        "excluded_rows": rows[3],
        "excluded_unknown": 1,
        "busy_users": 1,
        "busy_rows": rows[2],
    }
    assert found(run) == [pair for pair in TRUTH if pair[0] not in (2, 3)]
    # The log as it was read has all of them, train and test have not.
    assert run.manifest["log"]["interactions"]["rows"] == len(ROWS)
    assert run.manifest["splits"][0]["train"]["users"] == 2
    assert run.manifest["definitions"]["users"] == {"exclude": "given", "max_rows_per_day": 2}
    assert run.manifest["notes"] == [
        f"users: 1 excluded, with {rows[3]} rows; 1 more are not in the log",
        f"users: 1 left out for more than max_rows_per_day, with {rows[2]} rows",
    ]


def test_everybody_excluded(tmp_path: Path) -> None:
    exclude = table(tmp_path, "bots.parquet", user_id=[1, 2, 3, 4, 5, 6])
    with pytest.raises(DataError) as caught:
        rv.run(tiny_config(tmp_path, users={"exclude": exclude}))
    assert str(caught.value) == (
        "users: no row of the log is left: excluded_users 6, excluded_rows 28, excluded_unknown 0"
    )


def test_buckets_and_quotas_of_users(tmp_path: Path) -> None:
    quotas = pl.Series([1, 2, 1, 3], dtype=pl.Int8)
    users = table(
        tmp_path,
        "users.parquet",
        user_id=[1, 2, 3, 4],
        country=["DE", "DE", "FR", None],
        quota=quotas,
    )
    run = rv.run(
        tiny_config(
            tmp_path,
            users={"table": users},
            buckets={"country": {"by": "column", "column": "country"}},
            metrics=["hits@quota", "hits@1"],
            output={"recommendations": True},
        )
    )
    assert run.evaluation.buckets["country"] == ("DE", "FR", "missing")
    lists = pl.read_parquet(run.path / "recommendations" / "popularity")
    # The largest quota decides how long lists are: user 4 gets 10, 20 and 30.
    assert lists.filter(query_id=4)["item_id"].to_list() == [10, 20, 30]
    assert run.value("hits@quota") == (1 + 1 + 1 + 1) / 4
    assert run.value("hits@1") == 3 / 4
    assert run.value("hits@1", bucket="missing") == 0


def test_quotas_need_their_column(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        rv.run(tiny_config(tmp_path, metrics=["hits@quota"]))
    assert str(caught.value) == (
        "metrics: hits@quota needs a column quota of the users: users: {table: ...}"
    )


# items and exposures


def test_the_catalogue_at_query_time(tmp_path: Path) -> None:
    """60 is not in the table, 50 is off, 30 came after the cutoff."""
    cutoff = datetime(2026, 1, 10, tzinfo=UTC)
    items = table(
        tmp_path,
        "items.parquet",
        item_id=[10, 20, 30, 40, 50],
        born=[None, cutoff, datetime(2026, 1, 10, 0, 0, 1, tzinfo=UTC), None, None],
        status=["on", "on", "on", "on", "off"],
    )
    run = rv.run(
        tiny_config(
            tmp_path,
            items={"table": items, "created_at": "born", "available": "status = 'on'"},
            metrics=["recall", "recall_ceiling", "item_coverage", "unknown_item_share"],
            buckets={"age": {"side": "item", "by": "item_age", "edges": [0, 5]}},
        )
    )
    causes = {row[0]: row[1] for row in run.lost.select("item_id", "cause").rows()}
    assert causes == {50: "unavailable", 60: "unavailable"}
    # Popularity lists 30 although it does not exist yet; hits are hits.
    assert run.value("recall@2") == (1 + 1 / 2 + 1 + 1 / 2) / 4
    assert run.value("recall_ceiling") == (1 + 1 / 2 + 1 + 1 / 2) / 4
    # The catalogue is 10, 20, 40; the lists have 10, 20 and 30.
    assert run.value("item_coverage@2") == 2 / 3
    assert run.manifest["definitions"]["items"] == {
        "created_at": "born",
        "available": "status = 'on'",
    }
    assert run.manifest["definitions"]["item_buckets"] == {
        "age": {"by": "item_age", "edges": [0.0, 5.0]}
    }
    counts = run.manifest["roles"]["items"]
    assert (counts["rows"], counts["available"], counts["created_at_is_null"]) == (5, 4, 3)


def test_exposures_of_the_test_window(tmp_path: Path) -> None:
    run = rv.run(
        tiny_config(
            tmp_path,
            exposures={"where": "user_id < 5"},
            metrics=["judged", "recall"],
        )
    )
    # Popularity gives 1: 30, 2: 30, 3: 20, 4: 10, 20. All but (4, 10) have a row in the window.
    assert run.value("judged@2") == 4 / 5
    assert run.manifest["truth"]["exposure_rows"] == 10
    assert run.manifest["definitions"]["exposures"] == {"where": "user_id < 5"}


def test_exposures_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        rv.run(tiny_config(tmp_path, exposures={"where": "event = 'shown'"}))
    assert str(caught.value) == (
        "exposures.where: none of the 13 rows of the test window passes \"event = 'shown'\""
    )


def test_judged_needs_exposures(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        rv.run(tiny_config(tmp_path, metrics=["judged@2"]))
    assert str(caught.value) == "metrics: judged@2 needs exposures"


@pytest.mark.parametrize(
    ("bucket", "text"),
    [
        ({"by": "column", "column": "country"}, "by: column needs a table of users: users: "),
        ({"side": "item", "by": "item_age", "edges": [1]}, "by: item_age needs a table of items: "),
        (
            {"side": "item", "by": "column", "column": "kind"},
            "by: column needs a table of items: items: ",
        ),
    ],
)
def test_buckets_need_their_table(tmp_path: Path, bucket: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rv.run(tiny_config(tmp_path, buckets={"some": bucket}))
    assert str(caught.value).startswith(f"buckets.some: {text}")
