import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recoeval.documents.yamlfile import parse_yaml, read_yaml
from recoeval.documents.yamlvalues import Origin, Value
from recoeval.errors import ConfigError

CLOSE = "quote the text, or close"
SUCH = "write e.g. interactions: logs.parquet"


def plain(value: Value) -> Any:
    if isinstance(value.content, dict):
        return {name: plain(item) for name, item in value.content.items()}
    if isinstance(value.content, list):
        return [plain(item) for item in value.content]
    return value.content


def read(text: str) -> Any:
    return plain(parse_yaml(text, "f.yaml"))


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("!!bool true", True),
        ("!!null ''", None),
        ("!!seq [1]", [1]),
        ("!!map {a: 1}", {"a": 1}),
    ],
)
def test_tags_of_the_core_schema(text: str, value: object) -> None:
    assert read(text) == value
    assert type(read(text)) is type(value)


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/name:os.system",
        "!!python/object/new:int",
        "!!set",
        "!!binary",
        "!!omap",
        "!x",
        "!",
    ],
)
@pytest.mark.parametrize("content", ["{a: 1}", "[a]", "text"])
def test_other_tags(tag: str, content: str) -> None:
    if tag == "!":
        assert read(f"{tag} {content}") == read(content)
    else:
        assert refused(f"k: {tag} {content}").startswith(f"f.yaml:1:4: k: unknown tag {tag}:")


def test_a_value_that_does_not_fit_its_tag() -> None:
    assert refused("a: !!int 1.5") == "f.yaml:1:4: a: '1.5' does not fit its tag !!int"


def test_positions() -> None:
    text = """\
a: 1
block:
  inner: x
  empty:
list:
- p
- q: 1
  r: 2
flow: {k: [1,
  two]}
quoted: "x"
"""
    top = parse_yaml(text, "f.yaml").content
    places = {
        "a": top["a"],
        "block": top["block"],
        "inner": top["block"].content["inner"],
        "empty": top["block"].content["empty"],
        "list": top["list"],
        "p": top["list"].content[0],
        "q..": top["list"].content[1],
        "r": top["list"].content[1].content["r"],
        "flow": top["flow"],
        "two": top["flow"].content["k"].content[1],
        "quoted": top["quoted"],
    }
    assert {name: str(value.origin) for name, value in places.items()} == {
        "a": "f.yaml:1:4",
        "block": "f.yaml:2:1",
        "inner": "f.yaml:3:10",
        "empty": "f.yaml:4:3",
        "list": "f.yaml:5:1",
        "p": "f.yaml:6:3",
        "q..": "f.yaml:7:3",
        "r": "f.yaml:8:6",
        "flow": "f.yaml:9:7",
        "two": "f.yaml:10:3",
        "quoted": "f.yaml:11:9",
    }
    assert str(places["r"].origin.at_key()) == "f.yaml:8:3"
    assert str(places["two"].origin.at_key()) == "f.yaml:10:3"


def test_a_fixed_origin_stands_for_all_positions() -> None:
    origin = Origin("--set a=...", sets="a")
    value = parse_yaml("{b: [1, {c: 2}]}", "", origin=origin)
    assert value.content["b"].content[1].content["c"].origin == origin
    assert parse_yaml("", "", origin=origin) == Value(None, origin)
    for bad in ("{b: 1, b: 2}", "[", "\0", "!x 1", "[f(a, b)]", '"\\UFFFFFFFF"'):
        with pytest.raises(ConfigError) as caught:
            parse_yaml(bad, "", origin=origin)
        assert str(caught.value).startswith("--set a=...: ")
        assert caught.value.problems[0].path == ""


class TestAliases:
    def test_merge_keys(self) -> None:
        text = """\
base: &base {a: 1, b: 1}
other: &other {b: 2, c: 2}
one: {<<: *base, b: 9}
two: {b: 9, <<: [*base, *other]}
three: {"<<": 3}
list: [*base, *base]
"""
        data = read(text)
        assert data["one"] == {"a": 1, "b": 9}
        assert data["two"] == {"a": 1, "b": 9, "c": 2}
        assert data["three"] == {"<<": 3}
        assert data["list"] == [{"a": 1, "b": 1}] * 2
        merged = parse_yaml(text, "f.yaml").content["one"].content["a"]
        assert str(merged.origin) == "f.yaml:1:17"

    @pytest.mark.parametrize("value", ["5", "[*a, 5]", "[[*a]]", "~"])
    def test_merge_of_what_is_no_mapping(self, value: str) -> None:
        message = refused(f"x: &a {{p: 1}}\ny:\n  <<: {value}\n")
        assert re.fullmatch(r"f.yaml:3:\d+: y: << takes a mapping or a list of mappings", message)

    def test_two_merge_keys(self) -> None:
        message = refused("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n")
        assert message == "f.yaml:4:3: b.<<: duplicate key '<<', first written at f.yaml:3:3"

    @pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}"])
    def test_inside_its_own_anchor(self, text: str) -> None:
        assert refused(text).endswith(": the alias *a stands inside its own anchor")

    def test_without_an_anchor(self) -> None:
        assert refused("a: *b") == (
            "f.yaml:1:4: this alias has no anchor: quote the text if it is none"
        )
        assert refused("a: &x 1\nb: &x 2") == "f.yaml:2:4: this anchor is defined twice"

    @pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}", "{{{}}}"])
    def test_that_explode(self, form: str) -> None:
        lines = ["a0: &a0 {x: 1}"]
        for level in range(1, 30):
            used = [f"*a{level - 1}"] * 9
            if form == "{{{}}}":
                used = [f"k{i}: {alias}" for i, alias in enumerate(used)]
            lines.append(f"a{level}: &a{level} {form.format(', '.join(used))}")
        start = time.monotonic()
        assert "more than 100,000 values" in refused("\n".join(lines))
        assert time.monotonic() - start < 30

    @pytest.mark.parametrize("form", ["[*a{}]", "{{<<: *a{}}}"])
    def test_that_nest(self, form: str) -> None:
        lines = ["a0: &a0 {x: 1}"]
        lines += [f"a{level + 1}: &a{level + 1} {form.format(level)}" for level in range(700)]
        assert "nested deeper than 50 levels" in refused("\n".join(lines))


class TestLimits:
    @pytest.mark.parametrize(
        "text",
        [
            "[" * 100_000,
            "{a: " * 50_000,
            "- " * 50_000,
            "".join(" " * i + "a:\n" for i in range(99)),
        ],
    )
    def test_depth(self, text: str) -> None:
        assert refused(text).endswith(": nested deeper than 50 levels")

    def test_depth_that_is_allowed(self) -> None:
        data = read("[" * 50 + "]" * 50)
        for _ in range(49):
            (data,) = data
        assert data == []
        assert "nested deeper than 50" in refused("[" * 51 + "]" * 51)

    def test_values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recoeval.documents.yamlfile.MAX_VALUES", 1000)
        assert len(read("[" + "1," * 999 + "]")) == 999
        assert "f.yaml:1:2000: more than " in refused("[" + "1," * 1000 + "]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2", f"1:9: expected ',' or ']': {CLOSE} the list (it opens at 1:4)"),
        ("a: {b: c", f"1:9: expected ',' or '}}': {CLOSE} the mapping (it opens at 1:4)"),
        ("{p: a?b}", f"1:6: expected ',' or '}}': {CLOSE} the mapping (it opens at 1:1)"),
        ("a: @x", "1:4: unquoted text cannot start with @: quote it"),
        ("a: `x`", "1:4: unquoted text cannot start with `: quote it"),
        ("a: %x", "1:4: unquoted text cannot start with %: quote it"),
        ("a: */x", "1:4: unquoted text cannot start with *: quote it"),
        ("a: &/x", "1:4: unquoted text cannot start with &: quote it"),
        ("a: \t1", "1:4: a tab cannot stand here: use spaces"),
        ("a:\n  b: 1\n\tc: 2", "3:1: a tab cannot stand here: use spaces"),
        ("a: 'x", "1:4: the quote that opens here is never closed"),
        ("a: 1\nb: \"x\n---\n", "2:4: the quote that opens here is never closed"),
        ('a: "\\d"', "1:6: unknown escape \\d: put text with \\ in single quotes"),
        ('a: "\\xZZ"', "1:7: unknown escape: put text with \\ in single quotes"),
        ('a: "\\UFFFFFFFF"', "1:7: this escape is no character"),
        ('a: "\\ud800"', "1:4: a: text cannot contain '\\ud800'"),
        ('"\\0": 1', "1:1: text cannot contain '\\x00'"),
        ("a: b: c", "1:5: a second ':' here: quote the text, or check the indent"),
        ("a: 1\n  b: 2", "2:4: a second ':' here: quote the text, or check the indent"),
        ("a: - b", "1:4: no list entry is expected here: check the indent"),
        ("a: ? b", "1:4: no key is expected here: check the indent"),
        ("a: 1\nb\nc: 2", "3:1: expected ':' after the key"),
        ("- a\nb: 1", "2:1: does not fit what stands before it: check indent and quotes"),
        ("a: 'x' y", "1:8: does not fit what stands before it: check indent and quotes"),
        ("a: |x\n  b", "1:5: text has to start on the line after | or >: quote it"),
        ("[a, , b]", "1:5: a value is missing here, or its text needs quotes"),
        ("a: 1\n---\nb: 2", "2:1: a second document starts here: one file, one document"),
        ("a: {p: ${X}}", '1:8: ${X} inside [] or {} has to stand in quotes: "${X}"'),
        ("a: [b/${X:-y}/c]", '1:7: ${X:-y} inside [] or {} has to stand in quotes: "${X:-y}"'),
        ("a: [1, ${X", '1:8: ${X inside [] or {} has to stand in quotes: "${X"'),
        ("a: 1\n? [b]\n: 2", "2:3: a key has to be text, not a list or a mapping"),
        ("1.5: a", '1:1: the key 1.5 is not text: write "1.5"'),
        ("?\n: a", "1:2: empty key"),
        ("!x a: 1", "1:1: unknown tag !x: a configuration holds plain values only"),
        ("a\x07: 1", "1:2: the character '\\x07' is not allowed in YAML"),
        ("a: 1\nb: \ud800", "2:4: the character '\\ud800' is not allowed in YAML"),
        ("%YAML 2.0\n---\na", "1:1: the YAML of this file is of another version than 1"),
    ],
)  # fmt: skip
def test_syntax(text: str, message: str) -> None:
    assert refused(text) == f"f.yaml:{message}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metrics: [f(a, b)@10]", '"f(a, b)@10"'),
        ("metrics: [x, f(a, b, c), g(d, e)]", '"f(a, b, c)"\n"g(d, e)"'),
        ("metrics: [f(a,\n  b)]", '"f(a, b)"'),
        ("metrics: [f('a', b)]", "\"f('a', b)\""),
        ('metrics: [f("a, b")]', "'f(\"a, b\")'"),
        ("metrics: [f((a, b), c)]", '"f((a, b), c)"'),
        ("metrics: [f(a, b: c)]", '"f(a, b: c)"'),
        ("metrics: [f(a, [b], c)]", '"f(a, [b], c)"'),
        ("metrics: [f(a, b]", '"f(a"'),
        ("metrics: [f(a), b), c]", '"b)"'),
        ("x: {metric: f(a, b), min: 1}", '"f(a, b)"'),
        ("constraints: [{min: 1, metric: f(a, b)}]", '"f(a, b)"'),
    ],
)
def test_metrics_that_a_comma_cuts(text: str, expected: str) -> None:
    lines = refused(text).splitlines()
    assert "\n".join(line.partition("quote this metric: ")[2] for line in lines) == expected


@pytest.mark.parametrize(
    "text",
    [
        "metrics: ['f(a, b)', \"f(a, b)\", f(a)@10, g()]",
        "metrics:\n- f(a, b)\n- g(a\n",
        "where: x IN (1, 2)",
        "a: {where: 'x IN (1, 2)', b: }",
    ],
)
def test_metrics_that_nothing_cuts(text: str) -> None:
    assert read(text) == yaml.safe_load(text)


def test_all_problems_of_a_text_at_once() -> None:
    assert refused("a: 1\na: 2\n1: 3\nb: !x 4\nm: [f(a, b)]\n").splitlines() == [
        "f.yaml:2:1: a: duplicate key 'a', first written at f.yaml:1:1",
        'f.yaml:3:1: the key 1 is not text: write "1"',
        "f.yaml:4:4: b: unknown tag !x: a configuration holds plain values only",
        'f.yaml:5:5: m: unbalanced "(" in \'f(a\': quote this text: "f(a, b)"',
    ]


class TestFiles:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"a: 1\nb: \xff", "f.yaml:2:4: byte 0xff is not UTF-8: save the file as UTF-8"),
            ("a: 1".encode("utf-16"), "f.yaml:1:1: byte 0xff is not UTF-8: save the file as UTF-8"),
            (b"a: \0", "f.yaml:1:4: the character '\\x00' is not allowed in YAML"),
            (b"", f"f.yaml: the file is empty: {SUCH}"),
            (b"# a\n---\n", f"f.yaml: the file is empty: {SUCH}"),
            (b"\n5", f"f.yaml:2:1: expected a mapping at the top: {SUCH}"),
            (b"#" * 1_000_001, "f.yaml: larger than 1,000,000 bytes: keep data in data files"),
        ],
    )  # fmt: skip
    def test_bad(self, tmp_path: Path, data: bytes, message: str) -> None:
        (tmp_path / "f.yaml").write_bytes(data)
        with pytest.raises(ConfigError) as caught:
            read_yaml(tmp_path / "f.yaml", "f.yaml")
        assert str(caught.value) == message

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("none.yaml", "No such file or directory"),
            (".", "Is a directory"),
            ("a\0b", "not a path"),
        ],
    )
    def test_that_cannot_be_read(self, tmp_path: Path, name: str, reason: str) -> None:
        with pytest.raises(ConfigError, match=f"^f: cannot read this file: {reason}$"):
            read_yaml(tmp_path / name, "f")

    def test_marks_and_line_ends_of_other_systems(self, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_bytes("\ufeffä: 1\r\nb: 2\r\n".encode())
        value = read_yaml(tmp_path / "f.yaml", "f.yaml")
        assert plain(value) == {"ä": 1, "b": 2}
        assert str(value.content["b"].origin) == "f.yaml:2:4"
        assert str(value.content["ä"].origin) == "f.yaml:1:4"


SIGNS = "abz01 \n\n:-?[]{},&*!|>'\"%@`#~.()$<\t\\"
MORE = "- |: |a: |\n  |<<: |&a |*a|!!str |!!int |---\n|...\n|${X}|f(a, |\\U|ffffffff|%YAML 1.1"
snippets = st.lists(st.sampled_from([*SIGNS, *MORE.split("|")]), max_size=40).map("".join)


@settings(max_examples=500)
@given(snippets | st.text(max_size=60))
@example("%YAML 1." + "9" * 5000 + "\n---\na")
@example("%TAG ! tag:x,2000:\n---\n!a b")
@example("a: !<tag:yaml.org,2002:int> x")
@example("? a\n? b\n: - c")
@example("*a : 1")
@example("\ufeffa: 1")
@example("\x85a: \u20281")
def test_any_text_is_data_or_an_error_with_a_position(text: str) -> None:
    try:
        value = parse_yaml(text, "f.yaml")
    except ConfigError as error:
        for problem in error.problems:
            assert re.fullmatch(r"f\.yaml:\d+:\d+", problem.origin)
            assert problem.message.isprintable()
    else:
        plain(value)


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_file_is_a_mapping_or_an_error(tmp_path_factory: Any, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    try:
        said = "" if isinstance(read_yaml(path, "any.yaml").content, dict) else "no mapping"
    except ConfigError as error:
        said = str(error).removeprefix("any.yaml:")
        assert said != str(error)  # noqa: PT017 - either outcome is right
    assert said != "no mapping"
