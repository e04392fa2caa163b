"""The pages of a project's Tables."""

from collections.abc import Mapping
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.pages.project_shell import IndexProgress, corrected_in, project_of, project_page, with_id
from sakuin.console.pages.projects import LARGEST_DOCUMENT, show_project
from sakuin.console.shell import Form, Reader, Visit
from sakuin.errors import Invalid
from sakuin.tables.document import parsed_table
from sakuin.texts.catalogue import coded

router = APIRouter(prefix="/projects")


@router.get("/{project_id}/tables/{table_id}")
def show_table(visit: Reader, project_id: UUID, table_id: UUID) -> Response:
    project = project_of(visit, project_id)
    tools = [one for one in visit.records.tools(visit.user, project.id) if one.table_id == str(table_id)]
    return project_page(
        visit,
        "table.html",
        project,
        table=with_id(visit.records.tables(visit.user, project.id), table_id, "table"),
        tools=[(tool, IndexProgress.of(tool)) for tool in tools],
        largest=LARGEST_DOCUMENT,
    )


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
    """Returns the JSON of the chosen file."""
    text = fields.get("document", "")
    if not text.strip():
        raise Invalid(coded("form.json_file"))
    if len(text) > LARGEST_DOCUMENT:
        raise Invalid(coded("form.large_document", most=LARGEST_DOCUMENT))
    return parsed_table(text)


def _number(visit: Visit, name: str) -> int | None:
    """Returns the whole number of a field; None if it is empty."""
    text = visit.text(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise Invalid(coded("form.whole_number", name=name)) from error
