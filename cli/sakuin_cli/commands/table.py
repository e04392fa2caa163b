"""`sakuin table`: JSON documents that Search Tools search."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import deployment, deployment_of, project_of, settings_of
from sakuin_cli.files import read_bytes
from sakuin_cli.options import DataOption, JsonOption, ProjectOption, TimeoutOption
from sakuin_cli.terminal import reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record

NameOption = Annotated[str | None, typer.Option("--name", metavar="N", help="The name.")]
ThresholdOption = Annotated[
    int | None,
    typer.Option(
        "--chunk-threshold", metavar="N", min=1, help="Index strings with at least N characters; a new Table has 200."
    ),
]

app = typer.Typer(name="table", help="JSON documents that Search Tools search.", no_args_is_help=True)


@app.command()
def put(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A JSON document in UTF-8.")
    ],
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Replace this Table.")] = None,
    project: ProjectOption = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="N", help="The name.", show_default="the file's name")
    ] = None,
    chunk_threshold: ThresholdOption = None,
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Store a document as a new Table, or as the next version of a Table."""
    with reporting_errors(as_json) as terminal:
        settings = settings_of(data)
        client = deployment_of(settings)
        document = _document(file)
        with terminal.progress("storing"):
            if id is None:
                members = {"name": name or file.stem, "chunk_threshold_chars": chunk_threshold}
                place = ("POST", "projects", settings.project_id(project), "tables")
                table = client.store_table(*place, members=members, document=document, seconds=timeout)
            else:
                table = client.store_table("PUT", "tables", id, members={}, document=document, seconds=timeout)
                if (name, chunk_threshold) != (None, None):
                    _change(client, id, name, chunk_threshold)
    terminal.fields({"table_id": table["id"], "version": table["version"]})


@app.command()
def change(
    id: Annotated[str, typer.Argument(metavar="ID", help="The Table.")],
    name: NameOption = None,
    chunk_threshold: ThresholdOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Change the name, or how long a string has to be to be indexed; the Table is scanned again then."""
    if (name, chunk_threshold) == (None, None):
        raise typer.BadParameter("Give --name or --chunk-threshold", param_hint="--chunk-threshold")
    with reporting_errors(as_json) as terminal:
        table = _change(deployment(data), id, name, chunk_threshold)
    changed = {"name": table["name"], "chunk_threshold_chars": table["chunk_threshold_chars"]}
    terminal.fields({"table_id": table["id"], "version": table["version"], **changed})


@app.command(name="list")
def list_(project: ProjectOption = None, as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the Tables of a project with their ids."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client, project_id = project_of(data, project)
        tables = client.call("GET", "projects", project_id, "tables")["tables"]
    rows = [
        {"table_id": one["id"], "name": one["name"], "version": one["version"]}
        | {"chunk_threshold_chars": one["chunk_threshold_chars"]}
        | {"pending_upload": one["pending_upload"], "import_error": one["import_error"]}
        for one in tables
    ]
    terminal.rows("tables", rows, project_id=project_id)


@app.command()
def rm(
    id: Annotated[str, typer.Argument(metavar="ID", help="The Table.")],
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Delete a Table with its Tools."""
    with reporting_errors(as_json) as terminal:
        deployment(data).call("DELETE", "tables", id)
    terminal.fields({"table_id": id, "removed": True})


@app.command()
def synonyms(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="The new list, an empty file deletes it; none: show it."
        ),
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Show the synonyms for a project's Search Tools, or replace them with those of a file like synonyms.yml."""
    with reporting_errors(as_json) as terminal, terminal.waiting():
        client, project_id = project_of(data, project)
        sent = {} if file is None else {"json": {"groups": _groups(file)}}
        groups = client.call("PUT" if sent else "GET", "projects", project_id, "synonyms", **sent)["groups"]
    if as_json:
        terminal.document({"project_id": project_id, "groups": groups})
    else:
        for group in groups:
            terminal.print(", ".join(group))


def _change(client: "DeploymentClient", id: str, name: str | None, chunk_threshold: int | None) -> "Record":
    members = {"name": name, "chunk_threshold_chars": chunk_threshold}
    request = {member: value for member, value in members.items() if value is not None}
    return client.call("PATCH", "tables", id, json=request)


def _groups(file: Path) -> list[tuple[str, ...]]:
    # This imports a YAML parser.
    from sakuin.knowledge.learns.authored import parse_synonyms

    found = parse_synonyms(read_bytes(file.as_posix()))
    if found.problems:
        raise Invalid(f"{file}: {' '.join(found.problems)} Correct the file; the project's synonyms stay as they were")
    return list(found.groups)


def _document(file: Path) -> bytes:
    """Returns the JSON text of a file; raises `Invalid` if it is not JSON."""
    from sakuin.tables.document import parsed_table

    document = read_bytes(file.as_posix())
    parsed_table(document)
    return document
