"""The answers of tools, without a protocol around them."""

import json
from typing import Any

from mcp_types import CallToolResult, TextContent
from sakuin.mcp.knowledge.tools import KnowledgeTools


def call(tools: KnowledgeTools, name: str, **arguments: Any) -> CallToolResult:
    result = tools.call(name, arguments)
    assert result is not None
    return result


def answer(result: CallToolResult) -> dict[str, Any]:
    """Returns the structured content as JSON."""
    assert not result.is_error, result.content
    sent: dict[str, Any] = json.loads(json.dumps(result.structured_content))
    return sent


def said(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def pages(tools: KnowledgeTools, name: str, **arguments: Any) -> list[dict[str, Any]]:
    """Returns the answers of a call and of its cursors; each is of a size that agents take."""
    found: list[dict[str, Any]] = []
    while True:
        result = call(tools, name, **arguments)
        assert size(result) < 40_000
        found.append(answer(result))
        if not found[-1].get("next_cursor"):
            return found
        assert len(found) < 200
        arguments["cursor"] = found[-1]["next_cursor"]
        # The cursor has it.
        arguments.pop("top_k", None)


def size(result: CallToolResult) -> int:
    return len(result.model_dump_json(by_alias=True, exclude_none=True).encode())
