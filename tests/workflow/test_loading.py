import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BeforeValidator, Field, Strict, model_validator

from recoeval.component import Component, Count, Duration, Instant, Number
from recoeval.errors import ConfigError, DataError, Problem
from recoeval.workflow.config import Config
from recoeval.workflow.loading import (
    Document,
    document_of,
    load_document,
    locate,
    redacted,
    redacted_yaml,
    validate,
)

CASES = yaml.safe_load(Path(__file__).with_name("cases_bad_config.yaml").read_text("utf-8"))


def listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


class Source(Component):
    path: str
    """File, glob or folder."""
    columns: dict[str, str] = Field(default={})
    duplicates: Literal["keep", "drop"] = "keep"
    header: bool = True


class TimeSplit(Component):
    type: Literal["time"] = "time"
    test_start: Instant | None = None
    test: Duration | None = None

    @model_validator(mode="after")
    def starts(self) -> "TimeSplit":
        if self.test_start is None and self.test is None:
            raise ValueError("say where the test window starts")
        return self


class FileSplit(Component):
    type: Literal["files"] = "files"
    train: Source
    test: Source


class Popularity(Component):
    type: Literal["popularity"] = "popularity"
    window: Duration | None = None


class ALS(Component):
    type: Literal["als"] = "als"
    factors: Count = 64
    regularization: Annotated[Number, Field(ge=0)] = 0.01


class Merge(Component):
    """Has a field named like the type of another generator."""

    type: Literal["merge"] = "merge"
    als: Count | Literal["all"] = 10
    channels: Annotated[
        dict[Annotated[str, Field(pattern="^[a-z_]+$")], Count], Field(min_length=1)
    ]


class Level(Component):
    metric: str
    min: Number
    severity: Literal["error", "warn"] = "error"


class Drop(Component):
    metric: str
    baseline: str
    max_drop: Annotated[Number, Strict()]


class Privacy(Component):
    salt: Annotated[str, Field(min_length=4, max_length=12)]
    ids: Annotated[str, Field(pattern="^(plain|hashed)$")] = "hashed"

    @model_validator(mode="after")
    def differs(self) -> "Privacy":
        if self.salt == "pepper":
            raise ValueError(f"{self.salt!r} is no salt, says {self.salt}")
        return self


class Toy(Component):
    interactions: Source
    split: Annotated[TimeSplit | FileSplit, Field(discriminator="type")]
    generators: Annotated[
        dict[str, Annotated[Popularity | ALS | Merge, Field(discriminator="type")]],
        Field(min_length=1),
    ]
    query: Literal["user"] | Source = "user"
    metrics: Annotated[tuple[str, ...], Field(max_length=3)] = ("recall",)
    k: Annotated[tuple[Count, ...], BeforeValidator(listed)] = (10,)
    constraints: tuple[str | Level | Drop, ...] = ()
    privacy: Privacy | None = None
    rates: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    pair: tuple[int, str] | None = None


GOOD = """\
interactions: logs.parquet
split: {test: 3d}
generators: {als: }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(text: str, /, **options: Any) -> Document:
    Path("nightly.yaml").write_text(text, "utf-8")
    return load_document("nightly.yaml", **{"environ": {}, **options})


def refused(text: str, /, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        validate(load(text, **options), Toy)
    return str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_bad_configuration(case: dict[str, Any]) -> None:
    for name, text in case.get("files", {}).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, "utf-8")
    date = datetime.date.fromisoformat(case["date"]) if "date" in case else None
    message = refused(
        case["text"] + ("" if case.get("alone") else GOOD),
        sets=case.get("sets", ()),
        environ=case.get("env", {}),
        date=date,
    )
    assert message == case["expected"].rstrip("\n")
    for jargon in ("pydantic", "Input should", "valid", "dictionary", "http", "tagged", "Error"):
        assert jargon not in message


def test_there_are_many_bad_configurations() -> None:
    assert len(CASES) >= 60
    assert len({case["name"] for case in CASES}) == len(CASES)


def test_a_good_document_is_explicit() -> None:
    document = load(GOOD)
    assert document.data == {
        "interactions": {"path": "logs.parquet"},
        "split": {"type": "time", "test": "3d"},
        "generators": {"als": {"type": "als"}},
    }
    config = validate(document, Toy)
    assert config.generators == {"als": ALS()}
    assert config.split == TimeSplit(test="3d")


def test_the_real_model_takes_the_smallest_file() -> None:
    text = GOOD + "ground_truth: {relevant: \"event = 'click' AND dwell_seconds > 30\"}\n"
    config = validate(load(text + "metrics: [precision, recall]\nk: [10, 100]\n"), Config)
    assert list(config.generators) == ["als"]
    assert config.generators["als"].type == "als"
    assert config.k == (10, 100)


def test_the_real_model_refuses_with_positions() -> None:
    text = """\
interactions: {path: a, duplicats: drop}
split: {test: 3x}
generators:
  als: {factrs: 3}
  popularity: {window: 7}
metrics: [recal]
constraints: [recall@10 > 1, {metric: recall@10, min: x}]
buckets: {activity: {by: train}}
"""
    with pytest.raises(ConfigError) as caught:
        validate(load(text), Config)
    lines = [line.partition(". ")[0] for line in str(caught.value).splitlines()]
    duration = "expected a duration such as 3d, 12h, 30m or 45s, got"
    bound = "expected metric@K >= number or metric@K <= number"
    by = "expected one of train_interactions, train_rows, relevant_items, got 'train'"
    assert lines == [
        "nightly.yaml:1:25: interactions.duplicats: unknown key 'duplicats'",
        f"nightly.yaml:2:15: split.test: {duration} '3x'",
        "nightly.yaml:4:9: generators.als.factrs: unknown key 'factrs'",
        f"nightly.yaml:5:24: generators.popularity.window: {duration} 7",
        "nightly.yaml:6:11: metrics.0: unknown metric 'recal'",
        f"nightly.yaml:7:15: constraints.0: {bound}, got 'recall@10 > 1'",
        "nightly.yaml:7:55: constraints.1.min: expected a number, got 'x'",
        f"nightly.yaml:8:26: buckets.activity.by: {by}",
    ]


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("interactions", "nightly.yaml:1:1"),
        ("interactions.path", "nightly.yaml:2:9"),
        ("interactions.where", "nightly.yaml:1:1"),
        ("interactions.columns.user_id", "nightly.yaml:3:22"),
        ("constraints.1.metric", "nightly.yaml:7:14"),
        ("constraints[1].metric", "nightly.yaml:7:14"),
        ("constraints[7].metric", "nightly.yaml:5:1"),
        ("generators.als", "nightly.yaml:9:3"),
        ("generators.als.type", "nightly.yaml:9:3"),
        ("generators.als.factors", "--set generators.als.factors=3"),
        ("lists[als].item_id", ""),
        ("", ""),
    ],
)
def test_locate(path: str, origin: str) -> None:
    text = """\
interactions:
  path: a
  columns: {user_id: uid}

constraints:
  - a
  - {metric: b}
generators:
  als:
"""
    document = load(text, sets=["generators.als.factors=3"])
    assert locate(document, path) == origin


def test_locate_gives_origins_to_errors_found_later() -> None:
    document = load(GOOD)
    error = DataError(Problem("no rows", path="split.test"), Problem("bad", path="lists[x]"))
    located = error.located(lambda path: locate(document, path))
    assert str(located) == "nightly.yaml:2:15: split.test: no rows\nlists[x]: bad"


def test_a_config_error_of_a_validator_is_located() -> None:
    class Strange(Component):
        a: int

        @model_validator(mode="after")
        def never(self) -> "Strange":
            raise ConfigError(Problem("never", path="a"))

    with pytest.raises(ConfigError, match=r"^nightly.yaml:1:4: a: never$"):
        validate(load("a: 1\n"), Strange)


class TestExtends:
    def test_mappings_merge_and_lists_replace(self) -> None:
        Path("base.yaml").write_text("a: {x: 1, y: [1, 2], z: {p: 1}}\nb: 1\n")
        document = load("extends: [base.yaml]\na: {y: [3], z: {q: 2}}\nc: null\n")
        assert document.data == {
            "a": {"x": 1, "y": [3], "z": {"p": 1, "q": 2}},
            "b": 1,
            "c": None,
        }
        assert locate(document, "a.x") == "base.yaml:1:8"
        assert locate(document, "a.z.q") == "nightly.yaml:2:20"

    def test_later_entries_win_and_chains_are_relative_to_their_file(self) -> None:
        Path("conf/deep").mkdir(parents=True)
        Path("conf/one.yaml").write_text("extends: deep/zero.yaml\na: 1\nb: 1\n")
        Path("conf/deep/zero.yaml").write_text("a: 0\nb: 0\nc: 0\nd: 0\n")
        Path("two.yaml").write_text("b: 2\n")
        document = load("extends: [conf/one.yaml, two.yaml]\nc: 3\n")
        assert document.data == {"a": 1, "b": 2, "c": 3, "d": 0}
        assert locate(document, "d") == "conf/deep/zero.yaml:4:4"
        assert locate(document, "b") == "two.yaml:1:4"

    @pytest.mark.parametrize("written", ["", "[]", "null", "[null]"])
    def test_of_nothing(self, written: str) -> None:
        assert load(f"extends: {written}\na: 1\n").data == {"a": 1}

    def test_a_generator_is_removed_and_comes_back_without_its_options(self) -> None:
        Path("base.yaml").write_text("generators: {als: {factors: 3}, popularity: }\n")
        Path("middle.yaml").write_text("extends: base.yaml\ngenerators: {als: false, b: false}\n")
        assert load("extends: middle.yaml\n").data == {
            "generators": {"popularity": {"type": "popularity"}}
        }
        again = load("extends: middle.yaml\ngenerators: {als: }\n").data["generators"]
        assert again["als"] == {"type": "als"}

    def test_an_empty_generator_keeps_what_it_inherits(self) -> None:
        Path("base.yaml").write_text("generators: {als: {factors: 3}}\n")
        generators = load("extends: base.yaml\ngenerators: {als: , b: {type: als}}\n").data
        assert generators["generators"]["als"] == {"type": "als", "factors": 3}

    def test_another_type_replaces_all_options(self) -> None:
        Path("base.yaml").write_text(
            "generators: {als: {factors: 3}, x: &x {type: als, factors: 3}, y: *x}\n"
            "split: {test: 3d, gap: 1h}\n"
        )
        text = """\
extends: base.yaml
generators: {x: {type: popularity}, als: {type: als, alpha: 2}, y: {alpha: 2}}
split: {train: a.csv, test: b.csv}
"""
        assert load(text).data == {
            "generators": {
                "x": {"type": "popularity"},
                "als": {"type": "als", "factors": 3, "alpha": 2},
                "y": {"type": "als", "factors": 3, "alpha": 2},
            },
            "split": {"type": "files", "train": {"path": "a.csv"}, "test": {"path": "b.csv"}},
        }

    def test_a_short_form_merges_as_what_it_stands_for(self) -> None:
        Path("base.yaml").write_text("interactions: {path: a, where: x}\n")
        document = load("extends: base.yaml\ninteractions: b\n")
        assert document.data == {"interactions": {"path": "b", "where": "x"}}

    def test_variables_of_a_value_that_is_replaced_need_not_be_set(self) -> None:
        Path("base.yaml").write_text("a: ${NOT_SET}\n")
        assert load("extends: base.yaml\na: 1\n").data == {"a": 1}

    def test_a_variable_names_the_file(self) -> None:
        Path("base.yaml").write_text("a: 1\n")
        assert load("extends: ${B}.yaml\n", environ={"B": "base"}).data == {"a": 1}

    def test_many_files_that_extend_the_same_ones(self) -> None:
        Path("0.yaml").write_text("a: 1\n")
        for level in range(1, 19):
            Path(f"{level}.yaml").write_text(f"extends: [{level - 1}.yaml, ./{level - 1}.yaml]\n")
        assert load("extends: 18.yaml\n").data == {"a": 1}

    def test_a_chain_has_an_end(self) -> None:
        for level in range(30):
            Path(f"{level}.yaml").write_text(f"extends: {level + 1}.yaml\n")
        with pytest.raises(ConfigError, match="more than 20 files in a chain"):
            load("extends: 0.yaml\n")


class TestEnvironment:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("${F}", 64),
            ("'${F}'", "64"),
            ('"${F}"', "64"),
            ("x${F}", "x64"),
            ("${F}${F}", "6464"),
            ("${NONE:-64}", 64),
            ("${NONE:-}", None),
            ("'${NONE:-}'", ""),
            ("${EMPTY:-1e-3}", 0.001),
            ("${EMPTY}", None),
            ("${NO}", "NO"),
            ("${LIST}", "[1, 2]"),
            ("$${F}", "${F}"),
            ("'$${F} ${F}'", "${F} 64"),
            ("$F", "$F"),
            ("'{F}'", "{F}"),
            ("'${NONE:-a:b c$d}'", "a:b c$d"),
            ("['${F}', 2]", ["64", 2]),
        ],
    )
    def test_values(self, written: str, value: object) -> None:
        environ = {"F": "64", "EMPTY": "", "NO": "NO", "LIST": "[1, 2]"}
        document = load(f"a: {written}\n", environ=environ)
        assert document.data == {"a": value}
        assert repr(document.data["a"]) == repr(value)

    def test_the_environment_of_the_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOEVAL_TEST_F", "64")
        assert load("a: ${RECOEVAL_TEST_F}\n", environ=None).data == {"a": 64}
        assert document_of({"a": "${RECOEVAL_TEST_F}"}).data == {"a": "64"}

    def test_bytes_that_are_no_text(self) -> None:
        with pytest.raises(ConfigError, match="variable F is not UTF-8 text"):
            load("a: ${F}\n", environ={"F": "\udcff"})

    def test_keys_are_left_alone(self) -> None:
        assert load("'${F}': 1\n").data == {"${F}": 1}

    def test_a_removed_generator_by_variable(self) -> None:
        assert load("generators: {als: '${A}', p: }\n", environ={"A": "x"}).data["generators"]
        document = load("generators:\n  als: ${A:-false}\n  p:\n")
        assert list(document.data["generators"]) == ["p"]


class TestRedacted:
    TEXT = """\
salt: "${SALT}"
factors: ${F}
path: "${LOGS}/dt={date}"
escaped: $${F}
plain: [1, "${SALT}", 2]
text: 1e-3
country: NO
"""
    ENVIRON: ClassVar = {"SALT": "0123", "F": "64", "LOGS": "s3://b"}

    def document(self) -> Document:
        return load(self.TEXT, environ=self.ENVIRON, date=datetime.date(2026, 11, 29))

    def test_values_of_the_environment_are_put_back(self) -> None:
        document = self.document()
        assert document.data["salt"] == "0123"
        assert redacted(document) == {
            "salt": "${SALT}",
            "factors": "${F}",
            "path": "${LOGS}/dt=2026-11-29",
            "escaped": "$${F}",
            "plain": [1, "${SALT}", 2],
            "text": 0.001,
            "country": "NO",
        }
        assert document.secrets == {("salt",), ("factors",), ("path",), ("plain", 1)}

    def test_the_stored_text_loads_to_the_same_data(self) -> None:
        document = self.document()
        stored = redacted_yaml(document)
        assert "0123" not in stored
        again = load(stored, environ=self.ENVIRON)
        assert again.data == document.data
        assert redacted_yaml(again) == stored

    def test_data_of_the_model_is_redacted_in_the_same_places(self) -> None:
        document = load("a: {salt: '${SALT}'}\n", environ={"SALT": "x"})
        data = {"a": {"salt": "x", "more": ("x", 1)}, "b": "x"}
        expected = {"a": {"salt": "${SALT}", "more": ["x", 1]}, "b": "x"}
        assert redacted(document, data) == expected
        assert yaml.safe_load(redacted_yaml(document, data)) == expected


class TestDate:
    def test_only_paths_hold_dates(self) -> None:
        text = """\
interactions: {path: "a/dt={date}/*", where: "x = '{date}'"}
split: {train: "{date}.csv", test: {path: "{date}"}}
generators: {als: {path: ["{date}", b]}}
users: {table: "${U}/{date}"}
"""
        document = load(text, date=datetime.date(2026, 1, 2), environ={"U": "u/{date}"})
        assert document.data == {
            "interactions": {"path": "a/dt=2026-01-02/*", "where": "x = '{date}'"},
            "split": {
                "type": "files",
                "train": {"path": "2026-01-02.csv"},
                "test": {"path": "2026-01-02"},
            },
            "generators": {"als": {"type": "als", "path": ["2026-01-02", "b"]}},
            "users": {"table": "u/2026-01-02/2026-01-02"},
        }

    def test_a_date_that_no_path_asks_for(self) -> None:
        assert load("a: 1\n", date=datetime.date(2026, 1, 2)).data == {"a": 1}


class TestSets:
    @pytest.mark.parametrize(
        ("option", "data"),
        [
            ("a.b=3", {"a": {"b": 3, "c": [1, {"d": 2}]}}),
            ("a.b=1e-3", {"a": {"b": 0.001, "c": [1, {"d": 2}]}}),
            ("a.b=NO", {"a": {"b": "NO", "c": [1, {"d": 2}]}}),
            ("a.b=", {"a": {"b": None, "c": [1, {"d": 2}]}}),
            ("a.b=x = 'y'", {"a": {"b": "x = 'y'", "c": [1, {"d": 2}]}}),
            ("a.b='3'", {"a": {"b": "3", "c": [1, {"d": 2}]}}),
            ("a.b=[1, x]", {"a": {"b": [1, "x"], "c": [1, {"d": 2}]}}),
            ("a.b={x: 1}", {"a": {"b": {"x": 1}, "c": [1, {"d": 2}]}}),
            ("a.c.0=9", {"a": {"b": 1, "c": [9, {"d": 2}]}}),
            ("a.c.1.d=9", {"a": {"b": 1, "c": [1, {"d": 9}]}}),
            ("a.c.2=9", {"a": {"b": 1, "c": [1, {"d": 2}, 9]}}),
            ("a=5", {"a": 5}),
            (" a =5", {"a": 5}),
        ],
    )
    def test_one(self, option: str, data: dict[str, Any]) -> None:
        assert load("a: {b: 1, c: [1, {d: 2}]}\n", sets=[option]).data == data

    def test_missing_mappings_and_lists_are_made(self) -> None:
        assert load("a: 1\nb:\n", sets=["x.y.z=1", "b.c=2", "m.0.n=3"]).data == {
            "a": 1,
            "b": {"c": 2},
            "x": {"y": {"z": 1}},
            "m": [{"n": 3}],
        }

    def test_the_last_one_wins(self) -> None:
        assert load("a: 1\n", sets=["a=2", "a=3"]).data == {"a": 3}

    def test_a_single_text_is_one_option(self) -> None:
        assert load("a: 1\n", sets="a=2").data == {"a": 2}

    def test_generators(self) -> None:
        text = "generators: {als: , popularity: }\ninteractions: a\n"
        document = load(
            text,
            sets=["generators.als=false", "generators.x.type=als", "interactions.header=false"],
        )
        assert document.data == {
            "generators": {"popularity": {"type": "popularity"}, "x": {"type": "als"}},
            "interactions": {"path": "a", "header": False},
        }

    def test_a_removed_generator_can_be_set_up_again(self) -> None:
        document = load("generators: {als: false}\n", sets=["generators.als.factors=3"])
        assert document.data["generators"] == {"als": {"type": "als", "factors": 3}}

    def test_short_forms(self) -> None:
        document = load("a: 1\n", sets=["interactions=x", "generators={als: }"])
        assert document.data["interactions"] == {"path": "x"}
        assert document.data["generators"] == {"als": {"type": "als"}}

    def test_typed_values_stay_as_they_are(self) -> None:
        document = load("a: 1\n", sets={"a": "64", "b.c": (1, 2.5)})
        assert document.data == {"a": "64", "b": {"c": [1, 2.5]}}

    def test_typed_values_name_their_option(self) -> None:
        with pytest.raises(ConfigError) as caught:
            validate(load(GOOD, sets={"generators.als.factors": "many", "k": 0}), Toy)
        assert str(caught.value) == (
            "set generators.als.factors='many': expected an integer >= 1, got 'many'\n"
            "set k=0: expected an integer >= 1, got 0"
        )

    def test_long_and_secret_options_are_not_shown_whole(self) -> None:
        message = refused(GOOD, sets=[f"k={'x' * 500}", "privacy.salt=my secret is long"])
        assert "--set k=" + "x" * 114 + "...: " in message
        assert "my secret" not in message


class TestPython:
    def test_a_mapping(self) -> None:
        document = document_of(
            {
                "interactions": Path("logs.parquet"),
                "split": {"test": datetime.timedelta(days=3)},
                "generators": {"als": None, "x": False},
                "k": (10, 100),
                "constraints": [{"metric": "a", "min": 0.5}],
            },
            sets={"generators.als.factors": 128},
        )
        config = validate(document, Toy)
        assert config.generators == {"als": ALS(factors=128)}
        assert config.k == (10, 100)
        assert locate(document, "k") == ""
        assert document.data["interactions"] == {"path": "logs.parquet"}

    def test_problems_have_paths_and_no_origin(self) -> None:
        choices = "Choices: popularity, als, merge"
        with pytest.raises(ConfigError) as caught:
            validate(document_of({"generators": {"alss": {}}, "k": [0], "split": {}}), Toy)
        assert [str(problem) for problem in caught.value.problems] == [
            "interactions: missing; expected a mapping",
            "split: say where the test window starts",
            f"generators.alss: unknown generator 'alss'. Did you mean 'als'? {choices}",
            "k.0: expected an integer >= 1, got 0",
        ]

    def test_it_can_extend(self) -> None:
        Path("base.yaml").write_text("a: 1\nb: {c: 1}\n")
        assert document_of({"extends": "base.yaml", "b": {"d": 2}}).data == {
            "a": 1,
            "b": {"c": 1, "d": 2},
        }
        with pytest.raises(ConfigError, match=r"^extends: no such file: none.yaml$"):
            document_of({"extends": "none.yaml"})

    def test_the_mapping_is_not_changed(self) -> None:
        mapping: dict[str, Any] = {"generators": {"als": {}}, "k": [1]}
        document = document_of(mapping, sets={"k.0": 2})
        assert mapping == {"generators": {"als": {}}, "k": [1]}
        document.data["k"].append(3)
        assert mapping["k"] == [1]

    @pytest.mark.parametrize("bad", [{"a": {1: 2}}, {None: 1}])
    def test_keys_are_text(self, bad: dict[Any, Any]) -> None:
        with pytest.raises(ConfigError, match="a key has to be text, got"):
            document_of(bad)

    def test_a_mapping_within_itself(self) -> None:
        endless: dict[str, Any] = {}
        endless["a"] = endless
        with pytest.raises(ConfigError, match="nested deeper than 50 levels"):
            document_of(endless)

    def test_no_mapping(self) -> None:
        with pytest.raises(ConfigError, match="expected a mapping, got 'nightly'"):
            document_of("nightly")  # type: ignore[arg-type]


def test_a_huge_number_is_shown() -> None:
    with pytest.raises(
        ConfigError, match="k: expected an integer >= 1, got a number of 16610 bits"
    ):
        validate(document_of({"k": -(10**5000)}), Toy)


words = st.sampled_from(
    ["interactions", "split", "generators", "als", "type", "k", "path", "train", "merge", "factors",
     "channels", "constraints", "metric", "min", "extends", "${F}", "{date}", "x"]
)  # fmt: skip
leaves = st.one_of(words, st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=15,
)
mappings = st.dictionaries(words, trees, max_size=6)


def paths(data: object) -> Iterator[tuple[str | int, ...]]:
    yield ()
    entries = data.items() if isinstance(data, dict) else enumerate(data)  # type: ignore[call-overload]
    for key, item in entries:
        below = paths(item) if isinstance(item, dict | list) else [()]
        yield from ((key, *rest) for rest in below)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(mappings, st.sampled_from([Toy, Config]))
def test_any_mapping_gives_a_model_or_problems(data: dict[str, Any], model: type[Any]) -> None:
    try:
        document = document_of(data, environ={"F": "7"})
        validate(document, model)
    except ConfigError as error:
        for problem in error.problems:
            assert problem.message
            assert "Input" not in problem.message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(mappings.filter(lambda data: "extends" not in data))
def test_a_file_gives_what_its_mapping_gives_and_every_value_has_an_origin(
    data: dict[str, Any],
) -> None:
    def outcome(read: Any) -> Any:
        try:
            return read()
        except ConfigError as error:
            return [problem.message for problem in error.problems]

    environ = {"F": "x"}
    direct = outcome(lambda: document_of(data, environ=environ))
    text = redacted_yaml(Document(data))
    loaded = outcome(lambda: load(text, environ=environ))
    if isinstance(direct, list):
        assert loaded == direct
    else:
        assert repr(loaded.data) == repr(direct.data)
        made = {
            ("split", "type"),
            *(("generators", n, "type") for n in direct.data.get("generators") or ()),
        }  # type: ignore[attr-defined]
        assert set(paths(loaded.data)) - set(loaded.origins) <= made
