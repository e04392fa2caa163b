"""Requests that are larger than the API takes are refused before anybody reads them."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi.responses import JSONResponse

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class AtMost:
    """ASGI middleware: a body of more than `size` bytes is answered with 413."""

    def __init__(self, app: Application, *, size: int) -> None:
        self._app = app
        self._size = size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts: list[bytes] = []
        more = scope["type"] == "http"
        while more and sum(map(len, parts)) <= self._size:
            message = await receive()
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        if (size := sum(map(len, parts))) > self._size:
            await self._refused(size)(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def replayed() -> Message:
            return messages.pop() if messages and scope["type"] == "http" else await receive()

        await self._app(scope, replayed, send)

    def _refused(self, size: int) -> JSONResponse:
        said = f"The request has {size:,} bytes or more; {self._size:,} are taken (MaxApiRequestBytes)."
        return JSONResponse({"detail": f"{said} A large Table is uploaded: POST /v1/tables/{{id}}/uploads."}, 413)
