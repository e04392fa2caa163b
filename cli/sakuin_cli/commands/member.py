"""`sakuin member`: who may do everything in a project."""

from typing import Annotated

import typer

from sakuin_cli.connections import deployment_of, settings_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import Terminal

app = typer.Typer(name="member", help="Who may do everything in a project.", no_args_is_help=True)


@app.command(name="list")
def list_(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Show the members of a project, the first one first."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        settings = settings_of(data)
        client, project_id = deployment_of(settings), settings.project_id(project)
        members = client.members(project_id)
    if as_json:
        terminal.document({"project_id": project_id, "members": members})
    else:
        for member in members:
            terminal.out.print(f"{member['user_id']}  since {member['since']}", soft_wrap=True)


@app.command()
def rm(
    id: Annotated[str, typer.Argument(metavar="ID", help="The user.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Remove a member from a project; the last one stays."""
    terminal = Terminal(as_json)
    with terminal.reporting_errors():
        settings = settings_of(data)
        client, project_id = deployment_of(settings), settings.project_id(project)
        client.remove_member(project_id, id)
    terminal.fields({"user_id": id, "removed": True})
