"""The routes of Tables."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.errors import Invalid
from sakuin.http import views
from sakuin.http.documents import NewTable, NextDocument, Raw, TableChange, body_of, read_request, table_change
from sakuin.http.errors import may_fail, member_routes
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.document import written_table
from sakuin.tables.model import Table

# An answer of Lambda has at most 6 MB, and escaping makes it longer.
_MAX_ANSWER = 4_500_000


def table_routes(records: ProjectRecords, admin: TableAdmin, user: Any, changing: Any) -> APIRouter:
    """Returns the routes. `user` is the dependency that gives the caller; `changing` are those of a change."""
    routes = member_routes("Tables")

    @routes.post("/projects/{project_id}/tables", status_code=201, openapi_extra=body_of(NewTable))
    def create_table(caller: user, project_id: UUID, body: Raw) -> Table:
        """Creates a Table. For a document over 4 MB use `/projects/{project_id}/tables/uploads`."""
        new = read_request(NewTable, body)
        threshold = new.chunk_threshold_chars
        return admin.create(caller, str(project_id), name=new.name, document=new.data, chunk_threshold_chars=threshold)

    @routes.post("/projects/{project_id}/tables/uploads", status_code=201)
    def upload_new_table(caller: user, project_id: UUID, asked: views.TableUploadAsked) -> views.UploadView:
        """Creates a Table and returns the URL for its document (`upload.url`), which is imported after the upload."""
        return _upload(admin.announce(caller, str(project_id), **asked.model_dump()))

    @routes.get("/projects/{project_id}/tables")
    def list_tables(caller: user, project_id: UUID) -> views.TablesView:
        return views.TablesView(tables=records.tables(caller, str(project_id)))

    @routes.get("/tables/{table_id}")
    def get_table(caller: user, table_id: UUID) -> Table:
        return admin.read(caller, str(table_id))

    @routes.get("/tables/{table_id}/data")
    def get_table_data(caller: user, table_id: UUID, pointer: str = "") -> Response:
        """Returns the document, or the part at a JSON Pointer."""
        node = written_table(admin.node(caller, str(table_id), pointer))
        if len(node) > _MAX_ANSWER:
            raise Invalid(
                f"The answer has {len(node):,} bytes; the limit is {_MAX_ANSWER:,}. Read a smaller part by pointer."
            )
        return Response(node, media_type="application/json")

    @routes.put(
        "/tables/{table_id}", dependencies=changing, openapi_extra=body_of(NextDocument), responses=may_fail(409)
    )
    def replace_table(caller: user, table_id: UUID, body: Raw) -> Table:
        new = read_request(NextDocument, body)
        return admin.replace(caller, str(table_id), document=new.data, expected_version=new.expected_version)

    @routes.patch(
        "/tables/{table_id}", dependencies=changing, openapi_extra=body_of(TableChange), responses=may_fail(409)
    )
    def patch_table(caller: user, table_id: UUID, body: Raw) -> Table:
        """Changes a document by JSON Pointer: all operations or none. Name and threshold are set separately."""
        change = table_change(body)
        if change.operations:
            table = admin.patch(caller, str(table_id), change.operations, expected_version=change.expected_version)
        if change.name is not None or change.chunk_threshold_chars is not None:
            table = records.change_table(
                caller, str(table_id), name=change.name, chunk_threshold_chars=change.chunk_threshold_chars
            )
        return table

    @routes.delete("/tables/{table_id}", status_code=204, dependencies=changing)
    def delete_table(caller: user, table_id: UUID) -> None:
        """Deletes a Table with its Tools."""
        records.delete_table(caller, str(table_id))

    @routes.post("/tables/{table_id}/uploads", status_code=201)
    def upload_table(caller: user, table_id: UUID, asked: views.UploadAsked) -> views.UploadView:
        """Returns the URL (`upload.url`) for the next document of a Table."""
        return _upload(admin.announce_document(caller, str(table_id), size=asked.size))

    return routes


def _upload(announced: tuple[Any, Any]) -> views.UploadView:
    table, target = announced
    return views.UploadView(table=table, upload=target)
