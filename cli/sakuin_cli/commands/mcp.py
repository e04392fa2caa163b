"""`sakuin mcp`: endpoints that give agents Search Tools."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.connections import deployment, deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.views import Endpoint, EndpointKey

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The endpoint.")]
ToolOption = Annotated[list[str], typer.Option("--tool", metavar="ID", help="A Search Tool; may be repeated.")]

app = typer.Typer(name="mcp", help="Endpoints that give agents Search Tools.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Option("--name", metavar="N", help="What it is called.")],
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="ID", help="A Search Tool; may be repeated.")
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Create an endpoint with its Search Tools and show its key, only once."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        settings = settings_of(data)
        client, project_id = deployment_of(settings), settings.project_id(project)
        terminal.fields(_with_key(client.create_endpoint(project_id, name=name, tools=tool or ())))


@app.command()
def bind(id: IdArgument, tool: ToolOption, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Give an endpoint Search Tools; names are unique there."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        client = _client(data)
        _show(terminal, [client.bind_tool(id, one) for one in tool][-1])


@app.command()
def unbind(id: IdArgument, tool: ToolOption, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Take Search Tools from an endpoint."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        client = _client(data)
        _show(terminal, [client.unbind_tool(id, one) for one in tool][-1])


@app.command()
def disable(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Close an endpoint."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        _show(terminal, _client(data).set_endpoint_status(id, "disabled"))


@app.command()
def enable(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Open an endpoint again."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        _show(terminal, _client(data).set_endpoint_status(id, "enabled"))


@app.command()
def rotate(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Give an endpoint another key and show it, only once. The old key stays valid for one more hour."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        terminal.fields(_with_key(_client(data).rotate_key(id)))


def _client(data: Path | None) -> "DeploymentClient":
    return deployment(data)


def _show(terminal: Terminal, endpoint: "Endpoint") -> None:
    tools = endpoint["tools"]
    names = ", ".join(f"{tool['name']} ({tool['status']})" for tool in tools) or "none"
    shown = {"mcp_id": endpoint["id"], "status": endpoint["status"]}
    terminal.fields({**shown, "tools": tools if terminal.as_json else names})


def _with_key(made: "EndpointKey") -> dict[str, Any]:
    return {"mcp_id": made["mcp"]["id"], "key": made["key"]}
