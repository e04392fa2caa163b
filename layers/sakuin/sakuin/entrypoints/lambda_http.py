"""An ASGI application behind API Gateway, kept running between invocations."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from mangum import Mangum

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
