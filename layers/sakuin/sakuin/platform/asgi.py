"""ASGI applications behind API Gateway."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.responses import Response

from sakuin.errors import Invalid
from sakuin.platform.http_errors import HttpError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def request_id_of(scope: Scope) -> str:
    """Returns the gateway's id of a request, which its log lines have too; empty without a gateway."""
    return str(scope.get("aws.event", {}).get("requestContext", {}).get("requestId", ""))


def error_response(scope: Scope, error: HttpError) -> Response:
    """Returns the answer to a request."""
    body = json.dumps(error.body(request_id_of(scope)), ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, error.status, error.headers, "application/json")


async def read_body(receive: Receive, *, max_bytes: int) -> bytes | None:
    """Returns the body, or the part that arrived before the client disconnected; None if it is too long."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > max_bytes:
            return None
        if not message.get("more_body"):
            break
    return body


def replayed(body: bytes, after: Receive) -> Receive:
    """Returns a `receive` that gives this body once, and then what `after` gives."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await after()

    return receive


@dataclass(frozen=True)
class AtFirstRequest:
    """An application that `build` makes at its first request, so that others need not wait for its modules."""

    build: Callable[[], Application]

    @cached_property
    def application(self) -> Application:
        """Returns the application itself."""
        return self.build()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.application(scope, receive, send)


def parsed_json(body: bytes) -> Any:
    """Returns the JSON of a body. Raises `Invalid` if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("The body is not valid JSON") from error
