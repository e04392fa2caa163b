"""MCP and REST over HTTP: Starlette's routes and middleware before the transport of the MCP SDK."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio.to_thread
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sakuin.errors import OverLimit, SakuinError
from sakuin.knowledge.search import KnowledgeSearches
from sakuin.mcp.admission import Admission
from sakuin.mcp.callers import Caller
from sakuin.mcp.knowledge.tools import KnowledgeTools
from sakuin.mcp.messages import in_utf8, read_message, too_many_body, without_null_params
from sakuin.mcp.rest import rest_routes
from sakuin.mcp.search_tools import SearchTools
from sakuin.mcp.server import knowledge_server, search_tools_server
from sakuin.platform.asgi import Application, Receive, Scope, Send, error_response, read_body, replayed
from sakuin.platform.http_errors import ORIGIN_NOT_ALLOWED, HttpError, http_error

PATH, PUBLIC_PATH = "/mcp", "/public/mcp"
# What clients of all revisions send from web pages.
_HEADERS = ("Authorization", "Last-Event-ID", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id")
_PREFLIGHT_SECONDS = 7200
# API Gateway checks the host, and `AllowedOrigins` the origin.
_SECURITY = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def mcp_app(
    admission: Admission,
    knowledge: KnowledgeTools,
    search_tools: SearchTools,
    allowed_origins: Sequence[str] = (),
    public_searches: KnowledgeSearches | None = None,
) -> Starlette:
    """Returns the application that answers agents. Web pages of `allowed_origins` may call it, too.

    `public_searches` answer callers without a key, who count nothing.
    """
    public_tools = replace(knowledge, has_feedback_tool=False, searches=public_searches or knowledge.searches)
    library_endpoint = ServedEndpoint(
        admission, lambda request: admission.caller(request.headers), partial(knowledge_server, knowledge)
    )
    public = ServedEndpoint(
        admission, lambda _request: admission.public_caller(), partial(knowledge_server, public_tools)
    )
    of_project = ServedEndpoint(
        admission,
        lambda request: admission.caller(request.headers, request.path_params["mcp_id"]),
        partial(search_tools_server, search_tools),
    )
    endpoints = {PATH: library_endpoint, f"{PATH}/{{mcp_id}}": of_project, PUBLIC_PATH: public}

    def answer_error(request: Request, error: Exception) -> Response:
        if isinstance(error, SakuinError):
            path = request.scope["path"].rstrip("/")
            # Programs that search over REST have no browser to sign in with.
            sign_in = admission.sign_in(request.scope, path) if path.startswith(PATH) else ""
            return error_response(request.scope, http_error(error, request.headers, sign_in))
        if isinstance(error, HTTPException):
            return error_response(request.scope, HttpError(error.status_code, error.detail, error.headers or {}))
        return error_response(request.scope, HttpError(500, "Something went wrong."))

    paths = [(f"{path}{end}", endpoint) for path, endpoint in endpoints.items() for end in ("", "/")]
    routes = [Route(path, endpoint, methods=["POST"]) for path, endpoint in paths]
    app = Starlette(
        routes=[*routes, *rest_routes(admission, knowledge, public_tools, search_tools)],
        middleware=[
            Middleware(_Origins, allowed=allowed_origins),
            Middleware(
                CORSMiddleware,
                allow_origins=allowed_origins,
                allow_methods=["POST"],
                allow_headers=_HEADERS,
                expose_headers=["WWW-Authenticate"],
                max_age=_PREFLIGHT_SECONDS,
            ),
        ],
        exception_handlers=dict.fromkeys((SakuinError, HTTPException, Exception), answer_error),
    )
    app.router.redirect_slashes = False
    return app


@dataclass(frozen=True, slots=True)
class ServedEndpoint:
    """Answers MCP at one path. `find` returns the caller of a request, `server_of` the server for a caller's method."""

    admission: Admission
    find: Callable[[Request], Caller]
    server_of: Callable[[Caller, str], Server[Any]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        sent = await read_body(receive, max_bytes=self.admission.longest_body)
        body = sent and without_null_params(sent)
        message = read_message(body or b"")

        def admit() -> Server[Any] | OverLimit:
            caller = self.admission.enter(self.find(request), body)
            try:
                self.admission.take(caller, message.searches)
            except OverLimit as error:
                return error
            return self.server_of(caller, message.method)

        admitted = await anyio.to_thread.run_sync(admit)
        if isinstance(admitted, OverLimit):
            seconds = math.ceil(admitted.retry_after)
            refusal = too_many_body(f"{admitted}. Try again in {seconds} s.", seconds, message.id)
            await Response(refusal, 429, {"Retry-After": str(seconds)}, "application/json")(scope, receive, send)
            return
        # One for each request: a manager runs once, and an invocation of Lambda leaves no task behind.
        sessions = StreamableHTTPSessionManager(
            admitted, json_response=True, stateless=True, security_settings=_SECURITY
        )
        async with sessions.run():
            await sessions.handle_request(scope, replayed(body or b"", receive), in_utf8(send))


@dataclass(frozen=True, slots=True)
class _Origins:
    """Rejects the requests of web pages whose origin may not call. Programs send no origin."""

    app: Application
    allowed: Sequence[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and Headers(scope=scope).get("origin") not in (None, *self.allowed):
            refusal = HttpError(403, "Origin not allowed (AllowedOrigins).", code=ORIGIN_NOT_ALLOWED)
            await error_response(scope, refusal)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
