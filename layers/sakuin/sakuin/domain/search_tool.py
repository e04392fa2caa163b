"""A Search Tool: its name, what it may be asked, and what of its Table is left out."""

import re
from dataclasses import dataclass
from typing import Any

TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
TOP_K_MAX = 50
TOP_K_DEFAULT = 5

SEARCH_INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for: a question, a phrase or words."},
        "top_k": {
            "type": "integer",
            "minimum": 1,
            "maximum": TOP_K_MAX,
            "default": TOP_K_DEFAULT,
            "description": "How many results to return.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


def tool_name_problem(name: str) -> str | None:
    """Why a Tool cannot have this name, as a sentence; None if it can."""
    # fullmatch: "$" alone lets a final line feed through.
    if TOOL_NAME.fullmatch(name):
        return None
    return f"{name[:80]!r} cannot name a tool. Use 1 to 64 letters (a-z, A-Z), digits, '_' and '-'."


@dataclass(frozen=True, slots=True)
class SkippedNode:
    """A large string that could not be indexed, and why."""

    json_pointer: str
    reason: str
