"""The generated pages of docs/reference about MCP tools and about the tables of the database."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mcp_types import Tool
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.knowledge.search import KnowledgeSearches
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.read_around import TOOL as READ_AROUND
from sakuin.mcp.search_tools import OUTPUT
from sakuin.tables.model import SEARCH_INPUT_SCHEMA
from sakuin_local.places import SCHEMA

_TOOLS = """\
# MCP tools

<!-- Written by scripts/reference. Change layers/sakuin/sakuin/mcp instead. -->

What `tools/list` shows an agent. `POST /mcp` has the first six, with `FeedbackTool=true` also `give_feedback`, and with
`ChatGptTools=true` also `search` and `fetch`; `POST /mcp/{mcp_id}` has the Search Tools that are bound to the endpoint,
and `read_around`.
[Interfaces](api.md#mcp-post-mcp) says how they behave. `[]` stands for each member of a list.
"""
_DATABASE = """\
# Tables of the database

<!-- Written by scripts/reference. Change supabase/schema instead. -->

All tables of the schema `public`, in the order of its files. A platform may write `context_table` and `tool`
([how](../how-to/tables.md#a-platform-that-writes-the-records-itself)); all other tables are Sakuin's own and may change
with any version. Nobody but the functions reads them; row level security is on for all.
"""
_TABLE = re.compile(r"((?:^--[^\n]*\n)*)^create table public\.(\w+) \(\n(.*?)^\)", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r"((?:^  --.*\n)*)^  (\w+) ([^\n]*)\n", re.MULTILINE)
# What ends the type of a column, and lines of a table that are no columns.
_AFTER_TYPE = re.compile(r" (?:not null|null|primary key|default|check|references|unique|collate|generated)\b.*|,?$")
_NO_COLUMNS = ("primary", "unique", "constraint", "check", "foreign")


def tools_page() -> str:
    """The reference of all MCP tools."""
    nothing: Any = None
    searches: KnowledgeSearches = nothing
    read = ReadKnowledge(nothing, "")
    search_tool = Tool(
        name="a Search Tool",
        description="The name and the description are those that its author gave.",
        input_schema=SEARCH_INPUT_SCHEMA,
        output_schema=OUTPUT,
    )
    tools = [
        *KnowledgeTools(searches, read, for_chatgpt=True, has_feedback_tool=True).listed(),
        search_tool,
        READ_AROUND,
    ]
    return "\n".join([_TOOLS, *map(_tool, tools)])


def _tool(tool: Tool) -> str:
    title = f"`{tool.name}`" if re.fullmatch(r"\w+", tool.name) else tool.name[0].upper() + tool.name[1:]
    required = tool.input_schema.get("required", ())
    arguments = (
        (f"`{name}`", _type(one), _default(one, name in required), one.get("description", ""))
        for name, one in tool.input_schema["properties"].items()
    )
    members = ((f"`{name}`", text) for name, text in _members(tool.output_schema or {}, ""))
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


def database_page() -> str:
    """The reference of all tables of the database."""
    parts = [_DATABASE]
    for file in sorted(SCHEMA.glob("*.sql")):
        found = _TABLE.findall(file.read_text("utf-8"))
        parts += [_database_table(name, comment, body, file) for comment, name, body in found]
    return "\n".join(parts)


def _database_table(name: str, comment: str, body: str, file: Path) -> str:
    columns = (
        (f"`{column}`", f"`{_AFTER_TYPE.sub('', kind)}`", _text(about))
        for about, column, kind in _COLUMN.findall(body)
        if column not in _NO_COLUMNS
    )
    subject = file.stem.partition("_")[2].replace("_", " ")
    about = f"{_text(comment)}\n\n" if comment else ""
    return f"## `{name}`\n\n{about}Migration: {subject}.\n\n{_rows(('Column', 'Type', 'Meaning'), columns)}\n"


def _text(comment: str) -> str:
    lines = (line.strip().removeprefix("--").strip() for line in comment.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("---"))


def _rows(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(columns), *([str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
