"""Entries that stand for several generators: names from files and columns, also hostile ones."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import recoeval as rv
from recoeval.errors import ConfigError, DataError, RecoevalError
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config
from recoeval.workflow.loaded import load_config
from recoeval.workflow.planning import plan
from tests.workflow.test_preparation import tiny_config

LISTS = pl.DataFrame({"user_id": ["u1", "u1", "u2"], "item_id": [1, 2, 2], "rank": [1, 2, 1]})


def write(lists: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lists.write_parquet(path)


def per_file(folder: Path, **options: Any) -> dict[str, Any]:
    return {"type": "precomputed", "path": str(folder), "systems": "per_file", **options}


def by_column(path: Path, column: str = "model") -> dict[str, Any]:
    return {"type": "precomputed", "path": str(path), "systems": {"column": column}}


def loaded(tmp_path: Path, lists: dict[str, Any], **sections: Any) -> Config:
    generators = {"popularity": None, "lists": lists}
    return load_config(tiny_config(tmp_path, generators=generators, **sections)).config


def refusal(tmp_path: Path, lists: dict[str, Any], **sections: Any) -> tuple[str, int]:
    with pytest.raises(RecoevalError) as caught:
        loaded(tmp_path, lists, **sections)
    return str(caught.value).replace(str(tmp_path), "@"), caught.value.exit_code


def rows(generator: Any) -> list[tuple[Any, ...]]:
    return sorted(generator.read().collect().rows())


def test_each_file_is_a_generator_in_order_of_name(tmp_path: Path) -> None:
    write(LISTS.head(1), tmp_path / "lists" / "two.v2.parquet")
    write(LISTS.tail(1), tmp_path / "lists" / "als.parquet")
    found = loaded(tmp_path, per_file(tmp_path / "lists")).generators
    assert list(found) == ["popularity", "lists/als", "lists/two.v2"]
    assert rows(found["lists/als"]) == [("u2", 2, 1)]
    assert rows(found["lists/two.v2"]) == [("u1", 1, 1)]


def test_each_value_of_a_column_is_a_generator(tmp_path: Path) -> None:
    models = pl.Series("model", ["per_file", "a", "a"])
    write(LISTS.with_columns(models), tmp_path / "lists.parquet")
    found = loaded(tmp_path, by_column(tmp_path / "lists.parquet")).generators
    assert list(found) == ["popularity", "lists/a", "lists/per_file"]
    assert rows(found["lists/a"]) == [("u1", 2, 2), ("u2", 2, 1)]
    assert rows(found["lists/per_file"]) == [("u1", 1, 1)]


def test_the_column_may_be_numbers_a_category_or_the_generator(tmp_path: Path) -> None:
    for name, values in {
        "model": pl.Series([10, 9, 9]),
        "kind": pl.Series(["b", "a", "a"], dtype=pl.Categorical()),
        "generator": pl.Series(["b", "a", "a"]),
    }.items():
        path = tmp_path / f"{name}.parquet"
        write(LISTS.with_columns(values.alias(name)), path)
        found = loaded(tmp_path, by_column(path, name)).generators
        first, second = list(found)[1:]
        # As texts: 10 is before 9.
        assert (first, second) == (
            ("lists/10", "lists/9") if name == "model" else ("lists/a", "lists/b")
        )
        sizes = {"lists/10": 1, "lists/9": 2, "lists/a": 2, "lists/b": 1}
        assert [len(rows(found[each])) for each in (first, second)] == [sizes[first], sizes[second]]


def test_names_in_text_files_keep_their_zeros(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("user_id,item_id,rank,m\n1,2,1,01\n1,3,1,10\n")
    lists = by_column(path) | {"columns": {"model": "m"}}
    found = loaded(tmp_path, lists).generators
    assert list(found)[1:] == ["lists/01", "lists/10"]
    assert rows(found["lists/01"]) == [(1, 2, 1)]


def test_the_column_may_be_that_of_folders(tmp_path: Path) -> None:
    for model, day in (("a", 1), ("b", 1), ("a", 2)):
        write(LISTS.slice(day, 1), tmp_path / f"out/model={model}/dt=2026-11-0{day}/p.parquet")
    lists = by_column(tmp_path / "out") | {"as_of": "dt"}
    found = loaded(tmp_path, lists).generators
    assert list(found)[1:] == ["lists/a", "lists/b"]
    assert rows(found["lists/a"]) == [("u1", 2, 2), ("u2", 2, 1)]
    assert rows(found["lists/b"]) == [("u1", 2, 2)]
    both = [found[name].built().collect() for name in ("lists/a", "lists/b")]
    assert [frame.height for frame in both] == [2, 1]


def test_folders_of_files_that_are_systems_are_columns(tmp_path: Path) -> None:
    write(LISTS, tmp_path / "out" / "dt=2026-11-01" / "a.parquet")
    write(LISTS, tmp_path / "out" / "dt=2026-11-02" / "b.parquet")
    found = loaded(tmp_path, per_file(tmp_path / "out", as_of="dt")).generators
    times = found["lists/b"].built().collect()["as_of"].unique().to_list()
    assert [f"{time:%d}" for time in times] == ["02"]


def test_run_files_are_systems_too(tmp_path: Path) -> None:
    for name in ("bm25", "dense"):
        (tmp_path / f"{name}.run").write_text(f"u1 Q0 d1 1 2.5 {name}\n")
    found = loaded(tmp_path, per_file(tmp_path / "*.run")).generators
    assert list(found)[1:] == ["lists/bm25", "lists/dense"]
    assert rows(found["lists/dense"]) == [("u1", "d1", 2.5)]


def test_the_key_means_all_of_its_systems(tmp_path: Path) -> None:
    for name in "ab":
        write(LISTS, tmp_path / "lists" / f"{name}.parquet")
    config = loaded(
        tmp_path,
        per_file(tmp_path / "lists"),
        baselines=["lists"],
        constraints=[
            {"metric": "recall@1", "min": 0, "generators": ["popularity", "lists", "lists/a"]},
            {"metric": "recall@1", "min": 0, "generators": ["lists/b"]},
            "recall@1 >= 0",
        ],
    )
    assert config.baselines == ("lists/a", "lists/b")
    assert [each.generators for each in config.constraints] == [
        ("popularity", "lists/a", "lists/b"),
        ("lists/b",),
        None,
    ]


def test_a_system_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    write(LISTS, tmp_path / "lists" / "a.parquet")
    text, code = refusal(tmp_path, per_file(tmp_path / "lists"), baselines=["lists/b"])
    assert (text, code) == (
        (
            "baselines.0: unknown generator 'lists/b'. Did you mean 'lists/a'? "
            "Generators: popularity, lists/a"
        ),
        2,
    )


def test_channels_and_stages_name_systems_one_by_one(tmp_path: Path) -> None:
    for name in "ab":
        write(LISTS, tmp_path / "lists" / f"{name}.parquet")
    generators = {
        "popularity": None,
        "lists": per_file(tmp_path / "lists"),
        "merged": {"type": "merge", "channels": {"popularity": 1, "lists": 2}},
    }
    funnel = [{"stage": "recall", "generator": "lists", "k": 1}]
    with pytest.raises(ConfigError) as caught:
        load_config(tiny_config(tmp_path, generators=generators, funnel=funnel))
    said = "'lists' stands for its systems: name each of them. Generators: popularity, "
    said += "lists/a, lists/b, merged"
    assert str(caught.value).splitlines() == [
        f"funnel.0.generator: {said}",
        f"generators.merged.channels.lists: {said}",
    ]


def test_the_stored_configuration_is_as_written(tmp_path: Path) -> None:
    write(LISTS, tmp_path / "lists" / "a.parquet")
    data = tiny_config(tmp_path, generators={"lists": per_file(tmp_path / "lists")})
    first = load_config({**data, "baselines": ["lists"]})
    stored = yaml.safe_load(first.stored_yaml())
    assert list(stored["generators"]) == ["lists"]
    assert stored["baselines"] == ["lists"]
    assert first.redacted()["generators"]["lists"]["systems"] == "per_file"
    (tmp_path / "stored.yaml").write_text(first.stored_yaml())
    assert load_config(tmp_path / "stored.yaml").config == first.config
    # Found anew: a file that came later is a system of the next run.
    write(LISTS, tmp_path / "lists" / "b.parquet")
    again = load_config(tmp_path / "stored.yaml").config
    assert list(again.generators) == ["lists/a", "lists/b"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a", "", "a"], "1 system with a name that is none: ''"),
        (["../x", "/etc", "a\\b"], "3 systems with a name that is none: '../x', '/etc', 'a\\\\b'"),
        (["a\x1b[31m", "a\nb", "a"], "2 systems with a name that is none: 'a\\nb', 'a\\x1b[31m'"),
        ([" a", "..", "a"], "2 systems with a name that is none: ' a', '..'"),
        (["x" * 101, "a", "a"], f"1 system with a name that is none: '{'x' * 40}...'"),
    ],
)
def test_values_that_are_no_names(tmp_path: Path, names: list[str], told: str) -> None:
    write(LISTS.with_columns(pl.Series("model", names)), tmp_path / "lists.parquet")
    text, code = refusal(tmp_path, by_column(tmp_path / "lists.parquet"))
    assert text == (
        f"lists[lists]: {told}; it has 1 to 100 characters that can be shown, no / or \\, "
        "and no spaces around"
    )
    assert code == 3


def test_markup_is_a_name_like_others_and_escaped_in_reports(tmp_path: Path) -> None:
    names = pl.Series("model", ["<script>", "模型 2", "a,b"])
    write(LISTS.with_columns(names), tmp_path / "lists.parquet")
    found = loaded(tmp_path, by_column(tmp_path / "lists.parquet")).generators
    assert list(found)[1:] == ["lists/<script>", "lists/a,b", "lists/模型 2"]


BAD: dict[str, tuple[dict[str, list[Any]], str, int]] = {
    "no such column": (
        {"modell": ["a", "b", "c"]},
        (
            "generators.lists.systems.column: unknown column 'model' in @/lists.parquet. "
            "Did you mean 'modell'? Columns: user_id, item_id, rank, modell"
        ),
        2,
    ),
    "nulls": ({"model": ["a", None, None]}, "lists[lists].model: 2 rows without model", 3),
    "a null": ({"model": ["a", "b", None]}, "lists[lists].model: 1 row without model", 3),
    "nothing but nulls": ({"model": [None] * 3}, "lists[lists].model: 3 rows without model", 3),
    "fractions": (
        {"model": [0.5, 1.5, 1.5]},
        "lists[lists].model: Float64; expected text or whole numbers",
        3,
    ),
    "no rows": ({}, "lists[lists]: no rows", 3),
}


@pytest.mark.parametrize("case", BAD)
def test_columns_that_name_no_systems(tmp_path: Path, case: str) -> None:
    columns, message, code = BAD[case]
    lists = LISTS.with_columns(pl.Series(name, own) for name, own in columns.items())
    if not columns:
        lists = lists.with_columns(model=pl.lit("a")).clear()
    write(lists, tmp_path / "lists.parquet")
    assert refusal(tmp_path, by_column(tmp_path / "lists.parquet")) == (message, code)


def test_a_column_of_ids_is_not_the_one_that_was_meant(tmp_path: Path) -> None:
    lists = pl.DataFrame({"user_id": range(101), "item_id": range(101), "rank": [1] * 101})
    write(lists, tmp_path / "lists.parquet")
    assert refusal(tmp_path, by_column(tmp_path / "lists.parquet", "user_id")) == (
        (
            "lists[lists]: 101 systems, e.g. '0', '1', '10', '100', '11', ...; at most 100: "
            "is it another column?"
        ),
        3,
    )


def test_two_files_of_one_name(tmp_path: Path) -> None:
    write(LISTS, tmp_path / "lists" / "a" / "x.parquet")
    write(LISTS, tmp_path / "lists" / "b" / "x.parquet")
    assert refusal(tmp_path, per_file(tmp_path / "lists")) == (
        (
            "lists[lists]: @/lists/a/x.parquet and @/lists/b/x.parquet would both be the "
            "system 'x': rename one, or systems: {column: ...}"
        ),
        3,
    )


def test_no_files_and_no_path(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    text, code = refusal(tmp_path, per_file(tmp_path / "lists"))
    assert (text.partition(" (")[0], code) == ("lists[lists]: @/lists has no data files in it", 3)
    text, code = refusal(tmp_path, {"type": "precomputed", "path": "", "systems": "per_file"})
    assert (text, code) == ("generators.lists.path: missing; the path of the lists", 2)


@pytest.mark.parametrize("value", ["per_files", {"colum": "model"}, ["model"], 3])
def test_systems_are_per_file_or_a_column(tmp_path: Path, value: Any) -> None:
    lists = {"type": "precomputed", "path": "x.parquet", "systems": value}
    text, code = refusal(tmp_path, lists)
    assert code == 2
    assert text.startswith("generators.lists.systems")
    assert ("expected per_file or a mapping" in text) is not isinstance(value, dict), text


def test_a_place_in_the_file_is_that_of_the_entry(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    config["generators"] = {"lists": per_file(tmp_path / "lists", as_of="dt")}
    (tmp_path / "night.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    write(LISTS.with_columns(user_id=pl.lit(1)), tmp_path / "lists" / "a.parquet")
    with pytest.raises(ConfigError) as caught:
        plan(tmp_path / "night.yaml")
    lines = (tmp_path / "night.yaml").read_text().splitlines()
    line = lines.index("  lists:") + 1
    problem = caught.value.problems[0]
    assert problem.path == "generators.lists/a.as_of"
    assert re.search(rf"night\.yaml:({line}|{line + 1}):\d+$", problem.origin)


def test_python_reads_one_system_at_a_time(tmp_path: Path) -> None:
    write(LISTS, tmp_path / "a.parquet")
    generator = Precomputed(path=str(tmp_path / "*.parquet"), systems="per_file")
    assert generator.system_names() == ["a"]
    with pytest.raises(ConfigError, match="these are lists of several generators"):
        generator.read()
    assert rows(generator.one_system("a")) == rows(Precomputed(path=str(tmp_path / "a.parquet")))
    with pytest.raises(DataError, match="has no file 'b' any more"):
        generator.one_system("b").read()


def test_a_run_of_systems(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    log = pl.read_parquet(tmp_path / "log.parquet")
    users, items = log["user_id"].unique().sort(), log["item_id"].unique().sort()
    lists = pl.DataFrame({"user_id": users}).join(pl.DataFrame({"item_id": items}), how="cross")
    lists = lists.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user_id"))
    backwards = lists.with_columns(rank=pl.lit(items.len() + 1) - pl.col("rank"))
    both = pl.concat(
        [lists.with_columns(model=pl.lit("<b>")), backwards.with_columns(model=pl.lit("up"))]
    )
    write(both, tmp_path / "both.parquet")
    write(lists, tmp_path / "one" / "<b>.parquet")
    config |= {
        "generators": {
            "both": by_column(tmp_path / "both.parquet"),
            "one": per_file(tmp_path / "one"),
        },
        "metrics": ["recall"],
        "k": [1, 2],
        "output": {"path": str(tmp_path / "runs")},
    }
    done = rv.run(config)
    names = ["both/<b>", "both/up", "one/<b>"]
    assert done.manifest["generators"] == names
    values = {name: done.evaluation.value("recall@2", generator=name) for name in names}
    assert values["both/<b>"] == values["one/<b>"]
    # Every file is hashed once.
    hashed = [Path(each["path"]).name for each in done.manifest["inputs"]]
    assert sorted(hashed) == ["<b>.parquet", "both.parquet", "log.parquet"]
    assert {each["role"] for each in done.manifest["inputs"]} >= {
        "generators.both",
        "generators.one",
    }
    estimated = plan(config).as_dict()["estimate"]["rows"]
    assert estimated["lists[one/<b>]"] == lists.height
    assert json.dumps(done.manifest)
