"""Rules over columns: SQL expressions, checked against the columns before they are used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

import polars as pl

from recoeval.columns import ITEM_ID, USER_ID
from recoeval.data.failures import dtype_name, gist, listed, printable
from recoeval.data.sqltext import (
    as_floats,
    as_utc,
    compared_names,
    guard_divisors,
    has_subquery,
    operators,
    widen_calls,
    words_of,
)
from recoeval.errors import ConfigError, Problem, did_you_mean

__all__ = ["compile_rule"]

Kind = Literal["boolean", "numeric", "any"]

# A chain of operators is a tree of this depth, and deep trees overflow the stack.
_MAX_OPERATORS: Final = 500
# Functions that give NaN, which is larger than every number, or infinity.
_NOT_ALWAYS_NUMBERS: Final = {
    *("ln", "log", "log10", "log1p", "log2", "exp", "pow", "power", "sqrt"),
    *("acos", "acosd", "asin", "asind", "cot", "cotd"),
}
_THEIR_NODES: Final = re.compile(r"\.(?:log|log1p|exp|pow|sqrt|arccos|arcsin|cot)\(")
_TOO_DEEP: Final = "too long for one rule; write column IN (1, 2, ...) for many values"
_SHOWN: Final = 80
_TIME_AGAINST_TEXT: Final = (
    "compares a time with text; times are written TIMESTAMP '2022-05-05T16:00:00Z'"
)

# What polars answers when a rule does not fit the columns.
_MISFITS: Final = (
    pl.exceptions.ComputeError,
    pl.exceptions.DuplicateError,
    pl.exceptions.InvalidOperationError,
    pl.exceptions.SchemaError,
    pl.exceptions.SQLInterfaceError,
    pl.exceptions.StructFieldNotFoundError,
    pl.exceptions.ShapeError,
)


def compile_rule(text: str, schema: pl.Schema, *, path: str, kind: Kind, source: str) -> pl.Expr:
    """Returns the expression of an SQL rule over columns.

    Decimal numbers are floats, times without an offset are UTC, and a division by zero gives
    null, on every engine.

    Args:
        text: the rule: "event = 'click' AND dwell_seconds > 30".
        schema: the columns it may use.
        path: of the rule in the configuration, for errors.
        kind: what it gives: "boolean", "numeric" (Decimal becomes Float64), or "any".
        source: what the columns belong to, for errors: "logs/*.parquet".

    Returns:
        An expression with one value a row, or a constant. A null is left a null.

    Raises:
        ConfigError: it does not parse, names an unknown column, gives another dtype,
            aggregates rows, compares a number with a time or an INTERVAL, decides on what
            may be NaN, has a subquery or more than 500 AND, OR or +.

    Example:
        >>> rule = compile_rule("a > 1", pl.Schema({"a": pl.Int64}), path="where",
        ...                     kind="boolean", source="log")
        >>> pl.DataFrame({"a": [1, 2]}).filter(rule).height
        1
    """
    if operators(text) > _MAX_OPERATORS:
        raise ConfigError(Problem(f"{_TOO_DEEP}: {_start(text)}", path))
    if has_subquery(text):
        raise ConfigError(Problem(f"a rule has no subqueries: {text!r}", path))
    rows = pl.DataFrame(schema=schema).clear(2).lazy()
    plain = _parse(text, rows, path)
    if unknown := sorted(set(plain.meta.root_names()) - set(schema)):
        raise ConfigError(*(_unknown(name, text, schema, path, source) for name in unknown))
    if problem := _misuse(set(words_of(text)), plain, rows, kind):
        raise ConfigError(Problem(f"{problem}: {text!r}", path))
    rule = _parse(widen_calls(guard_divisors(text, _zero(schema))), rows, path)
    if not _runs(rule, rows):
        # What is divided is no number, or the rule is wrong: said by the trial run.
        rule = _parse(widen_calls(guard_divisors(text)), rows, path)
    try:
        dtype = rows.select(rule).collect().dtypes[0]
    except _MISFITS as error:
        reason = _TIME_AGAINST_TEXT if "to a string value" in str(error) else gist(str(error))
        raise ConfigError(Problem(f"{reason}: {text!r}", path)) from error
    if problem := _wrong_dtype(dtype, kind):
        raise ConfigError(Problem(f"{problem}: {text!r}", path))
    return rule.cast(pl.Float64) if dtype == pl.Decimal else rule


def _zero(schema: pl.Schema) -> str:
    """Returns an expression that is 0 in every row, of an id, which is never null; or ""."""
    for name in (USER_ID, ITEM_ID):
        if schema.get(name) == pl.Int64:
            return f'0 * "{name}"'
        if schema.get(name) == pl.String:
            return f'0 * OCTET_LENGTH("{name}")'
    return ""


def _start(text: str) -> str:
    """Returns the beginning of a long rule."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _parse(text: str, rows: pl.LazyFrame, path: str) -> pl.Expr:
    """Returns the expression; its times are UTC unless the columns are local times."""
    floats = as_floats(text)
    moments = as_utc(floats)
    try:
        rule = pl.sql_expr(moments)
        if moments != floats and not _runs(rule, rows) and _runs(pl.sql_expr(floats), rows):
            return pl.sql_expr(floats)
    except (pl.exceptions.SQLInterfaceError, pl.exceptions.SQLSyntaxError) as error:
        raise ConfigError(Problem(f"not an SQL expression: {gist(str(error))}", path)) from error
    return rule


def _runs(rule: pl.Expr, rows: pl.LazyFrame) -> bool:
    try:
        rows.select(rule).collect()
    except pl.exceptions.PolarsError:
        return False
    return True


def _unknown(name: str, text: str, schema: pl.Schema, path: str, source: str) -> Problem:
    """Returns what is wrong with a name in a rule; perhaps it was meant as a text."""
    hint = ""
    if name in compared_names(text):
        quoted = name.replace("'", "''")
        hint = f". A text stands in single quotes: '{printable(quoted)}'"
    return Problem(
        f"unknown column {name!r} in {source}.{did_you_mean(name, schema)} "
        f"Columns: {listed(schema)}{hint}",
        path,
    )


def _misuse(words: set[str], rule: pl.Expr, rows: pl.LazyFrame, kind: Kind) -> str:
    """Returns what no rule may do, and this one does, or ""."""
    if words & {"unnest", "explode"}:
        return "a rule gives one value a row, this one gives several"
    if rule.meta.has_multiple_outputs():
        return "a rule gives one column, this one gives several"
    if not rule.meta.undo_aliases().meta.eq(rule):
        return f"unexpected words after the rule ({rule.meta.output_name()!r})"
    windowed = "over" in words
    if windowed and kind != "any":
        return "a rule looks at one row; put what looks at others (OVER) into derive"
    nodes = [rule] if windowed else list(_nodes(rule, rows))
    if any(_aggregates(node) for node in nodes):
        return "a rule gives one value a row, this one aggregates rows"
    partial = sorted(words & _NOT_ALWAYS_NUMBERS)
    if partial and any(_decides_by_nan(node, rows) for node in nodes):
        name = partial[0].upper()
        return (
            f"{name} may give NaN, which is larger than every number; derive it first, "
            f"derive: {{name: {name}(...)}}, where NaN becomes null"
        )
    return next((problem for node in nodes if (problem := _mixed(node, rows))), "")


def _nodes(rule: pl.Expr, rows: pl.LazyFrame) -> Iterator[pl.Expr]:
    """Returns the expression and all its parts."""
    schema = rows.collect_schema()
    waiting = [rule]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.meta.pop(schema=schema))


def _aggregates(node: pl.Expr) -> bool:
    """Returns whether a part makes one value of many rows."""
    try:
        scalar = node.meta.is_scalar()
    except pl.exceptions.ColumnNotFoundError:
        # polars cannot tell for IN; its parts are looked at on their own.
        return False
    if not scalar:
        return False
    return bool(node.meta.root_names()) or str(node).startswith("len()")


def _decides_by_nan(node: pl.Expr, rows: pl.LazyFrame) -> bool:
    """Returns whether a part is a decision on what may be NaN."""
    if not _THEIR_NODES.search(str(node)):
        return False
    try:
        return rows.select(node).collect_schema().dtypes()[0] == pl.Boolean
    except _MISFITS:
        # Said by the trial run.
        return False


def _mixed(node: pl.Expr, rows: pl.LazyFrame) -> str:
    """Returns why a comparison mixes numbers and times, which gives false without a word."""
    parts = node.meta.pop(schema=rows.collect_schema())
    if len(parts) != 2:
        return ""
    try:
        dtypes = [rows.select(part).collect_schema().dtypes()[0] for part in parts]
        if rows.select(node).collect_schema().dtypes()[0] != pl.Boolean:
            return ""
    except _MISFITS:
        # Said by the trial run.
        return ""
    for number, time in (dtypes, dtypes[::-1]):
        if number.is_numeric() and time.is_temporal():
            what = "an INTERVAL: write a number, in the unit of the column"
            if not isinstance(time, pl.Duration):
                what = f"a time ({dtype_name(time)}): convert one of them"
            return f"compares a number ({dtype_name(number)}) with {what}"
    return ""


def _wrong_dtype(dtype: pl.DataType, kind: Kind) -> str:
    """Returns what is wrong with the dtype of the result, or ""."""
    if kind == "boolean" and dtype != pl.Boolean:
        return f"expected true or false for each row, this gives {dtype_name(dtype)}"
    if kind == "numeric" and not dtype.is_numeric():
        hint = " (write CASE WHEN ... THEN 1 ELSE 0 END)" if dtype == pl.Boolean else ""
        return f"expected a number for each row, this gives {dtype_name(dtype)}{hint}"
    return ""
