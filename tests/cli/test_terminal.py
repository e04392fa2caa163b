"""What people see on a terminal, and programs do not."""

import pytest
from sakuin_cli import terminal
from sakuin_cli.terminal import Terminal

from tests.awaiting import awaited


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def shown(capsys: pytest.CaptureFixture[str], *, as_json: bool = False) -> tuple[str, str]:
    """The output of some work that is half done, and of a line with a coloured sign."""
    person = Terminal(as_json)
    with person.progress("uploaded") as on_progress:
        on_progress("uploaded", 3, 6)
    if not as_json:
        person.line("!", "red", "x")
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_terminal_shows_how_much_is_done_and_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out, progress = shown(capsys)
    assert out == "\x1b[31m! \x1b[0mx\n"
    assert ("3/6" in progress, "left" in progress) == (True, True)


def test_no_color_leaves_the_colours_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(capsys)[0] == "! x\n"


@pytest.mark.parametrize("as_json", [True, False])
def test_a_file_or_a_program_gets_no_colours_and_no_progress(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    assert shown(capsys, as_json=as_json) == ("" if as_json else "! x\n", "")


def test_without_a_terminal_slow_work_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "LINE_SECONDS", 0.005)
    with Terminal(as_json=False).progress("uploaded") as on_progress:
        awaited("a line", lambda: on_progress("uploaded", 3, 6) or "uploaded 3 of 6\n" in capsys.readouterr().err)


def test_an_answer_is_requested_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Terminal(as_json=False).waiting():
        awaited("the sign", lambda: "Waiting for the answer" in capsys.readouterr().err)
    # The line is cleared, and the cursor shown again.
    assert capsys.readouterr().err.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


@pytest.mark.parametrize(("forced", "as_json"), [("1", True), ("", False)])
def test_a_program_or_a_file_gets_no_sign(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, forced: str, as_json: bool
) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    with Terminal(as_json).waiting():
        pass
    assert capsys.readouterr() == ("", "")
