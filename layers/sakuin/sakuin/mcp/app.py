"""MCP over HTTP: one POST, one JSON answer, no sessions."""

import json
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio.to_thread
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from sakuin.errors import NotFound, OverLimit, SakuinError, Unauthorized, Unavailable
from sakuin.mcp.changes.subscriptions import Caller, of_key, of_user
from sakuin.mcp.endpoint_keys import EndpointKeys, EndpointOf, WrongKeys
from sakuin.mcp.messages import Messages, error_body, in_utf8, problem_of, questions_in, read_messages, too_many_body
from sakuin.mcp.origins import is_foreign, is_preflight, preflight_headers, with_origin
from sakuin.mcp.resources.documents import Documents
from sakuin.mcp.rest import PATH, RestSearch, Target, parameters_of, target_of
from sakuin.mcp.server import CALLER, ENDPOINT, FOLDER
from sakuin.mcp.users import Users, is_token
from sakuin.platform.asgi import Message, Receive, Scope, Send, parsed_json, read_body, replayed
from sakuin.platform.http_errors import ORIGIN_NOT_ALLOWED, HttpError, http_error, send_error
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

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Caller:
    """The caller. Its principal is the id of the project of an endpoint; else the hash of a key, a user or `PUBLIC`.

    `allow` takes its searches. Of the library it reads `folder` alone, if that is not empty. `key` names its key in
    counters, without a person. `identity` is the key or user to whom subscriptions belong, empty for `PUBLIC`.
    """

    principal: str
    allow: Allow
    endpoint: Endpoint | None = None
    folder: str = ""
    key: str = PUBLIC
    identity: str = ""


class McpApp:
    """The ASGI application: checks the origin, the key and the rate limit, then calls the SDK.

    `allow` counts searches, `record_use` records the use of a key, `endpoint` finds an endpoint of Search Tools,
    `folder_of` the folder that a key of the library opens, by its hash.
    `allow_public` counts searches at `PUBLIC_PATH`; None: nobody searches without a key. `users` may sign in.
    `rest` answers the searches over REST, with the keys and the rate limit of MCP. `documents` are those of the public
    library, `address` gives the address of the deployment for a request. `set_caller` takes the project and
    the key of a request before its questions are answered.
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
        wrong: WrongKeys | None = None,
        longest_body: int = LONGEST_BODY,
        rest: RestSearch | None = None,
        documents: Documents | None = None,
        address: Callable[[Scope], str] = lambda _scope: "",
        set_caller: Callable[[str | None, str], None] = lambda _project_id, _key: None,
    ) -> None:
        self._keys = keys
        self._allowed_origins = allowed_origins
        self._endpoint_keys = EndpointKeys(endpoint, wrong or WrongKeys(time.monotonic))
        self._record_use = record_use
        self._folder_of = folder_of
        self._allow = allow
        self._allow_public = allow_public
        self._users = users
        self._longest_body = longest_body
        self._rest = rest
        self._documents = documents
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
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        target = target_of(scope["path"])
        # A document is for every page.
        if not target.document and is_foreign(headers, self._allowed_origins):
            refusal = HttpError(403, "Origin not allowed (AllowedOrigins).", code=ORIGIN_NOT_ALLOWED)
            await send_error(scope, send, refusal)
            return
        send = with_origin(send, "*" if target.document else headers.get("origin"))
        if is_preflight(scope["method"], headers):
            await _send_no_content(send, preflight_headers())
        # The SDK would never end a GET.
        elif scope["method"] != (method := target.method):
            await send_error(scope, send, HttpError(405, f"Use {method}.", {"Allow": method}))
        else:
            await self._answer(target, headers, scope, receive, send)

    async def _answer(
        self, target: Target, headers: Mapping[str, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        body = await read_body(receive, max_bytes=self._longest_body)
        content = b"" if body is None or target.is_rest else body
        try:
            caller, messages, over_limit = await anyio.to_thread.run_sync(self._admitted, target, headers, content)
        except SakuinError as error:
            await send_error(scope, send, http_error(error, headers, self._sign_in(target, scope)))
            return
        self._set_caller(caller.endpoint.project_id if caller.endpoint else None, caller.key)
        if body is None:
            limit = f"The request is too large; the limit is {self._longest_body:,} bytes (mcp_request_bytes)."
            await send_error(scope, send, HttpError(413, limit))
            return
        if target.is_rest:
            await self._search(target, caller, body, headers, scope, send)
            return
        if over_limit is not None:
            await _refuse_calls(send, messages, over_limit)
            return
        sessions = self.sessions if caller.endpoint is None else self._tool_sessions
        events = Caller(caller.endpoint, caller.folder, caller.identity, caller.principal)
        scope = {**scope, ENDPOINT: caller.endpoint, FOLDER: caller.folder, CALLER: events}
        if messages.refusal is not None:
            await _json(send, 400, error_body(messages.refusal))
        elif messages.batch is not None:
            await _answer_batch(sessions, scope, messages.batch, send)
        else:
            after = _disconnected if messages.has_handshake else receive
            sent: list[Message] = []
            await sessions.handle_request(scope, replayed(body, after), _collect(sent))
            for part in _in_utf8(sent):
                await send(part)

    async def _search(
        self, target: Target, caller: _Caller, body: bytes, headers: Mapping[str, str], scope: Scope, send: Send
    ) -> None:
        def found() -> tuple[str, bytes]:
            caller.allow(caller.principal, 1)
            if target.document and self._documents is not None:
                address, take = self._address(scope), partial(caller.allow, caller.principal, 1)
                return self._documents(target.document, parameters_of(scope["query_string"]), address, take)
            if self._rest is None:
                raise NotFound("There is no search here")
            arguments = parameters_of(scope["query_string"]) if target.is_feed else parsed_json(body)
            if more := questions_in(arguments) - 1:
                caller.allow(caller.principal, more)
            return "application/json", self._rest(target, caller.endpoint, arguments, caller.folder)

        try:
            media_type, answer = await anyio.to_thread.run_sync(found)
        except SakuinError as error:
            await send_error(scope, send, http_error(error, headers))
        else:
            await _send(send, 200, answer, media_type)

    def _admitted(
        self, target: Target, headers: Mapping[str, str], body: bytes
    ) -> tuple[_Caller, Messages, OverLimit | None]:
        """Returns the caller, its messages, and an error if it may not make so many calls now; all in one thread."""
        caller = self._caller(target, headers)
        messages = read_messages(body, headers)
        try:
            if messages.calls:
                caller.allow(caller.principal, messages.calls)
        except OverLimit as error:
            return caller, messages, error
        return caller, messages, None

    def _caller(self, target: Target, headers: Mapping[str, str]) -> _Caller:
        """Returns the caller. An unknown endpoint gives the same error as a wrong key: ids cannot be guessed."""
        if target.is_public:
            return self._anybody()
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
        identity = of_user(principal) if user else of_key(principal)
        return _Caller(endpoint.project_id if endpoint else principal, self._allow, endpoint, folder, key, identity)

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

    def _anybody(self) -> _Caller:
        """Returns the caller of the public library. A key is not looked at: it would decide which limit counts."""
        if self._allow_public is None:
            raise NotFound("This deployment has no public library (PublicLibrary)")
        return _Caller(PUBLIC, self._allow_public)


def _sessions(server: Server[Any]) -> StreamableHTTPSessionManager:
    # API Gateway checks the host; the origin is checked above.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=security)


async def _answer_batch(sessions: StreamableHTTPSessionManager, scope: Scope, batch: Any, send: Send) -> None:
    """Answers each message of a batch in turn, then sends all answers at once."""
    answers: list[bytes] = []
    for message in batch:
        if problem := problem_of(message):
            answers.append(error_body(problem))
            continue
        start, body = await _ask(sessions, scope, message)
        # The headers are those of the batch: all messages would be rejected.
        if start["status"] not in (200, 202):
            await send(start)
            await send({"type": "http.response.body", "body": body})
            return
        # A notification has no answer.
        answers += [body] if body else []
    await (_json(send, 200, b"[" + b",".join(answers) + b"]") if answers else _json(send, 202, b""))


async def _ask(sessions: StreamableHTTPSessionManager, scope: Scope, message: Any) -> tuple[Message, bytes]:
    """Returns the start and the body of the answer to one message."""
    body = json.dumps(message).encode()
    length = (b"content-length", str(len(body)).encode())
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
    sent: list[Message] = []
    request_scope = {**scope, "headers": [*headers, length]}
    await sessions.handle_request(request_scope, replayed(body, _disconnected), _collect(sent))
    start, answer = _in_utf8(sent)
    return start, answer["body"]


def _collect(sent: list[Message]) -> Send:
    """Returns a `send` that keeps the messages."""

    async def collect(part: Message) -> None:
        sent.append(part)

    return collect


def _in_utf8(sent: Sequence[Message]) -> Sequence[Message]:
    """Returns the start and the body of an answer of the SDK; nothing if the client was gone."""
    if not sent:
        return ()
    body = in_utf8(b"".join(part.get("body", b"") for part in sent))
    headers = [(name, value) for name, value in sent[0]["headers"] if name.lower() != b"content-length"]
    length = (b"content-length", str(len(body)).encode())
    return {**sent[0], "headers": [*headers, length]}, {"type": "http.response.body", "body": body}


async def _disconnected() -> Message:
    return {"type": "http.disconnect"}


async def _refuse_calls(send: Send, messages: Messages, error: OverLimit) -> None:
    seconds = math.ceil(error.retry_after)
    body = too_many_body(f"{error}. Try again in {seconds} s.", seconds, messages.id)
    await _json(send, 429, body, (b"retry-after", str(seconds).encode()))


async def _json(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    await _send(send, status, body, "application/json", *more)


async def _send(send: Send, status: int, body: bytes, media_type: str, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", media_type.encode())] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": body})


async def _send_no_content(send: Send, headers: Mapping[str, str]) -> None:
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 204, "headers": encoded})
    await send({"type": "http.response.body", "body": b""})
