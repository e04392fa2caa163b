"""`sakuin connect`, the agents' own commands, and the guide that shows them."""

import json
import os
import re
import tomllib
from pathlib import Path

import pytest
from sakuin.errors import Invalid
from sakuin.mcp.agents import FORMATS, HIDDEN_KEY, AgentEndpoint, configurations
from sakuin_cli.agent_programs import PROGRAMS

from tests.builders import a_page
from tests.cli.conftest import FORMULA, Operator, Output
from tests.cli.connecting.programs import calls_of, installed
from tests.cli.deployment import API_KEY


@pytest.fixture
def programs(operator: Operator) -> Path:
    """The programs of Codex and VS Code; the library has a page."""
    operator.deployment.put("x.html", a_page(FORMULA))
    return installed(operator.folder / "bin", "codex", "code")


def connect(operator: Operator, *arguments: str) -> Output:
    path = f"{operator.folder / 'bin'}{os.pathsep}/nowhere"
    return operator.sakuin("connect", *arguments, HOME=str(operator.folder), PATH=path)


def test_all_agents_get_the_server_are_asked_and_lose_it_again(operator: Operator, programs: Path) -> None:
    done = connect(operator, "--all", "--question", "解の公式", "--json")
    assert done.code == 0, done.err
    rows = {row["agent"]: row for row in done.document["agents"]}
    assert {name: (row["place"], row["state"]) for name, row in rows.items()} == {
        "codex": ("codex", "added"),
        "vscode": ("code", "added"),
    }
    assert rows["codex"]["notes"][0] == 'search_knowledge answered "解の公式": 1 result'
    assert any(
        call.startswith(f"codex mcp add sakuin --url {operator.deployment.url}/mcp ") for call in calls_of(programs)
    )
    would = connect(operator, "codex", "--undo", "--dry-run", "--json").document["agents"][0]
    assert (would["state"], would["notes"]) == ("unchanged", ["would run codex mcp remove sakuin"])
    undone = connect(operator, "--undo", "--json")
    assert undone.code == 0
    assert calls_of(programs)[-1] == "codex mcp remove sakuin"
    states = {row["agent"]: (row["state"], row["notes"]) for row in undone.document["agents"]}
    assert states["codex"] == ("removed", [])
    assert states["vscode"][0] == "unchanged"
    assert "MCP: List Servers" in states["vscode"][1][0]


def test_a_question_without_an_answer_is_a_failure_and_the_entry_stays(operator: Operator, programs: Path) -> None:
    operator.deployment.failures = [500] * 3
    done = connect(operator, "codex", "--json")
    operator.deployment.failures = []
    assert (done.code, done.document["agents"][0]["state"]) == (1, "failed")
    assert "the question failed: Sakuin could not answer (500)" in done.document["agents"][0]["notes"][0]
    assert len(calls_of(programs)) == 1


def test_no_key_is_ever_printed_or_given_to_a_program(operator: Operator, programs: Path) -> None:
    shown = connect(operator, "--dry-run")
    assert shown.code == 0, shown.err
    assert "codex mcp add sakuin" in shown.out
    assert "${SAKUIN_AUTHORIZATION}" in shown.out
    outputs = (shown, connect(operator, "--dry-run", "--json"), connect(operator, "--all"), connect(operator, "--undo"))
    assert not any(API_KEY in text for text in [*calls_of(programs), *(one.out + one.err for one in outputs)])


def test_a_failure_of_one_agent_does_not_stop_the_others(operator: Operator, programs: Path) -> None:
    done = connect(operator, "gemini", "codex", "cursor", "--json")
    assert done.code == 1
    rows = done.document["agents"]
    assert [row["state"] for row in rows] == ["failed", "added", "printed"]
    assert "Gemini CLI was not found here" in rows[0]["notes"][0]
    assert (rows[2]["place"], "mcpServers" in rows[2]["configuration"]) == ("~/.cursor/mcp.json", True)


def test_a_command_that_fails_says_its_last_line(operator: Operator, programs: Path) -> None:
    (programs / "fails").write_text("usage\nMCP server sakuin already exists")
    done = connect(operator, "codex", "--json")
    assert done.document["agents"][0]["notes"] == ["Codex's command codex failed: MCP server sakuin already exists"]
    assert connect(operator, "codex", "--undo", "--json").document["agents"][0]["state"] == "unchanged"


def test_without_a_terminal_the_agents_have_to_be_named(operator: Operator, programs: Path) -> None:
    asked = connect(operator)
    assert asked.code == 1
    assert asked.err.startswith("sakuin: These agents are here:\n  vscode ")
    assert "\n  codex " in asked.err
    assert connect(operator, "emacs").code == 2
    assert calls_of(programs) == []


DOCUMENT = (Path(__file__).parents[3] / "docs/how-to/clients.md").read_text()

LIBRARY = AgentEndpoint("sakuin", "https://sakuin.example/mcp", "SAKUIN_API_KEY")

COMMANDS = {
    "claude-code": "claude mcp add --scope user --transport http sakuin https://sakuin.example/mcp "
    "--header Authorization: Bearer ${SAKUIN_API_KEY}",
    "codex": "codex mcp add sakuin --url https://sakuin.example/mcp --bearer-token-env-var SAKUIN_API_KEY",
    "gemini": "gemini mcp add --scope user --transport http --header Authorization: Bearer ${SAKUIN_API_KEY} "
    "sakuin https://sakuin.example/mcp",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_commands_that_add_and_remove_an_entry_have_no_key(name: str) -> None:
    agent = PROGRAMS[name]
    added = " ".join(agent.add_command(LIBRARY))
    assert added == COMMANDS[name]
    removed = re.sub(r" add .*", " remove ", added) + ("" if name == "codex" else "--scope user ") + "sakuin"
    assert " ".join(agent.remove_command("sakuin")) == removed


def test_vscode_asks_for_the_key_itself_and_has_no_command_to_remove() -> None:
    agent = PROGRAMS["vscode"]
    program, option, entry = agent.add_command(LIBRARY)
    server = json.loads(entry)
    assert (program, option) == ("code", "--add-mcp")
    assert (server["name"], server["url"], server["inputs"][0]["password"]) == ("sakuin", LIBRARY.url, True)
    with pytest.raises(Invalid, match="MCP: List Servers"):
        agent.remove_command("sakuin")


@pytest.mark.parametrize("name", FORMATS)
def test_the_document_shows_the_configuration_and_the_place(name: str) -> None:
    format_, entry = FORMATS[name], next(each for each in configurations(LIBRARY, HIDDEN_KEY) if each.agent == name)
    section = DOCUMENT.partition(f"\n## {format_.title}\n")[2].partition("\n## ")[0]
    block = re.search(r"^```(?:json|toml)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert block
    read = tomllib.loads if format_.is_toml else json.loads
    assert read(block[1]) == read(entry.text)
    row = re.search(rf"^\| {format_.title} \| `{name}` \|.*$", DOCUMENT, re.MULTILINE)
    assert row
    assert f"`{PROGRAMS[name].program}" in row[0] if name in PROGRAMS else Path(format_.files[0]).name in row[0]
