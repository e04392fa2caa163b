"""The function `mcp` behind API Gateway, and over a real socket."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from mangum import Mangum
from sakuin.mcp.admission import Admission
from sakuin.mcp.app import mcp_app
from sakuin.mcp.callers import EndpointKeys, EndpointOf, WrongKeys
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.search_tools import SearchTools
from starlette.applications import Starlette

from tests.events import Context, event, ring

STATELESS = "2026-07-28"
ERAS = ("2025-06-18", STATELESS)
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {}}
TOOLS = ["search_knowledge", "get_chunk_by_id", "list_concepts", "list_materials", "read_page", "find_text"]
# An origin that may call.
PAGE = "https://page.example"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer as the function gives it."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> int:
        return int(self.json["error"]["code"])


def app_of(
    tools: KnowledgeTools,
    search_tools: SearchTools | None = None,
    origins: Sequence[str] = (),
    *,
    endpoint: EndpointOf | None = None,
    **admission: Any,
) -> Starlette:
    """Returns the application with these tools, the key of the tests, and what `Admission` has otherwise."""
    nothing: Any = None
    if endpoint is not None:
        admission["endpoint_keys"] = EndpointKeys(endpoint, WrongKeys(time.monotonic))
    return mcp_app(Admission(**{"keys": ring, **admission}), tools, search_tools or SearchTools(nothing), origins)


class Ask:
    """Sends requests to an application as API Gateway does."""

    def __init__(self, app: Starlette) -> None:
        self._handler = Mangum(app, lifespan="off")

    def __call__(self, body: object, method: str = "POST", path: str = "/mcp", **headers: str | None) -> Answer:
        """Sends a request with the key; a header that is None is left out. A body that is no text is sent as JSON."""
        recorded = event("mcp.search")
        kept = ("accept", "authorization", "content-type", "host", "x-forwarded-proto")
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**{name: recorded["headers"][name] for name in kept}, **given}
        recorded["headers"] = {name: value for name, value in sent.items() if value is not None}
        recorded["rawPath"], _, recorded["rawQueryString"] = path.partition("?")
        recorded["requestContext"]["http"] |= {"method": method, "path": recorded["rawPath"]}
        recorded["isBase64Encoded"] = isinstance(body, bytes)
        text = body if isinstance(body, str) else json.dumps(body) if not isinstance(body, bytes) else ""
        recorded["body"] = base64.b64encode(body).decode() if isinstance(body, bytes) else text
        answer = self._handler(recorded, Context())
        text = answer.get("body") or ""
        text = base64.b64decode(text).decode() if answer.get("isBase64Encoded") else text
        return Answer(answer["statusCode"], answer.get("headers") or {}, text)


def message(method: str, era: str = ERAS[0], **params: Any) -> str:
    """Returns a request of an era."""
    meta = {"_meta": ENVELOPE} if era == STATELESS else {}
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, **meta}})


def named(method: str, era: str, name: str | None = None) -> dict[str, str]:
    """Returns the headers that go with it."""
    routing = {"mcp_method": method, **({"mcp_name": name} if name else {})} if era == STATELESS else {}
    return {"mcp_protocol_version": era, **routing}


def call(ask: Ask, era: str, tool: str, arguments: Any) -> Answer:
    body = message("tools/call", era, name=tool, arguments=arguments)
    return ask(body, **named("tools/call", era, tool))


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Serves on a free loopback port; yields the URL of the knowledge endpoint."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_level="error")
    listening = config.bind_socket()
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve([listening]))
    try:
        # The socket listens already: what comes before the loop is ready waits in its backlog.
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await task
