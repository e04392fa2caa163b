"""The answers of the function `mcp` to explanations that `api` asks for."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult

from sakuin.errors import NotFound
from sakuin.explain.ask_mcp import ExplanationAsked
from sakuin.explain.explain import Explain
from sakuin.mcp.admission import Allow
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.search_tools import SearchTools
from sakuin.texts.catalogue import texts_in


@dataclass(frozen=True, slots=True)
class AnswerExplanation:
    """Explains a search, and answers it with the tools that agents call.

    The tools count nothing in metrics and record no refused question. `allow` counts searches with those of agents.
    """

    knowledge: KnowledgeTools
    tools: SearchTools
    explain: Explain
    allow: Allow
    clock: Callable[[], float] = time.perf_counter

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what `AskMcp` returns."""
        question = ExplanationAsked.model_validate(event["asked"])
        if event["payer"] is not None:
            self.allow(event["payer"], 1)
        answer = {"answer": self._answer(question)} if event["with_answer"] else {}
        return self.explain(question, texts_in(event["language"])).as_json() | answer

    def _answer(self, asked: ExplanationAsked) -> dict[str, Any]:
        filters = asked.filters.model_dump(by_alias=True, exclude_none=True)
        arguments = {"query": asked.query, "top_k": asked.top_k, **filters}
        began = self.clock()
        result = self._result(asked, arguments)
        milliseconds = (self.clock() - began) * 1000
        return {
            "structured": result.structured_content,
            "text": "".join(part.text for part in result.content if part.type == "text"),
            "is_error": bool(result.is_error),
            "size": len(result.model_dump_json(by_alias=True, exclude_none=True).encode()),
            "milliseconds": round(milliseconds, 1),
        }

    def _result(self, asked: ExplanationAsked, arguments: dict[str, Any]) -> CallToolResult:
        if asked.tool is None:
            result = self.knowledge.call("search_knowledge", arguments)
        else:
            endpoint = self.explain.tool.records.endpoint(str(asked.mcp_id))
            result = self.tools.call(endpoint, asked.tool, arguments) if endpoint else None
        if result is None:
            raise NotFound("No endpoint has this Tool: bind and enable it first")
        return result
