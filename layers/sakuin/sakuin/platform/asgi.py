"""ASGI applications behind API Gateway."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Any

from mangum import Mangum

from sakuin.errors import Invalid
from sakuin.platform.aws import Handler

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


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


def at_first_request(build: Callable[[], Application]) -> Application:
    """Returns an application that `build` makes at its first request, so that others need not wait for its modules."""
    application = cache(build)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await application()(scope, receive, send)

    return app


def parsed_json(body: bytes) -> Any:
    """Returns the JSON of a body. Raises `Invalid` if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("The body is not valid JSON") from error


def persistent_handler(app: Any, running: Callable[[], AbstractAsyncContextManager[None]]) -> Handler:
    """Returns a Lambda handler for `app` that enters the context `running` once and never leaves it.

    A lifespan would enter it for each invocation, which fails the second time.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    entered = loop.create_future()

    async def enter() -> None:
        async with running():
            entered.set_result(None)
            await asyncio.Event().wait()

    # An event loop has only weak references to its tasks; the handler has a strong one.
    task = loop.create_task(enter())
    loop.run_until_complete(entered)
    mangum = Mangum(app, lifespan="off")

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        if task.done():
            raise RuntimeError("the context of the application has ended")
        return dict(mangum(event, context))

    return handler
