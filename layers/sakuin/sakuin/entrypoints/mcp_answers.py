"""How a tool's answer travels: structured, and the same as compact JSON text."""

import json
from typing import Any

from mcp_types import CallToolResult, TextContent

# Structured content and the same as text; together they stay below 10,000 tokens, about 40 kB.
ANSWER_BYTES = 39_000


def answered(answer: dict[str, Any]) -> CallToolResult:
    """A result that is the same for clients of either kind."""
    return CallToolResult(content=[TextContent(type="text", text=_compact(answer))], structured_content=answer)


def failed(message: str) -> CallToolResult:
    """A failure in a sentence that says what to do."""
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)


def bytes_of(answer: dict[str, Any]) -> int:
    """What an answer costs on the wire: once as it is, once as a string inside JSON."""
    text = _compact(answer)
    return len(text.encode()) + len(json.dumps(text, ensure_ascii=False).encode())


def _compact(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
