"""`sakuin project`: the projects."""

from typing import Annotated

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import reporting_errors

app = typer.Typer(name="project", help="Projects, each with Tables, Search Tools and endpoints.", no_args_is_help=True)


@app.command(name="list")
def list_(as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the projects with their ids."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        projects = deployment(data).call("GET", "projects")["projects"]
    terminal.rows("projects", [{"project_id": one["id"], "name": one["name"]} for one in projects])


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name.")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Create a project; use its id with --project, or as SAKUIN_PROJECT."""
    with reporting_errors(as_json) as terminal:
        made = deployment(data).call("POST", "projects", json={"name": name})
    terminal.fields({"project_id": made["id"], "name": made["name"]})


@app.command()
def rm(
    id: Annotated[str, typer.Argument(metavar="ID", help="The project, or its name.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Delete a project with its Tables, Search Tools, endpoints and keys."""
    with reporting_errors(as_json) as terminal:
        client = deployment(data)
        projects = [one for one in client.call("GET", "projects")["projects"] if id in (one["id"], one["name"])]
        if len(projects) != 1:
            raise Invalid(f"{len(projects)} projects are {id!r}. Name one by its id: sakuin project list")
        if not yes:
            terminal.confirm("To delete", [projects[0]["name"]], "Delete it?", "Add --yes to delete it")
        client.call("DELETE", "projects", projects[0]["id"])
    terminal.fields({"project_id": projects[0]["id"], "removed": True})
