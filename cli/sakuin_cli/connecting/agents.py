"""The agents: their own commands that add an MCP server, or the file where an agent has no command."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sakuin.console.agents import FORMATS, AgentEndpoint, AgentFormat


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent on this machine. Without `program` it has a file only."""

    name: str
    # The program with the commands for MCP servers.
    program: str = ""
    # A desktop application, whose bridge or window no test can drive.
    desktop: bool = False

    @property
    def format(self) -> AgentFormat:
        """Returns what stands in the file."""
        return FORMATS[self.name]

    @property
    def title(self) -> str:
        """Returns the name for people."""
        return self.format.title

    def add_command(self, to: AgentEndpoint) -> list[str]:
        """Returns the agent's own command that adds an endpoint. It contains no key."""
        header = f"Authorization: Bearer ${{{to.variable}}}"
        match self.name:
            case "claude-code":
                # The option for headers takes several, so it comes last.
                user = ["--scope", "user", "--transport", "http"]
                return [self.program, "mcp", "add", *user, to.name, to.url, "--header", header]
            case "gemini":
                user = ["--scope", "user", "--transport", "http"]
                return [self.program, "mcp", "add", *user, "--header", header, to.name, to.url]
            case "codex":
                return [self.program, "mcp", "add", to.name, "--url", to.url, "--bearer-token-env-var", to.variable]
        configuration = self.format.entry(to, "")
        server = configuration[self.format.servers][to.name]
        return [self.program, "--add-mcp", json.dumps({"name": to.name, **server, "inputs": configuration["inputs"]})]

    def remove_command(self, name: str) -> list[str]:
        """Returns the agent's own command that removes an entry; empty if it has none."""
        if self.name == "vscode":
            return []
        user = [] if self.name == "codex" else ["--scope", "user"]
        return [self.program, "mcp", "remove", *user, name]

    def file(self, home: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
        """Returns the file of this user, through links."""
        for place in self.format.places.get(platform, self.format.places["linux"]):
            variable, slash, rest = place.removeprefix("$").partition("/")
            if not place.startswith("$"):
                return (home / place).resolve()
            if slash and environ.get(variable):
                return (Path(environ[variable]) / rest).resolve()
        raise AssertionError("the last place needs no variable")

    def place(self, home: Path) -> str:
        """Returns where the configuration is written: by a program, or into a file."""
        return self.program or str(self.file(home))

    def is_installed(self, home: Path) -> bool:
        """Returns whether the agent's program is there; of an agent without one, whether it was started here once."""
        return shutil.which(self.program) is not None if self.program else self.file(home).parent.is_dir()


AGENTS: Final = {
    agent.name: agent
    for agent in (
        Agent("claude-code", "claude"),
        Agent("claude-desktop", desktop=True),
        Agent("cursor", desktop=True),
        Agent("vscode", "code", desktop=True),
        Agent("codex", "codex"),
        Agent("gemini", "gemini"),
    )
}
