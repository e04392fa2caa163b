"""`sakuin connect`."""

from pathlib import Path

import pytest

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator, Output
from tests.cli.deployment import API_KEY

ELSEWHERE = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"), "")


@pytest.fixture
def home(operator: Operator) -> Path:
    """A home folder with Codex and Cursor; the library has a page."""
    operator.deployment.put("x.html", a_page(FORMULA))
    for folder in (".codex", ".cursor"):
        (operator.folder / folder).mkdir()
    (operator.folder / ".codex/config.toml").write_text('model = "x"\n')
    return operator.folder


def connect(operator: Operator, *arguments: str) -> Output:
    return operator.sakuin("connect", *arguments, HOME=str(operator.folder), **ELSEWHERE)


def test_all_agents_are_written_asked_through_and_undone(operator: Operator, home: Path) -> None:
    done = connect(operator, "--all", "--question", "解の公式", "--json")
    assert done.code == 0
    rows = {row["agent"]: row for row in done.document["agents"]}
    assert {name: row["state"] for name, row in rows.items()} == {"cursor": "written", "codex": "written"}
    assert rows["codex"]["notes"] == ['search_knowledge answered "解の公式": 1 result']
    assert "desktop application" in rows["cursor"]["notes"][1]
    assert f"{operator.deployment.url}/mcp" in (home / ".codex/config.toml").read_text()
    again = connect(operator, "codex")
    assert again.out.startswith(f"• codex unchanged: {home}/.codex/config.toml\n")
    assert connect(operator, "--undo").code == 0
    assert (home / ".codex/config.toml").read_text() == 'model = "x"\n'
    assert not (home / ".cursor/mcp.json").exists()


def test_a_question_without_an_answer_is_a_failure_and_the_configuration_stays(operator: Operator, home: Path) -> None:
    operator.deployment.failures = [500] * 3
    done = connect(operator, "codex", "--json")
    operator.deployment.failures = []
    assert (done.code, done.document["agents"][0]["state"]) == (1, "failed")
    assert "the question failed: Sakuin could not answer (500)" in done.document["agents"][0]["notes"][0]
    assert "[mcp_servers.sakuin]" in (home / ".codex/config.toml").read_text()


def test_no_key_is_ever_printed(operator: Operator, home: Path) -> None:
    (home / ".config/Claude").mkdir(parents=True)
    shown = connect(operator, "--print")
    assert shown.code == 0
    assert "${SAKUIN_AUTHORIZATION}" in shown.out
    outputs = (shown, connect(operator, "--print", "--json"), connect(operator, "--all"), connect(operator, "--undo"))
    assert not any(API_KEY in one.out + one.err for one in outputs)
    assert not (home / ".config/Claude/claude_desktop_config.json").exists()


def test_a_failure_of_one_agent_does_not_stop_the_others(operator: Operator, home: Path) -> None:
    (home / ".cursor/mcp.json").write_text("{")
    done = connect(operator, "cursor", "codex", "gemini", "--json")
    assert done.code == 1
    rows = done.document["agents"]
    assert [row["state"] for row in rows] == ["failed", "written", "failed"]
    assert rows[0]["notes"] == [f"{home}/.cursor/mcp.json is left as it is: it is not valid JSON, near line 1"]
    assert "Gemini CLI was not found here" in rows[2]["notes"][0]
    assert (home / ".cursor/mcp.json").read_text() == "{"


def test_without_a_terminal_the_agents_have_to_be_named(operator: Operator, home: Path) -> None:
    asked = connect(operator)
    assert asked.code == 2
    assert "cursor, codex" in asked.err
    assert connect(operator, "emacs").code == 2
    assert sorted(path.name for path in home.iterdir()) == [".codex", ".cursor"]


def test_search_tools_have_an_entry_of_their_own(operator: Operator, home: Path) -> None:
    missing = connect(operator, "codex", "--tools")
    assert "SAKUIN_TOOLS_MCP_URL is not set" in missing.err
    library = {"SAKUIN_TOOLS_MCP_URL": f"{operator.deployment.url}/mcp", "SAKUIN_TOOLS_API_KEY": API_KEY}
    done = operator.sakuin("connect", "codex", "--tools", HOME=str(home), **ELSEWHERE, **library)
    assert done.code == 0
    text = (home / ".codex/config.toml").read_text()
    assert "[mcp_servers.sakuin-tools]\n" in text
    assert 'bearer_token_env_var = "SAKUIN_TOOLS_API_KEY"' in text
