"""Entries in the configurations of agents, with the agents' own commands and in their files."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from sakuin.console.agents import HIDDEN_KEY, AgentEndpoint, configurations
from sakuin.errors import Invalid, Unavailable
from sakuin_cli.connecting.agents import AGENTS, Agent
from sakuin_cli.connecting.configurations import Configurations

from tests.cli.connecting.programs import calls_of, installed

DOCUMENT = (Path(__file__).parents[3] / "docs/how-to/clients.md").read_text()
KEY = "sk_sakuin_secret"
LIBRARY = AgentEndpoint("sakuin", "https://sakuin.example/mcp", "SAKUIN_API_KEY")
TOOLS = AgentEndpoint("sakuin-tools", "https://sakuin.example/mcp/1", "SAKUIN_TOOLS_API_KEY")
EVERY = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
WITH_FILE = pytest.mark.parametrize("agent", [AGENTS["claude-desktop"], AGENTS["cursor"]], ids=lambda agent: agent.name)
COMMANDS = {
    "claude-code": "claude mcp add --scope user --transport http sakuin https://sakuin.example/mcp "
    "--header Authorization: Bearer ${SAKUIN_API_KEY}",
    "codex": "codex mcp add sakuin --url https://sakuin.example/mcp --bearer-token-env-var SAKUIN_API_KEY",
    "gemini": "gemini mcp add --scope user --transport http --header Authorization: Bearer ${SAKUIN_API_KEY} "
    "sakuin https://sakuin.example/mcp",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(installed(tmp_path / "bin", "claude", "codex", "gemini", "code")))
    return tmp_path


def file_with(home: Path, agent: Agent, text: str | None) -> Path:
    file = agent.file(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        file.write_text(text)
        file.chmod(0o644)
    return file


# ---------------------------------------------------------------- the agents' own commands


@pytest.mark.parametrize("name", COMMANDS)
def test_an_agents_own_command_adds_and_removes_the_entry_without_a_key(home: Path, name: str) -> None:
    agent, to = AGENTS[name], Configurations(home)
    assert to.add(agent, LIBRARY, KEY)
    assert to.remove_all(agent) == ["sakuin"]
    added, removed = calls_of(home / "bin")
    assert added == COMMANDS[name]
    assert removed == re.sub(r" add .*", " remove ", added) + ("" if name == "codex" else "--scope user ") + "sakuin"
    assert to.remove_all(agent) == []


def test_vscode_asks_for_the_key_itself_and_has_no_command_to_remove(home: Path) -> None:
    agent, to = AGENTS["vscode"], Configurations(home)
    to.add(agent, LIBRARY, KEY)
    (call,) = calls_of(home / "bin")
    server = json.loads(call.removeprefix("code --add-mcp "))
    assert (server["name"], server["url"], server["inputs"][0]["password"]) == ("sakuin", LIBRARY.url, True)
    assert KEY not in call
    with pytest.raises(Invalid, match="MCP: List Servers"):
        to.remove_all(agent)


def test_an_entry_of_an_earlier_run_is_replaced(home: Path) -> None:
    to = Configurations(home)
    to.add(AGENTS["claude-code"], LIBRARY, KEY)
    to.add(AGENTS["claude-code"], LIBRARY, KEY)
    assert [call.split()[2] for call in calls_of(home / "bin")] == ["add", "remove", "add"]


def test_a_command_that_fails_or_is_missing_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to = Configurations(home)
    (home / "bin" / "fails").write_text("MCP server sakuin already exists")
    with pytest.raises(Invalid, match="claude failed: MCP server sakuin already exists"):
        to.add(AGENTS["claude-code"], LIBRARY, KEY)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unavailable, match="codex did not run"):
        to.add(AGENTS["codex"], LIBRARY, KEY)
    assert not AGENTS["codex"].is_installed(home)


# ---------------------------------------------------------------- files


@WITH_FILE
@pytest.mark.parametrize("text", ['{"theme": "暗い", "mcpServers": {"other": {"url": "https://other"}}}', "{}", None])
def test_a_file_gets_the_entry_and_loses_it_again(home: Path, agent: Agent, text: str | None) -> None:
    file, to = file_with(home, agent, text), Configurations(home)
    assert to.add(agent, LIBRARY, KEY)
    document = json.loads(file.read_text())
    assert document["mcpServers"]["sakuin"] == agent.format.entry(LIBRARY, KEY)["mcpServers"]["sakuin"]
    assert (KEY in file.read_text()) == (agent.format.key_in == "file")
    assert file.stat().st_mode & 0o777 == (0o600 if agent.format.key_in == "file" or text is None else 0o644)
    assert not to.add(agent, LIBRARY, KEY)
    assert to.add(agent, TOOLS, KEY)
    assert to.remove_all(agent) == ["sakuin", "sakuin-tools"]
    # A file without anything else is deleted.
    assert (json.loads(file.read_text()) if file.exists() else {}) == json.loads(text or "{}")
    assert KEY not in (home / ".config/sakuin/connect.json").read_text()


def test_another_key_replaces_the_entry_and_a_foreign_one_stays(home: Path) -> None:
    agent, to = AGENTS["claude-desktop"], Configurations(home)
    file = file_with(home, agent, None)
    to.add(agent, LIBRARY, "sk_sakuin_old")
    assert to.add(agent, LIBRARY, KEY)
    assert "sk_sakuin_old" not in file.read_text()
    to.remove_all(agent)
    foreign = '{"mcpServers": {"sakuin": {"command": "mine"}}}'
    file_with(home, agent, foreign)
    with pytest.raises(Invalid, match="another entry sakuin"):
        to.add(agent, LIBRARY, KEY)
    assert file.read_text() == foreign


@WITH_FILE
@pytest.mark.parametrize("text", ["{", "[1, 2]", '"x"', '{"mcpServers": 1}', '{\n  // mine\n  "mcpServers": {}\n}'])
def test_a_file_with_comments_or_another_form_is_left_as_it_is(home: Path, agent: Agent, text: str) -> None:
    file = file_with(home, agent, text)
    with pytest.raises(Invalid, match="left as it is"):
        Configurations(home).add(agent, LIBRARY, KEY)
    assert file.read_text() == text


def test_a_link_stays_a_link(home: Path) -> None:
    elsewhere = home / "dotfiles.json"
    elsewhere.write_text("{}")
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(elsewhere)
    Configurations(home).add(AGENTS["cursor"], LIBRARY, KEY)
    assert link.is_symlink()
    assert "sakuin" in elsewhere.read_text()


# ---------------------------------------------------------------- the document


@EVERY
def test_the_document_shows_the_configuration_and_the_place(agent: Agent) -> None:
    section = DOCUMENT.partition(f"\n## {agent.title}\n")[2].partition("\n## ")[0]
    block = re.search(r"^```(?:json|toml)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert block
    read = tomllib.loads if agent.format.is_toml else json.loads
    text = next(each.text for each in configurations(LIBRARY, HIDDEN_KEY) if each.agent == agent.name)
    assert read(block[1]) == read(text)
    row = re.search(rf"^\| {agent.title} \| `{agent.name}` \|.*$", DOCUMENT, re.MULTILINE)
    assert row
    assert f"`{agent.program}" in row[0] if agent.program else agent.file(Path("~"), {}, "linux").name in row[0]


@WITH_FILE
def test_places_follow_the_platform_and_the_folders_of_the_environment(agent: Agent, tmp_path: Path) -> None:
    environ = {"APPDATA": "/roaming", "XDG_CONFIG_HOME": ""}
    places = {name: agent.file(tmp_path, environ, name) for name in ("darwin", "linux", "win32")}
    assert len({place.name for place in places.values()}) == 1
    assert (places["win32"] == places["linux"]) == (agent.name == "cursor")
