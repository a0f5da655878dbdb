from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recoeval.documents.yamlfile import parse_yaml
from recoeval.documents.yamlvalues import (
    Quoted,
    Value,
    dump_yaml,
    printable,
    resolve_scalar,
)


def plain(value: Value) -> Any:
    if isinstance(value.content, dict):
        return {name: plain(item) for name, item in value.content.items()}
    if isinstance(value.content, list):
        return [plain(item) for item in value.content]
    return value.content


def read(text: str) -> Any:
    return plain(parse_yaml(text, "f.yaml"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("yes", "yes"),
        ("NO", "NO"),
        ("on", "on"),
        ("y", "y"),
        ("null", None),
        ("~", None),
        ("", None),
        ("nil", "nil"),
        ("0", 0),
        ("-17", -17),
        ("+3", 3),
        ("007", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("0b11", "0b11"),
        ("-0x1", "-0x1"),
        ("1_000", "1_000"),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5e+1", -5.0),
        (".", "."),
        ("e3", "e3"),
        ("1.2.3", "1.2.3"),
        (".inf", float("inf")),
        ("-.INF", float("-inf")),
        ("inf", "inf"),
        ("nan", "nan"),
        ("12:30:00", "12:30:00"),
        ("2022-05-05", "2022-05-05"),
        ("2022-05-05T16:00:00Z", "2022-05-05T16:00:00Z"),
        ("=", "="),
        ("<<", "<<"),
        ("\u0661\u0662", "\u0661\u0662"),
        ("9" * 100, int("9" * 100)),
        ("9" * 101, "9" * 101),
        ("0x" + "f" * 99, "0x" + "f" * 99),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
    ],
)
def test_scalars(text: str, value: object) -> None:
    assert resolve_scalar(text) == value
    assert type(resolve_scalar(text)) is type(value)
    assert read(f"a: {text}") == {"a": value}
    assert read(f"a: '{text}'") == {"a": text}
    assert parse_yaml(text or "~", "").plain
    assert not parse_yaml(f"'{text}'", "").plain


def test_not_a_number() -> None:
    assert repr(read(".NaN")) == "nan"


def test_printable() -> None:
    assert printable("a\x1b[0m\nb\ud800ä") == "a\\x1b[0m\\nb\\ud800ä"


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
tricky = st.sampled_from(
    ["NO", "1e-3", "0o17", "12:30:00", "~", "", "<<", "0x1F", "${X}", "- a", "1_0"]
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts, tricky
)  # fmt: skip
data = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | tricky, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.dictionaries(texts | tricky, data, max_size=3))
@example({"<<": None, "a": {"<<": "<<"}})
@example({"\x85": "\u2028 \u2029", "\ufeff": "\ufeff"})
def test_what_is_dumped_is_read_back(mapping: dict[str, Any]) -> None:
    again = read(dump_yaml(mapping))
    assert again == mapping
    assert repr(again) == repr(mapping)


def differs_in_1_1(value: object) -> bool:
    """Whether the plain dumper of PyYAML, which knows 1.1, writes it for 1.1 readers only."""
    if isinstance(value, dict):
        return any(differs_in_1_1(item) for pair in value.items() for item in pair)
    if isinstance(value, list):
        return any(map(differs_in_1_1, value))
    return isinstance(value, str) and (value == "<<" or not isinstance(resolve_scalar(value), str))


@settings(max_examples=60)
@given(st.dictionaries(texts, data, max_size=3).filter(lambda mapping: not differs_in_1_1(mapping)))
def test_what_pyyaml_dumps_is_read_back(mapping: dict[str, Any]) -> None:
    assert read(yaml.safe_dump(mapping)) == mapping


def test_quoted_text_is_dumped_in_quotes() -> None:
    assert dump_yaml({"a": Quoted("${X}"), "b": "${X}"}) == 'a: "${X}"\nb: ${X}\n'
