"""`sakuin tool`: Search Tools over parts of Tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import waiting_for

from sakuin_cli.connections import ChangingCommand, Command, Request
from sakuin_cli.options import ProjectOption, TimeoutOption, as_command
from sakuin_cli.terminal import Terminal, counted, first_of, minute
from sakuin_cli.waiting import poll

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The Search Tool, or its name.")]
DescriptionOption = Annotated[
    str | None, typer.Option("--description", metavar="D", help="The description for agents.")
]

# How many skipped strings are named.
_SKIPPED = 3

app = typer.Typer(name="tool", help="Search Tools over parts of Tables.", no_args_is_help=True)


@app.command()
@as_command
def new(
    command: ChangingCommand,
    table: Annotated[str, typer.Option("--table", metavar="ID", help="The Table to search, or its name.")],
    name: Annotated[
        str, typer.Option("--name", metavar="N", help="The name for agents: 1 to 64 of a-z, A-Z, 0-9, _ and -.")
    ],
    json_path: Annotated[
        str, typer.Option("--json-path", metavar="P", help="JSON Pointer of the part to search; without it all of it.")
    ] = "",
    description: DescriptionOption = None,
    project: ProjectOption = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it can be searched; exit code 1 if it cannot.")
    ] = False,
    timeout: TimeoutOption = 300,
) -> None:
    """Create a Search Tool; with --wait, exit code 1 if it was not indexed."""
    project_id, client = command.project_id(project), command.client
    place = {"table_id": command.id_of("tables", table, project), "json_path": json_path}
    members = {"type": "search", "name": name, "description": description, **place}
    tool = command.send("POST", "projects", project_id, "tools", **members)
    with command.terminal.progress("indexed") as on_progress:
        for _ in poll(timeout) if wait else ():
            tool = client.call("GET", "tools", tool["id"])
            index = tool["metadata"].get("search_index", {})
            on_progress("indexed", index.get("indexed_chunks_count") or 0, index.get("chunks_count"))
            if _state(tool) in ("ready", "empty", "error"):
                break
    _show(command.terminal, tool)
    raise typer.Exit(1 if wait and _state(tool) != "ready" else 0)


@app.command("list")
@as_command
def list_(command: Command, project: ProjectOption = None) -> None:
    """List the Search Tools of a project with their ids."""
    with command.terminal.waiting():
        project_id, tools = command.rows("tools", project)
    rows = [
        {"tool_id": one["id"], "name": one["name"], "state": _state(one)}
        | {"json_path": one["json_path"], "table_id": one["table_id"]}
        for one in tools
    ]
    command.terminal.rows("tools", rows, project_id=project_id)


@app.command()
@as_command
def change(
    command: ChangingCommand,
    id: IdArgument,
    name: Annotated[str | None, typer.Option("--name", metavar="N", help="The name for agents.")] = None,
    description: DescriptionOption = None,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Whether agents have it.", show_default="as it is")
    ] = None,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Index it again; unchanged texts are not embedded again.")
    ] = False,
    project: ProjectOption = None,
) -> None:
    """Change the name or the description of a Search Tool, disable it, or index it again."""
    tool_id = command.id_of("tools", id, project)
    given = {"name": name, "description": description, "enabled": enabled}
    members = {name: value for name, value in given.items() if value is not None}
    requests = [Request("PATCH", ("tools", tool_id), members)] if members else []
    requests += [Request("POST", ("tools", tool_id, "reindex"))] if reindex else []
    if not requests:
        raise typer.BadParameter("Say what to change", param_hint="--name")
    tool = command.send_all(*requests)[-1]
    shown = {"tool_id": tool["id"], "name": tool["name"], "enabled": tool["enabled"]}
    command.terminal.fields({**shown, "description": tool["description"], "state": _state(tool)})


@app.command()
@as_command
def rm(command: ChangingCommand, id: IdArgument, project: ProjectOption = None) -> None:
    """Delete a Search Tool; its Table stays."""
    tool_id = command.id_of("tools", id, project)
    command.send("DELETE", "tools", tool_id)
    command.terminal.fields({"tool_id": tool_id, "removed": True})


def _state(tool: "Record") -> str | None:
    state: str | None = tool["metadata"].get("search_index", {}).get("state")
    return state


def _show(terminal: Terminal, tool: "Record") -> None:
    index = tool["metadata"].get("search_index", {})
    shown = {"search_index": index} if terminal.as_json else index_fields(index)
    terminal.fields({"tool_id": tool["id"], **shown})


def index_fields(index: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the status of an index for people: what is there to say, any warning last."""
    fields: dict[str, Any] = {"state": index.get("state")}
    if (chunks := index.get("chunks_count")) is not None:
        fields["chunks"] = f"{index.get('indexed_chunks_count') or 0:,} of {chunks:,} indexed"
    if indexed := index.get("indexed_at"):
        fields["searchable"] = f"as of {minute(indexed)}"
    if skipped := index.get("skipped_nodes"):
        fields["skipped"] = first_of([f"{node['json_pointer']}: {node['reason']}" for node in skipped], _SKIPPED)
    if since := index.get("waiting_since"):
        fields["waiting"] = f"since {minute(since)}: {index['waiting_reason']}"
    if error := index.get("last_error"):
        fields["error"] = error
    if "strings_count" in index:
        large, least = index["large_strings_count"], index["chunk_threshold_chars"]
        entries = index.get("entries")
        found = f"{large:,} " + (
            f"indexed, of entries {entries}" if entries else f"with at least {counted(least, 'character')}"
        )
        fields["found"] = f"{counted(index['strings_count'], 'string')}, {found}"
    if index.get("state") == "indexing" and (minutes := index.get("minutes_left")):
        fields["progress"] = waiting_for("embeddings", minutes * 60)
    if warning := index.get("warning"):
        fields["warning"] = warning
    return fields
