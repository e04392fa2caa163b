"""What agents need in their configuration to reach an MCP endpoint, as the documentation of each describes it."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

# What stands for the key in a configuration that is shown.
HIDDEN_KEY: Final = "sk_sakuin_…"
# The environment variables with the key of the library, and of an endpoint of Search Tools.
LIBRARY_VARIABLE: Final = "SAKUIN_API_KEY"
TOOLS_VARIABLE: Final = "SAKUIN_TOOLS_API_KEY"


@dataclass(frozen=True, slots=True)
class AgentEndpoint:
    """What an entry points to: `variable` is the environment variable that holds the key."""

    name: str
    url: str
    variable: str


@dataclass(frozen=True, slots=True)
class AgentFormat:
    """The configuration of an agent. `key_in`: it reads the key from a variable, asks for it, or has it in its file.

    `files` are its places on macOS, Linux and Windows, each once. `entry` makes the configuration of an endpoint, with
    its key if the agent cannot read it from elsewhere; `servers` is the object of it that holds the entries.
    """

    title: str
    files: tuple[str, ...]
    entry: Callable[[AgentEndpoint, str], dict[str, Any]]
    key_in: Literal["variable", "question", "file"] = "variable"
    servers: str = "mcpServers"
    is_toml: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """The text for the file of an agent; `files` are the places of that file.

    `command` adds the same by itself, `link` opens the agent, which then adds it; empty where an agent has none.
    """

    agent: str
    title: str
    files: Sequence[str]
    text: str
    key_in: str
    command: str = ""
    link: str = ""


def configurations(to: AgentEndpoint, key: str) -> Sequence[Configuration]:
    return [
        Configuration(name, each.title, each.files, _text(each, to, key), each.key_in, *_at_once(name, to, key))
        for name, each in FORMATS.items()
    ]


def _at_once(agent: str, to: AgentEndpoint, key: str) -> tuple[str, str]:
    """Returns the command and the link of an agent. A link has no key: browsers keep addresses."""
    header = f'--header "Authorization: Bearer {key}"'
    match agent:
        case "claude-code" | "gemini":
            return f"{agent.partition('-')[0]} mcp add --transport http {to.name} {to.url} {header}", ""
        case "codex":
            return f"codex mcp add {to.name} --url {to.url} --bearer-token-env-var {to.variable}", ""
        case "cursor":
            config = b64encode(json.dumps(_cursor(to, key)["mcpServers"][to.name]).encode()).decode()
            return (
                "",
                f"cursor://anysphere.cursor-deeplink/mcp/install?{urlencode({'name': to.name, 'config': config})}",
            )
        case "vscode":
            entry = _vscode(to, key)
            server = {"name": to.name, "inputs": entry["inputs"], **entry["servers"][to.name]}
            return "", f"vscode:mcp/install?{quote(json.dumps(server))}"
    return "", ""


def _text(each: AgentFormat, to: AgentEndpoint, key: str) -> str:
    written = each.entry(to, key)
    if not each.is_toml:
        return json.dumps(written, ensure_ascii=False, indent=2)
    # A string of JSON is a basic string of TOML.
    members = written[each.servers][to.name].items()
    rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in members]
    return "\n".join([f"[{each.servers}.{to.name}]", *rows])


def _claude_code(to: AgentEndpoint, _key: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer ${{{to.variable}}}"}
    return {"mcpServers": {to.name: {"type": "http", "url": to.url, "headers": headers}}}


def _claude_desktop(to: AgentEndpoint, key: str) -> dict[str, Any]:
    arguments = ["-y", "mcp-remote", to.url, "--transport", "http-only"]
    arguments += ["--header", "Authorization:${SAKUIN_AUTHORIZATION}"]
    if to.url.startswith("http://"):
        arguments.append("--allow-http")
    server = {"command": "npx", "args": arguments, "env": {"SAKUIN_AUTHORIZATION": f"Bearer {key}"}}
    return {"mcpServers": {to.name: server}}


def _cursor(to: AgentEndpoint, _key: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer ${{env:{to.variable}}}"}
    return {"mcpServers": {to.name: {"url": to.url, "headers": headers}}}


def _vscode(to: AgentEndpoint, _key: str) -> dict[str, Any]:
    question = {"type": "promptString", "id": f"{to.name}-key", "description": f"Key of {to.name}", "password": True}
    headers = {"Authorization": f"Bearer ${{input:{to.name}-key}}"}
    return {"inputs": [question], "servers": {to.name: {"type": "http", "url": to.url, "headers": headers}}}


def _codex(to: AgentEndpoint, _key: str) -> dict[str, Any]:
    return {"mcp_servers": {to.name: {"url": to.url, "bearer_token_env_var": to.variable}}}


def _gemini(to: AgentEndpoint, _key: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer ${{{to.variable}}}"}
    return {"mcpServers": {to.name: {"httpUrl": to.url, "headers": headers}}}


def _of_application(place: str) -> tuple[str, ...]:
    return (f"~/Library/Application Support/{place}", f"~/.config/{place}", f"~/AppData/Roaming/{place}")


FORMATS: Final[Mapping[str, AgentFormat]] = {
    "claude-code": AgentFormat("Claude Code", ("~/.claude.json",), _claude_code),
    "claude-desktop": AgentFormat(
        "Claude Desktop", _of_application("Claude/claude_desktop_config.json"), _claude_desktop, key_in="file"
    ),
    "cursor": AgentFormat("Cursor", ("~/.cursor/mcp.json",), _cursor),
    "vscode": AgentFormat(
        "VS Code", _of_application("Code/User/mcp.json"), _vscode, key_in="question", servers="servers"
    ),
    "codex": AgentFormat("Codex", ("~/.codex/config.toml",), _codex, servers="mcp_servers", is_toml=True),
    "gemini": AgentFormat("Gemini CLI", ("~/.gemini/settings.json",), _gemini),
}
