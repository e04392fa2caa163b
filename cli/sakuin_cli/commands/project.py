"""`sakuin project`: the projects."""

from typing import Annotated

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import ChangingCommand, Command
from sakuin_cli.options import as_command

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
    """Create a project; use its id with --project, or as SAKUIN_PROJECT."""
    made = command.send("POST", "projects", name=name)
    command.terminal.fields({"project_id": made["id"], "name": made["name"]})


@app.command()
@as_command
def rm(
    command: ChangingCommand,
    id: Annotated[str, typer.Argument(metavar="ID", help="The project, or its name.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a project with its Tables, Search Tools, endpoints and keys."""
    projects = [one for one in command.client.call("GET", "projects")["projects"] if id in (one["id"], one["name"])]
    if len(projects) != 1:
        raise Invalid(f"{len(projects)} projects are {id!r}. Name one by its id: sakuin project list")
    if not yes:
        command.confirm("To delete", [projects[0]["name"]], "Delete it?", "Add --yes to delete it")
    command.send("DELETE", "projects", projects[0]["id"])
    command.terminal.fields({"project_id": projects[0]["id"], "removed": True})
