"""The JSON-RPC messages of requests and answers, as far as the MCP SDK does not read and write them."""

import json
from dataclasses import dataclass
from typing import Any

from mcp_types import ErrorData, JSONRPCError
from starlette.datastructures import MutableHeaders

from sakuin.arguments import MOST_QUERIES
from sakuin.platform.asgi import Message, Send

# One of the codes that JSON-RPC leaves to servers.
_TOO_MANY = -32029


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """The message of a request: its method and id, and how many searches it makes."""

    method: str = ""
    id: str | int | None = None
    searches: int = 0


def read_message(body: bytes) -> RequestMessage:
    """Reads the body of a request. What is no message makes no search: the SDK refuses it."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return RequestMessage()
    if not isinstance(content, dict):
        return RequestMessage()
    method, id, params = (content.get(name) for name in ("method", "id", "params"))
    arguments = params.get("arguments") if isinstance(params, dict) else None
    return RequestMessage(
        method if isinstance(method, str) else "",
        # In Python true is an integer.
        id if isinstance(id, str | int) and not isinstance(id, bool) else None,
        questions_in(arguments) if method == "tools/call" else 0,
    )


def without_null_params(body: bytes) -> bytes:
    """Returns the body of a request without `params` that are null: some clients send them for none."""
    if b"null" not in body:
        return body
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(content, dict) or content.get("params", 0) is not None:
        return body
    return json.dumps({name: value for name, value in content.items() if name != "params"}).encode()


def questions_in(arguments: Any) -> int:
    """Returns how many questions the arguments of a tool ask, 1 for any other tool."""
    queries = arguments.get("queries") if isinstance(arguments, dict) else None
    # More are refused.
    return min(max(len(queries), 1), MOST_QUERIES) if isinstance(queries, list) else 1


def too_many_body(message: str, seconds: int, id: str | int | None) -> bytes:
    """Returns the JSON-RPC error about a rate limit."""
    error = ErrorData(code=_TOO_MANY, message=message, data={"retry_after": seconds})
    return JSONRPCError(jsonrpc="2.0", id=id, error=error).model_dump_json(by_alias=True, exclude_unset=True).encode()


def in_utf8(send: Send) -> Send:
    """Returns a `send` that writes an answer in JSON in UTF-8: Japanese has half the bytes of the SDK's ASCII."""
    start: Message = {}

    async def send_utf8(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
            return
        body = _utf8(message.get("body", b""))
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["content-length"] = str(len(body))
        await send({**start, "headers": headers.raw})
        await send({**message, "body": body})

    return send_utf8


def _utf8(body: bytes) -> bytes:
    if rb"\u" not in body:
        return body
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return body
    # A lone surrogate, in the id of a message, stays an escape.
    return text.encode("utf-8", "backslashreplace")
