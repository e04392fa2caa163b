"""Requests with a Table's document, read from raw bytes: the JSON may be nested deeply or invalid Unicode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from sakuin.errors import Invalid
from sakuin.tables.document import parsed_table

THRESHOLD = "chunk_threshold_chars"


async def _raw(request: Request) -> bytes:
    return await request.body()


# The body as it was sent.
Raw = Annotated[bytes, Depends(_raw)]


@dataclass(frozen=True, slots=True)
class TableChange:
    """A PATCH: another name, another threshold, operations, or several of them."""

    name: str | None
    chunk_threshold_chars: int | None
    operations: Sequence[Mapping[str, object]]
    expected_version: int | None


def new_table(body: bytes) -> tuple[str, object, int | None]:
    """Returns name, document and threshold of `{"name", "data", "chunk_threshold_chars"?}`."""
    fields = _checked(parsed_table(body), {"name", "data", THRESHOLD})
    if "data" not in fields:
        raise Invalid('Send {"name": …, "data": <the document>}.')
    return _name(fields.get("name")), fields["data"], _number(fields, THRESHOLD)


def next_table(body: bytes) -> tuple[object, int | None]:
    """Returns document and expected version of `{"data", "expected_version"?}`."""
    fields = _checked(parsed_table(body), {"data", "expected_version"})
    if "data" not in fields:
        raise Invalid(
            'Send {"data": <the document>}, with "expected_version" to replace only the version that you have read.'
        )
    return fields["data"], _number(fields, "expected_version")


def changed_table(body: bytes) -> TableChange:
    """Reads `{"name"?, "chunk_threshold_chars"?, "operations"?, "expected_version"?}`, or a list of operations."""
    fields = parsed_table(body)
    if isinstance(fields, list):
        fields = {"operations": fields}
    fields = _checked(fields, {"name", "operations", "expected_version", THRESHOLD})
    operations = fields.get("operations", [])
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        raise Invalid('"operations" must be a list of {"op", "path", "value"}.')
    name = _name(fields["name"]) if "name" in fields else None
    threshold = _number(fields, THRESHOLD)
    if name is None and threshold is None and not operations:
        raise Invalid('Send {"operations": [{"op": "set", "path": "/a/b", "value": …}]}, or {"name": …}.')
    return TableChange(name, threshold, operations, _number(fields, "expected_version"))


def schema(*required: str, **members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the request's part of the OpenAPI document."""
    body = {"type": "object", "properties": members, "required": list(required), "additionalProperties": False}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}


def _checked(asked: object, members: set[str]) -> dict[str, object]:
    if not isinstance(asked, dict):
        raise Invalid("Send a JSON object.")
    if unknown := asked.keys() - members:
        raise Invalid(f"Unknown member {ascii(min(unknown))[:80]}. Use {', '.join(sorted(members))}.")
    return asked


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise Invalid('"name" must be a string.')
    return value


def _number(asked: Mapping[str, object], member: str) -> int | None:
    value = asked.get(member)
    if value is not None and type(value) is not int:
        raise Invalid(f'"{member}" must be a whole number.')
    return value
