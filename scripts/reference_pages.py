"""The page of the MCP tools."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mcp_types import Tool
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.knowledge.search import KnowledgeSearches
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.tables.model import SEARCH_INPUT_SCHEMA

ANSWERS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("tool_answers.toml").read_text("utf-8"))
_TOOLS = """\
# MCP tools

What `tools/list` shows an agent. `POST /mcp` has the first six, with `FeedbackTool=true` also `give_feedback`, and with
`ChatGptTools=true` also `search` and `fetch`; `POST /mcp/{mcp_id}` has the Search Tools that are bound to the endpoint.
[Interfaces](api.md#mcp-post-mcp) says how they behave. `[]` stands for each member of a list.
"""


def tools_page() -> str:
    """The reference of all MCP tools."""
    nothing: Any = None
    searches: KnowledgeSearches = nothing
    read = ReadKnowledge(nothing, "")
    search_tool = Tool(
        name="a Search Tool",
        description="The name and the description are those that its author gave.",
        input_schema=SEARCH_INPUT_SCHEMA,
    )
    tools = [*KnowledgeTools(searches, read, for_chatgpt=True, has_feedback_tool=True).listed(), search_tool]
    return "\n".join([_TOOLS, *map(_tool, tools)])


def _tool(tool: Tool) -> str:
    title = f"`{tool.name}`" if re.fullmatch(r"\w+", tool.name) else tool.name[0].upper() + tool.name[1:]
    required = tool.input_schema.get("required", ())
    arguments = (
        (f"`{name}`", _type(one), _default(one, name in required), one.get("description", ""))
        for name, one in tool.input_schema["properties"].items()
    )
    described = (
        {"note": "Read."} | ANSWERS[tool.name] if tool.name in ANSWERS else dict(_members(tool.output_schema or {}, ""))
    )
    members = ((f"`{name}`", text) for name, text in described.items())
    return (
        f"## {title}\n\n{tool.description}\n\n{_rows(('Argument', 'Type', 'Default', 'Meaning'), arguments)}\n\n"
        f"{_rows(('Member of the answer', 'Meaning'), members)}\n"
    )


def _type(schema: dict[str, Any]) -> str:
    kinds = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    one = kinds[0]
    if values := one.get("enum"):
        return ", ".join(f"`{value}`" for value in values)
    kind = str(one.get("type", "any"))
    least, most = one.get("minimum", one.get("minLength")), one.get("maximum", one.get("maxLength"))
    if kind == "array":
        kind, least, most = f"list of {one['items'].get('type', 'any')}", one.get("minItems"), one.get("maxItems")
    if most is not None:
        kind += f", {least or 0:,} to {most:,}" + (" characters" if kind == "string" else "")
    return kind


def _default(schema: dict[str, Any], is_required: bool) -> str:
    if is_required:
        return "required"
    default = schema.get("default")
    return "" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _members(schema: dict[str, Any], before: str) -> Iterator[tuple[str, str]]:
    """Yields each member of an answer by its path, with its description."""
    for name, one in schema.get("properties", {}).items():
        yield before + name, one.get("description", "")
        yield from _members(one, f"{before}{name}.")
        yield from _members(one.get("items", {}), f"{before}{name}[].")


def _rows(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(columns), *([str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
