"""`sakuin connect`: an MCP server for the agents on this machine."""

import json
import os
import re
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import Invalid, Misconfigured, SakuinError

from sakuin_cli.connections import ChangingCommand
from sakuin_cli.terminal import Terminal, counted

if TYPE_CHECKING:
    from sakuin.mcp.agents import AgentEndpoint, Configuration

    from sakuin_cli.agent import AgentClient
    from sakuin_cli.agent_programs import AgentProgram

_KNOWLEDGE, _SEARCH_TOOLS = "search_knowledge", "Search Tools"
_SIGNS = {"failed": ("✗", "red"), "added": ("✓", "green"), "removed": ("✓", "green"), "unchanged": ("•", "dim")}


def connect(
    command: ChangingCommand,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT",
            help="claude-code, vscode, codex or gemini; of claude-desktop and cursor the entry is printed.",
            show_default="all here, after a question",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All agents here, without a question.")] = False,
    tools: Annotated[bool, typer.Option("--tools", help="The endpoint with Search Tools, not the library.")] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="N", help="The name of the entry.", show_default="sakuin, or sakuin-tools"),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the entry of this name.")] = False,
    question: Annotated[
        str, typer.Option("--question", metavar="TEXT", help="What to ask with the URL and the key.")
    ] = "getting started",
) -> None:
    """Add an MCP server to agents by their own commands, and ask it a question."""
    from sakuin.mcp.agents import HIDDEN_KEY, LIBRARY_VARIABLE, TOOLS_VARIABLE, AgentEndpoint, configurations

    name = name or ("sakuin-tools" if tools else "sakuin")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise typer.BadParameter("use letters, digits, - and _", param_hint="--name")
    terminal, show = command.terminal, command.dry_run and not undo
    client = command.agent(_SEARCH_TOOLS if tools else _KNOWLEDGE)
    to = AgentEndpoint(name, client.url, TOOLS_VARIABLE if tools else LIBRARY_VARIABLE)
    texts = {entry.agent: entry for entry in configurations(to, HIDDEN_KEY)}
    chosen = _chosen(terminal, agents or (), list(texts), every=every or undo, show=show)
    act = None if show else partial(_remove, to, command.dry_run) if undo else partial(_add, to, client, question)
    rows = [_row(agent, texts[agent], act, to) for agent in chosen]
    terminal.answer({"agents": rows}, lambda: _report(terminal, rows))
    if any(row["state"] == "failed" for row in rows):
        raise typer.Exit(1)


def _chosen(
    terminal: Terminal, named: Sequence[str], known: Sequence[str], *, every: bool, show: bool
) -> Sequence[str]:
    """Returns the names of the agents: those that were named, or with a program here."""
    from sakuin_cli.agent_programs import PROGRAMS

    if unknown := [name for name in named if name not in known]:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(known)}", param_hint="AGENT")
    if named or show:
        return list(dict.fromkeys(named)) or known
    installed = [agent for agent in PROGRAMS.values() if agent.is_installed]
    if not installed:
        raise Misconfigured(f"None of {', '.join(PROGRAMS)} was found here; --dry-run shows what to write")
    if not every:
        lines = [f"{agent.name:<15} {agent.title}, {agent.program}" for agent in installed]
        terminal.confirm("These agents are here", lines, "Go on with all of them?", "Name some of them, or give --all")
    return [agent.name for agent in installed]


def _row(
    agent: str, entry: "Configuration", act: "Callable[[AgentProgram], list[str]] | None", to: "AgentEndpoint"
) -> dict[str, Any]:
    """Returns what an agent's command did, or what to write where there is none. A failure stops no other agent."""
    from sakuin_cli.agent_programs import PROGRAMS

    program = PROGRAMS.get(agent)
    command = shlex.join(program.add_command(to)) if program else None
    printed = {"agent": agent, "title": entry.title, "place": program.program if program else entry.files[0]}
    if act is None or program is None:
        return {**printed, "state": "printed", "command": command, "configuration": entry.text, "notes": []}
    try:
        state, *notes = act(program)
    except SakuinError as error:
        state, notes = "failed", [str(error)]
    return {**printed, "state": state, "notes": notes}


def _remove(to: "AgentEndpoint", dry_run: bool, agent: "AgentProgram") -> list[str]:
    try:
        words = agent.remove_command(to.name)
        if dry_run:
            return ["unchanged", f"would run {shlex.join(words)}"]
        agent.run(words)
    except Invalid as error:
        return ["unchanged", str(error)]
    return ["removed"]


def _add(to: "AgentEndpoint", client: "AgentClient", question: str, agent: "AgentProgram") -> list[str]:
    """Adds the entry and asks the question with its URL and key; returns the state and notes."""
    agent.run(agent.add_command(to))
    try:
        notes = [_answer(client, question)]
    except SakuinError as error:
        return ["failed", f"the entry is there, but the question failed: {error}"]
    if agent.name == "vscode":
        notes.append(f"it asks for the key once: that of {to.variable}")
    elif not os.environ.get(to.variable):
        notes.append(f"it reads the key from {to.variable}, which is not set in this shell: set it where it starts")
    return ["added", *notes]


def _answer(client: "AgentClient", question: str) -> str:
    if not (searches := client.searches()):
        raise Misconfigured(f"{client.url} offers no search: bind a Search Tool with `sakuin endpoint change`")
    results = client.call(searches[0], {"query": question})["results"]
    return f"{searches[0]} answered {json.dumps(question, ensure_ascii=False)}: {counted(len(results), 'result')}"


def _report(terminal: Terminal, rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        if row["state"] == "printed":
            terminal.line("•", "dim", f"{row['title']}: {'run' if row['command'] else 'write into ' + row['place']}")
            terminal.print(f"{row['command'] or row['configuration']}\n")
            continue
        sign, style = _SIGNS[row["state"]]
        terminal.line(sign, style, f"{row['agent']} {row['state']}: {row['place']}")
        for note in row["notes"]:
            terminal.line(" ", "dim", f"  {note}")
