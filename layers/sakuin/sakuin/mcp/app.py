"""MCP over HTTP: one POST, one JSON answer, no sessions."""

import json
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio.to_thread
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response

from sakuin.errors import NotFound, OverLimit, SakuinError, Unauthorized, Unavailable
from sakuin.mcp.callers import Caller, EndpointKeys, EndpointOf, Users, WrongKeys, is_token, of_key, of_user
from sakuin.mcp.exchange import exchange_of
from sakuin.mcp.messages import Messages, error_body, in_utf8, problem_of, read_messages, too_many_body
from sakuin.mcp.rest import PATH, RestSearch, Target, target_of
from sakuin.mcp.server import CALLER
from sakuin.platform.asgi import Message, Receive, Scope, Send, read_body, replayed
from sakuin.platform.http_errors import ORIGIN_NOT_ALLOWED, HttpError, error_response, http_error
from sakuin.platform.keys import RecordUse, key_of, matching_hash
from sakuin.platform.secrets import KeyRing
from sakuin.tables.model import Endpoint

# A question has a kilobyte or two; the limit of Lambda is six megabytes.
LONGEST_BODY = 1_000_000
# Takes so many searches of a principal; `OverLimit` if too few are left.
Allow = Callable[[str, int], None]
# All callers without a key together: an address costs nothing, so one bucket for each would limit nobody.
PUBLIC = "public"
# As many digits of a key's hash as `sakuin keys list` shows.
_KEY_DIGITS = 12
_JSON = "application/json"
# For web pages: the answer to a preflight request, with the headers that clients of all revisions send, and what pages
# of an origin need to read an answer. CORS of API Gateway is off.
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, "
    "Mcp-Method, Mcp-Name, Mcp-Session-Id",
    "Access-Control-Max-Age": "7200",
}
_OF_PAGES = {"Access-Control-Expose-Headers": "WWW-Authenticate", "Vary": "Origin"}

logger = logging.getLogger(__name__)


class McpApp:
    """The ASGI application: checks the origin, the key and the rate limit, then calls the SDK.

    `allow` counts searches, `record_use` records the use of a key, `endpoint` finds an endpoint of Search Tools,
    `folder_of` the folder that a key of the library opens, by its hash.
    `allow_public` counts searches at `PUBLIC_PATH`; None: nobody searches without a key. `users` may sign in.
    `rest` answers over REST, with the keys and the rate limit of MCP; `address` gives the address of the deployment
    for a request. `set_caller` takes the project and the key of a request before its questions are answered.
    """

    def __init__(
        self,
        server: Server[Any],
        keys: KeyRing,
        allowed_origins: tuple[str, ...] = (),
        *,
        tools_server: Server[Any] | None = None,
        endpoint: EndpointOf = lambda _mcp_id, _key_hash: ((), None),
        record_use: RecordUse = lambda _key_hash: None,
        folder_of: Callable[[str], str] = lambda _key_hash: "",
        allow: Allow = lambda _principal, _searches: None,
        allow_public: Allow | None = None,
        users: Users | None = None,
        longest_body: int = LONGEST_BODY,
        rest: RestSearch | None = None,
        address: Callable[[Scope], str] = lambda _scope: "",
        set_caller: Callable[[str | None, str], None] = lambda _project_id, _key: None,
    ) -> None:
        self._keys = keys
        self._allowed_origins = allowed_origins
        self._endpoint_keys = EndpointKeys(endpoint, WrongKeys(time.monotonic))
        self._record_use = record_use
        self._folder_of = folder_of
        self._allow = allow
        self._allow_public = allow_public
        self._users = users
        self._longest_body = longest_body
        self._rest = rest
        self._address = address
        self._set_caller = set_caller
        self.sessions = _sessions(server)
        self._tool_sessions = _sessions(tools_server or Server("sakuin-search-tools"))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Runs both servers of the SDK."""
        async with self.sessions.run(), self._tool_sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, target = Headers(scope=scope), target_of(scope["path"])
        origin = headers.get("origin")
        # A document is for every page. Programs send no origin.
        if not target.document and origin not in (None, *self._allowed_origins):
            refusal = HttpError(403, "Origin not allowed (AllowedOrigins).", code=ORIGIN_NOT_ALLOWED)
            await error_response(scope, refusal)(scope, receive, send)
            return
        if scope["method"] == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers:
            response = Response(None, 204, _PREFLIGHT)
        # The SDK would never end a GET.
        elif scope["method"] != (method := target.method):
            response = error_response(scope, HttpError(405, f"Use {method}.", {"Allow": method}))
        else:
            response = await self._response(target, headers, scope, receive)
        if allowed := "*" if target.document else origin:
            response.headers.update(_OF_PAGES | {"Access-Control-Allow-Origin": allowed})
        await response(scope, receive, send)

    async def _response(self, target: Target, headers: Headers, scope: Scope, receive: Receive) -> Response:
        body = await read_body(receive, max_bytes=self._longest_body)
        content = b"" if body is None or target.is_rest else body
        try:
            caller, messages, over_limit = await anyio.to_thread.run_sync(self._admitted, target, headers, content)
        except SakuinError as error:
            return error_response(scope, http_error(error, headers, self._sign_in(target, scope)))
        self._set_caller(caller.endpoint.project_id if caller.endpoint else None, caller.key)
        if body is None:
            limit = f"The request is too large; the limit is {self._longest_body:,} bytes (mcp_request_bytes)."
            return error_response(scope, HttpError(413, limit))
        if target.is_rest:
            try:
                return await anyio.to_thread.run_sync(self._rest_answer, target, caller, body, scope)
            except SakuinError as error:
                return error_response(scope, http_error(error, headers))
        if over_limit is not None:
            seconds = math.ceil(over_limit.retry_after)
            refusal = too_many_body(f"{over_limit}. Try again in {seconds} s.", seconds, messages.id)
            return Response(refusal, 429, {"Retry-After": str(seconds)}, _JSON)
        if messages.refusal is not None:
            return Response(error_body(messages.refusal), 400, media_type=_JSON)
        sessions, scope = self.sessions if caller.endpoint is None else self._tool_sessions, {**scope, CALLER: caller}
        if messages.batch is not None:
            return await _batch_response(sessions, scope, messages.batch)
        if exchange := exchange_of(messages.single, body, scope):
            try:
                answer = exchange.answer(await exchange.served_by(sessions.app))
            except Exception as error:
                answer = exchange.failure(error)
            return Response(answer, media_type=_JSON)
        parts: list[Message] = []
        after = _disconnected if messages.has_handshake else receive
        await sessions.handle_request(scope, replayed(body, after), _collect(parts))
        return _joined(parts)

    def _rest_answer(self, target: Target, caller: Caller, body: bytes, scope: Scope) -> Response:
        if self._rest is None:
            raise NotFound("There is no search here")
        take = partial(self._take, caller)
        media_type, answer = self._rest(target, caller, body, scope["query_string"], self._address(scope), take)
        return Response(answer, media_type=media_type)

    def _take(self, caller: Caller, searches: int) -> None:
        """Takes so many searches of a caller; `OverLimit` if too few are left."""
        if allow := self._allow if caller.principal else self._allow_public:
            allow(caller.payer, searches)

    def _admitted(
        self, target: Target, headers: Mapping[str, str], body: bytes
    ) -> tuple[Caller, Messages, OverLimit | None]:
        """Returns the caller, its messages, and an error if it may not make so many calls now; all in one thread."""
        caller = self._caller(target, headers)
        messages = read_messages(body, headers)
        try:
            if messages.calls:
                self._take(caller, messages.calls)
        except OverLimit as error:
            return caller, messages, error
        return caller, messages, None

    def _caller(self, target: Target, headers: Mapping[str, str]) -> Caller:
        """Returns the caller. An unknown endpoint gives the same error as a wrong key: ids cannot be guessed."""
        if target.is_public:
            if self._allow_public is None:
                raise NotFound("This deployment has no public library (PublicLibrary)")
            # A key is not looked at: it would decide which limit counts.
            return Caller(None, "", "", PUBLIC, PUBLIC)
        try:
            user = self._signed_in(target, headers)
            principal, endpoint, folder = user or self._key_holder(target, headers)
        except Unavailable as error:
            logger.warning("a key could not be checked", exc_info=True)
            message = "The keys cannot be checked now. Try again in a moment."
            raise Unavailable(message, retry_after=error.retry_after) from error
        except Unauthorized as error:
            message = "Send Authorization: Bearer <key> with a key of this endpoint, or sign in."
            raise Unauthorized(message) from error
        # Of an endpoint not its key or itself: a new key or endpoint would start another minute.
        key = "user" if user else endpoint.id if endpoint else principal[:_KEY_DIGITS]
        payer = endpoint.project_id if endpoint else principal
        return Caller(endpoint, folder, of_user(principal) if user else of_key(principal), payer, key)

    def _signed_in(self, target: Target, headers: Mapping[str, str]) -> tuple[str, Endpoint | None, str] | None:
        """Returns the user of an access token, the endpoint, and no folder; None without a token."""
        token = key_of(headers)
        if self._users is None or token is None or not is_token(token):
            return None
        return *self._users.find(token, target.mcp_id), ""

    def _key_holder(self, target: Target, headers: Mapping[str, str]) -> tuple[str, Endpoint | None, str]:
        """Returns the hash of the valid key, and the endpoint or the folder that it opens; else `Unauthorized`."""
        endpoint = None
        if target.mcp_id is None:
            key_hash = matching_hash(headers, self._keys)
        else:
            endpoint, key_hash = self._endpoint_keys.find(target.mcp_id, key_of(headers)) or (None, None)
        if key_hash is None:
            raise Unauthorized
        self._record_use(key_hash)
        return key_hash, endpoint, "" if endpoint else self._folder_of(key_hash)

    def _sign_in(self, target: Target, scope: Scope) -> str:
        """Returns what a 401 says about signing in. Programs that search over REST have no browser."""
        if self._users is None or target.is_rest:
            return ""
        try:
            return self._users.sign_in.challenge(scope, PATH if target.mcp_id is None else f"{PATH}/{target.mcp_id}")
        except SakuinError:
            # The well-known locations say the same.
            return ""


def _sessions(server: Server[Any]) -> StreamableHTTPSessionManager:
    # API Gateway checks the host; the origin is checked above.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=security)


async def _batch_response(sessions: StreamableHTTPSessionManager, scope: Scope, batch: Sequence[Any]) -> Response:
    """Answers each message of a batch in turn, then sends all answers at once."""
    answers: list[bytes] = []
    for message in batch:
        if problem := problem_of(message):
            answers.append(error_body(problem))
            continue
        body = json.dumps(message).encode()
        length = (b"content-length", str(len(body)).encode())
        headers = [length, *((name, value) for name, value in scope["headers"] if name != b"content-length")]
        parts: list[Message] = []
        await sessions.handle_request({**scope, "headers": headers}, replayed(body, _disconnected), _collect(parts))
        response = _joined(parts)
        # The headers are those of the batch: all messages would be rejected.
        if response.status_code not in (200, 202):
            return response
        # A notification has no answer.
        answers += [bytes(response.body)] if response.body else []
    if not answers:
        return Response(None, 202)
    return Response(b"[" + b",".join(answers) + b"]", media_type=_JSON)


def _collect(parts: list[Message]) -> Send:
    """Returns a `send` that keeps the parts of an answer."""

    async def collect(part: Message) -> None:
        parts.append(part)

    return collect


def _joined(parts: Sequence[Message]) -> Response:
    """Returns an answer of the SDK in UTF-8; an empty one if the client was gone."""
    response = Response(in_utf8(b"".join(part.get("body", b"") for part in parts)))
    if parts:
        response.status_code = parts[0]["status"]
        headers = ((name.lower(), value) for name, value in parts[0]["headers"])
        response.raw_headers += [(name, value) for name, value in headers if name != b"content-length"]
    return response


async def _disconnected() -> Message:
    return {"type": "http.disconnect"}
