"""What stands on the terminal."""

import io
from collections.abc import Callable, Iterable
from dataclasses import replace

import polars as pl
import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from recoeval.columns import HIT
from recoeval.report.sections import Results, report_sections
from recoeval.report.text import cell_text, open_console, write_report
from recoeval.report.values import (
    Column,
    Count,
    Group,
    Interval,
    Paragraph,
    Rate,
    Section,
    Share,
    Table,
    Word,
    printable,
)
from tests.report.helpers import loss_of


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(sections: Iterable[Section], width: int = 80, stream: io.StringIO | None = None) -> str:
    stream = io.StringIO() if stream is None else stream
    write_report(sections, open_console(stream, width=width))
    return stream.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_a_whole_report(results: Results, width: int, snapshot: SnapshotAssertion) -> None:
    text = shown(report_sections(results), width)
    assert text == snapshot
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_an_evaluation_without_a_run(
    make_results: Callable[..., Results], snapshot: SnapshotAssertion
) -> None:
    text = shown(report_sections(make_results(users=40, train=None, buckets=None)))
    assert text == snapshot
    assert "Verdict" not in text


@pytest.mark.parametrize("width", [1, 10, 20, 40, 60])
def test_a_narrow_terminal_loses_nothing(results: Results, width: int) -> None:
    # Names may be folded; every number is there.
    text = shown(report_sections(results), width)
    overall = results.evaluation.summary.filter(bucket="all", statistic="macro")
    assert overall.height == 12
    for value in overall["value"]:
        assert cell_text(Rate(value)) in text


def test_colours_on_a_terminal_alone(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = shown(report_sections(results), stream=Terminal())
    assert "\x1b[1;31mFAIL\x1b[0m" in coloured
    assert "\x1b[32mpass\x1b[0m" in coloured

    monkeypatch.setenv("NO_COLOR", "1")
    plain = shown(report_sections(results), stream=Terminal())
    assert "\x1b[31m" not in plain
    assert "\x1b[32m" not in plain


def test_nothing_in_a_name_is_markup_or_control() -> None:
    evil = "[red]a[/red]\x1b[2J\n\r\t\u202e:smile:\x00"
    table = Table(
        evil, (Column(evil, key=True, right=False),), (Group(Word(evil, "bad"), ((evil,),)),)
    )
    text = shown([table, Paragraph(evil, (Word(evil, "plain"),))])
    escaped = r"[red]a[/red]\x1b[2J\n\r\t\u202e:smile:\x00"
    assert text.count(escaped) == 6
    assert all(char == "\n" or char.isprintable() for char in text)


def test_names_of_the_data_cannot_write_to_the_terminal(results: Results) -> None:
    evil, escaped = "\x1b[2J[red]\u202e", r"\x1b[2J[red]\u202e"
    finding = {"severity": "severe", "code": "x", "text": evil, "generator": evil, "fold": 0}
    misses = pl.DataFrame(
        {"fold": [0], "generator": [evil], "query_id": [evil], "item_id": [evil]}
        | {"gain": [1.0], "rank": [None], "cause": [HIT]}
    )
    loss = loss_of({(evil, "all", "all"): (1, 0, 0, 0, 0, 0, 0)}, 10)
    facts = {"audit": [finding], "health": {"events": [{evil: evil}]}, "notes": [evil]}
    shown_results = replace(
        results,
        facts=facts,
        misses=misses,
        evaluation=replace(results.evaluation, loss=loss),
    )
    text = shown(report_sections(shown_results, full=True), width=120)
    assert text.count(escaped) == 9
    assert all(char == "\n" or char.isprintable() for char in text)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "-"),
        ("", ""),
        ("als", "als"),
        (0, "0"),
        (1234567, "1,234,567"),
        (Count(499, few=True), "499*"),
        (Count(1500), "1,500"),
        (Rate(None), "-"),
        (Share(None), "-"),
        (Share(0.0), "0.0%"),
        (Share(0.0004), "<0.1%"),
        (Share(0.0006), "0.1%"),
        (Share(0.99949), "99.9%"),
        (Share(0.9996), ">99.9%"),
        (Share(1.0), "100.0%"),
        (Share(1), "100.0%"),
        (Rate(None, few=True), "-"),
        (Rate(0.0), "0.0000"),
        (Rate(0.00004), "<0.0001"),
        (Rate(0.00006), "0.0001"),
        (Rate(0.12345678), "0.1235"),
        (Rate(0.5, few=True), "0.5000*"),
        (Rate(12.0), "12.0000"),
        (Interval(0.1, 0.2), "[0.1000, 0.2000]"),
        (Interval(None, 0.2), "[-, 0.2000]"),
        (Word("a\tb", "good"), r"a\tb"),
    ],
)
def test_cells(cell: object, text: str) -> None:
    assert cell_text(cell) == text  # type: ignore[arg-type]


def test_digits_stay_aligned_where_one_value_is_marked() -> None:
    rows = ((Rate(0.5, few=True),), (Rate(0.25),))
    text = shown([Table("", (Column("x"),), (Group(None, rows),))])
    assert text.splitlines()[-2:] == ["  0.5000*", "  0.2500"]


def test_wide_characters_keep_columns_aligned() -> None:
    columns = (Column("generator", key=True, right=False), Column("users"))
    rows = (("人気順", 1), ("als", 22))
    lines = shown([Table("", columns, (Group(None, rows),))]).splitlines()
    assert [cell_len(line) for line in lines] == [18, 18, 18, 18]


def test_a_key_that_repeats_is_shown_once() -> None:
    columns = (Column("a", key=True, right=False), Column("b", key=True, right=False))
    rows = (("x", "1"), ("x", "2"), ("y", "2"), ("x", "3"))
    text = shown([Table("", columns, (Group(None, rows),))])
    assert text.splitlines()[2:] == ["  x  1", "     2", "  y  2", "  x  3"]


@pytest.mark.parametrize(
    ("raw", "text"), [("plain ä 人", "plain ä 人"), ("\ud800", r"\ud800"), ("\xa0", r"\xa0")]
)
def test_printable(raw: str, text: str) -> None:
    assert printable(raw) == text
