"""`sakuin table`: JSON documents that Search Tools search."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption, ProjectOption, TimeoutOption
from sakuin_cli.terminal import Terminal


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the commands."""
    table = typer.Typer(name="table", help="JSON documents that Search Tools search.", no_args_is_help=True)
    app.add_typer(table)

    @table.command()
    def put(
        file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A JSON document.")],
        id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Replace this Table.")] = None,
        project: ProjectOption = None,
        name: Annotated[
            str | None, typer.Option("--name", metavar="N", help="What it is called.", show_default="the file's name")
        ] = None,
        timeout: TimeoutOption = 300,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Store a document as a new Table, or as the next version of one."""
        terminal = Terminal(as_json)
        with terminal.reported():
            projects = desk_of(data).projects()
            answer = projects.put_table(file.as_posix(), table_id=id, project=project, name=name, seconds=timeout)
        terminal.fields(answer)

    @table.command()
    def rm(
        id: Annotated[str, typer.Argument(metavar="ID", help="The Table.")],
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Delete a Table with its Tools."""
        terminal = Terminal(as_json)
        with terminal.reported():
            answer = desk_of(data).projects().remove_table(id)
        terminal.fields(answer)
