"""The answers of the function `mcp` to the playground of the console."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from mcp_types import CallToolResult
from pydantic import ValidationError

from sakuin.arguments import SearchArguments, ToolSearchArguments, sentence
from sakuin.errors import Invalid, NotFound, SakuinError
from sakuin.explain.ask_mcp import ExplanationAsked, FiltersAsked, PlaygroundAnswer, PlaygroundQuestion
from sakuin.explain.explain import Explain
from sakuin.explain.explanation import Expected, SearchExplanation
from sakuin.knowledge.names import chunk_id, chunk_of_link, split_chunk_id
from sakuin.mcp.app import Allow
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.messages import in_utf8
from sakuin.mcp.search_tools import SearchTools
from sakuin.tables.json_pointer import is_within
from sakuin.tables.model import BoundTool, Endpoint
from sakuin.texts.catalogue import texts_in

_ToolOfEndpoint = tuple[Endpoint, BoundTool]

_SEARCH = "search_knowledge"
# The chunks that are explained, at least.
_DEPTH = 20
# All admins together have the limit of a key.
_ADMINS = "console"


@dataclass(frozen=True, slots=True)
class AnswerPlayground:
    """Answers with the tools that agents call, and explains with the same searches.

    The tools count nothing in metrics and record no refused question. `allow` counts the searches with those of agents:
    of a Tool with the others of its project, of the library with the others of the user.
    """

    knowledge: KnowledgeTools
    tools: SearchTools
    explain: Explain
    allow: Allow
    clock: Callable[[], float] = time.perf_counter

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the JSON of a `PlaygroundAnswer` for that of a `PlaygroundQuestion`."""
        return asdict(self._answer(PlaygroundQuestion(**event)))

    def _answer(self, asked: PlaygroundQuestion) -> PlaygroundAnswer:
        of_tool = None if asked.tool_id is None else self._tool(asked.mcp_id or "", asked.tool_id)
        self.allow(of_tool[0].project_id if of_tool else asked.user_id or _ADMINS, 1)
        began = self.clock()
        result = self._result(dict(asked.arguments), of_tool)
        milliseconds = (self.clock() - began) * 1000
        explanation, problem = None, None
        try:
            explanation = self._explanation(asked, of_tool).as_json()
        except ValidationError as error:
            problem = str(sentence(error))
        except SakuinError as error:
            problem = str(error)
        return PlaygroundAnswer(
            structured=result.structured_content,
            text="".join(part.text for part in result.content if part.type == "text"),
            is_error=bool(result.is_error),
            size=_size(result),
            milliseconds=round(milliseconds, 1),
            explanation=explanation,
            problem=problem,
        )

    def _result(self, arguments: dict[str, Any], of_tool: _ToolOfEndpoint | None) -> CallToolResult:
        if of_tool is None:
            result = self.knowledge.call(_SEARCH, arguments)
        else:
            endpoint, tool = of_tool
            result = self.tools.call(endpoint, tool.name, arguments)
        if result is None:
            raise NotFound("The endpoint no longer has this Tool")
        return result

    def _explanation(self, asked: PlaygroundQuestion, of_tool: _ToolOfEndpoint | None) -> SearchExplanation:
        say, expected = texts_in(asked.language), (asked.expected or "").strip() or None
        if of_tool is None:
            request = SearchArguments.model_validate(asked.arguments)
            chunk = expected and _chunk_of(expected, self.knowledge.read.base_url)
            filters = FiltersAsked.model_validate(asdict(request.filters), by_name=True)
            question = ExplanationAsked(
                query=request.questions[0], expected=chunk, top_k=request.top_k, depth=_DEPTH, filters=filters
            )
            explanation = self.explain(question, say)
            if expected is None or chunk is not None:
                return explanation
            return replace(explanation, expected=Expected(expected, None, say("why.no_id")))
        arguments = ToolSearchArguments.model_validate(asked.arguments)
        endpoint, tool = of_tool
        if expected is not None and not is_within(expected, tool.json_path):
            # As in a result: relative to the Tool.
            expected = tool.json_path + expected
        place: dict[str, Any] = {"mcp_id": endpoint.id, "tool": tool.name, "expected": expected, "depth": _DEPTH}
        return self.explain(ExplanationAsked(query=arguments.query, top_k=arguments.top_k, **place), say)

    def _tool(self, mcp_id: str, tool_id: str) -> _ToolOfEndpoint:
        endpoint = self.explain.tool.records.endpoint(mcp_id)
        tool = next((each for each in endpoint.tools if each.id == tool_id), None) if endpoint else None
        if endpoint is None or tool is None:
            raise NotFound("No endpoint has this Tool: bind and enable it first")
        return endpoint, tool


def _chunk_of(expected: str, base_url: str) -> str | None:
    """Returns the id of a chunk that is named by its id or link; None for anything else."""
    try:
        return chunk_of_link(expected, base_url) or chunk_id(*split_chunk_id(expected))
    except Invalid:
        return None


def _size(result: CallToolResult) -> int:
    """Returns the bytes of the result as the agent gets it."""
    return len(in_utf8(result.model_dump_json(by_alias=True, exclude_none=True).encode()))
