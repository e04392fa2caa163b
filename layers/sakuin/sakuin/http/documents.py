"""Requests with a Table's document, read from raw bytes: the JSON may be nested deeply or invalid Unicode."""

from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, WithJsonSchema

from sakuin.errors import Invalid
from sakuin.tables.document import parsed_table


async def _raw(request: Request) -> bytes:
    return await request.body()


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


class _WithDocument(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewTable(_WithDocument):
    """A new Table."""

    name: StrictStr
    data: Any
    chunk_threshold_chars: StrictInt | None = Field(
        default=None, description="The length from which strings are indexed."
    )


class NextDocument(_WithDocument):
    """The next document of a Table."""

    data: Any
    expected_version: StrictInt | None = Field(default=None, description="409 if the Table has another version now.")


class TableChange(_WithDocument):
    """Another name, another threshold, operations on the document, or several of them."""

    name: StrictStr | None = None
    chunk_threshold_chars: StrictInt | None = Field(
        default=None, description="The length from which strings are indexed."
    )
    operations: list[Operation] = []
    expected_version: StrictInt | None = Field(default=None, description="409 if the Table has another version now.")


Asked = TypeVar("Asked", bound=_WithDocument)


def read_request(request: type[Asked], body: bytes) -> Asked:
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
    if change.name is None and change.chunk_threshold_chars is None and not change.operations:
        raise Invalid('Send {"operations": [{"op": "set", "path": "/a/b", "value": …}]}, or {"name": …}.')
    return change


def body_of(request: type[_WithDocument]) -> dict[str, Any]:
    """Returns the request's part of the OpenAPI document."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": request.model_json_schema()}}}}
