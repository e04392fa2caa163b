"""The agents: where each keeps its configuration, and what it needs there to reach an MCP endpoint."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sakuin_cli.connecting import json_text, toml_text

# What stands for the key in a configuration that is printed.
HIDDEN_KEY: Final = "sk_sakuin_…"
_REFERENCE: Final = re.compile(r"\$\{(?:(env|input):)?([\w-]+)\}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What an entry points to: `variable` is the environment variable that holds the key."""

    name: str
    url: str
    variable: str


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, as its documentation describes it.

    `places` are its file on macOS, Linux and Windows; a variable in front is a folder of its own, if it is set.
    """

    name: str
    title: str
    places: Mapping[str, tuple[str, ...]]
    # The configuration of an endpoint, with its key if the agent cannot read it from elsewhere.
    configuration: Callable[[Endpoint, str], dict[str, Any]]
    # "variable", "question" (the agent asks for it) or "file".
    key_in: str = "variable"
    # A desktop application, whose bridge or window no test can drive.
    desktop: bool = False
    # The object of the configuration that holds the entries.
    servers: str = "mcpServers"
    # What shows that the agent is installed, beside the folder of its file.
    marker: str | None = None

    @property
    def text(self) -> ModuleType:
        """Returns the module that edits the format of the file."""
        return toml_text if self.places["linux"][-1].endswith(".toml") else json_text

    def file(self, home: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
        """Returns the file of this user, through links."""
        for place in self.places.get(platform, self.places["linux"]):
            variable, slash, rest = place.removeprefix("$").partition("/")
            if not place.startswith("$"):
                return (home / place).resolve()
            if slash and environ.get(variable):
                return (Path(environ[variable]) / rest).resolve()
        raise AssertionError("the last place needs no variable")

    def entry(self, configuration: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """Returns the entry `name` of a configuration; an empty one if there is none."""
        servers = configuration.get(self.servers)
        entry = servers.get(name) if isinstance(servers, dict) else None
        return entry if isinstance(entry, dict) else {}

    def is_installed(self, home: Path) -> bool:
        """Returns whether the agent was started here once."""
        file = self.file(home)
        if self.marker is None:
            return file.parent.is_dir()
        return file.exists() or (home / self.marker).is_dir()


def _claude_code(to: Endpoint, _key: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer ${{{to.variable}}}"}
    return {"mcpServers": {to.name: {"type": "http", "url": to.url, "headers": headers}}}


def _claude_desktop(to: Endpoint, key: str) -> dict[str, Any]:
    arguments = ["-y", "mcp-remote", to.url, "--transport", "http-only"]
    arguments += ["--header", "Authorization:${SAKUIN_AUTHORIZATION}"]
    if to.url.startswith("http://"):
        arguments.append("--allow-http")
    server = {"command": "npx", "args": arguments, "env": {"SAKUIN_AUTHORIZATION": f"Bearer {key}"}}
    return {"mcpServers": {to.name: server}}


def _cursor(to: Endpoint, _key: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer ${{env:{to.variable}}}"}
    return {"mcpServers": {to.name: {"url": to.url, "headers": headers}}}


def _vscode(to: Endpoint, _key: str) -> dict[str, Any]:
    question = {"type": "promptString", "id": f"{to.name}-key", "description": f"Key of {to.name}", "password": True}
    headers = {"Authorization": f"Bearer ${{input:{to.name}-key}}"}
    return {"inputs": [question], "servers": {to.name: {"type": "http", "url": to.url, "headers": headers}}}


def _codex(to: Endpoint, _key: str) -> dict[str, Any]:
    return {"mcp_servers": {to.name: {"url": to.url, "bearer_token_env_var": to.variable}}}


def _gemini(to: Endpoint, _key: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer ${{{to.variable}}}"}
    return {"mcpServers": {to.name: {"httpUrl": to.url, "headers": headers}}}


def _everywhere(*places: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(("darwin", "linux", "win32"), places)


def _of_application(place: str) -> dict[str, tuple[str, ...]]:
    return {
        "darwin": (f"Library/Application Support/{place}",),
        "linux": (f"$XDG_CONFIG_HOME/{place}", f".config/{place}"),
        "win32": (f"$APPDATA/{place}", f"AppData/Roaming/{place}"),
    }


AGENTS: Final = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "Claude Code",
            _everywhere("$CLAUDE_CONFIG_DIR/.claude.json", ".claude.json"),
            _claude_code,
            marker=".claude",
        ),
        Agent(
            "claude-desktop",
            "Claude Desktop",
            _of_application("Claude/claude_desktop_config.json"),
            _claude_desktop,
            key_in="file",
            desktop=True,
        ),
        Agent("cursor", "Cursor", _everywhere(".cursor/mcp.json"), _cursor, desktop=True),
        Agent(
            "vscode",
            "VS Code",
            _of_application("Code/User/mcp.json"),
            _vscode,
            key_in="question",
            desktop=True,
            servers="servers",
        ),
        Agent(
            "codex",
            "Codex",
            _everywhere("$CODEX_HOME/config.toml", ".codex/config.toml"),
            _codex,
            servers="mcp_servers",
        ),
        Agent("gemini", "Gemini CLI", _everywhere(".gemini/settings.json"), _gemini),
    )
}


def target_of(entry: Mapping[str, Any], variables: Mapping[str, str], typed: str) -> tuple[str, str]:
    """Returns the URL and the key that an agent would use; `typed` is what its user answers when it asks for the key.

    A variable that is not set is an empty text, as it is for most agents.
    """
    arguments = entry.get("args", [])
    url = entry.get("url") or entry.get("httpUrl") or next(one for one in arguments if one.startswith("http"))
    if variable := entry.get("bearer_token_env_var"):
        return url, variables.get(variable, "")
    header = entry.get("headers", {}).get("Authorization") or entry["env"]["SAKUIN_AUTHORIZATION"]
    key = _REFERENCE.sub(lambda found: typed if found[1] == "input" else variables.get(found[2], ""), header)
    return url, key.removeprefix("Bearer ").strip()
