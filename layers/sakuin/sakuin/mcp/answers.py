"""How a tool's answer travels: structured, and the same as compact JSON text, with nothing hidden in it."""

import json
from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from sakuin.errors import Invalid, NotFound, Refused, Unavailable
from sakuin.language.unicode_text import INVISIBLE, visible
from sakuin.mcp.arguments import sentence

# Structured content and the same as text; together they stay below 10,000 tokens, about 40 kB.
ANSWER_BYTES = 39_000
# Lambda answers with six megabytes at most.
CARRIED_BYTES = 6_000_000
# The caller's own words, and what is compared or asked for again, stay as they are.
_EXACT = frozenset({"query", "id", "url", "material", "anchor", "content_hash", "next_cursor"})
_LONGEST_FAILURE = 2000


def answered(answer: dict[str, Any]) -> CallToolResult:
    """A result that is the same for clients of either kind."""
    return CallToolResult(content=[TextContent(type="text", text=_compact(answer))], structured_content=answer)


def failed(error: Exception) -> CallToolResult:
    """A failure in a sentence that says what to do; an error that a caller can do nothing about is raised again."""
    match error:
        case ValidationError():
            said = str(sentence(error))
        case Invalid() | NotFound():
            said = str(error)
        case Refused():
            said = f"{error}. Those who keep this server have to mend that; until then it cannot search."
        case Unavailable():
            said = f"{error}. Try again in a moment."
        case _:
            raise error
    shown = visible(said)[:_LONGEST_FAILURE]
    return CallToolResult(content=[TextContent(type="text", text=shown)], is_error=True)


def bytes_of(answer: dict[str, Any]) -> int:
    """What an answer costs on the wire: once as it is, once as a string inside JSON."""
    text = _compact(answer)
    return len(text.encode()) + len(json.dumps(text, ensure_ascii=False).encode())


def bytes_behind_lambda(answer: dict[str, Any]) -> int:
    """What an answer costs at worst: the SDK writes it as ASCII, and Lambda carries that as a string inside JSON."""
    return len(json.dumps(json.dumps([answer, _compact(answer)])))


def in_the_open(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer without control characters and characters that nobody sees, in all that people wrote."""
    return {name: value if name in _EXACT else _open(value) for name, value in answer.items()}


def _open(value: Any) -> Any:
    match value:
        case str():
            return visible(value)
        case dict():
            return in_the_open(value)
        case list() | tuple():
            return [_open(each) for each in value]
        case _:
            return value


def _compact(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    # A chunk's text is given to the character. In JSON a hidden one can be written so that it is seen.
    return INVISIBLE.sub(lambda hidden: json.dumps(hidden.group())[1:-1], text)
