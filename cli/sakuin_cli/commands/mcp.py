"""`sakuin mcp`: endpoints that give agents Search Tools."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin_cli.projects_from_afar import ProjectsFromAfar

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The endpoint.")]
ToolOption = Annotated[list[str], typer.Option("--tool", metavar="ID", help="A Search Tool; may be repeated.")]


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the commands."""
    mcp = typer.Typer(name="mcp", help="Endpoints that give agents Search Tools.", no_args_is_help=True)
    app.add_typer(mcp)

    def done(act: Callable[["ProjectsFromAfar"], dict[str, Any]], as_json: bool, data: Path | None) -> None:
        terminal = Terminal(as_json)
        with terminal.reported():
            answer = act(desk_of(data).projects())
        terminal.fields(answer)

    @mcp.command()
    def create(
        name: Annotated[str, typer.Option("--name", metavar="N", help="What it is called.")],
        tool: Annotated[
            list[str] | None, typer.Option("--tool", metavar="ID", help="A Search Tool; may be repeated.")
        ] = None,
        project: ProjectOption = None,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Create an endpoint with its Search Tools and show its key, this once."""
        done(lambda all: all.create_endpoint(name=name, project=project, tools=tool or ()), as_json, data)

    @mcp.command()
    def bind(id: IdArgument, tool: ToolOption, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Give an endpoint Search Tools; names are unique there."""
        done(lambda all: all.bind(id, tool), as_json, data)

    @mcp.command()
    def unbind(id: IdArgument, tool: ToolOption, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Take Search Tools from an endpoint."""
        done(lambda all: all.unbind(id, tool), as_json, data)

    @mcp.command()
    def disable(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Close an endpoint."""
        done(lambda all: all.switch(id, enabled=False), as_json, data)

    @mcp.command()
    def enable(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Open an endpoint again."""
        done(lambda all: all.switch(id, enabled=True), as_json, data)

    @mcp.command()
    def rotate(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Give an endpoint another key and show it, this once; the old one opens for an hour more."""
        done(lambda all: all.rotate(id), as_json, data)
