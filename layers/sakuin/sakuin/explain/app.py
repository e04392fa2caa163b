"""`POST /v1/explain`: how a question was interpreted, and the ranks by meaning and by words.

It is part of the function `mcp`, which has the dictionary and the embedder and does not load FastAPI.
"""

from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from sakuin.errors import Invalid, SakuinError
from sakuin.explain.explain import ExplainKnowledge, ExplainTool
from sakuin.explain.explanation import SearchExplanation
from sakuin.explain.requests import ExplanationAsked, FiltersAsked
from sakuin.knowledge.model import Filters
from sakuin.mcp.arguments import sentence
from sakuin.platform.asgi import Receive, Scope, Send, parsed_json, read_body
from sakuin.platform.http_errors import HttpError, http_error, send_error
from sakuin.platform.keys import RecordUse, admin_hash
from sakuin.platform.secrets import KeyRing

_MAX_BODY = 100_000


@dataclass(frozen=True, slots=True)
class ExplainApp:
    """The ASGI application of the route. `keys` are the admin keys, `record_use` records their use."""

    knowledge: ExplainKnowledge
    tool: ExplainTool
    keys: KeyRing
    record_use: RecordUse = lambda _key_hash: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["method"] != "POST":
            await send_error(scope, send, HttpError(405, "Use POST.", {"Allow": "POST"}))
            return
        try:
            await anyio.to_thread.run_sync(self._check_key, headers)
            body = await read_body(receive, max_bytes=_MAX_BODY)
            if body is None:
                await send_error(
                    scope, send, HttpError(413, f"The request is too large; the limit is {_MAX_BODY:,} bytes.")
                )
                return
            asked = ExplanationAsked.model_validate(parsed_json(body))
            explanation = await anyio.to_thread.run_sync(self._explain, asked)
        except ValidationError as error:
            await send_error(scope, send, http_error(sentence(error), headers))
        except SakuinError as error:
            await send_error(scope, send, http_error(error, headers))
        else:
            await JSONResponse(explanation.as_json())(scope, receive, send)

    def _check_key(self, headers: Headers) -> None:
        self.record_use(admin_hash(headers, self.keys))

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
