"""What a run says of its stages while it lasts."""

import io
import re
import sys

import pytest

from recoeval.workflow.progress import Bars, Lines, Progress, Silent, progress_for


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
    some_stages(Lines())
    out, err = capsys.readouterr()
    assert out == ""
    names = [re.fullmatch(r" +\d+\.\d s  (.*)", line) for line in err.splitlines()]
    assert [name and name[1] for name in names] == ["read the log", "within", "[red]als: lists"]


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
    with pytest.raises(ValueError, match="x"), Lines().stage("fit"):
        raise ValueError("x")
    assert capsys.readouterr().err == ""


def test_who_gets_what(monkeypatch: pytest.MonkeyPatch) -> None:
    put_terminal(monkeypatch)
    assert isinstance(progress_for(), Bars)
    assert isinstance(progress_for(verbose=True), Lines)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_for(), Silent)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(progress_for(), Silent)
