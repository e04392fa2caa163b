"""`sakuin member`: who may do everything in a project."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sakuin_cli.desk import Desk
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import Terminal


def register(app: typer.Typer, desk_of: Callable[[Path | None], Desk]) -> None:
    """Adds the commands."""
    member = typer.Typer(name="member", help="Who may do everything in a project.", no_args_is_help=True)
    app.add_typer(member)

    @member.command(name="list")
    def list_(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
        """Show the members of a project, the first one first."""
        terminal = Terminal(as_json)
        with terminal.reported():
            answer = desk_of(data).projects().members(project)
        if as_json:
            terminal.document(answer)
        else:
            for one in answer["members"]:
                terminal.out.print(f"{one['user_id']}  since {one['since']}", soft_wrap=True)

    @member.command()
    def rm(
        id: Annotated[str, typer.Argument(metavar="ID", help="The user.")],
        project: ProjectOption = None,
        as_json: JsonOption = False,
        data: DataOption = None,
    ) -> None:
        """Remove a member from a project; the last one stays."""
        terminal = Terminal(as_json)
        with terminal.reported():
            answer = desk_of(data).projects().remove_member(project, id)
        terminal.fields(answer)
