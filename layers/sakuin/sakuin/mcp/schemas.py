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


def record(description: str, fields: Mapping[str, str | Schema]) -> Schema:
    """Returns the schema of an object."""
    return {"type": "object", "properties": described(fields), "description": description}


def records(description: str, fields: Mapping[str, str | Schema]) -> Schema:
    """Returns the schema of a list of objects."""
    return {"type": "array", "items": {"properties": described(fields)}, "description": description}


def answer(fields: Mapping[str, str | Schema]) -> Schema:
    """Returns the schema of a whole answer."""
    return {"type": "object", "properties": described({"note": "Read.", **fields})}


# Members of several answers.
OBJECT = record(
    "The object around it.", {"json_path": "Its place.", "fields": "Its short fields: title, name, price, …"}
)
SIMILARITY: Schema = {"type": "number", "description": "0-1, comparable between questions."}
NO_GOOD_MATCH: Schema = {"type": "boolean", "description": "True: probably no answer here, only the nearest."}
NEXT_CURSOR = "For `cursor`."
TRUNCATED = "What did not fit."
