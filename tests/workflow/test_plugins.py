"""Generators of other packages, good ones and hostile ones; each is installed in a folder."""

import itertools
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recoeval as rv
from recoeval.errors import ConfigError
from recoeval.generators import GENERATORS
from recoeval.workflow.choices import choices_of, explain
from recoeval.workflow.config import Config, json_schema
from recoeval.workflow.loaded import load_config
from recoeval.workflow.plugins import find_plugins, origin_of, plugin_of
from tests.workflow.test_preparation import tiny_config

GOOD = """
from typing import ClassVar, Literal
from recoeval.generators import Generator, Popularity

class Mine(Popularity):
    '''Most popular items, said by somebody else.'''
    type: Literal["mine"] = "mine"
    depth: int = 3
    '''How deep.'''
"""
Install = Callable[..., None]
NUMBERS = itertools.count()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Returns what installs a module with one entry point, as a distribution of its own."""

    def put(code: str, *, name: str = "mine", what: str = "Mine", of: str = "others") -> None:
        folder = tmp_path / f"site{next(NUMBERS)}"
        info = folder / f"{of.replace('-', '_')}-1.2.dist-info"
        info.mkdir(parents=True)
        # Names of their own, so that no test gets the module of another one.
        module = f"plugged_{next(NUMBERS)}"
        (folder / f"{module}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {of}\nVersion: 1.2\n")
        points = f"[recoeval.plugins]\n{name} = {module}:{what}\n"
        (info / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(folder)

    return put


def config_of(tmp_path: Path, **generators: object) -> Config:
    return load_config(tiny_config(tmp_path, generators=generators)).config


def refusal(tmp_path: Path, **generators: object) -> str:
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, **generators)
    return re.sub(r"plugged_\d+", "plugged", str(caught.value))


def test_a_generator_of_another_package(tmp_path: Path, install: Install) -> None:
    install(GOOD)
    config = config_of(tmp_path, mine={"depth": 5}, other={"type": "mine"}, popularity=None)
    mine, other, own = config.generators.values()
    assert type(mine).__name__ == "Mine"
    assert (mine.type, mine.model_dump()["depth"], other.model_dump()["depth"]) == ("mine", 5, 3)
    assert isinstance(config, Config)
    assert str(plugin_of(mine)) == "plug-in 'mine' of others 1.2"
    assert origin_of(mine) == " (plug-in 'mine' of others 1.2)"
    assert plugin_of(own) is None
    assert origin_of(own) == ""


def test_its_run_names_the_package_and_its_configuration_loads_again(
    tmp_path: Path, install: Install
) -> None:
    install(GOOD)
    install(GOOD.replace("mine", "unused"), name="unused", of="not-used")
    config = tiny_config(tmp_path, generators={"mine": {"depth": 5}, "popularity": None})
    config |= {"k": [1, 2], "metrics": ["recall"], "output": {"path": str(tmp_path / "runs")}}
    done = rv.run(config)
    assert done.manifest["versions"]["others"] == "1.2"
    assert "not-used" not in done.manifest["versions"]
    value = done.evaluation.value
    assert value("recall@2", generator="mine") == value("recall@2", generator="popularity")
    stored = load_config(done.path / "config.yaml")
    assert stored.config.generators["mine"].model_dump()["depth"] == 5


@pytest.mark.parametrize("path", ["model.bin", "model", "redis://nowhere/1", "absent.bin"])
def test_a_path_of_it_may_be_anything(tmp_path: Path, install: Install, path: str) -> None:
    install(GOOD + "    path: str\n    '''Of the model.'''\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model.bin").write_bytes(b"weights")
    config = tiny_config(tmp_path) | {"k": [1], "output": {"path": str(tmp_path / "runs")}}
    place = path if "://" in path else str(tmp_path / path)
    done = rv.run(config | {"generators": {"mine": {"path": place}}})
    inputs = {each["role"]: each["path"] for each in done.manifest["inputs"]}
    assert inputs.get("generators.mine") == (place if path == "model.bin" else None)


def test_a_bad_option_of_it_is_told_like_others(tmp_path: Path, install: Install) -> None:
    install(GOOD)
    assert refusal(tmp_path, mine={"dept": 5}) == (
        "generators.mine.dept: unknown key 'dept'. Did you mean 'depth'?"
    )
    assert refusal(tmp_path, mine={"depth": "x"}, als={"factors": 0}) == (
        "generators.mine.depth: expected an integer, got 'x'\n"
        "generators.als.factors: expected an integer >= 1, got 0"
    )


def test_an_unknown_type_lists_plugins_and_imports_none(tmp_path: Path, install: Install) -> None:
    install("raise RuntimeError('imported')")
    assert refusal(tmp_path, x={"type": "min"}) == (
        "generators.x: unknown generator 'min'. Did you mean 'mine'? "
        f"Choices: {', '.join(GENERATORS)}, mine"
    )


BROKEN = {
    "a library is missing": (
        "import no_such_library",
        "cannot be imported: ModuleNotFoundError: No module named 'no_such_library'",
    ),
    "it raises": (
        "raise RuntimeError('no\\x1b[31m luck\\n\\nmore')",
        "cannot be imported: RuntimeError: no\\x1b[31m luck",
    ),
    "it ends the program": ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
    "it is no Python": (
        "class Mine(:",
        "cannot be imported: SyntaxError: invalid syntax (plugged.py, line 1)",
    ),
    "there is no such class": (
        "",
        "cannot be imported: AttributeError: module 'plugged' has no attribute 'Mine'",
    ),
    "no class": ("Mine = 3", "3 is no subclass of recoeval.generators.Generator"),
    "no generator": (
        "class Mine: pass",
        "<class 'plugged.Mine'> is no subclass of recoeval.generators.Generator",
    ),
    "another type": (
        GOOD.replace("mine", "yours"),
        "the type of Mine is 'yours': give both one name",
    ),
    "no type of its own": (
        GOOD.replace('type: Literal["mine"] = "mine"', 'type: str = "mine"'),
        'Mine has no type: Literal["mine"] = "mine"',
    ),
    "several types": (
        GOOD.replace('Literal["mine"]', 'Literal["mine", "yours"]'),
        'Mine has no type: Literal["mine"] = "mine"',
    ),
    "no fit": (
        GOOD.replace("(Popularity)", "(Generator)"),
        "Mine lacks fit",
    ),
    "no flags": (
        GOOD.replace("(Popularity)", "(Generator)") + "    def fit(self, train): ...\n",
        "Mine does not say serves_cold_users and serves_cold_items",
    ),
    "a field that no file can give": (
        GOOD.replace("depth: int = 3", "depth: object = object()").replace(
            "class Mine", "class Odd:\n    pass\n\nclass Mine"
        )
        + "    model_config = {'arbitrary_types_allowed': True}\n    odd: Odd | None = None\n",
        "Mine has no JSON Schema: ",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_with_it_names_it(tmp_path: Path, install: Install, case: str) -> None:
    code, told = BROKEN[case]
    install(code)
    text = refusal(tmp_path, mine=None)
    sign = " " if told.startswith("cannot") else ": "
    expected = f"generators.mine.type: plug-in 'mine' of others 1.2{sign}{told}"
    assert text.startswith(expected) if told.endswith(": ") else text == expected
    # Nobody else is disturbed.
    assert config_of(tmp_path, popularity=None).generators
    assert "mine" not in json_schema()["$defs"]
    said = {choice.name: choice for choice in choices_of("generators")}
    assert set(said) == {*GENERATORS, "mine"}
    unusable = re.sub(r"plugged_\d+", "plugged", said["mine"].text)
    assert unusable.startswith(f"cannot be used: plug-in 'mine' of others 1.2{sign}")
    assert told in unusable
    assert "\x1b" not in unusable


def test_who_does_not_use_it_does_not_import_it(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("import builtins\nbuiltins.plugged_was_imported = True\n" + GOOD)
    config_of(tmp_path, popularity=None)
    find_plugins()
    assert not hasattr(__import__("builtins"), "plugged_was_imported")
    config_of(tmp_path, mine=None)
    assert hasattr(__import__("builtins"), "plugged_was_imported")
    monkeypatch.delattr("builtins.plugged_was_imported")


def test_two_packages_offer_one_type(tmp_path: Path, install: Install) -> None:
    install(GOOD)
    install(GOOD, of="yet-another")
    assert refusal(tmp_path, mine=None) == (
        "generators.mine.type: plug-in 'mine' of yet-another 1.2 and others 1.2: several packages "
        "offer it; uninstall all but one"
    )
    assert config_of(tmp_path, popularity=None).generators


def test_a_type_of_ours_stays_ours(tmp_path: Path, install: Install) -> None:
    install(GOOD.replace("mine", "als"), name="als")
    found = config_of(tmp_path, als=None).generators["als"]
    assert type(found) is GENERATORS["als"]
    said = [choice.text for choice in choices_of("generators") if choice.name == "als"]
    assert said[1] == (
        "cannot be used: plug-in 'als' of others 1.2: recoeval itself has a generator 'als'"
    )
    assert explain("generator", "als").text.startswith("Matrix factorisation")


def test_a_package_without_metadata(tmp_path: Path, install: Install) -> None:
    install(GOOD)
    for info in tmp_path.rglob("METADATA"):
        info.unlink()
    assert config_of(tmp_path, mine=None).generators["mine"].type == "mine"


def test_a_name_that_nobody_can_write_is_none(tmp_path: Path, install: Install) -> None:
    install(GOOD, name="mi\x1b[31mne")
    assert find_plugins() == {}
    assert "\x1b" not in refusal(tmp_path, mine=None)


def test_they_are_listed_and_explained(tmp_path: Path, install: Install) -> None:
    install(GOOD)
    mine = choices_of("generators")[-1]
    assert (mine.name, mine.group) == ("mine", "Of other packages")
    assert mine.text == "Most popular items, said by somebody else."
    lines = explain("generator", "mine").lines
    assert "depth=3: How deep." in lines
    assert lines[-1] == "From plug-in 'mine' of others 1.2"
    schema = json_schema()
    assert schema["$defs"]["Mine"]["properties"]["depth"]["description"] == "How deep."
    assert schema["title"] == "Config"
    assert "discriminator" not in str(schema)
    kinds = schema["properties"]["generators"]["additionalProperties"]["anyOf"]
    assert {"$ref": "#/$defs/Mine"} in kinds
    assert schema["properties"]["generators"]["description"] == "What produces lists, by name."


def test_the_place_is_in_the_file(tmp_path: Path, install: Install) -> None:
    install("import no_such_library")
    file = tmp_path / "night.yaml"
    file.write_text("generators: {mine: }\nmetrics: [recall]\n")
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert str(caught.value).startswith(f"{file}:1:14: generators.mine.type: plug-in 'mine' of")


def test_nothing_is_left_of_these_tests() -> None:
    assert not [name for name in find_plugins() if name == "mine"]
    assert "plugged" not in sys.path
