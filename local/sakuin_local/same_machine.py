"""Whom a server on this machine answers: not everything that a browser on it has open.

Of the standard library alone: run with the emulator's interpreter and the emulator's arguments, this file serves the
emulator with the guard before it.
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
    """An ASGI application that refuses other machines' names, and unless `pages` whatever a web page sends.

    A name that is pointed at 127.0.0.1 makes a page's own server of this one (DNS rebinding). Vendors on this machine
    take any key, so no page may ask them anything, not even by an image.
    """

    inner: Application
    pages: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not _is_ours(headers.get(b"host", "")):
            await _refuse(scope, send, "this machine has no such name: ask 127.0.0.1")
        elif not self.pages and _is_from_a_page(headers):
            await _refuse(scope, send, "web pages are not answered here")
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
    # Nobody can point a number elsewhere.
    return True


def _is_from_a_page(headers: dict[bytes, str]) -> bool:
    # Browsers send the second with everything, also where they leave the first out.
    return b"origin" in headers or headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin")


async def _refuse(scope: Scope, send: Send, message: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await answer(send, 403, message)


async def answer(send: Send, status: int, message: str) -> None:
    """A document of JSON that says why nothing else came."""
    body = json.dumps({"message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    # Its `main` serves what this name stands for.
    emulator: Any = importlib.import_module("ministack.app")
    emulator.app = SameMachine(emulator.app)
    emulator.main()
