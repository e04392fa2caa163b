"""`sakuin connect`."""

import os
from pathlib import Path

import pytest

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator, Output
from tests.cli.connecting.programs import calls_of, installed
from tests.cli.deployment import API_KEY

ELSEWHERE = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"), "")


@pytest.fixture
def home(operator: Operator) -> Path:
    """A home folder with Codex and Cursor; the library has a page."""
    operator.deployment.put("x.html", a_page(FORMULA))
    (operator.folder / ".cursor").mkdir()
    installed(operator.folder / "bin", "codex")
    return operator.folder


def connect(operator: Operator, *arguments: str) -> Output:
    path = f"{operator.folder / 'bin'}{os.pathsep}/nowhere"
    return operator.sakuin("connect", *arguments, HOME=str(operator.folder), PATH=path, **ELSEWHERE)


def test_all_agents_get_the_server_are_asked_and_lose_it_again(operator: Operator, home: Path) -> None:
    done = connect(operator, "--all", "--question", "解の公式", "--json")
    assert done.code == 0, done.err
    rows = {row["agent"]: row for row in done.document["agents"]}
    assert {name: (row["place"], row["state"]) for name, row in rows.items()} == {
        "cursor": (f"{home}/.cursor/mcp.json", "written"),
        "codex": ("codex", "written"),
    }
    assert rows["codex"]["notes"][0] == 'search_knowledge answered "解の公式": 1 result'
    assert "desktop application" in rows["cursor"]["notes"][-1]
    assert calls_of(home / "bin")[0].startswith(f"codex mcp add sakuin --url {operator.deployment.url}/mcp ")
    assert connect(operator, "cursor").out.startswith(f"• cursor unchanged: {home}/.cursor/mcp.json\n")
    assert connect(operator, "--undo").code == 0
    assert calls_of(home / "bin")[-1] == "codex mcp remove sakuin"
    assert not (home / ".cursor/mcp.json").exists()


def test_a_question_without_an_answer_is_a_failure_and_the_configuration_stays(operator: Operator, home: Path) -> None:
    operator.deployment.failures = [500] * 3
    done = connect(operator, "cursor", "--json")
    operator.deployment.failures = []
    assert (done.code, done.document["agents"][0]["state"]) == (1, "failed")
    assert "the question failed: Sakuin could not answer (500)" in done.document["agents"][0]["notes"][0]
    assert "sakuin" in (home / ".cursor/mcp.json").read_text()


def test_no_key_is_ever_printed_or_given_to_a_program(operator: Operator, home: Path) -> None:
    (home / ".config/Claude").mkdir(parents=True)
    shown = connect(operator, "--print")
    assert shown.code == 0, shown.err
    assert "codex mcp add sakuin" in shown.out
    assert "${SAKUIN_AUTHORIZATION}" in shown.out
    outputs = (shown, connect(operator, "--print", "--json"), connect(operator, "--all"))
    assert API_KEY in (home / ".config/Claude/claude_desktop_config.json").read_text()
    texts = [*calls_of(home / "bin"), *(one.out + one.err for one in (*outputs, connect(operator, "--undo")))]
    assert not any(API_KEY in text for text in texts)


def test_a_failure_of_one_agent_does_not_stop_the_others(operator: Operator, home: Path) -> None:
    (home / ".cursor/mcp.json").write_text("{")
    done = connect(operator, "cursor", "codex", "gemini", "--json")
    assert done.code == 1
    rows = done.document["agents"]
    assert [row["state"] for row in rows] == ["failed", "written", "failed"]
    assert rows[0]["notes"][0].startswith(f"{home}/.cursor/mcp.json is left as it is")
    assert "Gemini CLI was not found here" in rows[2]["notes"][0]
    assert (home / ".cursor/mcp.json").read_text() == "{"


def test_without_a_terminal_the_agents_have_to_be_named(operator: Operator, home: Path) -> None:
    asked = connect(operator)
    assert asked.code == 1
    assert asked.err.startswith("sakuin: These agents are here:\n  cursor ")
    assert "\n  codex " in asked.err
    assert connect(operator, "emacs").code == 2
    assert sorted(path.name for path in home.iterdir()) == [".cursor", "bin"]
