"""What a run says of its stages while it lasts."""

import io
import sys
from contextlib import AbstractContextManager, nullcontext

import pytest

from recoeval.workflow.progress import Advance, Bars, Lines, Progress, Silent, progress_for
from recoeval.workflow.record import Record


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def put_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # Called within the test: pytest puts its own stderr in place after the fixtures.
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def some_stages(progress: Progress) -> None:
    with progress.stage("read the log"):
        pass
    with (
        progress.stage("[red]als: lists", total=10) as advance,
        progress.stage("within", total=None),
    ):
        advance(4)
        advance(6)


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    some_stages(Silent())
    assert capsys.readouterr() == ("", "")


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    some_stages(lines)
    assert capsys.readouterr() == ("", "")
    taken = {"seconds": 12.34, "cpu_seconds": 123.45, "peak_memory_mb": 2345.6}
    lines.over({**taken, "stage": "read the log", "rows": 50_000_000})
    lines.over({**taken, "stage": "[red]als: fit", "rows": None})
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "    wall         CPU      memory             rows  stage",
        "    12.3 s     123.5 s     2,346 MB    50,000,000  read the log",
        "    12.3 s     123.5 s     2,346 MB             -  [red]als: fit",
    ]


def test_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = put_terminal(monkeypatch)
    progress = Bars()
    some_stages(progress)
    shown = terminal.getvalue()
    assert "read the log" in shown
    assert "[red]als: lists" in shown
    # The cursor is back, and the next bar starts anew.
    assert shown.count("\x1b[?25h") == shown.count("\x1b[?25l") == 2


def test_a_failed_stage_leaves_the_terminal_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = put_terminal(monkeypatch)
    with pytest.raises(ValueError, match="x"), Bars().stage("fit"):
        raise ValueError("x")
    assert terminal.getvalue().count("\x1b[?25h") == 1


def test_a_failed_stage_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    record = Record(Lines())
    with pytest.raises(ValueError, match="x"), record.stage("fit"):
        raise ValueError("x")
    assert capsys.readouterr().err == ""
    assert record.stages == []


def test_progress_need_not_hear_what_a_stage_took() -> None:
    class Names(Progress):
        """Keeps the names alone."""

        def __init__(self) -> None:
            self.names: list[str] = []

        def stage(self, name: str, total: int | None = None) -> AbstractContextManager[Advance]:
            self.names.append(name)
            return nullcontext(lambda _: None)

    progress = Names()
    with Record(progress).within("fold 1: ").stage("fit"):
        pass
    assert progress.names == ["fold 1: fit"]


def test_who_gets_what(monkeypatch: pytest.MonkeyPatch) -> None:
    put_terminal(monkeypatch)
    assert isinstance(progress_for(), Bars)
    assert isinstance(progress_for(verbose=True), Lines)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_for(), Silent)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(progress_for(), Silent)
