"""The pages of a project's Tables."""

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.forms import Form
from sakuin.console.pages.projects.shell import CORRECTABLE, ProjectPages
from sakuin.console.pages.projects.tools import IndexProgress
from sakuin.console.sessions import Session
from sakuin.errors import Invalid, NotFound, SakuinError
from sakuin.tables.document import parsed_table
from sakuin.tables.model import Table

# A request with a larger document may exceed what Lambda takes. The command uploads it to the bucket.
_LARGEST_DOCUMENT = 4_000_000


def add_table_routes(router: APIRouter, pages: ProjectPages) -> None:
    """Adds the routes below a project."""
    services = pages.services
    reader = Annotated[Session, Depends(pages.shell.signed_in)]
    sent = Annotated[Form, Depends(pages.shell.form)]

    def show_new(
        request: Request,
        session: Session,
        project_id: UUID,
        problem: SakuinError | None = None,
        form: Form | None = None,
    ) -> Response:
        project = pages.project(session, project_id, role="editor")
        return pages.page(
            request,
            "table_new.html",
            session,
            project,
            problem=problem,
            form=form,
            largest=_LARGEST_DOCUMENT,
        )

    def show_table(
        request: Request,
        session: Session,
        project_id: UUID,
        table_id: UUID,
        problem: SakuinError | None = None,
        form: Form | None = None,
    ) -> Response:
        project = pages.project(session, project_id)
        tools = [one for one in services.records.tools(session.user, project.id) if one.table_id == str(table_id)]
        return pages.page(
            request,
            "table.html",
            session,
            project,
            problem=problem,
            form=form,
            table=_table(services.records.tables(session.user, project.id), table_id),
            tools=[(tool, IndexProgress.of(tool)) for tool in tools],
            largest=_LARGEST_DOCUMENT,
        )

    @router.get("/{project_id}/tables/new")
    def ask_for_table(request: Request, session: reader, project_id: UUID) -> Response:
        return show_new(request, session, project_id)

    @router.post("/{project_id}/tables")
    def create_table(request: Request, form: sent, project_id: UUID) -> Response:
        try:
            made = services.tables.create(
                form.session.user,
                str(project_id),
                name=form.text("name"),
                document=_document(form.fields),
                chunk_threshold_chars=_number(form, "chunk_threshold_chars"),
            )
        except CORRECTABLE as error:
            return show_new(request, form.session, project_id, error, form)
        return redirect(f"/projects/{project_id}/tables/{made.id}", done="table_created")

    @router.get("/{project_id}/tables/{table_id}")
    def read_table(request: Request, session: reader, project_id: UUID, table_id: UUID) -> Response:
        return show_table(request, session, project_id, table_id)

    @router.post("/{project_id}/tables/{table_id}/document")
    def replace_document(request: Request, form: sent, project_id: UUID, table_id: UUID) -> Response:
        """Replaces the document, unless it changed since the page was read."""
        user, version = form.session.user, _number(form, "version")
        try:
            document = _document(form.fields)
            services.tables.replace(user, str(table_id), document=document, expected_version=version)
        except CORRECTABLE as error:
            return show_table(request, form.session, project_id, table_id, error, form)
        services.publish_changes()
        return redirect(f"/projects/{project_id}/tables/{table_id}", done="table_replaced")

    @router.post("/{project_id}/tables/{table_id}/change")
    def change_table(request: Request, form: sent, project_id: UUID, table_id: UUID) -> Response:
        try:
            services.records.change_table(
                form.session.user,
                str(table_id),
                name=form.text("name"),
                chunk_threshold_chars=_number(form, "chunk_threshold_chars"),
            )
        except CORRECTABLE as error:
            return show_table(request, form.session, project_id, table_id, error, form)
        services.publish_changes()
        return redirect(f"/projects/{project_id}/tables/{table_id}", done="saved")

    @router.post("/{project_id}/tables/{table_id}/delete")
    def delete_table(form: sent, project_id: UUID, table_id: UUID) -> Response:
        services.records.delete_table(form.session.user, str(table_id))
        services.publish_changes()
        return redirect(f"/projects/{project_id}", done="table_deleted")


def _table(tables: Sequence[Table], table_id: UUID) -> Table:
    found = [table for table in tables if table.id == str(table_id)]
    if not found:
        raise NotFound(f"There is no table {table_id}")
    return found[0]


def _document(fields: Mapping[str, str]) -> object:
    """Returns the JSON of the chosen file."""
    text = fields.get("document", "")
    if not text.strip():
        raise Invalid("Choose a file with a JSON document")
    if len(text) > _LARGEST_DOCUMENT:
        raise Invalid(f"The document has more than {_LARGEST_DOCUMENT:,} characters. Use `sakuin table put` for it")
    return parsed_table(text)


def _number(form: Form, name: str) -> int | None:
    """Returns the whole number of a field; None if it is empty."""
    text = form.text(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise Invalid(f"{name} must be a whole number") from error
