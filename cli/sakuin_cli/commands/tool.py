"""`sakuin tool`: Search Tools over parts of Tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import waiting_for

from sakuin_cli.connections import project_of, record_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption, TimeoutOption
from sakuin_cli.terminal import Terminal, counted, first_of, minute, reporting_errors
from sakuin_cli.waiting import poll

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The Search Tool, or its name.")]

# How many skipped strings are named.
_SKIPPED = 3

app = typer.Typer(name="tool", help="Search Tools over parts of Tables.", no_args_is_help=True)


@app.command()
def create(
    table: Annotated[str, typer.Option("--table", metavar="ID", help="The Table to search, or its name.")],
    json_path: Annotated[
        str, typer.Option("--json-path", metavar="P", help='JSON Pointer of the part to search; "" is all of it.')
    ],
    name: Annotated[
        str, typer.Option("--name", metavar="N", help="The name for agents: 1 to 64 of a-z, A-Z, 0-9, _ and -.")
    ],
    description: Annotated[
        str | None, typer.Option("--description", metavar="D", help="The description for agents.")
    ] = None,
    project: ProjectOption = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it can be searched; exit code 1 if it cannot.")
    ] = False,
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Create a Search Tool; with --wait, exit code 1 if it was not indexed."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        place = {"table_id": client.id_of("tables", table, lambda: project_id), "json_path": json_path}
        request = {"type": "search", "name": name, "description": description, **place}
        tool = client.call("POST", "projects", project_id, "tools", json=request)
        with terminal.progress("indexed") as on_progress:
            for _ in poll(timeout) if wait else ():
                tool = client.call("GET", "tools", tool["id"])
                index = tool["metadata"].get("search_index", {})
                on_progress("indexed", index.get("indexed_chunks_count") or 0, index.get("chunks_count"))
                if _state(tool) in ("ready", "empty", "error"):
                    break
    _show(terminal, tool)
    raise typer.Exit(1 if wait and _state(tool) != "ready" else 0)


@app.command(name="list")
def list_(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the Search Tools of a project with their ids."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client, project_id = project_of(data, project)
        tools = client.call("GET", "projects", project_id, "tools")["tools"]
    rows = [
        {"tool_id": one["id"], "name": one["name"], "state": _state(one)}
        | {"json_path": one["json_path"], "table_id": one["table_id"]}
        for one in tools
    ]
    terminal.rows("tools", rows, project_id=project_id)


@app.command()
def change(
    id: IdArgument,
    name: Annotated[str | None, typer.Option("--name", metavar="N", help="The name for agents.")] = None,
    description: Annotated[
        str | None, typer.Option("--description", metavar="D", help="The description for agents.")
    ] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Whether agents have it.", show_default="as it is")
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Change the name or the description of a Search Tool, or disable it."""
    members = {"name": name, "description": description, "enabled": enabled}
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "tools", id)
        tool = client.call("PATCH", "tools", id, json={n: value for n, value in members.items() if value is not None})
    shown = {"tool_id": tool["id"], "name": tool["name"], "enabled": tool["enabled"]}
    terminal.fields({**shown, "description": tool["description"]})


@app.command()
def rm(id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Delete a Search Tool; its Table stays."""
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "tools", id)
        client.call("DELETE", "tools", id)
    terminal.fields({"tool_id": id, "removed": True})


@app.command()
def reindex(
    id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None
) -> None:
    """Index a Search Tool again; unchanged texts are not embedded again."""
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "tools", id)
        tool = client.call("POST", "tools", id, "reindex")
    _show(terminal, tool)


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
