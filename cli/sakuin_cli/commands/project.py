"""`sakuin project` and `sakuin member`: projects, their members and the roles of these."""

from typing import Annotated, Literal

import typer

from sakuin_cli.connections import deployment, project_of
from sakuin_cli.options import DataOption, JsonOption, ProjectOption
from sakuin_cli.terminal import reporting_errors

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The user's id in Supabase Auth.")]

app = typer.Typer(name="project", help="Projects, each with Tables, Search Tools and endpoints.", no_args_is_help=True)
members = typer.Typer(name="member", help="The members of a project and their roles.", no_args_is_help=True)


@app.callback()
def project() -> None:
    """Projects, each with Tables, Search Tools and endpoints."""


@app.command(name="list")
def list_(as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the projects with their ids."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        projects = deployment(data).call("GET", "projects")["projects"]
    terminal.rows("projects", [{"project_id": one["id"], "name": one["name"]} for one in projects])


@members.command(name="list")
def list_members(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the members of a project, oldest first."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client, project_id = project_of(data, project)
        rows = client.call("GET", "projects", project_id, "members")["members"]
    terminal.rows("members", rows, project_id=project_id)


@members.command()
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


@members.command()
def transfer(
    id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None
) -> None:
    """Make a member the only owner of a project; the owners before become editors."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        client.call("POST", "projects", project_id, "transfer", json={"user_id": id})
    terminal.fields({"user_id": id, "role": "owner"})


@members.command()
def rm(id: IdArgument, project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """Remove a member from a project; the last owner cannot be removed."""
    with reporting_errors(as_json) as terminal:
        client, project_id = project_of(data, project)
        client.call("DELETE", "projects", project_id, "members", id)
    terminal.fields({"user_id": id, "removed": True})
