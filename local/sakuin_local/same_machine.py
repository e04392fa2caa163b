"""Protection of local servers against web pages in a browser on the same machine.

Uses the standard library alone: the emulator's interpreter runs this file, which serves the emulator behind the check.
"""

import importlib
import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SameMachine:
    """An ASGI application that refuses requests to other host names and, unless `pages`, requests from web pages.

    A web page can point its own host name at 127.0.0.1 (DNS rebinding). The stand-ins for vendors accept any key, so no
    page may call them, not even with an image.
    """

    inner: Application
    pages: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not _is_ours(headers.get(b"host", "")):
            await _refuse(scope, send, "unknown host name: use 127.0.0.1")
        elif not self.pages and _is_from_a_page(headers):
            await _refuse(scope, send, "requests from web pages are not allowed")
        else:
            await self.inner(scope, receive, send)


def _is_ours(host: str) -> bool:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    # An address is not looked up, so it cannot be pointed elsewhere.
    return True


def _is_from_a_page(headers: dict[bytes, str]) -> bool:
    # Browsers send the second header with every request, the first only with some.
    return b"origin" in headers or headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin")


async def _refuse(scope: Scope, send: Send, message: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await answer(send, 403, message)


async def answer(send: Send, status: int, message: str) -> None:
    """Sends a status with a JSON document that gives the reason."""
    body = json.dumps({"message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True)
class WithTls:
    """An ASGI application that takes requests for encrypted ones, unless a proxy says otherwise.

    On this machine nothing is encrypted. The template's `aws:SecureTransport` statements allow calls all the same, as
    they do on AWS.
    """

    inner: Application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope.get("headers", [])
        if not any(name == b"x-forwarded-proto" for name, _ in headers):
            scope = {**scope, "headers": [*headers, (b"x-forwarded-proto", b"https")]}
        await self.inner(scope, receive, send)


if __name__ == "__main__":
    # Its `main` serves the application of this name.
    emulator: Any = importlib.import_module("ministack.app")
    emulator.app = SameMachine(WithTls(emulator.app))
    emulator.main()
