"""The programs of agents, with their own commands that add and remove an MCP server."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sakuin.errors import Invalid, Unavailable
from sakuin.mcp.agents import FORMATS, AgentEndpoint

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """An agent with a command for MCP servers. Its name is that of the configuration in `sakuin.mcp.agents`."""

    name: str
    program: str

    @property
    def title(self) -> str:
        """Returns the name for people."""
        return FORMATS[self.name].title

    @property
    def is_installed(self) -> bool:
        """Returns whether the program is on the PATH."""
        return shutil.which(self.program) is not None

    def add_command(self, to: AgentEndpoint) -> list[str]:
        """Returns the command that adds an endpoint. It contains no key."""
        header = f"Authorization: Bearer ${{{to.variable}}}"
        user = ["--scope", "user", "--transport", "http"]
        match self.name:
            case "claude-code":
                # The option for headers takes several, so it comes last.
                return [self.program, "mcp", "add", *user, to.name, to.url, "--header", header]
            case "gemini":
                return [self.program, "mcp", "add", *user, "--header", header, to.name, to.url]
            case "codex":
                return [self.program, "mcp", "add", to.name, "--url", to.url, "--bearer-token-env-var", to.variable]
        configuration = FORMATS[self.name].entry(to, "")
        server = configuration["servers"][to.name]
        return [self.program, "--add-mcp", json.dumps({"name": to.name, **server, "inputs": configuration["inputs"]})]

    def remove_command(self, name: str) -> list[str]:
        """Returns the command that removes a server; of an agent without one it is `Invalid`."""
        if self.name == "vscode":
            raise Invalid(f"{self.title} has no command that removes {name}: remove it with MCP: List Servers")
        user = [] if self.name == "codex" else ["--scope", "user"]
        return [self.program, "mcp", "remove", *user, name]

    def run(self, command: Sequence[str]) -> None:
        """Runs a command of the agent; its failure is `Invalid` with its last line."""
        if not self.is_installed:
            raise Unavailable(f"{self.title} was not found here: there is no program {self.program} on the PATH")
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - a list, without a shell
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"{self.title}'s command {self.program} did not run") from error
        if ended.returncode:
            lines = (ended.stderr or ended.stdout).strip().splitlines() or ["no reason"]
            raise Invalid(f"{self.title}'s command {self.program} failed: {lines[-1]}")


PROGRAMS: Final[Mapping[str, AgentProgram]] = {
    name: AgentProgram(name, program)
    for name, program in {"claude-code": "claude", "vscode": "code", "codex": "codex", "gemini": "gemini"}.items()
}
