"""Hand-worked tables: the evaluation and the oracle both give what was computed on paper."""

import ast
import math
import operator
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import recoeval.errors
from recoeval.testing import OracleResult, oracle
from tests.strategies import Case, evaluate, losses, per_query, per_user, summary

FOLDER = Path(__file__).parent / "cases"
FILES = [
    FOLDER / f"{name}.yaml"
    for name in ("catalogue", "metrics", "options", "preparation", "traps", "users")
]
CASES = [case for file in FILES for case in yaml.safe_load(file.read_text(encoding="utf-8"))]
TOLERANCE = 1e-12

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FUNCTIONS = {"log2": math.log2, "sqrt": math.sqrt}


def number(text: Any) -> float:
    """Returns the value of "1/6" or "1 / log2(3)": numbers, + - * /, brackets, two functions."""

    def walk(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as constant):
                return float(constant)
            case ast.BinOp(left=left, op=op, right=right):
                return float(OPERATORS[type(op)](walk(left), walk(right)))
            case ast.Call(func=ast.Name(id=name), args=[argument]):
                return FUNCTIONS[name](walk(argument))
        raise ValueError(f"not a number: {text!r}")

    return walk(ast.parse(str(text), mode="eval").body)


def case_of(raw: dict[str, Any]) -> Case:
    owners = raw.get("owners")
    query = "user_id" if owners is None else "query_id"
    truth = rows(raw["truth"], query, "gain")
    if owners is not None:
        truth = [row | {"user_id": owners[row["query_id"]]} for row in truth]

    def pairs(name: str) -> list[dict[str, Any]] | None:
        return None if raw.get(name) is None else rows(raw[name], "user_id", "")

    return Case(
        recs=rows(raw["recs"], query, "score", ranked=True),
        truth=truth,
        metrics=raw["metrics"],
        k=raw.get("k", []),
        train=pairs("train"),
        users=raw.get("users"),
        items=raw.get("items"),
        exposures=pairs("exposures"),
        policies=raw.get("policies"),
    )


def rows(raw: Any, query: str, value: str, *, ranked: bool = False) -> list[dict[str, Any]]:
    """Returns rows of the short forms: query -> items, or query -> item -> value."""
    if isinstance(raw, list):
        return raw
    made = []
    for key, items in raw.items():
        for place, item in enumerate(items, 1):
            row = {query: key, "item_id": item}
            if isinstance(items, dict):
                row[value] = float(items[item])
            elif ranked:
                row["rank"] = place
            made.append(row)
    return made


Expected = tuple[str, str, Any, str, float | None]


def expectations(raw: dict[str, Any]) -> Iterator[Expected]:
    """Yields generator, statistic (or "query", "user", "loss"), id, label and expected value."""
    for generator, expected in raw.get("expected_of", {"recs": raw.get("expected")}).items():
        for kind, table in expected.items():
            if kind == "slices":
                continue
            groups = table if kind in ("query", "user", "loss") else {None: table}
            for key, values in groups.items():
                for label, text in values.items():
                    yield generator, kind, key, label, None if text is None else number(text)


def slices(raw: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields name and label of a part, and what is expected there, as of a case of its own."""
    for name, labels in raw.get("expected", {}).get("slices", {}).items():
        for label, expected in labels.items():
            yield name, label, {"expected": expected}


def by_oracle(case: Case):
    result = oracle(**case.arguments())

    def look(result: OracleResult, generator: str, kind: str, key: Any, label: str) -> float | None:
        if kind == "query" and label in ("relevant", "returned"):
            answer = result.answers[generator, key]
            return len(answer.truth if label == "relevant" else answer.prepared)
        if kind in ("query", "user"):
            table = result.per_query if kind == "query" else result.per_user
            return table[generator, key][label]
        if kind in ("queries", "users"):
            return result.counted[generator, label][kind == "users"]
        if kind == "loss":
            causes = sum(result.loss(key).values(), Counter())
            return causes.total() if label == "relevant" else causes[label]
        if kind in ("ci_low", "ci_high"):
            bounds = result.ci[generator, label]
            return None if bounds is None else bounds[kind == "ci_high"]
        return result.summary[generator, label, kind]

    def part(name: str, label: str) -> OracleResult:
        if name == "served":
            return result.served("recs")
        return result.among(result.coldness()[label]) if name == "coldness" else result

    return lambda name, label, *what: look(part(name, label), *what)


def by_evaluate(case: Case):
    evaluation = evaluate(case)
    queries, users = per_query(evaluation), per_user(evaluation)

    def look(name: str, bucket: str, generator: str, kind: str, key: Any, label: str):
        table = summary(evaluation, name, bucket)
        if kind in ("query", "user"):
            return (queries if kind == "query" else users)[generator, key][label]
        if kind == "loss":
            return losses(evaluation, name, bucket)[generator, key][label]
        if kind in ("ci_low", "ci_high", "queries", "users"):
            return table[generator, label, "macro"][kind]
        # Shown only where it differs from macro.
        if kind == "macro_query" and (generator, label, kind) not in table:
            kind = "macro"
        return table[generator, label, kind]["value"]

    return look


@pytest.mark.parametrize("engine", [by_oracle, by_evaluate])
@pytest.mark.parametrize("raw", CASES, ids=[case["name"] for case in CASES])
def test_hand_worked(raw, engine):
    case = case_of(raw)
    if "error" in raw:
        with pytest.raises(getattr(recoeval.errors, raw["error"])):
            engine(case)
        return
    look = engine(case)
    for name, bucket, part in (("all", "all", raw), *slices(raw)):
        for *what, expected in expectations(part):
            near = None if expected is None else pytest.approx(expected, rel=0, abs=TOLERANCE)
            assert look(name, bucket, *what) == near, (name, bucket, *what)


def test_there_are_enough_and_each_says_why():
    assert len(CASES) >= 40
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert all(case["why"].endswith(".") for case in CASES)
    assert all(("error" in c) != ("expected" in c or "expected_of" in c) for c in CASES)


@pytest.mark.parametrize("text", ["__import__('os')", "2 ** 9", "a", "'1'", "log2(3, 4)", "1; 2"])
def test_numbers_are_numbers(text):
    with pytest.raises((ValueError, SyntaxError, KeyError)):
        number(text)
    assert number("1/6") == 1 / 6
    assert number(" (1 + 2) * 3 ".strip()) == 9
