"""`sakuin member`: the members of a project and their roles."""

from typing import Annotated, Literal

import typer

from sakuin_cli.connections import project_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import reporting_errors

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The user's id in Supabase Auth.")]

app = typer.Typer(name="member", help="The members of a project and their roles.", no_args_is_help=True)


@app.command(name="list")
def list_(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the members of a project, oldest first."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client, project_id = project_of(data, project)
        members = client.call("GET", "projects", project_id, "members")["members"]
    terminal.rows("members", members, project_id=project_id)


@app.command()
def add(
    id: IdArgument,
    role: Annotated[Literal["viewer", "editor", "owner"], typer.Option("--role", help="What the member may do.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Make a user a member with a role, or give a member another role."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        client.add_member(project_id, id, role)
    terminal.fields({"user_id": id, "role": role})


@app.command()
def transfer(
    id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None
) -> None:
    """Make a member the only owner of a project; the owners before become editors."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        client.call("POST", "projects", project_id, "transfer", json={"user_id": id})
    terminal.fields({"user_id": id, "role": "owner"})


@app.command()
def rm(id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Remove a member from a project; the last owner cannot be removed."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        client.call("DELETE", "projects", project_id, "members", id)
    terminal.fields({"user_id": id, "removed": True})
