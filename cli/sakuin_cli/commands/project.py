"""`sakuin project`: the projects."""

from typing import Annotated

import typer

from sakuin_cli.connections import ChangingCommand, Command
from sakuin_cli.options import ProjectOption, as_command

app = typer.Typer(name="project", help="Projects, each with Tables, Search Tools and endpoints.", no_args_is_help=True)


@app.command("list")
@as_command
def list_(command: Command) -> None:
    """List the projects with their ids."""
    with command.terminal.waiting():
        projects = command.client.call("GET", "projects")["projects"]
    command.terminal.rows("projects", [{"project_id": one["id"], "name": one["name"]} for one in projects])


@app.command()
@as_command
def new(command: ChangingCommand, name: Annotated[str, typer.Argument(metavar="NAME", help="The name.")]) -> None:
    """Create a project; use it with --project, or as SAKUIN_PROJECT."""
    made = command.send("POST", "projects", name=name)
    command.terminal.fields({"project_id": made["id"], "name": made["name"]})


@app.command()
@as_command
def members(
    command: ChangingCommand,
    project: ProjectOption = None,
    add: Annotated[
        str | None, typer.Option("--add", metavar="EMAIL", help="Invite: who signs in with it is a member then.")
    ] = None,
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="With --add: viewer or editor.")] = "viewer",
    rm: Annotated[str | None, typer.Option("--rm", metavar="WHO", help="Remove an e-mail address or an id.")] = None,
) -> None:
    """List the members of a project, invite one by e-mail address, or remove one."""
    place = ("projects", command.project_id(project), "members")
    if add:
        command.send("POST", *place, email=add, role=role)
    if rm:
        listed = command.client.call("GET", *place)["members"]
        # Who has accepted may be invited again: both go.
        for id in [one["user_id"] for one in listed if rm.lower() == one["email"]] or [rm]:
            command.send("DELETE", *place, id)
    with command.terminal.waiting():
        listed = command.client.call("GET", *place)["members"]
    command.terminal.rows("members", listed)


@app.command()
@as_command
def rm(
    command: ChangingCommand,
    id: Annotated[str, typer.Argument(metavar="ID", help="The project, or its name.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a project with its Tables, Search Tools, endpoints and keys."""
    project_id = command.project_id(id)
    if not yes:
        command.confirm("To delete", [id], "Delete it?", "Add --yes to delete it")
    command.send("DELETE", "projects", project_id)
    command.terminal.fields({"project_id": project_id, "removed": True})
