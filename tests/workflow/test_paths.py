from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import recoeval as rv
from recoeval.workflow.loaded import Loaded, load_config
from recoeval.workflow.paths import absolute_paths
from tests.workflow.test_preparation import tiny, tiny_config

TEXT = """\
interactions: {log}
split: {{test: 3d}}
ground_truth: {{relevant: "TRUE"}}
generators: {{channel: {{type: precomputed, path: lists.parquet}}}}
"""


def load(place: str, log: str, **options: Any) -> Loaded:
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    Path(place).write_text(TEXT.format(log=log), "utf-8")
    return load_config(place, **options)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("log", "resolved"),
    [
        ("log.parquet", "configs/log.parquet"),
        ("./log.parquet", "configs/log.parquet"),
        ("../data/log.parquet", "data/log.parquet"),
        ("../../up/log.parquet", "../up/log.parquet"),
        ("'*.parquet'", "configs/*.parquet"),
        ("'dt=*/'", "configs/dt=*"),
        ("~/log.parquet", "~/log.parquet"),
        ("/data/log.parquet", "/data/log.parquet"),
        ("s3://bucket/log.parquet", "s3://bucket/log.parquet"),
        ("postgresql://host/log", "postgresql://host/log"),
        ("{path: log.parquet}", "configs/log.parquet"),
    ],
)
def test_a_path_is_relative_to_its_file(log: str, resolved: str) -> None:
    interactions = load("configs/x.yaml", log).config.interactions
    assert interactions is not None
    assert interactions.path == resolved


def test_a_path_of_the_environment_is_relative_to_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGS", "../data")
    loaded = load("configs/x.yaml", '"${LOGS}/log.parquet"')
    assert loaded.config.interactions is not None
    assert loaded.config.interactions.path == "data/log.parquet"


def test_a_path_of_an_inherited_file_is_relative_to_that_file() -> None:
    load("base/base.yaml", "log.parquet")
    Path("configs").mkdir()
    Path("configs/x.yaml").write_text("extends: ../base/base.yaml\nk: 5\n", "utf-8")
    loaded = load_config("configs/x.yaml")
    assert loaded.config.interactions is not None
    assert loaded.config.interactions.path == "base/log.parquet"
    assert getattr(loaded.config.generators["channel"], "path", "") == "base/lists.parquet"


def test_a_path_of_set_is_relative_to_the_current_folder() -> None:
    for sets in (["interactions.path=other.parquet"], {"interactions.path": "other.parquet"}):
        loaded = load("configs/x.yaml", "log.parquet", sets=sets)
        assert loaded.config.interactions is not None
        assert loaded.config.interactions.path == "other.parquet"
    loaded = load("configs/x.yaml", "log.parquet", sets=["interactions=other.parquet"])
    assert loaded.config.interactions is not None
    assert loaded.config.interactions.path == "other.parquet"
    assert load("x.yaml", "log.parquet", sets=["output.path=out"]).config.output.path == "out"


def test_a_path_of_a_mapping_is_relative_to_the_current_folder(tmp_path: Path) -> None:
    tiny().write_parquet("log.parquet")
    config = tiny_config(tmp_path)
    config["interactions"] = "log.parquet"
    assert rv.run(config).value("recall@2") == 3 / 4


def test_the_default_folder_of_runs_is_in_the_current_folder() -> None:
    assert load("configs/x.yaml", "log.parquet").config.output.path == "runs"


def test_sides_of_a_split_are_relative_to_their_file() -> None:
    Path("configs").mkdir()
    text = TEXT.format(log="{timestamp_unit: s}").replace(
        "{test: 3d}", "{train: a.parquet, test: {path: ../b.parquet}}"
    )
    Path("configs/x.yaml").write_text(text, "utf-8")
    split = load_config("configs/x.yaml").config.split
    assert split.type == "files"
    assert (split.train.path, split.test.path) == ("configs/a.parquet", "b.parquet")


@pytest.mark.parametrize("section", ["columns", "derive"])
def test_a_column_may_be_called_path(section: str) -> None:
    loaded = load("configs/x.yaml", f"{{path: log.parquet, {section}: {{path: uri}}}}")
    interactions = loaded.config.interactions
    assert interactions is not None
    assert getattr(interactions, section) == {"path": "uri"}
    stored = loaded.stored_yaml()
    assert "path: uri" in stored
    assert f"path: {Path.cwd()}/configs/log.parquet" in stored


def test_a_run_over_a_column_called_path() -> None:
    Path("configs").mkdir()
    table = tiny().with_columns(pl.lit("x").alias("uri"))
    table.write_parquet("configs/log.parquet")
    Path("configs/x.yaml").write_text(
        "interactions: {path: log.parquet, columns: {path: uri}, derive: {more: \"path || 'y'\"}}\n"
        "split: {test_start: 2026-01-10T00:00:00Z}\n"
        "ground_truth: {relevant: \"event = 'click' AND path = 'x' AND more = 'xy'\"}\n"
        "generators: {popularity: }\nk: [2]\n"
    )
    assert rv.run("configs/x.yaml").value("recall@2") is not None


@pytest.mark.parametrize("name", ["columns", "derive", "path"])
def test_a_generator_may_have_the_name_of_a_section(name: str) -> None:
    Path("configs").mkdir()
    text = TEXT.format(log="log.parquet").replace("channel", name)
    Path("configs/x.yaml").write_text(text, "utf-8")
    loaded = load_config("configs/x.yaml")
    assert getattr(loaded.config.generators[name], "path", "") == "configs/lists.parquet"


@pytest.mark.parametrize("folder", ["a b", "ä", "a'b", 'a"b', "a#b", "a:b"])
def test_folders_of_any_name(folder: str) -> None:
    Path(folder).mkdir()
    tiny().write_parquet(Path(folder) / "log.parquet")
    pl.DataFrame({"user_id": [2], "item_id": [10], "rank": [1]}).write_parquet(
        Path(folder) / "lists.parquet"
    )
    loaded = load(f"{folder}/x.yaml", "log.parquet")
    assert loaded.config.interactions is not None
    assert Path(str(loaded.config.interactions.path)).is_file()
    run = rv.run(f"{folder}/x.yaml")
    again = rv.run(run.path / "config.yaml")
    assert again.summary.equals(run.summary)


def test_absolute_paths() -> None:
    here = Path.cwd()
    data = {
        "interactions": {"path": "a/b.parquet", "columns": {"path": "p"}, "derive": {"path": "q"}},
        "split": {"train": {"path": "/c"}, "test": {"path": "~/d"}},
        "generators": {"x": {"path": "s3://e", "columns": {"path": "r"}}, "derive": {"path": "f"}},
        "output": {"path": "runs"},
        "k": [1],
    }
    assert absolute_paths(data) == {
        "interactions": {
            "path": f"{here}/a/b.parquet",
            "columns": {"path": "p"},
            "derive": {"path": "q"},
        },
        "split": {"train": {"path": "/c"}, "test": {"path": "~/d"}},
        "generators": {
            "x": {"path": "s3://e", "columns": {"path": "r"}},
            "derive": {"path": f"{here}/f"},
        },
        "output": {"path": f"{here}/runs"},
        "k": [1],
    }


ROLES = """\
interactions: log.parquet
canonical_items: aliases.parquet
users: {table: users.parquet, exclude: "dt={date}/bots.parquet", max_rows_per_day: 10}
items: {table: ../items.parquet, columns: {item_id: path}, created_at: table}
split: {test: 3d}
ground_truth: {relevant: "TRUE"}
generators: {popularity: }
"""


def test_tables_are_relative_to_their_file(tmp_path: Path) -> None:
    Path("configs").mkdir()
    Path("configs/x.yaml").write_text(ROLES, "utf-8")
    loaded = load_config("configs/x.yaml", date="2026-11-29")
    config = loaded.config
    assert config.canonical_items is not None
    assert config.users is not None
    assert config.items is not None
    assert config.canonical_items.path == "configs/aliases.parquet"
    assert config.users.table == "configs/users.parquet"
    assert config.users.exclude == "configs/dt=2026-11-29/bots.parquet"
    assert config.items.table == "items.parquet"
    # Columns may have any name.
    assert config.items.columns == {"item_id": "path"}
    assert config.items.created_at == "table"
    stored = load_config(yaml.safe_load(loaded.stored_yaml())).config
    assert stored.users is not None
    assert stored.users.table == str(tmp_path / "configs" / "users.parquet")
    assert stored.users.exclude == str(tmp_path / "configs" / "dt=2026-11-29" / "bots.parquet")
    assert stored.items is not None
    assert stored.items.table == str(tmp_path / "items.parquet")
