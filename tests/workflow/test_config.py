from pathlib import Path
from typing import Any

import pytest

from recoeval.errors import ConfigError
from recoeval.generators import ALS, GENERATORS, Popularity
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config, json_schema, list_depth, wanted_measures
from recoeval.workflow.loaded import load_config
from tests.workflow.test_preparation import RULE, tiny_config


def problems(config: dict[str, Any], **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(config, **options)
    return str(caught.value).splitlines()


def test_the_smallest_configuration() -> None:
    config = load_config(
        {
            "interactions": "log.parquet",
            "split": {"test": "3d"},
            "ground_truth": {"relevant": RULE},
            "generators": {"popularity": None, "als": None},
        }
    ).config
    assert config.generators == {"popularity": Popularity(), "als": ALS()}
    assert config.metrics == ("recall", "precision", "hit_rate")
    assert config.k == (10, 100)
    assert (config.name, config.seed, config.query) == ("recoeval", 7, "user")
    assert config.output.path == "runs"
    assert config.engine.threads is None
    policies = config.ground_truth
    assert (policies.zero_relevant, policies.repeats) == ("skip", "exclude")


@pytest.mark.parametrize(
    ("section", "value", "expected"),
    [
        ("k", 5, (5,)),
        ("k", [5, 1], (5, 1)),
        ("baselines", ["popularity"], ("popularity",)),
        ("seed", 0, 0),
        ("seed", 2**32 - 1, 2**32 - 1),
    ],
)
def test_values(tmp_path: Path, section: str, value: Any, expected: Any) -> None:
    config = load_config(tiny_config(tmp_path, **{section: value})).config
    assert getattr(config, section) == expected


@pytest.mark.parametrize(
    ("sections", "paths"),
    [
        ({"seed": 2**32}, ["seed"]),
        ({"seed": 1.5}, ["seed"]),
        ({"seed": True}, ["seed"]),
        ({"name": ""}, ["name"]),
        ({"name": ".hidden"}, ["name"]),
        ({"name": "a/b"}, ["name"]),
        ({"name": "x" * 101}, ["name"]),
        ({"generators": {"a b": {"type": "random"}}}, ["generators.a b"]),
        ({"buckets": {"a:b": {"by": "relevant_items", "edges": [1]}}}, ["buckets.a:b"]),
        ({"metrics": []}, ["metrics"]),
        ({"generators": {}}, ["generators"]),
        ({"query": "request_id"}, ["query"]),
        ({"engine": {"type": "spark"}}, ["engine.type"]),
        ({"engine": {"threads": 0}}, ["engine.threads"]),
        ({"output": {"recommendations": "maybe"}}, ["output.recommendations"]),
        ({"baselines": ["none"]}, ["baselines.0"]),
        ({"constraints": ["recall@1 >= 1", "recall@1 = 1"]}, ["constraints.1"]),
        (
            {"constraints": [{"metric": "recall@1", "min": 0, "generators": ["a", "popularity"]}]},
            ["constraints.0.generators.0"],
        ),
        (
            {"constraints": [{"metric": "recall@1", "min": 0, "bucket": "size"}]},
            ["constraints.0.bucket"],
        ),
        ({"constraints": [{"metric": "recall", "min": 0}]}, ["constraints.0.metric"]),
        ({"ground_truth": {"relevant": None}}, ["ground_truth.relevant"]),
        ({"interactions": None}, ["interactions"]),
        ({"interactions": {"path": None}}, ["interactions"]),
        (
            {"split": {"train": {"columns": {}}, "test": "b.parquet"}},
            ["interactions.path", "split.train.path"],
        ),
    ],
)
def test_what_does_not_fit(tmp_path: Path, sections: dict[str, Any], paths: list[str]) -> None:
    found = problems(tiny_config(tmp_path, **sections))
    assert [line.partition(": ")[0] for line in found] == paths


def test_a_rule_is_not_needed_where_the_rows_are_chosen_already() -> None:
    config = load_config(
        {
            "split": {"train": "a.parquet", "test": "b.parquet"},
            "generators": {"popularity": None},
        }
    ).config
    assert config.ground_truth.relevant is None


def test_all_problems_between_sections_at_once(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        interactions={"path": None},
        ground_truth={"relevant": None},
        baselines=["none"],
        constraints=[{"metric": "recall@1", "min": 0, "bucket": "size", "generators": ["no"]}],
        metrics=["recall"],
        k=[],
    )
    found = [line.partition(": ")[0] for line in problems(config)]
    assert sorted(found) == [
        "baselines.0",
        "constraints.0.bucket",
        "constraints.0.generators.0",
        "ground_truth.relevant",
        "interactions",
        "metrics.0",
    ]


def test_everything_is_frozen(tmp_path: Path) -> None:
    config = load_config(tiny_config(tmp_path)).config
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 8


def test_what_is_computed(tmp_path: Path) -> None:
    config = load_config(
        tiny_config(
            tmp_path,
            metrics=["recall", "ndcg( gain = linear )@3", "coverage", "recall@1"],
            k=[1, 2],
            constraints=["recall@2 >= 0", "mrr@9 >= 0", "mrr@9 <= 1", "coverage >= 0"],
        )
    ).config
    measured = wanted_measures(config)
    assert [measure.label for measure in measured] == [
        "recall@1",
        "recall@2",
        "ndcg(gain=linear)@3",
        "coverage",
        "mrr@9",
        "recall_ceiling",
    ]
    assert list_depth(config, measured) == 9


def zones(config: Config) -> list[str | None]:
    """Returns the time zones of created_at and of the build times of the lists."""
    assert config.items is not None
    lists = [each for each in config.generators.values() if isinstance(each, Precomputed)]
    return [config.items.timezone, *(each.timezone for each in lists)]


def with_times(folder: Path, **sections: Any) -> dict[str, Any]:
    lists = {"type": "precomputed", "path": "lists.parquet"}
    generators = {
        "popularity": None,
        "local": {**lists, "as_of": "built"},
        "own": {**lists, "as_of": "built", "timezone": "Asia/Tokyo"},
        "moment": {**lists, "as_of": "2026-01-09T00:00:00Z"},
        "unknown": lists,
    }
    return tiny_config(
        folder, **{"generators": generators, "items": {"table": "items.parquet"}} | sections
    )


def test_times_without_a_zone_are_in_that_of_the_log(tmp_path: Path) -> None:
    path = {"path": str(tmp_path / "log.parquet")}
    plain = with_times(tmp_path)
    assert zones(load_config(plain).config) == [None, None, "Asia/Tokyo", None, None]
    config = {**plain, "interactions": {**path, "timezone": "America/New_York"}}
    loaded = load_config(config)
    here = "America/New_York"
    assert zones(loaded.config) == [here, here, "Asia/Tokyo", None, None]
    # What is stored says so, and loads to the same.
    (tmp_path / "stored.yaml").write_text(loaded.stored_yaml())
    assert zones(load_config(tmp_path / "stored.yaml").config) == zones(loaded.config)
    config["items"] = {"table": "items.parquet", "timezone": "UTC"}
    assert zones(load_config(config).config)[0] == "UTC"


@pytest.mark.parametrize(
    ("train", "test", "both", "zone"),
    [
        ("Asia/Tokyo", "Asia/Tokyo", None, "Asia/Tokyo"),
        (None, None, "Asia/Tokyo", "Asia/Tokyo"),
        ("Asia/Tokyo", "Europe/Berlin", None, None),
        ("Asia/Tokyo", None, "Europe/Berlin", "Europe/Berlin"),
        (None, None, None, None),
    ],
)
def test_the_zone_of_two_sides(
    tmp_path: Path, train: str | None, test: str | None, both: str | None, zone: str | None
) -> None:
    def side(name: str, own: str | None) -> dict[str, Any]:
        return {"path": name} | ({"timezone": own} if own else {})

    split = {"type": "files", "train": side("a.parquet", train), "test": side("b.parquet", test)}
    config = with_times(tmp_path, split=split)
    config["interactions"] = {"timezone": both} if both else None
    assert zones(load_config(config).config) == [zone, zone, "Asia/Tokyo", None, None]


def test_ties_and_r_precision_make_no_list_longer(tmp_path: Path) -> None:
    config = load_config(tiny_config(tmp_path, metrics=["tie_share", "r_precision"], k=[3])).config
    assert list_depth(config, wanted_measures(config)) == 3


@pytest.mark.parametrize("bucket", ["coldness", "served"])
def test_what_is_told_apart_without_a_bucket_can_be_bound(tmp_path: Path, bucket: str) -> None:
    constraint = {"metric": "recall@1", "min": 0, "bucket": bucket}
    config = load_config(tiny_config(tmp_path, constraints=[constraint])).config
    assert config.constraints[0].bucket == bucket


@pytest.mark.parametrize("value", ["factors=128", "generators.als.factors"])
def test_malformed_settings(tmp_path: Path, value: str) -> None:
    (problem,) = problems(tiny_config(tmp_path), sets=[value])
    assert problem.startswith(f"--set {value}: ")


def test_short_forms(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    config["interactions"] = config["interactions"]["path"]
    config["generators"] = {"popularity": None, "als": False, "floor": {"type": "random"}}
    loaded = load_config(config).config
    assert loaded.interactions is not None
    assert loaded.interactions.path == str(tmp_path / "log.parquet")
    assert {name: each.type for name, each in loaded.generators.items()} == {
        "popularity": "popularity",
        "floor": "random",
    }


def test_the_stored_form_loads_to_the_same(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        constraints=[
            "recall@2 >= 0.1",
            {"metric": "recall@1", "max": 1, "confidence": None, "severity": "warn"},
            {"metric": "recall@1", "min": 0, "bucket": "size", "match": "[2,inf)"},
        ],
        buckets={"size": {"by": "relevant_items", "edges": [2, 2.5]}},
        seen={"window": "36h"},
        generators={"p": {"type": "popularity", "window": "90s"}, "als": {"alpha": 1e-3}},
        interactions={"derive": {"NO": "dwell * 1.0", "on": "'~'"}, "timezone": "Asia/Shanghai"},
        k=[1, 2, 1],
    )
    first = load_config(config)
    (tmp_path / "stored.yaml").write_text(first.stored_yaml(), "utf-8")
    second = load_config(tmp_path / "stored.yaml")
    assert second.config == first.config
    assert second.stored_yaml() == first.stored_yaml()


def test_every_generator_can_be_chosen(tmp_path: Path) -> None:
    needed = {
        "precomputed": {"path": "x.parquet"},
        "merge": {"channels": {"popularity": None}},
        "rerank": {"of": "popularity", "by": "popularity"},
    }
    for name, cls in GENERATORS.items():
        generators = {"popularity": None, name: needed.get(name)}
        truth = {"repeats": "include" if name == "recent" else "exclude"}
        config = load_config(
            tiny_config(tmp_path, generators=generators, ground_truth=truth)
        ).config
        assert type(config.generators[name]) is cls


def test_the_schema_names_everything() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == {*Config.model_fields, "extends"}
    assert schema["additionalProperties"] is False
    for name, field in Config.model_fields.items():
        about = schema["properties"][name].get("description")
        assert about or field.description is None
    text = str(schema)
    for cls in GENERATORS.values():
        assert cls.__name__ in schema["$defs"]
    # Editors do not know pydantic's word for "look at the key".
    assert "discriminator" not in text


def test_a_day_may_be_text(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    config = tiny_config(tmp_path) | {"interactions": {"path": str(tmp_path / "{date}.parquet")}}
    path.rename(tmp_path / "2026-11-29.parquet")
    loaded = load_config(config, date="2026-11-29")
    assert loaded.config.interactions is not None
    assert loaded.config.interactions.path == str(tmp_path / "2026-11-29.parquet")
    with pytest.raises(ConfigError) as error:
        load_config(config, date="29.11.2026")
    assert str(error.value) == "date: expected a day such as 2026-11-29, got '29.11.2026'"


@pytest.mark.parametrize(
    ("split", "kind"),
    [
        ({"test": "1d"}, "time"),
        ({"folds": 2, "test": "1d"}, "rolling"),
        ({"folds": 2, "test": "1d", "train": "5d"}, "rolling"),
        ({"n": 2}, "leave_last"),
        ({"type": "leave_last"}, "leave_last"),
        ({"train": "a.csv", "test": "b.csv"}, "files"),
    ],
)
def test_a_split_tells_its_type_by_its_keys(split: dict[str, Any], kind: str) -> None:
    loaded = load_config(
        {
            **({} if kind == "files" else {"interactions": "log.csv"}),
            "split": split,
            "ground_truth": {"relevant": "TRUE"},
            "generators": {"popularity": None},
        }
    )
    assert loaded.config.split.type == kind
