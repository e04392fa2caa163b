"""ASGI applications behind API Gateway."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from mangum import Mangum

from sakuin.errors import Conflict, Invalid, NotFound, Unauthorized, Unavailable
from sakuin.platform.keys import challenge

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


async def whole_body(receive: Receive) -> bytes:
    """All of it; what had come when the caller went, if he did."""
    parts: list[bytes] = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    return b"".join(parts)


def replayed(body: bytes, after: Receive) -> Receive:
    """Gives this body, once and whole, and then what `after` gives."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await after()

    return receive


Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def held_open(app: Any, running: Callable[[], AbstractAsyncContextManager[None]]) -> Handler:
    """A handler for `app` with `running` entered once, in one task, for as long as the worker lives.

    Entering it for each invocation, as a lifespan does, fails on the second: it may run only once.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    entered = loop.create_future()

    async def hold() -> None:
        async with running():
            entered.set_result(None)
            await asyncio.Event().wait()

    # The loop knows its tasks only weakly; the handler keeps this one.
    task = loop.create_task(hold())
    loop.run_until_complete(entered)
    mangum = Mangum(app, lifespan="off")

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        if task.done():
            raise RuntimeError("the held task ended")
        return dict(mangum(event, context))

    return handler


_TRY_AGAIN_SECONDS = 5

_STATUS = {NotFound: 404, Unauthorized: 401, Invalid: 422, Conflict: 409, Unavailable: 503}


def answer_to(error: Exception, asked: Mapping[str, str]) -> tuple[int, dict[str, str] | None]:
    """The status of an error, 500 where it says nothing to a caller, and its headers; `asked` are the request's."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return status, {401: challenge(asked), 503: try_again(error)}.get(status)


def try_again(error: Exception) -> dict[str, str]:
    """The header that says when: as the vendor in the error does, or soon."""
    wanted = error.retry_after if isinstance(error, Unavailable) else None
    return {"Retry-After": str(_TRY_AGAIN_SECONDS if wanted is None else max(math.ceil(wanted), 1))}
