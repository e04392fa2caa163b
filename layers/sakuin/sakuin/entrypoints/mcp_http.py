"""MCP over HTTP: one POST, one JSON answer, no sessions."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from mcp.server import Server
from mcp.server.streamable_http_manager import RequestBodyLimitMiddleware, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from sakuin.domain.bound_tools import Endpoint
from sakuin.entrypoints.authorization import KeyRing, challenge, opening_hash
from sakuin.entrypoints.http_errors import TRY_AGAIN
from sakuin.entrypoints.key_use import Note
from sakuin.entrypoints.mcp_messages import messages_taken
from sakuin.entrypoints.mcp_origins import is_foreign, is_preflight, preflight_headers, readable
from sakuin.entrypoints.mcp_servers import ENDPOINT, knowledge_server, search_tools_server
from sakuin.errors import Unavailable

__all__ = ["McpApp", "knowledge_server", "search_tools_server"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# Gives the enabled endpoint of an id, if there is one.
EndpointOf = Callable[[str], Endpoint | None]

PATH = "/mcp"
# A question is a kilobyte or two; Lambda itself would take six megabytes.
LONGEST_BODY = 1_000_000

logger = logging.getLogger(__name__)


class McpApp:
    """The ASGI application: who may call what, then the SDK."""

    def __init__(
        self,
        server: Server[Any],
        keys: KeyRing,
        allowed_origins: tuple[str, ...] = (),
        *,
        tools_server: Server[Any] | None = None,
        endpoint: EndpointOf = lambda _mcp_id: None,
        used: Note = lambda _key_hash: None,
    ) -> None:
        self._keys = keys
        self._allowed_origins = allowed_origins
        self._endpoint = endpoint
        self._used = used
        self.sessions = _sessions(server)
        self._tool_sessions = _sessions(tools_server or Server("sakuin-search-tools"))
        self._answer_knowledge = _limited(self.sessions)
        self._answer_tools = _limited(self._tool_sessions)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Both endpoints answer while this is held."""
        async with self.sessions.run(), self._tool_sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if is_foreign(headers, self._allowed_origins):
            await _answer(send, 403, "This origin may not call.")
            return
        send = readable(send, headers.get("origin"))
        if is_preflight(scope["method"], headers):
            await _answer(send, 204, "", preflight_headers())
        # The SDK would keep a GET open for ever.
        elif scope["method"] != "POST":
            await _answer(send, 405, "Only POST: this endpoint has no sessions and no streams.", {"Allow": "POST"})
        else:
            await self._post(headers, scope, receive, send)

    async def _post(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        asked = self._knowledge if scope["path"].rstrip("/") == PATH else self._tools
        try:
            await asked(headers, scope, receive, send)
        except Unavailable:
            # Who may call could not be found out, and nothing was sent yet: a tool's own failure is its answer.
            logger.warning("nobody could be let in", exc_info=True)
            await _answer(send, 503, "What knows the keys does not answer. Try again in a moment.", TRY_AGAIN)

    async def _knowledge(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        key_hash = opening_hash(headers, self._keys)
        if key_hash is None:
            await _refuse(send, headers)
            return
        await anyio.to_thread.run_sync(self._used, key_hash)
        await self._answer_knowledge(scope, receive, send)

    async def _tools(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        """An endpoint of Search Tools; one that is not there is refused like a wrong key, so that nobody can guess."""
        mcp_id = scope["path"].removeprefix(f"{PATH}/").rstrip("/")
        endpoint = await anyio.to_thread.run_sync(self._endpoint, mcp_id)
        _, pepper = self._keys()
        key_hash = opening_hash(headers, lambda: (endpoint.key_hashes, pepper)) if endpoint else None
        if key_hash is None:
            await _refuse(send, headers)
            return
        await anyio.to_thread.run_sync(self._used, key_hash)
        await self._answer_tools({**scope, ENDPOINT: endpoint}, receive, send)


def _sessions(server: Server[Any]) -> StreamableHTTPSessionManager:
    # The gateway in front decides which hosts there are; the origin is checked here.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=security)


def _limited(sessions: StreamableHTTPSessionManager) -> RequestBodyLimitMiddleware:
    return RequestBodyLimitMiddleware(messages_taken(sessions.handle_request), LONGEST_BODY)


async def _refuse(send: Send, headers: dict[str, str]) -> None:
    await _answer(send, 401, "Send Authorization: Bearer <key> with a key of this endpoint.", challenge(headers))


async def _answer(send: Send, status: int, message: str, headers: dict[str, str] | None = None) -> None:
    sent = {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}
    encoded = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": message.encode()})
