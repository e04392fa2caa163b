"""The agents: where each keeps its configuration, and what an entry of it points to."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sakuin.console.agents import FORMATS, AgentEndpoint, AgentFormat

from sakuin_cli.connecting import json_text, toml_text

_REFERENCE: Final = re.compile(r"\$\{(?:(env|input):)?([\w-]+)\}")


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent on this machine."""

    name: str
    # A desktop application, whose bridge or window no test can drive.
    desktop: bool = False
    # What shows that the agent is installed, beside the folder of its file.
    marker: str | None = None

    @property
    def format(self) -> AgentFormat:
        """Returns what stands in the file."""
        return FORMATS[self.name]

    @property
    def title(self) -> str:
        """Returns the name for people."""
        return self.format.title

    @property
    def text(self) -> ModuleType:
        """Returns the module that edits the format of the file."""
        return toml_text if self.format.is_toml else json_text

    def configuration(self, to: AgentEndpoint, key: str) -> dict[str, Any]:
        """Returns the configuration of an endpoint, with its key if the agent cannot read it from elsewhere."""
        return self.format.entry(to, key)

    def file(self, home: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
        """Returns the file of this user, through links."""
        for place in self.format.places.get(platform, self.format.places["linux"]):
            variable, slash, rest = place.removeprefix("$").partition("/")
            if not place.startswith("$"):
                return (home / place).resolve()
            if slash and environ.get(variable):
                return (Path(environ[variable]) / rest).resolve()
        raise AssertionError("the last place needs no variable")

    def entry(self, configuration: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """Returns the entry `name` of a configuration; an empty one if there is none."""
        servers = configuration.get(self.format.servers)
        entry = servers.get(name) if isinstance(servers, dict) else None
        return entry if isinstance(entry, dict) else {}

    def is_installed(self, home: Path) -> bool:
        """Returns whether the agent was started here once."""
        file = self.file(home)
        if self.marker is None:
            return file.parent.is_dir()
        return file.exists() or (home / self.marker).is_dir()


AGENTS: Final = {
    agent.name: agent
    for agent in (
        Agent("claude-code", marker=".claude"),
        Agent("claude-desktop", desktop=True),
        Agent("cursor", desktop=True),
        Agent("vscode", desktop=True),
        Agent("codex"),
        Agent("gemini"),
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
