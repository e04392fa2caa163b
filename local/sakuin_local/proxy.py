"""A small HTTP proxy that changes the path and the port of a request, and the site of the stack in front of it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

import httpcore
from starlette import routing
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from sakuin_local.addresses import LOOPBACK
from sakuin_local.places import SAMPLES
from sakuin_local.same_machine import Application, Receive, Scope, Send, answer

Headers = list[tuple[bytes, bytes]]

# RFC 9110, 7.6.1: these headers concern one connection only.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        # The proxy answers it: it reads the body before it forwards the request.
        b"expect",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# A function may take 30 s after its cold start, and a busy machine some to connect; a closed port refuses at once.
TIMEOUTS = {"connect": 30.0, "read": 90.0, "write": 30.0, "pool": 90.0}
# Less than after which servers close an open connection, which could be just before the next POST.
KEPT_SECONDS = 1.0
_STYLE = SAMPLES / "css" / "site.css"
# The console has the same address: without an origin of its own, a script of a page cannot act in it.
_SANDBOX = "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-top-navigation"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: a port of this machine, and the path with its query."""

    port: int
    path: bytes


class NotYet(Exception):
    """The server behind an address has not started."""


# Gives the target of a path with its query. May raise `NotYet`.
Route = Callable[[bytes], Target]


class Proxy:
    """An ASGI application that forwards each request to the target of `route`, at most `at_once` at a time.

    Of a request to an application that is mounted below a path, `route` gets the rest of the path.
    The headers in `added` replace those of the same name. `renamed` are names of headers in answers, and other ones.
    Without `keeps_connections` each request has a connection of its own.
    """

    def __init__(
        self,
        route: Route,
        *,
        at_once: int = 100,
        added: Headers | None = None,
        renamed: Mapping[bytes, bytes] | None = None,
        keeps_connections: bool = True,
    ) -> None:
        self._route = route
        self._added = added or []
        self._renamed = renamed or {}
        self._turn = asyncio.Semaphore(at_once)
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=None,
            max_keepalive_connections=None if keeps_connections else 0,
            keepalive_expiry=KEPT_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = self._route(_path(scope))
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return
        async with self._turn, AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(
                    self._pool.stream(
                        scope["method"],
                        httpcore.URL(scheme=b"http", host=LOOPBACK, port=target.port, target=target.path),
                        headers=_forwarded(scope["headers"], body, self._added),
                        content=body,
                        extensions={"timeout": TIMEOUTS},
                    )
                )
            except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
                await answer(send, 502, f"port {target.port} does not answer: {type(error).__name__} {error}")
                return
            headers = [
                (self._renamed.get(name.lower(), name), value)
                for name, value in response.headers
                if name.lower() not in HOP_BY_HOP
            ]
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            async for part in response.aiter_stream():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def _path(scope: Scope) -> bytes:
    raw: bytes = scope["raw_path"].removeprefix(scope["root_path"].encode())
    query: bytes = scope["query_string"]
    return raw + b"?" + query if query else raw


def _forwarded(headers: Headers, body: bytes, added: Headers) -> Headers:
    left_out = {b"content-length", *HOP_BY_HOP, *(name for name, _ in added)}
    # The emulator refuses every page; of our own ones browsers also say so by `Sec-Fetch-Site`.
    own = (b"origin", b"http://" + dict(headers).get(b"host", b""))
    kept = [(name, value) for name, value in headers if name not in left_out and (name, value) != own] + added
    had_length = any(name in (b"content-length", b"transfer-encoding") for name, _ in headers)
    return [*kept, (b"content-length", str(len(body)).encode())] if had_length else kept


def with_site(application: Application, page: Callable[[str], bytes | None]) -> Starlette:
    """Returns what answers with uploaded pages and their style, and passes other requests on.

    `page` gives the page of a key, None if there is none. Like the application, it may raise `NotYet`.
    """

    def one_page(request: Request) -> Response:
        content = page(f"{request.path_params['key']}.html")
        if content is None:
            return JSONResponse({"message": "There is no such page. `sakuin push` uploads pages."}, 404)
        return Response(content, media_type="text/html", headers={"content-security-policy": _SANDBOX})

    def style(_request: Request) -> Response:
        return Response(_STYLE.read_bytes(), media_type="text/css")

    def starting(_request: Request, _error: Exception) -> Response:
        # Not a 404: a client that waits for an upload keeps waiting while the stack restarts.
        return JSONResponse({"message": "the stack is still starting"}, 503)

    return Starlette(
        routes=[
            routing.Route("/{key:path}.html", one_page),
            routing.Route(f"/{_STYLE.parent.name}/{_STYLE.name}", style),
            routing.Mount("/", application),
        ],
        exception_handlers={NotYet: starting},
    )
