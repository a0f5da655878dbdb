import pytest

from recoeval.errors import (
    ConfigError,
    DataError,
    EngineError,
    Problem,
    RecoevalError,
    did_you_mean,
    some,
)

FACTORS = Problem("unknown key 'factrs'", "generators.als.factrs", "nightly.yaml:14:5")


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("bad"), "bad"),
        (Problem("bad", "split.test"), "split.test: bad"),
        (Problem("bad", origin="--set k=x"), "--set k=x: bad"),
        (FACTORS, "nightly.yaml:14:5: generators.als.factrs: unknown key 'factrs'"),
    ],
)
def test_a_problem_says_origin_then_path_then_message(problem, text):
    assert str(problem) == text


@pytest.mark.parametrize(
    ("kind", "code"), [(RecoevalError, 4), (ConfigError, 2), (DataError, 3), (EngineError, 4)]
)
def test_each_error_has_its_exit_code(kind, code):
    assert kind.exit_code == kind("bad").exit_code == code
    assert isinstance(kind("bad"), RecoevalError)


def test_all_problems_are_shown_one_a_line():
    error = DataError("no rows", FACTORS)
    assert error.problems == (Problem("no rows"), FACTORS)
    assert str(error) == f"no rows\n{FACTORS}"


def test_located_adds_origins_only_where_there_are_none():
    asked = []

    def locate(path):
        asked.append(path)
        return {"split.test": "nightly.yaml:9:3"}.get(path, "")

    error = ConfigError(Problem("bad", "split.test"), FACTORS, Problem("odd", "k"))
    located = error.located(locate)
    assert type(located) is ConfigError
    assert [problem.origin for problem in located.problems] == [
        "nightly.yaml:9:3",
        "nightly.yaml:14:5",
        "",
    ]
    assert asked == ["split.test", "k"]
    # The error itself stays as it was.
    assert error.problems[0].origin == ""


@pytest.mark.parametrize(
    ("word", "choices", "hint"),
    [
        ("recal", ["precision", "recall"], " Did you mean 'recall'?"),
        ("precison", {"precision": 1, "recall": 2}, " Did you mean 'precision'?"),
        ("recal", (name for name in ["recall"]), " Did you mean 'recall'?"),
        ("xyz", ["precision", "recall"], ""),
        ("recall", [], ""),
    ],
)
def test_did_you_mean(word, choices, hint):
    assert did_you_mean(word, choices) == hint


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([1, 2, 3, 4, 5], "1, 2, 3, 4, 5"),
        ([1, 2, 3, 4, 5, 6], "1, 2, 3, 4, 5, ..."),
        ((word for word in ("7", "x y")), "'7', 'x y'"),
        ([(1, "a"), None], "(1, 'a'), None"),
    ],
)
def test_some_shows_five(values, text):
    assert some(values) == text


def test_some_cannot_write_to_the_terminal():
    assert some(["\x1b[31mred\n"]) == r"'\x1b[31mred\n'"
