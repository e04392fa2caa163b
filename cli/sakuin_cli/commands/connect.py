"""`sakuin connect`: the configuration of the agents on this machine."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import Misconfigured, SakuinError

from sakuin_cli.connections import agent_of, settings_of
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import Terminal, counted, reporting_errors

if TYPE_CHECKING:
    from sakuin.console.agents import AgentEndpoint

    from sakuin_cli.agent import AgentClient
    from sakuin_cli.connecting.agents import Agent
    from sakuin_cli.connecting.files import ConnectedFiles

_KNOWLEDGE, _SEARCH_TOOLS = "search_knowledge", "Search Tools"
_SIGNS = {"failed": ("✗", "red"), "written": ("✓", "green"), "removed": ("✓", "green")}


def connect(
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT", help="claude-code, claude-desktop, cursor, vscode, codex or gemini; without one it asks."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All agents that are installed here.")] = False,
    tools: Annotated[bool, typer.Option("--tools", help="The endpoint with Search Tools, not the library.")] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="N", help="The name of the entry.", show_default="sakuin, or sakuin-tools"),
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print it without a key; write nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove what this command wrote.")] = False,
    question: Annotated[
        str, typer.Option("--question", metavar="TEXT", help="What to ask through each configuration.")
    ] = "quadratic formula",
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Write the MCP configuration of agents, and ask a question through it."""
    from sakuin_cli.connecting.files import ConnectedFiles

    name = name or ("sakuin-tools" if tools else "sakuin")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise typer.BadParameter("use letters, digits, - and _", param_hint="--name")
    with reporting_errors(as_json) as terminal:
        files = ConnectedFiles(Path.home())
        chosen = _chosen(terminal, files, agents or (), every=every, show=show, undo=undo)
        if undo:
            rows = [_attempt(agent, files, lambda agent: _removed(files, agent)) for agent in chosen]
        else:
            client, to = _endpoint(data, name, tools=tools)
            if show:
                _print(terminal, files, chosen, to)
                return
            rows = [_attempt(one, files, lambda one: _connected(files, one, to, client, question)) for one in chosen]
    if as_json:
        terminal.document({"agents": rows})
    else:
        _report(terminal, rows)
    if any(row["state"] == "failed" for row in rows):
        raise typer.Exit(1)


def _chosen(
    terminal: Terminal, files: "ConnectedFiles", named: Sequence[str], *, every: bool, show: bool, undo: bool
) -> "list[Agent]":
    from sakuin_cli.connecting.agents import AGENTS

    if unknown := [name for name in named if name not in AGENTS]:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(AGENTS)}", param_hint="AGENT")
    if named:
        return [AGENTS[name] for name in dict.fromkeys(named)]
    if show or undo:
        return list(AGENTS.values())
    found = [agent for agent in AGENTS.values() if agent.is_installed(files.home)]
    if not found:
        raise Misconfigured(f"None of {', '.join(AGENTS)} was found in {files.home}; --print shows what to write")
    if every:
        return found
    listed = ", ".join(agent.name for agent in found)
    if terminal.as_json or not sys.stdin.isatty():
        raise typer.BadParameter(f"found {listed}: name some of them, or give --all", param_hint="AGENT")
    for agent in found:
        terminal.line("•", "dim", f"{agent.name:<15} {agent.title}, {agent.file(files.home)}")
    answer = typer.prompt("Which? Their names, or all", default="all")
    names = [agent.name for agent in found] if answer == "all" else answer.replace(",", " ").split()
    return _chosen(terminal, files, names, every=False, show=show, undo=undo)


def _endpoint(data: Path | None, name: str, *, tools: bool) -> "tuple[AgentClient, AgentEndpoint]":
    from sakuin.console.agents import LIBRARY_VARIABLE, TOOLS_VARIABLE, AgentEndpoint

    client = agent_of(settings_of(data), _SEARCH_TOOLS if tools else _KNOWLEDGE)
    return client, AgentEndpoint(name, client.url, TOOLS_VARIABLE if tools else LIBRARY_VARIABLE)


def _print(terminal: Terminal, files: "ConnectedFiles", chosen: "list[Agent]", to: "AgentEndpoint") -> None:
    from sakuin.console.agents import HIDDEN_KEY

    shown = {agent.name: (agent, agent.configuration(to, HIDDEN_KEY)) for agent in chosen}
    if terminal.as_json:
        rows = [
            {"agent": name, "file": str(agent.file(files.home)), "configuration": text}
            for name, (agent, text) in shown.items()
        ]
        terminal.document({"agents": rows})
        return
    for agent, configuration in shown.values():
        terminal.line("•", "dim", f"{agent.title}, {agent.file(files.home)}")
        text, _ = agent.text.insert("", configuration)
        terminal.out.print(text, soft_wrap=True)


def _attempt(agent: "Agent", files: "ConnectedFiles", act: "Callable[[Agent], dict[str, Any]]") -> dict[str, Any]:
    """Returns a row about one agent; the failure of one does not stop the others."""
    row = {"agent": agent.name, "file": str(agent.file(files.home))}
    try:
        return {**row, **act(agent)}
    except SakuinError as error:
        return {**row, "state": "failed", "notes": [str(error)]}


def _removed(files: "ConnectedFiles", agent: "Agent") -> dict[str, Any]:
    if files.undo(agent):
        return {"state": "removed", "notes": []}
    return {"state": "unchanged", "notes": ["this command wrote nothing there"]}


def _connected(
    files: "ConnectedFiles", agent: "Agent", to: "AgentEndpoint", client: "AgentClient", question: str
) -> dict[str, Any]:
    """Writes the configuration, reads it again and asks the question with what it says."""
    if not agent.is_installed(files.home):
        raise Misconfigured(f"{agent.title} was not found here; --print shows what to write")
    written = files.connect(agent, to.name, agent.configuration(to, client.key))
    state = "written" if written else "unchanged"
    try:
        notes = [_answer(agent.entry(files.configuration(agent), to.name), to, client, question)]
    except SakuinError as error:
        return {"state": "failed", "notes": [f"the configuration is there, but the question failed: {error}"]}
    if agent.format.key_in == "variable" and not os.environ.get(to.variable):
        notes.append(f"it reads the key from {to.variable}, which is not set in this shell: set it where it starts")
    if agent.format.key_in == "question":
        notes.append(f"it asks for the key once: that of {to.variable}")
    if agent.desktop:
        notes.append("a desktop application, which this command cannot start: restart it and look at its tools")
    return {"state": state, "notes": notes}


def _answer(entry: Mapping[str, Any], to: "AgentEndpoint", client: "AgentClient", question: str) -> str:
    from sakuin_cli.agent import AgentClient
    from sakuin_cli.connecting.agents import target_of

    url, key = target_of(entry, {**os.environ, to.variable: client.key}, typed=client.key)
    asked = AgentClient(url, key)
    if not (searches := asked.searches()):
        raise Misconfigured(f"{url} offers no search: bind a Search Tool with `sakuin mcp bind`")
    found = asked.call(searches[0], {"query": question})
    return (
        f"{searches[0]} answered {json.dumps(question, ensure_ascii=False)}: {counted(len(found['results']), 'result')}"
    )


def _report(terminal: Terminal, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        sign, style = _SIGNS.get(row["state"], ("•", "dim"))
        terminal.line(sign, style, f"{row['agent']} {row['state']}: {row['file']}")
        for note in row["notes"]:
            terminal.line(" ", "dim", f"  {note}")
