"""`POST /v1/explain`: how a question was interpreted, and the ranks by meaning and by words.

It is part of the function `mcp`, which has the dictionary and the embedder and does not load FastAPI.
"""

import json
import unicodedata
from dataclasses import dataclass
from typing import Annotated, Any

import anyio.to_thread
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse

from sakuin.errors import Invalid, SakuinError
from sakuin.explain.explain import ExplainKnowledge, ExplainTool
from sakuin.explain.explanation import SearchExplanation
from sakuin.knowledge.model import Filters
from sakuin.language.model import Rule
from sakuin.mcp.arguments import Name, Query, TopK, Type
from sakuin.platform.asgi import Receive, Scope, Send, error_status
from sakuin.platform.keys import RecordUse, challenge, matching_hash
from sakuin.platform.secrets import KeyRing
from sakuin.retrieval.vectors import SearchMode

PATH = "/v1/explain"

_MAX_BODY = 100_000


class FiltersAsked(BaseModel):
    """The filters of `search_knowledge`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Type = None
    category: Name | None = None
    level: Name | None = None
    material: Name | None = None


class ExplanationAsked(BaseModel):
    """A question and its options. With `tool` it is for a Search Tool of the endpoint `mcp_id`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: Query
    expected: (
        Annotated[str, Field(max_length=2000), AfterValidator(lambda id: unicodedata.normalize("NFC", id))] | None
    ) = None
    top_k: TopK = 5
    depth: TopK = 10
    filters: FiltersAsked = FiltersAsked()
    legs: SearchMode = "both"
    without: Annotated[frozenset[Rule], Field(max_length=20)] = frozenset()
    tool: Name | None = None
    mcp_id: Name | None = None
    # A fingerprint, its beginning, or "next"; without it the active index version.
    index: Name | None = None


@dataclass(frozen=True, slots=True)
class ExplainApp:
    """The ASGI application of the route. `keys` are the admin keys, `record_use` records their use."""

    knowledge: ExplainKnowledge
    tool: ExplainTool
    keys: KeyRing
    record_use: RecordUse = lambda _key_hash: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> JSONResponse:
        if request.method != "POST":
            return _error(405, "Use POST.", {"Allow": "POST"})
        try:
            key_hash = await anyio.to_thread.run_sync(matching_hash, dict(request.headers), self.keys)
            if key_hash is None:
                return _error(401, "Send the header Authorization: Bearer <admin key>", challenge(request.headers))
            await anyio.to_thread.run_sync(self.record_use, key_hash)
            body = await request.body()
            if len(body) > _MAX_BODY:
                return _error(413, f"The request is too large; the limit is {_MAX_BODY:,} bytes.")
            asked = ExplanationAsked.model_validate(_json(body))
            explanation = await anyio.to_thread.run_sync(self._explain, asked)
        except ValidationError as error:
            return _error(
                422, [{"type": one["type"], "loc": ["body", *one["loc"]], "msg": one["msg"]} for one in error.errors()]
            )
        except SakuinError as error:
            status, headers = error_status(error, request.headers)
            return _error(status, str(error), headers)
        return JSONResponse(explanation.as_json())

    def _explain(self, asked: ExplanationAsked) -> SearchExplanation:
        options: dict[str, Any] = {
            "expected": asked.expected,
            "top_k": asked.top_k,
            "depth": max(asked.top_k, asked.depth),
            "mode": asked.legs,
            "without": asked.without,
            "index": asked.index,
        }
        if asked.tool is None:
            filters = Filters(**asked.filters.model_dump())
            return self.knowledge(asked.query, filters=filters, **options)
        if asked.mcp_id is None:
            raise Invalid("Send mcp_id, the endpoint of the tool")
        if asked.filters != FiltersAsked():
            raise Invalid("A Search Tool has no filters. Omit them")
        return self.tool(asked.mcp_id, asked.tool, asked.query, **options)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("The body is not valid JSON") from error


def _error(status: int, detail: object, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)
