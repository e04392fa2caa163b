"""`sakuin project`: the projects."""

import typer

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption
from sakuin_cli.terminal import reporting_errors

app = typer.Typer(name="project", help="Projects, each with Tables, Search Tools and endpoints.", no_args_is_help=True)


@app.callback()
def project() -> None:
    """Projects, each with Tables, Search Tools and endpoints."""


@app.command(name="list")
def list_(as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the projects with their ids."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        projects = deployment(data).call("GET", "projects")["projects"]
    terminal.rows("projects", [{"project_id": one["id"], "name": one["name"]} for one in projects])
