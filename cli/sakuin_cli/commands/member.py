"""`sakuin member`: the members of a project, who have all rights in it."""

from typing import Annotated

import typer

from sakuin_cli.connections import project_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import reporting_errors

app = typer.Typer(name="member", help="The members of a project.", no_args_is_help=True)


@app.command(name="list")
def list_(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the members of a project, oldest first."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
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
    """Remove a member from a project; the last one cannot be removed."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        client.remove_member(project_id, id)
    terminal.fields({"user_id": id, "removed": True})
