"""The routes of Tables. A document is read from raw bytes: the JSON may be nested deeply or invalid Unicode."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError, WithJsonSchema

from sakuin.errors import Invalid
from sakuin.http.access import PUBLISHING, Caller, Records, Tables, member_routes
from sakuin.http.errors import StrictRequest, may_fail
from sakuin.platform.s3 import UploadTarget
from sakuin.tables.document import parsed_table, written_table
from sakuin.tables.entries import EntryRules
from sakuin.tables.model import Table


async def _raw(request: Request) -> bytes:
    return await request.body()


# An answer of Lambda has at most 6 MB, and escaping makes it longer.
_MAX_ANSWER = 4_500_000
# The body as it was sent.
Raw = Annotated[bytes, Depends(_raw)]
# `patched` checks operations.
Operation = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "op": {"enum": ["add", "replace", "set", "remove"]},
                "path": {"type": "string"},
                "value": {},
            },
            "required": ["op", "path"],
        }
    ),
]


class TablesView(BaseModel):
    """A project's Tables."""

    tables: Sequence[Table]


class NewUpload(StrictRequest):
    """A new Table whose document is uploaded."""

    name: str
    size: int = Field(ge=1, description="Bytes of the document, exactly.")
    chunk_threshold_chars: int | None = Field(default=None, description="The length from which strings are indexed.")
    entries: EntryRules | None = Field(default=None, description="What its entries are.")


class NextUpload(StrictRequest):
    """The announcement of a Table's next document."""

    size: int = Field(ge=1, description="Bytes of the document, exactly.")


class UploadView(BaseModel):
    """The announced Table, and the target of its document."""

    table: Table
    upload: UploadTarget


class NewTable(StrictRequest):
    """A new Table."""

    name: StrictStr
    data: Any
    chunk_threshold_chars: StrictInt | None = Field(
        default=None, description="The length from which strings are indexed."
    )
    entries: EntryRules | None = Field(default=None, description="What its entries are.")


class NextDocument(StrictRequest):
    """The next document of a Table."""

    data: Any
    expected_version: StrictInt | None = Field(default=None, description="409 if the Table has another version now.")


class TableChange(StrictRequest):
    """Another name, threshold or kind of entries, operations on the document, or several of them."""

    name: StrictStr | None = None
    chunk_threshold_chars: StrictInt | None = Field(
        default=None, description="The length from which strings are indexed."
    )
    entries: EntryRules | None = Field(default=None, description="What its entries are; null: it has none.")
    operations: list[Operation] = Field(default=[])
    expected_version: StrictInt | None = Field(default=None, description="409 if the Table has another version now.")

    @property
    def sets_properties(self) -> bool:
        """Returns whether it sets more than the document."""
        return not {None} >= {self.name, self.chunk_threshold_chars} or "entries" in self.model_fields_set


_Request = TypeVar("_Request", bound=StrictRequest)


def read_request(request: type[_Request], body: bytes) -> _Request:
    """Reads a request; a list is one of operations. Raises `Invalid`, and FastAPI's error for wrong members."""
    fields = parsed_table(body)
    try:
        return request.model_validate({"operations": fields} if isinstance(fields, list) else fields)
    except ValidationError as error:
        # As of a body that FastAPI reads.
        problems = [problem | {"loc": ("body", *problem["loc"])} for problem in error.errors(include_url=False)]
        raise RequestValidationError(problems) from error


def table_change(body: bytes) -> TableChange:
    """Reads a change of a Table."""
    change = read_request(TableChange, body)
    if not (change.sets_properties or change.operations):
        raise Invalid('Send {"operations": [{"op": "set", "path": "/a/b", "value": …}]}, or {"name": …}.')
    return change


def body_of(request: type[StrictRequest]) -> dict[str, Any]:
    """Returns the request's part of the OpenAPI document."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": request.model_json_schema()}}}}


router = member_routes("Tables")


@router.post("/projects/{project_id}/tables", status_code=201, openapi_extra=body_of(NewTable))
def create_table(caller: Caller, tables: Tables, project_id: UUID, body: Raw) -> Table:
    """Creates a Table. For a document over 4 MB use `/projects/{project_id}/tables/uploads`."""
    new = read_request(NewTable, body)
    threshold = new.chunk_threshold_chars
    return tables.create(
        caller, str(project_id), name=new.name, document=new.data, chunk_threshold_chars=threshold, entries=new.entries
    )


@router.post("/projects/{project_id}/tables/uploads", status_code=201)
def upload_new_table(caller: Caller, tables: Tables, project_id: UUID, request: NewUpload) -> UploadView:
    """Creates a Table and returns the URL for its document (`upload.url`), which is imported after the upload."""
    return _upload(tables.announce(caller, str(project_id), **dict(request)))


@router.get("/projects/{project_id}/tables")
def list_tables(caller: Caller, records: Records, project_id: UUID) -> TablesView:
    return TablesView(tables=records.tables(caller, str(project_id)))


@router.get("/tables/{table_id}")
def get_table(caller: Caller, records: Records, table_id: UUID) -> Table:
    return records.table(caller, str(table_id))


@router.get("/tables/{table_id}/data")
def get_table_data(caller: Caller, tables: Tables, table_id: UUID, pointer: str = "") -> Response:
    """Returns the document, or the part at a JSON Pointer."""
    node = written_table(tables.node(caller, str(table_id), pointer))
    if len(node) > _MAX_ANSWER:
        raise Invalid(
            f"The answer has {len(node):,} bytes; the limit is {_MAX_ANSWER:,}. Read a smaller part by pointer."
        )
    return Response(node, media_type="application/json")


@router.put("/tables/{table_id}", dependencies=PUBLISHING, openapi_extra=body_of(NextDocument), responses=may_fail(409))
def replace_table(caller: Caller, tables: Tables, table_id: UUID, body: Raw) -> Table:
    new = read_request(NextDocument, body)
    return tables.replace(caller, str(table_id), document=new.data, expected_version=new.expected_version)


@router.patch(
    "/tables/{table_id}", dependencies=PUBLISHING, openapi_extra=body_of(TableChange), responses=may_fail(409)
)
def patch_table(caller: Caller, records: Records, tables: Tables, table_id: UUID, body: Raw) -> Table:
    """Changes a document by JSON Pointer: all operations or none. Name, threshold, entries are set separately."""
    change = table_change(body)
    if change.operations:
        table = tables.patch(caller, str(table_id), change.operations, expected_version=change.expected_version)
    if change.sets_properties:
        entries = asdict(change.entries) if change.entries else {} if "entries" in change.model_fields_set else None
        threshold = change.chunk_threshold_chars
        table = records.change_table(
            caller, str(table_id), name=change.name, chunk_threshold_chars=threshold, entries=entries
        )
    return table


@router.delete("/tables/{table_id}", status_code=204, dependencies=PUBLISHING)
def delete_table(caller: Caller, records: Records, table_id: UUID) -> None:
    """Deletes a Table with its Tools."""
    records.delete_table(caller, str(table_id))


@router.post("/tables/{table_id}/uploads", status_code=201)
def upload_table(caller: Caller, tables: Tables, table_id: UUID, request: NextUpload) -> UploadView:
    """Returns the URL (`upload.url`) for the next document of a Table."""
    return _upload(tables.announce_document(caller, str(table_id), size=request.size))


def _upload(announced: tuple[Any, Any]) -> UploadView:
    table, target = announced
    return UploadView(table=table, upload=target)
