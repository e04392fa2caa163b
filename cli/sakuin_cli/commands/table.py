"""`sakuin table`: JSON documents that Search Tools search."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import deployment_of, project_of, record_of, settings_of
from sakuin_cli.files import read_bytes
from sakuin_cli.options import DataOption, JsonOption, ProjectOption, TimeoutOption
from sakuin_cli.terminal import Terminal, reporting_errors

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.rest import Record

DEFAULT_THRESHOLD = 200

NameOption = Annotated[str | None, typer.Option("--name", metavar="N", help="The name.")]
ThresholdOption = Annotated[
    int | None,
    typer.Option(
        "--chunk-threshold", metavar="N", min=1, help="Index strings with at least N characters; a new Table has 200."
    ),
]

EntriesOption = Annotated[
    str | None,
    typer.Option("--entries", metavar="PATTERN", help="Where its entries are, such as /faq/*; one is one result."),
]
NoEntriesOption = Annotated[bool, typer.Option("--no-entries", help="Index long strings; propose no entries.")]
SearchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--search", metavar="FIELD", help="A field of entries to search; may be repeated.", show_default="all"
    ),
]
ShowOption = Annotated[
    list[str] | None,
    typer.Option("--show", metavar="FIELD", help="A field that results show; may be repeated.", show_default="all"),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", metavar="FIELD[:TYPE]", help="A field to filter by: string, number, boolean, date or list."
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
    entries: EntriesOption = None,
    search: SearchOption = None,
    show: ShowOption = None,
    filter: FilterOption = None,
    no_entries: NoEntriesOption = False,
    timeout: TimeoutOption = 300,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Store a document as a new Table, or as the next version of a Table.

    A new one that is a list of entries is proposed as such, with its chunks and their cost, before it is stored.
    """
    with reporting_errors(as_json) as terminal:
        settings = settings_of(data)
        client = deployment_of(settings)
        body = read_bytes(file.as_posix())
        document = parsed(body)
        rules = read_rules(entries, search, show, filter, lambda: document)
        if id is None and not rules and not no_entries:
            rules = _proposed(document, chunk_threshold or DEFAULT_THRESHOLD, terminal)
        if rules:
            typer.echo(costs(document, rules, chunk_threshold or DEFAULT_THRESHOLD), err=True)
        with terminal.progress("storing"):
            if id is None:
                members = {"name": name or file.stem, "chunk_threshold_chars": chunk_threshold, "entries": rules}
                place = ("POST", "projects", settings.project_id(project), "tables")
                table = client.store_table(*place, members=members, document=body, seconds=timeout)
            else:
                id = client.id_of("tables", id, lambda: settings.project_id(project))
                table = client.store_table("PUT", "tables", id, members={}, document=body, seconds=timeout)
                _change(client, id, name, chunk_threshold, rules, no_entries=no_entries)
    terminal.fields({"table_id": table["id"], "version": table["version"]})


@app.command()
def change(
    id: Annotated[str, typer.Argument(metavar="ID", help="The Table, or its name.")],
    name: NameOption = None,
    chunk_threshold: ThresholdOption = None,
    entries: EntriesOption = None,
    search: SearchOption = None,
    show: ShowOption = None,
    filter: FilterOption = None,
    no_entries: NoEntriesOption = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Change the name, the length from which strings are indexed, or what the entries are."""
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "tables", id)
        rules = read_rules(entries, search, show, filter, lambda: client.call("GET", "tables", id, "data"))
        table = _change(client, id, name, chunk_threshold, rules, no_entries=no_entries)
    if table is None:
        raise typer.BadParameter("Give --name, --chunk-threshold or --entries", param_hint="--entries")
    changed = {"name": table["name"], "chunk_threshold_chars": table["chunk_threshold_chars"]}
    shown = {"entries": rules} if rules else {}
    terminal.fields({"table_id": table["id"], "version": table["version"], **changed, **shown})


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
    id: Annotated[str, typer.Argument(metavar="ID", help="The Table, or its name.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Delete a Table with its Tools."""
    with reporting_errors(as_json) as terminal:
        client, id = record_of(data, project, "tables", id)
        client.call("DELETE", "tables", id)
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


def _change(
    client: "DeploymentClient",
    id: str,
    name: str | None,
    chunk_threshold: int | None,
    rules: Mapping[str, Any] | None,
    *,
    no_entries: bool,
) -> "Record | None":
    """Changes what is given; returns None if nothing is."""
    members = {"name": name, "chunk_threshold_chars": chunk_threshold, "entries": rules}
    request: dict[str, Any] = {member: value for member, value in members.items() if value is not None}
    if no_entries:
        request["entries"] = None
    return client.call("PATCH", "tables", id, json=request) if request else None


def _proposed(document: object, threshold: int, terminal: Terminal) -> Mapping[str, Any] | None:
    """Asks whether a document has the entries that it seems to have; without a person at a terminal it only says so."""
    from sakuin_cli.entries import estimate, options_of, proposal

    found = proposal(document)
    if found is None:
        return None
    if terminal.as_json or not sys.stdin.isatty():
        typer.echo(f"{found}. If so, add: {options_of(found.rules)}", err=True)
        return None
    question = f"{found}?\n{estimate(document, found.rules, threshold)}\nIndex it so"
    return asdict(found.rules) if typer.confirm(question, default=True, err=True) else None


def read_rules(
    pattern: str | None,
    search: list[str] | None,
    show: list[str] | None,
    filters: list[str] | None,
    document: Callable[[], object],
) -> Mapping[str, Any] | None:
    """Returns the rules of these options, with the types that the `document` has where an option names none."""
    if pattern is None:
        if search or show or filters:
            raise Invalid("Say where the entries are, too: --entries '/faq/*'")
        return None
    from sakuin.tables.entries import EntryRules

    from sakuin_cli.entries import types_in

    kinds = {name: kind for name, _, kind in (each.partition(":") for each in filters or ())}
    if not all(kinds.values()):
        kinds = types_in(document(), pattern, kinds)
    rules = {"pattern": pattern, "search": search or None, "show": show or None, "filter": kinds}
    return asdict(EntryRules.of(rules))


def costs(document: object, rules: Mapping[str, Any], threshold: int) -> str:
    """Returns the number of chunks and what they cost."""
    from sakuin.tables.entries import EntryRules

    from sakuin_cli.entries import estimate

    return estimate(document, EntryRules.of(rules), threshold)


def _groups(file: Path) -> list[tuple[str, ...]]:
    # This imports a YAML parser.
    from sakuin.knowledge.learns.authored import parse_synonyms

    found = parse_synonyms(read_bytes(file.as_posix()))
    if found.problems:
        raise Invalid(f"{file}: {' '.join(found.problems)} Correct the file; the project's synonyms stay as they were")
    return list(found.groups)


def parsed(body: bytes) -> object:
    """Returns the document of a JSON text; raises `Invalid` if it is none."""
    from sakuin.tables.document import parsed_table

    return parsed_table(body)
