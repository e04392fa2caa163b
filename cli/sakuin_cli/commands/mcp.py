"""`sakuin mcp`: endpoints with Search Tools for agents."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.connections import deployment, project_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The endpoint.")]
ToolOption = Annotated[list[str], typer.Option("--tool", metavar="ID", help="A Search Tool; may be repeated.")]

app = typer.Typer(name="mcp", help="Endpoints with Search Tools for agents.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Option("--name", metavar="N", help="The name.")],
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="ID", help="A Search Tool; may be repeated.")
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Create an endpoint with its Search Tools and show its key, only once."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        request = {"name": name, "tool_ids": tool or []}
        terminal.fields(_with_key(client.call("POST", "projects", project_id, "mcps", json=request)))


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
def bind(id: IdArgument, tool: ToolOption, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Add Search Tools to an endpoint; their names must differ."""
    _change(id, [("PUT", one) for one in tool], as_json, data)


@app.command()
def unbind(id: IdArgument, tool: ToolOption, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Remove Search Tools from an endpoint."""
    _change(id, [("DELETE", one) for one in tool], as_json, data)


@app.command()
def disable(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Disable an endpoint."""
    _change(id, (), as_json, data, status="disabled")


@app.command()
def enable(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Enable an endpoint again."""
    _change(id, (), as_json, data, status="enabled")


@app.command()
def rotate(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Give an endpoint another key and show it, only once. The old key stays valid for one more hour."""
    with reporting_errors(as_json) as terminal:
        terminal.fields(_with_key(deployment(data).call("POST", "mcps", id, "rotate")))


def _change(id: str, tools: Sequence[tuple[str, str]], as_json: bool, data: Path | None, **members: str) -> None:
    """Binds (PUT) and unbinds (DELETE) Search Tools, changes `members` of an endpoint, and prints it."""
    with reporting_errors(as_json) as terminal:
        client = deployment(data)
        for method, tool in tools:
            endpoint = client.call(method, "mcps", id, "tools", tool)
        if members:
            endpoint = client.call("PATCH", "mcps", id, json=members)
        shown = {"mcp_id": endpoint["id"], "status": endpoint["status"]}
        terminal.fields({**shown, "tools": endpoint["tools"] if as_json else _names(endpoint)})


def _names(endpoint: "Record") -> str:
    return ", ".join(f"{tool['name']} ({tool['status']})" for tool in endpoint["tools"]) or "none"


def _with_key(made: "Record") -> dict[str, Any]:
    return {"mcp_id": made["mcp"]["id"], "key": made["key"]}
