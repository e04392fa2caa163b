"""Entries in the configurations of agents: added by their own commands or in their files, and removed again."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sakuin.console.agents import AgentEndpoint
from sakuin.errors import Invalid, Unavailable

from sakuin_cli.connecting.agents import Agent
from sakuin_cli.files import read_bytes, replace_bytes

_PRIVATE = 0o600
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Configurations:
    """The configurations of a user's agents. A register in the home folder names the entries that are ours."""

    home: Path

    def add(self, agent: Agent, to: AgentEndpoint, key: str) -> bool:
        """Adds an entry, or replaces one that this command added; returns whether anything was changed.

        An entry of this name that somebody else added is `Invalid`.
        """
        if not agent.program:
            return self._add_to_file(agent, to, key)
        if to.name in self._names(agent):
            self._remove(agent, to.name)
        self._register(agent, to.name)
        _run(agent, agent.add_command(to))
        return True

    def remove_all(self, agent: Agent) -> list[str]:
        """Removes the entries that this command added; returns their names."""
        names = self._names(agent)
        for name in names:
            self._remove(agent, name)
        return names

    def _add_to_file(self, agent: Agent, to: AgentEndpoint, key: str) -> bool:
        document = self._document(agent)
        servers = document.setdefault(agent.format.servers, {})
        entry = agent.format.entry(to, key)[agent.format.servers][to.name]
        if servers.get(to.name) == entry:
            return False
        if to.name in servers and to.name not in self._names(agent):
            raise Invalid(f"{agent.file(self.home)} has another entry {to.name}: give --name another name")
        servers[to.name] = entry
        # Without its entry a name in the register is harmless; an entry without its name cannot be removed.
        self._register(agent, to.name)
        self._write(agent, document)
        return True

    def _remove(self, agent: Agent, name: str) -> None:
        if not agent.program:
            document, servers = self._document(agent), agent.format.servers
            if document.get(servers, {}).pop(name, None) is not None:
                if not document[servers]:
                    del document[servers]
                self._write(agent, document)
        elif command := agent.remove_command(name):
            _run(agent, command)
        else:
            raise Invalid(f"{agent.title} has no command that removes {name}: remove it with MCP: List Servers")
        self._keep([one for one in self._entries() if one != [agent.name, name]])

    def _document(self, agent: Agent) -> dict[str, Any]:
        file = agent.file(self.home)
        if not file.exists():
            return {}
        try:
            document = json.loads(read_bytes(str(file)).decode() or "{}")
        except (ValueError, RecursionError) as error:
            raise Invalid(f"{file} is left as it is: it has comments or is no JSON. --print shows the entry") from error
        if not isinstance(document, dict) or not isinstance(document.get(agent.format.servers, {}), dict):
            raise Invalid(f"{file} is left as it is: it has another form. --print shows the entry")
        return document

    def _write(self, agent: Agent, document: dict[str, Any]) -> None:
        file = agent.file(self.home)
        if not document:
            file.unlink()
            return
        mode = file.stat().st_mode & 0o777 if file.exists() and agent.format.key_in != "file" else _PRIVATE
        replace_bytes(file, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode(), mode=mode)

    @property
    def _file(self) -> Path:
        return self.home / ".config" / "sakuin" / "connect.json"

    def _entries(self) -> list[list[str]]:
        """Returns the agent and the name of each entry that is ours."""
        if not self._file.is_file():
            return []
        try:
            return [[str(agent), str(name)] for agent, name in json.loads(read_bytes(str(self._file)))]
        except (TypeError, ValueError) as error:
            raise Invalid(f"{self._file} is broken: delete it, then --undo can remove nothing") from error

    def _names(self, agent: Agent) -> list[str]:
        return [name for of, name in self._entries() if of == agent.name]

    def _register(self, agent: Agent, name: str) -> None:
        if [agent.name, name] not in (entries := self._entries()):
            self._keep([*entries, [agent.name, name]])

    def _keep(self, entries: Sequence[Sequence[str]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        replace_bytes(self._file, json.dumps(entries, indent=1).encode(), mode=_PRIVATE)


def _run(agent: Agent, command: Sequence[str]) -> None:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - a list, without a shell
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{agent.title}'s command {command[0]} did not run") from error
    if ended.returncode:
        lines = (ended.stderr or ended.stdout).strip().splitlines() or ["no reason"]
        raise Invalid(f"{agent.title}'s command {command[0]} failed: {lines[-1]}")
