"""The files of agents in a home folder: written, written again, and undone."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sakuin.console.agents import HIDDEN_KEY, AgentEndpoint
from sakuin.errors import Invalid
from sakuin_cli.connecting.agents import AGENTS, Agent, target_of
from sakuin_cli.connecting.files import ConnectedFiles

DOCUMENT = (Path(__file__).parents[3] / "docs/how-to/clients.md").read_text()
KEY = "sk_sakuin_secret"
LIBRARY = AgentEndpoint("sakuin", "https://sakuin.example/mcp", "SAKUIN_API_KEY")
TOOLS = AgentEndpoint("sakuin-tools", "https://sakuin.example/mcp/1", "SAKUIN_TOOLS_API_KEY")
OTHERS = {
    "codex": '# mine\nmodel = "x"\n\n[mcp_servers.other]\nurl = "https://other"\n',
    "vscode": '{\r\n\t// mine\r\n\t"servers": {\r\n\t\t"other": {"url": "https://other"},\r\n\t},\r\n}\r\n',
}
EVERY = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConnectedFiles:
    for variable in ("APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return ConnectedFiles(tmp_path)


def written(files: ConnectedFiles, agent: Agent, text: str | None) -> Path:
    """The agent's file with this text; None: only its folder."""
    file = agent.file(files.home)
    file.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        file.write_bytes(text.encode())
        file.chmod(0o644)
    return file


def add(files: ConnectedFiles, agent: Agent, to: AgentEndpoint = LIBRARY, key: str = KEY) -> bool:
    return files.connect(agent, to.name, agent.configuration(to, key))


@EVERY
@pytest.mark.parametrize("exists", [True, False])
def test_undo_gives_the_bytes_and_permissions_of_before(files: ConnectedFiles, agent: Agent, exists: bool) -> None:
    text = OTHERS.get(agent.name, '{"theme": "dark", "mcpServers": {"other": {"url": "https://other"}}}')
    file = written(files, agent, text if exists else None)
    assert add(files, agent)
    mode = 0o600 if agent.format.key_in == "file" or not exists else 0o644
    assert file.stat().st_mode & 0o777 == mode
    assert (KEY in file.read_text()) == (agent.format.key_in == "file")
    once = file.read_bytes()
    assert not add(files, agent)
    assert file.read_bytes() == once
    assert add(files, agent, TOOLS)
    assert files.undo(agent)
    if exists:
        assert file.read_bytes() == text.encode()
        assert file.stat().st_mode & 0o777 == 0o644
    else:
        assert not file.exists()
    assert not files.undo(agent)


@EVERY
def test_what_was_added_can_be_reached_with_its_key(files: ConnectedFiles, agent: Agent) -> None:
    written(files, agent, None)
    add(files, agent, TOOLS)
    entry = agent.entry(files.configuration(agent), TOOLS.name)
    assert target_of(entry, {"SAKUIN_TOOLS_API_KEY": KEY}, typed=KEY) == (TOOLS.url, KEY)
    if agent.format.key_in == "variable":
        assert target_of(entry, {}, typed=KEY) == (TOOLS.url, "")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: json.dumps(json.loads(text)),
        lambda text: json.dumps({"numStartups": 7, **json.loads(text)}, indent=2),
        lambda text: text.replace('"theme"', '"added": 1, "theme"'),
    ],
)
def test_undo_removes_the_entry_alone_from_a_file_that_the_agent_wrote_anew(
    files: ConnectedFiles, change: Callable[[str], str]
) -> None:
    agent = AGENTS["claude-code"]
    file = written(files, agent, '{"theme": "dark", "projects": {"sakuin": {"mcpServers": {}}}}')
    add(files, agent)
    file.write_text(change(file.read_text()))
    others = {name: value for name, value in json.loads(file.read_text()).items() if name != "mcpServers"}
    assert files.undo(agent)
    assert json.loads(file.read_text()) == others


def test_another_url_or_key_replaces_the_entry_and_a_foreign_one_stays(files: ConnectedFiles) -> None:
    agent = AGENTS["claude-desktop"]
    file = written(files, agent, "{}")
    add(files, agent, key="sk_sakuin_old")
    assert add(files, agent)
    assert "sk_sakuin_old" not in file.read_text()
    assert KEY not in (files.home / ".config/sakuin/connect.json").read_text()
    files.undo(agent)
    assert file.read_text() == "{}"
    mine = written(files, agent, '{"mcpServers": {"sakuin": {"command": "mine"}}}')
    with pytest.raises(Invalid, match="this command did not write"):
        add(files, agent)
    assert not files.undo(agent)
    assert mine.read_text() == '{"mcpServers": {"sakuin": {"command": "mine"}}}'


@EVERY
@pytest.mark.parametrize(
    "text", ["{", "[1, 2]", '"x"', '{"mcpServers": 1, "servers": []}', "mcp_servers = {}", b"\xff"]
)
def test_a_file_that_cannot_be_parsed_or_has_no_place_is_left_as_it_is(
    files: ConnectedFiles, agent: Agent, text: str | bytes
) -> None:
    file = written(files, agent, None)
    body = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(body)
    with pytest.raises(Invalid, match="left as it is"):
        add(files, agent)
    assert file.read_bytes() == body


def test_an_entry_in_another_folder_of_the_same_agent_is_not_touched(
    files: ConnectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = AGENTS["codex"]
    first = written(files, agent, "")
    add(files, agent)
    monkeypatch.setenv("CODEX_HOME", str(files.home / "second"))
    written(files, agent, '[mcp_servers.sakuin]\nurl = "mine"\n')
    with pytest.raises(Invalid, match="this command did not write"):
        add(files, agent)
    assert "[mcp_servers.sakuin]" in first.read_text()
    assert files.undo(agent)
    assert first.read_text() == ""


def test_a_link_stays_a_link(files: ConnectedFiles) -> None:
    agent = AGENTS["codex"]
    elsewhere = files.home / "dotfiles.toml"
    elsewhere.write_text('model = "x"\n')
    link = files.home / ".codex" / "config.toml"
    link.parent.mkdir()
    link.symlink_to(elsewhere)
    add(files, agent)
    assert link.is_symlink()
    assert "[mcp_servers.sakuin]" in elsewhere.read_text()


@EVERY
def test_places_follow_the_platform_and_the_folders_of_the_environment(agent: Agent, tmp_path: Path) -> None:
    environ = {"APPDATA": "/roaming", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude", "XDG_CONFIG_HOME": ""}
    places = {name: agent.file(tmp_path, environ, name) for name in ("darwin", "linux", "win32")}
    assert len({place.name for place in places.values()}) == 1
    assert (places["win32"] == places["linux"]) == (agent.name not in ("claude-desktop", "vscode"))


@EVERY
def test_the_document_shows_the_configuration_and_the_places(agent: Agent) -> None:
    section = DOCUMENT.partition(f"\n## {agent.title}\n")[2].partition("\n## ")[0]
    block = re.search(r"^```(?:json|toml)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert block
    assert agent.text.read(block[1]) == agent.configuration(LIBRARY, HIDDEN_KEY)
    row = re.search(rf"^\| {agent.title} \| `{agent.name}` \|.*$", DOCUMENT, re.MULTILINE)
    assert row
    files = {place for places in agent.format.places.values() for place in places if "$" not in place}
    assert files | {f"${variable}" for variable in _variables(agent)} == {
        one.removeprefix("~/") for one in re.findall(r"`((?:~/|\$)[^`]*)`", row[0])
    }


def _variables(agent: Agent) -> set[str]:
    return {
        place[1:].split("/")[0] for places in agent.format.places.values() for place in places if place.startswith("$")
    }
