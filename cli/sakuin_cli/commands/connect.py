"""`sakuin connect`: the configuration of the agents on this machine."""

import json
import os
import re
import shlex
from collections.abc import Callable, Sequence
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
    from sakuin_cli.connecting.configurations import Configurations

_KNOWLEDGE, _SEARCH_TOOLS = "search_knowledge", "Search Tools"
_SIGNS = {"failed": ("✗", "red"), "written": ("✓", "green"), "removed": ("✓", "green")}


def connect(
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT",
            help="claude-code, claude-desktop, cursor, vscode, codex or gemini.",
            show_default="all here, after a question",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All agents here, without a question.")] = False,
    tools: Annotated[bool, typer.Option("--tools", help="The endpoint with Search Tools, not the library.")] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="N", help="The name of the entry.", show_default="sakuin, or sakuin-tools"),
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print it without a key; write nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove what this command wrote.")] = False,
    question: Annotated[
        str, typer.Option("--question", metavar="TEXT", help="What to ask with the URL and the key that were written.")
    ] = "quadratic formula",
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Add an MCP server to agents, by their own commands or in their files, and ask it a question."""
    from sakuin_cli.connecting.configurations import Configurations

    name = name or ("sakuin-tools" if tools else "sakuin")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise typer.BadParameter("use letters, digits, - and _", param_hint="--name")
    with reporting_errors(as_json) as terminal:
        configurations = Configurations(Path.home())
        chosen = _chosen(terminal, configurations.home, agents or (), every=every, show=show, undo=undo)
        if undo:
            rows = [_attempt(agent, configurations, lambda agent: _removed(configurations, agent)) for agent in chosen]
        else:
            client, to = _endpoint(data, name, tools=tools)
            if show:
                _print(terminal, configurations.home, chosen, to)
                return
            rows = [
                _attempt(agent, configurations, lambda agent: _added(configurations, agent, to, client, question))
                for agent in chosen
            ]
    terminal.answer({"agents": rows}, lambda: _report(terminal, rows))
    if any(row["state"] == "failed" for row in rows):
        raise typer.Exit(1)


def _chosen(
    terminal: Terminal, home: Path, named: Sequence[str], *, every: bool, show: bool, undo: bool
) -> "list[Agent]":
    from sakuin_cli.connecting.agents import AGENTS

    if unknown := [name for name in named if name not in AGENTS]:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(AGENTS)}", param_hint="AGENT")
    if named:
        return [AGENTS[name] for name in dict.fromkeys(named)]
    if show or undo:
        return list(AGENTS.values())
    installed = [agent for agent in AGENTS.values() if agent.is_installed(home)]
    if not installed:
        raise Misconfigured(f"None of {', '.join(AGENTS)} was found here; --print shows what to write")
    if not every:
        found = [f"{agent.name:<15} {agent.title}, {agent.place(home)}" for agent in installed]
        question = "Add the server to all of them?"
        terminal.confirm("These agents are here", found, question, "Name some of them, or give --all")
    return installed


def _endpoint(data: Path | None, name: str, *, tools: bool) -> "tuple[AgentClient, AgentEndpoint]":
    from sakuin.console.agents import LIBRARY_VARIABLE, TOOLS_VARIABLE, AgentEndpoint

    client = agent_of(settings_of(data), _SEARCH_TOOLS if tools else _KNOWLEDGE)
    return client, AgentEndpoint(name, client.url, TOOLS_VARIABLE if tools else LIBRARY_VARIABLE)


def _print(terminal: Terminal, home: Path, chosen: "list[Agent]", to: "AgentEndpoint") -> None:
    from sakuin.console.agents import HIDDEN_KEY, configurations

    texts = {each.agent: each.text for each in configurations(to, HIDDEN_KEY)}
    rows = [
        {
            "agent": agent.name,
            "place": agent.place(home),
            "command": shlex.join(agent.add_command(to)) if agent.program else None,
            "configuration": texts[agent.name],
        }
        for agent in chosen
    ]
    if terminal.as_json:
        terminal.document({"agents": rows})
        return
    for agent, row in zip(chosen, rows, strict=True):
        terminal.line("•", "dim", f"{agent.title}, {row['place']}")
        terminal.out.print(f"{row['command'] or row['configuration']}\n")


def _attempt(
    agent: "Agent", configurations: "Configurations", act: "Callable[[Agent], dict[str, Any]]"
) -> dict[str, Any]:
    """Returns a row about one agent; the failure of one does not stop the others."""
    row = {"agent": agent.name, "place": agent.place(configurations.home)}
    try:
        return {**row, **act(agent)}
    except SakuinError as error:
        return {**row, "state": "failed", "notes": [str(error)]}


def _removed(configurations: "Configurations", agent: "Agent") -> dict[str, Any]:
    if configurations.remove_all(agent):
        return {"state": "removed", "notes": []}
    return {"state": "unchanged", "notes": ["this command added nothing there"]}


def _added(
    configurations: "Configurations", agent: "Agent", to: "AgentEndpoint", client: "AgentClient", question: str
) -> dict[str, Any]:
    """Adds the entry and asks the question with its URL and key."""
    if not agent.is_installed(configurations.home):
        raise Misconfigured(f"{agent.title} was not found here; --print shows what to write")
    state = "written" if configurations.add(agent, to, client.key) else "unchanged"
    try:
        notes = [_answer(client, question)]
    except SakuinError as error:
        return {"state": "failed", "notes": [f"the configuration is there, but the question failed: {error}"]}
    if agent.format.key_in == "variable" and not os.environ.get(to.variable):
        notes.append(f"it reads the key from {to.variable}, which is not set in this shell: set it where it starts")
    if agent.format.key_in == "question":
        notes.append(f"it asks for the key once: that of {to.variable}")
    if agent.desktop:
        notes.append("a desktop application, which this command cannot start: restart it and look at its tools")
    return {"state": state, "notes": notes}


def _answer(client: "AgentClient", question: str) -> str:
    if not (searches := client.searches()):
        raise Misconfigured(f"{client.url} offers no search: bind a Search Tool with `sakuin mcp bind`")
    results = client.call(searches[0], {"query": question})["results"]
    return f"{searches[0]} answered {json.dumps(question, ensure_ascii=False)}: {counted(len(results), 'result')}"


def _report(terminal: Terminal, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        sign, style = _SIGNS.get(row["state"], ("•", "dim"))
        terminal.line(sign, style, f"{row['agent']} {row['state']}: {row['place']}")
        for note in row["notes"]:
            terminal.line(" ", "dim", f"  {note}")
