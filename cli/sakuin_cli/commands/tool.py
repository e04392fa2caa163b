"""`sakuin tool`: Search Tools over parts of Tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption, ProjectOption, TimeoutOption
from sakuin_cli.terminal import Terminal

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The Search Tool.")]


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the commands."""
    tool = typer.Typer(name="tool", help="Search Tools over parts of Tables.", no_args_is_help=True)
    app.add_typer(tool)

    @tool.command()
    def create(
        table: Annotated[str, typer.Option("--table", metavar="ID", help="The Table to search.")],
        json_path: Annotated[
            str, typer.Option("--json-path", metavar="P", help='JSON Pointer of the part to search; "" is all of it.')
        ],
        name: Annotated[str, typer.Option("--name", metavar="N", help="What agents call it: a-z, A-Z, 0-9, _ and -.")],
        description: Annotated[
            str | None, typer.Option("--description", metavar="D", help="What agents read about it.")
        ] = None,
        project: ProjectOption = None,
        wait: Annotated[bool, typer.Option("--wait", help="Wait until it can be searched.")] = False,
        timeout: TimeoutOption = 300,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Create a Search Tool; exit code 1 if it could not be indexed while it was waited for."""
        terminal = Terminal(as_json)
        with terminal.reported():
            projects = desk_of(data).projects()
            answer = projects.create_tool(
                table_id=table, project=project, json_path=json_path, name=name, description=description
            )
            if wait:
                answer = projects.await_tool(answer["tool_id"], seconds=timeout)
        _show(terminal, answer)
        raise typer.Exit(1 if wait and answer["search_index"].get("state") != "ready" else 0)

    @tool.command()
    def rm(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Delete a Search Tool; its Table stays."""
        terminal = Terminal(as_json)
        with terminal.reported():
            answer = desk_of(data).projects().remove_tool(id)
        terminal.fields(answer)

    @tool.command()
    def reindex(id: IdArgument, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Have a Search Tool indexed again; what did not change costs no embedding."""
        terminal = Terminal(as_json)
        with terminal.reported():
            answer = desk_of(data).projects().reindex_tool(id)
        _show(terminal, answer)


def _show(terminal: Terminal, answer: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.document(answer)
    else:
        terminal.fields({"tool_id": answer["tool_id"], **answer["search_index"]})
