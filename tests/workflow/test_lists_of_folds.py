"""Lists from files of each fold: {fold} in a path."""

from pathlib import Path

import pytest

from recoeval.errors import ConfigError, DataError
from recoeval.workflow.headers import read_headers
from recoeval.workflow.loaded import load_config
from recoeval.workflow.systems import in_each_fold
from tests.workflow.test_preparation import tiny_config
from tests.workflow.test_systems import LISTS, loaded, per_file, refusal, rows, write

ROLLING = {"type": "rolling", "folds": 2, "test": "1d"}


def test_each_fold_has_files_of_its_own(tmp_path: Path) -> None:
    for fold in (0, 1):
        write(LISTS.slice(fold, 1), tmp_path / f"fold={fold}" / "a.parquet")
    path = {"type": "precomputed", "path": str(tmp_path / "fold={fold}/*.parquet")}
    config = loaded(tmp_path, path, split=ROLLING)
    first, second = in_each_fold(config, config.generators["lists"])
    assert rows(first) == [("u1", 1, 1)]
    assert rows(second) == [("u1", 2, 2)]
    assert first.in_fold(1) is first
    assert (
        "{fold}"
        in load_config(
            tiny_config(tmp_path, generators={"lists": path}, split=ROLLING)
        ).stored_yaml()
    )


def test_a_path_without_a_fold_is_the_same_in_all(tmp_path: Path) -> None:
    config = loaded(tmp_path, {"type": "precomputed", "path": "x.parquet"}, split=ROLLING)
    generator = config.generators["lists"]
    assert in_each_fold(config, generator) == [generator]


def test_the_lists_of_a_fold_are_missing(tmp_path: Path) -> None:
    write(LISTS, tmp_path / "0.parquet")
    path = {"type": "precomputed", "path": str(tmp_path / "{fold}.parquet")}
    config = loaded(tmp_path, path, split=ROLLING)
    with pytest.raises(DataError) as caught:
        read_headers(config)
    told = str(caught.value).replace(str(tmp_path), "@")
    assert told == "lists[lists]: no such file or folder: @/1.parquet"


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("a", "fold 1 has no 'b', which fold 0 has"),
        ("abc", "fold 0 has no 'c', which fold 1 has"),
    ],
)
def test_the_systems_of_all_folds_are_the_same(tmp_path: Path, second: str, told: str) -> None:
    for fold, names in enumerate(("ab", second)):
        for name in names:
            write(LISTS, tmp_path / str(fold) / f"{name}.parquet")
    assert refusal(tmp_path, per_file(tmp_path / "{fold}"), split=ROLLING) == (
        f"lists[lists]: {told}; the systems have to be the same in each fold: @/1",
        3,
    )


def test_systems_of_each_fold(tmp_path: Path) -> None:
    for fold in (0, 1):
        for number, name in enumerate("ab"):
            write(LISTS.slice(fold + number, 1), tmp_path / str(fold) / f"{name}.parquet")
    config = loaded(tmp_path, per_file(tmp_path / "{fold}"), split=ROLLING)
    first, second = in_each_fold(config, config.generators["lists/b"])
    assert rows(first) == [("u1", 2, 2)]
    assert rows(second) == [("u2", 2, 1)]


@pytest.mark.parametrize("path", ["{day}.parquet", "{folds}.parquet", "{}.parquet"])
def test_other_words_in_braces_are_refused(tmp_path: Path, path: str) -> None:
    text, code = refusal(tmp_path, {"type": "precomputed", "path": path})
    word = path.removesuffix(".parquet")
    assert text == (
        f"generators.lists.path: unknown {word} in a path: only {{date}} and {{fold}} exist"
    )
    assert code == 2


def test_only_generators_have_folds(tmp_path: Path) -> None:
    config = tiny_config(tmp_path) | {"interactions": {"path": "{fold}.parquet"}}
    with pytest.raises(ConfigError, match=r"unknown \{fold\} in a path: only \{date\} exists"):
        load_config(config)
