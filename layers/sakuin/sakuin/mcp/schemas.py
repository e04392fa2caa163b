"""The JSON Schemas of answers, written out: one short sentence a field, since an agent pays for each byte."""

from collections.abc import Mapping
from typing import Any

from mcp_types import ToolAnnotations

Schema = dict[str, Any]

# The other hints are for tools that change something.
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
COUNTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


def described(fields: Mapping[str, str | Schema]) -> Schema:
    """Returns properties. A text is the description of a field whose type it makes clear."""
    return {name: {"description": field} if isinstance(field, str) else field for name, field in fields.items()}


def records(description: str, fields: Mapping[str, str | Schema]) -> Schema:
    """Returns the schema of a list of objects."""
    return {"type": "array", "items": {"properties": described(fields)}, "description": description}
