"""The site of the local stack: the uploaded pages at the addresses that links lead to."""

from collections.abc import Callable

from sakuin_local.places import SAMPLES
from sakuin_local.proxy import Proxy, Target
from sakuin_local.same_machine import Receive, Scope, Send, answer

PATH = "/site"
_PAGES = f"{PATH}/".encode()
_STYLE = SAMPLES / "css" / "site.css"


class WithSite:
    """An ASGI application that answers below `/site` with pages of the bucket, and passes on other requests.

    `bucket` gives the target of the bucket; it may raise `NotYet`.
    """

    def __init__(self, application: Proxy, bucket: Callable[[], Target]) -> None:
        self._application = application
        self._bucket = bucket
        self._pages = Proxy(self._page)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        path = str(scope["path"])
        if not path.startswith(f"{PATH}/"):
            await self._application(scope, receive, send)
        # Whatever else the emulator would do with the bucket is not for pages in a browser.
        elif scope["method"] not in ("GET", "HEAD"):
            await answer(send, 405, "Use GET.")
        elif path.endswith(f"/{_STYLE.parent.name}/{_STYLE.name}"):
            headers = [(b"content-type", b"text/css; charset=utf-8")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": _STYLE.read_bytes()})
        elif path.endswith(".html"):
            # Without the headers of a browser, with which the emulator refuses a link on another page.
            await self._pages({**scope, "query_string": b"", "headers": []}, receive, send)
        else:
            await answer(send, 404, "not found")

    def _page(self, path: bytes) -> Target:
        bucket = self._bucket()
        return Target(bucket.port, bucket.path + b"/" + path.removeprefix(_PAGES))
