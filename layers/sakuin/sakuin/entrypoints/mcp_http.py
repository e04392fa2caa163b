"""MCP over HTTP: one POST, one JSON answer, no sessions."""

import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from mcp.server import Server
from mcp.server.streamable_http_manager import RequestBodyLimitMiddleware, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from sakuin.entrypoints.asgi import Application, Message, Receive, Scope, Send
from sakuin.entrypoints.authorization import KeyRing, borne_key, challenge, opening_hash
from sakuin.entrypoints.endpoint_keys import EndpointKeys, EndpointOf, Rehash
from sakuin.entrypoints.http_errors import try_again
from sakuin.entrypoints.key_use import Note
from sakuin.entrypoints.mcp_allowance import HOLDER, Allow, within_allowance
from sakuin.entrypoints.mcp_messages import messages_taken
from sakuin.entrypoints.mcp_origins import is_foreign, is_preflight, preflight_headers, readable
from sakuin.entrypoints.mcp_servers import ENDPOINT, knowledge_server, search_tools_server
from sakuin.entrypoints.wrong_keys import WrongKeys
from sakuin.errors import OverLimit, Unavailable

__all__ = ["McpApp", "knowledge_server", "search_tools_server"]

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
        allow: Allow = lambda _holder, _searches: None,
        rehash: Rehash = lambda _mcp_id, _old, _new: None,
        settled: Callable[[], bool] = lambda: True,
        wrong: WrongKeys | None = None,
        longest_body: int = LONGEST_BODY,
    ) -> None:
        self._keys = keys
        self._allowed_origins = allowed_origins
        self._endpoint_keys = EndpointKeys(keys, endpoint, rehash, settled, wrong or WrongKeys(time.monotonic))
        self._used = used
        self.sessions = _sessions(server)
        self._tool_sessions = _sessions(tools_server or Server("sakuin-search-tools"))
        self._answer_knowledge = _limited(self.sessions, allow, longest_body)
        self._answer_tools = _limited(self._tool_sessions, allow, longest_body)

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
        except Unavailable as error:
            # Who may call could not be found out, and nothing was sent yet: a tool's own failure is its answer.
            logger.warning("nobody could be let in", exc_info=True)
            await _answer(send, 503, "What knows the keys does not answer. Try again in a moment.", try_again(error))

    async def _knowledge(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        key_hash = await anyio.to_thread.run_sync(opening_hash, headers, self._keys)
        if key_hash is None:
            await _refuse(send, headers)
            return
        await anyio.to_thread.run_sync(self._used, key_hash)
        await self._answer_knowledge({**scope, HOLDER: key_hash}, receive, send)

    async def _tools(self, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        """An endpoint of Search Tools; one that is not there is refused like a wrong key, so that nobody can guess."""
        mcp_id = scope["path"].removeprefix(f"{PATH}/").rstrip("/")
        try:
            opened = await anyio.to_thread.run_sync(self._endpoint_keys, mcp_id, borne_key(headers))
        except OverLimit as error:
            await _answer(send, 429, str(error), {"Retry-After": str(math.ceil(error.retry_after))})
            return
        if opened is None:
            await _refuse(send, headers)
            return
        endpoint, key_hash = opened
        await anyio.to_thread.run_sync(self._used, key_hash)
        # Not its key: with another one an endpoint would begin its minute anew.
        await self._answer_tools({**scope, ENDPOINT: endpoint, HOLDER: endpoint.id}, receive, send)


def _sessions(server: Server[Any]) -> StreamableHTTPSessionManager:
    # The gateway in front decides which hosts there are; the origin is checked here.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=security)


def _limited(sessions: StreamableHTTPSessionManager, allow: Allow, longest_body: int) -> Application:
    answered = within_allowance(messages_taken(sessions.handle_request), allow)
    limited = RequestBodyLimitMiddleware(answered, longest_body)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def explained(message: Message) -> None:
            nonlocal refused
            if message.get("status") == 413:
                # The SDK does not say how much is too much.
                refused = True
                await _answer(
                    send, 413, f"A request has at most {longest_body:,} bytes (MaxMcpRequestBytes). Send less."
                )
            elif not refused:
                await send(message)

        await limited(scope, receive, explained)

    return answer


async def _refuse(send: Send, headers: dict[str, str]) -> None:
    await _answer(send, 401, "Send Authorization: Bearer <key> with a key of this endpoint.", challenge(headers))


async def _answer(send: Send, status: int, message: str, headers: dict[str, str] | None = None) -> None:
    sent = {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}
    encoded = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": message.encode()})
