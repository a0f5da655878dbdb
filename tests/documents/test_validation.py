import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from recoeval.component import Component, Count
from recoeval.documents.loading import document_of, locate, validate
from recoeval.documents.validation import Document
from recoeval.errors import ConfigError, DataError, Problem
from recoeval.workflow.config import Config
from tests.documents.toy import GOOD, Toy, load, refused

UNKNOWN = "{}: unknown nested type '{}'. Did you mean {}? Choices: inner, outer"
CASES = yaml.safe_load(Path(__file__).with_name("cases_bad_config.yaml").read_text("utf-8"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    facts = "train_interactions, train_rows, relevant_items, column, train_popularity, item_age"
    by = f"expected one of {facts}, got 'train'"
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


class Inner(Component):
    type: Literal["inner"]
    n: Count = 1


class Outer(Component):
    type: Literal["outer"]


Nested = Annotated[Inner | Outer, Field(discriminator="type")]
Alias = TypeAliasType("Alias", Annotated[int, Field(ge=2, le=5)])


def no_sevens(value: int) -> int:
    if value == 7:
        raise PydanticCustomError("seven", "no sevens, please")
    if value == 8:
        raise AssertionError("no eights either")
    return value


class Shapes(Component):
    nested: Nested | str | None = None
    alias: Alias = 3
    day: datetime.date | None = None
    even: Annotated[int, Field(multiple_of=2)] | None = None
    where: Path | None = None
    custom: Annotated[int, AfterValidator(no_sevens)] = 1
    by_name: Mapping[str, Sequence[Literal[True, "x"]]] = Field(default={})
    pairs: dict[str, tuple[Count, Literal["a"]]] = Field(default={})
    short: Annotated[tuple[int, ...], Field(min_length=2)] = (1, 2)
    only: None = None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nested: {n: 1}", "1:1: nested.type: missing; expected one of inner, outer"),
        ("nested: {type: iner}", UNKNOWN.format("1:16: nested.type", "iner", "'inner'")),
        ("nested: {type: inner, n: 0}", "1:26: nested.n: expected an integer >= 1, got 0"),
        ("nested: 5", "1:9: nested: expected a mapping or text, got 5"),
        ("alias: 6", "1:8: alias: expected an integer >= 2 and <= 5, got 6"),
        ("day: yesterday", "1:6: day: expected a value, got 'yesterday'"),
        ("even: 3", "1:7: even: expected a multiple of 2, got 3"),
        ("where: 3", "1:8: where: expected the path of a file, got 3"),
        ("custom: 7", "1:9: custom: no sevens, please"),
        ("custom: 8", "1:9: custom: no eights either"),
        ("by_name: {a: [true, y, x]}", "1:21: by_name.a.1: expected one of true, x, got 'y'"),
        ("by_name: {a: 1}", "1:14: by_name.a: expected a list, got 1"),
        ("by_name: 1", "1:10: by_name: expected a mapping, got 1"),
        ("pairs: {a: [0, a]}", "1:13: pairs.a.0: expected an integer >= 1, got 0"),
        ("pairs: {a: [1, b]}", "1:16: pairs.a.1: expected a, got 'b'"),
        ("short: [1]", "1:8: short: expected at least 2 entries, got [1]"),
        ("short: [1, y]", "1:12: short.1: expected an integer, got 'y'"),
        ("only: 1", "1:7: only: expected null, got 1"),
    ],
)  # fmt: skip
def test_other_shapes_of_models(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate(load(text), Shapes)
    assert str(caught.value) == f"nightly.yaml:{message}"


def test_what_is_no_secret_is_not_searched_for() -> None:
    document = load(
        "privacy: {salt: '${A}', ids: '${TOKEN}'}\n" + GOOD, environ={"A": "a" * 3, "TOKEN": ""}
    )
    with pytest.raises(ConfigError) as caught:
        validate(document, Toy)
    expected = "expected text that matches ^(plain|hashed)$"
    assert str(caught.value).splitlines() == [
        "nightly.yaml:1:17: privacy.salt: expected at least 4 characters, got '${A}'",
        f"nightly.yaml:1:30: privacy.ids: {expected}, got '${{TOKEN}}'",
    ]


def test_a_huge_number_is_shown() -> None:
    with pytest.raises(
        ConfigError, match="k: expected an integer >= 1, got a number of 16610 bits"
    ):
        validate(document_of({"k": -(10**5000)}), Toy)


@pytest.mark.parametrize("key", [1, None, True, (1, 2)])
def test_a_name_that_is_no_text(key: object) -> None:
    with pytest.raises(ConfigError) as caught:
        validate(Document({"generators": {key: {}}, "k": [{key: 1}]}), Toy)
    words = f"a key has to be text, got {key!r}: names are texts, write '{key}'"
    assert str(caught.value).splitlines() == [f"generators: {words}", f"k.0: {words}"]
