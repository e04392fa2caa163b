"""The pages of a project's Tables: the document with its entries, and what is searched of these."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.pages.project_shell import IndexProgress, corrected_in, project_of, project_page, with_id
from sakuin.console.pages.projects import LARGEST_DOCUMENT, show_project
from sakuin.console.shell import Form, Reader, Visit
from sakuin.errors import Invalid
from sakuin.language.unicode_text import visible
from sakuin.tables.admin.proposals import Column, Cost, columns, cost_of, entries_in, found_by_words, proposal
from sakuin.tables.document import parsed_table, table_of_csv
from sakuin.tables.entries import NO_ENTRIES, EntryRules
from sakuin.tables.json_pointer import escaped
from sakuin.tables.model import Table
from sakuin.tables.scan import LargeString, large_strings
from sakuin.texts.catalogue import coded

router = APIRouter(prefix="/projects")

_ROWS = 20
_LONGEST_CELL = 100
# Entries whose words a test question compares: a second for short ones.
_MOST_TESTED = 1_000


@dataclass(frozen=True, slots=True)
class Browser:
    """The rows of a document: entries with their fields as texts, or the strings that are indexed, without `columns`.

    `is_proposed`: nobody has said yet that these are the entries. `found` are those that a test question finds by its
    words; None without a question. `cost` is that of indexing them so.
    """

    rules: EntryRules
    count: int
    start: int
    rows: Mapping[str, Mapping[str, str]]
    columns: Sequence[Column] = ()
    is_proposed: bool = False
    cost: Cost | None = None
    found: Mapping[str, Mapping[str, str]] | None = None

    def ticked(self, kind: str, name: str) -> bool:
        """Returns whether a field is searched (`search`), in results (`show`), or a filter."""
        return name in (getattr(self.rules, kind) or ())

    @property
    def following(self) -> int | None:
        """Returns the number of the row after these."""
        return self.start + _ROWS if self.start + _ROWS < self.count else None


@router.get("/{project_id}/tables/{table_id}")
def show_table(visit: Reader, project_id: UUID, table_id: UUID, start: int = 0) -> Response:
    project = project_of(visit, project_id)
    table = with_id(visit.records.tables(visit.user, project.id), table_id, "table")
    tools = [one for one in visit.records.tools(visit.user, project.id) if one.table_id == str(table_id)]
    return project_page(
        visit,
        "table.html",
        project,
        table=table,
        tools=[(tool, IndexProgress.of(tool)) for tool in tools],
        largest=LARGEST_DOCUMENT,
        browser=_browser(visit, table, max(0, start)) if table.version and table.bytes <= LARGEST_DOCUMENT else None,
        usd_per_million=visit.shell.usd_per_million[0],
    )


def _browser(visit: Visit, table: Table, start: int) -> Browser:
    document = visit.projects.tables.node(visit.user, table.id, "")
    is_chosen = "pattern" in visit.fields and visit.problem is None
    proposed = None if table.entries or is_chosen else proposal(document)
    rules = _rules(visit) if is_chosen else table.entries or (proposed.rules if proposed else NO_ENTRIES)
    if not rules.pattern:
        strings = large_strings(document, "", threshold=table.chunk_threshold_chars)
        texts = [each for each in strings if isinstance(each, LargeString)]
        shown = {each.json_pointer: {"": _cell(each.text)} for each in texts[start : start + _ROWS]}
        return Browser(rules, len(texts), start, shown)
    entries = entries_in(document, rules)
    found, question = None, visit.text("q")
    if question:
        some = dict(islice(entries.items(), _MOST_TESTED))
        found = {pointer: _cells(entries[pointer]) for pointer in found_by_words(some, rules, question)}
    return Browser(
        rules,
        len(entries),
        start,
        {pointer: _cells(entries[pointer]) for pointer in islice(entries, start, start + _ROWS)},
        columns(list(entries.values()), rules),
        proposed is not None,
        cost_of(document, rules, table.chunk_threshold_chars) if proposed or question else None,
        found,
    )


def _cells(entry: object) -> dict[str, str]:
    return {escaped(name): _cell(value) for name, value in (entry if isinstance(entry, dict) else {"": entry}).items()}


def _cell(value: object) -> str:
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"


def _rules(visit: Visit) -> EntryRules:
    """Returns the entries of the form. Raises `Invalid`."""
    ticks: dict[str, dict[str, str]] = {"search": {}, "show": {}, "filter": {}}
    for name, value in visit.fields.items():
        kind, _, column = name.partition("-")
        if kind in ticks:
            ticks[kind][column] = value
    search, show = ([*ticks[kind]] or None for kind in ("search", "show"))
    return EntryRules.of({"pattern": visit.text("pattern"), "search": search, "show": show, "filter": ticks["filter"]})


@router.post("/{project_id}/tables/{table_id}/entries")
@corrected_in(show_table)
def set_entries(visit: Form, project_id: UUID, table_id: UUID) -> Response:
    """Shows what a question finds with these entries, or stores what they are; without a pattern there are none."""
    if visit.text("do") == "test":
        return show_table(visit, project_id, table_id)
    entries: dict[str, Any] = asdict(_rules(visit)) if visit.text("pattern") else {}
    visit.records.change_table(visit.user, str(table_id), name=None, chunk_threshold_chars=None, entries=entries)
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}/tables/{table_id}", done="entries_set")


@router.post("/{project_id}/tables")
@corrected_in(show_project)
def create_table(visit: Form, project_id: UUID) -> Response:
    table = visit.projects.tables.create(
        visit.user,
        str(project_id),
        name=visit.text("name"),
        document=_document(visit.fields),
        chunk_threshold_chars=_number(visit, "chunk_threshold_chars"),
    )
    return redirect(f"/projects/{project_id}/tables/{table.id}", done="table_created")


@router.post("/{project_id}/tables/{table_id}/document")
@corrected_in(show_table)
def replace_document(visit: Form, project_id: UUID, table_id: UUID) -> Response:
    """Replaces the document, unless it changed since the page was read."""
    document, version = _document(visit.fields), _number(visit, "version")
    visit.projects.tables.replace(visit.user, str(table_id), document=document, expected_version=version)
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}/tables/{table_id}", done="table_replaced")


@router.post("/{project_id}/tables/{table_id}/change")
@corrected_in(show_table)
def change_table(visit: Form, project_id: UUID, table_id: UUID) -> Response:
    visit.records.change_table(
        visit.user,
        str(table_id),
        name=visit.text("name"),
        chunk_threshold_chars=_number(visit, "chunk_threshold_chars"),
    )
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}/tables/{table_id}", done="saved")


@router.post("/{project_id}/tables/{table_id}/delete")
def delete_table(visit: Form, project_id: UUID, table_id: UUID) -> Response:
    visit.records.delete_table(visit.user, str(table_id))
    visit.projects.publish_changes()
    return redirect(f"/projects/{project_id}", done="table_deleted")


def _document(fields: Mapping[str, str]) -> object:
    """Returns the document of the chosen file, JSON or CSV."""
    text = fields.get("document", "")
    if not text.strip():
        raise Invalid(coded("form.json_file"))
    if len(text) > LARGEST_DOCUMENT:
        raise Invalid(coded("form.large_document", most=LARGEST_DOCUMENT))
    return table_of_csv(text) if fields.get("document.name", "").lower().endswith(".csv") else parsed_table(text)


def _number(visit: Visit, name: str) -> int | None:
    """Returns the whole number of a field; None if it is empty."""
    text = visit.text(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise Invalid(coded("form.whole_number", name=name)) from error
