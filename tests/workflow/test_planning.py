from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.errors import ConfigError, DataError
from recoeval.report.planned import plan_sections
from recoeval.report.values import Paragraph
from recoeval.workflow.planning import Plan, plan, type_in_words
from tests.workflow.test_pipeline import channel
from tests.workflow.test_preparation import RULE, tiny, tiny_config, write_sides

LOG = {
    "user_id": "integer",
    "item_id": "integer",
    "timestamp": "time (UTC)",
    "event": "text",
    "dwell": "number",
}


def columns(found: Plan, name: str) -> Any:
    return found.inputs[name]["columns_found"]


def refused(config: dict[str, Any]) -> list[str]:
    with pytest.raises((ConfigError, DataError)) as caught:
        plan(config)
    return str(caught.value).splitlines()


def test_what_a_run_would_do(tmp_path: Path) -> None:
    generators = {"popularity": None, "als": {"factors": 8}, "channel": channel(tmp_path)}
    found = plan(
        tiny_config(
            tmp_path,
            generators=generators,
            metrics=["recall", "coverage", "ndcg@5"],
            constraints=["hits@7 >= 1"],
        )
    )
    assert columns(found, "interactions") == LOG
    assert columns(found, "lists[channel]") == {
        "query_id": "integer",
        "item_id": "integer",
        "rank": "integer",
    }
    assert found.measures == (
        *("recall@1", "recall@2", "coverage", "ndcg@5", "hits@7"),
        "recall_ceiling",
    )
    assert found.depth == 7
    made = found.as_dict()["generators"]
    assert list(made) == ["popularity", "als", "channel"]
    assert made["als"]["factors"] == 8
    assert made["als"]["iterations"] == 15
    # What was not asked for is not told: no empty mappings.
    assert set(made["channel"]) == {"type", "path"}
    assert found.config.name == "tiny"


def test_what_is_asked_of_channels(tmp_path: Path) -> None:
    generators = {"popularity": None, "als": None}
    alone = plan(tiny_config(tmp_path, generators=generators)).as_dict()
    assert (alone["what_if"], alone["funnel"]) == (None, [])
    assert not {"What if", "Funnel"} & {
        each.title for each in plan_sections({**alone, "config": ""})
    }
    merged = {"type": "merge", "channels": {"popularity": 1, "als": 2}}
    funnel = [
        {"stage": "recall", "generator": "merged", "k": 3},
        {"stage": "rank", "generator": "als", "k": 1, "min_recall": 0.1},
    ]
    told = plan(
        tiny_config(
            tmp_path, generators={**generators, "merged": merged}, what_if=[5, 10], funnel=funnel
        )
    ).as_dict()
    shown = {
        each.title: each.lines[0].text
        for each in plan_sections({**told, "config": ""})
        if isinstance(each, Paragraph)
    }
    assert shown["What if"] == "merges without each channel, and with 5, 10 more slots for it"
    assert shown["Funnel"] == "recall: the first 3 of merged, then rank: the first 1 of als"


def test_nothing_is_written_and_no_row_is_looked_at(tmp_path: Path) -> None:
    # Null ids and scores, a future: all of that is for the run to find.
    rows = [(None, 10, "2126-01-01T08:00:00Z", "click", 40.0)]
    tiny(rows).cast({"user_id": pl.Int64}).write_parquet(tmp_path / "log.parquet")
    pl.DataFrame({"user_id": [1], "item_id": [1], "score": [float("nan")]}).write_parquet(
        tmp_path / "lists.parquet"
    )
    lists = {"type": "precomputed", "path": str(tmp_path / "lists.parquet")}
    plan(tiny_config(tmp_path, generators={"channel": lists}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lists.parquet", "log.parquet"]


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"training": {"where": "dwell > 1", "weight": "dwell"}, "seen": {"window": "2d"}},
        {"ground_truth": {"gain": "dwell", "repeats": "include"}, "seen": {"where": "TRUE"}},
        {"ground_truth": {"horizon": "5d", "gain": 3}, "exposures": {"where": "TRUE"}},
        {
            "ground_truth": {
                "relevant": None,
                "positives": {"a": {"where": "dwell > 60", "gain": 2}, "b": {"where": RULE}},
            },
            "users": {"max_rows_per_day": 100},
        },
    ],
)
def test_rules_are_told_as_the_run_tells_them(tmp_path: Path, sections: dict[str, Any]) -> None:
    config = tiny_config(tmp_path, **sections)
    told = dict(rv.run(config).manifest["definitions"])
    del told["cutoff"]
    assert plan(config).as_dict()["rules"] == told


def test_files_of_a_split_are_inputs(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    found = plan(tiny_config(tmp_path, interactions=None, split=sides))
    assert found.as_dict()["rules"]["split"] == {"type": "files"}
    assert found.inputs["split.test"]["path"] == sides["test"]


def test_constraints_say_whom_they_bind_and_what_decides(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        generators={"popularity": None, "als": {"factors": 8}},
        baselines=["popularity"],
        constraints=[
            "recall@2 >= 0.1",
            {"metric": "recall@2", "generators": ["popularity"], "max": 1, "severity": "warn"},
            {"metric": "recall@2", "max": 1, "confidence": None},
            "coverage >= 0.5",
        ],
    )
    found = [tuple(each.values()) for each in plan(config).as_dict()["constraints"]]
    assert [(list(names), *rest) for _, names, *rest in found] == [
        (["als"], "error", 0.95),
        (["popularity"], "warn", 0.95),
        (["als"], "error", None),
        (["als"], "error", None),
    ]


def test_paths_as_they_are_opened_and_secrets_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny().write_parquet(tmp_path / "log.parquet")
    monkeypatch.setenv("LOGS", str(tmp_path))
    monkeypatch.setenv("LOG_TOKEN", str(tmp_path))
    lists = channel(tmp_path)["path"].removeprefix(str(tmp_path))
    generators = {"channel": {"type": "precomputed", "path": f"${{LOG_TOKEN}}{lists}"}}
    config = tiny_config(
        tmp_path, interactions={"path": "${LOGS}/log.parquet"}, generators=generators
    )
    found = plan(config).as_dict()
    assert found["inputs"]["interactions"]["path"] == f"{tmp_path}/log.parquet"
    assert found["generators"]["channel"]["path"] == f"${{LOG_TOKEN}}{lists}"


@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        (pl.UInt16(), "integer"),
        (pl.Float32(), "number"),
        (pl.Decimal(10, 2), "number"),
        (pl.Boolean(), "true or false"),
        (pl.Categorical(), "text"),
        (pl.Datetime("ms"), "time"),
        (pl.Datetime("us", "Asia/Shanghai"), "time (Asia/Shanghai)"),
        (pl.Date(), "date"),
        (pl.Duration("us"), "duration"),
        (pl.Null(), "nothing but nulls"),
        (pl.List(pl.Int64()), "list of integer"),
        (pl.Array(pl.String(), 3), "list of text"),
    ],
)
def test_types_in_words(dtype: pl.DataType, words: str) -> None:
    assert type_in_words(dtype) == words


def test_lists_end_at_the_largest_k(tmp_path: Path) -> None:
    # The row after it, which tells ties, is in no list.
    assert plan(tiny_config(tmp_path, metrics=["recall", "tie_share"])).depth == 2
    # Metrics without K take the deepest of k.
    assert plan(tiny_config(tmp_path, metrics=["coverage"], k=[10, 50])).depth == 50


def test_derived_columns_are_columns(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        interactions={"derive": {"minutes": "dwell / 60"}},
        ground_truth={"relevant": "minutes > 0.5"},
    )
    assert columns(plan(config), "interactions") == {**LOG, "minutes": "number"}


def test_settings_and_dates(tmp_path: Path) -> None:
    (tmp_path / "dt=2026-01-13").mkdir()
    tiny().write_parquet(tmp_path / "dt=2026-01-13" / "log.parquet")
    config = tiny_config(tmp_path, interactions={"path": f"{tmp_path}/dt={{date}}/log.parquet"})
    found = plan(config, set=["k=[4]"], date=date(2026, 1, 13))
    assert found.measures == ("recall@4", "precision@4", "recall_ceiling")
    assert columns(found, "interactions") == LOG


def test_all_problems_of_headers_and_rules_at_once(tmp_path: Path) -> None:
    lists = {**channel(tmp_path), "columns": {"score": "points"}}
    config = tiny_config(
        tmp_path,
        generators={"channel": lists, "popularity": None},
        ground_truth={"relevant": "evnt = 'click'", "gain": "event"},
        training={"where": "dwell", "weight": "dwell > 1"},
        seen={"where": "SUM(dwell) > 1"},
    )
    places = [line.partition(":")[0] for line in refused(config)]
    assert places == [
        "generators.channel.columns.score",
        "ground_truth.relevant",
        "ground_truth.gain",
        "training.where",
        "training.weight",
        "seen.where",
    ]


def test_each_side_of_a_split_by_files_has_its_columns(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    pl.read_parquet(sides["train"]).drop("dwell").write_parquet(sides["train"])
    config = tiny_config(tmp_path, interactions=None, split=sides)
    # The ground truth looks at the test side, training at the train side.
    (problem,) = refused({**config, "training": {"where": "dwell > 30"}})
    assert problem.startswith("training.where: unknown column 'dwell' in ")
    found = plan({**config, "training": {"where": "event = 'click'"}})
    assert set(found.inputs) == {"split.train", "split.test"}


def test_the_default_training_rule_is_held_against_the_train_side(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    pl.read_parquet(sides["train"]).drop("dwell").write_parquet(sides["train"])
    problems = refused(tiny_config(tmp_path, interactions=None, split=sides))
    assert problems[0].startswith("ground_truth.relevant: unknown column 'dwell' in ")


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (
            {"interactions": {"columns": {"timestamp": "time"}}},
            "interactions.columns.timestamp: unknown column 'time' in {folder}/log.parquet.",
        ),
        (
            {"interactions": {"path": "/none/log.parquet"}},
            "interactions.path: no such file or folder: /none/log.parquet",
        ),
        (
            {"generators": {"channel": {"type": "precomputed", "path": "/none.parquet"}}},
            "lists[channel]: no such file or folder: /none.parquet",
        ),
    ],
)
def test_inputs_that_are_not_there(tmp_path: Path, sections: dict[str, Any], said: str) -> None:
    problems = refused(tiny_config(tmp_path, **sections))
    assert problems[0].startswith(said.format(folder=tmp_path))


def test_a_log_without_times(tmp_path: Path) -> None:
    tiny().drop("timestamp").write_parquet(tmp_path / "log.parquet")
    (problem,) = refused(tiny_config(tmp_path))
    assert problem.startswith("interactions.timestamp: a split by time needs times.")


def test_a_window_that_the_log_cannot_serve(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    config = tiny_config(tmp_path, interactions=None, split=sides)
    (problem,) = refused({**config, "seen": {"window": "3d"}})
    assert problem.startswith("seen.window: ")


TABLES = {
    "users.parquet": {"user_id": [1, 2], "country": ["DE", "FR"]},
    "bots.parquet": {"user_id": [9]},
    "items.parquet": {"item_id": [10, 20], "born": ["2026-01-01", "2026-01-02"], "on": [1, 0]},
    "aliases.parquet": {"old": [11], "item_id": [10]},
}


def with_tables(folder: Path, **sections: Any) -> dict[str, Any]:
    for name, columns in TABLES.items():
        pl.DataFrame(columns).write_parquet(folder / name)
    roles: dict[str, Any] = {
        "users": {"table": str(folder / "users.parquet"), "exclude": str(folder / "bots.parquet")},
        "items": {
            "table": str(folder / "items.parquet"),
            "created_at": "born",
            "timestamp_unit": "iso",
            "available": "on = 1",
        },
        "canonical_items": {"path": str(folder / "aliases.parquet"), "columns": {"alias": "old"}},
    }
    for name, section in sections.items():
        roles[name] = {**roles.get(name, {}), **section}
    return tiny_config(folder, **roles)


def test_tables_beside_the_log_are_inputs(tmp_path: Path) -> None:
    found = plan(with_tables(tmp_path)).inputs
    assert {name: dict(found[name]["columns_found"]) for name in list(found)[1:]} == {
        "canonical_items": {"alias": "integer", "item_id": "integer"},
        "users": {"user_id": "integer", "country": "text"},
        "users.exclude": {"user_id": "integer"},
        "items": {
            "item_id": "integer",
            "born": "text",
            "on": "integer",
            "created_at": "time (UTC)",
            "available": "true or false",
        },
    }
    assert found["users"]["table"] == str(tmp_path / "users.parquet")
    assert found["users.exclude"]["path"] == str(tmp_path / "bots.parquet")
    assert found["items"]["available"] == "on = 1"
    rules = plan(with_tables(tmp_path)).as_dict()["rules"]
    assert rules["users"] == {"exclude": "given"}
    assert rules["items"] == {"created_at": "born", "available": "on = 1"}
    assert rules["canonical_items"] == "given"


def test_what_tables_lack_is_told_at_once(tmp_path: Path) -> None:
    config = with_tables(
        tmp_path,
        canonical_items={"columns": {"alias": "elder"}},
        items={"available": "off = 1"},
        users={"columns": {"country": "land"}},
        exposures={"where": "shown"},
        buckets={"kind": {"side": "item", "by": "column", "column": "kind"}},
    )
    problems = refused(config | {"metrics": ["recall@quota"]})
    assert [problem.split(":")[0] for problem in problems] == [
        "canonical_items.columns.alias",
        "users.columns.country",
        "items.available",
        "exposures.where",
    ]
    config = with_tables(tmp_path, buckets={"land": {"by": "column", "column": "land"}})
    assert refused(config | {"metrics": ["recall@quota"]}) == [
        "buckets.land.column: unknown column 'land' in the users table. Columns: user_id, country",
        "metrics: recall@quota needs a column quota of the users table. Columns: user_id, country",
    ]


def test_as_of_is_a_column_of_the_lists(tmp_path: Path) -> None:
    pl.DataFrame({"user_id": [1], "item_id": [1], "rank": [1]}).write_parquet(
        tmp_path / "lists.parquet"
    )
    lists = {"type": "precomputed", "path": str(tmp_path / "lists.parquet"), "as_of": "built"}
    (problem,) = refused(tiny_config(tmp_path, generators={"channel": lists}))
    assert problem.startswith("generators.channel.as_of: unknown column 'built'")


ALIKE = "Cast one side, so that both are integers or both are text"


@pytest.mark.parametrize(
    ("table", "name", "said"),
    [
        ("users", "user_id", f"users.user_id: String, but the log has Int64. {ALIKE}"),
        ("bots", "user_id", f"users.exclude.user_id: String, but the log has Int64. {ALIKE}"),
        ("items", "item_id", f"items.item_id: String, but the log has Int64. {ALIKE}"),
        ("aliases", "old", f"canonical_items.alias: String, but the log has Int64. {ALIKE}"),
        ("aliases", "item_id", f"canonical_items.item_id: String, but the log has Int64. {ALIKE}"),
    ],
)
def test_tables_with_ids_of_another_type(tmp_path: Path, table: str, name: str, said: str) -> None:
    config = with_tables(tmp_path)
    file = tmp_path / f"{table}.parquet"
    pl.read_parquet(file).cast({name: pl.String}).write_parquet(file)
    with pytest.raises(DataError) as caught:
        plan(config)
    assert str(caught.value) == said
    with pytest.raises(DataError):
        rv.run(config)


@pytest.mark.parametrize(
    ("name", "column", "key"),
    [("user_id", "query_id", "user_id_type"), ("item_id", "item_id", "item_id_type")],
)
def test_lists_with_ids_of_another_type(tmp_path: Path, name: str, column: str, key: str) -> None:
    lists = channel(tmp_path)
    pl.read_parquet(lists["path"]).cast({name: pl.String}).write_parquet(lists["path"])
    config = tiny_config(tmp_path, generators={"channel": lists})
    said = (
        f"lists[channel].{column}: String, but the log has Int64. Cast one side: {key}: text "
        "(zeros in front that a file has lost do not come back)"
    )
    with pytest.raises(DataError) as caught:
        plan(config)
    assert str(caught.value) == said
    with pytest.raises(DataError):
        rv.run(config)
    cast = {"generators": {"channel": {**lists, key: "int"}}}
    assert plan(tiny_config(tmp_path, **cast)).depth == 2


def test_sides_with_ids_of_two_types(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=True)
    side = pl.read_parquet(sides["test"]).cast({"user_id": pl.String, "item_id": pl.String})
    side.write_parquet(sides["test"])
    said = "String, but split.train has Int64. Cast one side: "
    assert refused(tiny_config(tmp_path, interactions=None, split=sides)) == [
        f"split.test.user_id: {said}user_id_type: text",
        f"split.test.item_id: {said}item_id_type: text",
    ]


def test_rows_of_a_day_need_times(tmp_path: Path) -> None:
    sides = write_sides(tmp_path, times=False)
    config = tiny_config(tmp_path, interactions=None, split=sides, users={"max_rows_per_day": 3})
    said = ["users.max_rows_per_day: needs times, and the log has none: leave it out"]
    assert refused(config) == said
    with pytest.raises(ConfigError) as caught:
        rv.run(config)
    assert str(caught.value).splitlines() == said


def test_the_age_of_items_needs_their_times(tmp_path: Path) -> None:
    buckets = {"age": {"side": "item", "by": "item_age", "edges": [1]}}
    assert plan(with_tables(tmp_path, buckets=buckets)).depth == 2
    config = with_tables(tmp_path, buckets=buckets)
    config["items"] = {"table": config["items"]["table"]}
    said = ["buckets.age: by: item_age needs the times when items were created: created_at"]
    assert refused(config) == said
    with pytest.raises(ConfigError) as caught:
        rv.run(config)
    assert str(caught.value).splitlines() == said
    # The column may have its own name already.
    table = pl.read_parquet(config["items"]["table"]).rename({"born": "created_at"})
    table.write_parquet(config["items"]["table"])
    config["items"]["timestamp_unit"] = "iso"
    assert plan(config).depth == 2
