"""The site of the local stack: the uploaded pages at the addresses that links lead to."""

import asyncio
from collections.abc import Callable

from sakuin_local.places import SAMPLES
from sakuin_local.proxy import NotYet
from sakuin_local.same_machine import Application, Receive, Scope, Send, answer

PATH = "/site"
_STYLE = SAMPLES / "css" / "site.css"


class WithSite:
    """An ASGI application that answers below `/site` with uploaded pages, and passes other requests on.

    `page` gives the page of a key, None if there is none; it may raise `NotYet`.
    """

    def __init__(self, application: Application, page: Callable[[str], bytes | None]) -> None:
        self._application = application
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        path = str(scope["path"])
        if not path.startswith(f"{PATH}/"):
            await self._application(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await answer(send, 405, "Use GET.")
        elif path.endswith(f"/{_STYLE.parent.name}/{_STYLE.name}"):
            await _answer(send, _STYLE.read_bytes(), "text/css")
        else:
            await self._answer_page(path.removeprefix(f"{PATH}/"), send)

    async def _answer_page(self, key: str, send: Send) -> None:
        try:
            # Nothing else in the bucket is for a browser.
            page = await asyncio.to_thread(self._page, key) if key.endswith(".html") else None
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
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
