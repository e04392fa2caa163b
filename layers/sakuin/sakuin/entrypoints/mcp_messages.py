"""Messages of the revisions with a handshake: what is none is refused, and a batch comes apart and together again."""

import json
from typing import Any

from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from sakuin.entrypoints.asgi import Application, Message, Receive, Scope, Send, replayed, whole_body

# Together they have to answer within API Gateway's 30 seconds.
LONGEST_BATCH = 20
_NO_JSON = object()
# The one revision with batches had no header for itself yet.
_WITH_BATCHES = ("", "2025-03-26")


def messages_taken(application: Application) -> Application:
    """`application`, which takes one message of JSON-RPC, and here a batch of them too.

    What is no JSON, and every message of a revision without a handshake, is passed on as it came.
    """

    async def taken(scope: Scope, receive: Receive, send: Send) -> None:
        version = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode("latin-1")
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await application(scope, receive, send)
            return
        body = await whole_body(receive)
        read = _read(body)
        if read is _NO_JSON:
            await application(scope, replayed(body, _gone), send)
        elif refusal := _refusal(read, version):
            await _json(send, 400, _error(refusal))
        elif isinstance(read, list):
            await _together(application, scope, read, send)
        else:
            await application(scope, replayed(body, _gone), send)

    return taken


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _NO_JSON


def _refusal(read: Any, version: str) -> str | None:
    if not isinstance(read, list):
        return _wrong(read)
    if version not in _WITH_BATCHES:
        return f"Revision {version} has no batches: send each message on its own"
    if not read:
        return "A batch holds at least one message"
    if len(read) > LONGEST_BATCH:
        return f"A batch holds at most {LONGEST_BATCH} messages: send the rest on its own"
    if any(isinstance(message, dict) and message.get("method") == "initialize" for message in read):
        return "initialize comes on its own, not in a batch"
    return None


def _wrong(message: Any) -> str | None:
    """What makes it no message; None for a request, a notification or an answer."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 'A message is an object with "jsonrpc": "2.0"'
    if "method" not in message and "result" not in message and "error" not in message:
        return "A message has a method, or answers one"
    if not isinstance(message.get("method", ""), str) or not isinstance(message.get("params", {}), dict):
        return "A method is a string, and params are an object"
    # In Python true is a number.
    if isinstance(message.get("id"), bool) or not isinstance(message.get("id", ""), str | int):
        return "An id is a string or a whole number"
    return None


async def _together(application: Application, scope: Scope, batch: list[Any], send: Send) -> None:
    """Each message of a batch in turn, then all answers at once."""
    answers: list[bytes] = []
    for message in batch:
        if wrong := _wrong(message):
            answers.append(_error(wrong))
            continue
        start, body = await _asked(application, scope, message)
        # Refused for its headers, which are the batch's: so will all the others be.
        if start["status"] not in (200, 202):
            await send(start)
            await send({"type": "http.response.body", "body": body})
            return
        # Nobody waits for an answer to a notification.
        answers += [body] if body else []
    await (_json(send, 200, b"[" + b",".join(answers) + b"]") if answers else _json(send, 202, b""))


async def _asked(application: Application, scope: Scope, message: Any) -> tuple[Message, bytes]:
    """How the answer to one message begins, and its body."""
    body = json.dumps(message).encode()
    length = (b"content-length", str(len(body)).encode())
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
    sent: list[Message] = []

    async def keep(part: Message) -> None:
        sent.append(part)

    await application({**scope, "headers": [*headers, length]}, replayed(body, _gone), keep)
    return sent[0], b"".join(part.get("body", b"") for part in sent)


async def _gone() -> Message:
    return {"type": "http.disconnect"}


def _error(message: str) -> bytes:
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=message))
    return error.model_dump_json(by_alias=True, exclude_unset=True).encode()


async def _json(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json")] if body else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
