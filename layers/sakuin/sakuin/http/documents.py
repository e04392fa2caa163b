"""Requests that carry a Table's document: read from the raw bytes, since it may be no Unicode and nested deeply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.errors import Invalid
from sakuin.tables.document import parsed_table


@dataclass(frozen=True, slots=True)
class TableChange:
    """What a PATCH wants: another name, operations, or both."""

    name: str | None
    operations: Sequence[Mapping[str, object]]
    expected_version: int | None


def new_table(body: bytes) -> tuple[str, object]:
    """Name and document of `{"name", "data"}`."""
    asked = _object(body, {"name", "data"})
    if "data" not in asked:
        raise Invalid('Send {"name": …, "data": <the document>}.')
    return _name(asked.get("name")), asked["data"]


def next_table(body: bytes) -> tuple[object, int | None]:
    """Document and expected version of `{"data", "expected_version"?}`."""
    asked = _object(body, {"data", "expected_version"})
    if "data" not in asked:
        raise Invalid('Send {"data": <the document>}, with "expected_version" to replace only what you have read.')
    return asked["data"], _version(asked)


def changed_table(body: bytes) -> TableChange:
    """What `{"name"?, "operations"?, "expected_version"?}` wants; a bare list is operations."""
    asked = parsed_table(body)
    if isinstance(asked, list):
        asked = {"operations": asked}
    asked = _checked(asked, {"name", "operations", "expected_version"})
    operations = asked.get("operations", [])
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        raise Invalid('"operations" is a list of {"op", "path", "value"}.')
    name = _name(asked["name"]) if "name" in asked else None
    if name is None and not operations:
        raise Invalid('Send {"operations": [{"op": "set", "path": "/a/b", "value": …}]}, or {"name": …}.')
    return TableChange(name, operations, _version(asked))


def schema(*required: str, **members: Mapping[str, Any]) -> dict[str, Any]:
    """The request's part of the OpenAPI document."""
    body = {"type": "object", "properties": members, "required": list(required), "additionalProperties": False}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}


def _object(body: bytes, members: set[str]) -> dict[str, object]:
    return _checked(parsed_table(body), members)


def _checked(asked: object, members: set[str]) -> dict[str, object]:
    if not isinstance(asked, dict):
        raise Invalid("Send a JSON object.")
    if unknown := asked.keys() - members:
        raise Invalid(f"There is no member {ascii(min(unknown))[:80]}. Use {', '.join(sorted(members))}.")
    return asked


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise Invalid('"name" is a string.')
    return value


def _version(asked: Mapping[str, object]) -> int | None:
    value = asked.get("expected_version")
    if value is not None and type(value) is not int:
        raise Invalid('"expected_version" is a whole number.')
    return value
