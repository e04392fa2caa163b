"""The site of the local stack: the uploaded pages at the addresses that links lead to."""

import asyncio
from collections.abc import Callable

from starlette.responses import JSONResponse, Response

from sakuin_local.places import SAMPLES
from sakuin_local.proxy import NotYet
from sakuin_local.same_machine import Application, Receive, Scope, Send

_STYLE = SAMPLES / "css" / "site.css"
# The console has the same address: without an origin of its own, a script of a page cannot act in it.
_SANDBOX = "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-top-navigation"


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
            answered = await self._page_answer(path.removeprefix("/"))
            await answered(scope, receive, send)
        elif is_read and path == f"/{_STYLE.parent.name}/{_STYLE.name}":
            await Response(_STYLE.read_bytes(), media_type="text/css")(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def _page_answer(self, key: str) -> Response:
        try:
            page = await asyncio.to_thread(self._page, key)
        except NotYet:
            return JSONResponse({"message": "the stack is still starting"}, 503)
        if page is None:
            return JSONResponse({"message": "There is no such page. `sakuin push` uploads pages."}, 404)
        return Response(page, media_type="text/html", headers={"content-security-policy": _SANDBOX})
