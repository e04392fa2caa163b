"""`sakuin table`: JSON documents that Search Tools search."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sakuin.errors import Invalid

from sakuin_cli.connections import ChangingCommand, Command, Request
from sakuin_cli.files import read_bytes
from sakuin_cli.options import ProjectOption, TimeoutOption, as_command
from sakuin_cli.terminal import Terminal

if TYPE_CHECKING:
    from sakuin.tables.entries import EntryRules

DEFAULT_THRESHOLD = 200

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
@as_command
def put(
    command: ChangingCommand,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="JSON or CSV in UTF-8; with --id it may stay."
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Replace or change this Table: its id, or its name.")
    ] = None,
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
) -> None:
    """Store a document as a new Table, or as the next version of a Table, or change a Table.

    A new one that is a list of entries is proposed as such, with its chunks and their cost, before it is stored.
    """
    table_id = id and command.id_of("tables", id, project)
    if file is None and not (table_id and (name or chunk_threshold or entries or no_entries)):
        raise typer.BadParameter("Give FILE, or --id and what to change", param_hint="FILE")
    client, threshold = command.client, chunk_threshold or DEFAULT_THRESHOLD
    document, body = read_document(file) if file else (None, b"")

    def stored() -> object:
        return document if file else client.call("GET", "tables", table_id or "", "data")

    rules = read_rules(entries, search, show, filter, stored)
    if rules and file:
        from sakuin.tables.admin.proposals import cost_of

        typer.echo(cost_of(document, rules, threshold), err=True)
    elif not (table_id or no_entries):
        rules = _proposed(document, threshold, command.terminal)
    if file and not table_id:
        name = name or file.stem
    members = {"name": name, "chunk_threshold_chars": chunk_threshold, "entries": rules and asdict(rules)}
    given: dict[str, Any] = {member: value for member, value in members.items() if value is not None}
    given |= {"entries": None} if no_entries else {}
    place = ("tables", table_id) if table_id else ("projects", command.project_id(project), "tables")
    method, sent = ("PUT", {}) if table_id else ("POST", given)
    if command.dry_run:
        stores = [Request(method, place, {**sent, "data": f"{len(body):,} bytes"})] if file else []
        command.would(*map(str, (*stores, *([Request("PATCH", place, given)] if table_id and given else ()))))
    if file:
        with command.terminal.progress("storing"):
            table = client.store_table(method, *place, members=sent, document=body, seconds=timeout)
    shown: dict[str, Any] = {}
    if table_id and given:
        table = command.send("PATCH", *place, **given)
        shown = {member: table[member] for member in ("name", "chunk_threshold_chars")}
        if rules:
            shown["entries"] = given["entries"] if command.terminal.as_json else _shown(given["entries"])
    command.terminal.fields({"table_id": table["id"], "version": table["version"], **shown})


@app.command("list")
@as_command
def list_(command: Command, project: ProjectOption = None) -> None:
    """List the Tables of a project with their ids."""
    with command.terminal.waiting():
        project_id, tables = command.rows("tables", project)
    rows = [
        {"table_id": one["id"], "name": one["name"], "version": one["version"]}
        | {"chunk_threshold_chars": one["chunk_threshold_chars"]}
        | {"pending_upload": one["pending_upload"], "import_error": one["import_error"]}
        | {"entries": one["entries"] if command.terminal.as_json else _shown(one["entries"])}
        for one in tables
    ]
    command.terminal.rows("tables", rows, project_id=project_id)


@app.command()
@as_command
def rm(
    command: ChangingCommand,
    id: Annotated[str, typer.Argument(metavar="ID", help="The Table, or its name.")],
    project: ProjectOption = None,
) -> None:
    """Delete a Table with its Tools."""
    table_id = command.id_of("tables", id, project)
    command.send("DELETE", "tables", table_id)
    command.terminal.fields({"table_id": table_id, "removed": True})


@app.command()
@as_command
def synonyms(
    command: ChangingCommand,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="The new list, an empty file deletes it; none: show it."
        ),
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Show the synonyms for a project's Search Tools, or replace them with those of a file like synonyms.yml."""
    project_id = command.project_id(project)
    place = ("projects", project_id, "synonyms")
    answer = command.send("PUT", *place, groups=_groups(file)) if file else command.client.call("GET", *place)
    document = {"project_id": project_id, "groups": answer["groups"]}
    command.terminal.answer(document, lambda: list(map(print, map(", ".join, answer["groups"]))))


def _shown(entries: Mapping[str, Any] | None) -> str | None:
    """Returns where entries are, and the fields by which they are filtered."""
    if entries is None:
        return None
    return " ".join([entries["pattern"], *(f"{name}:{kind}" for name, kind in entries["filter"].items())])


def _proposed(document: object, threshold: int, terminal: Terminal) -> "EntryRules | None":
    """Asks whether a document has the entries that it seems to have; without a person at a terminal it only says so."""
    from sakuin.tables.admin.proposals import cost_of, proposal

    found = proposal(document)
    if found is None:
        return None
    if not terminal.asks:
        typer.echo(f"{found}. If so, add: {_options(found.rules)}", err=True)
        return None
    question = f"{found}?\n{cost_of(document, found.rules, threshold)}\nIndex it so"
    return found.rules if typer.confirm(question, default=True, err=True) else None


def _options(rules: "EntryRules") -> str:
    """Returns the options that give these rules."""
    options = [("--entries", rules.pattern), *(("--search", name) for name in rules.search or ())]
    options += [("--filter", f"{name}:{kind}") for name, kind in rules.filter.items()]
    return " ".join(f"{option} {shlex.quote(value)}" for option, value in options)


def read_rules(
    pattern: str | None,
    search: list[str] | None,
    show: list[str] | None,
    filters: list[str] | None,
    document: Callable[[], object],
) -> "EntryRules | None":
    """Returns the rules of these options, with the types that the `document` has where an option names none."""
    if pattern is None:
        if search or show or filters:
            raise Invalid("Say where the entries are, too: --entries '/faq/*'")
        return None
    from sakuin.tables.admin.proposals import types_in
    from sakuin.tables.entries import EntryRules

    kinds = {name: kind for name, _, kind in (each.partition(":") for each in filters or ())}
    if not all(kinds.values()):
        kinds = types_in(document(), pattern, kinds)
    return EntryRules.of({"pattern": pattern, "search": search or None, "show": show or None, "filter": kinds})


def _groups(file: Path) -> list[tuple[str, ...]]:
    # This imports a YAML parser.
    from sakuin.knowledge.learns.authored import parse_synonyms

    found = parse_synonyms(read_bytes(file.as_posix()))
    if found.problems:
        raise Invalid(f"{file}: {' '.join(found.problems)} Correct the file; the project's synonyms stay as they were")
    return list(found.groups)


def read_document(file: Path) -> tuple[object, bytes]:
    """Returns the document of a JSON or CSV file and its JSON text; raises `Invalid` if it is none."""
    from sakuin.tables.document import parsed_table, table_of_csv, written_body

    body = read_bytes(file.as_posix())
    if file.suffix.lower() != ".csv":
        return parsed_table(body), body
    document = table_of_csv(body)
    return document, written_body(document)
