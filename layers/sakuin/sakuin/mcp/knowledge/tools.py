"""The tools of the library as MCP tools: their list, their calls, and those that ChatGPT expects."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mcp_types import CallToolResult, Tool, ToolAnnotations
from pydantic import BaseModel

from sakuin.arguments import (
    ChatGptSearchArguments,
    ChunkArguments,
    FeedbackArguments,
    FetchArguments,
    FindArguments,
    ListArguments,
    MaterialArguments,
    PageArguments,
    SearchArguments,
    schema_of,
)
from sakuin.errors import NotFound, SakuinError
from sakuin.knowledge.model import Filters, FilterValues, Place
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.knowledge.search import KnowledgeSearches
from sakuin.mcp.answers import (
    NOTE,
    Answer,
    RecordRefused,
    as_json,
    counted,
    failed,
    noted,
    record_nothing,
    result_of,
    visible_answer,
)
from sakuin.mcp.knowledge import schemas
from sakuin.mcp.knowledge.reading import find_text, get_chunk_by_id, list_concepts, list_materials, read_page
from sakuin.mcp.knowledge.search import answers_of, copies_of, search_knowledge
from sakuin.mcp.knowledge.texts import as_markdown
from sakuin.platform.telemetry import NO_METER, Meter

# ChatGPT reads what it needs with `fetch`.
_CHATGPT_RESULTS = 10
_METADATA = ("type", "category", "level", "language", "material", "page_title", "section")
# Tools whose descriptions say what the library is.
_FIRST = ("search_knowledge", "search")

# Takes the id of an explanation ("" for none), the question, and whether it answered.
RecordFeedback = Callable[[str, str, bool], None]

logger = logging.getLogger(__name__)


def _count_nothing(_id: str, _question: str, _is_answered: bool) -> None:
    """Counts no feedback."""


@dataclass(frozen=True, slots=True)
class KnowledgeTools:
    """The tools of the library; `for_chatgpt` adds `search` and `fetch`, which ChatGPT's connectors expect.

    `record_refused` records questions without a good match, or with a weak one. `places` and `values` return what is
    there for a caller, as those of `ReadKnowledge` do; they may be a minute old. `record_feedback` counts what agents
    say of answers; `has_feedback_tool` lists the tool for it.
    """

    searches: KnowledgeSearches
    read: ReadKnowledge
    meter: Meter = NO_METER
    for_chatgpt: bool = False
    record_refused: RecordRefused = record_nothing
    places: Callable[[Filters], Sequence[Place]] = lambda _fixed: ()
    values: Callable[[Filters], FilterValues] | None = None
    record_feedback: RecordFeedback = _count_nothing
    has_feedback_tool: bool = False

    def within(self, fixed: Filters) -> "KnowledgeTools":
        """Returns the tools of a caller for whom there is only what passes a filter."""
        return replace(self, read=replace(self.read, fixed=fixed))

    def listed(self) -> list[Tool]:
        """Returns the tools for `tools/list`, always in this order. Those to begin with say what the library is.

        An agent pays for each byte: only ChatGPT needs schemas of answers.
        """
        about = "".join(f" This library: {schemas.said_of(own)}" for own in self.known_places()[:1])
        return [
            tool.shown.model_copy(update={"description": f"{tool.shown.description}{about}"} | self._schema(tool.shown))
            if tool.shown.name in _FIRST
            else tool.shown
            for tool in self._tools()
        ]

    def _schema(self, tool: Tool) -> dict[str, Any]:
        """Returns the schema of a search with the values that its filters accept; without filters that have none."""
        properties = tool.input_schema["properties"]
        if "filter" not in properties or self.values is None:
            return {}
        try:
            values = self.values(self.read.fixed)
        except SakuinError:
            logger.warning("the tools are listed without the values of filters", exc_info=True)
            return {}
        shown = schemas.with_values(properties, values)
        return {"input_schema": tool.input_schema | {"properties": shown}}

    def instructions(self) -> str:
        """Returns the instructions of the server to the caller."""
        return schemas.instructions_of(self.known_places())

    def known_places(self) -> Sequence[Place]:
        """Returns what the caller's folder is, then its described folders; none if the database does not answer."""
        try:
            return self.places(self.read.fixed)
        except SakuinError:
            logger.warning("the tools are listed without what the library is", exc_info=True)
            return ()

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """Returns the input schema of a tool; None for an unknown name."""
        return next((tool.shown.input_schema for tool in self._tools() if tool.shown.name == name), None)

    def call(self, name: str, arguments: dict[str, Any] | None) -> CallToolResult | None:
        """Returns the answer of a tool, or its error; None for an unknown name."""
        tool = next((tool for tool in self._tools() if tool.shown.name == name), None)
        if tool is None:
            return None
        try:
            with counted(self.meter):
                answer = tool.run(self, tool.arguments.model_validate(arguments or {}))
        except Exception as error:
            return failed(error)
        if tool in _CHATGPT_TOOLS:
            return result_of(visible_answer(answer), as_json)
        return self.shown(name, noted(visible_answer(answer)))

    def shown(self, name: str, answer: Answer) -> CallToolResult:
        """Returns the structured content that a tool answers with as its result."""
        return result_of(answer, partial(as_markdown, name))

    def _tools(self) -> tuple["_Tool", ...]:
        chatgpt = _CHATGPT_TOOLS if self.for_chatgpt else ()
        return (*_TOOLS, *(_FEEDBACK if self.has_feedback_tool else ()), *chatgpt)

    def answer(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Returns the structured content that a tool answers with, listed or not, or raises its error."""
        tool = next(tool for tool in (*_TOOLS, *_FEEDBACK) if tool.shown.name == name)
        with counted(self.meter):
            return noted(visible_answer(tool.run(self, tool.arguments.model_validate(arguments))))


@dataclass(frozen=True, slots=True)
class _Tool:
    shown: Tool
    arguments: type[BaseModel]
    run: Callable[[KnowledgeTools, Any], Answer]


def _tool(
    name: str,
    title: str,
    description: str,
    arguments: type[BaseModel],
    run: Callable[[KnowledgeTools, Any], Answer],
    annotations: ToolAnnotations = schemas.READ_ONLY,
    output: schemas.Schema | None = None,
) -> _Tool:
    shown = Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema_of(arguments),
        output_schema=output,
        annotations=annotations,
    )
    return _Tool(shown, arguments, run)


def _reads(answer: Callable[[ReadKnowledge, Any], Answer]) -> Callable[[KnowledgeTools, Any], Answer]:
    return lambda tools, wanted: answer(tools.read, wanted)


def _feedback(tools: KnowledgeTools, wanted: FeedbackArguments) -> Answer:
    chunk = tools.read.chunks([wanted.id])[0] if wanted.id is not None else None
    if wanted.id is not None and chunk is None:
        raise NotFound(f"There is no chunk {wanted.id!r}. Use an id from search_knowledge")
    id = chunk.id if chunk else ""
    tools.record_feedback(id, wanted.query, wanted.answered)
    return {"id": id or None, "answered": wanted.answered}


def _chatgpt_search(tools: KnowledgeTools, wanted: ChatGptSearchArguments) -> Answer:
    """Answers `search`: the results of `search_knowledge` as names and links."""
    (found,) = answers_of(tools, SearchArguments(query=wanted.query), top_k=_CHATGPT_RESULTS)
    return {"results": [{"id": hit.id, "title": hit.title, "url": hit.url} | copies_of(hit) for hit in found.results]}


def _fetch(tools: KnowledgeTools, wanted: FetchArguments) -> Answer:
    """Answers `fetch`: the answer of `get_chunk_by_id`, with the text of the explanation as `text`."""
    result = get_chunk_by_id(tools.read, ChunkArguments(id=wanted.id))
    chunk = result["chunk"]
    metadata = {"note": NOTE, "learns": " / ".join(chunk["learns"])}
    metadata |= {name: chunk[name] for name in _METADATA if chunk[name]}
    if "next_cursor" in result:
        metadata["truncated"] = "The text is longer: get_chunk_by_id gives the rest for this id and `next_cursor`."
        metadata["next_cursor"] = result["next_cursor"]
    document = {name: chunk[name] for name in ("id", "title", "url")}
    return {**document, "text": chunk["content"], "metadata": metadata}


_TOOLS = (
    _tool("search_knowledge", "Search pages", schemas.SEARCH, SearchArguments, search_knowledge),
    _tool("get_chunk_by_id", "Read explanations", schemas.CHUNK, ChunkArguments, _reads(get_chunk_by_id)),
    _tool("list_concepts", "List concepts", schemas.CONCEPTS, ListArguments, _reads(list_concepts)),
    _tool("list_materials", "List pages", schemas.MATERIALS, MaterialArguments, _reads(list_materials)),
    _tool("read_page", "Read a page", schemas.PAGE, PageArguments, _reads(read_page)),
    _tool("find_text", "Find exact text", schemas.FIND, FindArguments, _reads(find_text)),
)

_FEEDBACK = (
    _tool(
        "give_feedback", "Say whether a result answered", schemas.FEEDBACK, FeedbackArguments, _feedback, schemas.COUNTS
    ),
)

_CHATGPT_TOOLS = (
    _tool(
        "search",
        "Search pages",
        schemas.CHATGPT_SEARCH,
        ChatGptSearchArguments,
        _chatgpt_search,
        output=schemas.CHATGPT_SEARCH_OUTPUT,
    ),
    _tool("fetch", "Read an explanation", schemas.FETCH, FetchArguments, _fetch, output=schemas.FETCH_OUTPUT),
)
