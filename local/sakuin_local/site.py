"""The site of the local stack: the uploaded pages at the addresses that links lead to."""

import asyncio
from collections.abc import Callable

from sakuin_local.places import SAMPLES
from sakuin_local.proxy import NotYet
from sakuin_local.same_machine import Application, Receive, Scope, Send, answer

_STYLE = SAMPLES / "css" / "site.css"
# The console has the same address: without an origin of its own, a script of a page cannot act in it.
_SANDBOX = b"sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-top-navigation"


class WithSite:
    """An ASGI application that answers with uploaded pages and their style, and passes other requests on.

    `page` gives the page of a key, None if there is none; it may raise `NotYet`.
    """

    def __init__(self, application: Application, page: Callable[[str], bytes | None]) -> None:
        self._application = application
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        path = str(scope["path"])
        is_read = scope["method"] in ("GET", "HEAD")
        if is_read and path.endswith(".html"):
            await self._answer_page(path.removeprefix("/"), send)
        elif is_read and path == f"/{_STYLE.parent.name}/{_STYLE.name}":
            await _answer(send, _STYLE.read_bytes(), "text/css")
        else:
            await self._application(scope, receive, send)

    async def _answer_page(self, key: str, send: Send) -> None:
        try:
            page = await asyncio.to_thread(self._page, key)
        except NotYet:
            await answer(send, 503, "the stack is still starting")
            return
        if page is None:
            await answer(send, 404, "There is no such page. `sakuin push` uploads pages.")
        else:
            await _answer(send, page, "text/html")


async def _answer(send: Send, body: bytes, content_type: str) -> None:
    headers = [
        (b"content-type", f"{content_type}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", _SANDBOX),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
