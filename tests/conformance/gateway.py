"""API Gateway's part on this machine: an HTTP request becomes an event, a handler's answer an HTTP response."""

import base64
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import anyio.to_thread
from sakuin.platform.aws import Handler
from sakuin_local.serving import served

from tests.events import Context

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@contextmanager
def behind_gateway(
    handler: Callable[[str], Handler], around: Callable[[Any], Any] = lambda inner: inner, **added: str
) -> Iterator[str]:
    """The URL of a handler, made for that URL, on a free port. `around` puts something before the gateway.

    `added` headers come to requests that have none of the name. As in Lambda one thread makes the handler, and one
    request is in it at a time.
    """
    made: Future[Handler] = Future()
    with ThreadPoolExecutor(max_workers=1) as worker:

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            asked = event(scope, await _whole(receive), added)
            answer = await anyio.to_thread.run_sync(lambda: worker.submit(made.result(), asked, Context()).result())
            await _answered(send, answer)

        with served(around(application)) as port:
            url = f"http://127.0.0.1:{port}"
            made.set_result(worker.submit(handler, url).result())
            yield url


def event(scope: Scope, body: bytes, added: dict[str, str]) -> dict[str, Any]:
    """The event of payload format 2.0: names in lower case, a repeated header's values in one, bytes in base64."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    headers = {**{name.lower(): text for name, text in added.items()}, **headers}
    encoded = not headers.get("content-type", "").startswith(("application/json", "text/"))
    http = {"method": scope["method"], "path": scope["path"], "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7"}
    return {
        "version": "2.0",
        "routeKey": "ANY /mcp",
        "rawPath": scope["path"],
        "rawQueryString": scope["query_string"].decode("latin-1"),
        "headers": headers,
        "requestContext": {
            "domainName": headers.get("host", ""),
            "http": http,
            "requestId": str(uuid.uuid4()),
            "stage": "$default",
            "timeEpoch": int(time.time() * 1000),
        },
        "isBase64Encoded": encoded,
        "body": base64.b64encode(body).decode() if encoded else body.decode("utf-8", "replace"),
    }


async def _answered(send: Send, answer: dict[str, Any]) -> None:
    body = answer.get("body", "")
    sent = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    headers = [(name.encode(), value.encode()) for name, value in (answer.get("headers") or {}).items()]
    headers += [(b"set-cookie", cookie.encode()) for cookie in answer.get("cookies") or []]
    await send({"type": "http.response.start", "status": answer["statusCode"], "headers": headers})
    await send({"type": "http.response.body", "body": sent})


async def _whole(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    return b"".join(parts)
