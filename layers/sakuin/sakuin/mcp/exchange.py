"""One request of MCP and its answer, without a session and without the SDK's transport for sessions.

For each request of the revisions with a handshake that transport makes streams and tasks, which take longer than the
SDK's own work on it (docs/decisions/0177). Of later revisions the SDK answers each request as this does.
"""

import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request

from sakuin.platform.asgi import Scope

# Members of a request; a message with others may be an answer, too.
_MEMBERS = {"jsonrpc", "id", "method", "params"}
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _OneAnswer:
    """The SDK's `DispatchContext` of a request: its client gets the answer, and nothing before it."""

    request_id: str | int
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(self, method: str, _params: Mapping[str, Any] | None, _opts: Any = None) -> Any:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Sends nothing."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Sends nothing."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, and that of HTTP which has it, in a revision with a handshake."""

    asked: JSONRPCRequest
    request: Request
    version: str

    def served_by(self, server: Server[Any]) -> Coroutine[Any, Any, dict[str, Any]]:
        """Returns the call of the SDK that returns the result. It raises what the handler raises."""
        context = _OneAnswer(self.asked.id, ServerMessageMetadata(request_context=self.request))
        connection = Connection.from_envelope(self.version, None, None)
        method, params = self.asked.method, self.asked.params
        return serve_one(server, context, method, params, connection=connection, lifespan_state={})

    def answer(self, result: dict[str, Any]) -> bytes:
        """Returns the answer with a result as JSON."""
        return _json(JSONRPCResponse(jsonrpc="2.0", id=self.asked.id, result=result))

    def failure(self, error: Exception) -> bytes:
        """Returns the answer with an error as JSON, as the SDK's transport has it."""
        data = handler_exception_to_error_data(error)
        if data is None:
            logger.error("the handler of %r failed", self.asked.method, exc_info=error)
            data = ErrorData(code=0, message=str(error))
        return _json(JSONRPCError(jsonrpc="2.0", id=self.asked.id, error=data))


def exchange_of(message: Any, body: bytes, scope: Scope) -> Exchange | None:
    """Returns the exchange of a request; None for what the SDK's transport has to answer.

    That is a message of a later revision, a handshake, a notification or an answer, and whatever is wrong.
    """
    request = Request(scope)
    version = request.headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
    is_request = isinstance(message, dict) and {"id", "method"} <= message.keys() <= _MEMBERS
    if not is_request or message["method"] == "initialize" or version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    content_type, _, _ = request.headers.get("content-type", "").partition(";")
    if content_type.strip() != "application/json" or not check_accept_headers(request)[0]:
        return None
    try:
        # The SDK's parser accepts less than Python's.
        return Exchange(JSONRPCRequest.model_validate_json(body, by_name=False), request, version)
    except ValidationError:
        return None


def _json(answer: JSONRPCResponse | JSONRPCError) -> bytes:
    return answer.model_dump_json(by_alias=True, exclude_unset=True).encode()
