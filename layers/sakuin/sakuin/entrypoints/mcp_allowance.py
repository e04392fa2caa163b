"""Calls of tools are counted before they are answered: each one of a batch."""

import json
import math
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from mcp_types import ErrorData, JSONRPCError

from sakuin.entrypoints.asgi import Application, Receive, Scope, Send, replayed, whole_body
from sakuin.errors import OverLimit

# Takes so many searches of a holder's; `OverLimit` where he has not so many left.
Allow = Callable[[str, int], None]

# Where a request's scope says whose searches are counted: an endpoint's by its id, of `/mcp` a key's by its hash.
HOLDER = "sakuin.holder"
# Of the codes that JSON-RPC leaves to implementations.
_TOO_MANY = -32029
_METHOD = "tools/call"


def within_allowance(application: Application, allow: Allow) -> Application:
    """`application`, asked only while the holder of the request has calls left; 429 says when it has again."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        body = await whole_body(receive)
        read = _read(body)
        try:
            if calls := _calls(read):
                await anyio.to_thread.run_sync(allow, scope[HOLDER], calls)
        except OverLimit as error:
            await _refuse(send, read, error)
        else:
            await application(scope, replayed(body, receive), send)

    return counted


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        # What cannot be read calls nothing; who answers it is behind.
        return None


def _calls(read: Any) -> int:
    messages = read if isinstance(read, list) else [read]
    return sum(isinstance(message, dict) and message.get("method") == _METHOD for message in messages)


async def _refuse(send: Send, read: Any, error: OverLimit) -> None:
    seconds = math.ceil(error.retry_after)
    id = read.get("id") if isinstance(read, dict) else None
    said = JSONRPCError(
        jsonrpc="2.0",
        id=id if isinstance(id, str | int) and not isinstance(id, bool) else None,
        error=ErrorData(code=_TOO_MANY, message=f"{error}. Try again in {seconds} s.", data={"retry_after": seconds}),
    )
    headers = [(b"content-type", b"application/json"), (b"retry-after", str(seconds).encode())]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": said.model_dump_json(by_alias=True, exclude_unset=True).encode()})
