"""The JSON-RPC messages of a request: validation, batches and errors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, ErrorData, JSONRPCError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from sakuin.arguments import MOST_QUERIES, sentence
from sakuin.errors import Invalid, NotFound, SakuinError

# All messages of a batch must be answered within API Gateway's 30 seconds.
LONGEST_BATCH = 20
# One of the codes that JSON-RPC leaves to servers.
_TOO_MANY = -32029
# The only revision with batches has no header of its own.
_WITH_BATCHES = ("", "2025-03-26")
# Methods whose calls are counted.
_CALLS = ("tools/call", "resources/list", "resources/read", "events/poll", "events/subscribe", "events/unsubscribe")


@dataclass(frozen=True, slots=True)
class Messages:
    """The content of a request.

    `refusal` is the reason to reject the whole request. `batch` are the messages of a batch, None for a single message,
    invalid JSON and revisions without a handshake, which the SDK handles. `calls` counts the calls of tools, each
    question of a call with several, and the polls of events; `id` is that of a single message, `single` this message.
    `has_handshake`: the revision has one.
    """

    calls: int
    has_handshake: bool = True
    id: str | int | None = None
    single: Any = None
    batch: Sequence[Any] | None = None
    refusal: str | None = None


def read_messages(body: bytes, headers: Mapping[str, str]) -> Messages:
    """Reads the body of a request. Header names are lower case."""
    version = headers.get("mcp-protocol-version", "")
    has_handshake = not version or version in HANDSHAKE_PROTOCOL_VERSIONS
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        # The SDK answers invalid JSON.
        return Messages(0, has_handshake=has_handshake)
    calls = _calls(content)
    if not has_handshake:
        return Messages(calls, has_handshake, _id(content))
    if isinstance(content, list):
        return Messages(calls, batch=content, refusal=_batch_problem(content, version))
    return Messages(calls, id=_id(content), single=content, refusal=problem_of(content))


def problem_of(message: Any) -> str | None:
    """Returns why it is not a valid message; None for a request, a notification or an answer."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 'A message must be an object with "jsonrpc": "2.0"'
    if "method" not in message and "result" not in message and "error" not in message:
        return "A message must have a method, a result or an error"
    if not isinstance(message.get("method", ""), str) or not isinstance(message.get("params", {}), dict):
        return "A method must be a string, and params an object"
    # In Python true is an integer.
    if isinstance(message.get("id"), bool) or not isinstance(message.get("id", ""), str | int):
        return "An id must be a string or an integer"
    return None


def error_body(message: str) -> bytes:
    """Returns the JSON-RPC error about an invalid request."""
    return _error(None, ErrorData(code=INVALID_REQUEST, message=message))


def too_many_body(message: str, seconds: int, id: str | int | None) -> bytes:
    """Returns the JSON-RPC error about a rate limit."""
    return _error(id, ErrorData(code=_TOO_MANY, message=message, data={"retry_after": seconds}))


def protocol_error(error: SakuinError | ValidationError, data: Any = None) -> MCPError:
    """Returns a failure of a method as an error of MCP. Internals are never sent."""
    if isinstance(error, ValidationError):
        return MCPError(INVALID_PARAMS, str(sentence(error)), data)
    # The revision of 2026-07-28 has this code for an unknown resource, too.
    if isinstance(error, Invalid | NotFound):
        return MCPError(INVALID_PARAMS, str(error), data)
    return MCPError(INTERNAL_ERROR, "The library cannot be read now. Try again in a moment.", data)


def in_utf8(body: bytes) -> bytes:
    """Returns JSON in UTF-8 and not in ASCII, as the SDK writes it in some revisions: Japanese has half the bytes."""
    if rb"\u" not in body:
        return body
    try:
        written = json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return body
    # A lone surrogate, in the id of a message, stays an escape.
    return written.encode("utf-8", "backslashreplace")


def _error(id: str | int | None, error: ErrorData) -> bytes:
    answer = JSONRPCError(jsonrpc="2.0", id=id, error=error)
    return answer.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _calls(content: Any) -> int:
    messages = content if isinstance(content, list) else [content]
    calls = (message for message in messages if isinstance(message, dict) and message.get("method") in _CALLS)
    parameters = (call.get("params") for call in calls)
    return sum(questions_in(each.get("arguments")) if isinstance(each, dict) else 1 for each in parameters)


def questions_in(arguments: Any) -> int:
    """Returns how many questions the arguments of a tool ask, 1 for any other tool."""
    queries = arguments.get("queries") if isinstance(arguments, dict) else None
    # More are refused.
    return min(max(len(queries), 1), MOST_QUERIES) if isinstance(queries, list) else 1


def _id(content: Any) -> str | int | None:
    id = content.get("id") if isinstance(content, dict) else None
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _batch_problem(batch: list[Any], version: str) -> str | None:
    if version not in _WITH_BATCHES:
        return f"Revision {version} has no batches. Send each message separately"
    if not batch:
        return "A batch must have at least one message"
    if max(len(batch), _calls(batch)) > LONGEST_BATCH:
        return f"A batch may have at most {LONGEST_BATCH} messages or questions. Send the rest separately"
    if any(isinstance(message, dict) and message.get("method") == "initialize" for message in batch):
        return "Send initialize separately, not in a batch"
    return None
