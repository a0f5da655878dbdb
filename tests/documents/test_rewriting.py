import datetime
from pathlib import Path
from typing import Any

import pytest

from recoeval.documents.loading import document_of, redacted, validate
from recoeval.errors import ConfigError
from tests.documents.toy import GOOD, Toy, load, refused


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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

    def test_a_default_holds_the_date_and_is_stored_with_it(self) -> None:
        document = load("path: '${LOGS:-logs/{date}}/x'\n", date=datetime.date(2026, 1, 2))
        assert document.data == {"path": "logs/2026-01-02/x"}
        assert redacted(document) == {"path": "${LOGS:-logs/2026-01-02}/x"}

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
        assert "--set k=" + "x" * 118 + "...: " in message
        assert "my secret" not in message
