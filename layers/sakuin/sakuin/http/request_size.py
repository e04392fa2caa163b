"""Refuses requests that are too large before anybody reads them."""

from fastapi.responses import JSONResponse

from sakuin.platform.asgi import Application, Receive, Scope, Send, replayed


class AtMost:
    """ASGI middleware: a body of more than `size` bytes is answered with 413."""

    def __init__(self, app: Application, *, size: int) -> None:
        self._app = app
        self._size = size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parts: list[bytes] = []
        more = True
        while more and sum(map(len, parts)) <= self._size:
            message = await receive()
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        if (size := sum(map(len, parts))) > self._size:
            await self._refused(size)(scope, receive, send)
            return
        await self._app(scope, replayed(b"".join(parts), receive), send)

    def _refused(self, size: int) -> JSONResponse:
        said = f"The request has {size:,} bytes or more; the limit is {self._size:,} (api_request_bytes)."
        return JSONResponse({"detail": f"{said} A large Table is uploaded: POST /v1/tables/{{id}}/uploads."}, 413)
