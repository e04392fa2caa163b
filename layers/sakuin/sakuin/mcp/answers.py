"""The answer of a tool as structured content and as compact JSON text, without invisible characters."""

import json
from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from sakuin.errors import Invalid, NotFound, Refused, Unavailable
from sakuin.language.unicode_text import INVISIBLE, visible
from sakuin.mcp.arguments import sentence

# Structured content and its copy as text, together: below 10,000 tokens, about 40 kB.
ANSWER_BYTES = 39_000
# An answer of Lambda has at most six megabytes.
CARRIED_BYTES = 6_000_000
# Members that the caller sent, compares or sends again are not changed.
_EXACT = frozenset({"query", "id", "url", "material", "anchor", "content_hash", "next_cursor"})
_LONGEST_FAILURE = 2000


def answered(answer: dict[str, Any]) -> CallToolResult:
    """Returns the answer as a result, for clients that read structured content or text."""
    return CallToolResult(content=[TextContent(type="text", text=_compact(answer))], structured_content=answer)


def failed(error: Exception) -> CallToolResult:
    """Returns an error as a result with a message. An error that is not ours is raised again."""
    match error:
        case ValidationError():
            message = str(sentence(error))
        case Invalid() | NotFound():
            message = str(error)
        case Refused():
            message = f"{error}. The operator has to correct this; searches fail until then."
        case Unavailable():
            message = f"{error}. Try again in a moment."
        case _:
            raise error
    shown = visible(message)[:_LONGEST_FAILURE]
    return CallToolResult(content=[TextContent(type="text", text=shown)], is_error=True)


def bytes_of(answer: dict[str, Any]) -> int:
    """Returns the size of an answer: as JSON, and again as a string in JSON."""
    text = _compact(answer)
    return len(text.encode()) + len(json.dumps(text, ensure_ascii=False).encode())


def bytes_behind_lambda(answer: dict[str, Any]) -> int:
    """Returns the maximum size of an answer: the SDK writes ASCII, and Lambda puts it into a string in JSON."""
    return len(json.dumps(json.dumps([answer, _compact(answer)])))


def visible_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer without control characters and invisible characters in the text of pages."""
    return {name: value if name in _EXACT else _visible(value) for name, value in answer.items()}


def _visible(value: Any) -> Any:
    match value:
        case str():
            return visible(value)
        case dict():
            return visible_answer(value)
        case list() | tuple():
            return [_visible(each) for each in value]
        case _:
            return value


def _compact(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    # The text of a chunk stays exact: an escape in JSON makes an invisible character visible.
    return INVISIBLE.sub(lambda hidden: json.dumps(hidden.group())[1:-1], text)
