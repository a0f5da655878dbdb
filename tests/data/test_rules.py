from datetime import datetime
from typing import Any

import polars as pl
import pytest

from recoeval.data.rules import compile_rule
from recoeval.errors import ConfigError

LOG = pl.DataFrame(
    {
        "user_id": [1, 2, 3],
        "event": ["click", None, "view"],
        "dwell": [10.0, 40.0, None],
        "shown": pl.Series([0, 1, 2], dtype=pl.Int8),
        "liked": [True, False, None],
        "tags": [["a"], [], None],
        "price": pl.Series(["1.50", "2.25", None]).cast(pl.Decimal(10, 2)),
        "timestamp": pl.Series([0, 1, 2]).cast(pl.Datetime("us", "UTC")),
        "local": pl.Series([0, 1, 2]).cast(pl.Datetime("us")),
        "day": pl.Series([0, 1, 2]).cast(pl.Date),
        "took": pl.Series([0, 40_000_000, None]).cast(pl.Duration("us")),
    }
)


def compiled(text: str, kind: Any = "boolean") -> pl.Expr:
    return compile_rule(
        text, LOG.schema, path="ground_truth.relevant", kind=kind, source="logs/*.parquet"
    )


def values(text: str, kind: Any = "boolean") -> list[Any]:
    return LOG.with_columns(compiled(text, kind).alias("value"))["value"].to_list()


def refused(text: str, kind: Any = "boolean") -> str:
    with pytest.raises(ConfigError) as error:
        compiled(text, kind)
    assert error.value.exit_code == 2
    assert {problem.path for problem in error.value.problems} == {"ground_truth.relevant"}
    return "\n".join(problem.message for problem in error.value.problems)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dwell > 30", [False, True, None]),
        ("event = 'click' AND dwell > 5", [True, None, False]),
        ("event IN ('click', 'view')", [True, None, True]),
        ("shown IN (0, 2)", [True, False, True]),
        ("event LIKE 'cl%'", [True, None, False]),
        ("dwell BETWEEN 10 AND 20", [True, False, None]),
        ("COALESCE(dwell, 0) > 30", [False, True, False]),
        ("event IS NULL", [False, True, False]),
        ("NOT liked", [False, True, None]),
        ("TRUE", [True, True, True]),
        ("dwell IN (SUM(1.0), 10)", None),
        ("took > INTERVAL '30 seconds'", [False, True, None]),
        ("timestamp + INTERVAL '1 day' > timestamp", [True, True, True]),
        ("day > DATE '1970-01-02'", [False, False, True]),
        ('"dwell" > 30', [False, True, None]),
        ("event = 'it''s OVER (select 1.5) -- really'", [False, None, False]),
        ("dwell > 30 -- seconds, not 1.5 minutes", [False, True, None]),
    ],
)
def test_boolean_rules(text, expected):
    if expected is None:
        assert "aggregates rows" in refused(text)
    else:
        assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CASE WHEN event = 'click' THEN 2 ELSE 1 END", [2, 1, 1]),
        ("shown", [0, 1, 2]),
        ("price", [1.5, 2.25, None]),
        # Decimals would be cut to six digits here.
        ("shown / 3.0", [0.0, 1 / 3, 2 / 3]),
        ("0.1 + 0.2", [0.1 + 0.2] * 3),
        ("dwell * .5", [5.0, 20.0, None]),
        ("1 + dwell / 30", [1 + 1 / 3, 1 + 4 / 3, None]),
        ("1e3", [1000.0] * 3),
    ],
)
def test_numeric_rules(text, expected):
    assert values(text, "numeric") == expected


def test_decimal_results_are_floats_in_every_kind():
    for kind in ("numeric", "any"):
        assert LOG.select(compiled("price", kind)).dtypes == [pl.Float64]
        assert LOG.select(compiled("shown / 3.0", kind)).dtypes == [pl.Float64]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("timestamp > TIMESTAMP '1970-01-01T00:00:00Z'", [False, True, True]),
        ("timestamp > TIMESTAMP '1970-01-01'", [False, True, True]),
        ("timestamp > timestamp '1970-01-01 00:00:00.000001'", [False, False, True]),
        # An offset counts: this is 1970-01-01T00:00:00Z.
        ("timestamp > TIMESTAMP '1970-01-01T02:00:00+02:00'", [False, True, True]),
        ("timestamp > TIMESTAMPTZ '1970-01-01'", [False, True, True]),
        ("local > TIMESTAMP '1970-01-01'", [False, True, True]),
        ("timestamp > DATE '1970-01-01'", [False, True, True]),
    ],
)
def test_times_are_utc(text, expected):
    assert values(text) == expected


def test_windows_are_for_derived_columns():
    text = "LEAD(shown) OVER (PARTITION BY 1 ORDER BY timestamp) - shown"
    assert values(text, "any") == [1, 1, None]
    for kind in ("boolean", "numeric"):
        assert refused(f"{text} > 0", kind) == (
            "a rule looks at one row; put what looks at others (OVER) into derive: "
            "'LEAD(shown) OVER (PARTITION BY 1 ORDER BY timestamp) - shown > 0'"
        )


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("dwell >", "boolean", "not an SQL expression: unable to parse 'dwell >' as Expr"),
        ("", "boolean", "not an SQL expression: unable to parse '' as Expr"),
        ("*", "any", "not an SQL expression: unable to parse '*' as Expr"),
        (
            "dwell > 1; DROP TABLE x",
            "boolean",
            "not an SQL expression: invalid expression (found unexpected token ';')",
        ),
        ("rand() > 1", "boolean", "not an SQL expression: unsupported function 'rand'"),
        (
            "dwel > 30",
            "boolean",
            (
                "unknown column 'dwel' in logs/*.parquet. Did you mean 'dwell'? Columns: user_id, "
                "event, dwell, shown, liked, tags, price, timestamp, local, day, took"
            ),
        ),
        (
            "zzz = 1 AND aaa = 2",
            "boolean",
            (
                "unknown column 'aaa' in logs/*.parquet. Columns: user_id, event, dwell, shown, "
                "liked, tags, price, timestamp, local, day, took\n"
                "unknown column 'zzz' in logs/*.parquet. Columns: user_id, event, dwell, shown, "
                "liked, tags, price, timestamp, local, day, took"
            ),
        ),
        (
            "dwell > 1 AND event = click",
            "boolean",
            (
                "unknown column 'click' in logs/*.parquet. Did you mean 'liked'? Columns: user_id, "
                "event, dwell, shown, liked, tags, price, timestamp, local, day, took. A text "
                "stands in single quotes: 'click'"
            ),
        ),
        ("dwell", "boolean", "expected true or false for each row, this gives Float64: 'dwell'"),
        ("1", "boolean", "expected true or false for each row, this gives Int32: '1'"),
        ("NULL", "boolean", "expected true or false for each row, this gives Null: 'NULL'"),
        ("event", "numeric", "expected a number for each row, this gives String: 'event'"),
        (
            "dwell > 30",
            "numeric",
            (
                "expected a number for each row, this gives Boolean "
                "(write CASE WHEN ... THEN 1 ELSE 0 END): 'dwell > 30'"
            ),
        ),
        (
            "SUM(dwell) > 30",
            "boolean",
            "a rule gives one value a row, this one aggregates rows: 'SUM(dwell) > 30'",
        ),
        (
            "dwell > AVG(dwell)",
            "boolean",
            "a rule gives one value a row, this one aggregates rows: 'dwell > AVG(dwell)'",
        ),
        (
            "COUNT(*) > 1",
            "boolean",
            "a rule gives one value a row, this one aggregates rows: 'COUNT(*) > 1'",
        ),
        (
            "MAX(dwell)",
            "any",
            "a rule gives one value a row, this one aggregates rows: 'MAX(dwell)'",
        ),
        (
            "FIRST(dwell) IN (1.5, 2)",
            "boolean",
            "a rule gives one value a row, this one aggregates rows: 'FIRST(dwell) IN (1.5, 2)'",
        ),
        (
            "UNNEST(tags) = 'a'",
            "boolean",
            "a rule gives one value a row, this one gives several: \"UNNEST(tags) = 'a'\"",
        ),
        (
            "COLUMNS('d')",
            "any",
            "a rule gives one column, this one gives several: \"COLUMNS('d')\"",
        ),
        (
            "shown IN (SELECT 1)",
            "boolean",
            "a rule has no subqueries: 'shown IN (SELECT 1)'",
        ),
        (
            "dwell > INTERVAL '30 seconds'",
            "boolean",
            (
                "compares a number (Float64) with an INTERVAL: write a number, in the unit of the "
                "column: \"dwell > INTERVAL '30 seconds'\""
            ),
        ),
        (
            "liked AND INTERVAL '1 minute' <= shown",
            "boolean",
            (
                "compares a number (Int8) with an INTERVAL: write a number, in the unit of the "
                "column: \"liked AND INTERVAL '1 minute' <= shown\""
            ),
        ),
        (
            "CASE WHEN dwell > INTERVAL '30 seconds' THEN 2 ELSE 1 END",
            "numeric",
            (
                "compares a number (Float64) with an INTERVAL: write a number, in the unit of the "
                "column: \"CASE WHEN dwell > INTERVAL '30 seconds' THEN 2 ELSE 1 END\""
            ),
        ),
        (
            "shown > DATE '2022-01-01'",
            "boolean",
            (
                "compares a number (Int8) with a time (Date): convert one of them: "
                "\"shown > DATE '2022-01-01'\""
            ),
        ),
        (
            "timestamp > '2022-01-01'",
            "boolean",
            (
                "compares a time with text; times are written TIMESTAMP '2022-05-05T16:00:00Z': "
                "\"timestamp > '2022-01-01'\""
            ),
        ),
        ("event > 1", "boolean", "cannot compare string with numeric type (i32): 'event > 1'"),
    ],
)
def test_refused_rules(text, kind, message):
    assert refused(text, kind) == message


ZEROS = pl.DataFrame(
    {
        "n": [0, 5, None],
        "z": [0, 0, 0],
        "f": [0.0, 5.0, None],
        "g": [0.0, 0.0, 2.0],
        "b c": [0, 5, 1],
        "u": [1, 1, 2],
        "took": pl.Series([0, 2, 4]).cast(pl.Duration("us")),
        "s": [{"x": 0}, {"x": 1}, {"x": 2}],
        "l": [[0], [1], [2]],
        "event": ["a / b", "it's % 2", None],
    }
)


def zeros(text: str, kind: Any = "boolean") -> list[Any]:
    rule = compile_rule(text, ZEROS.schema, path="where", kind=kind, source="log")
    return ZEROS.select(rule).to_series().to_list()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f / g > 0.9", [None, None, None]),
        ("f / g > 0.9 OR u = 2", [None, None, True]),
        ("NOT f / g > 0.9", [None, None, None]),
        ("f/f>0.9", [None, True, None]),
        ("f % g > 0", [None, None, None]),
        ("f // f = 1", [None, True, None]),
        ("n / z > 0", [None, None, None]),
        ("u / (g) > 0", [None, None, True]),
        ("u / ((g - 1) * (g - 1) - 1) < 1", [None, None, None]),
        ("u / -f < 0", [None, True, None]),
        ("u / + /* what? */ -- else\n f > 0", [None, True, None]),
        ("u / f * 10 > 1", [None, True, None]),
        ("u / f / f > 1", [None, False, None]),
        ("u / COALESCE(g, 1) > 0", [None, None, True]),
        ("u / (u / f) > 1", [None, True, None]),
        ("u / CASE WHEN g = 0 THEN CASE WHEN f / f = 1 THEN 0 ELSE 1 END ELSE 1 END > 0", None),
        ("u / CAST(g AS DOUBLE) > 0", [None, None, True]),
        ("u / g::int > 0", [None, None, True]),
        ("u / g::double precision > 0", [None, None, True]),
        ("u / g::decimal(10, 2) > 0", [None, None, True]),
        ('u / "b c" > 0', [None, True, True]),
        ("u / `b c` > 0", [None, True, True]),
        ("u / s.x > 0", [None, True, True]),
        ("u / l[1] > 0", [None, True, True]),
        ("took / took > 0", [None, True, True]),
        ("took / INTERVAL '1 second' > 0", [False, True, True]),
        ("MOD(f, f) = 0", [None, True, None]),
        ("MOD(u, (z)) = 0", [None, None, None]),
        ("DIV(u, MOD(n, 5) + 1) = 1", [True, True, None]),
        ("u / 0 > 1", [None, None, None]),
        ("u / 0.0 > 1", [None, None, None]),
        ("u / 2 > 0.9", [False, False, True]),
        ("u / .5e1 > 0.3", [False, False, True]),
        ("u / NULLIF(g, 0) > 0", [None, None, True]),
        ("event = 'a / b'", [True, False, None]),
        ("event = 'it''s % 2'", [False, True, None]),
        ("n / z IS NULL", [True, True, True]),
    ],
)
def test_a_division_by_zero_is_null(text, expected):
    assert zeros(text) == (expected or [True, None, True])


@pytest.mark.parametrize("ids", [1, "u"])
@pytest.mark.parametrize(
    "text", ["dwell / 5", "dwell / 5.0", "dwell / (2 + 3)", "dwell / NULLIF(5, 0)", "1 * dwell / 5"]
)
def test_a_quotient_does_not_depend_on_the_place_of_its_row(ids, text):
    """Multiplied by the reciprocal, 3 / 5 would be 0.6000000000000001 in the first rows."""
    for dwell in (3, 3.0):
        rows = pl.DataFrame({"user_id": [ids] * 11, "dwell": [dwell] * 11})
        rule = compile_rule(text, rows.schema, path="gain", kind="numeric", source="log")
        assert rows.select(rule).to_series().to_list() == [0.6] * 11


def test_divisions_in_other_kinds_of_rules():
    assert zeros("CASE WHEN f / g > 1 THEN 2 ELSE 1 END", "numeric") == [1, 1, 1]
    assert zeros("f / SUM(n) OVER (PARTITION BY u) > 0.5", "any") == [False, True, None]
    assert zeros("SUM(f) OVER (PARTITION BY u) / SUM(z) OVER (PARTITION BY u)", "any") == [None] * 3
    message = "not an SQL expression: unable to parse 'dwell / (shown' as Expr"
    assert refused("dwell / (shown") == message
    assert refused("dwell /") == "not an SQL expression: unable to parse 'dwell /' as Expr"


@pytest.mark.parametrize("kind", ["boolean", "any"])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("LN(dwell) > 1", "LN"),
        ("1 < 2 AND NOT sqrt(dwell) > 1", "SQRT"),
        ("LOG(dwell, 2) IN (1.5, 2.5)", "LOG"),
        ("POW(dwell, 2) > 2", "POW"),
        ("ACOS(dwell) BETWEEN 1 AND 2", "ACOS"),
        ("EXP(dwell) IS NULL", "EXP"),
    ],
)
def test_rules_do_not_decide_by_what_may_be_nan(text, name, kind):
    assert refused(text, kind) == (
        f"{name} may give NaN, which is larger than every number; derive it first, "
        f"derive: {{name: {name}(...)}}, where NaN becomes null: {text!r}"
    )


def test_functions_that_may_give_nan_are_for_derived_columns_and_gains():
    assert values("LN(dwell)", "any") == [pytest.approx(2.302585), pytest.approx(3.688879), None]
    assert values("SQRT(dwell)", "numeric")[0] == pytest.approx(10**0.5)
    message = refused("CASE WHEN LN(dwell) > 1 THEN 2 ELSE 1 END", "numeric")
    assert message.startswith("LN may give NaN")
    assert values("event = 'ln(2) > 1'") == [False, None, False]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("event = 'click' AN", "AN"),
        ("shown > 1 garbage", "garbage"),
        ("shown > 1 AS x", "x"),
        ('shown > 1 "a b"', "a b"),
        ("shown > 1 shown", "shown"),
    ],
)
def test_words_after_a_rule(text, word):
    assert refused(text) == f"unexpected words after the rule ({word!r}): {text!r}"


@pytest.mark.parametrize(
    "text",
    [
        "EXISTS (FROM read_csv('/etc/hostname'))",
        "exists (SELECT 1)",
        "EXISTS(VALUES (1))",
        "shown IN (VALUES (1))",
        "shown IN (/* all */ WITH a AS (SELECT 1) FROM a)",
        "shown IN (FROM log)",
        "shown IN (TABLE log)",
    ],
)
def test_rules_have_no_subqueries(text):
    assert refused(text) == f"a rule has no subqueries: {text!r}"


def test_from_is_for_other_things_too():
    text = "EXTRACT(year FROM timestamp) = 1970 AND shown IS DISTINCT FROM 1"
    assert values(text) == [True, False, True]


@pytest.mark.parametrize(
    "text",
    [
        " OR ".join(f"shown = {number}" for number in range(1000)),
        " and ".join(["liked"] * 40_000),
        "0 < shown" + " + shown" * 2000,
        "NOT " * 1000 + "liked",
    ],
    ids=["or", "and", "plus", "not"],
)
def test_rules_that_are_too_long(text):
    assert refused(text) == (
        f"too long for one rule; write column IN (1, 2, ...) for many values: {text[:80] + '...'!r}"
    )


def test_in_may_be_long():
    numbers = ", ".join(str(number) for number in range(-2000, 2000))
    assert values(f"shown IN ({numbers})") == [True, True, True]
    assert values(" OR ".join(["shown = 1"] * 60)) == [False, True, False]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('event = "click"', "click"),
        ("event <> click AND dwell > 1", "click"),
        ("event >= `click`", "click"),
        ("event IN ('view', click)", "click"),
        ('event = "it\'s"', "it's"),
    ],
)
def test_a_name_in_place_of_a_text(text, name):
    quoted = name.replace("'", "''")
    assert refused(text).endswith(f", took. A text stands in single quotes: '{quoted}'")


@pytest.mark.parametrize(
    "text", ["click = event", "dwel > 30", "dwell > 1 + clicks", "dwell > ABS(clicks)"]
)
def test_a_name_elsewhere_is_meant_as_one(text):
    assert "quotes" not in refused(text)


def test_a_rule_reaches_the_file(tmp_path):
    LOG.drop("tags").write_parquet(tmp_path / "log.parquet")
    scan = pl.scan_parquet(tmp_path / "log.parquet")
    rule = compile_rule(
        "dwell > 30 AND timestamp >= TIMESTAMP '1970-01-01'",
        scan.collect_schema(),
        path="where",
        kind="boolean",
        source="log",
    )
    plan = scan.filter(rule).select("user_id").explain()
    assert "SELECTION" in plan
    assert "FILTER" not in plan
    assert "PROJECT 3/10 COLUMNS" in plan


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # 8 bits end at 127, 16 at 32,767, and UInt32 has no -1.
        ("EXTRACT(HOUR FROM t) * 60 + EXTRACT(MINUTE FROM t)", [90, 810, 1410]),
        ("EXTRACT(HOUR FROM t) * 3600", [3600, 46800, 82800]),
        ("DATE_PART('day', t) * 100", [200, 200, 200]),
        ("LENGTH(s) - 2", [-1, 2, -2]),
        ("STRPOS(s, 'c') - 1", [-1, 2, -1]),
        ("100 / (LENGTH(s) - 2)", [-100.0, 50.0, -50.0]),
        ("LENGTH(s) / LENGTH(s)", [1.0, 1.0, None]),
        ("EXTRACT(EPOCH FROM t) / 3600", [490921.5, 490933.5, 490943.5]),
    ],
)
def test_functions_with_narrow_results_do_not_overflow(rule, expected):
    times = [datetime(2026, 1, 2, hour, 30) for hour in (1, 13, 23)]
    frame = pl.DataFrame({"t": times, "s": ["a", "abcd", ""]})
    found = compile_rule(rule, frame.schema, path="derive.x", kind="any", source="log")
    assert frame.select(found.alias("x"))["x"].to_list() == expected
