"""`sakuin mcp`: endpoints with Search Tools for agents."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.connections import project_of, record_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The endpoint, or its name.")]
ToolOption = Annotated[
    list[str], typer.Option("--tool", metavar="ID", help="A Search Tool, or its name; may be repeated.")
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", metavar="FIELD=VALUE", help="Only entries with this value, which agents cannot see; '' for all."
    ),
]

app = typer.Typer(name="mcp", help="Endpoints with Search Tools for agents.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Option("--name", metavar="N", help="The name.")],
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="ID", help="A Search Tool, or its name; may be repeated.")
    ] = None,
    filter: FilterOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Create an endpoint with its Search Tools and show its key, only once."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        ids = [client.id_of("tools", one, lambda: project_id) for one in tool or ()]
        # With a filter they are bound afterwards: nobody has the key before.
        request = {"name": name, "tool_ids": [] if filter else ids}
        created = client.call("POST", "projects", project_id, "mcps", json=request)
        for one in ids if filter else ():
            client.call("PUT", "mcps", created["mcp"]["id"], "tools", one, json=_filter(filter))
        terminal.fields(_with_key(created))


@app.command(name="list")
def list_(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the endpoints of a project with their ids and the names of their Search Tools."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client, project_id = project_of(data, project)
        endpoints = client.call("GET", "projects", project_id, "mcps")["mcps"]
    rows: list[dict[str, Any]] = [
        {"mcp_id": one["id"], "name": one["name"], "status": one["status"], "tools": _names(one)} for one in endpoints
    ]
    if as_json:
        rows = [{**row, "tools": one["tools"]} for row, one in zip(rows, endpoints, strict=True)]
    terminal.rows("mcps", rows, project_id=project_id)


@app.command()
def bind(
    id: IdArgument,
    tool: ToolOption,
    filter: FilterOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Add Search Tools to an endpoint, or change the filter that it fixes; their names must differ."""
    _change(id, [("PUT", one) for one in tool], project, as_json, data, sent=_filter(filter))


@app.command()
def unbind(
    id: IdArgument,
    tool: ToolOption,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Remove Search Tools from an endpoint."""
    _change(id, [("DELETE", one) for one in tool], project, as_json, data)


@app.command()
def disable(
    id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None
) -> None:
    """Disable an endpoint."""
    _change(id, (), project, as_json, data, status="disabled")


@app.command()
def enable(id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Enable an endpoint again."""
    _change(id, (), project, as_json, data, status="enabled")


@app.command()
def rm(id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Delete an endpoint with its key; its Search Tools stay."""
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "mcps", id)
        client.call("DELETE", "mcps", id)
    terminal.fields({"mcp_id": id, "removed": True})


@app.command()
def rotate(id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Give an endpoint another key and show it, only once. The old key stays valid for one more hour."""
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "mcps", id)
        terminal.fields(_with_key(client.call("POST", "mcps", id, "rotate")))


def _change(
    id: str,
    tools: Sequence[tuple[str, str]],
    project: str | None,
    as_json: bool,
    data: Path | None,
    *,
    sent: "Record | None" = None,
    **members: str,
) -> None:
    """Binds (PUT) and unbinds (DELETE) Search Tools, changes `members` of an endpoint, and prints it."""
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "mcps", id)
        for method, tool in tools:
            _, tool_id = record_of(data, project, "tools", tool)
            endpoint = client.call(method, "mcps", id, "tools", tool_id, **({"json": sent} if sent else {}))
        if members:
            endpoint = client.call("PATCH", "mcps", id, json=members)
        shown = {"mcp_id": endpoint["id"], "status": endpoint["status"]}
        terminal.fields({**shown, "tools": endpoint["tools"] if as_json else _names(endpoint)})


def _filter(given: Sequence[str] | None) -> "Record":
    """Returns the request for a fixed filter; an empty text removes it."""
    pairs = [one.partition("=") for one in given or () if one]
    if not all(separator and name for name, separator, _ in pairs):
        raise typer.BadParameter("Write FIELD=VALUE, such as tenant=42", param_hint="--filter")
    return {} if given is None else {"filter": {name: value for name, _, value in pairs}}


def _names(endpoint: "Record") -> str:
    return ", ".join(f"{tool['name']} ({tool['status']})" for tool in endpoint["tools"]) or "none"


def _with_key(made: "Record") -> dict[str, Any]:
    return {"mcp_id": made["mcp"]["id"], "key": made["key"]}
