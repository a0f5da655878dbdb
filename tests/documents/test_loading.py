import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recoeval.documents.loading import (
    Document,
    document_of,
    load_document,
    locate,
    redacted,
    redacted_yaml,
    validate,
)
from recoeval.documents.yamlvalues import dump_yaml
from recoeval.errors import ConfigError
from recoeval.workflow.config import Config
from tests.documents.toy import ALS, GOOD, TimeSplit, Toy, load


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.yaml", "none.yaml: cannot read this file: No such file or directory"),
        ("a\0b", "a\\x00b: this is not the path of a file"),
        ("~nobody-here/x", "~nobody-here/x: this is not the path of a file"),
        ("loop", "loop: cannot read this file: Too many levels of symbolic links"),
    ],
)
def test_paths_that_lead_nowhere(path: str, message: str) -> None:
    Path("loop").symlink_to("loop")
    with pytest.raises(ConfigError) as caught:
        load_document(path)
    assert str(caught.value) == message


def test_a_path_object_of_another_folder() -> None:
    Path("conf").mkdir()
    Path("conf/a.yaml").write_text("a: 1\nextends: b.yaml\n")
    Path("conf/b.yaml").write_text("b: 1\n")
    document = load_document(Path("conf/a.yaml"))
    assert document.data == {"b": 1, "a": 1}
    assert (locate(document, "a"), locate(document, "b")) == ("conf/a.yaml:1:4", "conf/b.yaml:1:4")


def test_the_home_folder_is_written_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    Path("a.yaml").write_text("extends: ~/b.yaml\na: 1\n")
    Path("b.yaml").write_text("b: 1\n")
    document = load_document("~/a.yaml")
    assert locate(document, "a") == f"{folder}/a.yaml:2:4"
    assert locate(document, "b") == f"{folder}/b.yaml:1:4"


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

    def test_a_path_that_leads_nowhere(self) -> None:
        Path("loop").symlink_to("loop")
        with pytest.raises(ConfigError, match=r"^nightly.yaml:1:10: extends: no such file: loop$"):
            load("extends: loop\n")

    def test_a_chain_has_an_end(self) -> None:
        for level in range(30):
            Path(f"{level}.yaml").write_text(f"extends: {level + 1}.yaml\n")
        with pytest.raises(ConfigError, match="more than 20 files in a chain"):
            load("extends: 0.yaml\n")


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

    @pytest.mark.parametrize("text", ["a\0b", "\ud800"])
    def test_text_that_no_file_could_hold(self, text: str) -> None:
        with pytest.raises(ConfigError) as caught:
            document_of({"a": ["b", text]})
        assert str(caught.value) in (
            "a.1: text cannot contain '\\x00'",
            "a.1: text cannot contain '\\ud800'",
        )

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
            document_of("nightly")


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
    entries = data.items() if isinstance(data, dict) else enumerate(data)
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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
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
    loaded = outcome(lambda: load(dump_yaml(data), environ=environ))
    if isinstance(direct, list):
        # One place of text that cannot be read is enough for Python; a file shows all.
        assert isinstance(loaded, list)
        assert set(direct) <= set(loaded)
        return
    assert repr(loaded.data) == repr(direct.data)
    generators = direct.data.get("generators")
    names = generators if isinstance(generators, dict) else {}
    made = {("split", "type"), *(("generators", name, "type") for name in names)}
    assert set(paths(loaded.data)) - set(loaded.origins) <= made
