"""`sakuin endpoint`: endpoints with Search Tools for agents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.connections import ChangingCommand, Command, Request
from sakuin_cli.options import ProjectOption, as_command, fields_in

if TYPE_CHECKING:
    from sakuin_cli.rest import Record

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The endpoint, or its name.")]
ToolOption = Annotated[
    list[str] | None, typer.Option("--tool", metavar="ID", help="Add this Search Tool, or its name; may be repeated.")
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", metavar="FIELD=VALUE", help="Only entries with this value, which agents cannot see; '' for all."
    ),
]

app = typer.Typer(name="endpoint", help="Endpoints with Search Tools for agents.", no_args_is_help=True)


@app.command()
@as_command
def new(
    command: ChangingCommand,
    name: Annotated[str, typer.Option("--name", metavar="N", help="The name.")],
    tool: ToolOption = None,
    filter: FilterOption = None,
    project: ProjectOption = None,
) -> None:
    """Create an endpoint with its Search Tools and show its key, only once."""
    project_id, fixed = command.project_id(project), _filter(filter)
    ids = [command.id_of("tools", one, project) for one in tool or ()]
    made = command.send("POST", "projects", project_id, "mcps", name=name, tool_ids=ids, **fixed)
    command.terminal.fields({"mcp_id": made["mcp"]["id"], "key": made["key"]})


@app.command("list")
@as_command
def list_(command: Command, project: ProjectOption = None) -> None:
    """List the endpoints of a project with their ids and Search Tools, which filters these have and which are fixed."""
    with command.terminal.waiting():
        project_id, endpoints = command.rows("mcps", project)
    rows: list[dict[str, Any]] = [
        {"mcp_id": one["id"], "name": one["name"], "status": one["status"], "tools": _names(one)} for one in endpoints
    ]
    if command.terminal.as_json:
        rows = [{**row, "tools": one["tools"]} for row, one in zip(rows, endpoints, strict=True)]
    command.terminal.rows("mcps", rows, project_id=project_id)


@app.command()
@as_command
def change(
    command: ChangingCommand,
    id: IdArgument,
    tool: ToolOption = None,
    filter: FilterOption = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="ID", help="Remove this Search Tool; may be repeated.")
    ] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Whether its key opens it.", show_default="as it is")
    ] = None,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Show another key, only once; the old one is valid for one more hour.")
    ] = False,
    project: ProjectOption = None,
) -> None:
    """Add Search Tools to an endpoint or remove them, change the filter that it fixes, disable it, give it a key."""
    mcp_id, fixed = command.id_of("mcps", id, project), _filter(filter)
    requests = [_binding(mcp_id, command.id_of("tools", one, project), fixed) for one in tool or ()]
    for one in without or ():
        requests.append(Request("DELETE", ("mcps", mcp_id, "tools", command.id_of("tools", one, project))))
    if enabled is not None:
        requests.append(Request("PATCH", ("mcps", mcp_id), {"status": "enabled" if enabled else "disabled"}))
    if new_key:
        requests.append(Request("POST", ("mcps", mcp_id, "rotate")))
    if not requests:
        raise typer.BadParameter("Say what to change", param_hint="--tool")
    answer = command.send_all(*requests)[-1]
    endpoint = answer["mcp"] if new_key else answer
    tools = endpoint["tools"] if command.terminal.as_json else _names(endpoint)
    key = {"key": answer["key"]} if new_key else {}
    command.terminal.fields({"mcp_id": mcp_id, "status": endpoint["status"], "tools": tools, **key})


@app.command()
@as_command
def rm(command: ChangingCommand, id: IdArgument, project: ProjectOption = None) -> None:
    """Delete an endpoint with its key; its Search Tools stay."""
    mcp_id = command.id_of("mcps", id, project)
    command.send("DELETE", "mcps", mcp_id)
    command.terminal.fields({"mcp_id": mcp_id, "removed": True})


def _binding(mcp_id: str, tool_id: str, fixed: "Record") -> Request:
    return Request("PUT", ("mcps", mcp_id, "tools", tool_id), fixed or None)


def _filter(given: Sequence[str] | None) -> "Record":
    """Returns the request for a fixed filter; an empty text removes it."""
    return {} if given is None else {"filter": fields_in(given)}


def _names(endpoint: "Record") -> str:
    return "; ".join(map(_name, endpoint["tools"])) or "none"


def _name(tool: "Record") -> str:
    """Returns a Tool with the values that the endpoint fixes, and the fields by which its agents may filter."""
    fixed = tool["filter"]
    fields = [name for name in (tool["entries"] or {"filter": ()})["filter"] if name not in fixed]
    values = [f"{name}={value}" for name, value in fixed.items()]
    filters = [f"filters {' '.join(fields)}"] if fields else []
    return f"{tool['name']} ({', '.join([tool['status'], *values, *filters])})"
